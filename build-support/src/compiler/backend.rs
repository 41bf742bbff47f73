//! Which back end: the first rung of the ladder that holds, else C.

use crate::worker::message::Request;
use std::cell::RefCell;
use std::path::Path;
use tenfold_core::Backend;
use tenfold_core::c::CBackend;
use tenfold_llvm::{Env, Found, Llvm, LlvmBackend, Rung, find, load};

thread_local! {
    /// What the worker's first request found: loading takes milliseconds.
    static LOADED: RefCell<Option<(Found, Option<Llvm>)>> = const { RefCell::new(None) };
}

/// What code is generated with, without a path: two machines may agree.
pub(crate) fn identity() -> String {
    find(&Env::from_process()).identity()
}

/// The back end for a request.
pub(super) fn choose(request: &Request) -> Box<dyn Backend> {
    let loaded = LOADED.with_borrow_mut(|loaded| {
        loaded
            .get_or_insert_with(|| {
                let found = find(&Env::from_process());
                let llvm = match found.rung {
                    Rung::None => None,
                    Rung::Rustc | Rung::System | Rung::Path => load(&found).ok(),
                };
                (found, llvm)
            })
            .clone()
    });
    match loaded {
        (found, Some(llvm)) => Box::new(LlvmBackend::new(llvm, &found)),
        (_, None) => {
            Box::new(CBackend { folder: Path::new(&request.archives).join("c"), host: request.target.host.clone() })
        }
    }
}
