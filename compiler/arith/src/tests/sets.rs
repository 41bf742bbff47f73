//! Modular sets and constant bounds against brute force.

use super::super::{ConstIntBound, ModularSet};
use super::random::Random;
use super::{e, given};

#[test]
fn modular_sets_hold_every_value() {
    let mut random = Random::new(31);
    let mut telling = 0;
    for _ in 0..3000 {
        let c = *random.pick(&[2, 3, 4, 6, 8]);
        let rest = random.below(c);
        let facts = [format!("x % {c} == 0"), format!("floormod(y, {c}) == {rest}")];
        let prover = given(&[&facts[0], &facts[1]]);
        let (expr, _) = random.expr(&["x", "y", "z"], 3);
        let set = prover.modular_set(&expr);
        telling += i32::from(set != ModularSet::ALL);
        for _ in 0..12 {
            let (x, y, z) = (c * random.within(-4, 4), c * random.within(-4, 4) + rest, random.within(-9, 9));
            let env = |sym: &super::super::Sym| Some([x, y, z]["xyz".find(sym.as_str())?]);
            if let Some(value) = expr.eval(&env) {
                assert!(set.contains(value), "{expr} where {facts:?} is {set}, yet {value}");
            }
        }
    }
    assert!(telling > 1000, "{telling}");
}

#[test]
fn modular_arithmetic() {
    let set = ModularSet::new;
    assert_eq!(set(6, 1).plus(set(4, 3)), set(2, 0));
    assert_eq!(set(6, 0).times(set(4, 2)), set(12, 0));
    assert_eq!(set(6, 1).union(set(6, 3)), set(2, 1));
    assert_eq!(set(4, 1).meet(set(6, 3)), set(12, 9));
    assert_eq!(ModularSet::point(7).union(ModularSet::point(17)), set(10, 7));
    assert!(set(4, 2).excludes_zero() && !set(4, 0).excludes_zero());
    assert!(!ModularSet::point(i64::MIN).is_multiple_of(3));
    assert_eq!(set(i128::MIN, 5), ModularSet::ALL);
}

#[test]
fn constant_bounds_hold_every_value() {
    let mut random = Random::new(32);
    let mut found = 0;
    for _ in 0..400 {
        let (low, high) = (random.within(-4, 2), random.within(3, 6));
        let facts = [format!("x >= {low}"), format!("x <= {high}"), "y >= x".to_string(), format!("y < {high} + 4")];
        let facts: Vec<&str> = facts.iter().map(String::as_str).collect();
        let (expr, _) = random.expr(&["x", "y"], 2);
        let bound = given(&facts).const_int_bound(&expr);
        found += i32::from(bound.count().is_some());
        for x in low..=high {
            for y in x..high + 4 {
                let env = |sym: &super::super::Sym| Some(if sym.as_str() == "x" { x } else { y });
                if let Some(value) = expr.eval(&env) {
                    assert!(bound.contains(value), "{expr} where {facts:?} is in {bound}, yet {value}");
                }
            }
        }
    }
    assert!(found > 200, "{found}");
}

#[test]
fn widths() {
    let bound = given(&["i >= -128", "i <= 127"]).const_int_bound(&e("i"));
    assert_eq!(bound, ConstIntBound { min: Some(-128), max: Some(127) });
    assert!(bound.fits_signed(8) && !bound.fits_signed(7));
    assert!(!ConstIntBound::default().fits_signed(64));
}
