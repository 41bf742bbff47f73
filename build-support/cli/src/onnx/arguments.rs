//! The command lines of the commands over ONNX models.

use std::ffi::OsString;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use lexopt::{Arg, Parser, ValueExt as _};

use super::check::Check;
use super::help_of;
use super::model::Model;
use crate::arguments::{device, known_gpu};
use crate::tune;

/// The names of the commands.
pub(crate) const NAMES: [&str; 5] = ["check-onnx", "signature", "weights", "run", "bench"];

/// A command.
#[derive(Debug, PartialEq)]
pub(crate) enum Command {
    /// `--help`.
    Help(&'static str),
    /// `check-onnx`.
    Check(Check),
    /// `signature`.
    Signature(Model),
    /// `weights`.
    Weights(Model),
    /// `run`.
    Run(Model),
    /// `bench`.
    Bench(Model),
    /// `explain`.
    Explain(Model),
    /// `tune`.
    Tune(Model),
}

impl Command {
    /// Whether it compiles a model for this machine's processor.
    pub(super) fn compiles(&self) -> bool {
        match self {
            Command::Help(_) | Command::Signature(_) | Command::Weights(_) => false,
            Command::Explain(model) => model.device.is_none(),
            Command::Check(_) | Command::Run(_) | Command::Bench(_) | Command::Tune(_) => true,
        }
    }
}

/// Reads what follows a command's name.
pub(crate) fn parse(name: &str, rest: &[OsString]) -> Result<Command, String> {
    let mut parser = Parser::from_args(rest.iter().cloned());
    if name == "check-onnx" {
        return check(&mut parser);
    }
    let (help, model) = model(name, &mut parser)?;
    if let Some(text) = help {
        return Ok(Command::Help(text));
    }
    Ok(match name {
        "signature" => Command::Signature(model),
        "weights" => Command::Weights(model),
        "run" => Command::Run(model),
        "explain" => Command::Explain(model),
        "tune" => Command::Tune(model),
        _ => Command::Bench(model),
    })
}

fn text(error: lexopt::Error) -> String {
    error.to_string()
}

fn check(parser: &mut Parser) -> Result<Command, String> {
    let jobs = thread::available_parallelism().map_or(1, usize::from);
    let mut check =
        Check { folder: PathBuf::new(), by_op: false, jobs, limit: Duration::from_secs(120), filter: String::new() };
    while let Some(argument) = parser.next().map_err(text)? {
        match argument {
            Arg::Short('h') | Arg::Long("help") => return Ok(Command::Help(help_of("check-onnx"))),
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

/// A dim and its extent.
pub(crate) fn dim(value: &str) -> Result<(String, i64), String> {
    let pair = value.split_once('=').and_then(|(name, n)| Some((name.to_string(), n.parse::<i64>().ok()?)));
    pair.filter(|(_, n)| *n >= 0).ok_or_else(|| "write `--dim NAME=NUMBER`".into())
}

/// A time to measure for.
pub(crate) fn seconds(value: f64) -> Result<f64, String> {
    let some = value > 0.0 && value.is_finite();
    some.then_some(value).ok_or_else(|| "it is measured for some time: write `--seconds 1`".into())
}

/// What is asked of a model, or the help.
fn model(name: &str, parser: &mut Parser) -> Result<(Option<&'static str>, Model), String> {
    let mut model = Model { seconds: 1.0, threads: 1, ..Model::default() };
    let (runs, signs, writes, explains) = (name == "run", name == "signature", name == "weights", name == "explain");
    let (measures, tunes) = (name == "bench" || explains, name == "tune");
    while let Some(argument) = parser.next().map_err(text)? {
        match argument {
            Arg::Short('h') | Arg::Long("help") => return Ok((Some(help_of(name)), model)),
            Arg::Long("input") | Arg::Short('i') if runs => {
                let value = parser.value().and_then(|v| v.string()).map_err(text)?;
                model.inputs.push(match value.split_once('=') {
                    Some((name, file)) => (Some(name.into()), file.into()),
                    None => (None, value.into()),
                });
            }
            Arg::Long("output") | Arg::Short('o') if runs || ((writes || explains) && model.outputs.is_empty()) => {
                model.outputs.push(parser.value().map_err(text)?.into());
            }
            Arg::Long("each") if runs => model.each = true,
            Arg::Long("params") if signs => model.params = true,
            Arg::Long("dim") if !writes => {
                let value = parser.value().and_then(|v| v.string()).map_err(text)?;
                model.dims.extend([dim(&value)?]);
            }
            Arg::Long("device") if explains => {
                model.device = Some(device(&parser.value().and_then(|v| v.string()).map_err(text)?)?);
            }
            Arg::Long("gpu") if explains => {
                model.gpu = Some(parser.value().and_then(|v| v.string()).map_err(text)?);
            }
            Arg::Long("no-run") if explains => model.no_run = true,
            Arg::Long("json") if measures => model.json = true,
            Arg::Long("seconds") if measures => {
                model.seconds = seconds(parser.value().and_then(|v| v.parse()).map_err(text)?)?;
            }
            Arg::Long("trials") if tunes => {
                model.tuned.trials = tune::trials(parser.value().and_then(|v| v.parse()).map_err(text)?)?;
            }
            Arg::Long("seconds") if tunes => {
                model.tuned.seconds = Some(seconds(parser.value().and_then(|v| v.parse()).map_err(text)?)?);
            }
            Arg::Long("seed") if tunes => {
                model.tuned.seed = parser.value().and_then(|v| v.parse()).map_err(text)?;
            }
            Arg::Long("kernel") if tunes => {
                model.tuned.kernel = Some(parser.value().and_then(|v| v.string()).map_err(text)?);
            }
            Arg::Long("threads") if measures => {
                model.threads = threads(parser.value().and_then(|v| v.parse()).map_err(text)?)?;
            }
            Arg::Value(value) if model.path.as_os_str().is_empty() => model.path = value.into(),
            other => return Err(other.unexpected().to_string()),
        }
    }
    known_gpu(model.device.as_deref(), model.gpu.as_deref())?;
    match model.path.as_os_str().is_empty() {
        true => Err("the file of the model is missing".into()),
        false => Ok((None, model)),
    }
}

/// A number of threads that a call may use.
pub(crate) fn threads(count: usize) -> Result<usize, String> {
    let most = tenfold::threads::MOST;
    match (1..=most).contains(&count) {
        true => Ok(count),
        false => Err(format!("a call takes 1 to {most} threads: write `--threads 1`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Command, String> {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap_or_default();
        let rest: Vec<OsString> = words.map(OsString::from).collect();
        parse(name, &rest)
    }

    #[test]
    fn what_can_be_asked() {
        let Ok(Command::Check(check)) = read("check-onnx cases --by-op -j 3 --timeout 5") else { panic!("no check") };
        assert_eq!((check.by_op, check.jobs, check.limit), (true, 3, Duration::from_secs(5)));
        let Ok(Command::Run(run)) = read("run m.onnx --input a.npy --input b=c.npy -o y.npy --each --dim N=4") else {
            panic!("no run")
        };
        assert_eq!(run.inputs, [(None, "a.npy".into()), (Some("b".into()), "c.npy".into())]);
        assert_eq!((run.outputs, run.dims["N"], run.each), (vec![PathBuf::from("y.npy")], 4, true));
        let Ok(Command::Bench(bench)) = read("bench m.onnx --threads 2 --json") else { panic!("no bench") };
        assert_eq!((bench.json, bench.threads), (true, 2));
        assert!(matches!(read("signature m.onnx"), Ok(Command::Signature(_))));
        assert!(matches!(read("bench --help"), Ok(Command::Help(_))));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let cases = [
            ("check-onnx", "the folder of the cases is missing"),
            ("run", "the file of the model is missing"),
            ("signature m.onnx --json", "invalid option '--json'"),
            ("bench m.onnx --threads 0", "a call takes 1 to 64 threads: write `--threads 1`"),
            ("bench m.onnx --seconds -1", "it is measured for some time: write `--seconds 1`"),
            ("bench m.onnx --seconds nan", "it is measured for some time: write `--seconds 1`"),
            ("weights m.onnx -o a -o b", "invalid option '-o'"),
            ("bench m.onnx --each", "invalid option '--each'"),
            ("bench m.onnx --device spirv", "invalid option '--device'"),
            ("explain m.onnx --device c", "`c` is no device; write `--device spirv` or `--device nvptx:sm_80`"),
            ("explain m.onnx --gpu m1", "`--gpu` says which GPU a device is taken for: write `--device spirv` too"),
            ("run m.onnx --dim N", "write `--dim NAME=NUMBER`"),
        ];
        for (line, expected) in cases {
            assert_eq!(read(line).err().as_deref(), Some(expected), "{line}");
        }
    }
}
