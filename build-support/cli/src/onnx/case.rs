//! One test case of ONNX: a folder with a model, inputs, and the outputs that it must give.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tenfold_core::{Backend, Target};
use tenfold_onnx::{Import, Options, Port, TensorData, declared, import};

use super::compare::{Tolerance, differ};
use super::native;
use super::outputs::{Output, outputs};

/// How long a compiled case may run.
const LIMIT: Duration = Duration::from_secs(20);

/// What became of a case.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    Passed,
    Failed(String),
    Skipped(String),
}

impl Verdict {
    /// As one line.
    pub(crate) fn to_line(&self) -> String {
        let one = |text: &str| text.replace('\\', "\\\\").replace('\n', "\\n");
        match self {
            Verdict::Passed => "passed".into(),
            Verdict::Failed(why) => format!("failed {}", one(why)),
            Verdict::Skipped(why) => format!("skipped {}", one(why)),
        }
    }

    /// The verdict of such a line.
    pub(crate) fn from_line(line: &str) -> Verdict {
        let back = |text: &str| text.replace("\\n", "\n").replace("\\\\", "\\");
        match line.split_once(' ') {
            None if line == "passed" => Verdict::Passed,
            Some(("failed", why)) => Verdict::Failed(back(why)),
            Some(("skipped", why)) => Verdict::Skipped(back(why)),
            _ => Verdict::Failed(format!("the worker said `{line}`")),
        }
    }
}

/// The operators of a case's model, for the table.
pub(crate) fn operators(folder: &Path) -> Vec<String> {
    let bytes = fs::read(folder.join("model.onnx")).unwrap_or_default();
    tenfold_onnx::operators_of(&bytes).unwrap_or_default()
}

/// Imports, compiles and runs a case with each of its data sets.
pub(crate) fn run(folder: &Path, backend: &dyn Backend, target: &Target, scratch: &Path) -> Verdict {
    match attempt(folder, backend, target, scratch) {
        Ok(verdict) => verdict,
        Err(why) => Verdict::Failed(why),
    }
}

fn attempt(folder: &Path, backend: &dyn Backend, target: &Target, scratch: &Path) -> Result<Verdict, String> {
    let model = folder.join("model.onnx");
    let bytes = fs::read(&model).map_err(|e| format!("`{}` cannot be read: {e}", model.display()))?;
    let tolerance = Tolerance::read(&folder.join("tolerance"))?;
    let sets = data_sets(folder);
    if sets.is_empty() {
        return Ok(Verdict::Skipped("it has no data".into()));
    }
    let names: Vec<String> = declared(&bytes).map_err(|e| e.to_string())?.0.into_iter().map(|d| d.name).collect();
    let mut built: Option<Built> = None;
    for set in sets {
        let (inputs, outputs) = (tensors(&set, "input")?, tensors(&set, "output")?);
        let built = match built.take().filter(|built| built.takes(&inputs)) {
            Some(same) => built.insert(same),
            None => built.insert(Built::of(&bytes, &model, &names, &inputs, &|import| {
                native::build(import, backend, target, scratch, native::Linked::Program)
            })?),
        };
        let given = given(&built.inputs, &names, &inputs)?;
        let (results, _) = built.program.call(&given, None, LIMIT)?;
        compare(&built.outputs, &results, &outputs, tolerance)?;
    }
    Ok(Verdict::Passed)
}

/// A compiled model, for inputs of these shapes.
struct Built {
    shapes: Vec<Vec<u64>>,
    /// Whether values of inputs are part of it.
    special: bool,
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    program: native::Program,
}

impl Built {
    fn of(
        bytes: &[u8],
        path: &Path,
        names: &[String],
        inputs: &[TensorData],
        build: &dyn Fn(Import) -> Result<native::Program, String>,
    ) -> Result<Built, String> {
        let (imported, special) = specialised(bytes, path, names, inputs)?;
        let shapes = inputs.iter().map(|data| data.shape.clone()).collect();
        let ports = (imported.inputs.clone(), imported.outputs.clone());
        Ok(Built { shapes, special, inputs: ports.0, outputs: ports.1, program: build(imported)? })
    }

    fn takes(&self, inputs: &[TensorData]) -> bool {
        !self.special && self.shapes.iter().eq(inputs.iter().map(|data| &data.shape))
    }
}

fn data_sets(folder: &Path) -> Vec<PathBuf> {
    let sets = (0..).map(|n| folder.join(format!("test_data_set_{n}")));
    sets.take_while(|set| set.is_dir()).collect()
}

fn tensors(set: &Path, kind: &str) -> Result<Vec<TensorData>, String> {
    let files = (0..).map(|n| set.join(format!("{kind}_{n}.pb"))).take_while(|file| file.is_file());
    let read = |file: PathBuf| {
        let bytes = fs::read(&file).map_err(|e| format!("`{}`: {e}", file.display()))?;
        TensorData::from_proto(&bytes).map_err(|e| format!("`{}`: {e}", file.display()))
    };
    files.map(read).collect()
}

/// The model for inputs of these shapes, and whether it holds values of theirs: an input whose value decides a shape is
/// a constant of the function, since what is compiled has the shapes of its results in its signature.
fn specialised(bytes: &[u8], path: &Path, names: &[String], inputs: &[TensorData]) -> Result<(Import, bool), String> {
    let mut options = Options { name: "model".into(), ..Options::default() };
    for (name, data) in names.iter().zip(inputs) {
        options.shapes.insert(name.clone(), data.shape.clone());
        if data.elem.storage().is_none() {
            options.values.insert(name.clone(), data.clone());
        }
    }
    loop {
        let error = match import(bytes, Some(path), &options) {
            Ok(imported) => return Ok((imported, !options.values.is_empty())),
            Err(error) => error,
        };
        let before = options.values.len();
        for name in &error.wanted {
            let data = names.iter().position(|n| n == name).and_then(|at| inputs.get(at));
            options.values.extend(data.map(|data| (name.clone(), data.clone())));
        }
        if options.values.len() == before {
            return Err(error.to_string());
        }
    }
}

/// The bytes of the parameters.
fn given(ports: &[Port], names: &[String], inputs: &[TensorData]) -> Result<Vec<Vec<u8>>, String> {
    let of = |port: &Port| {
        let data = names.iter().position(|name| *name == port.name).and_then(|at| inputs.get(at));
        let data = data.ok_or_else(|| format!("there is no data for the input `{}`", port.name))?;
        data.bytes().map(|bytes| bytes.to_vec())
    };
    ports.iter().map(of).collect()
}

fn compare(ports: &[Port], results: &[Vec<u8>], expected: &[TensorData], tolerance: Tolerance) -> Result<(), String> {
    let found = outputs(ports, results)?;
    if expected.len() > found.len() {
        return Err(format!("it gives {} outputs where {} are expected", found.len(), expected.len()));
    }
    for (Output { port, shape, bytes: found }, expected) in found.iter().zip(expected) {
        if (port.elem, shape) != (expected.elem, &expected.shape) {
            return Err(format!(
                "output `{}` is {}{shape:?} where {}{:?} is expected",
                port.name, port.elem, expected.elem, expected.shape
            ));
        }
        let bytes = expected.bytes()?;
        if let Some(difference) = differ(port.elem, found, &bytes, tolerance) {
            return Err(format!("output `{}`: {difference}", port.name));
        }
    }
    Ok(())
}
