//! Simplification and proofs against brute force over boxes.

use super::super::{Fact, IntExpr, Prover, Sym};
use super::random::Random;

#[test]
fn simplification_keeps_values_and_proofs_hold() {
    let mut random = Random::new(2);
    let names = ["x", "y"];
    let mut proofs = 0;
    for _ in 0..250 {
        let mut prover = Prover::new();
        let ranges = [0, 1].map(|_| {
            let low = random.within(-6, 6);
            (low, low + random.below(9))
        });
        for (name, (low, high)) in names.iter().zip(ranges) {
            prover.assume_range(&Sym::new(name), &low.into(), &(high + 1).into());
        }
        if random.below(2) == 0 {
            let (fact, _) = random.expr(&names, 2);
            prover.assume(match random.below(5) {
                0 => Fact::NonNegative(fact),
                1 => Fact::NonZero(fact),
                2 => Fact::Zero(fact),
                3 => Fact::Divisible(fact, random.within(1, 6)),
                _ => Fact::Or(vec![Fact::NonNegative(fact), Fact::ge(&IntExpr::var("x"), &IntExpr::var("y"))]),
            });
        }
        let (expr, _) = random.expr(&names, 3);
        let simple = prover.simplify(&expr);
        let nonnegative = prover.prove_ge0(&expr);
        let nonzero = prover.prove_ne(&expr, &0.into());
        let even = prover.prove_divisible(&expr, 2);
        let (low, high) = prover.const_bounds(&expr);
        proofs += usize::from(nonnegative);
        for x in ranges[0].0..=ranges[0].1 {
            for y in ranges[1].0..=ranges[1].1 {
                let env = |sym: &Sym| Some(if sym.as_str() == "x" { x } else { y });
                if prover.facts().iter().any(|fact| fact.eval(&env) != Some(true)) {
                    continue;
                }
                let Some(value) = expr.eval(&env) else { continue };
                let context = format!("{expr} -> {simple} at {x} {y} under {:?}", prover.facts());
                assert_eq!(simple.eval(&env), Some(value), "{context}");
                assert!(!nonnegative || value >= 0, "{context}");
                assert!(!nonzero || value != 0, "{context}");
                assert!(!even || value % 2 == 0, "{context}");
                assert!(low.is_none_or(|it| it <= value) && high.is_none_or(|it| it >= value), "{context}");
            }
        }
    }
    assert!(proofs > 50, "only {proofs} proofs");
}
