//! Results that begin anywhere: what is written does not depend on where, and nothing beside it is touched.

use std::path::PathBuf;

use tenfold_core::pass::PassContext;
use tenfold_ir::tir::{BufUse, Expr, Intrinsic, PrimFunc};
use tenfold_ir::{Function, Module};

use crate::compiled::{Compiled, compiled, host_target, lowered};
use crate::native;
use crate::sums::noise;

/// What is computed of `v0: f32[M, N]` and `v1: f32[N]`, the results, and the shortest rows that ask where they begin: of
/// elements of one, two, four and eight bytes, of rows behind which others are, and of two results.
const KERNELS: [(&str, &str, &str, i64); 6] = [
    ("add_bias_relu", "v2: f32[M, N] = add(v0, v1)\nv3: f32[M, N] = relu(v2)", "v3", 256),
    ("layer_norm", "v2: f32[M, N] = layer_normalization(v0, v1, v1, axis = 1, epsilon = 1e-5)", "v2", 1000),
    ("bytes", "v2: i8[M, N] = cast(v0)", "v2", 1024),
    ("halves", "v2: f16[M, N] = cast(v0)", "v2", 256),
    ("doubles", "v2: f64[M, N] = cast(v0)\nv3: f64[M, N] = neg(v2)", "v3", 256),
    ("two", "v2: f32[M, N] = abs(v0)\nv3: f32[M, N] = add(v0, v1)", "v2, v3", 256),
];

fn module(name: &str, body: &str, results: &str, m: i64, n: i64) -> Module {
    let body = body.replace("[M, N]", &format!("[{m}, {n}]"));
    let text = format!(
        "entry @{name}_{n}\nsource \"aligned\"\nrelax @{name}_{n} phase imported {{\nparam v0: f32[{m}, {n}] = input 0 \"x\"\n\
         param v1: f32[{n}] = input 1 \"b\"\ndataflow {{\n{body}\n}}\nreturn {results}\n}}\n"
    );
    tenfold_ir::parse_module(&text, &[]).unwrap_or_else(|e| panic!("{text}\n{e:?}"))
}

/// The bits of all results, in memory that begins so many words behind a line, if nothing beside them is written.
fn results(kernel: &Compiled, behind: usize) -> Option<Vec<Vec<u32>>> {
    let mut memory = kernel.memory_behind_line(behind);
    for (seed, (memory, (_, usage))) in memory.iter_mut().zip(&kernel.args).enumerate() {
        let given = noise(seed as u64 + 1, memory.floats().len());
        let fill = |(to, from): (&mut f32, &f32)| *to = if *usage == BufUse::In { 9.0 * from } else { f32::NAN };
        memory.floats().iter_mut().zip(&given).for_each(fill);
    }
    kernel.call(&mut memory);
    let written = memory.iter_mut().zip(&kernel.args).filter(|(_, (_, usage))| *usage != BufUse::In);
    written
        .map(|(memory, _)| memory.is_alone().then(|| memory.floats().iter().map(|x| x.to_bits()).collect()))
        .collect()
}

/// Rows of whole vectors, of others, and of so few that nothing is to be gained.
#[test]
fn results_are_the_same_wherever_they_begin() {
    let mut context = PassContext::new(host_target());
    context.verify = false;
    for (name, body, last, least) in KERNELS {
        for (m, n) in [(5, 256), (7, 1000), (3, 1001), (40, 1024), (9, 70)] {
            let (low, workspace) = lowered(&module(name, body, last, m, n), &context);
            let asked = low.functions.values().any(|f| matches!(f, Function::Prim(prim) if asks(prim)));
            if context.target.vector_bytes() == 64 {
                assert_eq!(asked, n >= least, "{name} of {m} x {n}");
            }
            for backend in native::backends() {
                let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("aligned").join(backend.name());
                let kernel = compiled(&low, workspace, &*backend, &context.target, &folder.join(format!("{name}{n}")));
                let at_line = results(&kernel, 0);
                assert!(at_line.is_some(), "{}: {name} of {m} x {n}", backend.name());
                for behind in 1..16 {
                    let same = results(&kernel, behind) == at_line;
                    assert!(same, "{}: {name} of {m} x {n}, {behind} words behind a line", backend.name());
                }
            }
        }
    }
}

/// Whether a function asks where memory begins.
fn asks(prim: &PrimFunc) -> bool {
    prim.exprs_in(&prim.body).into_iter().any(|e| matches!(prim.exprs.get(e), Expr::Call(Intrinsic::UntilAligned, ..)))
}
