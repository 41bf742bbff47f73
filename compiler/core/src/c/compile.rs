//! Runs the C compiler.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use tenfold_ir::Module;

use super::emit;
use crate::backend::{Artefact, Backend, BackendError, CodegenOptions, Stage};
use crate::target::Target;

/// What was found out about C compilers: clones share it. To ask whether one takes a flag is to start it.
static KNOWN: LazyLock<cc::Build> = LazyLock::new(cc::Build::new);

/// The C back end.
#[derive(Clone, Debug)]
pub struct CBackend {
    /// A folder for the source and the object; made if it is missing.
    pub folder: PathBuf,
    /// Triple of the machine that compiles.
    pub host: String,
    /// What to run in the place of the target's C compiler.
    pub compiler: Option<PathBuf>,
}

impl Backend for CBackend {
    fn name(&self) -> &'static str {
        "c"
    }

    fn identity(&self) -> String {
        "c".to_string()
    }

    // The C compiler is told the target's name alone.
    fn has_variants(&self) -> bool {
        false
    }

    fn build(&self, module: &Module, target: &Target, options: &CodegenOptions) -> Result<Artefact, BackendError> {
        let source = emit(module);
        let object = self.compile(&source, &module.entry, target)?;
        let mut artefact = Artefact { object, ..Artefact::default() };
        if options.texts.contains(&Stage::C) {
            artefact.texts.insert(Stage::C, source);
        }
        Ok(artefact)
    }
}

impl CBackend {
    fn compile(&self, source: &str, name: &str, target: &Target) -> Result<Vec<u8>, BackendError> {
        let io = |what: &str, path: &Path, e: std::io::Error| {
            let message = format!("cannot {what} `{}`: {e}", path.display());
            BackendError::machine(message, "make room and see that the folder can be written")
        };
        std::fs::create_dir_all(&self.folder).map_err(|e| io("make the folder", &self.folder, e))?;
        let (c, o) = (self.folder.join(format!("{name}.c")), self.folder.join(format!("{name}.o")));
        std::fs::write(&c, source).map_err(|e| io("write", &c, e))?;
        let mut command = self.command(target)?;
        // Relative names keep the folder out of the object.
        command.current_dir(&self.folder).arg("-c").arg(format!("{name}.c")).arg("-o").arg(format!("{name}.o"));
        let out = command.output().map_err(|e| {
            let program = command.get_program().to_string_lossy().into_owned();
            let message = format!("the C compiler `{program}` for `{}` cannot be run: {e}", target.triple);
            BackendError::machine(message, missing(target))
        })?;
        if !out.status.success() {
            let text = String::from_utf8_lossy(&out.stderr);
            let lines: Vec<&str> = text.lines().take(12).collect();
            return Err(BackendError::ours(format!("the C compiler failed ({}):\n{}", out.status, lines.join("\n"))));
        }
        std::fs::read(&o).map_err(|e| io("read", &o, e))
    }

    fn command(&self, target: &Target) -> Result<std::process::Command, BackendError> {
        let mut build = KNOWN.clone();
        if let Some(compiler) = &self.compiler {
            build.compiler(compiler);
        }
        build
            .cargo_metadata(false)
            .cargo_warnings(false)
            .target(&target.triple)
            .host(&self.host)
            // Not 3: there GCC 12 unrolls short inner loops before it vectorises, and sums columns of a matrix wrongly
            // (`tests/filetests/tir/run/columns.tir`).
            .opt_level(2)
            // At 2, too, it moves what it has unrolled out of a loop that changes it
            // (`tests/filetests/tir/run/butterflies.tir`).
            .flag_if_supported("--param=max-completely-peeled-insns=0")
            .flag_if_supported("-ftree-vectorize")
            .flag_if_supported("-fvect-cost-model=dynamic")
            .debug(false)
            .warnings(false)
            .out_dir(&self.folder)
            .flag_if_supported("-std=c11")
            // Of the workspace the same bytes are floats for one kernel and integers for the next.
            .flag_if_supported("-fno-strict-aliasing")
            .flag_if_supported("-fvisibility=hidden")
            .flag_if_supported("-fno-math-errno")
            .flag_if_supported("-fno-trapping-math")
            .flag_if_supported("-ffunction-sections")
            .flag_if_supported("-fno-ident");
        let tool = build.try_get_compiler().map_err(|e| {
            BackendError::machine(format!("there is no C compiler for `{}`: {e}", target.triple), missing(target))
        })?;
        Ok(tool.to_command())
    }
}

/// What to do where there is no C compiler.
fn missing(target: &Target) -> String {
    let variable = target.triple.replace('-', "_");
    format!("install one, name one in `CC_{variable}`, or build with LLVM: `cargo tenfold doctor` says what was found")
}
