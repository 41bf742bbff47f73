//! What is measured on a GPU: functions, their sizes, and what they give by f64.

use std::ops::Range;

use tenfold_ir::{Module, parse_module};

/// Some columns of a row of a result, from the inputs, the extents, the row and the columns.
pub(crate) type Reference = fn(&[Vec<f64>], &[usize], usize, Range<usize>) -> Vec<f64>;

/// A function of tensors of one dtype.
pub(crate) struct Function {
    /// Its name in reports.
    pub name: &'static str,
    /// The dtype of all its tensors.
    pub dtype: &'static str,
    /// Shapes of the inputs and of the result: which of the extents each axis has.
    inputs: &'static [&'static [usize]],
    result: &'static [usize],
    /// What it computes, of `v0` and those behind it; `T` is the type of the result, `T021` one of those
    /// extents, `S` that of an element.
    body: &'static str,
    /// Kernels that it calls, where `$0` is an extent and `$S` the dtype.
    kernels: &'static str,
    /// Floating point operations by product of the extents, where the arithmetic is what is measured; 0 where memory is.
    pub flops: f64,
    /// The extents that are measured.
    pub large: &'static [usize],
    /// Extents for interpreters, and the settings under which they have the kernels that are measured.
    pub small: &'static [usize],
    pub settings: &'static [(&'static str, &'static str)],
    /// Some columns of a row of the result by f64, from the inputs, the extents and the row: of an attention all share most
    /// of the work.
    pub reference: Reference,
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
        kernels: "",
        flops: 0.0,
        large: WIDE,
        small: FEW,
        settings: FEWER,
        reference: |x, extents, at, columns| columns.map(|n| (row(x, extents, at)[n] + x[1][n]).max(0.0)).collect(),
        tolerance: 1e-6,
    },
    Function {
        name: "tanh(x) x, f32",
        dtype: "f32",
        inputs: &[&[0, 1]],
        result: &[0, 1],
        body: "v2: T = tanh(v0)\n    v3: T = mul(v2, v0)",
        kernels: "",
        flops: 0.0,
        large: WIDE,
        small: FEW,
        settings: FEWER,
        reference: |x, extents, at, columns| row(x, extents, at)[columns].iter().map(|x| x.tanh() * x).collect(),
        tolerance: 2e-6,
    },
    Function {
        name: "softmax of rows, f32",
        dtype: "f32",
        inputs: &[&[0, 1]],
        result: &[0, 1],
        body: "v3: T = softmax(v0, axis = 1)",
        kernels: "",
        flops: 0.0,
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
        kernels: "",
        flops: 0.0,
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
        kernels: "",
        flops: 2.0,
        large: &[4_096; 3],
        small: &[128, 24, 256],
        settings: &[("BindThreads.multiprocessors", "1")],
        reference: product,
        tolerance: 1e-4,
    },
    Function {
        name: "matmul 8192, bf16",
        dtype: "bf16",
        inputs: &[&[0, 1], &[1, 2]],
        result: &[0, 2],
        body: "v3: T = matmul(v0, v1)",
        kernels: "",
        flops: 2.0,
        large: &[8_192; 3],
        // A tile, and a ring of stages that comes round.
        small: &[128, 320, 256],
        settings: &[("BindThreads.multiprocessors", "1")],
        reference: product,
        tolerance: 1e-2,
    },
    Function { name: "attention of 4096 keys, f32", large: &[16, 4_096, 4_096, 64], ..ATTENTION },
    Function {
        name: "attention of 4096 keys, bf16",
        dtype: "bf16",
        large: &[32, 4_096, 4_096, 64],
        // Blocks of keys that come round.
        small: &[2, 256, 192, 64],
        tolerance: 2e-2,
        ..ATTENTION
    },
    Function { name: "causal attention of 4096, f32", large: &[16, 4_096, 4_096, 64], ..CAUSAL },
    Function {
        name: "causal attention of 4096, bf16",
        dtype: "bf16",
        large: &[32, 4_096, 4_096, 64],
        // As many keys as queries, as where it is measured.
        small: &[2, 256, 256, 64],
        tolerance: 2e-2,
        ..CAUSAL
    },
];

/// An attention in which queries see no keys behind their own position.
const CAUSAL: Function = Function {
    body: "v3: T032 = transpose(v1, perm = [0, 2, 1])
           v4: T012 = matmul(v0, v3)
           v5: S = scalar(value = 0.125)
           v6: T012 = mul(v4, v5)
           v7: T012 = call_tir(v6, func = @measured.seen, syms = [], in_place = [none])
           v8: T012 = softmax(v7, axis = 2)
           v9: T = matmul(v8, v2)",
    kernels: "prim @measured.seen(in x: $S[$0, $1, $2], out out: $S[$0, $1, $2]) phase blocks {
  for h in 0 +: $0 serial {
    for i in 0 +: $1 serial {
      for j in 0 +: $2 serial {
        block seen {
          spatial head in $0 = h
          spatial query in $1 = i
          spatial key in $2 = j
          do {
            out[head, query, key] = if(le(key, query), x[head, query, key], -inf$S)
          }
        }
      }
    }
  }
}
",
    reference: causal,
    ..ATTENTION
};

/// Of heads, queries, keys and their lengths.
const ATTENTION: Function = Function {
    name: "attention",
    dtype: "f32",
    inputs: &[&[0, 1, 3], &[0, 2, 3], &[0, 2, 3]],
    result: &[0, 1, 3],
    body: "v3: T032 = transpose(v1, perm = [0, 2, 1])
           v4: T012 = matmul(v0, v3)
           v5: S = scalar(value = 0.125)
           v6: T012 = mul(v4, v5)
           v7: T012 = softmax(v6, axis = 2)
           v8: T = matmul(v7, v2)",
    kernels: "",
    flops: 4.0,
    large: &[],
    small: &[1, 128, 128, 64],
    settings: &[("BindThreads.multiprocessors", "1")],
    reference: attention,
    tolerance: 1e-4,
};

fn row<'x>(x: &'x [Vec<f64>], extents: &[usize], row: usize) -> &'x [f64] {
    &x[0][row * extents[1]..][..extents[1]]
}

fn softmax(x: &[Vec<f64>], extents: &[usize], at: usize, columns: Range<usize>) -> Vec<f64> {
    let row = row(x, extents, at);
    let most = row.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
    let sum = row.iter().map(|x| (x - most).exp()).sum::<f64>();
    row[columns].iter().map(|x| (x - most).exp() / sum).collect()
}

fn layer_norm(x: &[Vec<f64>], extents: &[usize], at: usize, columns: Range<usize>) -> Vec<f64> {
    let row = row(x, extents, at);
    let mean = row.iter().sum::<f64>() / row.len() as f64;
    let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / row.len() as f64;
    columns.map(|n| (row[n] - mean) / (variance + 1e-5).sqrt() * x[1][n] + x[2][n]).collect()
}

fn product(x: &[Vec<f64>], extents: &[usize], at: usize, columns: Range<usize>) -> Vec<f64> {
    let row = row(x, extents, at);
    columns.map(|n| row.iter().enumerate().map(|(k, left)| left * x[1][k * extents[2] + n]).sum()).collect()
}

fn attention(x: &[Vec<f64>], extents: &[usize], query: usize, columns: Range<usize>) -> Vec<f64> {
    attended(x, extents, query, columns, extents[2])
}

fn causal(x: &[Vec<f64>], extents: &[usize], query: usize, columns: Range<usize>) -> Vec<f64> {
    attended(x, extents, query, columns, extents[2].min(query % extents[1] + 1))
}

/// Of the first keys alone.
fn attended(x: &[Vec<f64>], extents: &[usize], query: usize, columns: Range<usize>, seen: usize) -> Vec<f64> {
    let [_, queries, keys, depth] = *extents else { return Vec::new() };
    let of_head = query / queries * keys;
    let score = |key: usize| -> f64 {
        let product = |d| x[0][query * depth + d] * x[1][(of_head + key) * depth + d];
        (0..depth).map(product).sum::<f64>() / 8.0
    };
    let scores: Vec<f64> = (0..seen).map(score).collect();
    let most = scores.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
    let weights: Vec<f64> = scores.iter().map(|score| (score - most).exp()).collect();
    let sum: f64 = weights.iter().sum();
    let value = |key: usize, column: usize| x[2][(of_head + key) * depth + column];
    let values = |column| weights.iter().enumerate().map(move |(key, weight)| weight * value(key, column));
    columns.map(|column| values(column).sum::<f64>() / sum).collect()
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
        let typed = |line: &str| {
            let Some((value, (axes, made))) =
                line.split_once(": T").and_then(|(v, rest)| Some((v, rest.split_once(' ')?)))
            else {
                return line.replace(": S", &format!(": {}", self.dtype));
            };
            let axes: Vec<usize> = axes.bytes().map(|digit| usize::from(digit - b'0')).collect();
            format!("{value}: {} {made}", shown(if axes.is_empty() { self.result } else { &axes }))
        };
        let lines: Vec<String> = self.body.lines().map(|line| typed(line.trim())).collect();
        let last = lines.last().and_then(|line| line.split(':').next()).unwrap_or_default();
        let mut kernels = self.kernels.replace("$S", self.dtype);
        for (n, extent) in extents.iter().enumerate() {
            kernels = kernels.replace(&format!("${n}"), &extent.to_string());
        }
        let body = lines.join("\n    ");
        let text = format!(
            "relax @measured phase imported {{\n{params}  dataflow {{\n    {body}\n  }}\n  return {last}\n}}\n{kernels}"
        );
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

    /// Elements of a row of the result.
    pub(crate) fn width(&self, extents: &[usize]) -> usize {
        self.result.last().map_or(1, |axis| extents[*axis])
    }

    /// Floating point operations in 10^9; 0 where memory is what is measured.
    pub(crate) fn gflop(&self, extents: &[usize]) -> f64 {
        1e-9 * self.flops * extents.iter().product::<usize>() as f64
    }
}
