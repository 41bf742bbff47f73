//! Sum, difference and product.

use super::atom::{Atom, Monomial};
use super::expr::IntExpr;
use super::limits;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::ops::{Add, Mul, Neg, Sub};

impl IntExpr {
    fn sum(&self, other: &Self) -> Self {
        self.try_sum(other).unwrap_or_else(|| {
            let (a, b) = if self <= other { (self, other) } else { (other, self) };
            Atom::Sum(a.clone(), b.clone()).into_expr()
        })
    }

    fn difference(&self, other: &Self) -> Self {
        self.try_difference(other).unwrap_or_else(|| self.sum(&other.negated()))
    }

    fn product(&self, other: &Self) -> Self {
        self.try_product(other).unwrap_or_else(|| {
            let (a, b) = if self <= other { (self, other) } else { (other, self) };
            Atom::Product(a.clone(), b.clone()).into_expr()
        })
    }

    /// The sum, unless a coefficient leaves `i64` or the terms are too many.
    pub(super) fn try_sum(&self, other: &Self) -> Option<Self> {
        self.merged(other, Some, i64::checked_add)
    }

    /// The difference, unless the negative of what is taken off cannot be written or the sum with it cannot.
    fn try_difference(&self, other: &Self) -> Option<Self> {
        let sub = |x: i64, y: i64| x.checked_add(y.checked_neg()?);
        self.merged(other, i64::checked_neg, sub)
    }

    /// The terms of both in their order: those that both have joined, others of `other` alone as `lone` says.
    fn merged(
        &self,
        other: &Self,
        lone: impl Fn(i64) -> Option<i64>,
        join: impl Fn(i64, i64) -> Option<i64>,
    ) -> Option<Self> {
        let constant = join(self.constant_term(), other.constant_term())?;
        let (mut left, mut right) = (self.terms(), other.terms());
        let mut terms = Vec::with_capacity(left.len() + right.len());
        while let (Some((a, x)), Some((b, y))) = (left.first(), right.first()) {
            match a.cmp(b) {
                Ordering::Less => {
                    terms.push((a.clone(), *x));
                    left = &left[1..];
                }
                Ordering::Greater => {
                    terms.push((b.clone(), lone(*y)?));
                    right = &right[1..];
                }
                Ordering::Equal => {
                    let sum = join(*x, *y)?;
                    if sum != 0 {
                        terms.push((a.clone(), sum));
                    }
                    (left, right) = (&left[1..], &right[1..]);
                }
            }
        }
        terms.extend(left.iter().cloned());
        for (b, y) in right {
            terms.push((b.clone(), lone(*y)?));
        }
        (terms.len() <= limits::TERMS).then(|| Self::from_terms(terms, constant))
    }

    /// The product, under the same conditions.
    pub(super) fn try_product(&self, other: &Self) -> Option<Self> {
        if let Some(factor) = other.as_const() {
            return self.try_scale(factor);
        }
        if let Some(factor) = self.as_const() {
            return other.try_scale(factor);
        }
        if self.terms().len() * other.terms().len() > limits::TERMS {
            return None;
        }
        let mut terms: BTreeMap<Monomial, i64> = BTreeMap::new();
        let mut put = |monomial: Monomial, coefficient: i64| -> Option<()> {
            let slot = terms.entry(monomial).or_insert(0);
            *slot = slot.checked_add(coefficient)?;
            Some(())
        };
        for (a, x) in self.terms() {
            for (b, y) in other.terms() {
                if a.degree() + b.degree() > limits::DEGREE {
                    return None;
                }
                put(a.times(b), x.checked_mul(*y)?)?;
            }
            put(a.clone(), x.checked_mul(other.constant_term())?)?;
        }
        for (b, y) in other.terms() {
            put(b.clone(), y.checked_mul(self.constant_term())?)?;
        }
        let terms = terms.into_iter().filter(|(_, c)| *c != 0).collect();
        Some(Self::from_terms(terms, self.constant_term().checked_mul(other.constant_term())?))
    }

    fn try_scale(&self, factor: i64) -> Option<Self> {
        match factor {
            0 => return Some(Self::constant(0)),
            1 => return Some(self.clone()),
            _ => {}
        }
        let mut terms = Vec::with_capacity(self.terms().len());
        for (monomial, coefficient) in self.terms() {
            terms.push((monomial.clone(), coefficient.checked_mul(factor)?));
        }
        Some(Self::from_terms(terms, self.constant_term().checked_mul(factor)?))
    }

    fn negated(&self) -> Self {
        self.product(&Self::constant(-1))
    }
}

impl Neg for &IntExpr {
    type Output = IntExpr;
    fn neg(self) -> IntExpr {
        self.negated()
    }
}

impl Neg for IntExpr {
    type Output = IntExpr;
    fn neg(self) -> IntExpr {
        self.negated()
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, |$a:ident, $b:ident| $body:expr) => {
        impl $trait<&IntExpr> for &IntExpr {
            type Output = IntExpr;
            fn $method(self, other: &IntExpr) -> IntExpr {
                let ($a, $b) = (self, other);
                $body
            }
        }
        impl $trait<IntExpr> for &IntExpr {
            type Output = IntExpr;
            fn $method(self, other: IntExpr) -> IntExpr {
                self.$method(&other)
            }
        }
        impl $trait<&IntExpr> for IntExpr {
            type Output = IntExpr;
            fn $method(self, other: &IntExpr) -> IntExpr {
                (&self).$method(other)
            }
        }
        impl $trait<IntExpr> for IntExpr {
            type Output = IntExpr;
            fn $method(self, other: IntExpr) -> IntExpr {
                (&self).$method(&other)
            }
        }
        impl $trait<i64> for &IntExpr {
            type Output = IntExpr;
            fn $method(self, other: i64) -> IntExpr {
                self.$method(&IntExpr::constant(other))
            }
        }
        impl $trait<i64> for IntExpr {
            type Output = IntExpr;
            fn $method(self, other: i64) -> IntExpr {
                (&self).$method(&IntExpr::constant(other))
            }
        }
    };
}

operator!(Add, add, |a, b| a.sum(b));
operator!(Sub, sub, |a, b| a.difference(b));
operator!(Mul, mul, |a, b| a.product(b));

impl IntExpr {
    /// `self << other` for a constant shift of 0 to 62; no expression otherwise.
    pub fn shl(&self, other: &Self) -> Option<Self> {
        let shift = other.as_const().filter(|it| (0..=62).contains(it))?;
        Some(self * (1i64 << shift))
    }
}
