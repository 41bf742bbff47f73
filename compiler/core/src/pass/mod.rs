//! The pass runner: what a pass is, what a context says of it, what instruments see.

mod context;
mod dump;
mod instrument;
mod run;

pub use context::PassContext;
pub use dump::{DumpFiles, PrintPasses};
pub use instrument::{PassInstrument, Timing};
pub use run::run;

use tenfold_ir::Module;

use crate::CompileError;

/// What is known of a pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PassInfo {
    /// Its name, which is also its file's and its test folder's.
    pub name: &'static str,
    /// It runs where the context's level is at least this.
    pub opt_level: u32,
    /// Passes that run before it, by name.
    pub required: &'static [&'static str],
}

/// What a pass does: rewrites the module, or says why the user's function cannot be compiled.
pub type PassFn = fn(&mut Module, &PassContext) -> Result<(), CompileError>;

/// A pass over a module.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// What is known of it.
    pub info: PassInfo,
    /// What it does.
    pub run: PassFn,
}

impl Pass {
    /// A pass that always runs unless it is disabled by name.
    pub const fn new(name: &'static str, run: PassFn) -> Pass {
        Pass { info: PassInfo { name, opt_level: 0, required: &[] }, run }
    }

    /// The same pass, run only where the context's level is at least `level`.
    pub const fn at_level(mut self, level: u32) -> Pass {
        self.info.opt_level = level;
        self
    }
}
