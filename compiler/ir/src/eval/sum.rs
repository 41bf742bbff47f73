//! Sums and products whose terms may be taken in any order.

use super::bounded::{self, Bounded};
use super::ulps::{largest, ulp};
use crate::op::BinaryOp;
use crate::{DType, Scalar};

/// A running reduction, from which the value and its bound can be read at any point.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Sum {
    op: BinaryOp,
    dtype: DType,
    /// The value so far: of floats whose order matters in `f64`, of all else its bits.
    real: f64,
    bits: Scalar,
    /// Errors of the terms, those of products relative.
    error: f64,
    /// Sum of the terms' magnitudes; of factors the product of those above 1, which no order leaves.
    magnitude: f64,
    /// The product of factors below 1: what some order comes to on the way.
    least: f64,
    terms: u32,
    /// What contraction may change of the terms: of one term alone, which is no sum, a later sum may do so.
    contracted: f64,
    /// Whether every term is exact and whole: below 2 to the precision such sums do not round in any order.
    whole: bool,
}

impl Sum {
    /// A reduction by `Add`, `Mul` or another operator that starts from a value.
    pub fn new(op: BinaryOp, start: Bounded) -> Self {
        let real = start.value.to_f64();
        let neutral = start.is_exact() && real == if op == BinaryOp::Mul { 1.0 } else { 0.0 };
        let relative = if start.error == 0.0 { 0.0 } else { start.error / real.abs() };
        Sum {
            op,
            dtype: start.value.dtype,
            real,
            bits: start.value,
            error: if op == BinaryOp::Mul { relative } else { start.error + start.contracted },
            magnitude: if op == BinaryOp::Mul { above(real) } else { finite(real) },
            least: below(real),
            terms: u32::from(!neutral),
            contracted: start.contracted,
            whole: op == BinaryOp::Add && start.is_exact() && real.fract() == 0.0,
        }
    }

    /// Whether a reduction by this operator of this dtype depends on the order.
    pub fn matters(op: BinaryOp, dtype: DType) -> bool {
        dtype.is_float() && matches!(op, BinaryOp::Add | BinaryOp::Mul)
    }

    /// Which operator it reduces by.
    pub fn op(&self) -> BinaryOp {
        self.op
    }

    /// Takes a term.
    pub fn add(&mut self, term: Bounded) {
        // What depends on the order is made of the reals below.
        if !Sum::matters(self.op, self.dtype) {
            self.bits = bounded::binary(self.op, Bounded::exact(self.bits), Bounded::exact(term.value)).value;
        }
        let x = term.value.to_f64();
        self.terms += 1;
        self.contracted += term.contracted;
        self.whole &= term.is_exact() && x.fract() == 0.0;
        if self.op == BinaryOp::Mul {
            self.real *= x;
            let relative = if term.error == 0.0 { 0.0 } else { term.error / x.abs() };
            self.error += if relative.is_nan() { f64::INFINITY } else { relative };
            self.magnitude *= above(x);
            self.least *= below(x);
        } else {
            self.real += x;
            self.error += term.error + term.contracted;
            self.magnitude += finite(x);
        }
    }

    /// Takes a term of a sum of floats that every implementation has.
    pub(super) fn add_exact(&mut self, term: f64) {
        self.terms += 1;
        self.whole &= term.fract() == 0.0;
        self.real += term;
        self.magnitude += finite(term);
    }

    /// The value so far and how far another order may be from it.
    pub fn total(&self) -> Bounded {
        let contracted = if self.terms <= 1 { self.contracted } else { 0.0 };
        Bounded { contracted, ..self.rounded() }
    }

    fn rounded(&self) -> Bounded {
        if !Sum::matters(self.op, self.dtype) {
            return Bounded::exact(self.bits);
        }
        let value = Scalar::float(self.dtype, self.real);
        if !self.real.is_finite() {
            // Terms that are infinite or NaN decide alike in every order, unless factors vanish before they meet one, or
            // finite terms come to an infinity of the other sign.
            let vanishes = self.op == BinaryOp::Mul && self.least < f64::MIN_POSITIVE.max(ulp(self.dtype, 0.0));
            let overflows = self.op == BinaryOp::Add && self.magnitude >= largest(self.dtype) / 2.0;
            return if self.error.is_finite() && !vanishes && !overflows {
                Bounded::exact(value)
            } else {
                Bounded::exact(value).unknown()
            };
        }
        if self.magnitude >= largest(self.dtype) / 2.0 || !self.error.is_finite() {
            return Bounded::exact(value).unknown();
        }
        let roundings = f64::from(self.terms.saturating_sub(1));
        let small = self.magnitude <= 2.0 / ulp(self.dtype, 1.0);
        if (roundings == 0.0 && self.error == 0.0) || (self.whole && small && self.error == 0.0) {
            return Bounded::exact(value);
        }
        // Each of the two sides is off by at most half an ulp of all the magnitudes per rounding; where sums are done
        // in f64 for a narrower dtype, the interpreter's side is not.
        let sides = if self.dtype == DType::F64 { 2.0 } else { 1.0 };
        let half = ulp(self.dtype, 1.0) / 2.0;
        let error = if self.op == BinaryOp::Mul {
            let grown = (1.0 + sides * half).powf(roundings) * (1.0 + self.error) - 1.0;
            // What a subnormal product loses on the way, the factors that follow it multiply.
            grown * self.real.abs() + roundings * ulp(self.dtype, 0.0) * self.magnitude
        } else {
            (sides * half * roundings * self.magnitude + self.error) * (1.0 + roundings * half)
        };
        Bounded::new(value, error + ulp(self.dtype, self.real.abs() + error))
    }
}

/// The magnitude of what has one.
fn finite(x: f64) -> f64 {
    if x.is_finite() { x.abs() } else { 0.0 }
}

/// By how much a factor makes a product greater.
fn above(x: f64) -> f64 {
    finite(x).max(1.0)
}

/// By how much a factor makes a product less; zero does so in every order.
fn below(x: f64) -> f64 {
    if x.is_finite() && x != 0.0 { x.abs().min(1.0) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_order_is_admitted() {
        let terms: Vec<f32> = (0..100).map(|i| ((i * 37 % 100) as f32 - 50.0) * 0.1f32.powi(i % 7)).collect();
        let mut sum = Sum::new(BinaryOp::Add, Bounded::exact(Scalar::zero(DType::F32)));
        terms.iter().for_each(|t| sum.add(Bounded::exact(Scalar::float(DType::F32, f64::from(*t)))));
        let total = sum.total();
        let mut sorted = terms.clone();
        sorted.sort_by(f32::total_cmp);
        for order in [terms.iter().sum::<f32>(), terms.iter().rev().sum(), sorted.iter().sum()] {
            assert!(total.admits(Scalar::float(DType::F32, f64::from(order))));
        }
        assert!(!total.admits(Scalar::float(DType::F32, total.value.to_f64() + 0.01)));
    }

    #[test]
    fn a_product_that_is_the_only_term_is_contracted_later() {
        let x = |value| Bounded::exact(Scalar::float(DType::F32, value));
        let mut sum = Sum::new(BinaryOp::Add, x(0.0));
        sum.add(bounded::binary(BinaryOp::Mul, x(0.1), x(0.3)));
        let fused = f64::from(0.1f32.mul_add(0.3f32, -0.03f32));
        let later = bounded::binary(BinaryOp::Sub, sum.total(), x(0.03));
        assert!(later.admits(Scalar::float(DType::F32, fused)) && !later.is_exact());
    }

    #[test]
    fn products_that_are_subnormal_on_the_way_lose_bits() {
        let factors = [1e-30f32, 3e-15, 7e10, 9e-4];
        let mut product = Sum::new(BinaryOp::Mul, Bounded::exact(Scalar::one(DType::F32)));
        factors.iter().for_each(|x| product.add(Bounded::exact(Scalar::float(DType::F32, f64::from(*x)))));
        let mut other = factors;
        other.reverse();
        for order in [factors, other] {
            assert!(product.total().admits(Scalar::float(DType::F32, f64::from(order.iter().product::<f32>()))));
        }
        product.add(Bounded::exact(Scalar::float(DType::F32, f64::INFINITY)));
        assert!(!product.total().is_exact());
    }

    #[test]
    fn finite_terms_may_come_to_an_infinity_before_they_meet_one() {
        let x = |value: f32| Bounded::exact(Scalar::float(DType::F32, f64::from(value)));
        let mut sum = Sum::new(BinaryOp::Add, x(0.0));
        sum.add(x(f32::NEG_INFINITY));
        sum.add(x(f32::MAX / 8.0));
        assert!(sum.total().is_exact());
        for term in [f32::MAX, f32::MAX] {
            sum.add(x(term));
        }
        assert!((f32::NEG_INFINITY + (f32::MAX + f32::MAX)).is_nan());
        assert!(sum.total().admits(Scalar::float(DType::F32, f64::NAN)));
    }

    #[test]
    fn integers_wrap() {
        let mut sum = Sum::new(BinaryOp::Add, Bounded::exact(Scalar::int(DType::I8, 100)));
        sum.add(Bounded::exact(Scalar::int(DType::I8, 100)));
        assert_eq!(sum.total(), Bounded::exact(Scalar::int(DType::I8, -56)));
    }
}
