//! Small constant boxes, point by point.

use super::bounds;
use super::expr::IntExpr;
use super::limits;
use super::prover::Prover;
use super::sym::Sym;

/// Whether `e >= 0` at each point of its variables' ranges at which no fact is false.
pub(super) fn nonnegative(prover: &Prover, e: &IntExpr) -> bool {
    let mut ranges = Vec::new();
    let mut points = 1i64;
    for sym in e.vars() {
        let (Some(low), Some(high)) = bounds::constants(prover, &IntExpr::var(sym.clone())) else { return false };
        let count = high.checked_sub(low).and_then(|it| it.checked_add(1)).unwrap_or(i64::MAX).max(0);
        points = match points.checked_mul(count) {
            Some(points) if points <= limits::POINTS => points,
            Some(_) | None => return false,
        };
        ranges.push((sym, low, high));
    }
    let symbols: Vec<&Sym> = ranges.iter().map(|(sym, _, _)| sym).collect();
    let facts: Vec<_> =
        prover.facts().iter().filter(|fact| fact.vars().iter().all(|it| symbols.contains(&it))).collect();
    // A node's value takes less time than a cell of a linear problem.
    if !prover.spend(points as usize * (e.size() as usize + facts.len()) / 8) {
        return false;
    }
    let mut values: Vec<i64> = ranges.iter().map(|(_, low, _)| *low).collect();
    for _ in 0..points {
        let env = |sym: &Sym| Some(values[symbols.iter().position(|it| *it == sym)?]);
        let possible = facts.iter().all(|fact| fact.eval(&env) != Some(false));
        if possible && e.eval(&env).is_none_or(|value| value < 0) {
            return false;
        }
        advance(&mut values, &ranges);
    }
    true
}

fn advance(values: &mut [i64], ranges: &[(Sym, i64, i64)]) {
    for (value, (_, low, high)) in values.iter_mut().zip(ranges) {
        if *value < *high {
            *value += 1;
            return;
        }
        *value = *low;
    }
}
