//! Constant bounds.

use super::atom::{Atom, Monomial};
use super::expr::IntExpr;
use super::prover::Prover;
use super::{bounds, eval, linear, simplify};
use std::fmt;

/// The integers from `min` to `max`, both included; an end that is missing was not found.
///
/// ```
/// use tenfold_arith::{ConstIntBound, Fact, IntExpr, Prover};
/// let e = |text| IntExpr::parse(text).unwrap();
/// let mut prover = Prover::new();
/// ["0 <= i", "i < 8", "0 <= j", "j < N"].map(|fact| prover.assume(Fact::parse(fact).unwrap()));
/// assert_eq!(prover.const_int_bound(&e("3 - 2*i")), ConstIntBound { min: Some(-11), max: Some(3) });
/// assert_eq!(prover.const_int_bound(&e("min(j, 5)")), ConstIntBound { min: Some(0), max: Some(5) });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ConstIntBound {
    /// Not above any value.
    pub min: Option<i64>,
    /// Not below any value.
    pub max: Option<i64>,
}

impl ConstIntBound {
    /// Of every value of `e` at which the facts of `prover` hold.
    pub(super) fn of(prover: &Prover, e: &IntExpr) -> Self {
        let e = simplify::expr(prover, e);
        let max = linear::lower_bound(prover, &-&e).and_then(i64::checked_neg);
        let linear = Self { min: linear::lower_bound(prover, &e), max };
        let nonlinear = |(m, _): &(Monomial, i64)| m.single().is_none_or(|it| it.operands().is_some());
        if e.terms().iter().any(nonlinear) { linear.meet(Self::by_parts(prover, &e)) } else { linear }
    }

    /// From the bounds of the atoms alone.
    fn by_parts(prover: &Prover, e: &IntExpr) -> Self {
        let point = |value: i64| Self { min: Some(value), max: Some(value) };
        e.terms().iter().fold(point(e.constant_term()), |sum, (monomial, k)| {
            sum.plus(
                monomial.atoms().iter().fold(point(*k), |product, atom| product.times(Self::of_atom(prover, atom))),
            )
        })
    }

    fn of_atom(prover: &Prover, atom: &Atom) -> Self {
        let linear = |e: &IntExpr| {
            let (min, max) = bounds::constants(prover, e);
            Self { min, max }
        };
        let Some((a, b)) = atom.operands() else { return linear(&atom.clone().into_expr()) };
        let (x, y) = (Self::by_parts(prover, a), Self::by_parts(prover, b));
        let parts = match atom {
            Atom::Var(_) => Self::default(),
            Atom::Min(..) => Self { min: x.min.zip(y.min).map(|(a, b)| a.min(b)), max: least(x.max, y.max) },
            Atom::Max(..) => Self { min: greatest(x.min, y.min), max: x.max.zip(y.max).map(|(a, b)| a.max(b)) },
            Atom::Sum(..) => x.plus(y),
            Atom::Product(..) => x.times(y),
            Atom::FloorDiv(..) if y.min.is_some_and(|least| least > 0) => x.over(y, eval::floor_div),
            Atom::TruncDiv(..) if y.min.is_some_and(|least| least > 0) => x.over(y, eval::trunc_div),
            Atom::FloorMod(..) if y.min.is_some_and(|least| least > 0) => {
                let below = y.max.map(|it| it - 1);
                Self { min: Some(0), max: if x.min >= Some(0) { least(below, x.max) } else { below } }
            }
            Atom::FloorDiv(..) | Atom::FloorMod(..) | Atom::TruncDiv(..) | Atom::TruncRem(..) => Self::default(),
        };
        parts.meet(linear(&atom.clone().into_expr()))
    }

    /// What lies in both.
    pub fn meet(self, other: Self) -> Self {
        Self { min: greatest(self.min, other.min), max: least(self.max, other.max) }
    }

    /// What holds both.
    pub fn union(self, other: Self) -> Self {
        let min = self.min.zip(other.min).map(|(a, b)| a.min(b));
        Self { min, max: self.max.zip(other.max).map(|(a, b)| a.max(b)) }
    }

    /// Sums of one of each.
    pub fn plus(self, other: Self) -> Self {
        let sum = |a: Option<i64>, b: Option<i64>| a?.checked_add(b?);
        Self { min: sum(self.min, other.min), max: sum(self.max, other.max) }
    }

    /// Products of one of each.
    pub fn times(self, other: Self) -> Self {
        let product = |a: Option<i64>, b: Option<i64>| a?.checked_mul(b?);
        match (self.as_point(), other.as_point()) {
            (None, Some(_)) => other.times(self),
            (Some(0), _) => self,
            (Some(k), _) if k < 0 => Self { min: product(other.max, self.min), max: product(other.min, self.min) },
            (Some(_), _) => Self { min: product(other.min, self.min), max: product(other.max, self.min) },
            (None, None) if self.min >= Some(0) && other.min >= Some(0) => {
                Self { min: product(self.min, other.min), max: product(self.max, other.max) }
            }
            (None, None) => self.corners(other, |a, b| a.checked_mul(b)),
        }
    }

    /// The only value, if there is but one.
    pub fn as_point(self) -> Option<i64> {
        self.min.filter(|min| self.max == Some(*min))
    }

    /// Quotients by what is positive.
    fn over(self, by: Self, divide: fn(i64, i64) -> Option<i64>) -> Self {
        // Without a greatest divisor quotients come as near to zero as they like.
        let far = Self { min: by.min, max: by.max.or(Some(i64::MAX)) };
        self.corners(far, divide)
    }

    /// The least and the greatest of four corners; nothing if an end is missing.
    fn corners(self, other: Self, f: impl Fn(i64, i64) -> Option<i64>) -> Self {
        let all = || {
            let (a, b, c, d) = (self.min?, self.max?, other.min?, other.max?);
            Some([f(a, c)?, f(a, d)?, f(b, c)?, f(b, d)?])
        };
        let Some(all) = all() else { return Self::default() };
        Self { min: all.iter().min().copied(), max: all.iter().max().copied() }
    }

    /// How many integers there are, if both ends are known and 64 bits hold it.
    pub fn count(self) -> Option<i64> {
        self.max?.checked_sub(self.min?)?.checked_add(1).map(|it| it.max(0))
    }

    /// Whether `value` is one of them.
    pub fn contains(self, value: i64) -> bool {
        self.min.is_none_or(|min| min <= value) && self.max.is_none_or(|max| value <= max)
    }

    /// Whether all of them are values of a signed integer of `bits`.
    pub fn fits_signed(self, bits: u32) -> bool {
        let half = 1i128 << (bits.clamp(1, 64) - 1);
        let within = |end: i64| (-half..half).contains(&i128::from(end));
        self.min.is_some_and(within) && self.max.is_some_and(within)
    }
}

/// The lesser of those that are known.
fn least(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    a.into_iter().chain(b).min()
}

/// The greater of those that are known.
fn greatest(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    a.into_iter().chain(b).max()
}

impl fmt::Display for ConstIntBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = |it: Option<i64>, inf: &str| it.map_or(inf.to_string(), |it| it.to_string());
        write!(f, "[{}, {}]", end(self.min, "-inf"), end(self.max, "inf"))
    }
}
