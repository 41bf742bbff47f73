//! How fast kernels run that are neither products nor plain rows: pools, scans, extremes, and a narrow product.
//!
//! `cargo bench -p tenfold-tests --bench kernels -- NAME…`: against `ndarray` or loops that rustc compiles for vectors of
//! 32 bytes, and against a copy of as many bytes as the kernel must read and write. All sides are timed in turn; medians
//! count. `--c` compiles through C, `--tir` prints what is compiled. Where `TENFOLD_PYTHON` names a Python that has
//! `onnx` and `onnxruntime`, pools are compared with ONNX Runtime on one thread, too.
#![allow(unsafe_code, reason = "calls what the back end compiled")]

#[path = "../models/compiled.rs"]
mod compiled;
#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../models/graphs.rs"]
mod graphs;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

use compiled::{Compiled, compiled, host_target, lowered};
use graphs::Graph;
use ndarray::{ArrayView2, Axis};
use tenfold_core::Backend;
use tenfold_core::pass::PassContext;
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

/// A pool in the layout of ONNX.
struct PoolCase {
    name: &'static str,
    /// Extents of the operand.
    shape: &'static [i64],
    op: PoolOp,
    side: i64,
    stride: i64,
    pad: i64,
}

const AVERAGE: PoolOp = PoolOp::Average { count_include_pad: false };
const PADDED: PoolOp = PoolOp::Average { count_include_pad: true };
const LAST: DataLayout = DataLayout::ChannelsLast;
const FIRST: DataLayout = DataLayout::ChannelsFirst;

const POOLS: &[PoolCase] = &[
    PoolCase { name: "max_pool_3x3s2", shape: &[1, 64, 112, 112], op: PoolOp::Max, side: 3, stride: 2, pad: 1 },
    PoolCase { name: "max_pool_2x2s2", shape: &[1, 64, 112, 112], op: PoolOp::Max, side: 2, stride: 2, pad: 0 },
    PoolCase { name: "max_pool_3x3s1", shape: &[1, 192, 28, 28], op: PoolOp::Max, side: 3, stride: 1, pad: 1 },
    PoolCase { name: "max_pool_5x5s1", shape: &[1, 256, 20, 20], op: PoolOp::Max, side: 5, stride: 1, pad: 2 },
    PoolCase { name: "max_pool_13x13s1", shape: &[1, 256, 13, 13], op: PoolOp::Max, side: 13, stride: 1, pad: 6 },
    PoolCase { name: "max_pool_3s2", shape: &[1, 64, 4096], op: PoolOp::Max, side: 3, stride: 2, pad: 1 },
    PoolCase { name: "max_pool_2x2x2s2", shape: &[1, 32, 16, 56, 56], op: PoolOp::Max, side: 2, stride: 2, pad: 0 },
    PoolCase { name: "max_pool_3x3s3", shape: &[1, 64, 96, 96], op: PoolOp::Max, side: 3, stride: 3, pad: 0 },
    PoolCase { name: "average_pool_3x3s1", shape: &[1, 64, 112, 112], op: AVERAGE, side: 3, stride: 1, pad: 1 },
    PoolCase { name: "average_pool_3x3s1_pad", shape: &[1, 64, 112, 112], op: PADDED, side: 3, stride: 1, pad: 1 },
    PoolCase { name: "average_pool_2x2s2", shape: &[1, 64, 112, 112], op: AVERAGE, side: 2, stride: 2, pad: 0 },
    PoolCase { name: "average_pool_3x3s2", shape: &[1, 64, 112, 112], op: AVERAGE, side: 3, stride: 2, pad: 1 },
    PoolCase { name: "average_pool_3x3s1_14", shape: &[1, 512, 14, 14], op: AVERAGE, side: 3, stride: 1, pad: 1 },
    PoolCase { name: "average_pool_7x7", shape: &[1, 1024, 7, 7], op: AVERAGE, side: 7, stride: 1, pad: 0 },
    PoolCase { name: "average_pool_3x3x3s1", shape: &[1, 32, 16, 28, 28], op: AVERAGE, side: 3, stride: 1, pad: 1 },
];

const CASES: &[Case] = &[
    Case {
        name: "max_pool_3x3_nhwc",
        shape: &[1, 112, 112, 64],
        make: |g, x| pool(g, x, PoolOp::Max, [3, 2, 1], LAST),
        peer: |x, y| windows::<3>(x, y, [112, 56, 64], 1, f32::NEG_INFINITY, f32::max),
    },
    Case {
        name: "max_pool_2x2_nhwc",
        shape: &[1, 112, 112, 64],
        make: |g, x| pool(g, x, PoolOp::Max, [2, 2, 0], LAST),
        peer: |x, y| windows::<2>(x, y, [112, 56, 64], 0, f32::NEG_INFINITY, f32::max),
    },
    Case {
        name: "average_pool_3x3_nhwc",
        shape: &[1, 112, 112, 64],
        make: |g, x| pool(g, x, AVERAGE, [3, 2, 1], LAST),
        peer: |x, y| windows::<3>(x, y, [112, 56, 64], 1, 0.0, |a, b| a + b),
    },
    Case {
        name: "average_pool_2x2_nhwc",
        shape: &[1, 112, 112, 64],
        make: |g, x| pool(g, x, AVERAGE, [2, 2, 0], LAST),
        peer: |x, y| windows::<2>(x, y, [112, 56, 64], 0, 0.0, |a, b| a + b),
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

/// A pool of windows of one side, step and padding along every axis.
fn pool(g: &mut Graph, x: ValueId, op: PoolOp, [side, stride, pad]: [i64; 3], layout: DataLayout) -> ValueId {
    let axes = g.b.tensor(x).shape.len() - 2;
    let (kernel, strides, pads) = (vec![side; axes], vec![stride; axes], vec![pad; 2 * axes]);
    let window = Window { kernel, strides, pads, dilations: vec![1; axes] };
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

/// Windows over volumes of up to three axes, tap by tap.
fn volumes(case: &PoolCase, x: &[f32], y: &mut [f32]) {
    let spatial = &case.shape[2..];
    let out = |n: i64| (n + 2 * case.pad - case.side) / case.stride + 1;
    let places: i64 = spatial.iter().map(|n| out(*n)).product();
    let taps = case.side.pow(spatial.len() as u32);
    let whole: i64 = spatial.iter().product();
    for (x, y) in x.chunks_exact(whole as usize).zip(y.chunks_exact_mut(places as usize)) {
        for (place, y) in (0..).zip(y) {
            let (mut acc, mut count) = (if case.op == PoolOp::Max { f32::NEG_INFINITY } else { 0.0 }, 0.0);
            for tap in 0..taps {
                let (mut place, mut tap, mut at, mut apart) = (place, tap, Some(0), 1);
                for n in spatial.iter().rev() {
                    let i = place % out(*n) * case.stride + tap % case.side - case.pad;
                    at = at.filter(|_| (0..*n).contains(&i)).map(|at| at + i * apart);
                    (place, tap, apart) = (place / out(*n), tap / case.side, apart * n);
                }
                let Some(at) = at else { continue };
                let x = x[at as usize];
                (acc, count) = (if case.op == PoolOp::Max { acc.max(x) } else { acc + x }, count + 1.0);
            }
            *y = match case.op {
                PoolOp::Max => acc,
                PoolOp::Average { count_include_pad: true } => acc / taps as f32,
                PoolOp::Average { count_include_pad: false } => acc / count,
            };
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
    let asked = |name: &str| words.is_empty() || words.iter().any(|w| name.starts_with(w.as_str()));
    let how = How { c: flag("--c"), tir: flag("--tir") };
    for case in POOLS.iter().filter(|case| asked(case.name)) {
        let made =
            built(case.name, case.shape, how, |g, x| pool(g, x, case.op, [case.side, case.stride, case.pad], FIRST));
        measured(case.name, case.shape, &made, &mut |x, y| volumes(case, x, y), other(case));
    }
    for case in CASES.iter().filter(|case| asked(case.name)) {
        let made = built(case.name, case.shape, how, case.make);
        measured(case.name, case.shape, &made, &mut |x, y| (case.peer)(x, y), None);
    }
}

/// How a kernel is compiled.
#[derive(Clone, Copy)]
struct How {
    /// Through C.
    c: bool,
    /// Whether what is compiled is printed.
    tir: bool,
}

fn built(name: &str, shape: &[i64], how: How, make: impl Fn(&mut Graph, ValueId) -> ValueId) -> Compiled {
    let mut g = Graph::new("kernel");
    let x = g.param(shape);
    let y = make(&mut g, x);
    let mut context = PassContext::new(host_target());
    context.verify = false;
    let (low, workspace) = lowered(&g.done(y), &context);
    if how.tir {
        println!("{}", tenfold_ir::functions_text(&low));
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("kernels").join(name);
    compiled(&low, workspace, &*backend(how.c, folder.join("c")), &context.target, &folder)
}

/// A pool in ONNX Runtime.
struct Other {
    child: Child,
    answers: BufReader<ChildStdout>,
}

/// The same pool in ONNX Runtime, where there is one.
fn other(case: &PoolCase) -> Option<Other> {
    let python = std::env::var_os("TENFOLD_PYTHON")?;
    let words = |n: i64, count: usize| vec![n.to_string(); count].join(",");
    let axes = case.shape.len() - 2;
    let (side, stride, pads) = (words(case.side, axes), words(case.stride, axes), words(case.pad, 2 * axes));
    let (op, more) = match case.op {
        PoolOp::Max => ("MaxPool", ""),
        PoolOp::Average { count_include_pad: true } => ("AveragePool", " count_include_pad=1"),
        PoolOp::Average { count_include_pad: false } => ("AveragePool", ""),
    };
    let node = format!("{op} kernel_shape={side} strides={stride} pads={pads}{more}");
    let shape = case.shape.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/onnx_runtime.py");
    let mut command = Command::new(python);
    command.args([script, &shape, &node]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the Python that TENFOLD_PYTHON names runs");
    let answers = BufReader::new(child.stdout.take().expect("it was asked for"));
    Some(Other { child, answers })
}

impl Other {
    /// Seconds of one run.
    fn seconds(&mut self) -> f64 {
        let mut line = String::new();
        let asked = self.child.stdin.as_mut().map(|to| to.write_all(b"\n"));
        asked.expect("it is there").expect("it listens");
        self.answers.read_line(&mut line).expect("it answers");
        line.trim().parse().expect("ONNX Runtime has taken the node; its Python says above why not")
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        // What it ends with is of no interest.
        let _ = self.child.wait();
    }
}

fn backend(c: bool, folder: PathBuf) -> Box<dyn Backend> {
    if c {
        return Box::new(tenfold_core::c::CBackend { folder, host: host_target().triple, compiler: None });
    }
    let found = tenfold_llvm::find(&tenfold_llvm::Env::from_process());
    let llvm = tenfold_llvm::load(&found).expect("LLVM is there");
    Box::new(tenfold_llvm::LlvmBackend::new(llvm, &found))
}

fn measured(
    name: &str,
    shape: &[i64],
    ours: &Compiled,
    peer: &mut dyn FnMut(&[f32], &mut [f32]),
    mut other: Option<Other>,
) {
    let mut memory = ours.memory();
    for (n, m) in memory.iter_mut().enumerate() {
        m.floats().iter_mut().enumerate().for_each(|(i, x)| *x = ((i * 7919 + n * 3) % 1021) as f32 / 512.0 - 1.0);
    }
    let count: i64 = shape.iter().product();
    // The operand is the first argument, the first result the first that is written.
    let written = ours.args.iter().find(|(_, usage)| *usage == tenfold_ir::tir::BufUse::Out);
    let out = written.map_or(0, |(bytes, _)| *bytes);
    let x = memory[0].floats()[..count as usize].to_vec();
    let mut y = vec![0f32; out / 4];
    let (from, mut to) = (vec![1f32; (count as usize + out / 4) / 2], vec![0f32; (count as usize + out / 4) / 2]);
    let mut all = in_turn([
        &mut || seconds(&mut || ours.call(&mut memory)),
        &mut || seconds(&mut || wide(|| peer(&x, &mut y))),
        &mut || seconds(&mut || to.copy_from_slice(&from)),
        &mut || other.as_mut().map_or(f64::NAN, Other::seconds),
    ]);
    let [a, b, copy, runtime] = all.each_mut().map(|times| middle(times));
    let runtime = match other {
        Some(_) => format!("; ONNX Runtime {:>9.2} us, {:>5.2} times", runtime * 1e6, runtime / a),
        None => String::new(),
    };
    println!(
        "{name:>22}: {:>9.2} us, peer {:>9.2} us, {:>5.2} times{runtime}; copy {:>9.2} us, {:.2} of it; object {}",
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

/// Seconds of one run in several whiles of each of several sides, all timed in turn.
fn in_turn<const N: usize>(mut sides: [&mut dyn FnMut() -> f64; N]) -> [Vec<f64>; N] {
    const ROUNDS: usize = 41;
    sides.iter_mut().for_each(|side| {
        side();
    });
    let mut all: [Vec<f64>; N] = std::array::from_fn(|_| Vec::new());
    for _ in 0..ROUNDS {
        all.iter_mut().zip(&mut sides).for_each(|(all, side)| all.push(side()));
    }
    all
}

fn middle(all: &mut [f64]) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
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
