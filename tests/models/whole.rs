//! Whole models at their real sizes, through LLVM for this machine, against NumPy.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tenfold::threads::{self, Executor};
use tenfold_core::pass::PassContext;
use tenfold_ir::{Module, relax};

use crate::compiled::{Compiled, Memory, compiled, host_target, lowered};
use crate::{graphs, native};

/// Model, its largest output, and outputs evenly spread from the first to the last: what `reference.py` prints.
const EXPECTED: [(&str, f32, [f32; 8]); 4] = [
    ("mlp", 0.586341, [-0.285448, 0.212007, 0.473496, -0.282598, 0.586341, 0.410355, 0.345672, -0.277845]),
    ("mobilenetv2", 8.22168, [-0.697077, -2.04206, -0.733919, -1.73026, -3.8367, 1.59765, 0.0307221, -0.158343]),
    ("resnet50", 2087.85, [1317.12, -189.229, -532.291, -853.398, 765.006, -207.262, -298.753, -1479.78]),
    ("minilm", 0.615181, [0.0290941, 0.272298, -0.026841, 0.0330659, 0.199593, 0.333948, 0.216201, 0.0325785]),
];

/// Parameter `number`, as `reference.py` makes it.
fn values(number: usize, shape: &[i64], into: &mut [f32]) {
    let terms = match shape {
        [_, rest @ ..] if shape.len() == 4 => rest.iter().product::<i64>(),
        _ => shape.iter().copied().max().unwrap_or(1),
    };
    let spread = if shape.len() == 4 { 24.0 } else { 12.0 };
    for (i, x) in into.iter_mut().enumerate() {
        let mut bits = (i as u32).wrapping_mul(2_654_435_761).wrapping_add((number * 40503 + 12345) as u32);
        bits = (bits ^ (bits >> 15)).wrapping_mul(2_246_822_519);
        let unit = f64::from((bits ^ (bits >> 13)) >> 8) / f64::from(1 << 24) - 0.5;
        let value = match (number, shape.len()) {
            (0, _) => unit * 2.0,
            (_, 1) => unit * 0.2 + 0.1,
            (_, _) => unit * (spread / terms as f64).sqrt(),
        };
        *x = value as f32;
    }
}

/// The model compiled, and the milliseconds that the passes and the back end took.
fn build(module: &Module) -> Option<(Compiled, [f64; 2])> {
    let backend = native::backends().into_iter().find(|b| b.name() == "llvm")?;
    let mut context = PassContext::new(host_target());
    context.verify = false;
    let begin = std::time::Instant::now();
    let (low, workspace) = lowered(module, &context);
    let passes = begin.elapsed().as_secs_f64() * 1e3;
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("whole").join(&module.entry);
    let compiled = compiled(&low, workspace, &*backend, &context.target, &folder);
    Some((compiled, [passes, begin.elapsed().as_secs_f64() * 1e3 - passes]))
}

fn check(module: Module) {
    let func = module.relax(&module.entry).expect("a graph").clone();
    let Some((compiled, [passes, code])) = build(&module) else { return };
    let mut memory = compiled.memory();
    for (n, param) in func.params.iter().enumerate() {
        let relax::Type::Tensor(ty) = &func.values[param.value.0 as usize].ty else { continue };
        let shape: Vec<i64> = ty.shape.iter().map(|d| d.as_const().expect("an extent")).collect();
        values(n, &shape, memory[n].floats());
    }
    let mut times: Vec<f64> = (0..5)
        .map(|_| {
            let begin = std::time::Instant::now();
            compiled.call(&mut memory);
            begin.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("{}: {:.3} ms a call, compiled in {passes:.0} + {code:.0} ms", module.entry, times[2]);
    let (_, largest, expected) = EXPECTED.iter().find(|(name, ..)| *name == module.entry).expect("a row");
    let result = func.params.len();
    let found = memory[result].floats();
    for (n, e) in expected.iter().enumerate() {
        let f = found[n * (found.len() - 1) / (expected.len() - 1)];
        // What f32 loses over some fifty layers.
        assert!((f - e).abs() <= 1e-4 * largest, "{}: sample {n} is {f}, NumPy gives {e}", module.entry);
    }
    same_bits(&module.entry, &compiled, &mut memory, result);
    let found = memory[result].floats();
    let most = found.iter().fold(0f32, |m, x| m.max(x.abs()));
    assert!((most - largest).abs() <= 1e-4 * largest, "{}: the largest is {most}, not {largest}", module.entry);
}

/// Threads of a test.
struct Team {
    threads: usize,
    asked: AtomicUsize,
}

impl Executor for Team {
    fn threads(&self) -> usize {
        self.threads
    }

    fn run(&self, parts: usize, task: &(dyn Fn(usize) + Sync)) {
        self.asked.fetch_add(1, Ordering::Relaxed);
        thread::scope(|scope| {
            (1..parts).for_each(|part| drop(scope.spawn(move || task(part))));
            task(0);
        });
    }
}

/// However many threads run a model, its results are the same to the last bit.
fn same_bits(name: &str, compiled: &Compiled, memory: &mut [Memory], result: usize) {
    let mut bits = || {
        memory[result].floats().fill(f32::NAN);
        compiled.call(memory);
        memory[result].floats().iter().map(|x| x.to_bits()).collect::<Vec<u32>>()
    };
    let alone = threads::limit(1, &mut bits);
    for count in [2, 3, 7] {
        let team = Team { threads: count, asked: AtomicUsize::new(0) };
        assert!(threads::with(&team, &mut bits) == alone, "{name} gives other bits on {count} threads");
        let asked = team.asked.into_inner();
        println!("{name}: {asked} loops on {count} threads");
        // The small one may be worth none.
        assert!(asked > 0 || name == "mlp", "no loop of {name} runs on threads");
    }
}

#[test]
fn mlp() {
    check(graphs::mlp());
}

#[test]
fn mobilenetv2() {
    check(graphs::mobilenetv2(1, 224));
}

#[test]
fn resnet50() {
    check(graphs::resnet50(1, 224));
}

#[test]
fn minilm() {
    check(graphs::minilm(128, 384, 12, 1536, 6));
}
