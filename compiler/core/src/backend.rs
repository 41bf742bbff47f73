//! What a back end is: it turns prim-funcs of phase `Target` into an artefact.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::Module;
use tenfold_ir::tir::{Launch, PrimFunc, Stmt};

use crate::Target;

/// What back ends may be told besides the target.
#[derive(Clone, Debug, Default)]
pub struct CodegenOptions {
    /// Source file of the entry, relative to the package, for debug lines; empty for none.
    pub file: String,
    /// Line in that file of each node of the entry, for debug lines; may be empty.
    pub lines: Vec<u32>,
    /// Which texts to return in [`Artefact::texts`], for `cargo tenfold show`.
    pub texts: Vec<Stage>,
}

/// A text form of a function, as `cargo tenfold show --stage` names it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Stage {
    /// The graph.
    Relax,
    /// The loops.
    Tir,
    /// LLVM IR.
    Llvm,
    /// Assembly.
    Asm,
    /// C.
    C,
    /// Shaders of the kernels for Vulkan.
    Spirv,
    /// PTX of the kernels for CUDA.
    Ptx,
}

impl Stage {
    /// Every stage, in the order of the pipeline.
    pub const ALL: [Stage; 7] = [Stage::Relax, Stage::Tir, Stage::Llvm, Stage::Asm, Stage::C, Stage::Spirv, Stage::Ptx];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Relax => "relax",
            Stage::Tir => "tir",
            Stage::Llvm => "llvm",
            Stage::Asm => "asm",
            Stage::C => "c",
            Stage::Spirv => "spirv",
            Stage::Ptx => "ptx",
        }
    }

    /// The stage of that name.
    pub fn from_name(name: &str) -> Option<Stage> {
        Stage::ALL.into_iter().find(|s| s.name() == name)
    }
}

/// What a back end made.
#[derive(Clone, Debug, Default)]
pub struct Artefact {
    /// An object file for the target.
    pub object: Vec<u8>,
    /// Texts that were asked for.
    pub texts: BTreeMap<Stage, String>,
    /// Worst-case stack in bytes of a call of the entry, if the back end knows it.
    pub stack: Option<u64>,
    /// Where the most of it is: names along the deepest chain of calls, with the bytes of each.
    pub deepest: Vec<(String, u64)>,
}

/// Whose a back end's error is: never the user's kernel, which was checked before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Tenfold's: code that a back end refuses.
    Ours,
    /// The machine's: a tool that is missing, a folder that cannot be written.
    Machine,
}

/// A mistake or limit of a back end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BackendError {
    /// What happened.
    pub message: String,
    /// What to do, if the machine is at fault.
    pub help: Option<String>,
    /// Whose it is.
    pub fault: Fault,
}

impl BackendError {
    /// A bug of Tenfold's.
    pub fn ours(message: impl Into<String>) -> Self {
        BackendError { message: message.into(), help: None, fault: Fault::Ours }
    }

    /// Something that this machine lacks, and what to do.
    pub fn machine(message: impl Into<String>, help: impl Into<String>) -> Self {
        BackendError { message: message.into(), help: Some(help.into()), fault: Fault::Machine }
    }
}

/// Turns tir into an artefact. Constants are external, hidden symbols [`constant_symbol`].
/// Variants are built side by side, on several threads.
pub trait Backend: Sync {
    /// Its name: `llvm`, `c`.
    fn name(&self) -> &'static str;

    /// What cache keys hold of it: name and version, no path.
    fn identity(&self) -> String;

    /// Whether it is worth having code for more than one level of a target.
    fn has_variants(&self) -> bool {
        true
    }

    /// Compiles every prim-func of `module` (all of phase `Target`) into one object. Exported ones become symbols.
    fn build(&self, module: &Module, target: &Target, options: &CodegenOptions) -> Result<Artefact, BackendError>;

    /// The PTX of a device function of phase `Target`, whose entry point has that name. It takes the function's buffers,
    /// then the constants as [`kernel::constants`](crate::kernel::constants) lists them, then its values.
    fn kernel(
        &self,
        _module: &Module,
        _func: &PrimFunc,
        _name: &str,
        _target: &Target,
    ) -> Result<String, BackendError> {
        let message = format!("PTX is written by LLVM, and this is compiled through {}", self.name());
        Err(BackendError::machine(message, "`cargo tenfold doctor` says which LLVM was looked for"))
    }
}

/// The symbol of a constant with that content hash.
pub fn constant_symbol(hash: &str) -> String {
    format!("__tenfold_w_{hash}")
}

/// The functions that the context of a call must reach: entries, as the convention has it, those that run loops on
/// threads, and those that call one.
pub fn with_context(module: &Module) -> BTreeSet<&str> {
    let prims: Vec<&PrimFunc> = module.prims().collect();
    let mut all: BTreeSet<&str> = prims.iter().filter(|f| f.exported).map(|f| f.name.as_str()).collect();
    loop {
        let before = all.len();
        for prim in &prims {
            let needs = |s: &Stmt| match s {
                Stmt::Call { launch: Some(Launch::Threads { .. }), .. } => true,
                Stmt::Call { func, .. } => all.contains(func.as_str()),
                _ => false,
            };
            if prim.body.any(&mut |s| needs(s)) {
                all.insert(&prim.name);
            }
        }
        if all.len() == before {
            return all;
        }
    }
}
