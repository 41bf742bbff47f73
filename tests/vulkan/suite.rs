//! The suite of operators on Vulkan, called by the runtime as a user's program calls it; both validators take every
//! shader. `TENFOLD_ALL=1` takes the whole suite, `TENFOLD_FAMILY=gather` one family of it; else a sample is taken that has
//! every operator over every dtype.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use tenfold::Vulkan;
use tenfold_core::pass::PassContext;
use tenfold_core::spirv;
use tenfold_ir::tir::FuncKind;
use tenfold_tests::tools;

use crate::case::Case;
use crate::cells::{self, Cell};
use crate::families::FAMILIES;
use crate::interpret;
use crate::{programs, validators};

/// Which share of the cells of f32 and of i32 may be refused, in hundredths.
const REFUSED: usize = 5;

/// The cases that have an operator over a dtype that none before them has over it.
fn sample(all: Vec<Case>, known: &mut BTreeSet<Cell>) -> Vec<Case> {
    let is_new = |case: &Case| {
        let cells = cells::operators(case);
        let new = !cells.is_subset(known);
        known.extend(cells);
        new
    };
    all.into_iter().filter(is_new).collect()
}

/// What became of cells.
#[derive(Default)]
struct Outcome {
    passed: Vec<Cell>,
    refused: Vec<(Cell, String)>,
    wrong: Vec<String>,
}

/// Calls a case; one that is refused is called again a result at a time, so that what is refused is known.
fn call(gpu: &Vulkan, context: &PassContext, case: &Case, out: &mut Outcome) {
    let count = cells::count(case);
    match once(gpu, context, case) {
        Ok(None) => out.passed.extend((0..count).map(|n| cells::result(case, n))),
        Ok(Some(why)) if count <= 1 => out.refused.push((cells::result(case, 0), format!("{}: {why}", case.name))),
        Ok(Some(_)) => (0..count).for_each(|n| call(gpu, context, &cells::only(case, n), out)),
        Err(why) => out.wrong.push(format!("{}: {why}", case.name)),
    }
}

/// Calls a case once; gives why it is refused.
fn once(gpu: &Vulkan, context: &PassContext, case: &Case) -> Result<Option<String>, String> {
    let prepared = interpret::prepare_with(cells::packed(case), context)?;
    for func in prepared.module.prims().filter(|f| f.kind == FuncKind::Device) {
        // What is refused has no shader, and is told by the call.
        if let Ok(kernel) = spirv::kernel(&prepared.module, func) {
            validators::valid(&kernel).map_err(|why| format!("{}: {why}", kernel.name))?;
        }
    }
    programs::call(gpu, &prepared)
}

/// Takes cases on as many threads as there are processors, each with a device of its own.
fn run(cases: &[(&str, Case)], times: bool) -> Result<BTreeMap<String, Outcome>, String> {
    let next = AtomicUsize::new(0);
    let worker = || -> Result<BTreeMap<String, Outcome>, String> {
        let gpu = Vulkan::new().map_err(|why| why.to_string())?;
        let mut context = PassContext::new(tenfold_core::Device::Spirv.target());
        context.set_text("NarrowDataType.everywhere", "true").map_err(|why| why.message)?;
        let mut all: BTreeMap<String, Outcome> = BTreeMap::new();
        while let Some((family, case)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
            let start = Instant::now();
            call(&gpu, &context, case, all.entry(family.to_string()).or_default());
            if times {
                println!("{family} {} {:.2} s", case.name, start.elapsed().as_secs_f64());
            }
        }
        Ok(all)
    };
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let parts: Vec<_> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        handles.into_iter().map(|handle| handle.join().unwrap_or_else(|_| Err("a thread panicked".into()))).collect()
    });
    let mut all: BTreeMap<String, Outcome> = BTreeMap::new();
    for part in parts {
        for (family, outcome) in part? {
            let whole = all.entry(family).or_default();
            whole.passed.extend(outcome.passed);
            whole.refused.extend(outcome.refused);
            whole.wrong.extend(outcome.wrong);
        }
    }
    Ok(all)
}

/// How many cells of a dtype passed, and how many were refused.
fn tally(outcome: &Outcome) -> BTreeMap<&str, (usize, usize)> {
    let mut by: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    outcome.passed.iter().for_each(|(_, dtype)| by.entry(dtype).or_default().0 += 1);
    outcome.refused.iter().for_each(|((_, dtype), _)| by.entry(dtype).or_default().1 += 1);
    by
}

#[test]
fn suite() {
    if let Err(why) = Vulkan::new() {
        return tools::skip(&format!("a Vulkan device ({why})"), "tests/vulkan.sh installs one");
    }
    let (all, only) = (std::env::var_os("TENFOLD_ALL").is_some(), std::env::var("TENFOLD_FAMILY").ok());
    let mut known = BTreeSet::new();
    let mut cases = Vec::new();
    for (family, of) in FAMILIES.iter().filter(|(family, _)| only.as_deref().is_none_or(|o| o == *family)) {
        let here = if all { of() } else { sample(of(), &mut known) };
        cases.extend(here.into_iter().map(|case| (*family, case)));
    }
    let outcomes = run(&cases, all).expect("a device");
    let mut whole: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for (family, outcome) in &outcomes {
        for (dtype, (passed, refused)) in tally(outcome) {
            println!("{family:9} {dtype:11} {passed:4} passed {refused:4} refused");
            let sum = whole.entry(dtype).or_default();
            *sum = (sum.0 + passed, sum.1 + refused);
        }
        outcome.refused.iter().for_each(|((op, dtype), why)| println!("refused: {op} of {dtype}: {why}"));
    }
    println!("{} cases: {whole:?}", cases.len());
    let wrong: Vec<&String> = outcomes.values().flat_map(|outcome| &outcome.wrong).collect();
    assert!(wrong.is_empty(), "{} wrong: {wrong:#?}", wrong.len());
    for dtype in ["f32", "i32"] {
        let (passed, refused) = whole.get(dtype).copied().unwrap_or_default();
        assert!(100 * refused <= REFUSED * (passed + refused), "{refused} of {passed} of {dtype} are refused");
    }
}
