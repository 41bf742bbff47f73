//! Operators that read and write at indices.

use tenfold_ir::DType;
use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::ops::{Arg, AttrValue};
use tenfold_ir::relax::{Op, ValueId};

use super::{Convert, OnnxOp, op};
use crate::call::Call;
use crate::emit::int;
use crate::value::{Outcome, Value, fault};
use crate::walk::Cx;

type Results = Outcome<Vec<Value>>;

fn axis_attr(axis: usize) -> (&'static str, AttrValue) {
    ("axis", AttrValue::Int(int(axis as i64)))
}

fn gather<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, operator: &str) -> Results {
    let ((x, elem), indices) = (call.any(cx, 0)?, call.x(cx, 1)?);
    let axis = call.axis(0, cx.rank(x))?;
    let y = cx.op(operator, &[x, indices], &[axis_attr(axis)])?;
    Ok(vec![Value::Node(y, elem)])
}

fn gather_nd<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let ((x, elem), indices) = (call.any(cx, 0)?, call.x(cx, 1)?);
    let batch = AttrValue::Int(int(call.int_or("batch_dims", 0)?));
    let y = cx.op("gather", &[x, indices], &[("batch_dims", batch)])?;
    Ok(vec![Value::Node(y, elem)])
}

fn reduction(call: &Call<'_, '_>) -> Outcome<(&'static str, AttrValue)> {
    Ok(("reduction", AttrValue::Text(call.text("reduction", "none")?)))
}

fn scatter_nd<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let ((x, elem), indices, updates) = (call.any(cx, 0)?, call.x(cx, 1)?, call.any(cx, 2)?.0);
    let y = cx.op("scatter", &[x, indices, updates], &[reduction(call)?])?;
    Ok(vec![Value::Node(y, elem)])
}

fn scatter_elements<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let ((x, elem), indices, updates) = (call.any(cx, 0)?, call.x(cx, 1)?, call.any(cx, 2)?.0);
    let axis = call.axis(0, cx.rank(x))?;
    let y = cx.op("put_along_axis", &[x, indices, updates], &[axis_attr(axis), reduction(call)?])?;
    Ok(vec![Value::Node(y, elem)])
}

fn reverse_sequence<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let ((x, elem), lengths) = (call.any(cx, 0)?, call.x(cx, 1)?);
    let attrs = [
        ("time_axis", AttrValue::Int(int(call.int_or("time_axis", 0)?))),
        ("batch_axis", AttrValue::Int(int(call.int_or("batch_axis", 1)?))),
    ];
    let y = cx.op("reverse_sequence", &[x, lengths], &attrs)?;
    Ok(vec![Value::Node(y, elem)])
}

/// A cache with a run of new entries per batch, from an index on; `circular` goes on at the beginning.
fn tensor_scatter<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let ((cache, elem), update) = (call.any(cx, 0)?, call.any(cx, 1)?.0);
    let dims = cx.dims(cache);
    let axis = call.axis(-2, dims.len())?;
    if axis == 0 {
        return fault("the axis of the sequence is that of the batch");
    }
    let (length, run) = (dims[axis].clone(), cx.dims(update)[axis].clone());
    let begin = match call.optional(cx, 2)? {
        Some(begin) => cx.cast(begin, DType::I64)?,
        None => {
            let zero = cx.scalar(DType::I64, 0.0);
            cx.full(&dims[..1], zero)?
        }
    };
    let begin = cx.reshape(begin, &[dims[0].clone(), int(1)])?;
    let steps = cx.emit(Op::Arange { start: int(0), step: int(1), extent: run.clone(), dtype: DType::I64 }, &[])?;
    let mut place = cx.binary(BinaryOp::Add, begin, steps)?;
    if call.text("mode", "linear")? == "circular" {
        let length = cx.emit(Op::IndexValue { expr: length.clone(), dtype: DType::I64 }, &[])?;
        place = cx.binary(BinaryOp::RemEuclid, place, length)?;
    }
    // The index of each element of the update along the axis.
    let mut shape = vec![int(1); dims.len()];
    (shape[0], shape[axis]) = (dims[0].clone(), run);
    let place = cx.reshape(place, &shape)?;
    let all = cx.dims(update);
    let place = cx.broadcast(place, &all)?;
    let y = cx.op("put_along_axis", &[cache, place, update], &[axis_attr(axis)])?;
    Ok(vec![Value::Node(y, elem)])
}

/// Parts of a tensor where a condition holds: as many as hold.
fn compress<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let ((x, elem), condition) = (call.any(cx, 0)?, call.x(cx, 1)?);
    let axis = call.int("axis")?.map(|axis| crate::call::axis_of(axis, cx.rank(x))).transpose()?;
    let attrs: Vec<_> = axis.map(axis_attr).into_iter().collect();
    let both = cx.op("compress", &[condition, x], &attrs)?;
    let both = cx.components(both)?;
    let y = first_of(cx, both[0], axis.unwrap_or(0), both[1])?;
    Ok(vec![Value::Node(y, elem)])
}

/// As many parts along an axis as there are.
pub(super) fn first_of(cx: &mut Cx<'_>, x: ValueId, axis: usize, count: ValueId) -> Outcome<ValueId> {
    let length = cx.length(count)?;
    let mut shape = cx.dims(x);
    shape[axis] = length;
    cx.cut(x, shape)
}

/// The indices of the elements that are not 0, one column each.
fn non_zero<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let x = call.x(cx, 0)?;
    let both = cx.op("nonzero", &[x], &[])?;
    let both = cx.components(both)?;
    let y = first_of(cx, both[0], 1, both[1])?;
    cx.one(y)
}

/// Running sums or products along the axis that an operand says.
fn cumulative<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, name: &str) -> Results {
    let x = call.x(cx, 0)?;
    let axis = cx.i64s(call.value(1)?)?.first().copied().unwrap_or(0);
    let y = cx.entry_with(call, name, vec![Arg::Value(x)], &[("axis", AttrValue::Int(int(axis)))])?;
    cx.plains(&y)
}

/// Whether an optional holds something, which is known.
fn optional_has_element<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let y = cx.b.scalar(tenfold_ir::Scalar::bool(call.has(0)));
    cx.one(y)
}

/// An optional that holds something is that.
fn optional_get_element<'m>(_: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    Ok(vec![call.value(0)?.clone()])
}

/// Columns of the last axis.
fn array_feature_extractor<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let ((x, elem), places) = (call.any(cx, 0)?, call.x(cx, 1)?);
    let Some(last) = cx.rank(x).checked_sub(1) else { return fault("a scalar has no features") };
    let count = crate::emit::product(&cx.dims(places));
    let places = cx.reshape(places, &[count])?;
    let mut y = cx.op("take", &[x, places], &[axis_attr(last)])?;
    if last == 0 {
        y = cx.expand_dims(y, 0)?;
    }
    Ok(vec![Value::Node(y, elem)])
}

/// 1 above a threshold, else 0.
fn binarizer<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let x = call.x(cx, 0)?;
    let threshold = cx.like(x, f64::from(call.float_or("threshold", 0.0)?));
    let above = cx.compare(CmpOp::Gt, x, threshold)?;
    let y = cx.cast(above, cx.dtype(x))?;
    cx.one(y)
}

const fn ml(name: &'static str, convert: Convert) -> OnnxOp {
    OnnxOp { domain: "ai.onnx.ml", name, since: 1, convert }
}

fn hardmax<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let x = call.x(cx, 0)?;
    let dims = cx.dims(x);
    let (flat, axis) = if call.version >= 13 {
        (x, call.axis(-1, dims.len())?)
    } else {
        let axis = call.axis(1, dims.len())?;
        let (a, b) = (crate::emit::product(&dims[..axis]), crate::emit::product(&dims[axis..]));
        (cx.reshape(x, &[a, b])?, 1)
    };
    let op = tenfold_ir::op::ArgOp::ArgMax;
    let at = cx.emit(Op::ArgReduce { op, axis: Some(axis), keepdims: true }, &[flat])?;
    let mut shape = vec![int(1); cx.rank(flat)];
    shape[axis] = cx.dims(flat)[axis].clone();
    let range = Op::Arange { start: int(0), step: int(1), extent: shape[axis].clone(), dtype: DType::I64 };
    let range = cx.emit(range, &[])?;
    let range = cx.reshape(range, &shape)?;
    let hit = cx.compare(CmpOp::Eq, at, range)?;
    let y = cx.cast(hit, cx.dtype(x))?;
    let y = cx.reshape(y, &dims)?;
    cx.one(y)
}

pub(super) static TABLE: &[OnnxOp] = &[
    ml("ArrayFeatureExtractor", array_feature_extractor),
    ml("Binarizer", binarizer),
    op("Compress", 9, compress),
    op("CumProd", 26, |cx, call| cumulative(cx, call, "cumprod")),
    op("CumSum", 11, |cx, call| cumulative(cx, call, "cumsum")),
    op("Gather", 1, |cx, call| gather(cx, call, "take")),
    op("GatherElements", 11, |cx, call| gather(cx, call, "take_along_axis")),
    op("GatherND", 11, gather_nd),
    op("Hardmax", 1, hardmax),
    op("NonZero", 9, non_zero),
    op("OptionalHasElement", 15, optional_has_element),
    op("OptionalGetElement", 15, optional_get_element),
    op("ReverseSequence", 10, reverse_sequence),
    op("Scatter", 9, scatter_elements),
    op("ScatterElements", 11, scatter_elements),
    op("ScatterND", 11, scatter_nd),
    op("TensorScatter", 24, tensor_scatter),
];
