//! Whether each turn of a loop stays within a strip of its own along an axis.
//!
//! Turn `v` of a tile loop touches `c*v .. c*v + c`, whichever statement inside of it does: then no turn touches what
//! another one touches, though the statements do not walk through the strip alike.

use tenfold_ir::arith::{Domain, IntExpr, IntervalSet, Prover, Sym};

/// An index along one axis, and the loops that move within a turn.
pub(super) struct Walked {
    pub index: IntExpr,
    pub inner: Domain,
}

/// Whether all accesses of one turn of `var` lie in a strip that no other turn touches. `fixed` says which symbols mean
/// the same in every turn.
pub(super) fn in_strips(all: &[Walked], var: &Sym, prover: &Prover, fixed: &dyn Fn(&Sym) -> bool) -> bool {
    let ends: Option<Vec<(IntExpr, IntExpr)>> = all.iter().map(|w| ends(w, prover)).collect();
    let Some(ends) = ends else { return false };
    if !ends.iter().all(|(a, b)| a.vars().union(&b.vars()).all(|s| s == var || fixed(s))) {
        return false;
    }
    let Some((first, _)) = ends.first() else { return false };
    let next = first.substitute(&|s| (s == var).then(|| &IntExpr::var(var.clone()) + 1));
    let Some(width) = prover.simplify(&(&next - first)).as_const().filter(|w| *w > 0) else { return false };
    let begin = prover.simplify(&(first - &(&IntExpr::var(var.clone()) * width)));
    if begin.vars().contains(var) {
        return false;
    }
    let start = &begin + &(&IntExpr::var(var.clone()) * width);
    ends.iter().all(|(min, max)| prover.prove_le(&start, min) && prover.prove_lt(max, &(&start + width)))
}

/// The least and the greatest index of a turn.
fn ends(walked: &Walked, prover: &Prover) -> Option<(IntExpr, IntExpr)> {
    let set = IntervalSet::of(&walked.index, &walked.inner, prover);
    Some((prover.simplify(set.min()?), prover.simplify(set.max()?)))
}

#[cfg(test)]
mod tests {
    use tenfold_ir::arith::Range;

    use super::*;

    fn walked(index: IntExpr, inner: &[(&str, i64)]) -> Walked {
        let mut domain = Domain::new();
        inner.iter().for_each(|(s, n)| domain.push(Sym::new(*s), Range::upto(IntExpr::from(*n))));
        Walked { index, inner: domain }
    }

    #[test]
    fn tiles_are_strips() {
        let (v, a, b) = (IntExpr::var(Sym::new("v")), IntExpr::var(Sym::new("a")), IntExpr::var(Sym::new("b")));
        let tile = |inner: &IntExpr| &(&v * 4) + inner;
        let both = [walked(tile(&a), &[("a", 4)]), walked(tile(&b), &[("b", 4)])];
        assert!(in_strips(&both, &Sym::new("v"), &Prover::new(), &|_| true));
        // The second one reads an element of the next strip.
        let wide = [walked(tile(&a), &[("a", 4)]), walked(tile(&b), &[("b", 5)])];
        assert!(!in_strips(&wide, &Sym::new("v"), &Prover::new(), &|_| true));
        // Nothing moves with the loop.
        assert!(!in_strips(&[walked(a.clone(), &[("a", 4)])], &Sym::new("v"), &Prover::new(), &|_| true));
    }
}
