//! Fixed-point multiplication, and integers next to floats.

use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::tir::{Builder, Elem, ExprId};
use tenfold_ir::{DType, Scalar};

use super::kit::Kit;

/// x * multiplier * 2^(shift - 31) of i32, rounded to nearest with ties up, saturating.
pub(super) fn multiply_shift(b: &mut Builder, x: ExprId, multiplier: ExprId, shift: ExprId) -> ExprId {
    let (wx, wm, ws) = (b.cast(DType::I64, x), b.cast(DType::I64, multiplier), b.cast(DType::I64, shift));
    let product = b.mul(wx, wm);
    let (one, zero, bias) = (long(b, 1), long(b, 0), long(b, 31));
    let right = b.sub(bias, ws);
    let far = shift_right(b, product, right);
    // One place to the right.
    let bumped = b.add(product, one);
    let near = b.binary(BinaryOp::Shr, bumped, one);
    let left = shift_left(b, product, right);
    let is_one = b.compare(CmpOp::Eq, right, one);
    let is_left = b.compare(CmpOp::Le, right, zero);
    let value = b.select(is_one, near, far);
    let value = b.select(is_left, left, value);
    let value = saturate(b, value);
    b.cast(DType::I32, value)
}

/// The integer next to a float: one and a half times the power of two from which on floats are whole numbers is added, which
/// rounds it to one with ties to even, and the low bits of the sum are that one.
pub(super) fn nearest_int(b: &mut Builder, x: ExprId) -> ExprId {
    let Elem::Scalar(dtype) = b.ty(x).elem else { return x };
    let mut k = Kit::new(b, dtype);
    let whole = k.c2(1.5 * f64::from(1 << 23), 1.5 * 2f64.powi(52));
    let sum = k.add(x, whole);
    let bits = k.bits(sum);
    if k.double() {
        return b.cast(DType::I32, bits);
    }
    let first = k.int(i64::from(1.5f32.to_bits()) + (23 << 23));
    k.sub(bits, first)
}

fn long(b: &mut Builder, value: i64) -> ExprId {
    b.scalar(Scalar::int(DType::I64, i128::from(value)))
}

fn saturate(b: &mut Builder, value: ExprId) -> ExprId {
    let (low, high) = (long(b, i64::from(i32::MIN)), long(b, i64::from(i32::MAX)));
    let value = b.binary(BinaryOp::Max, value, low);
    b.binary(BinaryOp::Min, value, high)
}

/// (p + 2^(r - 1)) >> r for r >= 2, as ((p >> 1) + 2^(r - 2)) >> (r - 1), which does not overflow.
fn shift_right(b: &mut Builder, product: ExprId, right: ExprId) -> ExprId {
    let (one, two, most) = (long(b, 1), long(b, 2), long(b, 64));
    let right = b.binary(BinaryOp::Max, right, two);
    let right = b.binary(BinaryOp::Min, right, most);
    let (halved, less) = (b.binary(BinaryOp::Shr, product, one), b.sub(right, one));
    let place = b.sub(right, two);
    let half = b.binary(BinaryOp::Shl, one, place);
    let sum = b.add(halved, half);
    b.binary(BinaryOp::Shr, sum, less)
}

/// p << -r for r <= 0: saturating first keeps the shift inside 64 bits.
fn shift_left(b: &mut Builder, product: ExprId, right: ExprId) -> ExprId {
    let (zero, most) = (long(b, 0), long(b, 31));
    let left = b.sub(zero, right);
    let left = b.binary(BinaryOp::Max, left, zero);
    let left = b.binary(BinaryOp::Min, left, most);
    let bounded = saturate(b, product);
    b.binary(BinaryOp::Shl, bounded, left)
}
