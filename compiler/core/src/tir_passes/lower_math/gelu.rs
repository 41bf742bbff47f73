//! x Φ(x), as it is written: x (1 + erf(x / √2)) / 2. By its parts it takes an error function, of which only what 1 leaves
//! of it counts; as a whole it is one power of two, and what is left of negative numbers is nearer to the exact value than
//! by the parts, where 1 cancels most of it.

use tenfold_ir::op::CmpOp::{Gt, Lt};
use tenfold_ir::op::{BinaryOp, UnaryOp};
use tenfold_ir::tir::{Builder, Elem, Expr, ExprId, Intrinsic};
use tenfold_ir::{DType, Scalar};

use super::kit::Kit;
use super::power::{by_table, half_of_power};

/// log2(2 Φ(-t)) / t up to [`MOST`], least squares of the error of Φ, and of a ten-thousandth of the relative one, weighted
/// towards the largest; each coefficient is rounded to f32 before those behind it are fitted.
const EXPONENT: [f64; 9] = [
    -1.151_105_165_481_567_4,
    -4.592_091_739_177_704e-1,
    -5.248_880_758_881_569e-2,
    7.040_469_441_562_891e-3,
    -1.018_340_699_937_674_6e-4,
    -2.147_500_345_017_761e-4,
    5.191_141_463_001_259e-5,
    -5.612_410_404_864_931_5e-6,
    2.421_951_421_638_368_6e-7,
];
/// From here on Φ(-t) is less than 1e-9, and taken to be nothing.
const MOST: f64 = 6.0;

/// The expression itself, unless it is this function of f32.
pub(super) fn expand(b: &mut Builder, id: ExprId, tables: bool) -> ExprId {
    if b.ty(id).elem != Elem::Scalar(DType::F32) {
        return id;
    }
    match argument(b, id) {
        Some(x) => of_single(&mut Kit { tables, ..Kit::new(b, DType::F32) }, x),
        None => id,
    }
}

/// Φ(-|x|) is a power of two, and Φ(x) that or what is left of 1; nothing is left of the one from [`MOST`] on, whatever the
/// polynomial says there, so that the ends are those of the parts.
fn of_single(k: &mut Kit<'_>, x: ExprId) -> ExprId {
    let (size, zero) = (k.abs(x), k.c(0.0));
    if by_table(k, x) {
        return fused(k, x, size);
    }
    let (below, one) = (less_than(k, size), k.c(1.0));
    let below = k.where_c(size, Gt, MOST, zero, below);
    let above = k.sub(one, below);
    let phi = k.where_c(x, Lt, 0.0, below, above);
    k.mul(x, phi)
}

/// max(x, 0) - |x| Φ(-|x|), fewer operations where products and sums are fused: what is left of the least numbers is
/// rounded once. Beyond [`MOST`] less than 6e-9 is left, and taken to be that; of minus infinity no number is.
fn fused(k: &mut Kit<'_>, x: ExprId, size: ExprId) -> ExprId {
    let (zero, most) = (k.c(0.0), k.c(MOST));
    let size = k.where_c(size, Gt, MOST, most, size);
    let (below, down) = (less_than(k, size), k.neg(size));
    let negative = k.where_c(x, Lt, 0.0, x, zero);
    let above = k.sub(x, negative);
    let ty = k.b.ty(x);
    k.b.call(Intrinsic::Fma, vec![down, below, above], ty)
}

/// Φ(-t) for 0 <= t <= [`MOST`].
fn less_than(k: &mut Kit<'_>, t: ExprId) -> ExprId {
    let e = k.poly(t, &EXPONENT);
    let e = k.mul(e, t);
    let (power, s) = half_of_power(k, e);
    k.mad(power, s, power)
}

/// What this is the function of: the factors are x, 1 / 2 and 1 + erf(x / √2), in any order.
fn argument(b: &Builder, id: ExprId) -> Option<ExprId> {
    let (left, right) = product(b, id)?;
    let (mut factors, mut half) = (Vec::new(), false);
    for side in [left, right] {
        match product(b, side) {
            Some((u, v)) => factors.extend([u, v]),
            None => factors.push(side),
        }
    }
    factors.retain(|factor| {
        let is_half = literal(b, *factor) == Some(0.5);
        half |= is_half;
        !is_half
    });
    match factors[..] {
        [u, v] if half && one_and_erf_of(b, v) == Some(u) => Some(u),
        [u, v] if half && one_and_erf_of(b, u) == Some(v) => Some(v),
        _ => None,
    }
}

/// x of 1 + erf(x / √2).
fn one_and_erf_of(b: &Builder, id: ExprId) -> Option<ExprId> {
    let Expr::Binary(BinaryOp::Add, u, v) = *b.func().exprs.get(id) else { return None };
    let erf = beside(b, u, v, 1.0)?;
    let Expr::Unary(UnaryOp::Erf, scaled) = *b.func().exprs.get(erf) else { return None };
    match *b.func().exprs.get(scaled) {
        Expr::Binary(BinaryOp::Mul, u, v) => beside(b, u, v, std::f32::consts::FRAC_1_SQRT_2),
        Expr::Binary(BinaryOp::Div, u, v) if literal(b, v) == Some(std::f32::consts::SQRT_2) => Some(u),
        _ => None,
    }
}

/// The one of two operands, if the other is this number.
fn beside(b: &Builder, u: ExprId, v: ExprId, number: f32) -> Option<ExprId> {
    match (literal(b, u), literal(b, v)) {
        (Some(value), _) if value == number => Some(v),
        (_, Some(value)) if value == number => Some(u),
        _ => None,
    }
}

fn product(b: &Builder, id: ExprId) -> Option<(ExprId, ExprId)> {
    match *b.func().exprs.get(id) {
        Expr::Binary(BinaryOp::Mul, u, v) => Some((u, v)),
        _ => None,
    }
}

/// The number in all lanes.
fn literal(b: &Builder, id: ExprId) -> Option<f32> {
    match *b.func().exprs.get(id) {
        Expr::Const(Scalar { dtype: DType::F32, bits }) => Some(f32::from_bits(bits as u32)),
        Expr::Broadcast(one, _) => literal(b, one),
        _ => None,
    }
}
