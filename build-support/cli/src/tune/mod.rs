//! `cargo tenfold tune`: looks for schedules of a function's kernels that are faster on this machine than the default
//! ones, and writes records, which builds read.
//!
//! A worker of `tenfold-build` takes the kernels out of a function; of a model this process does. Then each kernel is
//! searched by itself (`search`), in a process that compiles and measures (`worker`), with a log of what was tried
//! (`log`).

mod log;
mod search;
mod table;
mod worker;

use std::env;
use std::path::{Path, PathBuf};

use tenfold_core::show::Ask;
use tenfold_core::tune::{RECORDS, read_all};

use crate::explain::foreign_target;
use crate::scratch::Scratch;
use crate::{Outcome, errors, output, show};
use search::Tuning;

pub(crate) use worker::serve;

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Asked {
    /// Schedules of a kernel that are tried.
    pub(crate) trials: usize,
    /// When to stop, whatever is left to try.
    pub(crate) seconds: Option<f64>,
    /// What chance follows from.
    pub(crate) seed: u64,
    /// The name of the one kernel to tune, or a part of it.
    pub(crate) kernel: Option<String>,
}

impl Default for Asked {
    fn default() -> Self {
        Asked { trials: 64, seconds: None, seed: 0, kernel: None }
    }
}

/// A number of trials.
pub(crate) fn trials(number: usize) -> Result<usize, String> {
    (number > 0).then_some(number).ok_or_else(|| "some schedules are tried: write `--trials 64`".into())
}

/// Tunes a function of a package, in the child.
pub(crate) fn run(asked: &Asked, name: &str) -> Outcome {
    output::tell(attempt(asked, name))
}

/// What to print; else what to complain of, as it stands.
fn attempt(asked: &Asked, name: &str) -> Result<String, String> {
    let plain = |error: String| format!("error: {error}\n");
    let of = |name: &str| env::var_os(name).map(PathBuf::from).unwrap_or_default();
    if let Some(reason) = foreign_target() {
        return Err(plain(format!("schedules are measured where they run: {reason}")));
    }
    let found = tenfold_build::look::names().map_err(plain)?;
    let number = show::choose(&found, name).map_err(plain)?;
    let scratch = Scratch::new().map_err(plain)?;
    let ask = Ask::Kernels(scratch.path().to_string_lossy().into_owned());
    let answer = show::of(&found, number, &ask, Some(tenfold::variants::current())).map_err(plain)?;
    let text = answer.map_err(|refused| refused.iter().map(errors::text).collect::<Vec<_>>().join("\n"))?;
    let (kernels, others) = read_all(&text).map_err(plain)?;
    let tuning = Tuning {
        asked,
        of: show::full(&found.functions[number]),
        records: of("CARGO_MANIFEST_DIR").join(RECORDS),
        logs: of("OUT_DIR").join("tune"),
        backend: found.backend.clone(),
    };
    tuning.run(&kernels, &others).map_err(plain)
}

/// Where the records and the logs of models are: there is no package that they belong to.
pub(crate) fn of_model<'a>(asked: &'a Asked, model: &Path, backend: String) -> Tuning<'a> {
    Tuning {
        asked,
        of: model.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        records: RECORDS.into(),
        logs: Path::new("target").join("tenfold").join("tune"),
        backend,
    }
}
