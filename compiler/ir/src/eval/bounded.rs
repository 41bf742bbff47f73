//! Values that carry how far from them a conforming implementation may be.
//!
//! Integers are exact or unknown (where a float comparison or conversion could go either way). Of floats, what the
//! language fixes is exact: operators that round once, on exact operands. An error enters with functions that are
//! expanded ([`super::ulps`]), with products that a target contracts, with sums in another order ([`super::Sum`]).

use super::scalar_ops;
use super::ulps::{binary_ulps, largest, ulp, ulps};
use crate::op::{BinaryOp, CmpOp, UnaryOp};
use crate::{DType, Scalar};

/// A value, and how far from it an implementation may be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bounded {
    /// The interpreter's value.
    pub value: Scalar,
    /// Greatest distance of an implementation's value; infinite if nothing is known of it.
    pub error: f64,
    /// What an implementation gains or loses that does not round this product before adding to it.
    pub contracted: f64,
}

impl Bounded {
    /// A value that every implementation has.
    pub fn exact(value: Scalar) -> Self {
        Bounded { value, error: 0.0, contracted: 0.0 }
    }

    /// An index.
    pub fn index(value: i64) -> Self {
        Bounded::exact(Scalar::int(DType::I64, i128::from(value)))
    }

    /// A value with an error.
    pub fn new(value: Scalar, error: f64) -> Self {
        Bounded { value, error: if error.is_nan() { f64::INFINITY } else { error }, contracted: 0.0 }
    }

    /// The same value, of which nothing is known.
    pub fn unknown(self) -> Self {
        Bounded { error: f64::INFINITY, ..self }
    }

    /// Whether every implementation has this value.
    pub fn is_exact(self) -> bool {
        self.error == 0.0
    }

    /// Whether an implementation may have `other` here.
    pub fn admits(self, other: Scalar) -> bool {
        if self.error == f64::INFINITY {
            return true;
        }
        if !self.value.dtype.is_float() {
            return self.value == other;
        }
        let (a, b) = (self.value.to_f64(), other.to_f64());
        if a.is_nan() || b.is_nan() {
            return a.is_nan() && b.is_nan();
        }
        a == b || (a - b).abs() <= self.error
    }

    /// Whether nothing is known of it.
    pub fn is_unknown(self) -> bool {
        self.error == f64::INFINITY
    }

    /// The value as `f64`.
    pub fn get(self) -> f64 {
        self.value.to_f64()
    }

    fn real(self) -> f64 {
        self.value.to_f64()
    }

    fn low(self) -> f64 {
        self.real() - self.error
    }

    fn high(self) -> f64 {
        self.real() + self.error
    }
}

/// `value` with an error that comes from operands: both sides round, and none may have left the finite floats.
fn inexact(value: Scalar, error: f64) -> Bounded {
    if error == 0.0 {
        return Bounded::exact(value);
    }
    let reach = value.to_f64().abs() + error;
    let total = error + ulp(value.dtype, reach);
    if !reach.is_finite() || reach + total >= largest(value.dtype) {
        return Bounded::exact(value).unknown();
    }
    Bounded::new(value, total)
}

/// An operator of one value.
pub fn unary(op: UnaryOp, a: Bounded) -> Bounded {
    let value = scalar_ops::unary(op, a.value);
    if !a.value.dtype.is_float() {
        return if a.is_exact() { Bounded::exact(value) } else { Bounded::exact(value).unknown() };
    }
    let propagated = if a.is_exact() { 0.0 } else { spread(op, a, value) };
    if !value.dtype.is_float() || propagated == f64::INFINITY {
        return Bounded::new(value, propagated);
    }
    let own = if is_limit(a, value) { 0.0 } else { own_error(value, ulps(op)) };
    let total = if propagated == 0.0 { Bounded::exact(value) } else { inexact(value, propagated) };
    let contracted = match op {
        UnaryOp::Square => lost(a, a, value),
        // Compilers move the sign into the product, and drop that of a square.
        UnaryOp::Neg | UnaryOp::Abs => a.contracted,
        _ => 0.0,
    };
    Bounded { error: total.error + own, contracted, ..total }
}

/// e^x of an x that is no greater than 0, or NaN: expansions take an x of f32 to be 2^-28 of it more or less.
pub fn exp_nonpositive(x: Bounded) -> Bounded {
    let size = x.real().abs();
    let doubt = if x.value.dtype == DType::F32 && size.is_finite() { size * 2_f64.powi(-28) } else { 0.0 };
    unary(UnaryOp::Exp, Bounded { error: x.error + doubt, ..x })
}

/// The nearest integer in i32 of a float, ties to even.
pub fn nearest_int(x: Bounded) -> Bounded {
    cast(DType::I32, unary(UnaryOp::Round, x))
}

/// Whether an expansion gives this value to the bit: 0, ±1 and infinities at 0, at 1 and at the infinities.
fn is_limit(a: Bounded, value: Scalar) -> bool {
    let (x, y) = (a.real(), value.to_f64());
    a.is_exact() && (x == 0.0 || x == 1.0 || x.is_infinite()) && (y == 0.0 || y.abs() == 1.0 || y.is_infinite())
}

/// Whether a factor or divisor leaves a value as it is, but for the sign: compilers drop it.
fn is_one(a: Bounded) -> bool {
    a.is_exact() && a.real().abs() == 1.0
}

/// What a sum that contracts this product may change: what rounding it loses, or what its operand does.
fn product_lost(a: Bounded, b: Bounded, value: Scalar) -> f64 {
    match (is_one(a), is_one(b)) {
        (_, true) => a.contracted,
        (true, false) => b.contracted,
        (false, false) => lost(a, b, value),
    }
}

/// What a product loses by being rounded.
fn lost(a: Bounded, b: Bounded, value: Scalar) -> f64 {
    let product = value.to_f64();
    // Too large to be rounded, it is a number all the same, of which a sum may leave one or an infinity of either sign.
    if product.is_infinite() && a.real().is_finite() && b.real().is_finite() {
        return f64::INFINITY;
    }
    let half = ulp(value.dtype, product) / 2.0;
    // What is lost of smaller products is no f64.
    let small = product != 0.0 && product.abs() < 1e-290;
    if !a.is_exact() || !b.is_exact() || !product.is_finite() || small {
        return half;
    }
    a.real().mul_add(b.real(), -product).abs().min(half)
}

/// What an expansion adds to one rounding.
fn own_error(value: Scalar, bound: f64) -> f64 {
    if bound <= 0.5 {
        return 0.0;
    }
    match value.dtype {
        // Computed in f32 and rounded once, so at most the other neighbour.
        DType::F16 | DType::BF16 => ulp(value.dtype, value.to_f64()),
        // The interpreter's own libm is an ulp away too; for f32 its result is rounded from f64.
        DType::F64 => (bound + 1.0) * ulp(value.dtype, value.to_f64()),
        _ => (bound + 0.5) * ulp(value.dtype, value.to_f64()),
    }
}

/// How far results may be for operands within the error of `a`; `value` is the result for `a` itself.
fn spread(op: UnaryOp, a: Bounded, value: Scalar) -> f64 {
    let (x, lo, hi) = (a.real(), a.low(), a.high());
    let at = |x: f64| scalar_ops::unary_real(op, x);
    let ends = || {
        let y = value.to_f64();
        let far = (at(lo) - y).abs().max((at(hi) - y).abs());
        if far.is_nan() { f64::INFINITY } else { far }
    };
    if a.error == f64::INFINITY || !x.is_finite() {
        return f64::INFINITY;
    }
    match op {
        UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Sin | UnaryOp::Cos => a.error,
        UnaryOp::Square => (2.0 * x.abs() + a.error) * a.error,
        UnaryOp::Cosh => (at(x.abs() + a.error) - at(x.abs())).abs() + a.error,
        UnaryOp::Reciprocal if lo <= 0.0 && hi >= 0.0 => f64::INFINITY,
        UnaryOp::Tan if at(lo) > at(hi) || a.error > 1.5 => f64::INFINITY,
        UnaryOp::Sqrt if lo < 0.0 => f64::INFINITY,
        UnaryOp::IsNan | UnaryOp::IsInf | UnaryOp::IsFinite => {
            if hi.abs().max(lo.abs()) < largest(a.value.dtype) {
                0.0
            } else {
                f64::INFINITY
            }
        }
        UnaryOp::Not => f64::INFINITY,
        UnaryOp::Sign
        | UnaryOp::Floor
        | UnaryOp::Ceil
        | UnaryOp::Round
        | UnaryOp::Trunc
        | UnaryOp::Sqrt
        | UnaryOp::Rsqrt
        | UnaryOp::Reciprocal
        | UnaryOp::Exp
        | UnaryOp::Exp2
        | UnaryOp::Expm1
        | UnaryOp::Log
        | UnaryOp::Log2
        | UnaryOp::Log10
        | UnaryOp::Log1p
        | UnaryOp::Tan
        | UnaryOp::Asin
        | UnaryOp::Acos
        | UnaryOp::Atan
        | UnaryOp::Sinh
        | UnaryOp::Tanh
        | UnaryOp::Asinh
        | UnaryOp::Acosh
        | UnaryOp::Atanh
        | UnaryOp::Erf
        | UnaryOp::Sigmoid => ends(),
    }
}

/// An operator of two values of one dtype.
pub fn binary(op: BinaryOp, a: Bounded, b: Bounded) -> Bounded {
    let value = scalar_ops::binary(op, a.value, b.value);
    let exact = a.is_exact() && b.is_exact();
    if !value.dtype.is_float() {
        return if exact { Bounded::exact(value) } else { Bounded::exact(value).unknown() };
    }
    let (x, y) = (a.real(), b.real());
    if (x.is_nan() && a.is_exact()) || (y.is_nan() && b.is_exact()) {
        return Bounded::exact(value);
    }
    let mut propagated = match op {
        BinaryOp::Add | BinaryOp::Sub => a.error + b.error + a.contracted + b.contracted,
        BinaryOp::Min | BinaryOp::Max => {
            let far = a.error.max(b.error);
            // No rounding follows, and an exact operand that wins surely is exact.
            let other = if value == a.value { (a, b) } else { (b, a) };
            let gap = (other.0.real() - other.1.real()).abs();
            let error = if gap > a.error + b.error { other.0.error } else { far };
            // A choice of which one side is a number gives way to a choice of sums.
            return Bounded { contracted: a.contracted.max(b.contracted), ..Bounded::new(value, error) };
        }
        _ if exact => 0.0,
        BinaryOp::Mul => x.abs() * b.error + y.abs() * a.error + a.error * b.error,
        BinaryOp::Div => {
            let least = y.abs() - b.error;
            if least > 0.0 { (a.error + (x / y).abs() * b.error) / least } else { f64::INFINITY }
        }
        BinaryOp::Rem | BinaryOp::RemEuclid => {
            let turns = (a.low() / y).floor();
            let same = b.is_exact() && turns == (a.high() / y).floor() && (x.abs() > a.error || a.is_exact());
            if same { a.error } else { f64::INFINITY }
        }
        BinaryOp::DivEuclid => {
            let whole = |x: f64| (x / y).floor();
            if b.is_exact() && whole(a.low()) == whole(a.high()) { 0.0 } else { f64::INFINITY }
        }
        BinaryOp::Pow if a.low() > 0.0 => {
            let corners = [(a.low(), b.low()), (a.low(), b.high()), (a.high(), b.low()), (a.high(), b.high())];
            corners.iter().fold(0.0, |far: f64, (x, y)| far.max((x.powf(*y) - value.to_f64()).abs()))
        }
        BinaryOp::Atan2 => {
            let far = (x * x + y * y).sqrt() - a.error - b.error;
            let cut = y < b.error && x.abs() <= a.error;
            if far > 0.0 && !cut { (a.error + b.error) / far } else { f64::INFINITY }
        }
        BinaryOp::Pow | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr => f64::INFINITY,
    };
    if keeps_infinity(op, a, b) {
        propagated = 0.0;
    }
    let total = inexact(value, propagated);
    let contracted = match op {
        BinaryOp::Mul => product_lost(a, b, value),
        BinaryOp::Div if is_one(b) => a.contracted,
        // A square is written as a product, and so is a division that a power of two divides by.
        BinaryOp::Pow if b.is_exact() && y == 2.0 => lost(a, a, value),
        BinaryOp::Div if b.is_exact() && y.abs().log2().fract() == 0.0 => {
            lost(a, Bounded::exact(Scalar::float(value.dtype, 1.0 / y)), value)
        }
        _ => 0.0,
    };
    Bounded { error: total.error + own_error(value, binary_ulps(op)), contracted, ..total }
}

/// Whether an exact infinity decides the result whatever the other operand's error is.
fn keeps_infinity(op: BinaryOp, a: Bounded, b: Bounded) -> bool {
    let sure = |x: Bounded| x.is_exact() && x.real().is_infinite();
    let finite = |x: Bounded| x.error.is_finite() && x.real().is_finite();
    match op {
        BinaryOp::Add | BinaryOp::Sub => {
            let rounded = |x: Bounded| x.is_exact() && x.contracted.is_finite();
            let decides = |x: Bounded| sure(x) && rounded(x);
            (decides(a) && (finite(b) || rounded(b))) || (decides(b) && finite(a))
        }
        BinaryOp::Mul => {
            let apart = |x: Bounded| finite(x) && x.real().abs() > x.error;
            (sure(a) && apart(b)) || (sure(b) && apart(a))
        }
        _ => false,
    }
}

/// A comparison, giving a bool that is unknown where the errors overlap.
pub fn compare(op: CmpOp, a: Bounded, b: Bounded) -> Bounded {
    let value = Scalar::bool(scalar_ops::compare(op, a.value, b.value));
    let error = a.error + b.error;
    if error == 0.0 {
        return Bounded::exact(value);
    }
    let sure = a.value.dtype.is_float() && (a.real() - b.real()).abs() > error;
    if sure { Bounded::exact(value) } else { Bounded::exact(value).unknown() }
}

/// Conversion as Rust's `as`.
pub fn cast(to: DType, a: Bounded) -> Bounded {
    let value = scalar_ops::cast(to, a.value);
    if a.is_exact() {
        // Widening a product loses nothing of it; what follows may still be contracted.
        return Bounded { contracted: if to.is_float() { a.contracted } else { 0.0 }, ..Bounded::exact(value) };
    }
    if !a.value.dtype.is_float() || a.error == f64::INFINITY {
        return Bounded::exact(value).unknown();
    }
    if to.is_float() {
        let wider = ulp(to, 1.0) <= ulp(a.value.dtype, 1.0) && largest(to) >= largest(a.value.dtype);
        let error = if wider { Bounded::new(value, a.error) } else { inexact(value, a.error) };
        return Bounded { contracted: a.contracted, ..error };
    }
    let at = |x: f64| Scalar::float(to, x);
    if at(a.low()) == value && at(a.high()) == value { Bounded::exact(value) } else { Bounded::exact(value).unknown() }
}

/// `a` if `cond`, else `b`; where the condition is unknown, whichever, within an error that holds both.
pub fn select(cond: Bounded, a: Bounded, b: Bounded) -> Bounded {
    let (taken, other) = if cond.value.bits != 0 { (a, b) } else { (b, a) };
    if cond.is_exact() {
        return taken;
    }
    if taken.value == other.value {
        return Bounded { error: taken.error.max(other.error), ..taken };
    }
    if !taken.value.dtype.is_float() {
        return taken.unknown();
    }
    let apart = (taken.real() - other.real()).abs();
    let error = Bounded::new(taken.value, taken.error.max(apart + other.error));
    Bounded { contracted: taken.contracted.max(other.contracted), ..error }
}

/// `a * b + c`, rounded once.
pub fn fma(a: Bounded, b: Bounded, c: Bounded) -> Bounded {
    let (x, y, z) = (a.real(), b.real(), c.real());
    let value = match a.value.dtype {
        DType::F32 => Scalar::float(DType::F32, f64::from((x as f32).mul_add(y as f32, z as f32))),
        dtype => Scalar::float(dtype, x.mul_add(y, z)),
    };
    let error = c.error
        + if a.is_exact() && b.is_exact() { 0.0 } else { x.abs() * b.error + y.abs() * a.error + a.error * b.error };
    inexact(value, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f(x: f64) -> Bounded {
        Bounded::exact(Scalar::float(DType::F32, x))
    }

    #[test]
    fn one_rounding_is_exact() {
        let sum = binary(BinaryOp::Add, f(0.1), f(0.2));
        assert!(sum.is_exact());
        assert!(binary(BinaryOp::Mul, f(0.1), f(0.2)).is_exact());
        assert!(unary(UnaryOp::Sqrt, f(2.0)).is_exact());
        assert!(unary(UnaryOp::Exp, f(2.0)).error > 0.0);
    }

    #[test]
    fn a_product_in_a_sum_may_be_contracted() {
        let p = binary(BinaryOp::Mul, f(0.1), f(0.3));
        let s = binary(BinaryOp::Sub, p, f(0.03));
        let fused = f64::from(0.1f32.mul_add(0.3, -0.03));
        assert!(s.admits(Scalar::float(DType::F32, fused)));
    }

    #[test]
    fn what_chooses_a_product_leaves_it_to_be_contracted() {
        let square = unary(UnaryOp::Square, f(0.1));
        assert!(square.contracted > 0.0);
        assert_eq!(unary(UnaryOp::Abs, square).contracted, square.contracted);
        assert_eq!(binary(BinaryOp::Max, square, f(0.0)).contracted, square.contracted);
        // A quotient by a power of two is a product.
        let tiny = f(f64::from(f32::from_bits(3)));
        assert_eq!(binary(BinaryOp::Div, tiny, f(2.0)).contracted, f64::from(f32::from_bits(1)) / 2.0);
    }

    #[test]
    fn a_product_that_is_not_rounded_loses_nothing() {
        let p = binary(BinaryOp::Mul, f(1.5), f(-2.25));
        assert!(binary(BinaryOp::Sub, p, f(0.1)).is_exact());
        let tiny = f(f64::from(f32::from_bits(3)));
        let lost = binary(BinaryOp::Mul, tiny, f(0.5));
        assert_eq!(lost.contracted, f64::from(f32::from_bits(1)) / 2.0);
    }

    #[test]
    fn one_and_signs_leave_a_product_to_be_contracted() {
        let product = binary(BinaryOp::Mul, f(0.1), f(0.3));
        assert!(product.contracted > 0.0);
        for one in [1.0, -1.0] {
            assert_eq!(binary(BinaryOp::Mul, product, f(one)).contracted, product.contracted);
            assert_eq!(binary(BinaryOp::Mul, f(one), product).contracted, product.contracted);
            assert_eq!(binary(BinaryOp::Div, product, f(one)).contracted, product.contracted);
        }
        assert_eq!(unary(UnaryOp::Neg, product).contracted, product.contracted);
    }

    #[test]
    fn products_beyond_the_largest_float_may_come_back_in_a_sum() {
        let product = binary(BinaryOp::Mul, f(2e38), f(2.0));
        assert!(product.is_exact() && product.get() == f64::INFINITY);
        for (other, fused) in [(-3e38, 1e38), (f64::NEG_INFINITY, f64::NEG_INFINITY)] {
            let sums = [binary(BinaryOp::Add, product, f(other)), binary(BinaryOp::Add, f(other), product)];
            assert!(sums.iter().all(|sum| sum.admits(f(fused).value)), "{sums:?}");
            let mut sum = crate::eval::Sum::new(BinaryOp::Add, f(other));
            sum.add(product);
            assert!(sum.total().admits(f(fused).value));
        }
        for product in [binary(BinaryOp::Pow, f(2e38), f(2.0)), binary(BinaryOp::Div, f(2e38), f(0.5))] {
            assert!(binary(BinaryOp::Add, product, f(-3e38)).admits(f(1e38).value));
        }
        // Factors that are infinite are so without being rounded, and no other product is added.
        let product = binary(BinaryOp::Mul, f(f64::INFINITY), f(2.0));
        assert!(binary(BinaryOp::Add, product, f(-3e38)).is_exact());
        assert!(binary(BinaryOp::Mul, binary(BinaryOp::Mul, f(2e38), f(2.0)), f(2.0)).is_exact());
    }

    #[test]
    fn limits_are_exact() {
        let least = unary(UnaryOp::Sigmoid, f(f64::NEG_INFINITY));
        assert!(least.is_exact() && least.get() == 0.0);
        assert!(unary(UnaryOp::Exp, f(0.0)).is_exact());
        assert!(unary(UnaryOp::Log, f(1.0)).is_exact());
        assert!(!unary(UnaryOp::Atan, f(f64::INFINITY)).is_exact());
        assert!(!unary(UnaryOp::Exp, f(-1000.0)).is_exact());
    }

    #[test]
    fn comparisons_of_close_values_are_unknown() {
        let e = unary(UnaryOp::Exp, f(1.0));
        let same = compare(CmpOp::Lt, e, e);
        assert!(!same.is_exact());
        assert!(compare(CmpOp::Lt, f(1.0), e).is_exact());
        let chosen = select(same, f(1.0), f(2.0));
        assert!(chosen.admits(f(1.0).value) && chosen.admits(f(2.0).value) && !chosen.admits(f(3.5).value));
    }

    #[test]
    fn infinities_stay() {
        let e = unary(UnaryOp::Exp, f(1.0));
        let inf = f(f64::INFINITY);
        assert!(binary(BinaryOp::Add, inf, e).is_exact());
        assert!(binary(BinaryOp::Mul, inf, e).is_exact());
        assert!(binary(BinaryOp::Add, f(f64::NAN), e).is_exact());
    }
}
