//! Intervals and rectangles against brute force.

use super::super::{Domain, Fact, IntExpr, IntervalSet, Prover, Range, Sym, touched};
use super::random::Random;
use super::{e, given};

/// All points of a domain with constant ends after `outer` is fixed.
pub(super) fn points(domain: &Domain, outer: &[(&str, i64)]) -> Vec<Vec<(Sym, i64)>> {
    let start: Vec<(Sym, i64)> = outer.iter().map(|(name, value)| (Sym::new(name), *value)).collect();
    domain.loops().iter().fold(vec![start], |all, (sym, range)| {
        let mut next = Vec::new();
        for point in all {
            let env = |it: &Sym| point.iter().find(|(name, _)| name == it).map(|(_, value)| *value);
            let (min, extent) = (range.min.eval(&env).unwrap(), range.extent.eval(&env).unwrap());
            for value in min..min + extent {
                let mut longer = point.clone();
                longer.push((sym.clone(), value));
                next.push(longer);
            }
        }
        next
    })
}

pub(super) fn at(e: &IntExpr, point: &[(Sym, i64)]) -> Option<i64> {
    e.eval(&|it: &Sym| point.iter().find(|(name, _)| name == it).map(|(_, value)| *value))
}

fn domain(random: &mut Random) -> Domain {
    let mut domain = Domain::new();
    domain.push("i", Range::new(random.within(-3, 3), random.within(1, 5)));
    let min = if random.below(3) == 0 { e("i") } else { random.within(-2, 2).into() };
    domain.push("j", Range::new(min, random.within(1, 4)));
    let extent = if random.below(4) == 0 { e("N") } else { random.within(1, 6).into() };
    domain.push("k", Range::upto(extent));
    domain
}

#[test]
fn intervals_hold_every_value() {
    let mut random = Random::new(11);
    let (mut bounded, mut tight, cases) = (0, 0, 1500);
    for _ in 0..cases {
        let domain = domain(&mut random);
        let (expr, _) = random.expr(&["i", "j", "k", "N"], 3);
        let n = random.within(1, 4);
        let prover = given(&["N >= 1", "N <= 4"]);
        let set = IntervalSet::of(&expr, &domain, &prover);
        let IntervalSet::Between { min, max } = &set else { panic!("{expr} is nothing") };
        let end = |it: &Option<IntExpr>| it.as_ref().map(|it| at(it, &[(Sym::new("N"), n)]));
        let (min, max) = (end(min), end(max));
        let (mut least, mut greatest) = (i64::MAX, i64::MIN);
        for point in points(&domain, &[("N", n)]) {
            let Some(value) = at(&expr, &point) else { continue };
            assert!(min.is_none_or(|min| min.unwrap() <= value), "{expr} in {domain:?}: {set}, yet {value}");
            assert!(max.is_none_or(|max| max.unwrap() >= value), "{expr} in {domain:?}: {set}, yet {value}");
            (least, greatest) = (least.min(value), greatest.max(value));
        }
        bounded += i32::from(min.is_some() && max.is_some());
        tight += i32::from(min == Some(Some(least)) && max == Some(Some(greatest)));
    }
    assert!(bounded * 100 >= cases * 55, "{bounded} of {cases} are bounded");
    assert!(tight * 100 >= cases * 40, "{tight} of {cases} are tight");
}

#[test]
fn affine_intervals_are_tight() {
    let mut random = Random::new(12);
    for _ in 0..2000 {
        let ranges = ["i", "j", "k"].map(|name| (name, Range::new(random.within(-3, 3), random.within(1, 5))));
        let domain: Domain = ranges.into_iter().map(|(name, range)| (Sym::new(name), range)).collect();
        let term = |random: &mut Random, name: &str| IntExpr::var(name) * random.within(-4, 4);
        let expr = term(&mut random, "i") + term(&mut random, "j") + term(&mut random, "k") + random.within(-9, 9);
        let values: Vec<i64> = points(&domain, &[]).iter().map(|point| at(&expr, point).unwrap()).collect();
        let set = IntervalSet::of(&expr, &domain, &Prover::new());
        let exact = IntervalSet::between(*values.iter().min().unwrap(), *values.iter().max().unwrap());
        assert_eq!(set, exact, "{expr} in {domain:?}");
    }
}

#[test]
fn unions_and_intersections() {
    let mut random = Random::new(13);
    let prover = given(&["N >= 0"]);
    for _ in 0..2000 {
        let mut end = || if random.below(3) == 0 { e("N") + random.within(-3, 3) } else { random.within(-4, 8).into() };
        let (a, b) = (IntervalSet::between(end(), end()), IntervalSet::between(end(), end()));
        let (union, both) = (a.union(&b, &prover), a.intersect(&b, &prover));
        for n in 0..6 {
            let inside = |set: &IntervalSet, value: i64| match set {
                IntervalSet::Empty => false,
                IntervalSet::Between { min, max } => {
                    let at = |it: &Option<IntExpr>| at(it.as_ref().unwrap(), &[(Sym::new("N"), n)]).unwrap();
                    at(min) <= value && value <= at(max)
                }
            };
            let held = |set: &IntervalSet| (-9..15).filter(|value| inside(set, *value)).collect::<Vec<_>>();
            for value in -9..15 {
                let (x, y) = (inside(&a, value), inside(&b, value));
                assert_eq!(inside(&both, value), x && y, "{a} and {b} at {value}: {both}");
                assert!(!(x || y) || inside(&union, value), "{a} or {b} at {value}: {union}");
            }
            if a.covers(&b, &prover) {
                assert!(held(&b).iter().all(|value| inside(&a, *value)), "{a} covers {b}");
            }
            if a.disjoint(&b, &prover) {
                assert!(held(&b).iter().all(|value| !inside(&a, *value)), "{a} and {b} are disjoint");
            }
        }
    }
}

#[test]
fn conditions_narrow() {
    let domain = Domain::boxed([("io", e("floordiv(N + 3, 4)")), ("ii", e("4"))]);
    let mut prover = given(&["N >= 1", "4*io + ii < N"]);
    assert_eq!(IntervalSet::of(&e("4*io + ii"), &domain, &prover), IntervalSet::between(0, e("N - 1")));
    assert_eq!(IntervalSet::of(&e("8*io + 2*ii + 1"), &domain, &prover), IntervalSet::between(1, e("2*N - 1")));
    prover.assume(Fact::parse("ii < 2").unwrap());
    assert_eq!(IntervalSet::of(&e("ii + 5"), &domain, &prover), IntervalSet::between(5, 6));
}

#[test]
fn rectangles() {
    let domain = Domain::boxed([("i", e("8")), ("j", e("M"))]);
    let prover = given(&["M >= 1"]);
    let rect = touched(&[e("8*t + i"), e("floordiv(j, 4)"), e("floormod(i, 4)")], &domain, &prover);
    assert_eq!(rect.to_string(), "[8*t, 8*t + 7] x [0, floordiv(M + 3, 4) - 1] x [0, 3]");
    let other = touched(&[e("8*t + i + 2"), e("0"), e("1")], &domain, &prover);
    assert_eq!(rect.union(&other, &prover).to_string(), "[8*t, 8*t + 9] x [0, floordiv(M + 3, 4) - 1] x [0, 3]");
    assert_eq!(rect.intersect(&other, &prover).to_string(), "[8*t + 2, 8*t + 7] x [0, 0] x [1, 1]");
    let mut loops = Domain::new();
    loops.push("t", Range::upto(e("T")));
    let whole = rect.relax(&loops, &given(&["T >= 1", "M >= 1"]));
    assert_eq!(whole.extent().unwrap()[0], e("8*T"));
    assert!(rect.covers(&touched(&[e("8*t + 3"), e("0"), e("2")], &Domain::new(), &prover), &prover));
}
