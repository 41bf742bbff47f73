//! Exact fractions; every operation that leaves 128 bits is `None`, and the query that needed it gives up.

use std::cmp::Ordering;

/// A fraction in lowest terms with a positive denominator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rational {
    num: i128,
    den: i128,
}

impl Rational {
    pub(super) const ZERO: Rational = Rational { num: 0, den: 1 };
    pub(super) const ONE: Rational = Rational { num: 1, den: 1 };

    pub(super) fn int(value: i64) -> Self {
        Self { num: i128::from(value), den: 1 }
    }

    fn new(num: i128, den: i128) -> Option<Self> {
        if den == 1 {
            return Some(Self { num, den });
        }
        let (mut a, mut b) = (num.unsigned_abs(), den.unsigned_abs());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let g = i128::try_from(a).ok().filter(|g| *g > 0)?;
        let (num, den) = (num / g, den / g);
        if den < 0 { Some(Self { num: num.checked_neg()?, den: den.checked_neg()? }) } else { Some(Self { num, den }) }
    }

    pub(super) fn is_zero(self) -> bool {
        self.num == 0
    }

    pub(super) fn is_positive(self) -> bool {
        self.num > 0
    }

    pub(super) fn is_negative(self) -> bool {
        self.num < 0
    }

    pub(super) fn neg(self) -> Option<Self> {
        Some(Self { num: self.num.checked_neg()?, den: self.den })
    }

    pub(super) fn add(self, other: Self) -> Option<Self> {
        if self.den == 1 && other.den == 1 {
            return Some(Self { num: self.num.checked_add(other.num)?, den: 1 });
        }
        let num = self.num.checked_mul(other.den)?.checked_add(other.num.checked_mul(self.den)?)?;
        Self::new(num, self.den.checked_mul(other.den)?)
    }

    pub(super) fn sub(self, other: Self) -> Option<Self> {
        self.add(other.neg()?)
    }

    pub(super) fn mul(self, other: Self) -> Option<Self> {
        Self::new(self.num.checked_mul(other.num)?, self.den.checked_mul(other.den)?)
    }

    /// `None` for a zero divisor.
    pub(super) fn div(self, other: Self) -> Option<Self> {
        if other.num == 0 {
            return None;
        }
        Self::new(self.num.checked_mul(other.den)?, self.den.checked_mul(other.num)?)
    }

    pub(super) fn compare(self, other: Self) -> Option<Ordering> {
        Some(self.num.checked_mul(other.den)?.cmp(&other.num.checked_mul(self.den)?))
    }

    /// The least integer that is not below.
    pub(super) fn ceil(self) -> Option<i64> {
        let floor = self.num.div_euclid(self.den);
        i64::try_from(if self.num.rem_euclid(self.den) == 0 { floor } else { floor.checked_add(1)? }).ok()
    }
}
