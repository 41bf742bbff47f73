//! What is measured on a GPU: functions, their sizes, and what they give by f64.

use tenfold_ir::{Module, parse_module};

/// A function of tensors of one dtype.
pub(crate) struct Function {
    /// Its name in reports.
    pub name: &'static str,
    /// The dtype of all its tensors.
    pub dtype: &'static str,
    /// Shapes of the inputs and of the result: which of the extents each axis has.
    inputs: &'static [&'static [usize]],
    result: &'static [usize],
    /// What it computes, of `v0` and those behind it; `T` is the type of the result.
    body: &'static str,
    /// Whether the arithmetic is what is measured, and not memory.
    pub is_product: bool,
    /// The extents that are measured.
    pub large: &'static [usize],
    /// Extents for interpreters, and the settings under which they have the kernels that are measured.
    pub small: &'static [usize],
    pub settings: &'static [(&'static str, &'static str)],
    /// An element of the result by f64, from the inputs, the extents and its place.
    pub reference: fn(&[Vec<f64>], &[usize], usize) -> f64,
    /// How far off a result may be, relative to the largest one near it.
    pub tolerance: f64,
}

/// Rows and columns of what goes through memory: 1 GiB of f32.
const WIDE: &[usize] = &[65_536, 4_096];

/// Fewer rows and groups, so that a group has as much to do: two rows, or 16 times 128 vectors.
const FEW: &[usize] = &[16, 4_096];
const FEWER: &[(&str, &str)] = &[("BindThreads.groups", "8")];

/// Every function that is measured.
pub(crate) const FUNCTIONS: &[Function] = &[
    Function {
        name: "relu(x + b), f32",
        dtype: "f32",
        inputs: &[&[0, 1], &[1]],
        result: &[0, 1],
        body: "v2: T = add(v0, v1)\n    v3: T = relu(v2)",
        is_product: false,
        large: WIDE,
        small: FEW,
        settings: FEWER,
        reference: |x, extents, at| (x[0][at] + x[1][at % extents[1]]).max(0.0),
        tolerance: 1e-6,
    },
    Function {
        name: "tanh(x) x, f32",
        dtype: "f32",
        inputs: &[&[0, 1]],
        result: &[0, 1],
        body: "v2: T = tanh(v0)\n    v3: T = mul(v2, v0)",
        is_product: false,
        large: WIDE,
        small: FEW,
        settings: FEWER,
        reference: |x, _, at| x[0][at].tanh() * x[0][at],
        tolerance: 2e-6,
    },
    Function {
        name: "softmax of rows, f32",
        dtype: "f32",
        inputs: &[&[0, 1]],
        result: &[0, 1],
        body: "v3: T = softmax(v0, axis = 1)",
        is_product: false,
        large: WIDE,
        small: FEW,
        settings: FEWER,
        reference: softmax,
        tolerance: 1e-5,
    },
    Function {
        name: "layer_norm of rows, f32",
        dtype: "f32",
        inputs: &[&[0, 1], &[1], &[1]],
        result: &[0, 1],
        body: "v3: T = layer_normalization(v0, v1, v2, axis = 1, epsilon = 1e-5)",
        is_product: false,
        large: WIDE,
        small: FEW,
        settings: FEWER,
        reference: layer_norm,
        tolerance: 1e-4,
    },
    Function {
        name: "matmul 4096, f32",
        dtype: "f32",
        inputs: &[&[0, 1], &[1, 2]],
        result: &[0, 2],
        body: "v3: T = matmul(v0, v1)",
        is_product: true,
        large: &[4_096; 3],
        small: &[256, 32, 256],
        settings: &[],
        reference: product,
        tolerance: 1e-4,
    },
    Function {
        name: "matmul 8192, bf16",
        dtype: "bf16",
        inputs: &[&[0, 1], &[1, 2]],
        result: &[0, 2],
        body: "v3: T = matmul(v0, v1)",
        is_product: true,
        large: &[8_192; 3],
        // A tile, and a ring of stages that comes round.
        small: &[128, 320, 256],
        settings: &[("BindThreads.multiprocessors", "1")],
        reference: product,
        tolerance: 1e-2,
    },
];

fn row<'x>(x: &'x [f64], extents: &[usize], at: usize) -> &'x [f64] {
    &x[at / extents[1] * extents[1]..][..extents[1]]
}

fn softmax(x: &[Vec<f64>], extents: &[usize], at: usize) -> f64 {
    let row = row(&x[0], extents, at);
    let most = row.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
    (x[0][at] - most).exp() / row.iter().map(|x| (x - most).exp()).sum::<f64>()
}

fn layer_norm(x: &[Vec<f64>], extents: &[usize], at: usize) -> f64 {
    let (row, columns) = (row(&x[0], extents, at), extents[1]);
    let mean = row.iter().sum::<f64>() / columns as f64;
    let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / columns as f64;
    (x[0][at] - mean) / (variance + 1e-5).sqrt() * x[1][at % columns] + x[2][at % columns]
}

fn product(x: &[Vec<f64>], extents: &[usize], at: usize) -> f64 {
    let (row, column) = (at / extents[2], at % extents[2]);
    (0..extents[1]).map(|k| x[0][row * extents[1] + k] * x[1][k * extents[2] + column]).sum()
}

impl Function {
    /// Its graph for some extents.
    pub(crate) fn module(&self, extents: &[usize]) -> Module {
        let shown = |axes: &[usize]| {
            let all: Vec<String> = axes.iter().map(|axis| extents[*axis].to_string()).collect();
            format!("{}[{}]", self.dtype, all.join(", "))
        };
        let params = self.inputs.iter().enumerate();
        let params: String =
            params.map(|(n, axes)| format!("  param v{n}: {} = input {n} \"x{n}\"\n", shown(axes))).collect();
        let body = self.body.replace(": T", &format!(": {}", shown(self.result)));
        let text =
            format!("relax @measured phase imported {{\n{params}  dataflow {{\n    {body}\n  }}\n  return v3\n}}\n");
        let module = parse_module(&text, &[]).unwrap_or_else(|error| panic!("{}: {error:?}\n{text}", self.name));
        Module { entry: "measured".into(), ..module }
    }

    /// Elements of each input.
    pub(crate) fn inputs(&self, extents: &[usize]) -> Vec<usize> {
        self.inputs.iter().map(|axes| axes.iter().map(|axis| extents[*axis]).product()).collect()
    }

    /// Elements of the result.
    pub(crate) fn result(&self, extents: &[usize]) -> usize {
        self.result.iter().map(|axis| extents[*axis]).product()
    }

    /// Floating point operations in 10^9; 0 where memory is what is measured.
    pub(crate) fn gflop(&self, extents: &[usize]) -> f64 {
        if self.is_product { 2e-9 * extents.iter().product::<usize>() as f64 } else { 0.0 }
    }
}
