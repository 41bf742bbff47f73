//! Commands over ONNX models: `check-onnx`, `signature`, `weights`, `run`, `bench`.

mod arguments;
mod case;
mod check;
mod compare;
mod given;
mod measured;
mod model;
mod native;
mod npy;
mod outputs;
mod signature;
mod weights;

use std::ffi::OsString;

use crate::{Outcome, help, output};

pub(crate) use arguments::NAMES;

/// Does a worker's part, if this process is one.
pub(crate) fn worker() -> Option<Outcome> {
    measured::child().or_else(check::worker)
}

/// Runs a command over ONNX models; none if the command line names another one.
pub(crate) fn command(arguments: &[OsString]) -> Option<Outcome> {
    let rest = match arguments.first() {
        Some(first) if first == "tenfold" => &arguments[1..],
        Some(_) | None => arguments,
    };
    let name = rest.first()?.to_str().filter(|name| NAMES.contains(name))?;
    Some(match arguments::parse(name, &rest[1..]) {
        Ok(arguments::Command::Help(text)) => {
            output::say(text);
            Outcome::Good
        }
        Ok(arguments::Command::Check(check)) => check::run(&check),
        Ok(arguments::Command::Signature(of)) => signature::signature(&of),
        Ok(arguments::Command::Weights(of)) => weights::weights(&of),
        Ok(arguments::Command::Run(of)) => model::run(&of),
        Ok(arguments::Command::Bench(of)) => model::bench(&of),
        Err(error) => {
            eprint!("error: {error}\n\nFor more, try `cargo tenfold {name} --help`.\n");
            Outcome::Usage
        }
    })
}

/// The help of a command.
fn help_of(name: &str) -> &'static str {
    match name {
        "check-onnx" => help::CHECK_ONNX,
        "signature" => help::SIGNATURE,
        "weights" => help::WEIGHTS,
        "run" => help::RUN,
        "bench" => help::BENCH,
        _ => help::ALL,
    }
}
