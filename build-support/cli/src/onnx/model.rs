//! `run` and `bench`: one model, on this machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tenfold_core::Target;
use tenfold_core::show::explain;
use tenfold_onnx::{Declared, Options, Port};

use super::format::read;
use super::given;
use super::native::{self, Linked, Program};
use super::npy::Array;
use super::outputs::{Output, outputs as outputs_of};
use crate::rustc::Rustc;
use crate::scratch::Scratch;
use crate::{Outcome, output, tune};

/// What is asked of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Model {
    /// The file.
    pub(crate) path: PathBuf,
    /// Files of inputs, by name or in order.
    pub(crate) inputs: Vec<(Option<String>, PathBuf)>,
    /// Files of outputs, in order.
    pub(crate) outputs: Vec<PathBuf>,
    /// Extents of named dims.
    pub(crate) dims: BTreeMap<String, i64>,
    /// Whether the first axis of the inputs and outputs counts calls.
    pub(crate) each: bool,
    /// Whether to print one JSON object.
    pub(crate) json: bool,
    /// How long to measure.
    pub(crate) seconds: f64,
    /// Threads of a call.
    pub(crate) threads: usize,
    /// Whether weights are parameters.
    pub(crate) params: bool,
    /// Whether nothing is to be measured.
    pub(crate) no_run: bool,
    /// The device that it is explained for, as a target's text.
    pub(crate) device: Option<String>,
    /// The GPU that the device is taken for, by its name.
    pub(crate) gpu: Option<String>,
    /// How to tune it.
    pub(crate) tuned: tune::Asked,
}

/// How long a model may run.
const LIMIT: Duration = Duration::from_secs(3600);

/// This machine with every feature of its processor.
pub(super) fn host() -> Target {
    let cfg = Rustc::find().and_then(|rustc| rustc.print("cfg", &["-C", "target-cpu=native"])).unwrap_or_default();
    let features: Vec<&str> =
        cfg.lines().filter_map(|line| line.strip_prefix("target_feature=\"")?.strip_suffix('"')).collect();
    Target::from_triple(&Target::host().triple, &features)
}

/// The same, with registers that are matrices if the runtime's calls take code for them: it asks the system first.
pub(super) fn host_of_runtime() -> Target {
    let (host, taken) = (host(), tenfold::variants::current());
    match host.levels().into_iter().find(|level| level.name == taken) {
        Some(level) => host.with_level(&level),
        None => host,
    }
}

/// How long the steps took, in milliseconds.
struct Times {
    import: f64,
    compile: f64,
}

fn compiled(
    model: &Model,
    options: &Options,
    folder: &Path,
    linked: Linked,
) -> Result<(Program, Vec<Port>, Vec<Port>, Times), String> {
    let begin = Instant::now();
    let imported = read(&model.path, options).map_err(|e| e.to_string())?;
    let import = begin.elapsed().as_secs_f64() * 1e3;
    let (inputs, outputs) = (imported.inputs.clone(), imported.outputs.clone());
    for (place, why) in &imported.notes {
        output::complain(&format!("{place} stays an operator of floats: {why}"));
    }
    let begin = Instant::now();
    let backend = native::backend(folder)?;
    let program = native::build(imported, &*backend, &host_of_runtime(), folder, linked)?;
    let compile = begin.elapsed().as_secs_f64() * 1e3;
    Ok((program, inputs, outputs, Times { import, compile }))
}

/// `run`: reads inputs, calls the model, writes outputs.
pub(crate) fn run(model: &Model) -> Outcome {
    outcome(attempt_run(model).map(|()| String::new()))
}

/// Prints what a command gives, or why it gives nothing.
pub(crate) fn outcome(result: Result<String, String>) -> Outcome {
    match result {
        Ok(text) => {
            output::say(&text);
            Outcome::Good
        }
        Err(error) => {
            output::complain(&error);
            Outcome::Bad
        }
    }
}

fn attempt_run(model: &Model) -> Result<(), String> {
    let (inputs, outputs) = given::ports(model)?;
    given::check_outputs(model, &outputs)?;
    let given = given::arrays(model, &inputs)?;
    let shapes = given.arrays.iter().map(|(name, array)| (name.clone(), array.shape.clone())).collect();
    let options = Options { dims: model.dims.clone(), shapes, ..Options::default() };
    let scratch = Scratch::new()?;
    let (program, inputs, outputs, _) = compiled(model, &options, scratch.path(), Linked::Program)?;
    let (first, _) = program.call(&given.call(&inputs, 0)?, None, LIMIT)?;
    let mut all = outputs_of(&outputs, &first)?;
    for at in 1..given.calls {
        let (results, _) = program.call(&given.call(&inputs, at)?, None, LIMIT)?;
        for (all, own) in all.iter_mut().zip(outputs_of(&outputs, &results)?) {
            all.append(own)?;
        }
    }
    for (Output { port, mut shape, bytes }, path) in all.into_iter().zip(&model.outputs) {
        let dtype = port.elem.storage().ok_or("an output has elements that a file cannot hold")?;
        if model.each {
            shape.insert(0, given.calls as u64);
        }
        let file = Array { dtype, shape, bytes }.write();
        fs::write(path, file).map_err(|e| format!("`{}` cannot be written: {e}", path.display()))?;
    }
    Ok(())
}

/// A model whose dims are numbers: as other runtimes' benchmarks do, one without a value is 1.
pub(super) fn open_dims(model: &Model) -> Result<Options, String> {
    let (inputs, _) = given::ports(model)?;
    let mut dims = model.dims.clone();
    for dim in inputs.iter().flat_map(|i| i.dims.iter().flatten()).filter(|dim| dim.parse::<u64>().is_err()) {
        dims.entry(dim.clone()).or_insert(1);
    }
    let unknown = |i: &Declared| {
        let dims = i.dims.as_ref().filter(|dims| dims.iter().any(|d| d == "?"))?;
        Some((i.name.clone(), dims.iter().map(|d| d.parse().unwrap_or(1)).collect()))
    };
    Ok(Options { dims, shapes: inputs.iter().filter_map(unknown).collect(), ..Options::default() })
}

/// `bench`: how long a call takes on random inputs.
pub(crate) fn bench(model: &Model) -> Outcome {
    outcome(attempt_bench(model))
}

fn attempt_bench(model: &Model) -> Result<String, String> {
    let options = open_dims(model)?;
    let scratch = Scratch::new()?;
    let (program, inputs, _, times) =
        compiled(model, &options, scratch.path(), Linked::Library { threads: model.threads })?;
    let given = inputs.iter().map(random).collect::<Result<Vec<_>, String>>()?;
    let (_, said) = program.call(&given, Some(model.seconds), LIMIT)?;
    let numbers: Vec<f64> = said.split_whitespace().filter_map(|text| text.parse().ok()).collect();
    let [median, least, greatest, calls] = numbers[..] else { return Err("the benchmark said nothing".into()) };
    let Times { import, compile } = times;
    Ok(if model.json {
        let object = serde_json::json!({
            "median_ms": median,
            "min_ms": least,
            "max_ms": greatest,
            "calls": calls as u64,
            "threads": model.threads,
            "import_ms": import,
            "compile_ms": compile,
        });
        format!("{object}\n")
    } else {
        let threads = if model.threads == 1 { "one thread".to_string() } else { format!("{} threads", model.threads) };
        format!(
            "imported in {import:.0} ms, compiled in {compile:.0} ms\n\
             {median:.3} ms per call, from {least:.3} to {greatest:.3} over {calls} calls on {threads}\n"
        )
    })
}

/// Numbers for an input.
fn random(port: &Port) -> Result<Vec<u8>, String> {
    let dtype = port.elem.storage().ok_or("an input has elements that are not supported")?;
    Ok(explain::random(dtype, native::bytes(port)? / dtype.size_bytes() as u64))
}
