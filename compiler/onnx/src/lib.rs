//! ONNX models in, graphs of relax out.
//!
//! A model is read from its bytes without a copy of them, and walked node by node. What is known when the model is
//! read (initialisers, shapes, arithmetic on shapes) stays known as values of the walk; the rest becomes operators of
//! the language. Most nodes are an operator of the language, attribute by attribute; the others are composed of its
//! operators.
//!
//! Models are strangers' files: nothing here panics on one, allocates by what a number in it says, or reads outside of
//! its folder. It knows nothing of targets, passes or cargo.

mod call;
mod elem;
mod emit;
mod error;
mod exact;
mod external;
mod fixed;
mod fold;
mod ints;
mod lengths;
mod loaded;
mod ops;
mod proto;
mod qdq;
mod tensor;
mod value;
mod walk;
mod wire;

use std::collections::BTreeMap;
use std::path::Path;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::relax::{FactDecl, SymDecl};
use tenfold_ir::{DType, Loc, Module};

pub use elem::{Elem, SmallFloat, Specials};
pub use error::{About, ImportError, Problem};
pub use loaded::{Weight, weights};
pub use tensor::{Elements, TensorData};
pub use walk::identifier;

/// What a model is read with.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Name of the function.
    pub name: String,
    /// Extents of named dims.
    pub dims: BTreeMap<String, i64>,
    /// Shapes of inputs, which take the place of those in the model.
    pub shapes: BTreeMap<String, Vec<u64>>,
    /// Values of inputs that are constants of the function and no parameters.
    pub values: BTreeMap<String, TensorData>,
    /// Initialisers that are parameters behind the inputs, where there is no signature.
    pub loaded: Vec<String>,
    /// The signature that the function must have; without one it is the model's.
    pub signature: Option<Signature>,
}

/// A signature as it is written beside a model.
#[derive(Clone, Debug, Default)]
pub struct Signature {
    /// The dims that parameters bind.
    pub dims: Vec<SymDecl>,
    /// What is known of them.
    pub facts: Vec<FactDecl>,
    /// The parameters: those that are inputs in the order of the model's, others among them wherever.
    pub inputs: Vec<Parameter>,
}

/// A parameter as it is written.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Whether it is a scalar by value.
    pub scalar: bool,
    /// Type of an element.
    pub dtype: DType,
    /// Extents.
    pub shape: Vec<IntExpr>,
    /// The initialiser whose place it takes; none for an input of the model.
    pub initializer: Option<String>,
    /// Where it stands.
    pub loc: Loc,
}

/// A parameter or result of an imported function.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// Its name in the model.
    pub name: String,
    /// Type of its elements.
    pub elem: Elem,
    /// Extents; the greatest, where they depend on data.
    pub shape: Vec<IntExpr>,
    /// Axes whose length depends on data, each with the result that is its length, by its place among all of them. The
    /// elements behind the lengths are 0.
    pub lengths: Vec<(usize, usize)>,
}

/// An imported model.
#[derive(Clone, Debug)]
pub struct Import {
    /// The function and what it calls.
    pub module: Module,
    /// Its parameters, in order.
    pub inputs: Vec<Port>,
    /// Its results, in order.
    pub outputs: Vec<Port>,
    /// Nodes whose operands were dequantised and that could not become operators of integers, with the reasons.
    pub notes: Vec<(String, String)>,
}

/// The newest operator set that is known.
pub const NEWEST_OPSET: i64 = 28;
/// The oldest operator set that is read; operators that have changed their meaning since it are refused by name.
pub const OLDEST_OPSET: i64 = 1;

/// Reads the model in a file.
///
/// # Errors
///
/// Everything that is wrong with it, or that this version does not compile.
pub fn read(path: &Path, options: &Options) -> Result<Import, ImportError> {
    let bytes = std::fs::read(path);
    let bytes = bytes.map_err(|e| ImportError::of(format!("`{}` cannot be read: {e}", path.display())))?;
    import(&bytes, Some(path), options)
}

/// Reads a model from its bytes. Without its path it can have no external data.
///
/// # Errors
///
/// Everything that is wrong with it, or that this version does not compile.
pub fn import(bytes: &[u8], path: Option<&Path>, options: &Options) -> Result<Import, ImportError> {
    let model = proto::model(bytes).map_err(|e| ImportError::of(format!("it is no ONNX model: {}", e.0)))?;
    walk::import(&model, tensor::Home { path, bytes }, options)
}

/// An input or output as a model declares it.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// Its name.
    pub name: String,
    /// Type of its elements, if it is a tensor of a known type.
    pub elem: Option<Elem>,
    /// Extents, by number or name; `?` where there is neither. None if it has no shape.
    pub dims: Option<Vec<String>>,
}

/// Inputs and outputs of a model, initialisers left out.
///
/// # Errors
///
/// The bytes are no model.
pub fn declared(bytes: &[u8]) -> Result<(Vec<Declared>, Vec<Declared>), ImportError> {
    let model = proto::model(bytes).map_err(|e| ImportError::of(format!("it is no ONNX model: {}", e.0)))?;
    let graph = model.graph.ok_or_else(|| ImportError::of("it is no ONNX model: it has no graph"))?;
    let known: std::collections::BTreeSet<&str> = graph.initializers.iter().map(|t| t.name).collect();
    let inputs = graph.inputs.iter().filter(|i| !known.contains(i.name)).map(declare).collect();
    Ok((inputs, graph.outputs.iter().map(declare).collect()))
}

/// The operators that a model uses, those of its functions and of graphs in attributes too: sorted, each once.
///
/// # Errors
///
/// The bytes are no model.
pub fn operators_of(bytes: &[u8]) -> Result<Vec<String>, ImportError> {
    let model = proto::model(bytes).map_err(|e| ImportError::of(format!("it is no ONNX model: {}", e.0)))?;
    let mut names = std::collections::BTreeSet::new();
    model.graph.iter().for_each(|graph| collect(&graph.nodes, &mut names));
    model.functions.iter().for_each(|function| collect(&function.nodes, &mut names));
    Ok(names.into_iter().collect())
}

fn collect(nodes: &[proto::Node<'_>], names: &mut std::collections::BTreeSet<String>) {
    for node in nodes {
        let domain = if node.domain.is_empty() { String::new() } else { format!("{}.", node.domain) };
        names.insert(format!("{domain}{}", node.op_type));
        for attribute in &node.attributes {
            if let proto::AttributeValue::Graph(graph) = &attribute.value {
                collect(&graph.nodes, names);
            }
        }
    }
}

fn declare(info: &proto::ValueInfo<'_>) -> Declared {
    let (elem, dims) = match &info.ty {
        proto::TypeProto::Tensor { data_type, shape } => (Elem::from_code(*data_type), shape.as_ref()),
        proto::TypeProto::Other(_) | proto::TypeProto::Unknown => (None, None),
    };
    let text = |dim: &proto::Dim<'_>| match dim {
        proto::Dim::Value(n) => n.to_string(),
        proto::Dim::Name(name) => (*name).to_string(),
        proto::Dim::Unknown => "?".to_string(),
    };
    Declared { name: info.name.to_string(), elem, dims: dims.map(|dims| dims.iter().map(text).collect()) }
}

/// The files that a model keeps data in, relative to its folder. Of bytes that are no model there are none: importing
/// them says what is wrong.
pub fn external_files(bytes: &[u8]) -> Vec<String> {
    external::locations(bytes).unwrap_or_default().into_iter().map(String::from).collect()
}

/// The operators that are imported: domain, name and the first version that is read, family by family.
pub fn operators() -> Vec<(&'static str, &'static str, i64)> {
    ops::all().map(|op| (op.domain, op.name, op.since)).collect()
}
