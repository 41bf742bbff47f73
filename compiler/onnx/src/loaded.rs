//! Initialisers that are parameters of the function: weights that a program reads when it runs.

use std::collections::BTreeSet;
use std::path::Path;

use tenfold_ir::ops::nearest;
use tenfold_ir::relax::{ParamKind, TensorType};
use tenfold_ir::{ConstBytes, DType, Loc};

use crate::elem::Elem;
use crate::emit::int;
use crate::error::{About, ImportError, Problem};
use crate::proto::{self, Dim, Graph};
use crate::tensor::{self, Elements, Home};
use crate::value::Value;
use crate::walk::{Cx, identifier};
use crate::{Parameter, Port};

/// An initialiser of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Weight {
    /// Its name.
    pub name: String,
    /// Type of an element.
    pub elem: Elem,
    /// Extents.
    pub shape: Vec<u64>,
    /// The elements, of the type that stores them ([`Elem::storage`]).
    pub bytes: ConstBytes,
}

/// The initialisers of the model in a file, as far as they are tensors of numbers.
///
/// # Errors
///
/// The file cannot be read or is no model, or one of them is not what it says.
pub fn weights(path: &Path) -> Result<Vec<Weight>, ImportError> {
    let bytes = std::fs::read(path);
    let bytes = bytes.map_err(|e| ImportError::of(format!("`{}` cannot be read: {e}", path.display())))?;
    let model = proto::model(&bytes).map_err(|e| ImportError::of(format!("it is no ONNX model: {}", e.0)))?;
    let graph = model.graph.ok_or_else(|| ImportError::of("it is no ONNX model: it has no graph"))?;
    let home = Home { path: Some(path), bytes: &bytes };
    let mut out = Vec::new();
    for tensor in &graph.initializers {
        let data = tensor::read(tensor, home);
        let data = data.map_err(|why| ImportError::of(format!("initializer `{}`: {why}", tensor.name)))?;
        if let Elements::Bytes(bytes) = data.data {
            out.push(Weight { name: tensor.name.to_string(), elem: data.elem, shape: data.shape, bytes });
        }
    }
    Ok(out)
}

impl<'m> Cx<'m> {
    /// The names of the model's initialisers that are parameters.
    pub(crate) fn loaded_names(&self) -> BTreeSet<&'m str> {
        let written = self.options.signature.iter().flat_map(|signature| &signature.inputs);
        let written = written.filter_map(|parameter| parameter.initializer.as_deref());
        written.chain(self.options.loaded.iter().map(String::as_str)).collect()
    }

    /// The parameters that are initialisers, from the next one on to one that is an input.
    pub(crate) fn loaded_up_to_input(&mut self, graph: &Graph<'m>, ports: &mut Vec<Port>) {
        let Some(signature) = &self.options.signature else { return };
        while let Some(parameter) = signature.inputs.get(ports.len())
            && let Some(name) = &parameter.initializer
        {
            self.loaded(graph, name, Some(parameter), ports);
        }
    }

    /// The initialisers that are parameters without a signature.
    pub(crate) fn loaded_behind_inputs(&mut self, graph: &Graph<'m>, ports: &mut Vec<Port>) {
        for name in &self.options.loaded {
            self.loaded(graph, name, None, ports);
        }
    }

    fn loaded(&mut self, graph: &Graph<'m>, name: &'m str, written: Option<&'m Parameter>, ports: &mut Vec<Port>) {
        let position = ports.len();
        let place = format!("initializer `{name}`");
        // one that is wrong has its place too, so that those behind it keep theirs
        let (port, dtype, is_sound) = match self.loaded_type(graph, name, written) {
            Ok((port, dtype)) => (port, dtype, true),
            Err(message) => {
                self.report(Problem { place, message, about: About::Input(position) });
                let port = Port { name: name.to_string(), elem: Elem::Float, shape: Vec::new(), lengths: Vec::new() };
                (port, DType::F32, false)
            }
        };
        let (text, loc) = written.map_or((identifier(name), Loc::default()), |it| (it.name.clone(), it.loc));
        let ty = TensorType { dtype, shape: port.shape.clone() };
        let value = self.b.param(ParamKind::Input, ty, &text, position, loc);
        self.params.insert(value, name.to_string());
        self.define(name, if is_sound { Value::Node(value, port.elem) } else { Value::Poison });
        ports.push(port);
    }

    /// What an initialiser is, if it is what is written.
    fn loaded_type(
        &mut self,
        graph: &Graph<'m>,
        name: &str,
        written: Option<&Parameter>,
    ) -> Result<(Port, DType), String> {
        let tensor = graph.initializers.iter().find(|tensor| tensor.name == name);
        let tensor = tensor.ok_or_else(|| unknown(graph, name))?;
        let elem = Elem::from_code(tensor.data_type);
        let (elem, dtype) =
            elem.and_then(|elem| Some((elem, elem.storage()?))).ok_or("elements of its type are not supported")?;
        let shape = match written {
            Some(parameter) => {
                let dims: Vec<Dim<'m>> = tensor.dims.iter().map(|extent| Dim::Value(*extent)).collect();
                self.written(parameter, elem, Some(&dims))?
            }
            None => tensor.dims.iter().map(|extent| int(*extent)).collect(),
        };
        Ok((Port { name: name.to_string(), elem, shape, lengths: Vec::new() }, dtype))
    }
}

fn unknown(graph: &Graph<'_>, name: &str) -> String {
    let near = nearest(name, graph.initializers.iter().map(|tensor| tensor.name));
    let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    format!("the model has none of this name{near}")
}
