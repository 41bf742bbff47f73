//! Writes the model and compiles it.
//!
//! With a file of your own in the package there is nothing to write: the call of `compile` is all.

#[path = "src/net.rs"]
mod net;

use model_writer::{Attribute, Elem, Model};
use net::{Conv, Net, Step};
use std::path::Path;

fn main() {
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    let file = Path::new(&out).join("mobilenet.onnx");
    std::fs::write(file, model(&Net::new())).expect("OUT_DIR can be written to");
    tenfold_build::compile();
}

/// The network as a file.
fn model(net: &Net) -> Vec<u8> {
    let mut model = Model::default();
    let side = net::SIDE as i64;
    model.input("image", Elem::Float, &[1, 3, side, side]);
    let (mut x, mut saved) = ("image".to_string(), String::new());
    for step in &net.steps {
        match step {
            Step::Save => saved.clone_from(&x),
            Step::Add => x = model.node("Add", &[&x, &saved], &[]),
            Step::Conv(layer) => x = conv(&mut model, &x, layer),
        }
    }
    let x = model.node("GlobalAveragePool", &[&x], &[]);
    let x = model.node("Flatten", &[&x], &[]);
    let (classes, last) = (net::CLASSES as i64, net::LAST as i64);
    let (w, b) = (model.weight(&[classes, last], &net.dense), model.weight(&[classes], &net.bias));
    let x = model.node("Gemm", &[&x, &w, &b], &[("transB", Attribute::Int(1))]);
    model.finish(&x, &[1, classes])
}

fn conv(model: &mut Model, x: &str, layer: &Conv) -> String {
    let (kernel, stride, pad) = (layer.kernel as i64, layer.stride as i64, layer.kernel as i64 / 2);
    let shape = [layer.outputs, layer.inputs / layer.groups, layer.kernel, layer.kernel].map(|n| n as i64);
    let (w, b) = (model.weight(&shape, &layer.weights), model.weight(&shape[..1], &layer.bias));
    let (kernels, strides, pads) = ([kernel; 2], [stride; 2], [pad; 4]);
    let attributes = [
        ("kernel_shape", Attribute::Ints(&kernels)),
        ("strides", Attribute::Ints(&strides)),
        ("pads", Attribute::Ints(&pads)),
        ("group", Attribute::Int(layer.groups as i64)),
    ];
    let y = model.node("Conv", &[x, &w, &b], &attributes);
    if !layer.relu6 {
        return y;
    }
    let (low, high) = (model.weight(&[], &[0.0]), model.weight(&[], &[6.0]));
    model.node("Clip", &[&y, &low, &high], &[])
}
