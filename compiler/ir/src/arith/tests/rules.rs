//! Every rule of simplification is true and fires.

use super::super::rules::RULES;
use super::super::{Fact, IntExpr, Prover, Sym};
use super::{e, given};

#[test]
fn rules_are_true_and_fire() {
    for rule in RULES {
        let (from, to) = (e(rule.from), e(rule.to));
        assert_eq!(given(rule.when).simplify(&from), to, "{}", rule.name);
        let when: Vec<_> = rule.when.iter().map(|it| Fact::parse(it).expect(it)).collect();
        for point in 0..21 * 21 * 21 {
            let (x, y, c) = (point % 21 - 10, point / 21 % 21 - 10, point / 441 - 10);
            let env = |sym: &Sym| {
                Some(match sym.as_str() {
                    "x" => x,
                    "y" => y,
                    _ => c,
                })
            };
            if when.iter().all(|it| it.eval(&env) == Some(true)) {
                assert_eq!(from.eval(&env), to.eval(&env), "{} at {x} {y} {c}", rule.name);
            }
        }
    }
}

#[test]
fn a_remainder_lies_below_its_divisor_though_weaker_facts_follow() {
    let mut prover = Prover::new();
    let (i, n) = (IntExpr::var("i"), IntExpr::var("N"));
    prover.assume_ge(&n, &1.into());
    prover.assume_ge(&n, &0.into());
    prover.assume_range(&Sym::new("loop"), &0.into(), &(&n + 6));
    prover.assume_range(&Sym::new("i"), &0.into(), &(&n + 6));
    prover.assume_eq(&i, &IntExpr::var("loop"));
    let it = (&i - 3).floor_mod(&n);
    assert!(prover.prove_ge0(&it));
    assert!(prover.prove_lt(&it, &n));
}
