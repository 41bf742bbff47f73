//! What a command line gives a model: files of inputs and extents of dims, compared with what the model declares before
//! anything is compiled.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tenfold_onnx::{Declared, Port};

use super::format::declared;
use super::model::Model;
use super::npy::Array;

/// The inputs and outputs that a model declares. Every dim that the command line binds is one of the inputs'.
pub(crate) fn ports(model: &Model) -> Result<(Vec<Declared>, Vec<Declared>), String> {
    let path = &model.path;
    let bytes = fs::read(path).map_err(|e| format!("`{}` cannot be read: {e}", path.display()))?;
    let ports = declared(path, &bytes).map_err(|e| format!("`{}`: {e}", path.display()))?;
    let dims = ports.0.iter().flat_map(|input| input.dims.iter().flatten());
    let mut names: Vec<&str> = dims.filter(|dim| is_name(dim)).map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    match model.dims.keys().find(|dim| !names.contains(&dim.as_str())) {
        Some(dim) => Err(format!("the model has no dim `{dim}`; {}", listed("its dims are", &names))),
        None => Ok(ports),
    }
}

fn is_name(dim: &str) -> bool {
    dim != "?" && dim.parse::<i64>().is_err()
}

fn listed(what: &str, names: &[&str]) -> String {
    let all: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    if all.is_empty() { "it has none".into() } else { format!("{what} {}", all.join(", ")) }
}

/// What a model is called on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Given {
    /// How often it is called.
    pub(crate) calls: usize,
    /// The inputs by name: the shape that one call takes, and the elements of all calls.
    pub(crate) arrays: BTreeMap<String, Array>,
}

impl Given {
    /// The elements of the inputs of one call, in order.
    pub(crate) fn call(&self, inputs: &[Port], at: usize) -> Result<Vec<Vec<u8>>, String> {
        let one = |port: &Port| {
            let array = self.arrays.get(&port.name);
            let all = &array.ok_or_else(|| format!("the input `{}` is missing", port.name))?.bytes;
            let len = all.len() / self.calls;
            Ok(all[at * len..][..len].to_vec())
        };
        inputs.iter().map(one).collect()
    }
}

/// The arrays of the inputs.
pub(crate) fn arrays(model: &Model, inputs: &[Declared]) -> Result<Given, String> {
    let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
    let mut extents: BTreeMap<&str, u64> = model.dims.iter().map(|(dim, n)| (dim.as_str(), *n as u64)).collect();
    let (mut arrays, mut calls) = (BTreeMap::new(), None);
    for (at, (name, path)) in model.inputs.iter().enumerate() {
        let input = match name {
            Some(name) => inputs.iter().find(|input| input.name == *name),
            None => inputs.get(at),
        };
        let input = input.ok_or_else(|| match name {
            Some(name) => format!("the model has no input `{name}`; {}", listed("its inputs are", &names)),
            None => format!("the model has {} inputs, and `{}` is one more", inputs.len(), path.display()),
        })?;
        let file = fs::read(path).map_err(|e| format!("`{}` cannot be read: {e}", path.display()))?;
        let mut array = Array::read(&file).map_err(|e| format!("`{}`: {e}", path.display()))?;
        if model.each {
            let own = one_call(&mut array, path)?;
            let all = *calls.get_or_insert(own);
            if own != all {
                return Err(format!("`{}` holds inputs of {own} calls, and the file before {all}", path.display()));
            }
        }
        fits(input, &array, path, &mut extents)?;
        if arrays.insert(input.name.clone(), array).is_some() {
            return Err(format!("the input `{}` is given twice", input.name));
        }
    }
    match names.iter().find(|name| !arrays.contains_key(**name)) {
        Some(name) => Err(format!("the input `{name}` is missing: `--input {name}=FILE.npy`")),
        None => Ok(Given { calls: calls.unwrap_or(1), arrays }),
    }
}

/// Takes the first axis off a shape: it counts calls.
fn one_call(array: &mut Array, path: &Path) -> Result<usize, String> {
    match array.shape.first().copied().and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0) {
        Some(calls) => {
            array.shape.remove(0);
            Ok(calls)
        }
        None => {
            let (file, shape) = (path.display(), &array.shape);
            Err(format!("`--each` takes a first axis that counts calls, at least one, and `{file}` holds {shape:?}"))
        }
    }
}

/// Whether an array is what an input declares; it binds the dims that are not bound yet.
fn fits<'d>(
    input: &'d Declared,
    array: &Array,
    path: &Path,
    extents: &mut BTreeMap<&'d str, u64>,
) -> Result<(), String> {
    let dtype = input.elem.is_none_or(|elem| elem.storage() == Some(array.dtype));
    let shape = input.dims.as_ref().is_none_or(|dims| {
        let same = |(dim, n): (&'d String, &u64)| match dim.parse::<u64>() {
            Ok(extent) => extent == *n,
            Err(_) if !is_name(dim) => true,
            Err(_) => *extents.entry(dim).or_insert(*n) == *n,
        };
        dims.len() == array.shape.len() && dims.iter().zip(&array.shape).all(same)
    });
    if dtype && shape {
        return Ok(());
    }
    let elem = input.elem.map_or("?".into(), |elem| elem.to_string());
    let bound = |dim: &String| match extents.get(dim.as_str()) {
        Some(n) if is_name(dim) => format!("{dim} = {n}"),
        Some(_) | None => dim.clone(),
    };
    let dims = input.dims.iter().flatten().map(bound).collect::<Vec<_>>().join(", ");
    let (name, file) = (&input.name, path.display());
    Err(format!("the input `{name}` is {elem}[{dims}], and `{file}` holds {}{:?}", array.dtype, array.shape))
}

/// Whether there are as many files for outputs as the model has outputs, or fewer.
pub(crate) fn check_outputs(model: &Model, outputs: &[Declared]) -> Result<(), String> {
    let names: Vec<&str> = outputs.iter().map(|output| output.name.as_str()).collect();
    let named = listed("its outputs are", &names);
    match model.outputs.len() {
        0 => Err(format!("say where an output goes: `--output FILE.npy`; {named}")),
        files if files > outputs.len() => Err(format!("there are {files} files for outputs; {named}")),
        _ => Ok(()),
    }
}
