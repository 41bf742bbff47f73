//! Writes ONNX models and weights, so that no example needs Python or a large file in the repository.
//!
//! An ONNX file is a protocol buffer: fields of a number and a value, nested. [`Model`] writes those that a graph of
//! operators, weights, inputs and outputs needs; the numbers are those of `onnx.proto`. [`Random`] makes weights that
//! are the same wherever they are made, so that a program can make them again and check what it gets.

mod message;
mod random;
pub mod safetensors;

pub use message::Message;
pub use random::Random;

/// The version of the operators, and of the format.
const OPSET: i64 = 17;
const IR_VERSION: i64 = 8;
/// `TensorProto.DataType`.
const FLOAT: i64 = 1;
const INT32: i64 = 6;
const INT64: i64 = 7;

/// The type of an input's elements.
#[derive(Clone, Copy, Debug)]
pub enum Elem {
    /// `f32`.
    Float,
    /// `i32`.
    Int32,
}

/// The value of an attribute.
#[derive(Clone, Copy, Debug)]
pub enum Attribute<'a> {
    /// `axis = 1`.
    Int(i64),
    /// `epsilon = 1e-5`.
    Float(f32),
    /// `strides = [2, 2]`.
    Ints(&'a [i64]),
}

/// A model in the making. Values go by names; each operator here has one output, whose name it returns.
#[derive(Debug, Default)]
pub struct Model {
    graph: Message,
    names: usize,
}

impl Model {
    fn name(&mut self) -> String {
        self.names += 1;
        format!("v{}", self.names)
    }

    /// An input of the model. An extent of -1 is whatever the caller has.
    pub fn input(&mut self, name: &str, elem: Elem, shape: &[i64]) {
        let value = value_info(name, elem, shape);
        self.graph.message(11, &value);
    }

    /// A tensor of weights.
    pub fn weight(&mut self, shape: &[i64], data: &[f32]) -> String {
        let bytes: Vec<u8> = data.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.initializer(FLOAT, shape, &bytes)
    }

    /// A list of integers, such as the shape that `Reshape` takes.
    pub fn ints(&mut self, values: &[i64]) -> String {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.initializer(INT64, &[values.len() as i64], &bytes)
    }

    fn initializer(&mut self, data_type: i64, shape: &[i64], bytes: &[u8]) -> String {
        let name = self.name();
        let mut tensor = Message::default();
        for extent in shape {
            tensor.int(1, *extent);
        }
        tensor.int(2, data_type).text(8, &name).bytes(9, bytes);
        self.graph.message(5, &tensor);
        name
    }

    /// An operator.
    pub fn node(&mut self, op: &str, inputs: &[&str], attributes: &[(&str, Attribute<'_>)]) -> String {
        let output = self.name();
        let mut node = Message::default();
        for input in inputs {
            node.text(1, input);
        }
        node.text(2, &output).text(3, &output).text(4, op);
        for (name, value) in attributes {
            node.message(5, &attribute(name, *value));
        }
        self.graph.message(1, &node);
        output
    }

    /// The file, with one output of the model.
    pub fn finish(mut self, output: &str, shape: &[i64]) -> Vec<u8> {
        self.graph.text(2, "graph").message(12, &value_info(output, Elem::Float, shape));
        let mut opset = Message::default();
        opset.text(1, "").int(2, OPSET);
        let mut model = Message::default();
        model.int(1, IR_VERSION).message(7, &self.graph).message(8, &opset);
        model.into_bytes()
    }
}

fn value_info(name: &str, elem: Elem, shape: &[i64]) -> Message {
    let mut dims = Message::default();
    for extent in shape {
        let mut dim = Message::default();
        match extent {
            -1 => dim.text(2, "n"),
            extent => dim.int(1, *extent),
        };
        dims.message(1, &dim);
    }
    let elem = match elem {
        Elem::Float => FLOAT,
        Elem::Int32 => INT32,
    };
    let (mut tensor, mut ty, mut value) = (Message::default(), Message::default(), Message::default());
    tensor.int(1, elem).message(2, &dims);
    ty.message(1, &tensor);
    value.text(1, name).message(2, &ty);
    value
}

fn attribute(name: &str, value: Attribute<'_>) -> Message {
    let mut attribute = Message::default();
    attribute.text(1, name);
    match value {
        Attribute::Float(value) => attribute.float(2, value).int(20, 1),
        Attribute::Int(value) => attribute.int(3, value).int(20, 2),
        Attribute::Ints(values) => {
            for value in values {
                attribute.int(8, *value);
            }
            attribute.int(20, 7)
        }
    };
    attribute
}

#[cfg(test)]
mod tests {
    use super::{Attribute, Elem, Model};

    #[test]
    fn a_model_has_the_fields_of_the_format() {
        let mut model = Model::default();
        model.input("x", Elem::Float, &[1, 300]);
        let w = model.weight(&[1], &[1.5]);
        let y = model.node("Mul", &["x", &w], &[("n", Attribute::Ints(&[-1]))]);
        let bytes = model.finish(&y, &[1, 300]);
        assert!(bytes.starts_with(&[1 << 3, 8, 7 << 3 | 2]), "the version, then the graph");
        assert!(bytes.ends_with(&[8 << 3 | 2, 4, 1 << 3 | 2, 0, 2 << 3, 17]), "the version of the operators");
        let has = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
        assert!(has(b"\x22\x03Mul"), "the operator's name is field 4");
        assert!(has(&[9 << 3 | 2, 4, 0, 0, 0xc0, 0x3f]), "weights are raw bytes in field 9");
        assert!(has(&[1 << 3, 0xac, 2]), "an extent of 300 takes two bytes");
    }
}
