//! `cargo tenfold explain`: what the kernels of a function do, how they were scheduled, and how fast they run here.
//!
//! A worker compiles the function with clocks between its kernels and writes a program of C around it; it is linked and
//! run here, and a worker reports what it has printed. Models are compiled in this process, as `bench` does.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

use tenfold_build::look::Functions;
use tenfold_core::show::explain::{CHECKS, FILES, INPUTS, MEASURED, REPORT};
use tenfold_core::show::{Ask, Explain, ExplainStep};

use crate::onnx::{explained_by, run_program};
use crate::scratch::Scratch;
use crate::{Outcome, errors, output, show};

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Explained {
    /// Extents and other numbers of a call.
    pub(crate) dims: BTreeMap<String, i64>,
    /// How long to measure.
    pub(crate) seconds: f64,
    /// Threads that a call may use.
    pub(crate) threads: usize,
    /// The device that is explained in place of the processor, as a target's text.
    pub(crate) device: Option<String>,
    /// The GPU that it is taken for, by its name.
    pub(crate) gpu: Option<String>,
    /// Whether nothing is to be measured.
    pub(crate) no_run: bool,
    /// For tools.
    pub(crate) json: bool,
    /// The file of the page.
    pub(crate) output: Option<PathBuf>,
}

impl Default for Explained {
    fn default() -> Self {
        Explained {
            dims: BTreeMap::new(),
            seconds: 1.0,
            threads: 1,
            device: None,
            gpu: None,
            no_run: false,
            json: false,
            output: None,
        }
    }
}

/// Why nothing is measured of a device.
pub(crate) const NOT_RUN: &str = "kernels for devices are not run here";

/// How long the program may run: it may be slow, but not hang.
const LIMIT: Duration = Duration::from_secs(3600);

/// Explains a function of a package, in the child.
pub(crate) fn run(asked: &Explained, name: &str) -> Outcome {
    output::tell(attempt(asked, name))
}

/// What to print; else what to complain of, as it stands.
fn attempt(asked: &Explained, name: &str) -> Result<String, String> {
    let plain = |error: String| format!("error: {error}\n");
    let found = tenfold_build::look::names().map_err(plain)?;
    let number = show::choose(&found, name).map_err(plain)?;
    let scratch = Scratch::new().map_err(plain)?;
    let folder = scratch.path();
    let measured = match reason_not_to_run(asked) {
        Some(reason) => Err(reason),
        None => {
            let refused = of(&found, number, asked, ExplainStep::Compile, folder)?;
            if refused.is_empty() { measured(folder, asked) } else { Err(refused) }
        }
    };
    keep(folder, measured).map_err(plain)?;
    of(&found, number, asked, ExplainStep::Report, folder)?;
    say(asked, folder).map_err(plain)
}

/// What a worker answers.
fn of(found: &Functions, number: usize, asked: &Explained, step: ExplainStep, folder: &Path) -> Result<String, String> {
    let dims = asked.dims.clone();
    let [device, gpu] = [&asked.device, &asked.gpu].map(|text| text.clone().unwrap_or_default());
    let ask = Explain { step, dims, device, gpu, folder: folder.to_string_lossy().into_owned() };
    let answer = show::of(found, number, &Ask::Explain(ask), Some(tenfold::variants::current()))
        .map_err(|error| format!("error: {error}\n"))?;
    answer.map_err(|refused| refused.iter().map(errors::text).collect::<Vec<_>>().join("\n"))
}

fn reason_not_to_run(asked: &Explained) -> Option<String> {
    match asked.device {
        Some(_) => Some(NOT_RUN.into()),
        None if asked.no_run => Some("`--no-run` was given".into()),
        None => foreign_target(),
    }
}

/// Why what is built for cargo's target does not run here.
pub(crate) fn foreign_target() -> Option<String> {
    let of = |name: &str| env::var(name).unwrap_or_default();
    let (target, host) = (of("TARGET"), of("HOST"));
    (target != host).then(|| format!("this machine is {host}, and the code is for {target}"))
}

/// Writes down what the program has printed, or why there is none.
pub(crate) fn keep(folder: &Path, measured: Result<String, String>) -> Result<(), String> {
    let (name, text) = match measured {
        Ok(text) => (MEASURED[0], text),
        Err(reason) => (MEASURED[1], reason),
    };
    let path = folder.join(name);
    fs::write(&path, text).map_err(|e| format!("`{}` cannot be written: {e}", path.display()))
}

/// What is printed of the report in a folder; its page goes where it is wanted.
pub(crate) fn say(asked: &Explained, folder: &Path) -> Result<String, String> {
    let read = |name: &str| {
        let path = folder.join(name);
        fs::read_to_string(&path).map_err(|e| format!("`{}` cannot be read: {e}", path.display()))
    };
    let [text, json, html] = REPORT;
    if let Some(path) = &asked.output {
        fs::write(path, read(html)?).map_err(|e| format!("`{}` cannot be written: {e}", path.display()))?;
    }
    read(if asked.json { json } else { text })
}

/// Makes the program in a folder and runs it; what it prints, or why it prints nothing. For several threads it is a
/// library, which this program calls with its own.
pub(crate) fn measured(folder: &Path, asked: &Explained) -> Result<String, String> {
    let mut command = match asked.threads {
        1 => Command::new(linked(folder, &[])?),
        threads => explained_by(&linked(folder, &["-shared", "-fPIC"])?, threads)?,
    };
    command.arg(folder.join(INPUTS)).arg(asked.seconds.to_string());
    let said = run_program(command, LIMIT)?;
    match said.strip_prefix("status ").map(|status| status.trim().parse::<i32>()) {
        Some(Ok(status)) => Err(refusal(folder, tenfold_abi::Status(status))),
        Some(Err(_)) | None => Ok(said),
    }
}

/// What the function says to inputs that it does not take.
fn refusal(folder: &Path, status: tenfold_abi::Status) -> String {
    let checks = fs::read_to_string(folder.join(CHECKS)).unwrap_or_default();
    let broken = status.failed_check().and_then(|n| checks.lines().nth(n));
    match broken {
        Some(check) => format!("random inputs do not keep to what the function asks for: {check}"),
        None => format!("a call with random inputs fails: {status}"),
    }
}

/// The program, for this very processor where the C compiler knows how to say so.
fn linked(folder: &Path, how: &[&str]) -> Result<PathBuf, String> {
    let path = folder.join("measure");
    let mut why = String::new();
    for flags in [&["-march=native"][..], &["-mcpu=native"], &[]] {
        let mut cc = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
        cc.args(["-O2", "-std=gnu11", "-w"]).args(flags).args(how).arg("-o").arg(&path);
        let out = cc.args(FILES.map(|file| folder.join(file))).output();
        let out = out.map_err(|e| format!("the C compiler cannot be started, and it links what is measured: {e}"))?;
        if out.status.success() {
            return Ok(path);
        }
        why = String::from_utf8_lossy(&out.stderr).trim().to_string();
    }
    Err(format!("the program that measures does not link: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_fails_says_which_check_did_not_hold() {
        let scratch = Scratch::new().expect("a folder");
        fs::write(scratch.path().join(CHECKS), "n is small\nk is large").expect("a file");
        let refusal = |status| refusal(scratch.path(), tenfold_abi::Status(status));
        assert_eq!(refusal(2), "random inputs do not keep to what the function asks for: k is large");
        assert_eq!(refusal(-1), "a call with random inputs fails: an extent is negative or too large");
    }
}
