//! Rows that are gone over at once: what they give is what they give one by one, to the last bit.

use tenfold_core::pass::PassContext;
use tenfold_ir::Module;

use crate::compiled::host_target;
use crate::sums::{given, noise};

/// What is computed of `v0: f32[M, N]` and `v1: f32[N]`, the last of which is the result.
const KERNELS: [(&str, &str); 6] = [
    ("add_bias_relu", "v2: f32[M, N] = add(v0, v1)\nv3: f32[M, N] = relu(v2)"),
    ("gelu", "v2: f32[M, N] = gelu(v0)"),
    ("softmax", "v2: f32[M, N] = softmax(v0, axis = 1)"),
    ("layer_norm", "v2: f32[M, N] = layer_normalization(v0, v1, v1, axis = 1, epsilon = 1e-5)"),
    ("sum", "v2: f32[M] = sum(v0, axes = [1], keepdims = false)"),
    ("residual", "v2: f32[M, N] = softmax(v0, axis = 1)\nv3: f32[M, N] = add(v2, v0)"),
];

/// A kernel of `m` rows.
fn module(name: &str, body: &str, m: i64, n: i64) -> Module {
    let body = body.replace("[M, N]", &format!("[{m}, {n}]")).replace("[M]", &format!("[{m}]"));
    let result = body.rsplit('\n').next().and_then(|line| line.split(':').next()).unwrap_or_default();
    let text = format!(
        "entry @{name}_{n}\nsource \"rows\"\nrelax @{name}_{n} phase imported {{\nparam v0: f32[{m}, {n}] = input 0 \"x\"\n\
         param v1: f32[{n}] = input 1 \"b\"\ndataflow {{\n{body}\n}}\nreturn {result}\n}}\n"
    );
    tenfold_ir::parse_module(&text, &[]).unwrap_or_else(|e| panic!("{text}\n{e:?}"))
}

/// Rows of a page, of a part of one, of no whole vectors, and of several pages.
#[test]
fn rows_at_once_are_what_they_are_one_by_one() {
    for (name, body) in KERNELS {
        for (m, n) in [(27, 1024), (90, 256), (77, 300), (23, 1001), (9, 4096)] {
            let of = |rows: i64| {
                let mut context = PassContext::new(host_target());
                for (key, value) in [("rows", rows), ("least", 16 << 10)] {
                    context.set(&format!("UnrollAndJam.{key}"), value).expect("it is a setting");
                }
                context.set("InterleaveRows.least", 16 << 10).expect("it is a setting");
                given(&module(name, body, m, n), context, &format!("{rows}-at-once"), noise)
            };
            let wrong = of(4).iter().zip(&of(1)).position(|(x, y)| x.to_bits() != y.to_bits());
            assert_eq!(wrong, None, "{name} of {m} x {n}");
        }
    }
}
