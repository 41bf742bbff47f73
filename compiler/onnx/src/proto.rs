//! The messages of `onnx.proto`, as far as a compiler needs them. They borrow from the file.

use crate::wire::{Field, Malformed, Reader, Result};

/// How deep graphs nest in attributes of graphs.
pub(crate) const DEEPEST: usize = 32;
/// Nodes that a graph may have; behind them nothing is read.
pub(crate) const MOST_NODES: usize = 100_000;

/// A model.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model<'a> {
    pub(crate) ir_version: i64,
    pub(crate) opsets: Vec<(&'a str, i64)>,
    pub(crate) graph: Option<Graph<'a>>,
    pub(crate) functions: Vec<Function<'a>>,
}

/// A graph.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph<'a> {
    pub(crate) name: &'a str,
    pub(crate) nodes: Vec<Node<'a>>,
    pub(crate) initializers: Vec<Tensor<'a>>,
    /// Names of sparse initialisers.
    pub(crate) sparse: Vec<&'a str>,
    pub(crate) inputs: Vec<ValueInfo<'a>>,
    pub(crate) outputs: Vec<ValueInfo<'a>>,
}

/// A node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node<'a> {
    pub(crate) name: &'a str,
    pub(crate) op_type: &'a str,
    pub(crate) domain: &'a str,
    pub(crate) overload: &'a str,
    pub(crate) inputs: Vec<&'a str>,
    pub(crate) outputs: Vec<&'a str>,
    pub(crate) attributes: Vec<Attribute<'a>>,
}

/// An attribute.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attribute<'a> {
    pub(crate) name: &'a str,
    /// The attribute of the function around it that gives the value, if it is not empty.
    pub(crate) reference: &'a str,
    pub(crate) value: AttributeValue<'a>,
}

/// An attribute's value.
#[derive(Clone, Debug, Default)]
pub(crate) enum AttributeValue<'a> {
    #[default]
    None,
    Int(i64),
    Float(f32),
    String(&'a [u8]),
    Tensor(Tensor<'a>),
    Graph(Graph<'a>),
    Ints(Vec<i64>),
    Floats(Vec<f32>),
    Strings(Vec<&'a [u8]>),
    /// Of a kind that no operator here takes: a sparse tensor, types, lists of graphs.
    Other(&'static str),
}

/// A tensor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tensor<'a> {
    pub(crate) name: &'a str,
    pub(crate) dims: Vec<i64>,
    pub(crate) data_type: i64,
    pub(crate) raw: Option<&'a [u8]>,
    pub(crate) floats: Vec<f32>,
    pub(crate) int32s: Vec<i64>,
    pub(crate) int64s: Vec<i64>,
    pub(crate) uint64s: Vec<i64>,
    pub(crate) doubles: Vec<f64>,
    pub(crate) strings: Vec<&'a [u8]>,
    pub(crate) external: Vec<(&'a str, &'a str)>,
    pub(crate) is_external: bool,
}

/// A named value with its type.
#[derive(Clone, Debug, Default)]
pub(crate) struct ValueInfo<'a> {
    pub(crate) name: &'a str,
    pub(crate) ty: TypeProto<'a>,
}

/// A type.
#[derive(Clone, Debug, Default)]
pub(crate) enum TypeProto<'a> {
    #[default]
    Unknown,
    Tensor {
        data_type: i64,
        shape: Option<Vec<Dim<'a>>>,
    },
    /// A sequence, a map, …
    Other(&'static str),
}

/// An extent.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Dim<'a> {
    #[default]
    Unknown,
    Value(i64),
    Name(&'a str),
}

/// A function of the model.
#[derive(Clone, Debug, Default)]
pub(crate) struct Function<'a> {
    pub(crate) name: &'a str,
    pub(crate) domain: &'a str,
    pub(crate) overload: &'a str,
    pub(crate) inputs: Vec<&'a str>,
    pub(crate) outputs: Vec<&'a str>,
    /// Attributes with a default.
    pub(crate) defaults: Vec<Attribute<'a>>,
    pub(crate) nodes: Vec<Node<'a>>,
    pub(crate) opsets: Vec<(&'a str, i64)>,
}

/// Hands every field of a message to `take`.
fn read<'a, T: Default>(bytes: &'a [u8], mut take: impl FnMut(&mut T, u32, Field<'a>) -> Result<()>) -> Result<T> {
    let mut message = T::default();
    let mut reader = Reader::new(bytes);
    while let Some((number, field)) = reader.next()? {
        take(&mut message, number, field)?;
    }
    Ok(message)
}

/// Reads a model.
pub(crate) fn model(bytes: &[u8]) -> Result<Model<'_>> {
    read(bytes, |m: &mut Model<'_>, number, field| {
        match number {
            1 => m.ir_version = field.int()?,
            7 => m.graph = Some(graph(field.bytes()?, 0)?),
            8 => m.opsets.push(opset(field.bytes()?)?),
            25 => m.functions.push(function(field.bytes()?)?),
            _ => {}
        }
        Ok(())
    })
}

fn opset(bytes: &[u8]) -> Result<(&str, i64)> {
    read(bytes, |o: &mut (&str, i64), number, field| {
        match number {
            1 => o.0 = field.text()?,
            2 => o.1 = field.int()?,
            _ => {}
        }
        Ok(())
    })
}

fn graph(bytes: &[u8], depth: usize) -> Result<Graph<'_>> {
    if depth > DEEPEST {
        return Err(Malformed(format!("graphs nest more than {DEEPEST} deep")));
    }
    read(bytes, |g: &mut Graph<'_>, number, field| {
        match number {
            1 if g.nodes.len() == MOST_NODES => {
                return Err(Malformed(format!("a graph has more than {MOST_NODES} nodes")));
            }
            1 => g.nodes.push(node(field.bytes()?, depth)?),
            2 => g.name = field.text()?,
            5 => g.initializers.push(tensor(field.bytes()?)?),
            11 => g.inputs.push(value_info(field.bytes()?)?),
            12 => g.outputs.push(value_info(field.bytes()?)?),
            15 => g.sparse.push(sparse_name(field.bytes()?)?),
            _ => {}
        }
        Ok(())
    })
}

fn sparse_name(bytes: &[u8]) -> Result<&str> {
    read(bytes, |name: &mut &str, number, field| {
        if number == 1 {
            *name = tensor(field.bytes()?)?.name;
        }
        Ok(())
    })
}

fn node(bytes: &[u8], depth: usize) -> Result<Node<'_>> {
    read(bytes, |n: &mut Node<'_>, number, field| {
        match number {
            1 => n.inputs.push(field.text()?),
            2 => n.outputs.push(field.text()?),
            3 => n.name = field.text()?,
            4 => n.op_type = field.text()?,
            5 => n.attributes.push(attribute(field.bytes()?, depth)?),
            7 => n.domain = field.text()?,
            8 => n.overload = field.text()?,
            _ => {}
        }
        Ok(())
    })
}

/// Every value that an attribute may have; `type` tells which one it has.
#[derive(Default)]
struct Values<'a> {
    name: &'a str,
    reference: &'a str,
    kind: i64,
    float: f32,
    int: i64,
    string: &'a [u8],
    tensor: Option<Tensor<'a>>,
    graph: Option<Graph<'a>>,
    floats: Vec<f32>,
    ints: Vec<i64>,
    strings: Vec<&'a [u8]>,
}

fn attribute(bytes: &[u8], depth: usize) -> Result<Attribute<'_>> {
    let values = read(bytes, |a: &mut Values<'_>, number, field| {
        match number {
            1 => a.name = field.text()?,
            2 => a.float = field.float()?,
            3 => a.int = field.int()?,
            4 => a.string = field.bytes()?,
            5 => a.tensor = Some(tensor(field.bytes()?)?),
            6 => a.graph = Some(graph(field.bytes()?, depth + 1)?),
            7 => field.floats(&mut a.floats)?,
            8 => field.ints(&mut a.ints)?,
            9 => a.strings.push(field.bytes()?),
            20 => a.kind = field.int()?,
            21 => a.reference = field.text()?,
            _ => {}
        }
        Ok(())
    })?;
    let value = match values.kind {
        1 => AttributeValue::Float(values.float),
        2 => AttributeValue::Int(values.int),
        3 => AttributeValue::String(values.string),
        4 => AttributeValue::Tensor(values.tensor.unwrap_or_default()),
        5 => AttributeValue::Graph(values.graph.unwrap_or_default()),
        6 => AttributeValue::Floats(values.floats),
        7 => AttributeValue::Ints(values.ints),
        8 => AttributeValue::Strings(values.strings),
        9 => AttributeValue::Other("a list of tensors"),
        10 => AttributeValue::Other("a list of graphs"),
        11 | 12 => AttributeValue::Other("a sparse tensor"),
        13 | 14 => AttributeValue::Other("a type"),
        _ => AttributeValue::None,
    };
    Ok(Attribute { name: values.name, reference: values.reference, value })
}

/// Reads a tensor, which is a file of its own in test data.
pub(crate) fn tensor(bytes: &[u8]) -> Result<Tensor<'_>> {
    read(bytes, |t: &mut Tensor<'_>, number, field| {
        match number {
            1 => field.ints(&mut t.dims)?,
            2 => t.data_type = field.int()?,
            4 => field.floats(&mut t.floats)?,
            5 => field.ints(&mut t.int32s)?,
            6 => t.strings.push(field.bytes()?),
            7 => field.ints(&mut t.int64s)?,
            8 => t.name = field.text()?,
            9 => t.raw = Some(field.bytes()?),
            10 => field.doubles(&mut t.doubles)?,
            11 => field.ints(&mut t.uint64s)?,
            13 => t.external.push(entry(field.bytes()?)?),
            14 => t.is_external = field.int()? == 1,
            _ => {}
        }
        Ok(())
    })
}

fn entry(bytes: &[u8]) -> Result<(&str, &str)> {
    read(bytes, |e: &mut (&str, &str), number, field| {
        match number {
            1 => e.0 = field.text()?,
            2 => e.1 = field.text()?,
            _ => {}
        }
        Ok(())
    })
}

fn value_info(bytes: &[u8]) -> Result<ValueInfo<'_>> {
    read(bytes, |v: &mut ValueInfo<'_>, number, field| {
        match number {
            1 => v.name = field.text()?,
            2 => v.ty = type_proto(field.bytes()?)?,
            _ => {}
        }
        Ok(())
    })
}

fn type_proto(bytes: &[u8]) -> Result<TypeProto<'_>> {
    read(bytes, |ty: &mut TypeProto<'_>, number, field| {
        *ty = match number {
            1 => {
                let (data_type, shape) = tensor_type(field.bytes()?)?;
                TypeProto::Tensor { data_type, shape }
            }
            4 => TypeProto::Other("a sequence"),
            5 => TypeProto::Other("a map"),
            7 => TypeProto::Other("an opaque type"),
            8 => TypeProto::Other("a sparse tensor"),
            9 => match optional(field.bytes()?)? {
                inner @ TypeProto::Tensor { .. } => inner,
                TypeProto::Other(_) | TypeProto::Unknown => TypeProto::Other("an optional"),
            },
            _ => return Ok(()),
        };
        Ok(())
    })
}

/// What an optional holds; an optional in an optional is not looked into.
fn optional(bytes: &[u8]) -> Result<TypeProto<'_>> {
    read(bytes, |ty: &mut TypeProto<'_>, number, field| {
        let mut reader = Reader::new(if number == 1 { field.bytes()? } else { &[] });
        if let Some((1, inner)) = reader.next()? {
            let (data_type, shape) = tensor_type(inner.bytes()?)?;
            *ty = TypeProto::Tensor { data_type, shape };
        }
        Ok(())
    })
}

type TensorType<'a> = (i64, Option<Vec<Dim<'a>>>);

fn tensor_type(bytes: &[u8]) -> Result<TensorType<'_>> {
    read(bytes, |t: &mut TensorType<'_>, number, field| {
        match number {
            1 => t.0 = field.int()?,
            2 => t.1 = Some(shape(field.bytes()?)?),
            _ => {}
        }
        Ok(())
    })
}

fn shape(bytes: &[u8]) -> Result<Vec<Dim<'_>>> {
    read(bytes, |dims: &mut Vec<Dim<'_>>, number, field| {
        if number == 1 {
            dims.push(dim(field.bytes()?)?);
        }
        Ok(())
    })
}

fn dim(bytes: &[u8]) -> Result<Dim<'_>> {
    read(bytes, |dim: &mut Dim<'_>, number, field| {
        match number {
            1 => *dim = Dim::Value(field.int()?),
            2 if !field.text()?.is_empty() => *dim = Dim::Name(field.text()?),
            _ => {}
        }
        Ok(())
    })
}

fn function(bytes: &[u8]) -> Result<Function<'_>> {
    read(bytes, |f: &mut Function<'_>, number, field| {
        match number {
            1 => f.name = field.text()?,
            4 => f.inputs.push(field.text()?),
            5 => f.outputs.push(field.text()?),
            7 => f.nodes.push(node(field.bytes()?, 0)?),
            9 => f.opsets.push(opset(field.bytes()?)?),
            10 => f.domain = field.text()?,
            11 => f.defaults.push(attribute(field.bytes()?, 0)?),
            13 => f.overload = field.text()?,
            _ => {}
        }
        Ok(())
    })
}
