//! Elementwise operators on scalars that carry bounds.

use super::compose::{Ops, activation};
use super::num::{Accuracy, Num, ulp};
use super::scalar_ops::{self, binary_real, unary_real};
use crate::op::{BinaryOp, CmpOp, ElementOp, UnaryOp};
use crate::{DType, Scalar};

/// How far a mathematical function may be from the true result, in ulps. Halves are computed in f32.
fn function_ulps(dtype: DType) -> Accuracy {
    Accuracy::Ulps(if dtype.is_half() { 1.0 } else { 7.0 })
}

fn accuracy(op: UnaryOp, dtype: DType) -> Accuracy {
    use UnaryOp as U;
    match op {
        U::Neg | U::Not | U::Abs | U::Sign | U::Floor | U::Ceil | U::Round | U::Trunc => Accuracy::Rounded,
        U::Sqrt | U::Reciprocal | U::Square | U::IsNan | U::IsInf | U::IsFinite => Accuracy::Rounded,
        U::Rsqrt | U::Exp | U::Exp2 | U::Expm1 | U::Log | U::Log2 | U::Log10 | U::Log1p => function_ulps(dtype),
        U::Sin | U::Cos | U::Tan | U::Asin | U::Acos | U::Atan | U::Sinh | U::Cosh | U::Tanh => function_ulps(dtype),
        U::Asinh | U::Acosh | U::Atanh | U::Erf | U::Sigmoid => function_ulps(dtype),
    }
}

/// An operator of integers or bools, or of floats to bools: exact unless an operand is not.
fn decided(value: Scalar, args: &[Num]) -> Num {
    if args.iter().all(|arg| arg.is_exact()) { Num::exact(value) } else { Num::anything(value) }
}

/// The result of an operator of one value.
pub fn unary(op: UnaryOp, x: Num) -> Num {
    let dtype = x.value.dtype;
    match op {
        UnaryOp::IsNan | UnaryOp::IsInf | UnaryOp::IsFinite => {
            // A finite bound means that every back end has a finite value here.
            let value = scalar_ops::unary(op, x.value);
            if x.is_anything() { Num::anything(value) } else { Num::exact(value) }
        }
        _ if !dtype.is_float() => decided(scalar_ops::unary(op, x.value), &[x]),
        UnaryOp::Square => binary(BinaryOp::Mul, x, x),
        _ => {
            let center = unary_real(op, x.get());
            let x = Num { error: x.error + super::angle_error(op, x.get()), ..x };
            let rounds = !matches!(op, UnaryOp::Neg | UnaryOp::Abs);
            let moved = unary_moved(op, x, center);
            if !rounds && !x.is_exact() && !x.is_anything() {
                return Num { value: scalar_ops::unary(op, x.value), error: x.error };
            }
            Num::result(dtype, center, moved, accuracy(op, dtype), &[x])
        }
    }
}

/// How far the operand's bound moves the result.
fn unary_moved(op: UnaryOp, x: Num, center: f64) -> f64 {
    if x.is_exact() || x.is_anything() {
        return 0.0;
    }
    let (lo, hi) = x.ends();
    match op {
        UnaryOp::Sin | UnaryOp::Cos => x.error.min(2.0),
        // Between the ends lies a pole, where the ends say nothing.
        UnaryOp::Tan if x.error >= 1.0 || lo.cos() * hi.cos() <= 0.0 => f64::INFINITY,
        UnaryOp::Reciprocal if lo <= 0.0 && hi >= 0.0 => f64::INFINITY,
        // All others are monotone or convex and even, so the ends are the farthest.
        _ => [lo, hi].into_iter().map(|end| (unary_real(op, end) - center).abs()).fold(0.0, worst),
    }
}

/// The larger; infinity for NaN.
fn worst(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::INFINITY } else { a.max(b) }
}

/// The result of an operator of two values.
pub fn binary(op: BinaryOp, a: Num, b: Num) -> Num {
    let dtype = a.value.dtype;
    if !dtype.is_float() {
        return decided(scalar_ops::binary(op, a.value, b.value), &[a, b]);
    }
    let (x, y) = (a.get(), b.get());
    let center = binary_real(op, x, y, dtype);
    let accuracy = match op {
        BinaryOp::Pow => Accuracy::Ulps(if dtype.is_half() { 2.0 } else { 1.0 + super::pow_ulps(dtype, x, y) }),
        BinaryOp::Atan2 => function_ulps(dtype),
        _ => Accuracy::Rounded,
    };
    if a.is_exact() && b.is_exact() {
        return match op {
            BinaryOp::Mul => product(dtype, x, y),
            _ => Num::result(dtype, center, 0.0, accuracy, &[a, b]),
        };
    }
    if matches!(op, BinaryOp::Min | BinaryOp::Max) && !a.is_anything() && !b.is_anything() {
        let value = scalar_ops::binary(op, a.value, b.value);
        return if value.to_f64().is_nan() { Num::exact(value) } else { Num::near(value, corners(op, a, b, center)) };
    }
    Num::result(dtype, center, binary_moved(op, a, b, center), accuracy, &[a, b])
}

/// A product of exact factors: rounded, or, in a contracted sum, not.
fn product(dtype: DType, x: f64, y: f64) -> Num {
    let value = Scalar::float(dtype, x * y);
    let rounded = value.to_f64();
    // Zero where the product is a float; `x * y` itself is exact for all but f64.
    let lost = x.mul_add(y, -rounded).abs();
    if rounded.is_finite() && lost > 0.0 { Num::near(value, lost) } else { Num::exact(value) }
}

/// How far the operands' bounds move the result.
fn binary_moved(op: BinaryOp, a: Num, b: Num, center: f64) -> f64 {
    let (x, y) = (a.get(), b.get());
    match op {
        BinaryOp::Add | BinaryOp::Sub => a.error + b.error,
        BinaryOp::Mul => times(x, b.error) + times(y, a.error) + a.error * b.error,
        BinaryOp::Div if y.abs() <= b.error => f64::INFINITY,
        BinaryOp::Div if y.is_infinite() => 0.0,
        BinaryOp::Div => (a.error + times(center, b.error)) / (y.abs() - b.error),
        BinaryOp::Rem | BinaryOp::RemEuclid => {
            let quotient = |x: f64, y: f64| if op == BinaryOp::Rem { (x / y).trunc() } else { x.div_euclid(y) };
            let (ends_a, ends_b) = (a.ends(), b.ends());
            let q = quotient(x, y);
            let same =
                [ends_a.0, ends_a.1].into_iter().all(|x| [ends_b.0, ends_b.1].into_iter().all(|y| quotient(x, y) == q));
            if same { a.error + times(q, b.error) } else { f64::INFINITY }
        }
        BinaryOp::Pow if a.ends().0 <= 0.0 => f64::INFINITY,
        BinaryOp::DivEuclid if y.abs() <= b.error => f64::INFINITY,
        BinaryOp::Pow | BinaryOp::DivEuclid | BinaryOp::Min | BinaryOp::Max => corners(op, a, b, center),
        BinaryOp::Atan2 => {
            // The angle moves by at most what the point moves over its distance; it jumps across the negative axis.
            let moved = a.error + b.error;
            let room = x.hypot(y) - moved;
            let jumps = y - b.error < 0.0 && x.abs() <= a.error;
            if room <= 0.0 || jumps { f64::INFINITY } else { 1.6 * moved / room }
        }
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr => 0.0,
    }
}

/// `|x| error`, where an error of 0 is 0 beside an infinity too.
fn times(x: f64, error: f64) -> f64 {
    if error == 0.0 { 0.0 } else { x.abs() * error }
}

/// The farthest that an operator monotone in each operand gets at the ends of the operands.
fn corners(op: BinaryOp, a: Num, b: Num, center: f64) -> f64 {
    let (ends_a, ends_b) = (a.ends(), b.ends());
    let each = [(ends_a.0, ends_b.0), (ends_a.0, ends_b.1), (ends_a.1, ends_b.0), (ends_a.1, ends_b.1)];
    let moved = each.into_iter().map(|(x, y)| {
        let end = binary_real(op, x, y, DType::F64);
        // Two equal infinities have no distance.
        if end == center { 0.0 } else { (end - center).abs() }
    });
    moved.fold(0.0, worst)
}

/// The result of a comparison: nothing is demanded where the bounds let it go either way.
pub fn compare(op: CmpOp, a: Num, b: Num) -> Num {
    let value = Scalar::bool(scalar_ops::compare(op, a.value, b.value));
    if (a.is_exact() && b.is_exact()) || (!a.is_anything() && !b.is_anything() && apart(a, b)) {
        Num::exact(value)
    } else {
        Num::anything(value)
    }
}

/// Whether the bounds leave no doubt which of two floats is the larger, or whether one is NaN.
pub fn apart(a: Num, b: Num) -> bool {
    let (x, y) = (a.get(), b.get());
    x.is_nan() || y.is_nan() || (x - y).abs() > a.error + b.error
}

/// Conversion as Rust's `as`.
pub fn cast(to: DType, x: Num) -> Num {
    let value = scalar_ops::cast(to, x.value);
    if x.is_exact() {
        return Num::exact(value);
    }
    if x.is_anything() || !x.value.dtype.is_float() {
        return Num::anything(value);
    }
    let (lo, hi) = x.ends();
    if to.is_float() {
        return if to == x.value.dtype { x } else { Num::result(to, x.get(), x.error, Accuracy::Rounded, &[x]) };
    }
    let same = Scalar::float(to, lo) == value && Scalar::float(to, hi) == value;
    if same { Num::exact(value) } else { Num::anything(value) }
}

/// `t` where the condition holds, else `f`; where the condition is in doubt, both.
pub fn select(condition: Num, t: Num, f: Num) -> Num {
    let (chosen, other) = if condition.value.bits != 0 { (t, f) } else { (f, t) };
    if condition.is_exact() || chosen == other {
        return chosen;
    }
    if !chosen.value.dtype.is_float() || chosen.is_anything() || other.is_anything() {
        return if chosen.value == other.value { chosen } else { Num::anything(chosen.value) };
    }
    let distance = (chosen.get() - other.get()).abs() + other.error;
    Num::near(chosen.value, worst(distance, chosen.error))
}

/// Composition over bounded scalars.
pub(super) struct Bounded;

impl Ops for Bounded {
    type Value = Num;
    fn real(&self, dtype: DType, value: f64) -> Num {
        // For an integer dtype too: the constants of its activations are whole.
        Num::exact(Scalar::float(dtype, value))
    }
    fn dtype(&self, x: Num) -> DType {
        x.value.dtype
    }
    fn unary(&self, op: UnaryOp, x: Num) -> Num {
        unary(op, x)
    }
    fn binary(&self, op: BinaryOp, a: Num, b: Num) -> Num {
        binary(op, a, b)
    }
    fn compare(&self, op: CmpOp, a: Num, b: Num) -> Num {
        compare(op, a, b)
    }
    fn select(&self, c: Num, t: Num, f: Num) -> Num {
        select(c, t, f)
    }
}

/// The result of an elementwise operator; `args` are as many as the operator takes.
pub fn element(op: ElementOp, args: &[Num]) -> Num {
    let x = args[0];
    match op {
        ElementOp::Unary(op) => unary(op, x),
        ElementOp::Binary(op) => binary(op, x, args[1]),
        ElementOp::Compare(op) => compare(op, x, args[1]),
        ElementOp::Activation(op) => activation(&Bounded, op, x),
        ElementOp::Cast(to) => cast(to, x),
        ElementOp::Select => select(x, args[1], args[2]),
        ElementOp::Clip => binary(BinaryOp::Min, binary(BinaryOp::Max, x, args[1]), args[2]),
        ElementOp::Prelu => {
            let below = binary(BinaryOp::Mul, args[1], x);
            let zero = Bounded.real(x.value.dtype, 0.0);
            select(compare(CmpOp::Ge, x, zero), x, below)
        }
        ElementOp::QMultiplyShift => decided(scalar_ops::q_multiply_shift(x.value, args[1].value, args[2].value), args),
    }
}

/// The sum in any order, of terms of one float dtype in which it accumulates. `products` says that each term is a
/// product whose rounding may be skipped.
pub fn sum(dtype: DType, terms: &[Num]) -> Num {
    let center: f64 = terms.iter().map(|term| term.get()).sum();
    let zero = Num::exact(Scalar::zero(dtype));
    match terms {
        [] => return zero,
        [one] => return *one,
        _ => {}
    }
    let value = Scalar::float(dtype, center);
    if terms.iter().any(|term| term.is_anything()) {
        return Num::anything(value);
    }
    let size: f64 = terms.iter().map(|term| term.get().abs()).sum();
    if center.is_nan() || size.is_infinite() {
        // NaN and infinities among exact terms decide the sum, whatever the order; finite ones that overflow may not.
        let special = terms.iter().any(|term| !term.get().is_finite());
        return if special { Num::exact(value) } else { Num::anything(value) };
    }
    let moved: f64 = terms.iter().map(|term| term.error).sum();
    let whole = terms.iter().all(|term| term.get().fract() == 0.0) && size < 1.0 / super::num::unit(dtype);
    if moved == 0.0 && whole {
        return Num::exact(value);
    }
    if size + moved > super::num::greatest(dtype) {
        return Num::anything(value);
    }
    // Each of n - 1 additions rounds a partial sum of at most `size`; our own sum in f64 may be as wrong for f64.
    let roundings = 2.0 * (terms.len() as f64) * super::num::unit(dtype) * (size + moved);
    Num::near(value, moved + roundings + ulp(dtype, value.to_f64()))
}

/// The product in any order, of terms of the float dtype in which it accumulates.
pub fn prod(dtype: DType, terms: &[Num]) -> Num {
    match terms {
        [] => return Num::exact(Scalar::one(dtype)),
        [one] => return *one,
        _ => {}
    }
    let center: f64 = terms.iter().map(|term| term.get()).product();
    let value = Scalar::float(dtype, center);
    if terms.iter().any(|term| term.is_anything()) {
        return Num::anything(value);
    }
    let special = terms.iter().any(|term| term.get() == 0.0 || !term.get().is_finite());
    if special {
        // A zero, an infinity or NaN decides, unless the rest may overflow or underflow before it meets them.
        let logs: f64 =
            terms.iter().filter(|t| t.get() != 0.0 && t.get().is_finite()).map(|t| t.get().abs().log2().abs()).sum();
        let calm = logs < -super::num::unit(dtype).log2() * 4.0 && terms.iter().all(|term| term.is_exact());
        return if calm || center.is_nan() { Num::exact(value) } else { Num::anything(value) };
    }
    let relative: f64 = terms.iter().map(|term| term.error / (term.get().abs() - term.error).max(0.0)).sum();
    let logs = |up: bool| -> f64 { terms.iter().map(|t| t.get().abs().log2()).filter(|l| (*l > 0.0) == up).sum() };
    let overflows = logs(true) > super::num::greatest(dtype).log2() - 1.0;
    let underflows = -logs(false) > -ulp(dtype, 0.0).log2() + super::num::unit(dtype).log2() - 1.0;
    if overflows || underflows || !relative.is_finite() {
        return Num::anything(value);
    }
    let whole = terms.iter().all(|term| term.get().fract() == 0.0 && term.is_exact());
    if whole && center.abs() < 1.0 / super::num::unit(dtype) {
        return Num::exact(value);
    }
    let factor = (relative + 2.0 * terms.len() as f64 * super::num::unit(dtype)).exp_m1();
    Num::near(value, value.to_f64().abs() * factor + ulp(dtype, value.to_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f(x: f64) -> Num {
        Num::exact(Scalar::float(DType::F32, x))
    }

    #[test]
    fn exact_operands_give_exact_results_where_rounding_is_defined() {
        assert!(binary(BinaryOp::Add, f(0.1), f(0.2)).is_exact());
        assert!(binary(BinaryOp::Mul, f(3.0), f(4.0)).is_exact());
        let inexact = binary(BinaryOp::Mul, f(0.1), f(0.1));
        assert!(inexact.error > 0.0 && inexact.error < 1e-9);
        let exp = unary(UnaryOp::Exp, f(1.0));
        assert!(exp.error > 0.0 && exp.error < 1e-5 && exp.admits(Scalar::float(DType::F32, 1f64.exp())));
        assert!(unary(UnaryOp::Exp, f(f64::NEG_INFINITY)).admits(Scalar::float(DType::F32, 0.0)));
        assert!(unary(UnaryOp::Log, f(-1.0)).is_exact());
    }

    #[test]
    fn doubt_spreads_to_what_depends_on_it() {
        let x = Num::near(Scalar::float(DType::F32, 0.0), 1e-7);
        assert!(compare(CmpOp::Lt, x, f(0.0)).is_anything());
        assert!(compare(CmpOp::Lt, x, f(1.0)).is_exact());
        assert!(cast(DType::I32, x).is_exact());
        assert!(unary(UnaryOp::Floor, x).error >= 1.0);
        assert!(binary(BinaryOp::Div, f(1.0), x).is_anything());
        let chosen = select(compare(CmpOp::Lt, x, f(0.0)), f(1.0), f(2.0));
        assert!(chosen.admits(Scalar::float(DType::F32, 1.0)) && chosen.admits(Scalar::float(DType::F32, 2.0)));
    }

    #[test]
    fn sums_are_bounded_by_their_magnitudes() {
        let terms: Vec<Num> = (0..1000).map(|i| f(f64::from(i % 7) * 0.1)).collect();
        let total = sum(DType::F32, &terms);
        let serial = terms.iter().fold(0f32, |acc, t| acc + t.get() as f32);
        assert!(total.admits(Scalar::float(DType::F32, f64::from(serial))), "{total:?} {serial}");
        assert!(total.error < 0.1);
        assert!(sum(DType::F32, &[f(1.0), f(2.0), f(3.0)]).is_exact());
        assert!(sum(DType::F32, &[f(f64::INFINITY), f(1.0)]).is_exact());
        assert!(sum(DType::F32, &[f(3e38), f(3e38), f(-3e38)]).is_anything());
        assert!(prod(DType::F32, &[f(0.1), f(0.3), f(0.7)]).error > 0.0);
        assert!(prod(DType::F32, &[f(2.0), f(3.0), f(7.0)]).is_exact());
    }
}
