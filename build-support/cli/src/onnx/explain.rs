//! `explain` of a model: its kernels, on this machine or for a device.

use std::collections::BTreeMap;
use std::env;
use std::path::Path;

use tenfold_build::look;
use tenfold_core::Options;
use tenfold_core::pass::PassContext;
use tenfold_core::show::explain::{self, compile_timed, explain_device, report_in};
use tenfold_ir::Module;

use super::format::read;
use super::model::{Model, host, open_dims, outcome};
use super::native;
use super::tune::records;
use crate::explain::{Explained, NOT_RUN, keep, measured, say};
use crate::scratch::Scratch;
use crate::{Outcome, output};

/// Explains it.
pub(crate) fn explain(model: &Model) -> Outcome {
    outcome(attempt(model))
}

fn attempt(model: &Model) -> Result<String, String> {
    let asked = Explained {
        dims: model.dims.clone(),
        seconds: model.seconds,
        threads: model.threads,
        device: model.device.clone(),
        gpu: model.gpu.clone(),
        no_run: model.no_run,
        json: model.json,
        output: model.outputs.first().cloned(),
    };
    let imported = read(&model.path, &open_dims(model)?).map_err(|e| e.to_string())?;
    for (place, why) in &imported.notes {
        output::complain(&format!("{place} stays an operator of floats: {why}"));
    }
    let scratch = Scratch::new()?;
    let folder = scratch.path();
    let context = PassContext::from_env(host(), &|name| env::var(name).ok()).map_err(|e| e.message)?;
    let explained = match &asked.device {
        Some(device) => on_device(imported.module, device, &asked, &context, folder)?,
        None => on_processor(imported.module, &asked, context.with_tuned(records()), folder)?,
    };
    report_in(&explained, folder)?;
    say(&asked, folder)
}

/// The kernels for this machine's processor, timed unless nothing is to be run.
fn on_processor(
    module: Module,
    asked: &Explained,
    context: PassContext,
    folder: &Path,
) -> Result<explain::Explained, String> {
    let backend = native::backend(folder)?;
    let made = compile_timed(module, &context, &Options::default(), &*backend, &BTreeMap::new(), folder);
    let (explained, written) =
        made.map_err(|errors| errors.iter().map(|e| e.message.clone()).collect::<Vec<_>>().join("; "))?;
    let figures = match (asked.no_run, written) {
        (true, _) => Err("`--no-run` was given".into()),
        (false, Err(why)) => Err(why),
        (false, Ok(())) => measured(folder, asked),
    };
    keep(folder, figures)?;
    Ok(explained)
}

/// The kernels for a device, of which nothing is run.
fn on_device(
    module: Module,
    device: &str,
    asked: &Explained,
    context: &PassContext,
    folder: &Path,
) -> Result<explain::Explained, String> {
    let target = look::device(device)?;
    let of = (&target, asked.gpu.as_deref().unwrap_or_default());
    let explained = explain_device(module, of, context, &Options::default(), &BTreeMap::new());
    keep(folder, Err(NOT_RUN.into()))?;
    explained.map_err(|error| {
        let help = error.help.map_or(String::new(), |help| format!("; {help}"));
        format!("`{device}` does not take the model: {}{help}", error.message)
    })
}
