//! Fixed-point multiplication as TFLite defines it.

use tenfold_ir::op::BinaryOp;
use tenfold_ir::op::CmpOp::Lt;
use tenfold_ir::tir::{Builder, ExprId};
use tenfold_ir::{DType, Scalar};

/// MultiplyByQuantizedMultiplier: x * multiplier * 2^(shift - 31), rounded to nearest with ties away from zero in
/// the high multiplication, then again in the right shift; saturating where x and multiplier are both the least value.
pub fn multiply_shift(b: &mut Builder, x: ExprId, multiplier: ExprId, shift: ExprId) -> ExprId {
    let zero = b.scalar(Scalar::zero(DType::I32));
    let left = b.binary(BinaryOp::Max, shift, zero);
    let minus = b.unary(tenfold_ir::op::UnaryOp::Neg, shift);
    let right = b.binary(BinaryOp::Max, minus, zero);
    let shifted = b.binary(BinaryOp::Shl, x, left);
    let high = doubling_high_mul(b, shifted, multiplier);
    rounding_shift(b, high, right)
}

fn long(b: &mut Builder, value: i64) -> ExprId {
    b.scalar(Scalar::int(DType::I64, i128::from(value)))
}

/// (2 a c + 2^31 with the product's sign) / 2^32, towards zero; saturating.
fn doubling_high_mul(b: &mut Builder, a: ExprId, c: ExprId) -> ExprId {
    let (wa, wc) = (b.cast(DType::I64, a), b.cast(DType::I64, c));
    let product = b.mul(wa, wc);
    let zero = long(b, 0);
    let (up, down) = (long(b, 1 << 30), long(b, 1 - (1 << 30)));
    let negative = b.compare(Lt, product, zero);
    let nudge = b.select(negative, down, up);
    let sum = b.add(product, nudge);
    let scale = long(b, 1 << 31);
    let high = b.div(sum, scale);
    let most = long(b, i64::from(i32::MAX));
    let high = b.binary(BinaryOp::Min, high, most);
    b.cast(DType::I32, high)
}

/// x / 2^by, rounded to nearest, ties away from zero.
fn rounding_shift(b: &mut Builder, x: ExprId, by: ExprId) -> ExprId {
    let (zero, one) = (b.scalar(Scalar::zero(DType::I32)), b.scalar(Scalar::one(DType::I32)));
    let power = b.binary(BinaryOp::Shl, one, by);
    let mask = b.sub(power, one);
    let rest = b.binary(BinaryOp::And, x, mask);
    let half = b.binary(BinaryOp::Shr, mask, one);
    let negative = b.compare(Lt, x, zero);
    let bump = b.select(negative, one, zero);
    let threshold = b.add(half, bump);
    let above = b.compare(Lt, threshold, rest);
    let carry = b.select(above, one, zero);
    let shifted = b.binary(BinaryOp::Shr, x, by);
    b.add(shifted, carry)
}
