//! Tests of expressions and of the prover.

mod accesses;
mod expressions;
mod intervals;
mod iter_maps;
mod memory;
mod points;
mod programs;
mod random;
mod rules;
mod sets;
mod simplify;

use super::{Fact, IntExpr, Prover};

fn e(text: &str) -> IntExpr {
    IntExpr::parse(text).expect(text)
}

fn given(facts: &[&str]) -> Prover {
    let mut prover = Prover::new();
    for fact in facts {
        prover.assume(Fact::parse(fact).expect(fact));
    }
    prover
}

#[track_caller]
fn proven(facts: &[&str], goal: &str) {
    assert!(given(facts).prove(&Fact::parse(goal).expect(goal)), "not proven: {facts:?} |- {goal}");
}

#[track_caller]
fn unproven(facts: &[&str], goal: &str) {
    assert!(!given(facts).prove(&Fact::parse(goal).expect(goal)), "proven: {facts:?} |- {goal}");
}
