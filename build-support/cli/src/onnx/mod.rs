//! Commands over models, of ONNX and of TFLite: `check-onnx`, `signature`, `weights`, `run`, `bench`, and `explain` of a model.

mod arguments;
mod case;
mod check;
mod compare;
mod explain;
mod format;
mod given;
mod measured;
mod model;
mod native;
mod npy;
mod outputs;
mod signature;
mod tune;
mod weights;

use std::ffi::OsString;
use std::path::Path;

use crate::{Outcome, devices, help, output};

pub(crate) use arguments::{NAMES, dim, seconds, threads};
pub(crate) use measured::explained as explained_by;
pub(crate) use native::{backend, run as run_program};

/// Does a worker's part, if this process is one.
pub(crate) fn worker() -> Option<Outcome> {
    measured::child().or_else(check::worker)
}

/// Runs a command over models; none if the command line names another one.
pub(crate) fn command(arguments: &[OsString]) -> Option<Outcome> {
    let rest = match arguments.first() {
        Some(first) if first == "tenfold" => &arguments[1..],
        Some(_) | None => arguments,
    };
    let of_model = |name: &&str| NAMES.contains(name) || ([EXPLAIN, TUNE].contains(name) && names_a_model(rest));
    let name = rest.first()?.to_str().filter(of_model)?;
    let parsed = arguments::parse(name, &rest[1..]);
    if parsed.as_ref().is_ok_and(arguments::Command::compiles)
        && let Some(outcome) = devices::refused(name)
    {
        return Some(outcome);
    }
    Some(match parsed {
        Ok(arguments::Command::Help(text)) => {
            output::say(text);
            Outcome::Good
        }
        Ok(arguments::Command::Check(check)) => check::run(&check),
        Ok(arguments::Command::Signature(of)) => signature::signature(&of),
        Ok(arguments::Command::Weights(of)) => weights::weights(&of),
        Ok(arguments::Command::Run(of)) => model::run(&of),
        Ok(arguments::Command::Bench(of)) => model::bench(&of),
        Ok(arguments::Command::Explain(of)) => explain::explain(&of),
        Ok(arguments::Command::Tune(of)) => tune::tune(&of),
        Err(error) => {
            eprint!("error: {error}\n\nFor more, try `cargo tenfold {name} --help`.\n");
            Outcome::Usage
        }
    })
}

/// Commands over functions of a package, or over a model if they name one.
const EXPLAIN: &str = "explain";
const TUNE: &str = "tune";

fn names_a_model(arguments: &[OsString]) -> bool {
    arguments.iter().any(|argument| Path::new(argument).extension().is_some_and(|end| end == "onnx" || end == "tflite"))
}

/// The help of a command.
fn help_of(name: &str) -> &'static str {
    match name {
        "check-onnx" => help::CHECK_ONNX,
        "signature" => help::SIGNATURE,
        "weights" => help::WEIGHTS,
        "run" => help::RUN,
        "bench" => help::BENCH,
        EXPLAIN => help::EXPLAIN,
        TUNE => help::TUNE,
        _ => help::ALL,
    }
}
