//! `signature`: the tensor function of a model, to paste into a crate.

use std::collections::BTreeSet;

use tenfold_onnx::{Elem, Import, Options, Port, identifier, weights};

use super::format::{self, read};
use super::given;
use super::model::{Model, outcome};
use crate::Outcome;

/// Names that a parameter cannot have.
const KEYWORDS: &str = " abstract as async await become box break const continue crate do dyn else enum extern false \
                        final fn for gen if impl in let loop macro match mod move mut override priv pub ref return \
                        self static struct super trait true try type typeof unsafe unsized use virtual where while \
                        yield ";

/// Width of a line; a longer function has a line for each parameter.
const WIDTH: usize = 100;

/// Prints it.
pub(crate) fn signature(model: &Model) -> Outcome {
    outcome(attempt(model))
}

fn attempt(model: &Model) -> Result<String, String> {
    given::ports(model)?;
    if model.params && format::is_tflite(&model.path) {
        return Err("weights of a TFLite model cannot be parameters; leave `--params` out".into());
    }
    let imported = imported(model)?;
    let stem = model.path.file_stem().map_or("model".into(), |stem| stem.to_string_lossy().into_owned());
    let first = imported.inputs.len() - imported.loaded;
    let names = names(&imported.inputs);
    let params: Vec<String> = imported
        .inputs
        .iter()
        .zip(&names)
        .map(|(port, name)| Ok(format!("{name}: {}", tensor(port)?)))
        .collect::<Result<_, String>>()?;
    let loaded = imported.inputs[first..].iter().zip(&names[first..]);
    let loaded: Vec<String> = loaded
        .map(|(port, name)| if port.name == *name { name.clone() } else { format!("{name} = {:?}", port.name) })
        .collect();
    let results: Vec<String> = imported.outputs.iter().map(result).collect::<Result<_, String>>()?;
    let result = match results.as_slice() {
        [one] => one.clone(),
        all => format!("({})", all.join(", ")),
    };
    let file = format!("{} = {:?}", format::name(&model.path), model.path.to_string_lossy());
    let attribute = match loaded.is_empty() {
        true => format!("#[tensor_fn({file})]"),
        false => list(&format!("#[tensor_fn({file}, params"), &loaded, ")]"),
    };
    let function = format!("pub fn {}", unreserved(&identifier(&stem).to_lowercase()));
    Ok(format!("{attribute}\n{}\n", list(&function, &params, &format!(" -> {result};"))))
}

/// `head(items)tail`, on one line if it is short.
fn list(head: &str, items: &[String], tail: &str) -> String {
    let line = format!("{head}({}){tail}", items.join(", "));
    if line.len() <= WIDTH {
        return line;
    }
    let items: String = items.iter().map(|item| format!("    {item},\n")).collect();
    format!("{head}(\n{items}){tail}")
}

/// A model's function, and how many of its last parameters are weights.
struct Signature {
    inputs: Vec<Port>,
    outputs: Vec<Port>,
    loaded: usize,
}

/// The model with as many weights as parameters as can be: what decides a shape stays in it.
fn imported(model: &Model) -> Result<Signature, String> {
    let mut options = Options { name: "model".into(), dims: model.dims.clone(), ..Options::default() };
    if model.params {
        let all = weights(&model.path).map_err(|e| e.to_string())?.into_iter();
        let floats =
            all.filter(|weight| !weight.shape.is_empty() && weight.elem.storage().is_some_and(|d| d.is_float()));
        options.loaded = floats.map(|weight| weight.name).collect();
    }
    loop {
        match read(&model.path, &options) {
            Ok(Import { inputs, outputs, .. }) => {
                return Ok(Signature { inputs, outputs, loaded: options.loaded.len() });
            }
            Err(error) => {
                let before = options.loaded.len();
                options.loaded.retain(|name| !error.wanted.contains(name));
                if options.loaded.len() == before {
                    return Err(error.to_string());
                }
            }
        }
    }
}

/// Names of parameters, no two of which are equal.
fn names(ports: &[Port]) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let mut name = |port: &Port| {
        let mut name = unreserved(&identifier(&port.name).to_lowercase());
        while !taken.insert(name.clone()) {
            name.push('_');
        }
        name
    };
    ports.iter().map(&mut name).collect()
}

fn unreserved(name: &str) -> String {
    let is_keyword = KEYWORDS.contains(&format!(" {name} "));
    let is_blank = name.chars().all(|c| c == '_');
    if is_keyword || is_blank { format!("x_{name}") } else { name.into() }
}

/// A result as a type of the language: a length is a number.
fn result(port: &Port) -> Result<String, String> {
    if port.shape.is_empty() && port.elem == Elem::Int64 { Ok("i64".into()) } else { tensor(port) }
}

/// A port as a type of the language.
fn tensor(port: &Port) -> Result<String, String> {
    let dtype = port.elem.storage().filter(|dtype| Elem::of(*dtype) == port.elem && !dtype.is_stored());
    let dtype = dtype.ok_or_else(|| format!("`{}` is {}, which a signature cannot hold", port.name, port.elem))?;
    let dims: String = port
        .shape
        .iter()
        .map(|d| if d.as_const().is_some() || d.as_var().is_some() { format!(", {d}") } else { format!(", {{ {d} }}") })
        .collect();
    Ok(format!("Tensor<{dtype}{dims}>"))
}
