//! Which index values 64 bits may not hold. Expressions are exact, and what is computed wraps: a comparison of such values
//! says nothing of what they are made of.

use super::{Function, SymKind};
use crate::arith::{IntExpr, Prover, Sym, View};

/// A bound beyond this is that of a dtype.
const FAR: i128 = 1 << 62;

/// What no axis reaches that memory holds.
const LONG: i128 = 1 << 47;

/// What is known of symbols.
pub struct Wraps<'k> {
    /// Their bounds.
    pub prover: &'k Prover,
    /// Whether a symbol stands for data or for a parameter, of which no memory has to be as large.
    pub free: &'k dyn Fn(&Sym) -> bool,
}

impl Wraps<'_> {
    /// Whether 64 bits may not hold a value, or what it is made of.
    pub fn may(&self, e: &IntExpr) -> bool {
        !matches!(e.view(), View::Const(_) | View::Var(_)) && self.size(e).is_none()
    }

    /// Whether what is computed of a value may be that of an axis though the value is another one: it has to miss it by
    /// 2^64.
    pub fn may_meet_an_axis(&self, e: &IntExpr) -> bool {
        self.ends(e).is_none_or(|(lo, hi)| lo <= LONG - (1 << 64) || hi >= 1 << 64)
    }

    /// Whether a count may be computed to be positive though it is negative.
    pub fn may_rise(&self, e: &IntExpr) -> bool {
        self.ends(e).is_none_or(|(lo, _)| lo < i128::from(i64::MIN))
    }

    /// What a value lies between, beyond 64 bits too.
    fn ends(&self, e: &IntExpr) -> Option<(i128, i128)> {
        match e.view() {
            View::Var(_) => {
                let (lo, hi) = self.prover.bounds(e);
                let end = |end: Option<IntExpr>| self.end(&end?);
                let natural = lo.as_ref().and_then(IntExpr::as_const).is_some_and(|lo| lo >= 0);
                let (lo, hi) = (if natural { Some(0) } else { end(lo).map(|n| -n) }, end(hi));
                Some((lo.unwrap_or(i64::MIN.into()), hi.unwrap_or(i64::MAX.into())))
            }
            View::Add(parts) => parts.iter().try_fold((0, 0), |(lo, hi): (i128, i128), it| {
                let (a, b) = self.ends(it)?;
                Some((lo.checked_add(a)?, hi.checked_add(b)?))
            }),
            View::Mul(parts) if parts.iter().filter(|it| it.as_const().is_none()).count() < 2 => {
                parts.iter().try_fold((1, 1), |(lo, hi): (i128, i128), it| {
                    let (a, b) = self.ends(it)?;
                    let (p, q) = (lo.checked_mul(a)?, hi.checked_mul(b)?);
                    let (r, s) = (lo.checked_mul(b)?, hi.checked_mul(a)?);
                    Some((p.min(q).min(r).min(s), p.max(q).max(r).max(s)))
                })
            }
            _ => self.size(e).map(|size| (-size, size)),
        }
    }

    /// What a value and its parts do not exceed in either direction; none where that leaves 64 bits.
    fn size(&self, e: &IntExpr) -> Option<i128> {
        let size = match e.view() {
            View::Const(n) => i128::from(n).abs(),
            View::Var(sym) if (self.free)(&sym) => {
                let (lo, hi) = self.prover.bounds(e);
                self.end(&lo?)?.max(self.end(&hi?)?)
            }
            View::Var(_) => LONG,
            View::Add(parts) => parts.iter().try_fold(0, |sum: i128, it| sum.checked_add(self.size(it)?))?,
            View::Mul(parts) => {
                let values = parts.iter().filter(|it| it.as_const().is_none()).count();
                let product = parts.iter().try_fold(1, |product: i128, it| product.checked_mul(self.size(it)?));
                product.filter(|_| values < 2)?
            }
            View::FloorDiv(a, b)
            | View::FloorMod(a, b)
            | View::TruncDiv(a, b)
            | View::TruncRem(a, b)
            | View::Min(a, b)
            | View::Max(a, b) => self.lone(&a)?.max(self.lone(&b)?),
        };
        (size <= i128::from(i64::MAX)).then_some(size)
    }

    /// Of an operand by itself, which 64 bits hold if it is a symbol.
    fn lone(&self, e: &IntExpr) -> Option<i128> {
        match e.view() {
            View::Var(_) => Some(self.size(e).unwrap_or(i128::from(i64::MAX))),
            _ => self.size(e),
        }
    }

    /// Of a bound: that of a dtype says nothing, nor does one that is free itself.
    fn end(&self, e: &IntExpr) -> Option<i128> {
        match e.as_const() {
            Some(n) => Some(i128::from(n).abs()).filter(|n| *n < FAR),
            None if e.vars().iter().any(self.free) => None,
            None => self.size(e),
        }
    }
}

/// Whether a symbol of a function stands for data or for a parameter.
pub fn is_free(func: &Function, sym: &Sym) -> bool {
    let given = |kind: &SymKind| matches!(kind, SymKind::IndexParam { .. } | SymKind::Bound(_));
    func.syms.iter().any(|decl| decl.sym == *sym && given(&decl.kind))
}
