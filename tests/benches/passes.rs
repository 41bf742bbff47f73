//! How long the passes alone take on graphs of 10 to 10,000 operators, and how much memory: no front end, no code.
//!
//! `cargo bench -p tenfold-tests --bench passes`; behind `--`, words that a graph's name must hold one of, `--table` for
//! the time of every pass, `--models` for that of standard models instead. Ten times the operators may take fourteen
//! times as long: where it prints `over`, a pass walks over everything inside a walk over everything. Each graph is
//! measured in a process of its own, whose peak of memory is its alone.

use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Instant;

use tenfold_core::pass::{self, PassContext, PassInfo, PassInstrument};
use tenfold_core::{CompileError, PIPELINE, Target};
use tenfold_ir::Module;

#[path = "graphs/mod.rs"]
mod graphs;
use graphs::{GRAPHS, graph};
#[allow(dead_code, reason = "the tests of models use more of it")]
#[path = "../models/graphs.rs"]
mod models;

const SIZES: [usize; 4] = [10, 100, 1_000, 10_000];
/// What ten times the operators may cost.
const MOST: f64 = 14.0;
/// Seconds below which the time of one pass says nothing.
const NOISE: f64 = 0.01;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, name, ops] = &args[..]
        && flag == "--one"
    {
        return one(name, ops.parse().expect("a number of operators"));
    }
    if args.iter().any(|a| a == "--models") {
        model("ResNet-50", &models::resnet50(1, 224));
        return model("MiniLM", &models::minilm(128, 384, 12, 1536, 6));
    }
    let words: Vec<&String> = args.iter().filter(|a| !a.starts_with("--")).collect();
    let table = args.iter().any(|a| a == "--table");
    let chosen = GRAPHS.iter().filter(|(name, _)| words.is_empty() || words.iter().any(|w| name.contains(*w)));
    let over = chosen.filter(|(name, _)| !grows_well(name, table)).count();
    println!("{over} graphs over");
}

/// Prints what each pass takes of a model.
fn model(name: &str, module: &Module) {
    let found = run(module);
    println!("{name}: {:.0} ms", found.total * 1e3);
    for (pass, time) in found.passes.iter().filter(|(_, time)| *time > NOISE / 2.0) {
        println!("{:>10.1} ms {:>5.1} %  {pass}", time * 1e3, 100.0 * time / found.total);
    }
}

/// Measures one graph at every size, prints what was found, and says whether the bar is met.
fn grows_well(name: &str, table: bool) -> bool {
    let all = SIZES.map(|ops| measure(name, ops));
    for (ops, it) in SIZES.iter().zip(&all) {
        println!("{name:>18} {ops:>6} operators {:>12.3} ms, peak {:>5} MiB", it.total * 1e3, it.peak_kib / 1024);
    }
    let [.., small, large] = &all;
    for (n, (pass, time)) in large.passes.iter().enumerate().filter(|(_, (_, time))| *time > NOISE) {
        let growth = time / small.passes[n].1;
        if table || growth > MOST {
            let share = 100.0 * time / large.total;
            println!("{:>28} {:>10.3} ms {share:>5.1} %, growth {growth:>5.1}  {pass}", "", time * 1e3);
        }
    }
    let growth = large.total / small.total;
    let verdict = if growth <= MOST { "ok" } else { "over" };
    println!("{name:>18} t(10,000) / t(1,000) = {growth:.1}, at most {MOST}: {verdict}");
    growth <= MOST
}

/// What one process found.
#[derive(Default)]
struct Measured {
    total: f64,
    peak_kib: u64,
    passes: Vec<(String, f64)>,
}

/// Measures one graph of one size in a process of its own.
fn measure(name: &str, ops: usize) -> Measured {
    let exe = std::env::current_exe().expect("the path of this program");
    let out = Command::new(exe).args(["--one", name, &ops.to_string()]).output().expect("this program starts");
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success(), "{name} of {ops} operators: {}{}", text, String::from_utf8_lossy(&out.stderr));
    let mut found = Measured::default();
    for (word, value) in text.lines().filter_map(|line| line.split_once(' ')) {
        match word {
            "total" => found.total = value.parse().expect("seconds"),
            "peak" => found.peak_kib = value.parse().expect("a size"),
            pass => found.passes.push((pass.to_string(), value.parse().expect("seconds"))),
        }
    }
    found
}

/// The mean of some runs, printed for [`measure`].
fn one(name: &str, ops: usize) {
    let (_, grow) = GRAPHS.iter().find(|(it, _)| *it == name).expect("a graph of this name");
    let module = graph(ops, *grow);
    // The system counts in ticks: what is short is run until they even out.
    let runs = (20_000 / ops).clamp(1, 200);
    let all: Vec<Measured> = (0..runs).map(|_| run(&module)).collect();
    let mean = |of: &dyn Fn(&Measured) -> f64| all.iter().map(of).sum::<f64>() / runs as f64;
    println!("total {}\npeak {}", mean(&|it| it.total), peak_kib());
    for (n, (pass, _)) in all[0].passes.iter().enumerate() {
        println!("{pass} {}", mean(&|it| it.passes[n].1));
    }
}

fn run(module: &Module) -> Measured {
    let watch = Watch::default();
    let passes = watch.0.clone();
    let mut context = PassContext::new(Target::from_triple("x86_64-unknown-linux-gnu", &["avx2", "fma"]));
    context.verify = false;
    context.watch(Box::new(watch));
    let mut module = module.clone();
    let begin = seconds();
    pass::run(PIPELINE, &mut module, &context).unwrap_or_else(|e| panic!("{e:?}"));
    let total = seconds() - begin;
    let passes = passes.lock().map(|all| all.clone()).unwrap_or_default();
    Measured { total, passes, ..Measured::default() }
}

/// What each pass took, in order; before its end, when it began.
#[derive(Default)]
struct Watch(Arc<Mutex<Vec<(String, f64)>>>);

impl PassInstrument for Watch {
    fn run_before_pass(&mut self, pass: &PassInfo, _: &Module) -> Result<(), CompileError> {
        self.0.lock().expect("one thread").push((pass.name.to_string(), seconds()));
        Ok(())
    }

    fn run_after_pass(&mut self, _: &PassInfo, _: &Module) -> Result<(), CompileError> {
        if let Some((_, time)) = self.0.lock().expect("one thread").last_mut() {
            *time = seconds() - *time;
        }
        Ok(())
    }
}

/// Seconds that this thread has run, which do not grow while others run in its place; of a clock where the system does
/// not say.
fn seconds() -> f64 {
    static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let own = text.split(' ').next().and_then(|it| it.parse::<f64>().ok());
    own.map_or_else(|| BEGIN.elapsed().as_secs_f64(), |nanoseconds| nanoseconds * 1e-9)
}

/// The most memory that this process had at once; 0 where the system does not say.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|it| it.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
