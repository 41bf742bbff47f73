//! What is measured on a GPU: functions, their sizes, and what they give by f64.

use tenfold_ir::{Module, parse_module};

/// A function of tensors of one dtype.
pub(crate) struct Function {
    /// Its name in reports.
    pub name: &'static str,
    /// The dtype of all its tensors.
    pub dtype: &'static str,
    /// Shapes of the inputs.
    pub inputs: &'static [&'static [usize]],
    /// The shape of the result.
    pub result: &'static [usize],
    /// What it computes, of `v0` and those behind it.
    body: &'static str,
    /// Floating point operations in 10^9; 0 where memory is what is measured.
    pub gflop: f64,
    /// An element of the result by f64, from the inputs and its place.
    pub reference: fn(&[Vec<f64>], usize) -> f64,
    /// How far off a result may be, relative to the largest one near it.
    pub tolerance: f64,
}

/// Rows and columns of what goes through memory: 1 GiB of f32.
const ROWS: usize = 65_536;
const COLUMNS: usize = 4_096;
const WIDE: &[usize] = &[ROWS, COLUMNS];

const LARGE: usize = 8_192;
const SMALL: usize = 4_096;

/// Every function that is measured.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function {
        name: "relu(x + b), f32",
        dtype: "f32",
        inputs: &[WIDE, &[COLUMNS]],
        result: WIDE,
        body: "v2: f32[65536, 4096] = add(v0, v1)\n    v3: f32[65536, 4096] = relu(v2)",
        gflop: 0.0,
        reference: |x, at| (x[0][at] + x[1][at % COLUMNS]).max(0.0),
        tolerance: 1e-6,
    },
    Function {
        name: "tanh(x) x, f32",
        dtype: "f32",
        inputs: &[WIDE],
        result: WIDE,
        body: "v2: f32[65536, 4096] = tanh(v0)\n    v3: f32[65536, 4096] = mul(v2, v0)",
        gflop: 0.0,
        reference: |x, at| x[0][at].tanh() * x[0][at],
        tolerance: 2e-6,
    },
    Function {
        name: "softmax of rows, f32",
        dtype: "f32",
        inputs: &[WIDE],
        result: WIDE,
        body: "v3: f32[65536, 4096] = softmax(v0, axis = 1)",
        gflop: 0.0,
        reference: softmax,
        tolerance: 1e-5,
    },
    Function {
        name: "layer_norm of rows, f32",
        dtype: "f32",
        inputs: &[WIDE, &[COLUMNS], &[COLUMNS]],
        result: WIDE,
        body: "v3: f32[65536, 4096] = layer_normalization(v0, v1, v2, axis = 1, epsilon = 1e-5)",
        gflop: 0.0,
        reference: layer_norm,
        tolerance: 1e-4,
    },
    Function {
        name: "matmul 4096, f32",
        dtype: "f32",
        inputs: &[&[SMALL, SMALL], &[SMALL, SMALL]],
        result: &[SMALL, SMALL],
        body: "v3: f32[4096, 4096] = matmul(v0, v1)",
        gflop: 137.438_953_472,
        reference: |x, at| product(x, at, SMALL),
        tolerance: 1e-4,
    },
    Function {
        name: "matmul 8192, bf16",
        dtype: "bf16",
        inputs: &[&[LARGE, LARGE], &[LARGE, LARGE]],
        result: &[LARGE, LARGE],
        body: "v3: bf16[8192, 8192] = matmul(v0, v1)",
        gflop: 1_099.511_627_776,
        reference: |x, at| product(x, at, LARGE),
        tolerance: 1e-2,
    },
];

fn row(x: &[f64], at: usize) -> &[f64] {
    &x[at / COLUMNS * COLUMNS..][..COLUMNS]
}

fn softmax(x: &[Vec<f64>], at: usize) -> f64 {
    let row = row(&x[0], at);
    let most = row.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
    (x[0][at] - most).exp() / row.iter().map(|x| (x - most).exp()).sum::<f64>()
}

fn layer_norm(x: &[Vec<f64>], at: usize) -> f64 {
    let row = row(&x[0], at);
    let mean = row.iter().sum::<f64>() / COLUMNS as f64;
    let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / COLUMNS as f64;
    (x[0][at] - mean) / (variance + 1e-5).sqrt() * x[1][at % COLUMNS] + x[2][at % COLUMNS]
}

fn product(x: &[Vec<f64>], at: usize, side: usize) -> f64 {
    let (row, column) = (at / side, at % side);
    (0..side).map(|k| x[0][row * side + k] * x[1][k * side + column]).sum()
}

impl Function {
    /// Its graph.
    pub(crate) fn module(&self) -> Module {
        let shown = |shape: &[usize]| shape.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        let params = self
            .inputs
            .iter()
            .enumerate()
            .map(|(n, shape)| format!("  param v{n}: {}[{}] = input {n} \"x{n}\"\n", self.dtype, shown(shape)));
        let params: String = params.collect();
        let text = format!(
            "relax @measured phase imported {{\n{params}  dataflow {{\n    {}\n  }}\n  return v3\n}}\n",
            self.body
        );
        let module = parse_module(&text, &[]).unwrap_or_else(|error| panic!("{}: {error:?}\n{text}", self.name));
        Module { entry: "measured".into(), ..module }
    }

    /// Elements of all tensors together.
    pub(crate) fn elements(&self) -> usize {
        let count = |shape: &[usize]| shape.iter().product::<usize>();
        self.inputs.iter().map(|shape| count(shape)).sum::<usize>() + count(self.result)
    }
}
