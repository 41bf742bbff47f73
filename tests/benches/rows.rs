//! How fast kernels without products run: element by element, along rows and columns, moved and in windows.
//!
//! `cargo bench -p tenfold-tests --bench rows -- NAME… --large --c`: in the cache against `ndarray` and a copy of `v0`, and
//! with `--large` on 16 to 256 MB against a copy of the same memory. All sides run on one thread and are timed in turn, and
//! what counts is the median of the ratios of runs behind one another: how fast memory is changes while others use it.
//! `--columns=N` takes rows of N there, in place of 1,024; `--threads=N` measures there alone, all sides on N threads.
//! `--behind-line=N` lets memory begin N words behind a cache line, where large memory of an allocator begins by 4. `--c`
//! compiles through C, `--plain` without default schedules.
#![allow(unsafe_code, reason = "calls what the back end compiled, and streams")]

#[path = "../models/compiled.rs"]
mod compiled;

use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Instant;

use compiled::{Compiled, Memory, compiled, host_target, lowered};
use ndarray::{Array1, ArrayView1, ArrayView2, ArrayViewMut2, Axis, Zip};
use tenfold_core::Backend;
use tenfold_core::pass::PassContext;
use tenfold_ir::Module;

/// A kernel: its name, what it computes of `v0: f32[M, N]` and `v1: f32[N]`, elements read and written per element of
/// `v0`, and the same with `ndarray`.
struct Kernel {
    name: &'static str,
    /// Bindings, the last of which is the result; `M` and `N` are the extents.
    body: &'static str,
    moved: f64,
    peer: fn(ArrayView2<'_, f32>, ArrayView1<'_, f32>, ArrayViewMut2<'_, f32>),
}

const KERNELS: &[Kernel] = &[
    Kernel {
        name: "add_bias_relu",
        body: "v2: f32[M, N] = add(v0, v1)\nv3: f32[M, N] = relu(v2)",
        moved: 2.0,
        peer: relu,
    },
    Kernel {
        name: "add_bias_relu_operators",
        body: "v2: f32[M, N] = add(v0, v1)\nv3: f32[M, N] = relu(v2)",
        moved: 2.0,
        peer: relu_operators,
    },
    Kernel { name: "gelu", body: "v2: f32[M, N] = gelu(v0)", moved: 2.0, peer: gelu },
    Kernel { name: "softmax", body: "v2: f32[M, N] = softmax(v0, axis = 1)", moved: 2.0, peer: softmax },
    Kernel {
        name: "layer_norm",
        body: "v2: f32[M, N] = layer_normalization(v0, v1, v1, axis = 1, epsilon = 1e-5)",
        moved: 2.0,
        peer: layer_norm,
    },
    Kernel {
        name: "rms_norm",
        body: "v2: f32[M, N] = mul(v0, v0)
            v3: f32[M, 1] = mean(v2, axes = [1], keepdims = true)
            v4: f32 = scalar(value = 1e-5)
            v5: f32[M, 1] = add(v3, v4)
            v6: f32[M, 1] = rsqrt(v5)
            v7: f32[M, N] = mul(v0, v6)
            v8: f32[M, N] = mul(v7, v1)",
        moved: 2.0,
        peer: rms_norm,
    },
    Kernel { name: "sum_rows", body: "v2: f32[M] = sum(v0, axes = [1], keepdims = false)", moved: 1.0, peer: sum_rows },
    Kernel { name: "max_rows", body: "v2: f32[M] = max(v0, axes = [1], keepdims = false)", moved: 1.0, peer: max_rows },
    Kernel {
        name: "argmax",
        body: "v2: i64[M] = argmax(v0, axis = 1, keepdims = false) range(0, N)",
        moved: 1.0,
        peer: argmax,
    },
    Kernel {
        name: "sum_columns",
        body: "v2: f32[N] = sum(v0, axes = [0], keepdims = false)",
        moved: 1.0,
        peer: sum_columns,
    },
    Kernel {
        name: "softmax_columns",
        body: "v2: f32[M, N] = softmax(v0, axis = 0)",
        moved: 2.0,
        peer: softmax_columns,
    },
    Kernel { name: "transpose", body: "v2: f32[N, M] = transpose(v0, perm = [1, 0])", moved: 2.0, peer: transpose },
];

fn relu(x: ArrayView2<'_, f32>, b: ArrayView1<'_, f32>, mut y: ArrayViewMut2<'_, f32>) {
    Zip::from(&mut y).and(&x).and_broadcast(&b).for_each(|y, x, b| *y = (x + b).max(0.0));
}

/// As `ndarray` is mostly written: an operator for each step, and a result of its own.
fn relu_operators(x: ArrayView2<'_, f32>, b: ArrayView1<'_, f32>, _: ArrayViewMut2<'_, f32>) {
    std::hint::black_box((&x + &b).mapv_into(|v| v.max(0.0)));
}

/// By the polynomial that Abramowitz and Stegun give as 7.1.26.
fn gelu(x: ArrayView2<'_, f32>, _: ArrayView1<'_, f32>, mut y: ArrayViewMut2<'_, f32>) {
    let erf = |x: f32| {
        let t = 1.0 / (1.0 + 0.327_591_1 * x.abs());
        let p = t * (0.254_829_6 + t * (-0.284_496_74 + t * (1.421_413_7 + t * (-1.453_152 + t * 1.061_405_4))));
        (1.0 - p * (-x * x).exp()).copysign(x)
    };
    Zip::from(&mut y).and(&x).for_each(|y, x| *y = 0.5 * x * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2)));
}

fn softmax_row(x: ArrayView1<'_, f32>, mut y: ndarray::ArrayViewMut1<'_, f32>) {
    let max = x.fold(f32::NEG_INFINITY, |a, b| a.max(*b));
    Zip::from(&mut y).and(&x).for_each(|y, x| *y = (x - max).exp());
    let sum = y.sum();
    y /= sum;
}

fn softmax(x: ArrayView2<'_, f32>, _: ArrayView1<'_, f32>, mut y: ArrayViewMut2<'_, f32>) {
    x.rows().into_iter().zip(y.rows_mut()).for_each(|(x, y)| softmax_row(x, y));
}

fn softmax_columns(x: ArrayView2<'_, f32>, _: ArrayView1<'_, f32>, mut y: ArrayViewMut2<'_, f32>) {
    let max = x.fold_axis(Axis(0), f32::NEG_INFINITY, |a, b| a.max(*b));
    Zip::from(&mut y).and(&x).and_broadcast(&max).for_each(|y, x, m| *y = (x - m).exp());
    let sum = y.sum_axis(Axis(0));
    y /= &sum;
}

fn layer_norm(x: ArrayView2<'_, f32>, b: ArrayView1<'_, f32>, mut y: ArrayViewMut2<'_, f32>) {
    for (x, mut y) in x.rows().into_iter().zip(y.rows_mut()) {
        let n = x.len() as f32;
        let mean = x.sum() / n;
        Zip::from(&mut y).and(&x).for_each(|y, x| *y = x - mean);
        let scale = 1.0 / (y.dot(&y) / n + 1e-5).sqrt();
        Zip::from(&mut y).and(&b).for_each(|y, b| *y = *y * scale * b + b);
    }
}

fn rms_norm(x: ArrayView2<'_, f32>, b: ArrayView1<'_, f32>, mut y: ArrayViewMut2<'_, f32>) {
    for (x, mut y) in x.rows().into_iter().zip(y.rows_mut()) {
        let scale = 1.0 / (x.dot(&x) / x.len() as f32 + 1e-5).sqrt();
        Zip::from(&mut y).and(&x).and(&b).for_each(|y, x, b| *y = x * scale * b);
    }
}

fn sum_rows(x: ArrayView2<'_, f32>, _: ArrayView1<'_, f32>, mut y: ArrayViewMut2<'_, f32>) {
    let sum = x.sum_axis(Axis(1));
    y.iter_mut().zip(&sum).for_each(|(y, s)| *y = *s);
}

fn max_rows(x: ArrayView2<'_, f32>, _: ArrayView1<'_, f32>, mut y: ArrayViewMut2<'_, f32>) {
    let max = x.map_axis(Axis(1), |row| row.fold(f32::NEG_INFINITY, |a, b| a.max(*b)));
    y.iter_mut().zip(&max).for_each(|(y, s)| *y = *s);
}

fn argmax(x: ArrayView2<'_, f32>, _: ArrayView1<'_, f32>, mut y: ArrayViewMut2<'_, f32>) {
    let best = |row: ArrayView1<'_, f32>| {
        let all = row.iter().enumerate();
        all.fold((0, f32::NEG_INFINITY), |best, (n, x)| if *x > best.1 { (n, *x) } else { best }).0 as f32
    };
    let all: Array1<f32> = x.map_axis(Axis(1), best);
    y.iter_mut().zip(&all).for_each(|(y, s)| *y = *s);
}

fn sum_columns(x: ArrayView2<'_, f32>, _: ArrayView1<'_, f32>, mut y: ArrayViewMut2<'_, f32>) {
    let sum = x.sum_axis(Axis(0));
    y.iter_mut().zip(&sum).for_each(|(y, s)| *y = *s);
}

fn transpose(x: ArrayView2<'_, f32>, _: ArrayView1<'_, f32>, mut y: ArrayViewMut2<'_, f32>) {
    let y = y.as_slice_mut().expect("it is dense");
    let mut y = ArrayViewMut2::from_shape((x.ncols(), x.nrows()), y).expect("as many elements");
    y.assign(&x.t());
}

/// The kernel over `m` times `n` elements.
fn module(kernel: &Kernel, m: i64, n: i64) -> Module {
    let dims = |text: &str| {
        let numbers = |word: &str| match word {
            "M" => m.to_string(),
            "N" => n.to_string(),
            other => other.to_string(),
        };
        text.split_inclusive(|c: char| !c.is_alphanumeric())
            .map(|part| {
                let end = part.find(|c: char| !c.is_alphanumeric()).unwrap_or(part.len());
                format!("{}{}", numbers(&part[..end]), &part[end..])
            })
            .collect::<String>()
    };
    let result = kernel.body.rsplit('\n').next().and_then(|line| line.trim().split(':').next()).unwrap_or_default();
    let text = format!(
        "entry @rows\nsource \"rows\"\nrelax @rows phase imported {{\nparam v0: f32[{m}, {n}] = input 0 \"x\"\n\
         param v1: f32[{n}] = input 1 \"b\"\ndataflow {{\n{}\n}}\nreturn {result}\n}}\n",
        dims(kernel.body)
    );
    tenfold_ir::parse_module(&text, &[]).unwrap_or_else(|e| panic!("{text}\n{e:?}"))
}

/// What the command line asks for.
struct Wanted {
    words: Vec<String>,
    large: bool,
    c: bool,
    plain: bool,
    columns: i64,
    threads: usize,
    /// How many words behind a cache line memory begins.
    behind: usize,
    dump: Option<String>,
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let flag = |name: &str| args.iter().any(|a| a == name);
    let dump = args.iter().find_map(|a| a.strip_prefix("--dump=")).map(str::to_string);
    let number = |name: &str| {
        let text = args.iter().find_map(|a| a.strip_prefix(name)?.strip_prefix('='))?;
        Some(text.parse::<usize>().ok().filter(|n| *n > 0).unwrap_or_else(|| panic!("{name} takes a number from 1 on")))
    };
    let (columns, threads) = (number("--columns").unwrap_or(1024) as i64, number("--threads").unwrap_or(1));
    // As `ndarray` and the copies do: a ratio of two threads to one says nothing.
    tenfold::threads::set(threads).expect("a number of threads");
    let words = args.iter().filter(|a| !a.starts_with("--")).cloned().collect();
    let large = flag("--large") || threads > 1;
    let behind = number("--behind-line").unwrap_or(0);
    let wanted = Wanted { words, large, c: flag("--c"), plain: flag("--plain"), columns, threads, behind, dump };
    let chosen = KERNELS.iter().filter(|k| wanted.words.is_empty() || wanted.words.iter().any(|w| k.name == w));
    for kernel in chosen {
        for (m, n) in [(8, 256), (64, 256), (64, 1000), (256, 1024)].into_iter().filter(|_| threads == 1) {
            in_cache(kernel, m, n, &wanted);
        }
        if wanted.large {
            for elements in [4096, 16384, 65536].map(|m| m * 1024) {
                in_memory(kernel, elements / wanted.columns, wanted.columns, &wanted);
            }
        }
    }
}

fn backend(wanted: &Wanted, folder: PathBuf) -> Box<dyn Backend> {
    if wanted.c {
        return Box::new(tenfold_core::c::CBackend { folder, host: host_target().triple, compiler: None });
    }
    let found = tenfold_llvm::find(&tenfold_llvm::Env::from_process());
    let llvm = tenfold_llvm::load(&found).expect("LLVM is there");
    Box::new(tenfold_llvm::LlvmBackend::new(llvm, &found))
}

fn build(module: &Module, wanted: &Wanted, name: &str) -> Compiled {
    let mut context = PassContext::new(host_target());
    context.verify = false;
    if wanted.plain {
        context.disabled = ["ApplyDefaultSchedule".to_string()].into();
    }
    let (low, workspace) = lowered(module, &context);
    if wanted.dump.as_deref() == Some("tir") {
        println!("{}", tenfold_ir::functions_text(&low));
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("rows").join(name);
    compiled(&low, workspace, &*backend(wanted, folder.join("c")), &context.target, &folder)
}

fn filled(compiled: &Compiled, wanted: &Wanted) -> Vec<Memory> {
    let mut memory = compiled.memory_behind_line(wanted.behind);
    for (n, m) in memory.iter_mut().enumerate() {
        m.floats().iter_mut().enumerate().for_each(|(i, x)| *x = ((i * 7 + n * 3) % 17) as f32 / 4.0 - 2.0);
    }
    memory
}

/// Seconds of one run, over a while.
fn seconds(least: f64, f: &mut dyn FnMut()) -> f64 {
    let begin = Instant::now();
    let mut runs = 0;
    while begin.elapsed().as_secs_f64() < least || runs == 0 {
        f();
        runs += 1;
    }
    begin.elapsed().as_secs_f64() / f64::from(runs)
}

/// What each of several sides takes.
struct Took<const N: usize> {
    /// Seconds, the medians of all rounds.
    seconds: [f64; N],
    /// By how much the first side is faster, the medians of what each round says.
    times: [f64; N],
}

/// What each of several sides takes in so many rounds, all timed in turn.
fn in_turn<const N: usize>(rounds: usize, mut sides: [&mut dyn FnMut(); N]) -> Took<N> {
    const LEAST: f64 = 2e-4;
    sides.iter_mut().for_each(|f| f());
    let mut took = [const { Vec::new() }; N];
    for _ in 0..rounds {
        took.iter_mut().zip(&mut sides).for_each(|(took, side)| took.push(seconds(LEAST, &mut **side)));
    }
    let times =
        took.each_ref().map(|side| median(side.iter().zip(&took[0]).map(|(side, first)| side / first).collect()));
    Took { seconds: took.map(median), times }
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn in_cache(kernel: &Kernel, m: i64, n: i64, wanted: &Wanted) {
    let ours = build(&module(kernel, m, n), wanted, kernel.name);
    let mut memory = filled(&ours, wanted);
    let shape = (m as usize, n as usize);
    let x = memory[0].floats().to_vec();
    let bias: Vec<f32> = (0..n).map(|i| (i % 5) as f32 / 4.0).collect();
    let mut y = vec![0f32; x.len()];
    let mut theirs = || {
        let (x, y) = (ArrayView2::from_shape(shape, &x), ArrayViewMut2::from_shape(shape, &mut y));
        (kernel.peer)(x.expect("a view"), ArrayView1::from(&bias), y.expect("a view"));
    };
    let mut copied = vec![0f32; x.len()];
    let mut copy = || std::hint::black_box(&mut copied).copy_from_slice(&x);
    let took = in_turn(40, [&mut || ours.call(&mut memory), &mut theirs, &mut copy]);
    let [a, b, _] = took.seconds;
    let rate = kernel.moved * 4.0 * (m * n) as f64 / a / 1e9;
    println!(
        "{:>23} {m:>5} x {n:>4}: {:>9.2} us {rate:>6.1} GB/s, ndarray {:>9.2} us, {:.2} times, memcpy {:.2} times; object {}",
        kernel.name,
        a * 1e6,
        b * 1e6,
        took.times[1],
        took.times[2],
        ours.object
    );
}

fn in_memory(kernel: &Kernel, m: i64, n: i64, wanted: &Wanted) {
    let ours = build(&module(kernel, m, n), wanted, kernel.name);
    let memory = filled(&ours, wanted);
    let size = (m * n) as usize;
    let memory = RefCell::new(memory);
    // From the first argument to a result as large, as the kernel goes: other memory may lie better or worse.
    let mut spare = Memory::new(4 * size, 0);
    let mut copied = |copy: fn(&[f32], &mut [f32])| {
        let [first, others @ ..] = &mut memory.borrow_mut()[..] else { return };
        let to = others.iter_mut().map(Memory::floats).rfind(|to| to.len() == size);
        on_threads(wanted.threads, first.floats(), to.unwrap_or_else(|| spare.floats()), copy);
    };
    let times = times(wanted.threads);
    let mut ours = || (0..times).for_each(|_| ours.call(&mut memory.borrow_mut()));
    let took = in_turn(21, [&mut ours, &mut || copied(stream)]);
    let [c] = in_turn(21, [&mut || copied(|from, to| to.copy_from_slice(from))]).seconds;
    let [a, b, c] = [took.seconds[0], took.seconds[1], c].map(|took| took / times as f64);
    let moved = kernel.moved / 2.0;
    let rate = |moved: f64, took: f64| moved * 4.0 * size as f64 / took / 1e9;
    println!(
        "{:>23} {m:>5} x {n:>4}: {:>6.1} GB/s, {:.2} of a streaming copy ({:.1}), {:.2} of memcpy ({:.1})",
        kernel.name,
        rate(kernel.moved, a),
        moved * took.times[1],
        rate(2.0, b),
        rate(kernel.moved, a) / rate(2.0, c),
        rate(2.0, c)
    );
}

/// How often a run does what it measures: with threads so often that it does not count how long they take to start.
fn times(threads: usize) -> usize {
    if threads == 1 { 1 } else { 8 }
}

/// Copies, each thread a part of its own.
fn on_threads(threads: usize, from: &[f32], to: &mut [f32], copy: fn(&[f32], &mut [f32])) {
    if threads == 1 {
        return copy(from, to);
    }
    let part = from.len().div_ceil(threads).next_multiple_of(16);
    std::thread::scope(|scope| {
        for (from, to) in from.chunks(part).zip(to.chunks_mut(part)) {
            scope.spawn(move || (0..times(threads)).for_each(|_| copy(from, to)));
        }
    });
}

/// A copy whose stores go past the caches, in vectors of 32 bytes where the machine has them.
#[cfg(target_arch = "x86_64")]
fn stream(from: &[f32], to: &mut [f32]) {
    use std::arch::x86_64::{_mm_loadu_ps, _mm_sfence, _mm_stream_ps};
    assert!(from.len() == to.len() && from.len().is_multiple_of(16) && (to.as_ptr() as usize).is_multiple_of(64));
    if std::arch::is_x86_feature_detected!("avx") {
        // SAFETY: the machine has the feature, and the assertion above holds.
        unsafe { stream_wide(from, to) }
    } else {
        for n in (0..from.len()).step_by(4) {
            // SAFETY: both slices have four elements from `n` on, and what is written begins at a multiple of 16 bytes.
            unsafe { _mm_stream_ps(to.as_mut_ptr().add(n), _mm_loadu_ps(from.as_ptr().add(n))) }
        }
    }
    // SAFETY: it only orders stores.
    unsafe { _mm_sfence() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
fn stream_wide(from: &[f32], to: &mut [f32]) {
    use std::arch::x86_64::{_mm256_loadu_ps, _mm256_stream_ps};
    for n in (0..from.len()).step_by(8) {
        // SAFETY: both slices have 8 elements from `n` on, and what is written begins at a multiple of 32 bytes.
        unsafe { _mm256_stream_ps(to.as_mut_ptr().add(n), _mm256_loadu_ps(from.as_ptr().add(n))) }
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn stream(from: &[f32], to: &mut [f32]) {
    to.copy_from_slice(from);
}
