//! Writes six models of one operator each, which `cargo tenfold tune` is measured on: `kernels FOLDER`.

use std::path::Path;
use std::{env, fs, io};

use model_writer::{Attribute, Elem, Model, Random};

fn main() -> io::Result<()> {
    let folder = env::args().nth(1).unwrap_or_else(|| ".".into());
    for (name, model) in [
        ("sgemm-1024", sgemm(1024)),
        ("ffn-128x384x1536", dense(128, 384, 1536)),
        ("conv3x3-56x56x64", conv(64, 64, 56, 3, 1)),
        ("conv1x1-28x28x512x128", conv(512, 128, 28, 1, 1)),
        ("softmax-1024x512", softmax(1024, 512)),
        ("depthwise3x3-56x56x144", conv(144, 144, 56, 3, 144)),
    ] {
        fs::write(Path::new(&folder).join(format!("{name}.onnx")), model)?;
    }
    Ok(())
}

/// The product of two square matrices.
fn sgemm(n: i64) -> Vec<u8> {
    let mut model = Model::default();
    model.input("a", Elem::Float, &[n, n]);
    model.input("b", Elem::Float, &[n, n]);
    let y = model.node("MatMul", &["a", "b"], &[]);
    model.finish(&y, &[n, n])
}

/// Rows times weights, with a bias.
fn dense(rows: i64, terms: i64, columns: i64) -> Vec<u8> {
    let (mut model, mut random) = (Model::default(), Random::new(1));
    model.input("x", Elem::Float, &[rows, terms]);
    let w = model.weight(&[terms, columns], &random.weights((terms * columns) as usize, 0.05));
    let b = model.weight(&[columns], &random.weights(columns as usize, 0.1));
    let product = model.node("MatMul", &["x", &w], &[]);
    let y = model.node("Add", &[&product, &b], &[]);
    model.finish(&y, &[rows, columns])
}

/// A convolution of square windows that keeps the extents, with a bias and a rectifier behind it.
fn conv(inputs: i64, outputs: i64, extent: i64, window: i64, groups: i64) -> Vec<u8> {
    let (mut model, mut random) = (Model::default(), Random::new(2));
    model.input("x", Elem::Float, &[1, inputs, extent, extent]);
    let shape = [outputs, inputs / groups, window, window];
    let w = model.weight(&shape, &random.weights(shape.iter().product::<i64>() as usize, 0.05));
    let b = model.weight(&[outputs], &random.weights(outputs as usize, 0.1));
    let pads = [window / 2; 4];
    let y = model.node("Conv", &["x", &w, &b], &[("pads", Attribute::Ints(&pads)), ("group", Attribute::Int(groups))]);
    let y = model.node("Relu", &[&y], &[]);
    model.finish(&y, &[1, outputs, extent, extent])
}

/// A softmax of each row.
fn softmax(rows: i64, columns: i64) -> Vec<u8> {
    let mut model = Model::default();
    model.input("x", Elem::Float, &[rows, columns]);
    let y = model.node("Softmax", &["x"], &[("axis", Attribute::Int(-1))]);
    model.finish(&y, &[rows, columns])
}
