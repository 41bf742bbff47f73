//! Points at which all facts hold, and what is false at them.

use super::super::{Fact, Sym};
use super::random::Random;
use super::{e, given};

#[test]
fn what_no_facts_bound_is_refuted() {
    let turns = ["N >= 0", "M >= 0", "K >= 0", "i >= 0", "i < N", "part >= 0", "part < 4"];
    for goal in [
        "2147483647 - i",
        "2147483647 - 4*part - i",
        "2147483647 - floordiv(K*M*N, 4)",
        "2147483647 - 128*min(32768, max(1, floordiv(N + 127, 128))) - N",
        "2147483648 + i - N",
        "M - N",
        "i - 1",
        "100 - other",
    ] {
        assert!(given(&turns).refutes_ge0(&e(goal)), "{goal}");
    }
    let aligned = ["N >= 1", "N % 128 == 0", "i >= 0", "i < floordiv(N, 128)", "i % 2 == 1 || i == 0"];
    assert!(given(&aligned).refutes_ge0(&e("2147483647 - i")));
}

#[test]
fn what_follows_is_not_refuted() {
    let facts = ["N >= 1", "N <= 64", "M >= 1", "i >= 0", "i < N"];
    for goal in ["2147483647 - 2*floormod(i - 1, N)", "N - i - 1", "M*N - i - 1", "2*floormod(i - 1, N)"] {
        assert!(!given(&facts).refutes_ge0(&e(goal)), "{goal}");
        assert!(given(&facts).prove_ge0(&e(goal)), "{goal}");
    }
    // Facts that exclude each other prove everything.
    assert!(!given(&["N >= 1", "N <= 0"]).refutes_ge0(&e("N - 7")));
    assert!(!given(&["2*x == 2*y + 1"]).refutes_ge0(&e("-1")));
}

#[test]
fn all_facts_hold_at_each_point() {
    let mut random = Random::new(31);
    let (names, mut points) = (["x", "y", "z"], 0);
    for _ in 0..400 {
        let mut prover = given(&["x >= 0", "y >= 0"]);
        let end = random.within(1, 9);
        prover.assume_range(&Sym::new("z"), &0.into(), &(e("x + y") + end));
        let (fact, _) = random.expr(&names, 2);
        prover.assume(match random.below(3) {
            0 => Fact::NonNegative(fact),
            1 => Fact::NonZero(fact),
            _ => Fact::Divisible(fact, random.within(1, 6)),
        });
        for point in prover.points().iter() {
            let value = |sym: &Sym| point.get(sym).copied();
            assert!(
                prover.facts().iter().all(|fact| fact.wide(&value) == Some(true)),
                "{point:?}: {:?}",
                prover.facts()
            );
            points += 1;
        }
    }
    assert!(points > 1000, "only {points} points");
}

/// Ranges of dtypes say what 64 bits do not hold: the distance from their least number.
#[test]
fn a_sum_too_large_for_64_bits_has_a_value_at_a_point() {
    let mut prover = given(&["x <= 9223372036854775807", "x <= 4"]);
    prover.assume_ge(&e("x"), &i64::MIN.into());
    assert!(!prover.points().is_empty(), "{:?}", prover.facts());
    assert!(prover.refutes_ge0(&e("x - 5")) && !prover.refutes_ge0(&e("4 - x")));
}
