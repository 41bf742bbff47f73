//! Quantised operators, in ONNX's form.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, ReduceOp, UnaryOp};
use tenfold_ir::ops::AttrValue;
use tenfold_ir::relax::{ConvLayout, Op, ValueId};
use tenfold_ir::{DType, Scalar};

use super::cast::{Rounding, convert, decoded};
use super::nn::window;
use super::{OnnxOp, op};
use crate::call::Call;
use crate::elem::Elem;
use crate::emit::int;
use crate::exact::Exact;
use crate::fixed::rounded;
use crate::qdq::{Quantized, conv_sum, product_sum};
use crate::value::{Outcome, Value, fault};
use crate::walk::Cx;

type Results = Outcome<Vec<Value>>;

/// Scales and zero points that are looked at, at most.
const MOST_SCALES: usize = 1 << 16;

/// The least and greatest integer of a type.
pub(crate) fn limits(elem: Elem) -> Option<(i64, i64)> {
    let bits = elem.packed_bits() as u32;
    match elem {
        Elem::Int2 | Elem::Int4 | Elem::Int8 | Elem::Int16 | Elem::Int32 => {
            Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1))
        }
        Elem::Uint2 | Elem::Uint4 | Elem::Uint8 | Elem::Uint16 | Elem::Uint32 => Some((0, (1 << bits) - 1)),
        _ => None,
    }
}

/// A scale or zero point, shaped so that it broadcasts over `x`: one number, one per extent of an axis, or one per
/// block of it.
fn along<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, x: ValueId, p: ValueId) -> Outcome<ValueId> {
    let (dims, own) = (cx.dims(x), cx.dims(p));
    let single = own.iter().all(|d| d.as_const() == Some(1));
    if own.is_empty() || single && own.len() <= 1 {
        return cx.reshape(p, &[]);
    }
    let axis = call.axis(1, dims.len())?;
    let block = call.int_or("block_size", 0)?;
    if block > 0 && own.len() == dims.len() {
        let attrs = [("repeats", AttrValue::Int(int(block))), ("axis", AttrValue::Int(int(axis as i64)))];
        let p = cx.op("repeat", &[p], &attrs)?;
        return cx.part(p, axis, int(0), dims[axis].clone());
    }
    match own.as_slice() {
        [extent] => {
            let mut shape = vec![int(1); dims.len()];
            shape[axis] = extent.clone();
            cx.reshape(p, &shape)
        }
        other => fault(format!("a scale of shape {other:?} for {dims:?}")),
    }
}

fn quantize<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (x, scale) = (call.x(cx, 0)?, call.any(cx, 1)?);
    let zero = if call.has(2) { Some(call.any(cx, 2)?) } else { None };
    let asked = call.int("output_dtype")?.and_then(Elem::from_code);
    let to = zero.map(|(_, elem)| elem).or(asked).unwrap_or(Elem::Uint8);
    let precision = call.int("precision")?.filter(|code| *code != 0).and_then(Elem::from_code).and_then(Elem::storage);
    if let Some(same) = already(cx, call, to)? {
        return Ok(vec![Value::Node(same, to)]);
    }
    if precision.is_none()
        && let Some(y) = rescaled(cx, call, x, to)?
    {
        return Ok(vec![Value::Node(y, to)]);
    }
    let scale = decoded(cx, scale.0, scale.1)?;
    let steps = Steps { scale, zero, to };
    let exact = if precision.is_none() && limits(to).is_some() { cx.exact(x)? } else { None };
    let own = if cx.dtype(x).is_float() { cx.dtype(x) } else { DType::F32 };
    let y = match exact {
        Some(Exact::Table(table)) if parameters(call)?.0.len() == 1 => {
            let integers = steps.quantised(cx, call, table.values, DType::F64)?;
            cx.looked_up(integers, table.codes)?
        }
        Some(exact) => {
            let x = cx.wide(&exact)?;
            steps.quantised(cx, call, x, DType::F64)?
        }
        None => steps.quantised(cx, call, x, precision.unwrap_or(own))?,
    };
    Ok(vec![Value::Node(y, to)])
}

/// The integers that the operand was dequantised from, if they are what quantising it gives.
fn already<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, to: Elem) -> Outcome<Option<ValueId>> {
    let (scale, zero) = parameters(call)?;
    let of = cx.quantized(call.value(0)?);
    Ok(of.filter(|of| of.elem == to && of.scale == scale && of.zero == zero && scale.len() == 1).map(|of| of.q))
}

/// A float that is made of scaled integers, quantised without becoming one.
fn rescaled<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, x: ValueId, to: Elem) -> Outcome<Option<ValueId>> {
    let (scale, zero) = parameters(call)?;
    let ([scale], [zero], Some((low, high))) = (scale.as_slice(), zero.as_slice(), limits(to)) else {
        return Ok(None);
    };
    let Some((terms, axis)) = cx.terms(x, *scale)? else { return Ok(None) };
    let most = (low - zero).abs().max((high - zero).abs());
    let Some(y) = rounded(cx, &terms, axis, most)? else { return Ok(None) };
    let bound = |cx: &mut Cx<'m>, n: i64| cx.b.scalar(Scalar::int(DType::I64, i128::from(n)));
    let (low, high, zero) = (bound(cx, low - zero), bound(cx, high - zero), bound(cx, *zero));
    let y = cx.binary(BinaryOp::Max, y, low)?;
    let y = cx.binary(BinaryOp::Min, y, high)?;
    let y = cx.binary(BinaryOp::Add, y, zero)?;
    cx.cast(y, to.storage().unwrap_or(DType::U8)).map(Some)
}

/// The scales and the zero points of a quantisation, as many of each, if they are known; else none of either.
fn parameters(call: &Call<'_, '_>) -> Outcome<(Vec<f32>, Vec<i64>)> {
    let numbers = |i: usize, elem: fn(Elem) -> bool| match call.inputs.get(i) {
        Some(Value::Known(data)) if elem(data.elem) => data.scalars(MOST_SCALES),
        _ => None,
    };
    let none = (Vec::new(), Vec::new());
    let Some(scales) = numbers(1, |elem| elem == Elem::Float) else { return Ok(none) };
    let zeros = if call.has(2) { numbers(2, |elem| limits(elem).is_some()) } else { Some(Vec::new()) };
    let Some(zeros) = zeros.filter(|zeros| zeros.is_empty() || zeros.len() == scales.len()) else { return Ok(none) };
    let scale: Vec<f32> = scales.iter().map(|s| s.to_f64() as f32).collect();
    let mut zero: Vec<i64> = zeros.iter().map(|z| z.to_i128() as i64).collect();
    zero.resize(scale.len(), 0);
    Ok((scale, zero))
}

/// A quantisation: the operands of its node behind the first, and the type of its result.
struct Steps {
    scale: ValueId,
    zero: Option<(ValueId, Elem)>,
    to: Elem,
}

impl Steps {
    /// The integers nearest to a tensor, divided in floats of that type.
    fn quantised<'m>(&self, cx: &mut Cx<'m>, call: &Call<'_, 'm>, x: ValueId, wide: DType) -> Outcome<ValueId> {
        let scale = along(cx, call, x, self.scale)?;
        let (x, scale) = (cx.cast(x, wide)?, cx.cast(scale, wide)?);
        let scaled = cx.binary(BinaryOp::Div, x, scale)?;
        rounded_into(cx, call, scaled, self.zero, self.to)
    }
}

/// Rounds, adds the zero point, saturates.
fn rounded_into<'m>(
    cx: &mut Cx<'m>,
    call: &Call<'_, 'm>,
    scaled: ValueId,
    zero: Option<(ValueId, Elem)>,
    to: Elem,
) -> Outcome<ValueId> {
    let Some((low, high)) = limits(to) else {
        let mut x = scaled;
        if let Some((zero, elem)) = zero {
            let zero = decoded(cx, zero, elem)?;
            let zero = along(cx, call, scaled, zero)?;
            let zero = cx.cast(zero, cx.dtype(x))?;
            x = cx.binary(BinaryOp::Add, x, zero)?;
        }
        let mut rounding = Rounding::saturating();
        rounding.set_saturate(call.int_or("saturate", 1)? != 0);
        return convert(cx, x, Elem::of(cx.dtype(x)), to, &rounding);
    };
    let rounded = cx.unary(UnaryOp::Round, scaled)?;
    let rounded = cx.cast(rounded, DType::F32)?;
    // Far outside is as good as just outside, and leaves room for the zero point.
    let (least, most) = (cx.like(rounded, -16_777_216.0), cx.like(rounded, 16_777_216.0));
    let inside = cx.binary(BinaryOp::Max, rounded, least)?;
    let inside = cx.binary(BinaryOp::Min, inside, most)?;
    let mut y = cx.cast(inside, DType::I32)?;
    if let Some((zero, _)) = zero {
        let zero = along(cx, call, scaled, zero)?;
        let zero = cx.cast(zero, DType::I32)?;
        y = cx.binary(BinaryOp::Add, y, zero)?;
    }
    let bound = |cx: &mut Cx<'m>, n: i64| cx.b.scalar(Scalar::int(DType::I32, i128::from(n)));
    let (low, high) = (bound(cx, low), bound(cx, high));
    let y = cx.binary(BinaryOp::Max, y, low)?;
    let y = cx.binary(BinaryOp::Min, y, high)?;
    cx.cast(y, to.storage().unwrap_or(DType::U8))
}

fn dequantize<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let ((x, elem), (scale, scale_elem)) = (call.any(cx, 0)?, call.any(cx, 1)?);
    let asked = call.int("output_dtype")?.filter(|code| *code != 0).and_then(Elem::from_code);
    let result = asked.and_then(Elem::storage);
    if let Some(of) = known(cx, call, (x, elem))?.filter(|_| result.is_none_or(|dtype| dtype == DType::F32)) {
        let y = cx.dequantized(of)?;
        return cx.one(y);
    }
    let scale = decoded(cx, scale, scale_elem)?;
    let result = result.unwrap_or(cx.dtype(scale));
    let mut y = if limits(elem).is_some() { cx.cast(x, DType::I32)? } else { decoded(cx, x, elem)? };
    if call.has(2) && limits(elem).is_some() {
        let zero = call.any(cx, 2)?.0;
        let zero = along(cx, call, x, zero)?;
        let zero = cx.cast(zero, DType::I32)?;
        y = cx.binary(BinaryOp::Sub, y, zero)?;
    }
    let y = cx.cast(y, DType::F32)?;
    let scale = along(cx, call, x, scale)?;
    let scale = cx.cast(scale, DType::F32)?;
    let y = cx.binary(BinaryOp::Mul, y, scale)?;
    let y = cx.cast(y, result)?;
    cx.one(y)
}

/// What is dequantised, if its scales and zero points are known and it has one for all or one per extent of an axis.
fn known<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, (q, elem): (ValueId, Elem)) -> Outcome<Option<Quantized>> {
    let (scale, zero) = parameters(call)?;
    let (rank, own) = (cx.rank(q), cx.shape(call.value(1)?)?.len());
    if scale.is_empty() || limits(elem).is_none() || own > 1 || call.int_or("block_size", 0)? != 0 {
        return Ok(None);
    }
    let axis = if scale.len() == 1 { 0 } else { call.axis(1, rank)? };
    if scale.len() > 1 && cx.dims(q)[axis].as_const() != Some(scale.len() as i64) {
        return Ok(None);
    }
    let data = if let Value::Known(data) = call.value(0)? { Some(data.clone()) } else { None };
    Ok(Some(Quantized { q, elem, scale, zero, axis, data, turned: false }))
}

/// `x - zero` in 32 bits; `row` is the axis that a vector of zero points goes along.
fn centred<'m>(
    cx: &mut Cx<'m>,
    call: &Call<'_, 'm>,
    x: usize,
    zero: usize,
    shape: impl Fn(&[IntExpr]) -> Vec<IntExpr>,
) -> Outcome<ValueId> {
    let own = call.x(cx, x)?;
    let wide = cx.cast(own, DType::I32)?;
    if !call.has(zero) {
        return Ok(wide);
    }
    let zero = call.x(cx, zero)?;
    let zero = cx.cast(zero, DType::I32)?;
    let dims = cx.dims(zero);
    let shaped = if dims.len() == 1 && dims[0].as_const() != Some(1) { shape(&dims) } else { dims.clone() };
    let zero = if dims.len() == 1 && dims[0].as_const() == Some(1) {
        cx.reshape(zero, &[])?
    } else {
        cx.reshape(zero, &shaped)?
    };
    cx.binary(BinaryOp::Sub, wide, zero)
}

fn column(dims: &[IntExpr]) -> Vec<IntExpr> {
    vec![dims[0].clone(), int(1)]
}

fn row(dims: &[IntExpr]) -> Vec<IntExpr> {
    dims.to_vec()
}

/// An integer operand whose zero points are known, along `axis` if there are several.
fn operand<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, i: usize, zero: usize, axis: usize) -> Outcome<Option<Quantized>> {
    let (q, elem) = call.any(cx, i)?;
    let zeros = match call.inputs.get(zero) {
        None | Some(Value::None) => vec![0],
        Some(Value::Known(data)) => match data.scalars(MOST_SCALES) {
            Some(zeros) => zeros.iter().map(|z| z.to_i128() as i64).collect(),
            None => return Ok(None),
        },
        Some(_) => return Ok(None),
    };
    let fits = zeros.len() == 1 || cx.dims(q).get(axis).and_then(IntExpr::as_const) == Some(zeros.len() as i64);
    let data = if let Value::Known(data) = call.value(i)? { Some(data.clone()) } else { None };
    let of = Quantized { q, elem, scale: vec![1.0; zeros.len()], zero: zeros, axis, data, turned: false };
    Ok(Some(of).filter(|_| fits && elem.is_plain()))
}

/// `Σ (a - zero) (b - zero)` of operands `[a, its zero point, b, its zero point]`.
fn integer_product<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, places: [usize; 4]) -> Outcome<ValueId> {
    let [a, a_zero, b, b_zero] = places;
    let columns = cx.shape(call.value(b)?)?.len().saturating_sub(1);
    if let (Some(left), Some(right)) = (operand(cx, call, a, a_zero, 0)?, operand(cx, call, b, b_zero, columns)?)
        && left.zero.len() == 1
    {
        return product_sum(cx, &left, &right);
    }
    let (a, b) = (centred(cx, call, a, a_zero, column)?, centred(cx, call, b, b_zero, row)?);
    cx.emit(Op::MatMul, &[a, b])
}

fn matmul_integer<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let y = integer_product(cx, call, [0, 2, 1, 3])?;
    cx.one(y)
}

fn integer_conv<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, places: [usize; 4]) -> Outcome<ValueId> {
    let [x, x_zero, w, w_zero] = places;
    if let (Some(x), Some(w)) = (operand(cx, call, x, x_zero, 1)?, operand(cx, call, w, w_zero, 0)?)
        && x.zero.len() == 1
    {
        return conv_sum(cx, call, &x, &w);
    }
    let per_filter = |rank: usize| move |dims: &[IntExpr]| [dims, &vec![int(1); rank - 1]].concat();
    let w_rank = cx.shape(call.value(w)?)?.len().max(1);
    let x = centred(cx, call, x, x_zero, row)?;
    let w = centred(cx, call, w, w_zero, per_filter(w_rank))?;
    let dims = cx.dims(x);
    let kernel = cx.fixed(w)?.get(2..).unwrap_or_default().to_vec();
    let window = window(call, dims.get(2..).unwrap_or_default(), kernel)?;
    cx.emit(Op::Conv { window, group: call.int_or("group", 1)?, layout: ConvLayout::PLAIN }, &[x, w])
}

fn conv_integer<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let y = integer_conv(cx, call, [0, 2, 1, 3])?;
    cx.one(y)
}

/// `x · scale`, rounded, with the zero point, saturated.
fn requantised<'m>(cx: &mut Cx<'m>, x: ValueId, scale: ValueId, zero: (ValueId, Elem)) -> Results {
    let Some((low, high)) = limits(zero.1) else { return fault(format!("{} is no quantised type", zero.1)) };
    let x = cx.cast(x, DType::F32)?;
    let scaled = cx.binary(BinaryOp::Mul, x, scale)?;
    let rounded = cx.unary(UnaryOp::Round, scaled)?;
    let zero_point = cx.cast(zero.0, DType::F32)?;
    let moved = cx.binary(BinaryOp::Add, rounded, zero_point)?;
    let (low, high) = (cx.like(moved, low as f64), cx.like(moved, high as f64));
    let y = cx.binary(BinaryOp::Max, moved, low)?;
    let y = cx.binary(BinaryOp::Min, y, high)?;
    let y = cx.cast(y, zero.1.storage().unwrap_or(DType::U8))?;
    Ok(vec![Value::Node(y, zero.1)])
}

fn scale<'m>(
    cx: &mut Cx<'m>,
    call: &Call<'_, 'm>,
    places: [usize; 3],
    shape: impl Fn(&[IntExpr]) -> Vec<IntExpr>,
) -> Outcome<ValueId> {
    let read = |cx: &mut Cx<'m>, i: usize| {
        let s = call.x(cx, places[i])?;
        let s = cx.cast(s, DType::F32)?;
        let dims = cx.dims(s);
        match dims.as_slice() {
            [one] if one.as_const() == Some(1) => cx.reshape(s, &[]),
            [_] if i == 1 => cx.reshape(s, &shape(&dims)),
            _ => Ok(s),
        }
    };
    let (a, b, y) = (read(cx, 0)?, read(cx, 1)?, read(cx, 2)?);
    let product = cx.binary(BinaryOp::Mul, a, b)?;
    cx.binary(BinaryOp::Div, product, y)
}

fn scalar_zero<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, i: usize) -> Outcome<(ValueId, Elem)> {
    let (zero, elem) = call.any(cx, i)?;
    let single = cx.dims(zero).iter().all(|d| d.as_const() == Some(1));
    Ok((if single { cx.reshape(zero, &[])? } else { zero }, elem))
}

fn qlinear_matmul<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let product = integer_product(cx, call, [0, 2, 3, 5])?;
    let scale = scale(cx, call, [1, 4, 6], row)?;
    let zero = scalar_zero(cx, call, 7)?;
    requantised(cx, product, scale, zero)
}

fn qlinear_conv<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let mut sum = integer_conv(cx, call, [0, 2, 3, 5])?;
    let rank = cx.rank(sum);
    if let Some(bias) = call.optional(cx, 8)? {
        let bias = cx.per_channel(bias, rank)?;
        sum = cx.binary(BinaryOp::Add, sum, bias)?;
    }
    let per_channel = |dims: &[IntExpr]| [dims, &vec![int(1); rank - 2]].concat();
    let scale = scale(cx, call, [1, 4, 6], per_channel)?;
    let zero = scalar_zero(cx, call, 7)?;
    requantised(cx, sum, scale, zero)
}

/// Scale and zero point from the extremes of the data, 0 among them.
fn dynamic_quantize<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let x = call.x(cx, 0)?;
    let axes: Vec<usize> = (0..cx.rank(x)).collect();
    let zero = cx.like(x, 0.0);
    let (low, high) = (cx.reduce(ReduceOp::Min, x, &axes, false)?, cx.reduce(ReduceOp::Max, x, &axes, false)?);
    let (low, high) = (cx.binary(BinaryOp::Min, low, zero)?, cx.binary(BinaryOp::Max, high, zero)?);
    let (top, range) = (cx.like(x, 255.0), cx.binary(BinaryOp::Sub, high, low)?);
    let scale = cx.binary(BinaryOp::Div, range, top)?;
    let low_scaled = cx.binary(BinaryOp::Div, low, scale)?;
    let point = cx.binary(BinaryOp::Sub, zero, low_scaled)?;
    let saturate = |cx: &mut Cx<'m>, x: ValueId| {
        let x = cx.binary(BinaryOp::Max, x, zero)?;
        cx.binary(BinaryOp::Min, x, top)
    };
    let point = saturate(cx, point)?;
    let point = cx.unary(UnaryOp::Round, point)?;
    let scaled = cx.binary(BinaryOp::Div, x, scale)?;
    let rounded = cx.unary(UnaryOp::Round, scaled)?;
    let moved = cx.binary(BinaryOp::Add, rounded, point)?;
    let y = saturate(cx, moved)?;
    let (y, point) = (cx.cast(y, DType::U8)?, cx.cast(point, DType::U8)?);
    Ok(vec![cx.plain(y), cx.plain(scale), cx.plain(point)])
}

pub(super) static TABLE: &[OnnxOp] = &[
    op("ConvInteger", 10, conv_integer),
    op("DequantizeLinear", 10, dequantize),
    op("DynamicQuantizeLinear", 11, dynamic_quantize),
    op("MatMulInteger", 10, matmul_integer),
    op("QLinearConv", 10, qlinear_conv),
    op("QLinearMatMul", 10, qlinear_matmul),
    op("QuantizeLinear", 10, quantize),
];
