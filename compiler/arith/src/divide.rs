//! Constructors of divisions, minimum and maximum, with what holds whatever the variables are.

use super::atom::{Atom, Monomial};
use super::eval;
use super::expr::IntExpr;

impl IntExpr {
    /// `self / other` rounded down; by zero it is 0.
    pub fn floor_div(&self, other: &Self) -> Self {
        if let (Some(a), Some(b)) = (self.as_const(), other.as_const())
            && let Some(value) = eval::floor_div(a, b)
        {
            return Self::constant(value);
        }
        match other.as_const() {
            Some(0) => return Self::constant(0),
            Some(1) => return self.clone(),
            Some(-1) => return -self,
            Some(c) if c > 0 => return self.floor_div_by(c),
            Some(c) if c > i64::MIN => return (-self).floor_div_by(-c),
            Some(_) | None => {}
        }
        if self.is_zero() {
            return self.clone();
        }
        Atom::FloorDiv(self.clone(), other.clone()).into_expr()
    }

    /// `(a*c + r) fdiv c` is `a + r fdiv c`; `(r fdiv b) fdiv c` is `r fdiv (b*c)`.
    fn floor_div_by(&self, c: i64) -> Self {
        let (quotient, rest) = self.split_multiples(c);
        if let Some(value) = rest.as_const() {
            // The split leaves a constant in 0..c.
            return quotient + value.div_euclid(c);
        }
        if let Some(g) = rest.common_factor(c)
            && let (Some(rest), true) = (rest.exact_div(g), g > 1)
        {
            return quotient + rest.floor_div(&Self::constant(c / g));
        }
        if let Some(Atom::FloorDiv(inner, by)) = rest.as_atom()
            && let Some(b) = by.as_const().filter(|b| *b > 0).and_then(|b| b.checked_mul(c))
        {
            return quotient + inner.floor_div(&Self::constant(b));
        }
        quotient + Atom::FloorDiv(rest, Self::constant(c)).into_expr()
    }

    /// `(q, r)` with `self == c*q + r`: coefficients of `r` keep their sign and lie within `c`, its constant in `0..c`.
    pub(super) fn split_multiples(&self, c: i64) -> (Self, Self) {
        let (mut multiples, mut rest) = (Vec::new(), Vec::new());
        for (monomial, coefficient) in self.terms() {
            let (q, r) = (coefficient / c, coefficient % c);
            if q != 0 {
                multiples.push((monomial.clone(), q));
            }
            if r != 0 {
                rest.push((monomial.clone(), r));
            }
        }
        let constant = self.constant_term();
        (Self::from_terms(multiples, constant.div_euclid(c)), Self::from_terms(rest, constant.rem_euclid(c)))
    }

    /// `(q, r)` with `self == by*q + r`, where `q` is made of terms whose products with `by` are all there.
    pub(super) fn quotient_by_terms(&self, by: &Self) -> (Self, Self) {
        let nothing = || (Self::constant(0), self.clone());
        match by.as_const() {
            Some(c) if c > 0 => return self.split_multiples(c),
            Some(_) => return nothing(),
            None => {}
        }
        let Some((lead, unit)) = by.terms().iter().max_by_key(|(monomial, _)| monomial.degree()) else {
            return nothing();
        };
        let (mut quotient, mut rest) = nothing();
        for (monomial, k) in self.terms() {
            let (Some(left), Some(0)) = (monomial.over(lead), k.checked_rem(*unit)) else { continue };
            let term = left.map_or(Self::constant(k / unit), |left| Self::from_monomial(left, k / unit));
            let next = &rest - by * &term;
            if next.count() + by.count() <= rest.count() {
                (quotient, rest) = (quotient + term, next);
            }
        }
        (quotient, rest)
    }

    /// Terms, the constant among them.
    fn count(&self) -> usize {
        self.terms().len() + usize::from(self.constant_term() != 0)
    }

    /// All terms that `scale`, a term, divides, divided by it.
    pub(super) fn exact_part(&self, scale: &Self) -> Self {
        if let Some(c) = scale.as_const() {
            let exact = |k: i64| k.checked_rem(c).filter(|rest| *rest == 0).and_then(|_| k.checked_div(c));
            let terms = self.terms().iter().filter_map(|(m, k)| Some((m.clone(), exact(*k)?)));
            return Self::from_terms(terms.collect(), exact(self.constant_term()).unwrap_or(0));
        }
        let [(by, unit)] = scale.terms() else { return Self::constant(0) };
        let exact = |(monomial, k): &(Monomial, i64)| {
            let k = k.checked_rem(*unit).filter(|rest| *rest == 0).and_then(|_| k.checked_div(*unit))?;
            let left = monomial.over(by)?;
            Some(left.map_or(Self::constant(k), |left| Self::from_monomial(left, k)))
        };
        self.terms().iter().filter_map(exact).fold(Self::constant(0), |sum, term| sum + term)
    }

    /// The greatest divisor of `c` that divides all terms, the constant apart.
    fn common_factor(&self, c: i64) -> Option<i64> {
        self.terms().iter().map(|(_, k)| *k).try_fold(c, gcd)
    }

    /// The terms over `g` and the constant over `g` rounded down, which is exact under a further floor division.
    fn exact_div(&self, g: i64) -> Option<Self> {
        let terms = self.terms().iter().map(|(m, k)| (k % g == 0).then(|| (m.clone(), k / g)));
        Some(Self::from_terms(terms.collect::<Option<_>>()?, self.constant_term().div_euclid(g)))
    }

    /// What [`IntExpr::floor_div`] leaves: `self - other * (self fdiv other)`.
    pub fn floor_mod(&self, other: &Self) -> Self {
        if let (Some(a), Some(b)) = (self.as_const(), other.as_const())
            && let Some(value) = eval::floor_mod(a, b)
        {
            return Self::constant(value);
        }
        match other.as_const() {
            Some(0) => return self.clone(),
            Some(1 | -1) => return Self::constant(0),
            Some(c) if c > 0 => return self.floor_mod_by(c),
            Some(_) | None => {}
        }
        if self.is_zero() || self == other {
            return if self.is_zero() { self.clone() } else { Self::constant(0) };
        }
        Atom::FloorMod(self.clone(), other.clone()).into_expr()
    }

    fn floor_mod_by(&self, c: i64) -> Self {
        let (_, rest) = self.split_multiples(c);
        if rest.as_const().is_some() {
            return rest;
        }
        if let Some(Atom::FloorMod(inner, by)) = rest.as_atom()
            && by.as_const().is_some_and(|b| b > 0 && b % c == 0)
        {
            return inner.floor_mod_by(c);
        }
        Atom::FloorMod(rest, Self::constant(c)).into_expr()
    }

    /// `self / other` rounded towards zero, as Rust divides; by zero it is 0.
    pub fn trunc_div(&self, other: &Self) -> Self {
        if let (Some(a), Some(b)) = (self.as_const(), other.as_const())
            && let Some(value) = eval::trunc_div(a, b)
        {
            return Self::constant(value);
        }
        match other.as_const() {
            Some(0) => return Self::constant(0),
            Some(1) => return self.clone(),
            Some(-1) => return -self,
            Some(c) => {
                if let Some(quotient) = self.exact_quotient(c) {
                    return quotient;
                }
            }
            None => {}
        }
        if self.is_zero() {
            return self.clone();
        }
        Atom::TruncDiv(self.clone(), other.clone()).into_expr()
    }

    /// What [`IntExpr::trunc_div`] leaves, as Rust's `%`; by zero it is `self`.
    pub fn trunc_rem(&self, other: &Self) -> Self {
        if let (Some(a), Some(b)) = (self.as_const(), other.as_const())
            && let Some(value) = eval::trunc_rem(a, b)
        {
            return Self::constant(value);
        }
        match other.as_const() {
            Some(0) => return self.clone(),
            Some(1 | -1) => return Self::constant(0),
            Some(c) if self.exact_quotient(c).is_some() => return Self::constant(0),
            Some(_) | None => {}
        }
        if self.is_zero() || self == other {
            return if self.is_zero() { self.clone() } else { Self::constant(0) };
        }
        Atom::TruncRem(self.clone(), other.clone()).into_expr()
    }

    /// The quotient by a constant that divides every coefficient and the constant.
    pub(super) fn exact_quotient(&self, c: i64) -> Option<Self> {
        let quotient = |k: i64| {
            if k.checked_rem(c)? == 0 { k.checked_div(c) } else { None }
        };
        let terms = self.terms().iter().map(|(m, k)| Some((m.clone(), quotient(*k)?)));
        let terms = terms.collect::<Option<Vec<_>>>()?;
        Some(Self::from_terms(terms, quotient(self.constant_term())?))
    }

    /// The lesser of two, as [`IntExpr::minimum`]; on an owned value Rust finds `Ord::min` first, which is the same.
    pub fn min(&self, other: &Self) -> Self {
        self.minimum(other)
    }

    /// The greater of two, as [`IntExpr::maximum`].
    pub fn max(&self, other: &Self) -> Self {
        self.maximum(other)
    }

    /// The lesser of two.
    pub fn minimum(&self, other: &Self) -> Self {
        match self.constant_distance(other) {
            Some(d) if d <= 0 => self.clone(),
            Some(_) => other.clone(),
            None => {
                let (a, b) = if self <= other { (self, other) } else { (other, self) };
                Atom::Min(a.clone(), b.clone()).into_expr()
            }
        }
    }

    /// The greater of two.
    pub fn maximum(&self, other: &Self) -> Self {
        match self.constant_distance(other) {
            Some(d) if d >= 0 => self.clone(),
            Some(_) => other.clone(),
            None => {
                let (a, b) = if self <= other { (self, other) } else { (other, self) };
                Atom::Max(a.clone(), b.clone()).into_expr()
            }
        }
    }

    fn constant_distance(&self, other: &Self) -> Option<i64> {
        (self - other).as_const()
    }
}

/// The greatest common divisor, `None` where it leaves `i64`.
pub(super) fn gcd(a: i64, b: i64) -> Option<i64> {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).ok()
}
