//! TFLite models in, graphs of relax out.
//!
//! A model's tables are read where they lie, each place checked. Operators of floats become operators
//! of the language; operators on quantised integers become exactly what TFLite's reference kernels compute: sums in 32
//! bits, factors in fixed point that round as those do, and functions of 8 bits as tables that are computed here.
//!
//! Models are strangers' files: nothing here panics on one or allocates by what a number in it says. What is wrong with
//! one is told all at once. It knows nothing of targets, passes or cargo. What a model is read with and what comes of it
//! are the types of the ONNX importer, so that whoever has one of them takes both.

mod emit;
mod fixed;
mod flat;
mod model;
mod ops;
mod walk;

use std::path::Path;

use tenfold_onnx::{About, Declared, Elem, Import, ImportError, Options, Problem};

/// Reads the model in a file.
///
/// # Errors
///
/// Everything that is wrong with it, or that this version does not compile.
pub fn read(path: &Path, options: &Options) -> Result<Import, ImportError> {
    let bytes = std::fs::read(path);
    let bytes = bytes.map_err(|e| told(format!("`{}` cannot be read: {e}", path.display())))?;
    import(&bytes, options)
}

/// Reads a model from its bytes.
///
/// ```
/// let error = tenfold_tflite::import(b"no model", &tenfold_onnx::Options::default()).unwrap_err();
/// assert!(error.to_string().starts_with("it is no TFLite model: expected the file identifier `TFL3`"));
/// ```
///
/// # Errors
///
/// Everything that is wrong with it, or that this version does not compile.
pub fn import(bytes: &[u8], options: &Options) -> Result<Import, ImportError> {
    walk::import(&parsed(bytes)?, options)
}

/// Inputs and outputs of a model as it declares them.
///
/// # Errors
///
/// The bytes are no model.
pub fn declared(bytes: &[u8]) -> Result<(Vec<Declared>, Vec<Declared>), ImportError> {
    let model = parsed(bytes)?;
    let declare = |at: &i32| {
        let tensor = &model.tensors[usize::try_from(*at).unwrap_or(0)];
        let elem = walk::dtype(tensor.code).map(Elem::of);
        let dims = tensor.shape.iter().map(i64::to_string).collect();
        Declared { name: tensor.name.to_string(), elem, dims: Some(dims) }
    };
    Ok((model.inputs.iter().map(declare).collect(), model.outputs.iter().map(declare).collect()))
}

/// Whether bytes say of themselves that they are a TFLite model.
pub fn is_model(bytes: &[u8]) -> bool {
    bytes.get(4..8) == Some(b"TFL3")
}

/// The operators that are imported, by the names of the schema.
pub fn operators() -> Vec<&'static str> {
    ops::all().filter(|op| op.convert.is_some()).map(|op| op.name).collect()
}

fn parsed(bytes: &[u8]) -> Result<model::Model<'_>, ImportError> {
    model::model(bytes).map_err(|e| told(format!("it is no TFLite model: {}", e.0)))
}

fn told(message: String) -> ImportError {
    let problem = Problem { place: String::new(), message, about: About::Model };
    ImportError { problems: vec![problem], wanted: Vec::new() }
}
