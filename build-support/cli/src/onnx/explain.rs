//! `explain` of a model: its kernels, on this machine.

use std::collections::BTreeMap;
use std::env;

use tenfold_core::Options;
use tenfold_core::pass::PassContext;
use tenfold_core::show::explain::{compile_timed, report_in};

use super::format::read;
use super::model::{Model, host, open_dims, outcome};
use super::native;
use super::tune::records;
use crate::explain::{Explained, keep, measured, say};
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
        device: None,
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
    let backend = native::backend(folder)?;
    let context = PassContext::from_env(host(), &|name| env::var(name).ok()).map_err(|e| e.message)?;
    let context = context.with_tuned(records());
    let made = compile_timed(imported.module, &context, &Options::default(), &*backend, &BTreeMap::new(), folder);
    let (explained, written) =
        made.map_err(|errors| errors.iter().map(|e| e.message.clone()).collect::<Vec<_>>().join("; "))?;
    let figures = match (asked.no_run, written) {
        (true, _) => Err("`--no-run` was given".into()),
        (false, Err(why)) => Err(why),
        (false, Ok(())) => measured(folder, &asked),
    };
    keep(folder, figures)?;
    report_in(&explained, folder)?;
    say(&asked, folder)
}
