//! `cargo tenfold`: looks into what Tenfold compiles.
//!
//! LLVM is not linked to this program. It is loaded where it is needed, in a child, so that an abort ends the child
//! alone.

mod arguments;
mod bisect;
mod build_script;
mod cargo;
mod config;
mod devices;
mod doctor;
mod errors;
mod explain;
mod help;
mod library;
mod list;
mod onnx;
mod output;
mod rustc;
mod scratch;
mod script;
mod show;
mod stats;
mod tune;

use arguments::{Arguments, Command, Parsed};
use std::process::ExitCode;
use tenfold_core::show::Ask;

/// What a command ends with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// All is well.
    Good,
    /// A check failed.
    Bad,
    /// The command line cannot be followed.
    Usage,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Good => Self::from(0),
            Outcome::Bad => Self::from(1),
            Outcome::Usage => Self::from(2),
        }
    }
}

fn main() -> ExitCode {
    // workers that compile are this program again
    tenfold_build::look::serve();
    if let Some(outcome) = doctor::child() {
        return outcome.into();
    }
    if let Some(outcome) = tune::serve() {
        return outcome.into();
    }
    if let Some(outcome) = onnx::worker() {
        return outcome.into();
    }
    let given: Vec<std::ffi::OsString> = std::env::args_os().skip(1).collect();
    if let Some(outcome) = onnx::command(&given) {
        return outcome.into();
    }
    let arguments = match arguments::parse(given) {
        Ok(Parsed::Run(arguments)) => arguments,
        Ok(Parsed::Say(text)) => {
            output::say(&text);
            return Outcome::Good.into();
        }
        Err(error) => {
            eprint!("{error}");
            return Outcome::Usage.into();
        }
    };
    if script::is_child() {
        script::follow_build_script();
    }
    run(&arguments).into()
}

fn run(arguments: &Arguments) -> Outcome {
    if let Some(outcome) = arguments.command.of_processors().and_then(devices::refused) {
        return outcome;
    }
    match &arguments.command {
        Command::Doctor if script::is_child() => doctor::run_trial(),
        Command::Doctor => doctor::run(arguments),
        Command::Bisect { function, command } if !script::is_child() => bisect::run(arguments, function, command),
        _ if !script::is_child() => script::run(arguments),
        Command::List { json } => list::run(*json),
        Command::Show { ask, variant, function } => show::run(ask, variant.as_deref(), function),
        Command::Bisect { function, .. } => show::run(&Ask::Executions, None, function),
        Command::Graph { function, output } => show::graph(function, output.as_deref()),
        Command::Explain { asked, function } => explain::run(asked, function),
        Command::Tune { asked, function } => tune::run(asked, function),
        Command::Lib { output } => library::run(output),
        Command::Stats { json, function } => stats::run(*json, function.as_deref()),
    }
}
