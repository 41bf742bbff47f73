//! Quotients of numbers one after another, of which each stands so many times: a read at such places is a read of neighbours,
//! whose elements repeat.

use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{Builder, Elem, Expr, ExprId, Ty};

use super::lanes::plus;

/// `first, first + 1, …` divided by a number, where vectors end with the last number that has the same quotient.
pub(super) fn quotient(b: &mut Builder, x: ExprId, by: ExprId) -> Option<ExprId> {
    let Expr::Ramp(first, stride, lanes) = *b.func().exprs.get(x) else { return None };
    let times = b.func().literal(by).filter(|n| *n > 1 && i64::from(lanes) % n == 0)?;
    if b.ty(x).elem != Elem::Index || b.func().literal(stride) != Some(1) {
        return None;
    }
    let first = divided(b, first, times)?;
    let few = lanes / u16::try_from(times).ok()?;
    if few == 1 {
        return Some(first);
    }
    let quotients = b.raw(Expr::Ramp(first, stride, few), Ty { elem: Elem::Index, lanes: few });
    let each = (0..lanes).map(|lane| lane / (lanes / few)).collect();
    Some(b.shuffle(vec![quotients], each))
}

/// A multiple of a number divided by it.
fn divided(b: &mut Builder, e: ExprId, by: i64) -> Option<ExprId> {
    match *b.func().exprs.get(e) {
        Expr::Index(n) if n % by == 0 => Some(b.index(n / by)),
        Expr::Binary(BinaryOp::Add, x, y) => {
            let (x, y) = (divided(b, x, by)?, divided(b, y, by)?);
            Some(plus(b, x, y))
        }
        Expr::Binary(BinaryOp::Mul, x, y) => {
            let (x, factor) = if b.func().literal(x).is_some() { (y, x) } else { (x, y) };
            let factor = b.func().literal(factor).filter(|n| n % by == 0)?;
            let factor = b.index(factor / by);
            Some(super::lanes::times(b, x, factor))
        }
        _ => None,
    }
}

/// Repeated numbers as those that repeat, and which of them each lane has.
pub(super) fn repeats(b: &Builder, e: ExprId) -> Option<(ExprId, Vec<u16>)> {
    match b.func().exprs.get(e) {
        Expr::Shuffle(vectors, lanes) if b.ty(e).elem == Elem::Index => match vectors[..] {
            [one] => Some((one, lanes.clone())),
            _ => None,
        },
        _ => None,
    }
}
