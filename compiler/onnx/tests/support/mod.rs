//! Writes ONNX files from a small text, so that no test needs a binary file.
//!
//! A line is one of
//!
//! ```text
//! opset 17
//! input x: float[B, 3, ?]      a type without a name is `type77`, by its code
//! const s: int64[2] = 0, -1
//! y, z = Op(x, s) {axis = 1, perm = [0, 1], alpha = 0.5, mode = "edge", body = graph g}
//! output y
//! graph g        the lines up to `end` are a graph that attributes name
//! ```

use std::collections::BTreeMap;

pub(crate) use model_writer::Message;

const ELEMS: [&str; 16] = [
    "",
    "float",
    "uint8",
    "int8",
    "uint16",
    "int16",
    "int32",
    "int64",
    "string",
    "bool",
    "float16",
    "double",
    "uint32",
    "uint64",
    "complex64",
    "complex128",
];

fn code(elem: &str) -> i64 {
    let number = elem.strip_prefix("type").and_then(|number| number.parse().ok());
    let known = ELEMS.iter().position(|name| *name == elem).map(|at| at as i64);
    number.or(known).unwrap_or_else(|| panic!("no element type {elem}"))
}

/// `name: elem[dims]`.
fn typed(text: &str) -> (&str, &str, Vec<&str>) {
    let (name, ty) = text.split_once(':').expect("a name and a type");
    let (elem, dims) = ty.trim().split_once('[').expect("a shape in brackets");
    let dims = dims.trim_end_matches(']').split(',').map(str::trim).filter(|d| !d.is_empty()).collect();
    (name.trim(), elem.trim(), dims)
}

fn value_info(text: &str) -> Message {
    let (name, elem, dims) = typed(text);
    let mut shape = Message::default();
    for dim in dims {
        let mut one = Message::default();
        match dim.parse::<i64>() {
            Ok(n) => {
                one.int(1, n);
            }
            Err(_) if dim == "?" => {}
            Err(_) => {
                one.text(2, dim);
            }
        }
        shape.message(1, &one);
    }
    let (mut tensor, mut ty, mut info) = (Message::default(), Message::default(), Message::default());
    tensor.int(1, code(elem)).message(2, &shape);
    ty.message(1, &tensor);
    info.text(1, name).message(2, &ty);
    info
}

/// `name: elem[dims] = values`.
pub(crate) fn tensor(text: &str) -> Message {
    let (head, values) = text.split_once('=').expect("values");
    let (name, elem, dims) = typed(head);
    let mut raw = Vec::new();
    for value in values.split(',').map(str::trim).filter(|v| !v.is_empty()) {
        match elem {
            "float" => raw.extend(value.parse::<f32>().expect("a float").to_le_bytes()),
            "int64" => raw.extend(value.parse::<i64>().expect("an integer").to_le_bytes()),
            "int32" => raw.extend(value.parse::<i32>().expect("an integer").to_le_bytes()),
            "int8" => raw.push(value.parse::<i8>().expect("a byte") as u8),
            _ if elem.starts_with("type") => raw.push(value.parse().expect("a byte")),
            "uint8" | "bool" => raw.push(value.parse().expect("a byte")),
            other => panic!("no values of {other}"),
        }
    }
    let mut out = Message::default();
    for dim in dims {
        out.int(1, dim.parse().expect("an extent"));
    }
    out.int(2, code(elem)).text(8, name).bytes(9, &raw);
    out
}

fn attribute(text: &str, graphs: &BTreeMap<String, Message>) -> Message {
    let (name, value) = text.split_once('=').expect("an attribute's value");
    let (name, value) = (name.trim(), value.trim());
    let mut out = Message::default();
    out.text(1, name);
    if let Some(graph) = value.strip_prefix("graph ") {
        out.message(6, &graphs[graph.trim()]).int(20, 5);
    } else if let Some(list) = value.strip_prefix('[') {
        let floats = list.contains('.');
        for item in list.trim_end_matches(']').split(';').map(str::trim).filter(|i| !i.is_empty()) {
            match floats {
                true => out.float(7, item.parse().expect("a float")),
                false => out.int(8, item.parse().expect("an integer")),
            };
        }
        out.int(20, if floats { 6 } else { 7 });
    } else if let Some(text) = value.strip_prefix('"') {
        out.text(4, text.trim_end_matches('"')).int(20, 3);
    } else if value.contains('.') {
        out.float(2, value.parse().expect("a float")).int(20, 1);
    } else {
        out.int(3, value.parse().expect("an integer")).int(20, 2);
    }
    out
}

/// `a, b = Op(x, y) {attributes}`; elements of lists are separated by `;`.
fn node(line: &str, graphs: &BTreeMap<String, Message>) -> Message {
    let (outputs, rest) = line.split_once('=').expect("a node");
    let (op, rest) = rest.trim().split_once('(').expect("operands");
    let (inputs, attributes) = rest.split_once(')').expect("operands end");
    let mut out = Message::default();
    if !inputs.trim().is_empty() {
        for name in inputs.split(',') {
            out.text(1, name.trim());
        }
    }
    for name in outputs.split(',') {
        out.text(2, name.trim());
    }
    match op.rsplit_once('.') {
        Some((domain, op)) => out.text(4, op).text(7, domain),
        None => out.text(4, op),
    };
    let attributes = attributes.trim().trim_start_matches('{').trim_end_matches('}');
    for text in attributes.split(',').filter(|text| !text.trim().is_empty()) {
        out.message(5, &attribute(text, graphs));
    }
    out
}

/// The model of a text.
pub(crate) fn model(text: &str) -> Vec<u8> {
    let mut graphs = BTreeMap::new();
    let mut stack = vec![(String::new(), Message::default())];
    let mut opset = 17;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let graph = &mut stack.last_mut().expect("a graph").1;
        match word {
            "opset" => opset = rest.parse().expect("a version"),
            "graph" => stack.push((rest.to_string(), Message::default())),
            "end" => graphs.extend(stack.pop()),
            _ => {
                let (field, message) = match word {
                    "input" => (11, value_info(rest)),
                    "output" if rest.contains(':') => (12, value_info(rest)),
                    "output" => (12, Message::default().text(1, rest).clone()),
                    "const" => (5, tensor(rest)),
                    _ => (1, node(line, &graphs)),
                };
                graph.message(field, &message);
            }
        }
    }
    wrapped(&stack.remove(0).1, opset)
}

/// A model of a graph.
pub(crate) fn wrapped(graph: &Message, opset: i64) -> Vec<u8> {
    let (mut set, mut out) = (Message::default(), Message::default());
    set.text(1, "").int(2, opset);
    out.int(1, 8).message(7, graph).message(8, &set);
    out.into_bytes()
}
