//! Optional passes in random orders, several times or not at all, between the passes that lower: a function compiles and
//! is right by the interpreter, or a pass refuses; nothing panics and no law breaks.
//!
//! `TENFOLD_ORDERS=2000` sets how many orders are tried, `TENFOLD_SEED` where they begin; one that fails is printed as
//! the list of its passes.

#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/case.rs"]
mod case;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/data.rs"]
mod data;
#[path = "../random/graph/mod.rs"]
#[allow(dead_code, reason = "shared with the random tests, which make graphs of layers too")]
mod graph;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/interpret.rs"]
mod interpret;
#[path = "../conformance/random.rs"]
mod random;
#[path = "../conformance/shape.rs"]
mod shape;
#[path = "../conformance/state.rs"]
mod state;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use case::Case;
use data::Random;
use interpret::Trouble;
use tenfold_core::pass::{DumpFiles, Pass, PassContext};
use tenfold_core::{ErrorKind, PASSES, PIPELINE, Target};

/// A short run; `TENFOLD_ORDERS` makes it longer.
const ORDERS: u64 = 200;

/// Settings of passes that do nothing without.
const SETTINGS: [(&str, &str); 3] =
    [("ConvertLayout.data", "NHWC"), ("ConvertLayout.data", "NCHW4c"), ("NarrowDataType.everywhere", "true")];

/// Graphs of the long random test that are among the cases.
const GRAPHS: u64 = 120;

/// The passes that lower, in their order, and optional ones between them: most near their place, some anywhere.
fn order(random: &mut Random) -> Vec<Pass> {
    let mut order: Vec<Pass> = PIPELINE.iter().filter(|p| p.lowering).cloned().collect();
    let optional: Vec<&Pass> = PASSES.iter().filter(|p| !p.lowering).collect();
    for _ in 0..random.below(2 * optional.len()) {
        let pass = optional[random.below(optional.len())];
        let (first, last) = near(&order, pass);
        let at =
            if random.below(8) == 0 { random.below(order.len() + 1) } else { first + random.below(last + 1 - first) };
        order.insert(at, pass.clone());
    }
    order
}

/// The first and the last index at which a pass stands among those of its phase.
fn near(order: &[Pass], pass: &Pass) -> (usize, usize) {
    let first = order.iter().position(|p| p.lowering && p.phase >= pass.phase).unwrap_or(order.len());
    let last = order.iter().position(|p| p.lowering && p.phase > pass.phase).unwrap_or(order.len());
    (first, last.max(first))
}

fn names(order: &[Pass]) -> String {
    order.iter().map(|p| p.info.name).collect::<Vec<_>>().join(" ")
}

/// What became of an order.
enum Outcome {
    Right,
    Refused(String),
    Bad(String),
}

fn attempt(case: &Case, order: &[Pass], context: &PassContext) -> Outcome {
    match catch_unwind(AssertUnwindSafe(|| interpret::through(case, order, context))) {
        Ok(Ok(())) => Outcome::Right,
        Ok(Err(Trouble::Refused(pass, e))) if e.kind != ErrorKind::Internal => {
            Outcome::Refused(format!("{pass}: {}", e.message))
        }
        Ok(Err(Trouble::Refused(pass, e))) => Outcome::Bad(format!("{pass}: {}", e.message)),
        Ok(Err(Trouble::Wrong(text))) => Outcome::Bad(format!("wrong: {text}")),
        Err(_) => Outcome::Bad("a panic".into()),
    }
}

/// The order without the optional passes that it is bad without.
fn shrunk(case: &Case, mut order: Vec<Pass>, context: &PassContext) -> Vec<Pass> {
    for at in (0..order.len()).rev() {
        let mut less = order.clone();
        if !less.remove(at).lowering && matches!(attempt(case, &less, context), Outcome::Bad(_)) {
            order = less;
        }
    }
    order
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

/// A graph of every kind of operator and region, with its first arguments.
fn grown(seed: u64) -> Case {
    let name = format!("graph_{seed}");
    let made = graph::Made::OfAny;
    let graph::Grown { module, settings } = graph::grow(made, &name, seed, &graph::steps(made, seed), 4);
    let first = settings.into_iter().next().expect("a graph is called at least once");
    Case { name, module, syms: first.syms, given: first.given, wanted: first.wanted }
}

fn cases() -> Vec<Case> {
    let mut cases = random::cases();
    cases.extend((0..GRAPHS).map(grown));
    cases.extend(state::cases());
    cases.extend(shape::cases().into_iter().step_by(7));
    cases
}

#[test]
fn every_order_is_right_or_refused() {
    let cases = cases();
    let target = Target::from_triple("x86_64-unknown-linux-gnu", &["avx2"]);
    let seed = number("TENFOLD_SEED", 1);
    let count = number("TENFOLD_ORDERS", ORDERS);
    let (mut right, mut refused) = (0, BTreeMap::<String, usize>::new());
    let mut bad = Vec::new();
    for n in 0..count {
        let mut random = Random::new(seed + n);
        let order = order(&mut random);
        let case = &cases[random.below(cases.len())];
        let mut context = PassContext::new(target.clone());
        context.verify = true;
        if let Some(folder) = std::env::var_os("TENFOLD_DUMP") {
            context.watch(Box::new(DumpFiles::new(folder.into())));
        }
        for (key, value) in SETTINGS {
            if random.below(2) == 0 {
                context.set_text(key, value).expect("the setting is known");
            }
        }
        match attempt(case, &order, &context) {
            Outcome::Right => right += 1,
            Outcome::Refused(why) => *refused.entry(why).or_default() += 1,
            Outcome::Bad(why) => {
                let least = names(&shrunk(case, order, &context));
                bad.push(format!("seed {}: `{}`: {why}\n    {least}", seed + n, case.name));
            }
        }
    }
    let no: usize = refused.values().sum();
    println!("{count} orders: {right} right, {no} refused, {} bad", bad.len());
    refused.iter().for_each(|(why, n)| println!("  {n:>5} {why}"));
    assert!(bad.is_empty(), "{} of {count}\n{}", bad.len(), bad.join("\n"));
    assert!(right as u64 * 2 >= count, "only {right} of {count} orders compile");
}
