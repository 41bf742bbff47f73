//! Watchers that show the module: `TENFOLD_DUMP=dir` and `TENFOLD_PRINT=before:Name,after:Name`.

use std::path::PathBuf;

use tenfold_ir::Module;

use super::{PassInfo, PassInstrument};
use crate::CompileError;
use crate::text::module_text;

/// Writes the module into a folder after every pass: `01-Name.txt`, ….
pub struct DumpFiles {
    folder: PathBuf,
    count: usize,
}

impl DumpFiles {
    /// Writes into `folder`, which is made if it is missing.
    pub fn new(folder: PathBuf) -> Self {
        DumpFiles { folder, count: 0 }
    }
}

impl PassInstrument for DumpFiles {
    fn after(&mut self, pass: &PassInfo, module: &Module) -> Result<(), CompileError> {
        self.count += 1;
        let file = self.folder.join(format!("{}-{:02}-{}.txt", module.entry, self.count, pass.name));
        // A dump that cannot be written must not fail the build it explains.
        let _ = std::fs::create_dir_all(&self.folder).and_then(|()| std::fs::write(&file, module_text(module)));
        Ok(())
    }
}

/// Prints the module to standard error around the passes named.
pub struct PrintPasses {
    before: Vec<String>,
    after: Vec<String>,
}

impl PrintPasses {
    /// Reads `before:Name,after:Name`; a bare name is `after:`.
    pub fn parse(text: &str) -> Self {
        let mut print = PrintPasses { before: Vec::new(), after: Vec::new() };
        for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            match part.split_once(':') {
                Some(("before", name)) => print.before.push(name.to_string()),
                Some((_, name)) => print.after.push(name.to_string()),
                None => print.after.push(part.to_string()),
            }
        }
        print
    }
}

impl PassInstrument for PrintPasses {
    fn before(&mut self, pass: &PassInfo, module: &Module) -> Result<(), CompileError> {
        if self.before.iter().any(|n| n == pass.name) {
            eprintln!("// before {}\n{}", pass.name, module_text(module));
        }
        Ok(())
    }

    fn after(&mut self, pass: &PassInfo, module: &Module) -> Result<(), CompileError> {
        if self.after.iter().any(|n| n == pass.name) {
            eprintln!("// after {}\n{}", pass.name, module_text(module));
        }
        Ok(())
    }
}
