//! The pass infrastructure: what a pass is, what a context says of it, who watches, and the one runner.
//!
//! A [`Pass`] rewrites a module. A [`PassContext`] says which passes run, with what settings, and holds the
//! [`PassInstrument`]s that watch them. The registry knows every pass by name; the pipeline (`pipeline.rs`) is one
//! order of them. This module knows no pass: passes know it.

mod bisect;
mod config;
mod context;
mod diff;
mod document;
mod dump;
mod environment;
mod instrument;
mod kind;
mod phase;
mod registry;
mod remark;
mod run;
mod scope;
#[cfg(test)]
mod tests;
mod text_diff;
mod timing;
mod user;
mod verify;

pub use bisect::{BisectLimit, Suspect, bisect, halve};
pub use config::{ConfigKey, ConfigValue, FlagKey, IntKey, TextKey};
pub use context::PassContext;
pub use diff::DiffPasses;
pub use document::document;
pub use dump::{DumpFiles, PrintPasses};
pub use environment::{VARIABLES, Variable};
pub use instrument::PassInstrument;
pub use kind::{Action, FunctionFn, Kind, ModuleFn, Pass, PassInfo, PrimFn};
pub use phase::PassPhase;
pub use registry::{config_keys, find, get};
pub use remark::{Remark, RemarkKind, Remarks};
pub use run::{run, run_pass};
pub use scope::PassScope;
pub use text_diff::unified;
pub use timing::{Timing, TimingTable};
pub use user::{UserFn, UserPass};
pub use verify::{Verify, verify};

use crate::{CompileError, ErrorKind};
use tenfold_ir::Loc;

/// An error in how passes are chosen or set, with what to do.
pub(crate) fn wrong(message: impl Into<String>, help: Option<String>) -> CompileError {
    CompileError { kind: ErrorKind::Passes, loc: Loc::default(), message: message.into(), help }
}

/// `a similar name is …`, if one of `names` is near.
pub(crate) fn near<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    tenfold_ir::ops::nearest(name, names).map(|found| format!("a similar name is `{found}`"))
}
