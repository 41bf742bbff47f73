//! How long whole models and matrix products take, compiled for this machine, and how long compiling takes.
//!
//! `cargo bench -p tenfold-tests --bench models -- NAME…`; `-- gemm` times products of matrices alone.
#![allow(unsafe_code, reason = "calls what the back end compiled")]

#[path = "../models/compiled.rs"]
mod compiled;
#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../models/graphs.rs"]
mod graphs;

use std::path::PathBuf;
use std::time::Instant;

use compiled::{Compiled, Memory, compiled, host_target, lowered};
use tenfold_core::Backend;
use tenfold_core::pass::PassContext;
use tenfold_ir::Module;

/// Rows, columns and terms of products.
const SHAPES: [[i64; 3]; 12] = [
    [8, 8, 8],
    [16, 16, 16],
    [32, 32, 32],
    [64, 64, 64],
    [128, 128, 128],
    [256, 256, 256],
    [512, 512, 512],
    [33, 33, 33],
    [37, 53, 71],
    [17, 200, 333],
    [127, 127, 127],
    [13, 512, 512],
];

/// A product against the same by `matrixmultiply`, both timed in turn.
fn gemm([m, n, k]: [i64; 3]) {
    let ours = build(&graphs::gemm(m, n, k));
    let mut memory = filled(&ours);
    let (m, n, k) = (m as usize, n as usize, k as usize);
    let [a, b] = [m * k, k * n].map(|len| vec![0.5f32; len]);
    let mut c = vec![0f32; m * n];
    let mut theirs = || {
        let (rows, columns) = (1, n as isize);
        // SAFETY: the slices have as many elements as the extents and distances say.
        unsafe {
            let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
            matrixmultiply::sgemm(m, k, n, 1.0, a, k as isize, rows, b, columns, rows, 0.0, c, columns, rows);
        }
    };
    let mut pairs: Vec<[f64; 2]> =
        (0..9).map(|_| [seconds(&mut || ours.call(&mut memory)), seconds(&mut theirs)]).collect();
    let mut middle = |side: usize| {
        pairs.sort_by(|a, b| a[side].total_cmp(&b[side]));
        pairs[pairs.len() / 2][side]
    };
    let [ours, theirs] = [middle(0), middle(1)];
    let rate = |took: f64| 2.0 * (m * n * k) as f64 / took / 1e9;
    println!(
        "gemm {m:>4} x {n:>4} x {k:>4}: {:>6.1} GFLOP/s, matrixmultiply {:>6.1}, {:.2} times",
        rate(ours),
        rate(theirs),
        theirs / ours
    );
}

/// Seconds of one run, over a few thousandths of a second.
fn seconds(f: &mut dyn FnMut()) -> f64 {
    f();
    let begin = Instant::now();
    let mut runs = 0;
    while begin.elapsed().as_secs_f64() < 5e-3 || runs == 0 {
        (0..8).for_each(|_| f());
        runs += 8;
    }
    begin.elapsed().as_secs_f64() / f64::from(runs)
}

/// Channels in and out, side of the window, step, side of the image.
const CONVS: [(i64, i64, i64, i64, i64); 9] = [
    (3, 64, 7, 2, 224),
    (64, 64, 3, 1, 56),
    (64, 256, 1, 1, 56),
    (256, 128, 1, 1, 56),
    (128, 128, 3, 2, 56),
    (128, 128, 3, 1, 28),
    (256, 256, 3, 1, 14),
    (512, 512, 3, 1, 7),
    (512, 2048, 1, 1, 7),
];

/// Channels, step, side of the image.
const DEPTHWISE: [(i64, i64, i64); 4] = [(32, 1, 112), (96, 2, 112), (384, 1, 14), (960, 1, 7)];

fn llvm() -> Box<dyn Backend> {
    let found = tenfold_llvm::find(&tenfold_llvm::Env::from_process());
    let llvm = tenfold_llvm::load(&found).expect("LLVM is there");
    Box::new(tenfold_llvm::LlvmBackend::new(llvm, &found))
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let wants = |name: &str| args.is_empty() || args.iter().any(|a| a == name);
    if wants("gemm") {
        SHAPES.iter().for_each(|shape| gemm(*shape));
    }
    if wants("conv") {
        for (ci, co, k, stride, px) in CONVS {
            let took = run(&graphs::conv(ci, co, k, stride, px, 1));
            let flops = (2 * ci * co * k * k * (px / stride) * (px / stride)) as f64;
            println!("conv {ci}->{co} {k}x{k}/{stride} {px}^2: {:.3} ms {:.1} GFLOP/s", took * 1e3, flops / took / 1e9);
        }
        for (c, stride, px) in DEPTHWISE {
            let took = run(&graphs::conv(c, c, 3, stride, px, c));
            let flops = (2 * c * 9 * (px / stride) * (px / stride)) as f64;
            println!("depthwise {c} /{stride} {px}^2: {:.3} ms {:.1} GFLOP/s", took * 1e3, flops / took / 1e9);
        }
    }
    type Make = fn() -> Module;
    let models: [(&str, Make); 4] = [
        ("mlp", graphs::mlp),
        ("minilm", || graphs::minilm(128, 384, 12, 1536, 6)),
        ("mobilenetv2", || graphs::mobilenetv2(1, 224)),
        ("resnet50", || graphs::resnet50(1, 224)),
    ];
    for (name, make) in models {
        if let Some(at) = args.iter().position(|a| a == "dump").and_then(|n| args.get(n + 1)) {
            if wants(name) {
                dump(make(), at);
            }
            continue;
        }
        if wants(name) && args.iter().any(|a| a == "kernels") {
            kernels(&make());
        } else if wants(name) {
            println!("{name}: {:.3} ms", run(&make()) * 1e3);
        }
    }
}

/// Seconds of a call, the median.
fn run(module: &Module) -> f64 {
    time(&build(module))
}

/// The module as code.
fn build(module: &Module) -> Compiled {
    let mut context = PassContext::new(host_target());
    context.verify = false;
    let begin = Instant::now();
    let (low, workspace) = lowered(module, &context);
    let passes = begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bench").join(&module.entry);
    let compiled = compiled(&low, workspace, &*llvm(), &context.target, &folder);
    let code = begin.elapsed().as_secs_f64();
    println!("  {}: passes {passes:.2} s, code {code:.2} s, object {} bytes", module.entry, compiled.object);
    compiled
}

/// Memory for every argument, with small numbers in it.
fn filled(compiled: &Compiled) -> Vec<Memory> {
    let mut memory = compiled.memory();
    for (n, m) in memory.iter_mut().enumerate() {
        for (i, x) in m.floats().iter_mut().enumerate() {
            *x = ((i * 7 + n * 3) % 17) as f32 / 64.0 - 0.125;
        }
    }
    memory
}

/// Every kernel of a model by itself.
fn kernels(module: &Module) {
    let mut context = PassContext::new(host_target());
    context.verify = false;
    let (low, _) = lowered(module, &context);
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bench").join("kernels");
    let names = low.functions.keys().filter(|name| **name != low.entry && !name.contains("lower"));
    for name in names {
        let mut alone = low.clone();
        alone.entry.clone_from(name);
        alone.functions.remove(&low.entry);
        let Some(tenfold_ir::Function::Prim(func)) = alone.functions.get_mut(name) else { continue };
        func.exported = true;
        func.name = "kernel".into();
        let func = func.clone();
        alone.functions.clear();
        alone.functions.insert("kernel".into(), tenfold_ir::Function::Prim(func));
        alone.entry = "kernel".into();
        let compiled = compiled(&alone, 0, &*llvm(), &context.target, &folder.join(name));
        println!("{:>10.1} us {name}", time(&compiled) * 1e6);
    }
}

fn time(compiled: &Compiled) -> f64 {
    let mut memory = filled(compiled);
    compiled.call(&mut memory);
    let begin = Instant::now();
    compiled.call(&mut memory);
    let once = begin.elapsed().as_secs_f64().max(1e-8);
    let inner = ((2e-4 / once) as usize).clamp(1, 20_000);
    let outer = ((0.5 / (once * inner as f64)) as usize).clamp(3, 101);
    let mut times: Vec<f64> = (0..outer)
        .map(|_| {
            let begin = Instant::now();
            (0..inner).for_each(|_| compiled.call(&mut memory));
            begin.elapsed().as_secs_f64() / inner as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn dump(mut module: Module, at: &str) {
    let mut context = PassContext::new(host_target());
    context.verify = false;
    let n = tenfold_core::PIPELINE.iter().position(|p| p.info.name == at).expect("a pass");
    tenfold_core::pass::run(&tenfold_core::PIPELINE[..n], &mut module, &context).expect("it runs");
    println!("{}", tenfold_ir::functions_text(&module));
}
