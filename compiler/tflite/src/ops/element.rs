//! Functions of one element. On integers of 8 bits each is a table that is computed here, as TFLite's reference computes
//! its elements.

use tenfold_ir::op::{BinaryOp, CmpOp, ElementOp, UnaryOp};
use tenfold_ir::relax::ValueId;
use tenfold_ir::{DType, Scalar};

use super::{Activation, Family, Kind, Results, kind};
use crate::fixed::{self, Multiplier};
use crate::walk::{Call, Cx, Outcome, Quant, dtype, fault};

pub(super) const FAMILY: Family = &[
    ("RELU", |cx, call| relu(cx, call, Activation::Relu)),
    ("RELU_N1_TO_1", |cx, call| relu(cx, call, Activation::ReluN1To1)),
    ("RELU6", |cx, call| relu(cx, call, Activation::Relu6)),
    ("LEAKY_RELU", leaky_relu),
    ("HARD_SWISH", hard_swish),
    ("LOGISTIC", logistic),
    ("TANH", tanh),
    ("ABS", |cx, call| unary(cx, call, UnaryOp::Abs)),
    ("CEIL", |cx, call| unary(cx, call, UnaryOp::Ceil)),
    ("COS", |cx, call| unary(cx, call, UnaryOp::Cos)),
    ("EXP", |cx, call| unary(cx, call, UnaryOp::Exp)),
    ("FLOOR", |cx, call| unary(cx, call, UnaryOp::Floor)),
    ("LOG", |cx, call| unary(cx, call, UnaryOp::Log)),
    ("NEG", |cx, call| unary(cx, call, UnaryOp::Neg)),
    ("ROUND", |cx, call| unary(cx, call, UnaryOp::Round)),
    ("RSQRT", |cx, call| unary(cx, call, UnaryOp::Rsqrt)),
    ("SIN", |cx, call| unary(cx, call, UnaryOp::Sin)),
    ("SQRT", |cx, call| unary(cx, call, UnaryOp::Sqrt)),
    ("SQUARE", |cx, call| unary(cx, call, UnaryOp::Square)),
    ("QUANTIZE", quantize),
    ("DEQUANTIZE", dequantize),
    ("CAST", cast),
];

/// A function of floats.
fn unary<'m>(cx: &mut Cx<'m>, call: &Call<'m>, op: UnaryOp) -> Results {
    if kind(call, 0)? != Kind::Float {
        return fault("it is supported on f32 alone");
    }
    let x = call.x(cx, 0)?;
    Ok(vec![cx.unary(op, x)?])
}

/// Integers of 8 bits scaled anew, within bounds.
fn scaled(own: Quant, out: Quant, by: Multiplier, (low, high): (i32, i32)) -> impl Fn(i32) -> i32 {
    move |q| (out.zero + by.times(q - own.zero)).clamp(low, high)
}

fn relu<'m>(cx: &mut Cx<'m>, call: &Call<'m>, activation: Activation) -> Results {
    let kind = kind(call, 0)?;
    let x = call.x(cx, 0)?;
    if kind == Kind::Float {
        return Ok(vec![activation.floats(cx, x)?]);
    }
    let (own, out) = (call.quant(0)?, call.out_quant()?);
    let by = Multiplier::of(f64::from(own.scale / out.scale));
    Ok(vec![cx.table8(x, scaled(own, out, by, activation.integers(out)))?])
}

fn leaky_relu<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let kind = kind(call, 0)?;
    let (x, alpha) = (call.x(cx, 0)?, call.float(0)?);
    if kind == Kind::Float {
        let slope = cx.float(alpha);
        return Ok(vec![cx.b.element(ElementOp::Prelu, &[x, slope])?]);
    }
    let (own, out) = (call.quant(0)?, call.out_quant()?);
    let above = Multiplier::of(f64::from(own.scale / out.scale));
    let below = f64::from(own.scale * alpha / out.scale);
    if below < 0.0 {
        return fault(format!("its slope is {alpha}, and must not be below 0"));
    }
    let below = Multiplier::of(below);
    let y = cx.table8(x, |q| {
        let x = q - own.zero;
        out.zero + if x >= 0 { above.times(x) } else { below.times(x) }
    })?;
    Ok(vec![y])
}

/// The upper half of a fraction.
fn short(fraction: i32) -> i32 {
    if fraction >= i32::MAX - (1 << 15) { 32767 } else { (fraction + (1 << 15)) >> 16 }
}

/// The high half of twice a product of 16 bits, rounded.
fn short_high(a: i32, b: i32) -> i32 {
    if a == -32768 && b == -32768 { 32767 } else { (a * b + (1 << 14)) >> 15 }
}

fn hard_swish<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let kind = kind(call, 0)?;
    let x = call.x(cx, 0)?;
    if kind == Kind::Float {
        return Ok(vec![cx.op("hard_swish", &[x], &[])?]);
    }
    let (own, out) = (call.quant(0)?, call.out_quant()?);
    let fine = own.scale * (1.0 / 128.0);
    let (to_out, to_relu) =
        (Multiplier::of(f64::from(fine / out.scale)), Multiplier::of(f64::from(fine / (3.0 / 32768.0))));
    let saturated = |x: i32| x.clamp(-32768, 32767);
    let y = cx.table8(x, |q| {
        let fine = (q - own.zero) << 7;
        let value = short_high(fine, short(to_out.fraction));
        let mut relu = fine;
        if to_relu.shift > 0 {
            relu = saturated(relu << (to_relu.shift - 1).min(15));
        }
        relu = short_high(relu, short(to_relu.fraction));
        relu = match to_relu.shift {
            1.. => saturated(relu << 1),
            shift => fixed::divided(relu, -shift as u32),
        };
        let relu = (relu + (1 << 15)) >> 1;
        let product = if relu == -32768 && value == -32768 { 32767 } else { relu * value / (1 << 15) };
        out.zero + fixed::divided(product, (-to_out.shift).max(0) as u32)
    })?;
    Ok(vec![y])
}

/// Bits before the point of what logistic and tanh are computed of.
const INTEGER: i32 = 4;

/// The factor that gives such numbers, and from where on they have no room.
pub(super) fn into_fixed(factor: f64, integer: i32) -> (Multiplier, i32) {
    let by = Multiplier::of(factor.min(f64::from(i32::MAX)));
    let most = f64::from((1 << integer) - 1) * f64::from(1u32 << (31 - integer)) / 2f64.powi(by.shift.max(0));
    (by, most.floor() as i32)
}

fn logistic<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let kind = kind(call, 0)?;
    let x = call.x(cx, 0)?;
    if kind == Kind::Float {
        return Ok(vec![cx.unary(UnaryOp::Sigmoid, x)?]);
    }
    let own = fixed_output(call, Quant { scale: 1.0 / 256.0, zero: -128 })?;
    let (by, radius) = into_fixed(f64::from(own.scale) * f64::from(1 << (31 - INTEGER)), INTEGER);
    let y = cx.table8(x, |q| match q - own.zero {
        x if x <= -radius => -128,
        x if x >= radius => 127,
        x => fixed::divided(fixed::logistic(by.times(x), INTEGER), 23) - 128,
    })?;
    Ok(vec![y])
}

fn tanh<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let kind = kind(call, 0)?;
    let x = call.x(cx, 0)?;
    if kind == Kind::Float {
        return Ok(vec![cx.unary(UnaryOp::Tanh, x)?]);
    }
    let own = fixed_output(call, Quant { scale: 1.0 / 128.0, zero: 0 })?;
    let (by, radius) = into_fixed(f64::from(own.scale) * f64::from(1 << (31 - INTEGER)), INTEGER);
    let y = cx.table8(x, |q| match q - own.zero {
        x if x <= -radius => -128,
        x if x >= radius => 127,
        x => fixed::divided(fixed::tanh(by.times(x), INTEGER), 24),
    })?;
    Ok(vec![y])
}

/// The quantisation of the operand of an operator whose result has one that never differs.
pub(super) fn fixed_output(call: &Call<'_>, expected: Quant) -> Outcome<Quant> {
    let found = call.out_quant()?;
    match found == expected {
        true => call.quant(0),
        false => fault(format!(
            "its result must have the scale {} and the zero point {}, found {} and {}",
            expected.scale, expected.zero, found.scale, found.zero
        )),
    }
}

/// Floats to the nearest integer, halves away from zero.
fn nearest(cx: &mut Cx<'_>, x: ValueId) -> Outcome<ValueId> {
    let whole = cx.unary(UnaryOp::Trunc, x)?;
    let rest = cx.binary(BinaryOp::Sub, x, whole)?;
    let (half, below) = (cx.float(0.5), cx.float(-0.5));
    let (one, none) = (cx.float(1.0), cx.float(0.0));
    let (is_up, is_down) = (cx.compare(CmpOp::Ge, rest, half)?, cx.compare(CmpOp::Le, rest, below)?);
    let (up, down) = (cx.select(is_up, one, none)?, cx.select(is_down, one, none)?);
    let whole = cx.binary(BinaryOp::Add, whole, up)?;
    cx.binary(BinaryOp::Sub, whole, down)
}

fn quantize<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let (kind, out) = (kind(call, 0)?, call.out_quant()?);
    let x = call.x(cx, 0)?;
    if dtype(call.result(0)?.code) != Some(DType::I8) {
        return fault("its result must have elements of i8");
    }
    if kind == Kind::Int8 {
        let own = call.quant(0)?;
        let by = Multiplier::of(f64::from(own.scale) / f64::from(out.scale));
        return Ok(vec![cx.table8(x, scaled(own, out, by, (-128, 127)))?]);
    }
    let scale = cx.float(out.scale);
    let y = cx.binary(BinaryOp::Div, x, scale)?;
    let y = nearest(cx, y)?;
    // far outside is as good as just outside, and leaves room for the zero point
    let (least, most) = (cx.float(-65536.0), cx.float(65536.0));
    let y = cx.binary(BinaryOp::Max, y, least)?;
    let y = cx.binary(BinaryOp::Min, y, most)?;
    let y = cx.cast(y, DType::I32)?;
    Ok(vec![cx.quantised(y, out, (-128, 127))?])
}

fn dequantize<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let own = call.x(cx, 0)?;
    if cx.dtype(own) == DType::F16 {
        return Ok(vec![cx.cast(own, DType::F32)?]);
    }
    if kind(call, 0)? != Kind::Int8 {
        return fault("its operand must have elements of i8 or f16");
    }
    let of = call.quant(0)?;
    let number = |q: i32| f64::from(of.scale) * f64::from(q - of.zero);
    Ok(vec![cx.table(own, DType::F32, |q| Scalar::float(DType::F32, number(q)))?])
}

fn cast<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let x = call.x(cx, 0)?;
    let to = call.result(0)?;
    let to = dtype(to.code).map_or_else(|| fault(format!("type {} of the schema is not supported", to.code)), Ok)?;
    Ok(vec![cx.cast(x, to)?])
}
