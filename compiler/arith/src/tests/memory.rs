//! What was asked before changes no answer: random questions in another order and under other facts in between.

use super::super::{ConstIntBound, Fact, IntExpr, ModularSet, Prover, Sym, remembering};
use super::random::Random;

/// Facts, and what is asked under them.
struct Case {
    facts: Vec<Fact>,
    goals: Vec<IntExpr>,
}

/// All that may be asked of an expression.
type Answers = ([bool; 3], IntExpr, (Option<IntExpr>, Option<IntExpr>), ConstIntBound, ModularSet);

fn answers(prover: &Prover, e: &IntExpr) -> Answers {
    let proofs = [prover.prove_ge0(e), prover.prove_ne(e, &0.into()), prover.prove_divisible(e, 2)];
    (proofs, prover.simplify(e), prover.bounds(e), prover.const_int_bound(e), prover.modular_set(e))
}

/// A few facts that the cases share in part, so that questions are repeated under the same and under other facts.
fn cases(random: &mut Random) -> Vec<Case> {
    let names = ["x", "y", "z"];
    let goals: Vec<IntExpr> = (0..4).map(|_| random.expr(&names, 3).0).collect();
    let stated: Vec<Fact> = (0..3).map(|_| Fact::NonNegative(random.expr(&names, 2).0)).collect();
    (0..4).map(|n| Case { facts: stated[..n].to_vec(), goals: goals.clone() }).collect()
}

fn given(case: &Case) -> Prover {
    let mut prover = Prover::new();
    prover.assume_range(&Sym::new("x"), &0.into(), &8.into());
    prover.assume_range(&Sym::new("y"), &0.into(), &IntExpr::var("z"));
    case.facts.iter().for_each(|fact| prover.assume(fact.clone()));
    prover
}

#[test]
fn answers_do_not_depend_on_what_was_asked() {
    let mut random = Random::new(7);
    for _ in 0..25 {
        let cases = cases(&mut random);
        let all = || cases.iter().flat_map(|case| case.goals.iter().map(move |e| (case, e)));
        let alone: Vec<Answers> = all().map(|(case, e)| answers(&given(case), e)).collect();
        remembering(|| {
            let together: Vec<Answers> = all().map(|(case, e)| answers(&given(case), e)).collect();
            assert_eq!(together, alone);
            let backwards = all().zip(&alone).collect::<Vec<_>>();
            for ((case, e), before) in backwards.into_iter().rev() {
                assert_eq!(answers(&given(case), e), *before, "{e} under {:?}", case.facts);
            }
        });
    }
}

#[test]
fn facts_that_are_forgotten_prove_nothing() {
    let (mut prover, x) = (Prover::new(), IntExpr::var("x"));
    for _ in 0..2 {
        assert!(!prover.prove_ge0(&x));
        prover.push_scope();
        prover.assume_ge(&x, &1.into());
        assert!(prover.prove_ge0(&x));
        prover.pop_scope();
    }
}
