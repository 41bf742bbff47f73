//! The worker's side: answers requests until there are no more.

use super::message::{Answer, Request};
use super::{Spare, wire};
use crate::compiler;
use std::env;
use std::io::Write as _;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use tenfold_core::Jobs;
use tenfold_syntax::ast::NodeId;
use tenfold_syntax::{Code, Diagnostic};

/// The variable that makes the build script a worker.
pub(crate) const VARIABLE: &str = "TENFOLD_WORKER";

/// Its value for a worker that needs nothing of the build script's `main`.
pub(crate) const BEFORE_MAIN: &str = env!("CARGO_PKG_VERSION");

/// Its value for one that needs the passes which `main` adds.
pub(crate) const IN_MAIN: &str = concat!(env!("CARGO_PKG_VERSION"), "+main");

/// What a worker in `main` begins with: what `main` has printed before is no answer.
pub(crate) const BEGIN: &[u8] = b"\0tenfold worker\0";

/// Serves and ends the process if it is a worker that needs nothing of `main`.
pub(crate) fn serve_before_main() {
    if env::var_os(VARIABLE).is_some_and(|value| value == BEFORE_MAIN) {
        serve();
    }
}

/// Serves and ends the process if it is a worker.
pub(crate) fn serve_if_worker() {
    serve_before_main();
    if env::var_os(VARIABLE).is_some_and(|value| value == IN_MAIN) {
        if std::io::stdout().write_all(BEGIN).is_err() {
            std::process::exit(1);
        }
        serve();
    }
}

fn serve() -> ! {
    let jobs: Arc<dyn Jobs> = Arc::new(Spare::of_cargo());
    let mut input = std::io::stdin().lock();
    let mut output = std::io::stdout().lock();
    while let Ok(Some(bytes)) = wire::receive(&mut input) {
        let answer = match Request::from_bytes(&bytes) {
            Some(request) => answer(&request, &jobs),
            None => internal("a request could not be read"),
        };
        if wire::send(&mut output, &answer.to_bytes()).is_err() {
            break;
        }
    }
    std::process::exit(0)
}

/// A panic of ours is an error on the function, not a dead worker.
fn answer(request: &Request, jobs: &Arc<dyn Jobs>) -> Answer {
    let compiled = panic::catch_unwind(AssertUnwindSafe(|| compiler::compile(request, jobs)));
    compiled.unwrap_or_else(|payload| internal(&panic_text(&*payload)))
}

/// What a panic said.
pub(crate) fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str).or(payload.downcast_ref::<&str>().copied());
    format!("the compiler panicked: {}", text.unwrap_or("no message"))
}

fn internal(text: &str) -> Answer {
    Answer::Refused(vec![
        Diagnostic::new(NodeId::FUNCTION, Code::Internal, text)
            .help("this is an error of Tenfold; please report it with the function's text"),
    ])
}
