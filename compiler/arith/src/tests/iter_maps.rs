//! Iteration maps against brute force.

use super::super::{
    Domain, Fact, IntExpr, IterMap, IterMapError, IterMapLevel, Prover, Sym, detect_iter_map, iter_map_simplify,
    subspace_divide,
};
use super::intervals::{at, points};
use super::random::Random;
use super::{e, given};
use std::collections::BTreeSet;

/// A loop nest that was transformed, and the axes over its loops.
struct Nest {
    loops: Vec<(String, i64)>,
    axes: Vec<IntExpr>,
    guards: Vec<Fact>,
    made: usize,
}

impl Nest {
    fn new(extents: &[i64]) -> Self {
        let loops: Vec<_> = extents.iter().enumerate().map(|(at, extent)| (format!("a{at}"), *extent)).collect();
        let axes = loops.iter().map(|(name, _)| IntExpr::var(name.as_str())).collect();
        Self { loops, axes, guards: Vec::new(), made: 0 }
    }

    fn fresh(&mut self) -> String {
        self.made += 1;
        format!("v{}", self.made)
    }

    fn replace(&mut self, name: &str, by: &IntExpr) {
        let map = |sym: &Sym| (sym.as_str() == name).then(|| by.clone());
        self.axes.iter_mut().for_each(|axis| *axis = axis.substitute(&map));
        self.guards.iter_mut().for_each(|guard| *guard = guard.substitute(&map));
    }

    fn split(&mut self, at: usize, factor: i64) {
        let (name, extent) = self.loops.remove(at);
        let (outer, inner) = (self.fresh(), self.fresh());
        let value = IntExpr::var(outer.as_str()) * factor + IntExpr::var(inner.as_str());
        self.replace(&name, &value);
        if extent % factor != 0 {
            self.guards.push(Fact::lt(&value, &extent.into()));
        }
        self.loops.insert(at, (inner, factor));
        self.loops.insert(at, (outer, (extent + factor - 1) / factor));
    }

    fn fuse(&mut self, at: usize) {
        let (outer, _) = self.loops[at].clone();
        let (inner, extent) = self.loops.remove(at + 1);
        let fused = self.fresh();
        let value = IntExpr::var(fused.as_str());
        self.replace(&outer, &value.floor_div(&extent.into()));
        self.replace(&inner, &value.floor_mod(&extent.into()));
        self.loops[at] = (fused, self.loops[at].1 * extent);
    }

    fn step(&mut self, random: &mut Random) {
        let at = random.below(self.loops.len() as i64) as usize;
        match random.below(3) {
            0 => {
                let extent = self.loops[at].1;
                let factors: Vec<i64> = (1..=extent).filter(|f| extent % f == 0).collect();
                self.split(at, *random.pick(&factors));
            }
            1 if at + 1 < self.loops.len() => self.fuse(at),
            _ => {
                let other = random.below(self.loops.len() as i64) as usize;
                self.loops.swap(at, other);
            }
        }
    }

    fn domain(&self) -> Domain {
        Domain::boxed(self.loops.iter().map(|(name, extent)| (name.as_str(), (*extent).into())))
    }

    fn detect(&self, level: IterMapLevel) -> Result<IterMap, IterMapError> {
        detect_iter_map(&self.axes, &self.domain(), &self.guards, level, &Prover::new())
    }
}

/// The points at which all guards hold.
fn running(domain: &Domain, guards: &[Fact]) -> Vec<Vec<(Sym, i64)>> {
    let mut all = points(domain, &[]);
    all.retain(|point| {
        let env = |sym: &Sym| point.iter().find(|(name, _)| name == sym).map(|(_, value)| *value);
        guards.iter().all(|guard| guard.eval(&env) == Some(true))
    });
    all
}

/// Holds what a map claims against all of its points.
fn verify(map: &IterMap, indices: &[IntExpr], domain: &Domain, guards: &[Fact], level: IterMapLevel) {
    let running = running(domain, guards);
    let mut reached = BTreeSet::new();
    for point in &running {
        let values: Vec<i64> = indices.iter().map(|index| at(index, point).unwrap()).collect();
        let found: Vec<i64> = map.indices.iter().map(|sum| at(&sum.to_expr(), point).unwrap()).collect();
        assert_eq!(values, found, "{indices:?} in {domain:?} where {guards:?} at {point:?}: {map:?}");
        if level == IterMapLevel::Bijective {
            let outputs: Vec<IntExpr> = values.iter().map(|value| (*value).into()).collect();
            for (sym, value) in map.inverse(&outputs) {
                let expected = point.iter().find(|(name, _)| *name == sym).unwrap().1;
                assert_eq!(
                    value.as_const(),
                    Some(expected),
                    "{sym} of {indices:?} at {point:?} in {domain:?}: {map:?}"
                );
            }
        }
        reached.insert(values);
    }
    if running.is_empty() || level == IterMapLevel::Affine {
        return;
    }
    let inside = |values: &Vec<i64>| {
        let offset = values.iter().zip(&map.indices).map(|(value, sum)| value - sum.base.as_const().unwrap());
        offset.zip(&map.extents).all(|(value, extent)| value >= 0 && value < extent.as_const().unwrap())
    };
    let size: i64 = map.extents.iter().map(|extent| extent.as_const().unwrap()).product();
    assert!(reached.iter().all(inside), "{indices:?} in {domain:?} where {guards:?}: {:?}", map.extents);
    assert_eq!(reached.len() as i64, size, "{indices:?} in {domain:?} where {guards:?}: {:?}", map.extents);
    if level == IterMapLevel::Bijective {
        assert_eq!(reached.len(), running.len(), "{indices:?} in {domain:?} where {guards:?}");
    }
}

#[test]
fn transformed_nests_are_bijective() {
    let mut random = Random::new(21);
    for _ in 0..400 {
        let extents: Vec<i64> = (0..random.within(1, 3)).map(|_| *random.pick(&[2, 3, 4, 6, 8])).collect();
        let mut nest = Nest::new(&extents);
        (0..random.within(1, 6)).for_each(|_| nest.step(&mut random));
        let (domain, axes) = (nest.domain(), &nest.axes);
        let map =
            nest.detect(IterMapLevel::Bijective).unwrap_or_else(|error| panic!("{axes:?} in {domain:?}: {error}"));
        let found: Vec<i64> = map.extents.iter().map(|it| it.as_const().unwrap()).collect();
        assert_eq!(found, extents, "{axes:?}");
        verify(&map, axes, &domain, &[], IterMapLevel::Bijective);
    }
}

#[test]
fn guarded_splits_are_bijective() {
    let mut random = Random::new(22);
    for _ in 0..400 {
        let extents = [random.within(2, 9), random.within(2, 6)];
        let mut nest = Nest::new(&extents);
        nest.split(0, random.within(2, 4));
        nest.split(2, random.within(2, 4));
        (0..random.below(3)).for_each(|_| {
            let (a, b) = (random.below(4) as usize, random.below(4) as usize);
            nest.loops.swap(a, b);
        });
        let map = nest.detect(IterMapLevel::Bijective).unwrap();
        verify(&map, &nest.axes, &nest.domain(), &nest.guards, IterMapLevel::Bijective);
    }
}

/// A sum of parts of loops, or of sums of them.
fn index(random: &mut Random, loops: &[(&'static str, i64)], depth: u32) -> IntExpr {
    let mut sum = IntExpr::from(if random.below(5) == 0 { random.within(-2, 4) } else { 0 });
    for _ in 0..random.within(1, 2) {
        let whole = if depth == 0 { IntExpr::var(random.pick(loops).0) } else { index(random, loops, depth - 1) };
        let by = IntExpr::from(random.within(1, 6));
        let part = match random.below(4) {
            0 => whole.floor_div(&by),
            1 => whole.floor_mod(&by),
            2 => whole.floor_div(&by).floor_mod(&random.within(1, 4).into()),
            _ => whole,
        };
        sum = sum + part * *random.pick(&[1, 1, 2, 3, 4, 6, -1]);
    }
    sum
}

#[test]
fn what_is_found_is_so() {
    let mut random = Random::new(23);
    let mut found = [0; 3];
    for _ in 0..3000 {
        let loops = [("i", random.within(1, 6)), ("j", random.within(1, 4)), ("k", random.within(1, 3))];
        let domain = Domain::boxed(loops.map(|(name, extent)| (name, IntExpr::from(extent))));
        let indices: Vec<IntExpr> = (0..random.within(1, 3))
            .map(|_| {
                let depth = random.below(2) as u32;
                index(&mut random, &loops, depth)
            })
            .collect();
        let mut guards = Vec::new();
        if random.below(3) == 0 {
            let whole = index(&mut random, &loops, 0);
            guards.push(Fact::lt(&whole, &random.within(1, 12).into()));
        }
        let levels = [IterMapLevel::Affine, IterMapLevel::Surjective, IterMapLevel::Bijective];
        for (at, level) in levels.into_iter().enumerate() {
            let map = detect_iter_map(&indices, &domain, &guards, level, &Prover::new());
            if let Ok(map) = map {
                found[at] += 1;
                verify(&map, &indices, &domain, &guards, level);
            }
        }
        let simpler = iter_map_simplify(&indices, &domain, &guards, &Prover::new());
        for point in running(&domain, &guards) {
            for (a, b) in indices.iter().zip(&simpler) {
                assert_eq!(at(a, &point), at(b, &point), "{a} became {b} in {domain:?} where {guards:?}");
            }
        }
    }
    assert!(found[0] > 700 && found[1] > 50 && found[2] > 10, "{found:?}");
}

#[test]
fn subspaces_add_up() {
    let mut random = Random::new(24);
    let mut divided = 0;
    for _ in 0..400 {
        let mut nest = Nest::new(&[*random.pick(&[2, 4, 6]), *random.pick(&[2, 3, 4])]);
        (0..random.within(1, 5)).for_each(|_| nest.step(&mut random));
        let (domain, level) = (nest.domain(), IterMapLevel::Bijective);
        let inner: Vec<Sym> = nest.loops.iter().skip(nest.loops.len() / 2).map(|(name, _)| Sym::new(name)).collect();
        let Ok(parts) = subspace_divide(&nest.axes, &domain, &inner, &[], level, &Prover::new()) else { continue };
        divided += 1;
        for (at_axis, axis) in nest.axes.iter().enumerate() {
            let (outer, low) = (parts.outer[at_axis].to_expr(), parts.inner[at_axis].to_expr());
            assert!(inner.iter().all(|sym| !outer.vars().contains(sym)), "{outer}");
            assert!(low.vars().iter().all(|sym| inner.contains(sym)), "{low}");
            let whole = outer * &parts.inner_extents[at_axis] + &low;
            for point in points(&domain, &[]) {
                assert_eq!(at(axis, &point), at(&whole, &point), "{axis} in {domain:?}: {whole}");
            }
        }
    }
    assert!(divided > 130, "{divided}");
}

#[test]
fn symbolic_extents() {
    let prover = given(&["M >= 1", "N >= 1", "K >= 1"]);
    let level = IterMapLevel::Bijective;
    let domain = Domain::boxed([("ij", e("N*M")), ("k", e("K"))]);
    let indices = [e("floordiv(ij, M)"), e("floormod(ij, M)*K + k")];
    let map = detect_iter_map(&indices, &domain, &[], level, &prover).unwrap();
    assert_eq!(map.extents, [e("N"), e("M*K")]);
    let back = map.inverse(&[e("x"), e("y")]);
    assert_eq!(back[0].1, e("x*M + floordiv(y, K)"));
    let flat = [e("ij*K + k")];
    assert_eq!(detect_iter_map(&flat, &domain, &[], level, &prover).unwrap().extents, [e("N*M*K")]);
    let swapped = [e("k*N*M + ij")];
    assert!(detect_iter_map(&swapped, &domain, &[], level, &prover).is_ok());
}

#[test]
fn refusals_say_why() {
    let domain = Domain::boxed([("i", e("8")), ("j", e("4"))]);
    let refused = |indices: &[&str], guards: &[&str]| {
        let indices: Vec<IntExpr> = indices.iter().map(|it| e(it)).collect();
        let guards: Vec<Fact> = guards.iter().map(|it| Fact::parse(it).unwrap()).collect();
        let map = detect_iter_map(&indices, &domain, &guards, IterMapLevel::Bijective, &Prover::new());
        map.unwrap_err().to_string()
    };
    assert_eq!(refused(&["i*j"], &[]), "`i*j` is no sum of quotients and remainders of loop variables");
    assert_eq!(refused(&["floordiv(i, n)", "j"], &[]), "the divisor `n` is not known to be positive");
    assert_eq!(refused(&["i + j"], &[]), "the terms of `i + j` leave gaps or overlap");
    assert_eq!(refused(&["i", "i"], &[]), "`i` is used more than once");
    assert_eq!(refused(&["i"], &[]), "no index has all of `j`");
    assert_eq!(refused(&["floordiv(i, 2)", "j"], &[]), "no index has all of `i`");
    assert_eq!(refused(&["i", "j"], &["i + j < 4"]), "the condition `i + j <= 3` does not bound a fused iteration");
    assert_eq!(refused(&["i", "j"], &["4*i + j < 9"]), "`4*i + j` is used more than once");
}
