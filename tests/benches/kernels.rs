//! How fast kernels run that are neither products nor plain rows: pools, scans, extremes, and a narrow product.
//!
//! `cargo bench -p tenfold-tests --bench kernels -- NAME…`: against `ndarray` or loops that rustc compiles for vectors of
//! 32 bytes, and against a copy of as many bytes as the kernel must read and write. All sides are timed in turn; medians
//! count. `--c` compiles through C, `--tir` prints what is compiled.
#![allow(unsafe_code, reason = "calls what the back end compiled")]

#[path = "../models/compiled.rs"]
mod compiled;
#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../models/graphs.rs"]
mod graphs;

use std::path::PathBuf;
use std::time::Instant;

use compiled::{Compiled, compiled, host_target, lowered};
use graphs::Graph;
use ndarray::{ArrayView2, Axis};
use tenfold_core::Backend;
use tenfold_core::pass::PassContext;
use tenfold_ir::Module;
use tenfold_ir::op::ReduceOp;
use tenfold_ir::ops::{self, Arg, AttrValue, OpCall};
use tenfold_ir::relax::{DataLayout, Op, PoolOp, ValueId, Window};

/// A kernel of one operand.
struct Case {
    name: &'static str,
    /// Extents of the operand.
    shape: &'static [i64],
    make: fn(&mut Graph, ValueId) -> ValueId,
    /// The same otherwise: from the operand into as many elements as the first result has.
    peer: fn(&[f32], &mut [f32]),
}

const AVERAGE: PoolOp = PoolOp::Average { count_include_pad: false };
const LAST: DataLayout = DataLayout::ChannelsLast;
const FIRST: DataLayout = DataLayout::ChannelsFirst;

const CASES: &[Case] = &[
    Case {
        name: "max_pool_3x3_nhwc",
        shape: &[1, 112, 112, 64],
        make: |g, x| pool(g, x, PoolOp::Max, 3, 1, LAST),
        peer: |x, y| windows::<3>(x, y, [112, 56, 64], 1, f32::NEG_INFINITY, f32::max),
    },
    Case {
        name: "max_pool_3x3_nchw",
        shape: &[1, 64, 112, 112],
        make: |g, x| pool(g, x, PoolOp::Max, 3, 1, FIRST),
        peer: |x, y| planes::<3>(x, y, [112, 56], 1, f32::NEG_INFINITY, f32::max),
    },
    Case {
        name: "max_pool_2x2_nhwc",
        shape: &[1, 112, 112, 64],
        make: |g, x| pool(g, x, PoolOp::Max, 2, 0, LAST),
        peer: |x, y| windows::<2>(x, y, [112, 56, 64], 0, f32::NEG_INFINITY, f32::max),
    },
    Case {
        name: "max_pool_2x2_nchw",
        shape: &[1, 64, 112, 112],
        make: |g, x| pool(g, x, PoolOp::Max, 2, 0, FIRST),
        peer: |x, y| planes::<2>(x, y, [112, 56], 0, f32::NEG_INFINITY, f32::max),
    },
    Case {
        name: "average_pool_3x3_nhwc",
        shape: &[1, 112, 112, 64],
        make: |g, x| pool(g, x, AVERAGE, 3, 1, LAST),
        peer: |x, y| windows::<3>(x, y, [112, 56, 64], 1, 0.0, |a, b| a + b),
    },
    Case {
        name: "average_pool_2x2_nhwc",
        shape: &[1, 112, 112, 64],
        make: |g, x| pool(g, x, AVERAGE, 2, 0, LAST),
        peer: |x, y| windows::<2>(x, y, [112, 56, 64], 0, 0.0, |a, b| a + b),
    },
    Case {
        name: "average_pool_2x2_nchw",
        shape: &[1, 64, 112, 112],
        make: |g, x| pool(g, x, AVERAGE, 2, 0, FIRST),
        peer: |x, y| planes::<2>(x, y, [112, 56], 0, 0.0, |a, b| a + b),
    },
    Case {
        name: "global_average_nhwc",
        shape: &[1, 7, 7, 2048],
        make: |g, x| mean(g, x, &[1, 2]),
        peer: |x, y| {
            y.fill(0.0);
            x.chunks_exact(y.len()).for_each(|row| y.iter_mut().zip(row).for_each(|(y, x)| *y += x));
            y.iter_mut().for_each(|y| *y /= 49.0);
        },
    },
    Case {
        name: "global_average_nchw",
        shape: &[1, 2048, 7, 7],
        make: |g, x| mean(g, x, &[2, 3]),
        peer: |x, y| rows(x, y, 49, |row| row.mean().unwrap_or(0.0)),
    },
    Case {
        name: "cumsum_rows",
        shape: &[1024, 1024],
        make: |g, x| call(g, "cumsum", x, &[("axis", 1)]),
        peer: |x, y| x.chunks_exact(1024).zip(y.chunks_exact_mut(1024)).for_each(|(x, y)| running(x, y)),
    },
    Case {
        name: "cumsum_columns",
        shape: &[1024, 1024],
        make: |g, x| call(g, "cumsum", x, &[("axis", 0)]),
        peer: running_down,
    },
    Case {
        name: "cumprod_rows",
        shape: &[64, 1000],
        make: |g, x| call(g, "cumprod", x, &[("axis", 1)]),
        peer: |x, y| x.chunks_exact(1000).zip(y.chunks_exact_mut(1000)).for_each(|(x, y)| running(x, y)),
    },
    Case { name: "cumsum_16m", shape: &[16 << 20], make: |g, x| call(g, "cumsum", x, &[("axis", 0)]), peer: running },
    Case {
        name: "cumsum_columns_16m",
        shape: &[16 << 10, 1 << 10],
        make: |g, x| call(g, "cumsum", x, &[("axis", 0)]),
        peer: running_down,
    },
    Case {
        name: "argmax_rows",
        shape: &[1024, 1000],
        make: |g, x| call(g, "argmax", x, &[("axis", 1)]),
        peer: |x, y| rows(x, &mut y[..1024], 1000, |row| first_best(row.as_slice().unwrap_or(&[]))),
    },
    Case {
        name: "argmax_columns",
        shape: &[1024, 1000],
        make: |g, x| call(g, "argmax", x, &[("axis", 0)]),
        peer: best_down,
    },
    Case {
        name: "argmax_1x1000",
        shape: &[1, 1000],
        make: |g, x| call(g, "argmax", x, &[("axis", 1)]),
        peer: |x, y| y[0] = first_best(x),
    },
    Case {
        name: "top_1_1x1000",
        shape: &[1, 1000],
        make: |g, x| {
            let both = call(g, "top_k", x, &[("k", 1)]);
            g.b.emit(Op::TupleGet(1), &[both]).expect("it has two parts")
        },
        peer: |x, y| y[0] = first_best(x),
    },
    Case {
        name: "sum_columns",
        shape: &[1024, 1000],
        make: |g, x| call(g, "sum", x, &[("axis", 0)]),
        peer: |x, y| {
            y.fill(0.0);
            x.chunks_exact(y.len()).for_each(|row| y.iter_mut().zip(row).for_each(|(y, x)| *y += x));
        },
    },
    Case {
        name: "var_rows",
        shape: &[1024, 1000],
        make: |g, x| call(g, "var", x, &[("axis", 1)]),
        peer: |x, y| rows(x, y, 1000, |row| row.var(0.0)),
    },
    Case {
        name: "log_softmax",
        shape: &[1024, 1000],
        make: |g, x| call(g, "log_softmax", x, &[("axis", 1)]),
        peer: log_softmax,
    },
    Case {
        name: "product_3136x96x24",
        shape: &[3136, 96],
        make: |g, x| {
            let w = g.param(&[96, 24]);
            g.b.emit(Op::MatMul, &[x, w]).expect("it fits")
        },
        peer: |x, y| {
            let w = [0.5f32; 96 * 24];
            // SAFETY: the slices have as many elements as the extents and distances say.
            unsafe {
                let (x, w, y) = (x.as_ptr(), w.as_ptr(), y.as_mut_ptr());
                matrixmultiply::sgemm(3136, 96, 24, 1.0, x, 96, 1, w, 24, 1, 0.0, y, 24, 1);
            }
        },
    },
];

/// An operator by its name, of integer attributes.
fn call(g: &mut Graph, name: &str, x: ValueId, attrs: &[(&str, i64)]) -> ValueId {
    let def = ops::lookup(name).expect("it is there");
    let attrs = attrs.iter().map(|(name, n)| (name.to_string(), AttrValue::Int((*n).into())));
    let call = OpCall { args: vec![Arg::Value(x)], attrs: attrs.collect(), dtype: None };
    ops::apply(&mut g.b, def, &call).expect("it takes it")
}

/// A pool of steps of 2.
fn pool(g: &mut Graph, x: ValueId, op: PoolOp, side: i64, pad: i64, layout: DataLayout) -> ValueId {
    let window = Window { kernel: vec![side; 2], strides: vec![2; 2], pads: vec![pad; 4], dilations: vec![1; 2] };
    g.b.emit(Op::Pool { op, window, ceil_mode: false, layout }, &[x]).expect("it takes it")
}

fn mean(g: &mut Graph, x: ValueId, axes: &[usize]) -> ValueId {
    g.b.emit(Op::Reduce { op: ReduceOp::Mean, axes: axes.to_vec(), keepdims: false }, &[x]).expect("it takes it")
}

/// Windows of steps of 2 over `[side, side, channels]`: taps outside, channels inside.
fn windows<const K: usize>(
    x: &[f32],
    y: &mut [f32],
    [side, out, channels]: [usize; 3],
    pad: usize,
    start: f32,
    op: impl Fn(f32, f32) -> f32,
) {
    for (place, y) in y.chunks_exact_mut(channels).enumerate() {
        let (row, column) = (place / out, place % out);
        y.fill(start);
        for (i, j) in (0..K * K).map(|tap| (2 * row + tap / K, 2 * column + tap % K)) {
            if (pad..side + pad).contains(&i) && (pad..side + pad).contains(&j) {
                let at = ((i - pad) * side + j - pad) * channels;
                y.iter_mut().zip(&x[at..at + channels]).for_each(|(y, x)| *y = op(*y, *x));
            }
        }
    }
}

/// Windows of steps of 2 over planes.
fn planes<const K: usize>(
    x: &[f32],
    y: &mut [f32],
    [side, out]: [usize; 2],
    pad: usize,
    start: f32,
    op: impl Fn(f32, f32) -> f32,
) {
    for (x, y) in x.chunks_exact(side * side).zip(y.chunks_exact_mut(out * out)) {
        for (place, y) in y.iter_mut().enumerate() {
            let mut acc = start;
            for (i, j) in (0..K * K).map(|tap| (2 * (place / out) + tap / K, 2 * (place % out) + tap % K)) {
                if (pad..side + pad).contains(&i) && (pad..side + pad).contains(&j) {
                    acc = op(acc, x[(i - pad) * side + j - pad]);
                }
            }
            *y = acc;
        }
    }
}

fn rows(x: &[f32], y: &mut [f32], n: usize, f: impl Fn(ndarray::ArrayView1<'_, f32>) -> f32) {
    let x = ArrayView2::from_shape((x.len() / n, n), x).expect("whole rows");
    x.axis_iter(Axis(0)).zip(y).for_each(|(row, y)| *y = f(row));
}

fn running(x: &[f32], y: &mut [f32]) {
    let mut sum = 0.0;
    x.iter().zip(y).for_each(|(x, y)| {
        sum += x;
        *y = sum;
    });
}

/// Along columns of rows of 1024.
fn running_down(x: &[f32], y: &mut [f32]) {
    let mut sum = [0.0f32; 1024];
    for (x, y) in x.chunks_exact(1024).zip(y.chunks_exact_mut(1024)) {
        for ((sum, x), y) in sum.iter_mut().zip(x).zip(y) {
            *sum += x;
            *y = *sum;
        }
    }
}

fn first_best(row: &[f32]) -> f32 {
    let best = row.iter().copied().fold(f32::NEG_INFINITY, |a, b| if b > a { b } else { a });
    row.iter().position(|x| *x == best).unwrap_or(0) as f32
}

/// Along columns of rows of 1000.
fn best_down(x: &[f32], y: &mut [f32]) {
    let (mut best, mut place) = ([f32::NEG_INFINITY; 1000], [0i32; 1000]);
    for (n, x) in x.chunks_exact(1000).enumerate() {
        for ((best, place), x) in best.iter_mut().zip(&mut place).zip(x) {
            let better = *x > *best;
            *place = if better { n as i32 } else { *place };
            *best = if better { *x } else { *best };
        }
    }
    y.iter_mut().zip(place).for_each(|(y, n)| *y = n as f32);
}

fn log_softmax(x: &[f32], y: &mut [f32]) {
    for (x, y) in x.chunks_exact(1000).zip(y.chunks_exact_mut(1000)) {
        let best = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f32 = x.iter().map(|x| (x - best).exp()).sum();
        let shift = best + sum.ln();
        y.iter_mut().zip(x).for_each(|(y, x)| *y = x - shift);
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let flag = |name: &str| args.iter().any(|a| a == name);
    let words: Vec<&String> = args.iter().filter(|a| !a.starts_with("--")).collect();
    for case in CASES.iter().filter(|case| words.is_empty() || words.iter().any(|w| case.name.starts_with(w.as_str())))
    {
        measured(case, flag("--c"), flag("--tir"));
    }
}

fn module(case: &Case) -> Module {
    let mut g = Graph::new("kernel");
    let x = g.param(case.shape);
    let y = (case.make)(&mut g, x);
    g.done(y)
}

fn build(case: &Case, c: bool, tir: bool) -> Compiled {
    let mut context = PassContext::new(host_target());
    context.verify = false;
    let (low, workspace) = lowered(&module(case), &context);
    if tir {
        println!("{}", tenfold_ir::functions_text(&low));
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kernels").join(case.name);
    compiled(&low, workspace, &*backend(c, folder.join("c")), &context.target, &folder)
}

fn backend(c: bool, folder: PathBuf) -> Box<dyn Backend> {
    if c {
        return Box::new(tenfold_core::c::CBackend { folder, host: host_target().triple });
    }
    let found = tenfold_llvm::find(&tenfold_llvm::Env::from_process());
    let llvm = tenfold_llvm::load(&found).expect("LLVM is there");
    Box::new(tenfold_llvm::LlvmBackend::new(llvm, &found))
}

fn measured(case: &Case, c: bool, tir: bool) {
    let ours = build(case, c, tir);
    let mut memory = ours.memory();
    for (n, m) in memory.iter_mut().enumerate() {
        m.floats().iter_mut().enumerate().for_each(|(i, x)| *x = ((i * 7919 + n * 3) % 1021) as f32 / 512.0 - 1.0);
    }
    let count: i64 = case.shape.iter().product();
    // The operand is the first argument, the first result the first that is written.
    let written = ours.args.iter().find(|(_, usage)| *usage == tenfold_ir::tir::BufUse::Out);
    let out = written.map_or(0, |(bytes, _)| *bytes);
    let x = memory[0].floats()[..count as usize].to_vec();
    let mut y = vec![0f32; out / 4];
    let (from, mut to) = (vec![1f32; (count as usize + out / 4) / 2], vec![0f32; (count as usize + out / 4) / 2]);
    let [a, b, copy] = in_turn([&mut || ours.call(&mut memory), &mut || wide(|| (case.peer)(&x, &mut y)), &mut || {
        to.copy_from_slice(&from)
    }]);
    println!(
        "{:>22}: {:>9.2} us, peer {:>9.2} us, {:>5.2} times; copy {:>9.2} us, {:.2} of it; object {}",
        case.name,
        a * 1e6,
        b * 1e6,
        b / a,
        copy * 1e6,
        copy / a,
        ours.object
    );
}

/// Runs what is inlined into it with vectors of 32 bytes, where the machine has them.
fn wide(f: impl FnOnce()) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2,fma")]
        fn run(f: impl FnOnce()) {
            f();
        }
        if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
            // SAFETY: the machine has these features.
            return unsafe { run(f) };
        }
    }
    f();
}

/// Seconds of one run, the middle of several whiles of each of several sides, all timed in turn.
fn in_turn<const N: usize>(mut sides: [&mut dyn FnMut(); N]) -> [f64; N] {
    const ROUNDS: usize = 41;
    sides.iter_mut().for_each(|f| f());
    let mut all: [Vec<f64>; N] = std::array::from_fn(|_| Vec::new());
    for _ in 0..ROUNDS {
        all.iter_mut().zip(&mut sides).for_each(|(all, side)| all.push(seconds(&mut **side)));
    }
    all.map(|mut all| {
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    })
}

fn seconds(f: &mut dyn FnMut()) -> f64 {
    const LEAST: f64 = 1e-3;
    let begin = Instant::now();
    let mut runs = 0;
    while runs == 0 || begin.elapsed().as_secs_f64() < LEAST {
        f();
        runs += 1;
    }
    begin.elapsed().as_secs_f64() / f64::from(runs)
}
