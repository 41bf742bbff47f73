//! The command lines of the commands over ONNX models.

use std::ffi::OsString;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use lexopt::{Arg, Parser, ValueExt as _};

use super::check::Check;
use super::help_of;

/// The names of the commands.
pub(crate) const NAMES: [&str; 1] = ["check-onnx"];

/// A command.
#[derive(Debug, PartialEq)]
pub(crate) enum Command {
    /// `--help`.
    Help(&'static str),
    /// `check-onnx`.
    Check(Check),
}

/// Reads what follows a command's name.
pub(crate) fn parse(name: &str, rest: &[OsString]) -> Result<Command, String> {
    let mut parser = Parser::from_args(rest.iter().cloned());
    let jobs = thread::available_parallelism().map_or(1, usize::from);
    let mut check =
        Check { folder: PathBuf::new(), by_op: false, jobs, limit: Duration::from_secs(120), filter: String::new() };
    let text = |error: lexopt::Error| error.to_string();
    while let Some(argument) = parser.next().map_err(text)? {
        match argument {
            Arg::Short('h') | Arg::Long("help") => return Ok(Command::Help(help_of(name))),
            Arg::Long("by-op") => check.by_op = true,
            Arg::Long("jobs") | Arg::Short('j') => {
                check.jobs = parser.value().and_then(|v| v.parse()).map_err(text)?;
            }
            Arg::Long("timeout") => {
                check.limit = Duration::from_secs(parser.value().and_then(|v| v.parse()).map_err(text)?);
            }
            Arg::Long("filter") => check.filter = parser.value().and_then(|v| v.string()).map_err(text)?,
            Arg::Value(value) if check.folder.as_os_str().is_empty() => check.folder = value.into(),
            other => return Err(other.unexpected().to_string()),
        }
    }
    match check.folder.as_os_str().is_empty() {
        true => Err("the folder of the cases is missing".into()),
        false => Ok(Command::Check(check)),
    }
}
