//! Random affine accesses against brute force: nothing out of range is accepted, almost all in range is proven.

use super::super::{IntExpr, Prover, Sym};
use super::random::Random;

const VARS: [&str; 4] = ["i", "j", "k", "l"];
const DIMS: [&str; 2] = ["N", "M"];
/// Dims are tried at these values above their least one.
const TRIES: i64 = 6;

struct Access {
    prover: Prover,
    least: [i64; 2],
    ranges: Vec<(IntExpr, IntExpr)>,
    index: IntExpr,
    extent: IntExpr,
}

/// A loop's bounds: constants, or a dim less a constant.
fn range(random: &mut Random) -> (IntExpr, IntExpr) {
    let low = random.below(3);
    match random.below(3) {
        0 => (low.into(), (low + 1 + random.below(5)).into()),
        1 => (0.into(), IntExpr::var(*random.pick(&DIMS))),
        _ => (low.into(), IntExpr::var(*random.pick(&DIMS)) - random.below(3)),
    }
}

fn index(random: &mut Random, vars: &[&'static str]) -> IntExpr {
    let mut index = IntExpr::constant(random.within(-2, 2));
    for var in vars {
        let it = IntExpr::var(*var);
        let c = IntExpr::constant(random.within(2, 4));
        index = index
            + match random.below(8) {
                0 => it.floor_div(&c),
                1 => it.floor_mod(&c),
                2 => it * random.within(-2, 3),
                3 => it * IntExpr::var(*random.pick(&DIMS)),
                4 => (it + random.within(0, 3)).floor_div(&c) * random.within(1, 2),
                _ => it,
            };
    }
    index
}

/// The access is made to fit in about half of the cases: its extent is the greatest index that bounds give, or near.
fn access(random: &mut Random) -> Access {
    let least = [random.within(0, 3), random.within(0, 3)];
    let mut prover = Prover::new();
    for (dim, least) in DIMS.iter().zip(least) {
        prover.assume_ge(&IntExpr::var(*dim), &least.into());
    }
    let vars = &VARS[..1 + random.below(4) as usize];
    let ranges: Vec<_> = vars.iter().map(|_| range(random)).collect();
    for (var, (low, high)) in vars.iter().zip(&ranges) {
        prover.assume_range(&Sym::new(var), low, high);
    }
    let index = index(random, vars);
    let extent = match (random.below(6), prover.bounds(&index).1) {
        (0, _) => IntExpr::var(*random.pick(&DIMS)) * IntExpr::var(*random.pick(&DIMS)),
        (1, _) => IntExpr::constant(random.within(1, 30)),
        (2, _) => IntExpr::var(*random.pick(&DIMS)) * random.within(1, 4),
        (_, Some(high)) => high + random.within(0, 2),
        (_, None) => IntExpr::var(*random.pick(&DIMS)),
    };
    Access { prover, least, ranges, index, extent }
}

/// Whether all indices tried are inside, and whether there were any: all of them for small dims, ends for large ones.
fn brute_force(access: &Access) -> (bool, bool) {
    let [n, m] = access.least;
    let small = (0..TRIES * TRIES).map(|at| [n + at / TRIES, m + at % TRIES]);
    let mixed = (0..TRIES).flat_map(|at| [[n + at, 203], [203, m + at]]);
    let large = [[200, 143], [143, 200], [201, 201], [202, 202]].into_iter().chain(mixed);
    let mut any = false;
    for dims in large.chain(small) {
        if !inside(access, dims, &mut [0; 4], 0, &mut any) {
            return (false, true);
        }
    }
    (true, any)
}

fn inside(access: &Access, dims: [i64; 2], point: &mut [i64; 4], at: usize, any: &mut bool) -> bool {
    let value = |e: &IntExpr, point: &[i64; 4]| {
        e.eval(&|sym| match DIMS.iter().position(|it| *it == sym.as_str()) {
            Some(dim) => Some(dims[dim]),
            None => VARS.iter().position(|it| *it == sym.as_str()).map(|var| point[var]),
        })
        .expect("small")
    };
    let Some((low, high)) = access.ranges.get(at) else {
        *any = true;
        let index = value(&access.index, point);
        return index >= 0 && index < value(&access.extent, point);
    };
    let (low, high) = (value(low, point), value(high, point));
    for it in (low..high).filter(|it| *it < low + 4 || *it >= high - 4) {
        point[at] = it;
        if !inside(access, dims, point, at + 1, any) {
            return false;
        }
    }
    true
}

#[test]
fn affine_accesses() {
    let mut random = Random::new(3);
    let (mut inside, mut proven, mut missed, mut spent) = (0, 0, Vec::new(), [std::time::Duration::ZERO; 3]);
    let mut total = 0;
    while total < 5000 {
        let access = access(&mut random);
        let (fits, any) = brute_force(&access);
        if !any {
            continue;
        }
        total += 1;
        let start = std::time::Instant::now();
        let accepted = access.prover.prove_ge0(&access.index) && access.prover.prove_lt(&access.index, &access.extent);
        spent[usize::from(accepted)] += start.elapsed();
        spent[2] = spent[2].max(start.elapsed());
        let text = || format!("{:?} |- {} < {}", access.prover.facts(), access.index, access.extent);
        assert!(fits || !accepted, "accepted out of range: {}", text());
        inside += usize::from(fits);
        proven += usize::from(accepted);
        if fits && !accepted {
            missed.push(text());
        }
    }
    let share = 100.0 * proven as f64 / inside as f64;
    println!("{total} accesses, {inside} in range, {proven} proven: {share:.2} %; refused, proven, longest: {spent:?}");
    missed.iter().take(30).for_each(|it| println!("missed: {it}"));
    assert!(inside > 1000 && share >= 99.0, "{share:.2} % of {inside}");
}
