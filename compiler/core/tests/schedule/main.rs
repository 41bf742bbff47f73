//! Random schedules leave what a function computes as it was.

mod check;
mod defaults;
mod intrinsics;
mod kernels;
mod kernels_buffers;
#[allow(dead_code, reason = "the filetests use more of it")]
#[path = "../../../../tests/filetests/meaning.rs"]
mod meaning;
mod random;
mod random_buffers;

use check::Case;
use random::{Known, Rng, args};
use tenfold_core::schedule::{PRIMITIVES, Schedule, Trace};
use tenfold_ir::tir;

fn cases() -> Vec<Case> {
    let all: Vec<Case> = kernels::kernels().iter().map(Case::new).collect();
    assert!(all.len() >= 25, "only {} kernels", all.len());
    all
}

/// How many times more than in a usual run: `TENFOLD_SCHEDULES=10`.
fn more() -> usize {
    std::env::var("TENFOLD_SCHEDULES").ok().and_then(|v| v.parse().ok()).unwrap_or(1)
}

/// Where a run begins: other numbers with `TENFOLD_SEED`.
fn seed(usual: u64) -> u64 {
    std::env::var("TENFOLD_SEED").ok().and_then(|v| v.parse().ok()).unwrap_or(usual)
}

/// Applies a random step; whether it was accepted, or nothing where no arguments could be made.
fn step(schedule: &mut Schedule<'_>, name: &str, rng: &mut Rng) -> Option<bool> {
    let known = Known::of(schedule);
    let func = schedule.func();
    let others = |rng: &mut Rng| {
        random_buffers::args(name, &func, &known, rng).or_else(|| intrinsics::args(name, &func, &known, rng))
    };
    let args = args(name, &known, rng).or_else(|| others(rng))?;
    let done = schedule.apply(name, args);
    let broken = done.as_ref().err().map(ToString::to_string).filter(|error| error.contains("report this bug"));
    assert_eq!(broken, None, "a primitive refuses nothing where it should\n{}", func.name);
    Some(done.is_ok())
}

/// The shortest trace that still fails, written beside the build.
fn shrink(case: &Case, trace: &Trace) -> String {
    let fails = |trace: &Trace| {
        let mut schedule = Schedule::new(&case.module, case.func.clone());
        trace.replay(&mut schedule).is_ok() && case.difference(&schedule.finish()).is_some()
    };
    let mut best = trace.simplified();
    let mut n = 0;
    while n < best.steps.len() {
        let mut less = best.clone();
        less.steps.remove(n);
        if fails(&less) { best = less } else { n += 1 }
    }
    let steps: String = best.to_string().lines().map(|l| format!("; step {l}\n")).collect();
    let intrinsics = if steps.contains("tensorize") { intrinsics::text() } else { String::new() };
    let text = format!("; test schedule\n{steps}{}{intrinsics}", case.text);
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("schedule-{}.tir", case.name));
    std::fs::write(&file, &text).expect("the file can be written");
    format!("{}\n{text}", file.display())
}

/// Fails where a function computes something else. Whether threads that share memory wait for each other is seen when
/// the function runs: such a race must be reported, and is a refusal.
fn check(case: &Case, schedule: &Schedule<'_>) -> bool {
    let func = schedule.clone().finish();
    if let Some(difference) = case.difference(&func) {
        if difference.contains(": a race on") && difference.contains("threadIdx") {
            return false;
        }
        let short = shrink(case, schedule.trace());
        panic!("{}: {difference}\n{}\n{short}", case.name, tir::print(&case.module, &func));
    }
    true
}

/// Queries take everything but what does not exist, so that they are not counted.
fn both_ways(name: &str) -> bool {
    !name.starts_with("get_")
}

/// A kernel: mostly one that suits the primitive, if it asks for something particular.
fn case_for<'c>(primitive: &str, among: &'c [Case], all: &'c [Case], rng: &mut Rng) -> &'c Case {
    if let Some(home) = kernels_buffers::home(primitive)
        && rng.below(10) < 7
    {
        let suited: Vec<&Case> = all.iter().filter(|case| case.name.starts_with(home)).collect();
        return suited[rng.below(suited.len())];
    }
    &among[rng.below(among.len())]
}

#[test]
fn each_primitive_alone() {
    let cases = cases();
    let mut missing = Vec::new();
    for (at, primitive) in PRIMITIVES.iter().enumerate() {
        let (mut taken, mut refused) = (0, 0);
        let mut rng = Rng(seed(77) + at as u64);
        let mut tries = 0;
        while taken + refused < 200 * more() && tries < 2000 * more() {
            tries += 1;
            // Some take neighbours or elementwise blocks alone, which the first kernels have.
            let among = match primitive.name {
                "reverse_compute_inline" | "compute_inline" => 14,
                "merge" => 4,
                _ => cases.len(),
            };
            let case = case_for(primitive.name, &cases[..among], &cases, &mut rng);
            let mut schedule = Schedule::new(&case.module, case.func.clone());
            for _ in 0..rng.below(3) {
                let warm = ["split", "fuse", "reorder", "parallel", "compute_at"][rng.below(5)];
                step(&mut schedule, warm, &mut rng);
            }
            // What takes nearly every loop meets loops that have a kind more often.
            if ["unroll", "fuse", "tile"].contains(&primitive.name) {
                for _ in 0..rng.below(4) {
                    step(&mut schedule, "unroll", &mut rng);
                }
            }
            if primitive.name == "unannotate" {
                for _ in 0..3 {
                    step(&mut schedule, "annotate", &mut rng);
                }
            }
            if primitive.name == "tensorize" {
                intrinsics::prepare(&mut schedule, &mut rng);
            }
            let before = tir::print(&case.module, &schedule.func());
            match step(&mut schedule, primitive.name, &mut rng) {
                Some(true) => {
                    let right = !both_ways(primitive.name) || check(case, &schedule);
                    taken += usize::from(right);
                    refused += usize::from(!right);
                }
                Some(false) => {
                    refused += 1;
                    assert_eq!(before, tir::print(&case.module, &schedule.func()), "a refusal changed the function");
                }
                None => {}
            }
        }
        println!("{}: {taken} taken, {refused} refused", primitive.name);
        let all = taken + refused;
        if all < 200 || (both_ways(primitive.name) && (taken * 5 < all || refused * 5 < all)) {
            missing.push(format!("{}: {taken} taken, {refused} refused", primitive.name));
        }
    }
    assert!(missing.is_empty(), "too few of either kind: {missing:#?}");
}

#[test]
fn sequences_and_their_traces() {
    let cases = cases();
    let mut rng = Rng(seed(4242));
    let (mut steps, mut longest, mut raced) = (0, 0, 0);
    for n in 0..200 * more() {
        let case = &cases[n % cases.len()];
        let mut schedule = Schedule::new(&case.module, case.func.clone());
        for _ in 0..4 + rng.below(8) {
            let name = PRIMITIVES[rng.below(PRIMITIVES.len())].name;
            step(&mut schedule, name, &mut rng);
        }
        raced += usize::from(!check(case, &schedule));
        let applied = schedule.trace().steps.iter().filter(|step| both_ways(&step.primitive)).count();
        (steps, longest) = (steps + applied, longest.max(applied));
        let text = schedule.trace().to_string();
        let trace = Trace::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(trace.to_string(), text);
        for trace in [trace.clone(), trace.simplified()] {
            let mut again = Schedule::new(&case.module, case.func.clone());
            trace.replay(&mut again).unwrap_or_else(|e| panic!("{}: {e}\n{text}", case.name));
            let hash = |func| tir::structural_hash(&case.module, &func);
            assert_eq!(hash(again.finish()), hash(schedule.clone().finish()), "{}\n{text}", case.name);
        }
    }
    let count = 200 * more();
    let mean = steps as f64 / count as f64;
    println!(
        "{count} sequences on {} kernels: {mean:.1} steps each, {longest} at most, {raced} with races",
        cases.len()
    );
    assert!(mean >= 2.0, "sequences of {mean:.1} steps say little");
}

#[test]
fn hostile_traces_are_refused() {
    for text in ["s.split(l9, [2]);", "s.fuse([[[[[[[[[[[[[[[[[[[[", "s.", "let [l0 = s.x();"] {
        assert!(Trace::parse(text).is_err(), "{text}");
    }
}

#[test]
fn every_primitive_is_documented() {
    let page = include_str!("../../../docs/schedules.md");
    let missing: Vec<&str> =
        PRIMITIVES.iter().map(|p| p.name).filter(|name| !page.contains(&format!("### `{name}("))).collect();
    assert!(missing.is_empty(), "compiler/docs/schedules.md lacks {missing:?}");
}
