//! Makes the weights, writes them once for each of the two twins, and compiles these.

use model_writer::{Attribute, Elem, Model, Random, safetensors};
use std::path::Path;

/// Words, positions, layers, channels, heads and channels of the inner layer, as in `src/lib.rs`.
const WORDS: usize = 1024;
const POSITIONS: usize = 32;
const LAYERS: usize = 4;
const D: usize = 128;
const HEADS: usize = 4;
const F: usize = 512;

fn main() {
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    let write = |name: &str, bytes: Vec<u8>| std::fs::write(Path::new(&out).join(name), bytes);
    let weights = weights();
    write("minilm.onnx", model(&weights)).expect("OUT_DIR can be written to");
    write("minilm.safetensors", safetensors::file(&weights)).expect("OUT_DIR can be written to");
    tenfold_build::compile();
}

type Weights = [(&'static str, Vec<usize>, Vec<f32>)];

/// Every tensor by name; what each layer has of its own is stacked along a first axis. The numbers are random.
fn weights() -> Vec<(&'static str, Vec<usize>, Vec<f32>)> {
    let mut random = Random::new(384);
    let mut tensor =
        |name, shape: &[usize], scale: f32| (name, shape.to_vec(), random.weights(shape.iter().product(), scale));
    let (narrow, wide) = ((1.0 / D as f32).sqrt(), (1.0 / F as f32).sqrt());
    let mut all = vec![tensor("words", &[WORDS, D], 1.0), tensor("positions", &[POSITIONS, D], 0.3)];
    for name in ["query", "key", "value", "output"] {
        all.push(tensor(name, &[LAYERS, D, D], narrow));
    }
    for name in ["query.bias", "key.bias", "value.bias", "output.bias", "inner.down.bias"] {
        all.push(tensor(name, &[LAYERS, D], 0.1));
    }
    all.push(tensor("inner.up", &[LAYERS, D, F], narrow));
    all.push(tensor("inner.up.bias", &[LAYERS, F], 0.1));
    all.push(tensor("inner.down", &[LAYERS, F, D], wide));
    for name in ["norm1", "norm2"] {
        all.push(tensor(name, &[LAYERS, 2, D], 0.2));
    }
    all
}

/// The twin: nodes as an exporter writes them.
struct Twin<'a> {
    model: Model,
    weights: &'a Weights,
}

fn model(weights: &Weights) -> Vec<u8> {
    let mut twin = Twin { model: Model::default(), weights };
    twin.model.input("words", Elem::Int32, &[-1]);
    let mut x = twin.embed();
    for layer in 0..LAYERS {
        let a = twin.attention(layer, &x);
        let y = twin.model.node("Add", &[&x, &a], &[]);
        x = twin.norm("norm1", layer, &y);
        let h = twin.linear("inner.up", "inner.up.bias", layer, &x);
        let h = twin.gelu(&h);
        let h = twin.linear("inner.down", "inner.down.bias", layer, &h);
        let y = twin.model.node("Add", &[&x, &h], &[]);
        x = twin.norm("norm2", layer, &y);
    }
    let mean =
        twin.model.node("ReduceMean", &[&x], &[("axes", Attribute::Ints(&[0])), ("keepdims", Attribute::Int(0))]);
    let size = twin.model.node("ReduceL2", &[&mean], &[("axes", Attribute::Ints(&[0]))]);
    let y = twin.model.node("Div", &[&mean, &size], &[]);
    twin.model.finish(&y, &[D as i64])
}

impl Twin<'_> {
    /// A tensor, or a layer's part of it.
    fn weight(&mut self, name: &str, layer: Option<usize>) -> String {
        let (_, shape, data) = self.weights.iter().find(|weight| weight.0 == name).expect("a name of the list");
        let (shape, part) = match layer {
            None => (&shape[..], &data[..]),
            Some(layer) => (&shape[1..], &data[layer * data.len() / LAYERS..][..data.len() / LAYERS]),
        };
        let shape: Vec<i64> = shape.iter().map(|extent| *extent as i64).collect();
        self.model.weight(&shape, part)
    }

    fn embed(&mut self) -> String {
        let (words, positions) = (self.weight("words", None), self.weight("positions", None));
        let (zero, axis) = (self.model.ints(&[0]), self.model.ints(&[0]));
        let word = self.model.node("Gather", &[&words, "words"], &[]);
        let count = self.model.node("Shape", &["words"], &[]);
        let position = self.model.node("Slice", &[&positions, &zero, &count, &axis], &[]);
        self.model.node("Add", &[&word, &position], &[])
    }

    fn linear(&mut self, weight: &str, bias: &str, layer: usize, x: &str) -> String {
        let (w, b) = (self.weight(weight, Some(layer)), self.weight(bias, Some(layer)));
        let y = self.model.node("MatMul", &[x, &w], &[]);
        self.model.node("Add", &[&y, &b], &[])
    }

    /// The heads of one of query, key and value: `[heads, words, channels]`, or turned.
    fn heads(&mut self, name: &str, layer: usize, x: &str, perm: [i64; 3]) -> String {
        let y = self.linear(name, &format!("{name}.bias"), layer, x);
        let shape = self.model.ints(&[-1, HEADS as i64, (D / HEADS) as i64]);
        let y = self.model.node("Reshape", &[&y, &shape], &[]);
        self.model.node("Transpose", &[&y], &[("perm", Attribute::Ints(&perm))])
    }

    fn attention(&mut self, layer: usize, x: &str) -> String {
        let q = self.heads("query", layer, x, [1, 0, 2]);
        let k = self.heads("key", layer, x, [1, 2, 0]);
        let v = self.heads("value", layer, x, [1, 0, 2]);
        let scale = self.model.weight(&[], &[((D / HEADS) as f32).sqrt()]);
        let dot = self.model.node("MatMul", &[&q, &k], &[]);
        let dot = self.model.node("Div", &[&dot, &scale], &[]);
        let p = self.model.node("Softmax", &[&dot], &[("axis", Attribute::Int(-1))]);
        let y = self.model.node("MatMul", &[&p, &v], &[]);
        let y = self.model.node("Transpose", &[&y], &[("perm", Attribute::Ints(&[1, 0, 2]))]);
        let shape = self.model.ints(&[-1, D as i64]);
        let y = self.model.node("Reshape", &[&y, &shape], &[]);
        self.linear("output", "output.bias", layer, &y)
    }

    /// Scale (of which 1 is left out) and bias stand in one tensor.
    fn norm(&mut self, name: &str, layer: usize, x: &str) -> String {
        let (_, _, data) = self.weights.iter().find(|weight| weight.0 == name).expect("a name of the list");
        let part = &data[layer * 2 * D..][..2 * D];
        let scale: Vec<f32> = part[..D].iter().map(|scale| 1.0 + scale).collect();
        let (scale, bias) = (self.model.weight(&[D as i64], &scale), self.model.weight(&[D as i64], &part[D..]));
        let attributes = [("axis", Attribute::Int(-1)), ("epsilon", Attribute::Float(1e-12))];
        self.model.node("LayerNormalization", &[x, &scale, &bias], &attributes)
    }

    /// `x / 2 (1 + erf(x / √2))`, written out as exporters do.
    fn gelu(&mut self, x: &str) -> String {
        let [root, one, half] = [std::f32::consts::SQRT_2, 1.0, 0.5].map(|value| self.model.weight(&[], &[value]));
        let y = self.model.node("Div", &[x, &root], &[]);
        let y = self.model.node("Erf", &[&y], &[]);
        let y = self.model.node("Add", &[&y, &one], &[]);
        let y = self.model.node("Mul", &[x, &y], &[]);
        self.model.node("Mul", &[&y, &half], &[])
    }
}
