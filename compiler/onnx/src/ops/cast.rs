//! Conversions of types, those to and from the types that the language only stores among them.

use tenfold_ir::float8::Float8;
use tenfold_ir::op::{BinaryOp, CmpOp, ReduceOp, UnaryOp};
use tenfold_ir::relax::ValueId;
use tenfold_ir::{ConstBytes, DType, Scalar};

use super::{OnnxOp, op};
use crate::call::Call;
use crate::elem::{Elem, SmallFloat, Specials};
use crate::tensor::{Elements, TensorData};
use crate::value::{Outcome, Value, fault};
use crate::walk::Cx;

type Results = Outcome<Vec<Value>>;

/// How a conversion treats what does not fit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rounding {
    saturate: bool,
    mode: String,
}

impl Rounding {
    /// As `saturate = 1`.
    pub(super) fn saturating() -> Self {
        Rounding { saturate: true, mode: "up".into() }
    }

    /// Whether what is too large becomes the largest number.
    pub(super) fn set_saturate(&mut self, saturate: bool) {
        self.saturate = saturate;
    }

    fn of(call: &Call<'_, '_>) -> Outcome<Self> {
        Ok(Rounding { saturate: call.int_or("saturate", 1)? != 0, mode: call.text("round_mode", "up")? })
    }
}

fn cast<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let code = call.int_or("to", 0)?;
    let Some(to) = Elem::from_code(code) else { return fault(format!("it converts to the unknown type {code}")) };
    converted(cx, call, to)
}

fn cast_like<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let to = cx.elem(call.value(1)?)?;
    converted(cx, call, to)
}

fn converted<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, to: Elem) -> Results {
    let (x, from) = call.any(cx, 0)?;
    let y = convert(cx, x, from, to, &Rounding::of(call)?)?;
    Ok(vec![Value::Node(y, to)])
}

/// `x` of type `from` as type `to`.
pub(super) fn convert(cx: &mut Cx<'_>, x: ValueId, from: Elem, to: Elem, rounding: &Rounding) -> Outcome<ValueId> {
    if from == to {
        return Ok(x);
    }
    let Some(target) = to.storage() else { return fault(format!("a conversion to {to} is not supported")) };
    let x = decoded(cx, x, from)?;
    if to == Elem::Bool {
        let zero = cx.like(x, 0.0);
        return cx.compare(CmpOp::Ne, x, zero);
    }
    if target.is_float8() {
        return encoded(cx, x, target, rounding);
    }
    if matches!(to, Elem::Int4 | Elem::Uint4) {
        // By way of 32 bits a float wraps as an integer does.
        let x = cx.cast(x, DType::I32)?;
        return cx.cast(x, target);
    }
    if to.is_plain() {
        return cx.cast(x, target);
    }
    match (to.small_float(), to) {
        (Some(float), _) => by_table(cx, x, float, rounding),
        (None, Elem::Float8e8m0) => powers_of_two(cx, x, &rounding.mode),
        (None, _) => narrowed(cx, x, to.packed_bits(), target),
    }
}

/// A float of 8 bits; what is too large becomes the largest, if it is to saturate.
fn encoded(cx: &mut Cx<'_>, x: ValueId, to: DType, rounding: &Rounding) -> Outcome<ValueId> {
    let x = if cx.dtype(x).is_float() { x } else { cx.cast(x, DType::F32)? };
    let Some(format) = Float8::of(to).filter(|_| rounding.saturate) else { return cx.cast(x, to) };
    let most = format.value(format.most);
    let (low, high) = (cx.like(x, -most), cx.like(x, most));
    let x = cx.binary(BinaryOp::Max, x, low)?;
    let x = cx.binary(BinaryOp::Min, x, high)?;
    cx.cast(x, to)
}

/// The numbers that the elements stand for, in a dtype that operators compute with.
pub(super) fn decoded(cx: &mut Cx<'_>, x: ValueId, from: Elem) -> Outcome<ValueId> {
    let dtype = cx.dtype(x);
    if dtype.is_float8() {
        return cx.cast(x, DType::F32);
    }
    if dtype.is_stored() {
        return cx.cast(x, if dtype.is_signed() { DType::I8 } else { DType::U8 });
    }
    let value = |code: u8| match from.small_float() {
        Some(float) => float.value(code),
        None if code == 255 => f64::NAN,
        None => 2f64.powi(i32::from(code) - 127),
    };
    if !matches!(from, Elem::Float8e8m0) && from.small_float().is_none() {
        return Ok(x);
    }
    let codes = 1u16 << from.packed_bits();
    let values: Vec<f64> = (0..codes).map(|code| value(code as u8)).collect();
    let table = table(cx, DType::F32, &values)?;
    cx.looked_up(table, x)
}

/// A vector of constants.
pub(crate) fn table(cx: &mut Cx<'_>, dtype: DType, values: &[f64]) -> Outcome<ValueId> {
    let bytes: Vec<u8> = values.iter().flat_map(|v| Scalar::float(dtype, *v).to_le_bytes()).collect();
    let data = Elements::Bytes(ConstBytes::Inline(bytes.into()));
    cx.constant(&TensorData { elem: Elem::of(dtype), shape: vec![values.len() as u64], data })
}

/// How many of the numbers of an ascending table each element is greater than, as bytes.
fn rank(cx: &mut Cx<'_>, x: ValueId, table: ValueId) -> Outcome<ValueId> {
    let axis = cx.rank(x);
    let column = cx.expand_dims(x, axis)?;
    let above = cx.compare(CmpOp::Gt, column, table)?;
    let ones = cx.cast(above, DType::U8)?;
    cx.reduce(ReduceOp::Sum, ones, &[axis], false)
}

/// Codes of small floats, to the nearest with ties to even.
fn by_table(cx: &mut Cx<'_>, x: ValueId, float: SmallFloat, rounding: &Rounding) -> Outcome<ValueId> {
    let x = cx.cast(x, if cx.dtype(x) == DType::F64 { DType::F64 } else { DType::F32 })?;
    let (thresholds, overflow) = thresholds(float, cx.dtype(x));
    let largest = thresholds.len() as u8;
    let table = table(cx, cx.dtype(x), &thresholds)?;
    let magnitude = cx.unary(UnaryOp::Abs, x)?;
    let mut code = rank(cx, magnitude, table)?;
    let byte = |cx: &mut Cx<'_>, value: u8| cx.b.scalar(Scalar::int(DType::U8, i128::from(value)));
    let sign_bit = 1u8 << (float.exponent + float.mantissa);
    let special = match float.specials {
        Specials::Ieee => largest + 1,
        Specials::NanOnly => sign_bit - 1,
        Specials::NanIsMinusZero => sign_bit,
        Specials::None => largest,
    };
    if !rounding.saturate {
        let limit = cx.scalar(cx.dtype(x), overflow);
        let (over, special) = (cx.compare(CmpOp::Gt, magnitude, limit)?, byte(cx, special));
        code = cx.select(over, special, code)?;
    }
    let minus = minus_sign(cx, x)?;
    let (bit, zero) = (byte(cx, sign_bit), byte(cx, 0));
    let mut sign = cx.select(minus, bit, zero)?;
    if float.specials == Specials::NanIsMinusZero {
        let nothing = cx.compare(CmpOp::Eq, code, zero)?;
        sign = cx.select(nothing, zero, sign)?;
    }
    let signed = cx.binary(BinaryOp::Or, code, sign)?;
    let nan = cx.unary(UnaryOp::IsNan, x)?;
    let nan_code = match float.specials {
        Specials::Ieee => special + 1,
        Specials::NanOnly | Specials::NanIsMinusZero => special,
        Specials::None => sign_bit,
    };
    let nan_code = byte(cx, nan_code);
    cx.select(nan, nan_code, signed)
}

/// Whether a float has a minus sign, a zero's included.
fn minus_sign(cx: &mut Cx<'_>, x: ValueId) -> Outcome<ValueId> {
    let zero = cx.like(x, 0.0);
    let inverse = cx.unary(UnaryOp::Reciprocal, x)?;
    let (below, inverse_below) = (cx.compare(CmpOp::Lt, x, zero)?, cx.compare(CmpOp::Lt, inverse, zero)?);
    cx.binary(BinaryOp::Or, below, inverse_below)
}

/// A number is rounded up to code `k + 1` where it is greater than entry `k`; and above which one it overflows.
fn thresholds(float: SmallFloat, dtype: DType) -> (Vec<f64>, f64) {
    let codes = 1u16 << (float.exponent + float.mantissa);
    let finite: Vec<f64> = (0..codes).map(|code| float.value(code as u8)).take_while(|v| v.is_finite()).collect();
    let below = |x: f64| if dtype == DType::F64 { x.next_down() } else { f64::from((x as f32).next_down()) };
    // At the middle of an odd code and the next, the next is taken.
    let middle = |k: usize, a: f64, b: f64| if k % 2 == 1 { below((a + b) / 2.0) } else { (a + b) / 2.0 };
    let inner = finite.windows(2).enumerate().map(|(k, pair)| middle(k, pair[0], pair[1])).collect();
    let overflow = match finite.as_slice() {
        [.., before, last] => middle(finite.len() - 1, *last, 2.0 * last - before),
        _ => 0.0,
    };
    (inner, overflow)
}

/// Exponents: the power of two at or above a number, at or below it, or the nearest.
fn powers_of_two(cx: &mut Cx<'_>, x: ValueId, mode: &str) -> Outcome<ValueId> {
    let x = cx.cast(x, DType::F64)?;
    let power = |c: i32| 2f64.powi(c - 127);
    let thresholds: Vec<f64> = match mode {
        "up" => (0..254).map(power).collect(),
        "down" => (1..255).map(|c| power(c).next_down()).collect(),
        "nearest" => (0..254).map(|c| (1.5 * power(c)).next_down()).collect(),
        other => return fault(format!("the rounding `{other}` is unknown")),
    };
    let table = table(cx, DType::F64, &thresholds)?;
    let code = rank(cx, x, table)?;
    let finite = cx.unary(UnaryOp::IsFinite, x)?;
    let nan = cx.b.scalar(Scalar::int(DType::U8, 255));
    cx.select(finite, code, nan)
}

/// Integers of fewer bits, which wrap.
fn narrowed(cx: &mut Cx<'_>, x: ValueId, bits: usize, target: DType) -> Outcome<ValueId> {
    let wide = if target == DType::U8 { DType::U32 } else { DType::I32 };
    let x = cx.cast(x, DType::I32)?;
    let x = cx.cast(x, wide)?;
    let shift = cx.b.scalar(Scalar::int(wide, 32 - bits as i128));
    let up = cx.binary(BinaryOp::Shl, x, shift)?;
    let back = cx.binary(BinaryOp::Shr, up, shift)?;
    cx.cast(back, target)
}

/// The bits as another type of their width; a bool is a byte.
fn bit_cast<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let code = call.int_or("to", 0)?;
    let known = Elem::from_code(code).and_then(|to| Some((to, to.storage()?)));
    let Some((to, dtype)) = known else { return fault(format!("it asks for the type {code}")) };
    let mut x = call.x(cx, 0)?;
    if cx.dtype(x).is_bool() {
        x = cx.cast(x, DType::U8)?;
    }
    let y = if cx.dtype(x) == dtype { x } else { cx.typed("bit_cast", dtype, x)? };
    Ok(vec![Value::Node(y, to)])
}

pub(super) static TABLE: &[OnnxOp] = &[op("BitCast", 26, bit_cast), op("Cast", 6, cast), op("CastLike", 15, cast_like)];
