//! `tune` of a model: its kernels, on this machine.

use std::env;

use tenfold_core::pass::PassContext;
use tenfold_core::tune::{How, RECORDS, Records, Tuned, kernels, read_all, write_all};

use super::format::read;
use super::model::{Model, host, open_dims, outcome};
use super::native;
use crate::scratch::Scratch;
use crate::{Outcome, output, tune};

/// Tunes it.
pub(crate) fn tune(model: &Model) -> Outcome {
    outcome(attempt(model))
}

fn attempt(model: &Model) -> Result<String, String> {
    let imported = read(&model.path, &open_dims(model)?).map_err(|e| e.to_string())?;
    let scratch = Scratch::new()?;
    let backend = native::backend(scratch.path())?.identity();
    let context = PassContext::from_env(host(), &|name| env::var(name).ok()).map_err(|e| e.message)?;
    let (found, others) = kernels(imported.module, &context, &How::default()).map_err(|e| e.message)?;
    let (found, others) = read_all(&write_all(&found, &others, scratch.path())?)?;
    tune::of_model(&model.tuned, &model.path, backend).run(&found, &others)
}

/// The records in this folder, which models are compiled with.
pub(super) fn records() -> Tuned {
    let text = std::fs::read_to_string(RECORDS).unwrap_or_default();
    let (records, wrong) = Records::parse(&text);
    wrong.iter().for_each(|why| output::complain(&format!("`{RECORDS}`: {why}")));
    Tuned::by(records)
}
