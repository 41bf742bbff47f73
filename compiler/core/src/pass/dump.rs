//! Watchers that show the module: in files, or printed.

use std::path::PathBuf;

use tenfold_ir::Module;

use super::{PassInfo, PassInstrument, registry, wrong};
use crate::CompileError;
use crate::text::module_text;

/// Writes the module into a folder after every pass: `entry-01-Name.txt`, ….
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
    fn run_after_pass(&mut self, pass: &PassInfo, module: &Module) -> Result<(), CompileError> {
        self.count += 1;
        let file = self.folder.join(format!("{}-{:02}-{}.txt", module.entry, self.count, pass.name));
        // A dump that cannot be written must not fail the build it explains.
        let _ = std::fs::create_dir_all(&self.folder).and_then(|()| std::fs::write(&file, module_text(module)));
        Ok(())
    }
}

/// Prints the module to standard error around the passes named.
#[derive(Debug, PartialEq, Eq)]
pub struct PrintPasses {
    before: Vec<&'static str>,
    after: Vec<&'static str>,
}

impl PrintPasses {
    /// Reads `before:Name,after:Name`; a bare name is `after:`, and `all` is every pass.
    pub fn parse(text: &str) -> Result<Self, CompileError> {
        let mut print = PrintPasses { before: Vec::new(), after: Vec::new() };
        for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
            let (list, name) = match part.split_once(':') {
                Some(("before", name)) => (&mut print.before, name),
                Some(("after", name)) => (&mut print.after, name),
                Some((other, _)) => {
                    return Err(wrong(format!("expected `before:PASS` or `after:PASS`, found `{other}:`"), None));
                }
                None => (&mut print.after, part),
            };
            list.push(pass_or_all(name)?);
        }
        Ok(print)
    }
}

/// A pass of the registry by name, or `all`.
pub(super) fn pass_or_all(name: &str) -> Result<&'static str, CompileError> {
    if name == "all" { Ok("all") } else { registry::get(name).map(|pass| pass.info.name) }
}

/// Whether a list that may say `all` names a pass.
pub(super) fn names(list: &[&'static str], pass: &PassInfo) -> bool {
    list.iter().any(|n| *n == pass.name || *n == "all")
}

impl PassInstrument for PrintPasses {
    fn run_before_pass(&mut self, pass: &PassInfo, module: &Module) -> Result<(), CompileError> {
        if names(&self.before, pass) {
            eprintln!("// before {}\n{}", pass.name, module_text(module));
        }
        Ok(())
    }

    fn run_after_pass(&mut self, pass: &PassInfo, module: &Module) -> Result<(), CompileError> {
        if names(&self.after, pass) {
            eprintln!("// after {}\n{}", pass.name, module_text(module));
        }
        Ok(())
    }
}
