//! Which back end: the first rung of the ladder that holds, else C.

use crate::out;
use crate::target::Kind;
use crate::worker::message::Request;
use std::cell::RefCell;
use std::path::Path;
use tenfold_core::Backend;
use tenfold_core::c::CBackend;
use tenfold_llvm::{Env, Found, Llvm, LlvmBackend, Rung, find, load};
use tenfold_syntax::ast::NodeId;
use tenfold_syntax::{Code, Diagnostic};

thread_local! {
    /// What the worker's first request found: loading takes milliseconds.
    static LOADED: RefCell<Option<(Found, Option<Llvm>)>> = const { RefCell::new(None) };
}

/// What code is generated with, without a path: two machines may agree.
///
/// Asking rustc where it lives takes longer than all else of a run that compiles nothing, so the answer is kept in
/// `memo` for as long as the same library is there. Another rustc has another `OUT_DIR`.
pub(crate) fn identity(choice: &str, memo: &Path) -> String {
    if let Some(known) = recall(choice, memo) {
        return known;
    }
    let found = find(&Env::from_process());
    let identity = found.identity();
    if let Some(path) = &found.path {
        let text = format!("{choice}\n{}\n{}\n{identity}", found.bytes, path.display());
        // what cannot be kept is found again
        let _ = out::write_if_changed(memo, text.as_bytes());
    }
    identity
}

fn recall(choice: &str, memo: &Path) -> Option<String> {
    let text = std::fs::read_to_string(memo).ok()?;
    let mut lines = text.splitn(4, '\n');
    let same_choice = lines.next()? == choice;
    let bytes: u64 = lines.next()?.parse().ok()?;
    let same_file = std::fs::metadata(lines.next()?).ok()?.len() == bytes;
    (same_choice && same_file).then(|| lines.next().map(String::from))?
}

/// The back end for a request: what its target asks for, else the best that is there.
pub(super) fn choose(request: &Request) -> Result<Box<dyn Backend>, Diagnostic> {
    let asked = request.target.chosen().map(|chosen| chosen.kind());
    let folder = Path::new(&request.archives).join("c");
    let c = || CBackend { folder: folder.clone(), host: request.target.host.clone(), compiler: None };
    if asked == Some(Kind::C) {
        return Ok(Box::new(c()));
    }
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
        (found, Some(llvm)) => Ok(Box::new(LlvmBackend::new(llvm, &found))),
        (_, None) if asked == Some(Kind::Llvm) => {
            let text = format!("the target `{}` needs LLVM, and none was found", request.target.chosen);
            let error = Diagnostic::new(NodeId::FUNCTION, Code::Environment, text);
            Err(error.help("`cargo tenfold doctor` says what was looked for"))
        }
        (_, None) => Ok(Box::new(c())),
    }
}

/// LLVM or why there is none.
pub(super) fn llvm() -> Result<Box<dyn Backend>, String> {
    let environment = Env::from_process();
    if environment.choice.as_deref().is_some_and(|choice| choice == "none") {
        return Err("`TENFOLD_LLVM` is `none`; take it out of the environment".into());
    }
    let found = find(&environment);
    let llvm = load(&found).map_err(|error| error.to_string())?;
    Ok(Box::new(LlvmBackend::new(llvm, &found)))
}
