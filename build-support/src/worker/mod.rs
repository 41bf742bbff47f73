//! Code generation in processes of its own, as many as cargo has jobs to spare.
//!
//! LLVM ends its process on what it cannot select. A dead worker is an error on the function it was compiling; the
//! rest go on in a new one.

mod jobs;
pub(crate) mod message;
mod pool;
mod serve;
pub(crate) mod start;
pub(crate) mod wire;

pub(crate) use jobs::Spare;
pub(crate) use pool::{Job, Workers, run};
pub(crate) use serve::{panic_text, serve_if_worker};
