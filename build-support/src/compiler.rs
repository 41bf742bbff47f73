//! One function from text to object. It runs in a worker, so whatever it does to the process ends there.

mod fault;
mod stub;

use crate::worker::message::{Answer, Request};

/// What code is generated with, without a path: two machines may agree.
pub(crate) fn identity() -> String {
    tenfold_llvm::find(&tenfold_llvm::Env::from_process()).identity()
}

/// Compiles a function.
pub(crate) fn compile(request: &Request) -> Answer {
    fault::have(request);
    stub::compile(request)
}
