//! Operators that work element by element.

use tenfold_ir::op::{BinaryOp, CmpOp, UnaryOp};
use tenfold_ir::ops::AttrValue;
use tenfold_ir::relax::ValueId;
use tenfold_ir::{DType, Scalar};

use super::{OnnxOp, op};
use crate::call::Call;
use crate::value::{Outcome, Value, fault};
use crate::walk::Cx;

type Results = Outcome<Vec<Value>>;

fn unary<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, op: UnaryOp) -> Results {
    let x = call.x(cx, 0)?;
    let y = cx.unary(op, x)?;
    cx.one(y)
}

fn binary<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, op: BinaryOp) -> Results {
    let (a, b) = operands(cx, call)?;
    let y = cx.binary(op, a, b)?;
    cx.one(y)
}

/// Two operands that broadcast; before version 7 they did so otherwise, which is not read.
fn operands<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Outcome<(ValueId, ValueId)> {
    Ok((call.x(cx, 0)?, call.x(cx, 1)?))
}

fn compare<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, op: CmpOp) -> Results {
    let (a, b) = operands(cx, call)?;
    let y = cx.compare(op, a, b)?;
    cx.one(y)
}

/// An activation of the language whose float attributes have the same names and defaults.
fn activation<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, name: &str, floats: &[(&str, f32)]) -> Results {
    let x = call.x(cx, 0)?;
    let mut attrs = Vec::new();
    for (attr, default) in floats {
        attrs.push((*attr, AttrValue::Float(f64::from(call.float_or(attr, *default)?))));
    }
    let y = cx.op(name, &[x], &attrs)?;
    cx.one(y)
}

/// Any number of operands, two by two.
fn variadic<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, op: BinaryOp) -> Outcome<ValueId> {
    let all = call.all(cx)?;
    let Some((first, rest)) = all.split_first() else { return fault("it has no operand") };
    let mut y = *first;
    for x in rest {
        y = cx.binary(op, y, *x)?;
    }
    Ok(y)
}

fn mean<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let sum = variadic(cx, call, BinaryOp::Add)?;
    let count = cx.like(sum, call.inputs.len() as f64);
    let y = cx.binary(BinaryOp::Div, sum, count)?;
    cx.one(y)
}

/// The result has the type of the base; an exponent of another type is converted, and integers with a float exponent
/// go through floats.
fn pow<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (x, y) = operands(cx, call)?;
    let (base, exponent) = (cx.dtype(x), cx.dtype(y));
    let common = if base.is_int() && exponent.is_float() { DType::F64 } else { base };
    let (x, y) = (cx.cast(x, common)?, cx.cast(y, common)?);
    let z = cx.binary(BinaryOp::Pow, x, y)?;
    let z = cx.cast(z, base)?;
    cx.one(z)
}

/// `fmod = 0` takes the sign of the divisor, `fmod = 1` that of the dividend.
fn modulo<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (a, b) = operands(cx, call)?;
    let rest = cx.binary(BinaryOp::Rem, a, b)?;
    if call.int_or("fmod", 0)? != 0 || !cx.dtype(a).is_signed() {
        return cx.one(rest);
    }
    let zero = cx.like(a, 0.0);
    let below = cx.compare(CmpOp::Lt, rest, zero)?;
    let divisor_below = cx.compare(CmpOp::Lt, b, zero)?;
    let differ = cx.compare(CmpOp::Ne, below, divisor_below)?;
    let some = cx.compare(CmpOp::Ne, rest, zero)?;
    let move_it = cx.binary(BinaryOp::And, differ, some)?;
    let moved = cx.binary(BinaryOp::Add, rest, b)?;
    let y = cx.select(move_it, moved, rest)?;
    cx.one(y)
}

fn bit_shift<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (a, b) = operands(cx, call)?;
    let op = match call.text("direction", "")?.as_str() {
        "LEFT" => BinaryOp::Shl,
        "RIGHT" => BinaryOp::Shr,
        other => return fault(format!("the direction `{other}` is neither LEFT nor RIGHT")),
    };
    // A count of the width or more, or below 0, shifts everything out, where the language takes it modulo the width.
    let shifted = cx.binary(op, a, b)?;
    let width = cx.like(b, f64::from(cx.dtype(b).bits()));
    let (below, none) = (cx.compare(CmpOp::Lt, b, width)?, cx.like(b, 0.0));
    let natural = cx.compare(CmpOp::Ge, b, none)?;
    let inside = cx.binary(BinaryOp::And, below, natural)?;
    // To the right a signed integer leaves its sign.
    let outside = if op == BinaryOp::Shr && cx.dtype(a).is_signed() {
        let most = cx.like(b, f64::from(cx.dtype(b).bits() - 1));
        cx.binary(op, a, most)?
    } else {
        cx.like(a, 0.0)
    };
    let y = cx.select(inside, shifted, outside)?;
    cx.one(y)
}

fn clip<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let x = call.x(cx, 0)?;
    let bound = |cx: &mut Cx<'m>, i: usize, name: &str| match call.float(name)? {
        Some(value) => Ok(Some(cx.like(x, f64::from(value)))),
        None => call.optional(cx, i),
    };
    let (low, high) = (bound(cx, 1, "min")?, bound(cx, 2, "max")?);
    let y = low.map_or(Ok(x), |low| cx.binary(BinaryOp::Max, x, low))?;
    let y = high.map_or(Ok(y), |high| cx.binary(BinaryOp::Min, y, high))?;
    cx.one(y)
}

fn prelu<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (x, slope) = operands(cx, call)?;
    let zero = cx.like(x, 0.0);
    let below = cx.compare(CmpOp::Lt, x, zero)?;
    let scaled = cx.binary(BinaryOp::Mul, x, slope)?;
    let y = cx.select(below, scaled, x)?;
    cx.one(y)
}

fn where_<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let condition = call.x(cx, 0)?;
    let ((a, elem), (b, _)) = (call.any(cx, 1)?, call.any(cx, 2)?);
    let y = cx.select(condition, a, b)?;
    Ok(vec![Value::Node(y, elem)])
}

fn is_inf<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let x = call.x(cx, 0)?;
    let inf = cx.unary(UnaryOp::IsInf, x)?;
    let zero = cx.like(x, 0.0);
    let y = match (call.int_or("detect_negative", 1)? != 0, call.int_or("detect_positive", 1)? != 0) {
        (true, true) => inf,
        (false, false) => cx.binary(BinaryOp::Xor, inf, inf)?,
        (negative, _) => {
            let side = cx.compare(if negative { CmpOp::Lt } else { CmpOp::Gt }, x, zero)?;
            cx.binary(BinaryOp::And, inf, side)?
        }
    };
    cx.one(y)
}

/// `x + bias` below `-lambd`, `x - bias` above `lambd`, else 0.
fn shrink<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let x = call.x(cx, 0)?;
    let lambd = f64::from(call.float_or("lambd", 0.5)?);
    let bias = cx.like(x, f64::from(call.float_or("bias", 0.0)?));
    let (low, high, zero) = (cx.like(x, -lambd), cx.like(x, lambd), cx.like(x, 0.0));
    let (below, above) = (cx.compare(CmpOp::Lt, x, low)?, cx.compare(CmpOp::Gt, x, high)?);
    let (plus, minus) = (cx.binary(BinaryOp::Add, x, bias)?, cx.binary(BinaryOp::Sub, x, bias)?);
    let rest = cx.select(above, minus, zero)?;
    let y = cx.select(below, plus, rest)?;
    cx.one(y)
}

fn swish<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let x = call.x(cx, 0)?;
    let alpha = cx.like(x, f64::from(call.float_or("alpha", 1.0)?));
    let scaled = cx.binary(BinaryOp::Mul, x, alpha)?;
    let gate = cx.unary(UnaryOp::Sigmoid, scaled)?;
    let y = cx.binary(BinaryOp::Mul, x, gate)?;
    cx.one(y)
}

fn gelu<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let x = call.x(cx, 0)?;
    let y = cx.op("gelu", &[x], &[("approximate", AttrValue::Text(call.text("approximate", "none")?))])?;
    cx.one(y)
}

fn relu<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let x = call.x(cx, 0)?;
    let y = cx.op("relu", &[x], &[])?;
    cx.one(y)
}

fn identity(_: &mut Cx<'_>, call: &Call<'_, '_>) -> Results {
    Ok(vec![call.value(0)?.clone()])
}

/// In inference nothing is dropped.
fn dropout<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let x = call.x(cx, 0)?;
    let training = call.has(2) && cx.i64s_of_bool(call.value(2)?)?;
    let ratio = if call.has(1) { cx.f64s(call.value(1)?)?.first().copied().unwrap_or(0.5) } else { 0.5 };
    if training && ratio != 0.0 {
        return fault("dropout in training mode draws random numbers, which is not supported");
    }
    let all = cx.b.scalar(Scalar::bool(true));
    let shape = cx.dims(x);
    let mask = cx.full(&shape, all)?;
    Ok(vec![cx.plain(x), cx.plain(mask)])
}

impl Cx<'_> {
    /// A bool that must be known.
    fn i64s_of_bool(&mut self, value: &Value) -> Outcome<bool> {
        Ok(self.f64s(value)?.first().is_some_and(|v| *v != 0.0))
    }
}

pub(super) static TABLE: &[OnnxOp] = &[
    op("Abs", 6, |cx, call| unary(cx, call, UnaryOp::Abs)),
    op("Acos", 7, |cx, call| unary(cx, call, UnaryOp::Acos)),
    op("Acosh", 9, |cx, call| unary(cx, call, UnaryOp::Acosh)),
    op("Add", 7, |cx, call| binary(cx, call, BinaryOp::Add)),
    op("And", 7, |cx, call| binary(cx, call, BinaryOp::And)),
    op("Asin", 7, |cx, call| unary(cx, call, UnaryOp::Asin)),
    op("Asinh", 9, |cx, call| unary(cx, call, UnaryOp::Asinh)),
    op("Atan", 7, |cx, call| unary(cx, call, UnaryOp::Atan)),
    op("Atanh", 9, |cx, call| unary(cx, call, UnaryOp::Atanh)),
    op("BitShift", 11, bit_shift),
    op("BitwiseAnd", 18, |cx, call| binary(cx, call, BinaryOp::And)),
    op("BitwiseNot", 18, |cx, call| unary(cx, call, UnaryOp::Not)),
    op("BitwiseOr", 18, |cx, call| binary(cx, call, BinaryOp::Or)),
    op("BitwiseXor", 18, |cx, call| binary(cx, call, BinaryOp::Xor)),
    op("Ceil", 6, |cx, call| unary(cx, call, UnaryOp::Ceil)),
    op("Celu", 12, |cx, call| activation(cx, call, "celu", &[("alpha", 1.0)])),
    op("Clip", 6, clip),
    op("Cos", 7, |cx, call| unary(cx, call, UnaryOp::Cos)),
    op("Cosh", 9, |cx, call| unary(cx, call, UnaryOp::Cosh)),
    op("Div", 7, |cx, call| binary(cx, call, BinaryOp::Div)),
    op("Dropout", 7, dropout),
    op("Elu", 6, |cx, call| activation(cx, call, "elu", &[("alpha", 1.0)])),
    op("Equal", 7, |cx, call| compare(cx, call, CmpOp::Eq)),
    op("Erf", 9, |cx, call| unary(cx, call, UnaryOp::Erf)),
    op("Exp", 6, |cx, call| unary(cx, call, UnaryOp::Exp)),
    op("Floor", 6, |cx, call| unary(cx, call, UnaryOp::Floor)),
    op("Gelu", 20, gelu),
    op("Greater", 7, |cx, call| compare(cx, call, CmpOp::Gt)),
    op("GreaterOrEqual", 12, |cx, call| compare(cx, call, CmpOp::Ge)),
    op("HardSigmoid", 6, |cx, call| activation(cx, call, "hard_sigmoid", &[("alpha", 0.2), ("beta", 0.5)])),
    op("HardSwish", 14, |cx, call| activation(cx, call, "hard_swish", &[])),
    op("Identity", 1, identity),
    op("IsInf", 10, is_inf),
    op("IsNaN", 9, |cx, call| unary(cx, call, UnaryOp::IsNan)),
    op("LeakyRelu", 6, |cx, call| activation(cx, call, "leaky_relu", &[("alpha", 0.01)])),
    op("Less", 7, |cx, call| compare(cx, call, CmpOp::Lt)),
    op("LessOrEqual", 12, |cx, call| compare(cx, call, CmpOp::Le)),
    op("Log", 6, |cx, call| unary(cx, call, UnaryOp::Log)),
    op("Max", 6, |cx, call| variadic(cx, call, BinaryOp::Max).and_then(|y| cx.one(y))),
    op("Mean", 6, mean),
    op("Min", 6, |cx, call| variadic(cx, call, BinaryOp::Min).and_then(|y| cx.one(y))),
    op("Mish", 18, |cx, call| activation(cx, call, "mish", &[])),
    op("Mod", 10, modulo),
    op("Mul", 7, |cx, call| binary(cx, call, BinaryOp::Mul)),
    op("Neg", 6, |cx, call| unary(cx, call, UnaryOp::Neg)),
    op("Not", 1, |cx, call| unary(cx, call, UnaryOp::Not)),
    op("Or", 7, |cx, call| binary(cx, call, BinaryOp::Or)),
    op("PRelu", 7, prelu),
    op("Pow", 7, pow),
    op("Reciprocal", 6, |cx, call| unary(cx, call, UnaryOp::Reciprocal)),
    op("Relu", 6, relu),
    op("Round", 11, |cx, call| unary(cx, call, UnaryOp::Round)),
    op("Selu", 6, |cx, call| activation(cx, call, "selu", &[("alpha", 1.673_263_2), ("gamma", 1.050_701)])),
    op("Shrink", 9, shrink),
    op("Sigmoid", 6, |cx, call| unary(cx, call, UnaryOp::Sigmoid)),
    op("Sign", 9, |cx, call| unary(cx, call, UnaryOp::Sign)),
    op("Sin", 7, |cx, call| unary(cx, call, UnaryOp::Sin)),
    op("Sinh", 9, |cx, call| unary(cx, call, UnaryOp::Sinh)),
    op("Softplus", 1, |cx, call| activation(cx, call, "softplus", &[])),
    op("Softsign", 1, |cx, call| activation(cx, call, "softsign", &[])),
    op("Sqrt", 6, |cx, call| unary(cx, call, UnaryOp::Sqrt)),
    op("Sub", 7, |cx, call| binary(cx, call, BinaryOp::Sub)),
    op("Sum", 6, |cx, call| variadic(cx, call, BinaryOp::Add).and_then(|y| cx.one(y))),
    op("Swish", 24, swish),
    op("Tan", 7, |cx, call| unary(cx, call, UnaryOp::Tan)),
    op("Tanh", 6, |cx, call| unary(cx, call, UnaryOp::Tanh)),
    op("ThresholdedRelu", 10, |cx, call| activation(cx, call, "thresholded_relu", &[("alpha", 1.0)])),
    op("Where", 9, where_),
    op("Xor", 7, |cx, call| binary(cx, call, BinaryOp::Xor)),
];
