//! Operators that move elements and change shapes, and those that make tensors.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::CmpOp;
use tenfold_ir::ops::Arg;
use tenfold_ir::relax::{Op, PadMode, SliceAxis, ValueId};
use tenfold_ir::{ConstBytes, DType};

use super::{OnnxOp, op};
use crate::call::{Call, axis_of};
use crate::elem::Elem;
use crate::emit::{int, product};
use crate::proto::AttributeValue;
use crate::tensor::{Elements, TensorData};
use crate::value::{Fault, Outcome, Value, fault};
use crate::walk::{Cx, integers};

type Results = Outcome<Vec<Value>>;

fn constant<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let floats = |values: &[f32], shape: Vec<u64>| {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        TensorData { elem: Elem::Float, shape, data: Elements::Bytes(ConstBytes::Inline(bytes.into())) }
    };
    let strings = |list: Vec<Vec<u8>>, shape| TensorData { elem: Elem::String, shape, data: Elements::Strings(list) };
    let value = match call.attributes.iter().next() {
        Some((&"value", AttributeValue::Tensor(tensor))) => cx.tensor(tensor)?,
        Some((&"value_float", AttributeValue::Float(v))) => floats(&[*v], Vec::new()).into(),
        Some((&"value_floats", AttributeValue::Floats(v))) => floats(v, vec![v.len() as u64]).into(),
        Some((&"value_int", AttributeValue::Int(v))) => integers(Elem::Int64, Vec::new(), &[*v]).into(),
        Some((&"value_ints", AttributeValue::Ints(v))) => integers(Elem::Int64, vec![v.len() as u64], v).into(),
        Some((&"value_string", AttributeValue::String(v))) => strings(vec![v.to_vec()], Vec::new()).into(),
        Some((&"value_strings", AttributeValue::Strings(v))) => {
            strings(v.iter().map(|s| s.to_vec()).collect(), vec![v.len() as u64]).into()
        }
        Some((name, _)) => return fault(format!("a constant by `{name}` is not supported")),
        None => return fault("it has no value"),
    };
    Ok(vec![value])
}

/// The result keeps the type of operand 0, whatever it is.
fn moved(y: ValueId, elem: Elem) -> Results {
    Ok(vec![Value::Node(y, elem)])
}

fn reshape<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (x, elem) = call.any(cx, 0)?;
    let old = cx.dims(x);
    let keep_zero = call.int_or("allowzero", 0)? != 0;
    let mut shape = cx.exprs(call.value(1)?)?;
    for (axis, extent) in shape.iter_mut().enumerate() {
        if extent.as_const() == Some(0) && !keep_zero {
            let Some(own) = old.get(axis) else { return fault(format!("axis {axis} has no extent to keep")) };
            *extent = own.clone();
        }
    }
    let y = cx.operator("reshape", vec![Arg::Value(x), Arg::Shape(shape)], &[])?;
    moved(y, elem)
}

fn flatten<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (x, elem) = call.any(cx, 0)?;
    let dims = cx.dims(x);
    let axis = call.int_or("axis", 1)?;
    let rank = dims.len() as i64;
    let at = if axis < 0 { axis + rank } else { axis };
    if !(0..=rank).contains(&at) {
        return fault(format!("axis {axis} is outside of rank {rank}"));
    }
    let (first, rest) = dims.split_at(at as usize);
    let y = cx.reshape(x, &[product(first), product(rest)])?;
    moved(y, elem)
}

fn transpose<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (x, elem) = call.any(cx, 0)?;
    let rank = cx.rank(x);
    let perm = match call.ints("perm")? {
        Some(perm) => perm.into_iter().map(|axis| axis_of(axis, rank)).collect::<Outcome<Vec<_>>>()?,
        None => (0..rank).rev().collect(),
    };
    let y = cx.emit(Op::Transpose { perm }, &[x])?;
    moved(y, elem)
}

fn squeeze<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (x, elem) = call.any(cx, 0)?;
    let dims = cx.dims(x);
    let named = call.axes(cx, 1, "axes", dims.len())?;
    let is_one = |i: usize| dims[i].as_const() == Some(1);
    let gone = named.unwrap_or_else(|| (0..dims.len()).filter(|i| is_one(*i)).collect());
    let kept: Vec<IntExpr> = (0..dims.len()).filter(|i| !gone.contains(i)).map(|i| dims[i].clone()).collect();
    let y = cx.reshape(x, &kept)?;
    moved(y, elem)
}

fn unsqueeze<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (x, elem) = call.any(cx, 0)?;
    let mut dims = cx.dims(x).into_iter();
    let axes = match call.ints("axes")? {
        Some(axes) => axes,
        None => cx.i64s(call.value(1)?)?,
    };
    let rank = dims.len() + axes.len();
    let new = axes.into_iter().map(|axis| axis_of(axis, rank)).collect::<Outcome<Vec<_>>>()?;
    if (1..new.len()).any(|i| new[..i].contains(&new[i])) {
        return fault(format!("the axes {new:?} stand there twice"));
    }
    let shape: Vec<IntExpr> =
        (0..rank).map(|i| if new.contains(&i) { int(1) } else { dims.next().unwrap_or_else(|| int(1)) }).collect();
    let y = cx.reshape(x, &shape)?;
    moved(y, elem)
}

fn concat<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (first, elem) = call.any(cx, 0)?;
    let axis = call.axis(1, cx.rank(first))?;
    let all = (0..call.inputs.len()).map(|i| Ok(call.any(cx, i)?.0)).collect::<Outcome<Vec<_>>>()?;
    let y = if all.len() == 1 { first } else { cx.emit(Op::Concat { axis }, &all)? };
    moved(y, elem)
}

fn split<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (x, elem) = call.any(cx, 0)?;
    let axis = call.axis(0, cx.rank(x))?;
    let extent = cx.dims(x)[axis].clone();
    let sizes: Vec<IntExpr> = match call.ints("split")? {
        Some(sizes) => sizes.into_iter().map(int).collect(),
        None if call.has(1) => cx.exprs(call.value(1)?)?,
        None => equal_parts(&extent, call.int_or("num_outputs", call.node.outputs.len() as i64)?)?,
    };
    let mut out = Vec::new();
    let mut begin = int(0);
    for size in sizes {
        let part = cx.part(x, axis, begin.clone(), size.clone())?;
        out.push(Value::Node(part, elem));
        begin = begin + size;
    }
    Ok(out)
}

/// The last part is smaller if the extent is no multiple.
fn equal_parts(extent: &IntExpr, parts: i64) -> Outcome<Vec<IntExpr>> {
    if !(1..=4096).contains(&parts) {
        return fault(format!("it asks for {parts} parts"));
    }
    let Some(n) = extent.as_const() else { return Ok(vec![extent.floor_div(&int(parts)); parts as usize]) };
    let size = n.div_euclid(parts) + i64::from(n % parts != 0);
    Ok((0..parts).map(|i| int((n - i * size).clamp(0, size))).collect())
}

/// The extents of a slice, by operands or, before version 10, by attributes.
fn slice<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (x, elem) = call.any(cx, 0)?;
    let (starts, ends, axes, steps) = match (call.ints("starts")?, call.ints("ends")?) {
        (Some(starts), Some(ends)) => {
            let list = |v: Vec<i64>| v.into_iter().map(int).collect::<Vec<_>>();
            (list(starts), list(ends), call.ints("axes")?, None)
        }
        (_, _) => {
            let (starts, ends) = (cx.exprs(call.value(1)?)?, cx.exprs(call.value(2)?)?);
            let axes = if call.has(3) { Some(cx.i64s(call.value(3)?)?) } else { None };
            (starts, ends, axes, if call.has(4) { Some(cx.i64s(call.value(4)?)?) } else { None })
        }
    };
    let rank = cx.rank(x);
    let axes = axes.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let mut all = cx.whole(x);
    for (i, axis) in axes.into_iter().enumerate() {
        let axis = axis_of(axis, rank)?;
        let (Some(start), Some(end)) = (starts.get(i), ends.get(i)) else {
            return fault("an axis has no start or end");
        };
        let step = steps.as_ref().map_or(Some(1), |s| s.get(i).copied()).filter(|s| *s != 0);
        let Some(step) = step else { return fault("a step is 0 or missing") };
        all[axis] = slice_axis(cx, &all[axis].extent.clone(), start, end, step)?;
    }
    let y = cx.emit(Op::Slice { axes: all, drop: Vec::new() }, &[x])?;
    moved(y, elem)
}

/// Where a slice of `n` elements begins and ends. Numbers below 0 count from the end, and what is beyond an end is that
/// end: backwards a slice begins at an element and may end before the first.
pub(crate) fn slice_ends(start: i64, end: i64, step: i64, n: i64) -> (i64, i64) {
    let counted = |at: i64| if at < 0 { at.saturating_add(n) } else { at };
    let (start, end) = (counted(start), counted(end));
    match (step > 0, n) {
        (true, _) => (start.clamp(0, n), end.clamp(0, n)),
        (false, 0) => (0, 0),
        (false, _) => (start.clamp(0, n - 1), end.clamp(-1, n - 1)),
    }
}

fn slice_axis(cx: &Cx<'_>, n: &IntExpr, start: &IntExpr, end: &IntExpr, step: i64) -> Outcome<SliceAxis> {
    if let (Some(n), Some(start), Some(end)) = (n.as_const(), start.as_const(), end.as_const()) {
        let (begin, end) = slice_ends(start, end, step, n);
        let extent = if step > 0 { (end - begin).max(0) } else { (begin - end).max(0) };
        let extent = extent.div_euclid(step.saturating_abs()) + i64::from(extent % step.saturating_abs() != 0);
        let begin = if extent == 0 { 0 } else { begin };
        return Ok(SliceAxis { begin: int(begin), extent: int(extent), step });
    }
    // backwards a slice begins at an element, and ends before one or before all
    let (least, most) = if step > 0 { (int(0), n.clone()) } else { (int(-1), n - int(1)) };
    // ONNX names both ends of a dim without a value by the ends of an integer, which may have 32 bits
    let place = |at: &IntExpr| match at.as_const() {
        Some(at) if at >= i64::from(i32::MAX) => most.clone(),
        Some(at) if at <= i64::from(i32::MIN) => least.clone(),
        Some(at) if at < 0 => n + at,
        _ => at.clone(),
    };
    let (begin, end) = (place(start), place(end));
    let (low, high) = if step > 0 { (&begin, &end) } else { (&end, &begin) };
    let p = &cx.b.prover;
    let inside = p.prove_le(&least, low) && p.prove_le(low, high) && p.prove_le(high, &most);
    if !inside {
        return fault(format!(
            "the slice {start}..{end} in steps of {step} of an extent {n} is not known to lie inside; bound the dims, or \
             fix them"
        ));
    }
    let (length, step_length) = (high - low, int(step.saturating_abs()));
    let extent = (length + &step_length - int(1)).floor_div(&step_length);
    Ok(SliceAxis { extent, begin, step })
}

fn pad<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (x, elem) = call.any(cx, 0)?;
    let rank = cx.rank(x);
    let pads = match call.ints("pads")? {
        Some(pads) => pads.into_iter().map(int).collect(),
        None => cx.exprs(call.value(1)?)?,
    };
    let axes: Vec<usize> = call.axes(cx, 3, "axes", rank)?.unwrap_or_else(|| (0..rank).collect());
    if pads.len() != 2 * axes.len() {
        return fault(format!("it has {} pads for {} axes", pads.len(), axes.len()));
    }
    let (mut before, mut after) = (vec![int(0); rank], vec![int(0); rank]);
    for (i, axis) in axes.iter().enumerate() {
        before[*axis] = pads[i].clone();
        after[*axis] = pads[i + axes.len()].clone();
    }
    let mode = match call.text("mode", "constant")?.as_str() {
        "constant" => PadMode::Constant,
        "edge" => PadMode::Edge,
        "reflect" => PadMode::Reflect,
        "wrap" => PadMode::Wrap,
        other => return fault(format!("the mode `{other}` is not supported")),
    };
    let (x, before, after) = cropped(cx, x, before, after)?;
    let mut args = vec![x];
    if mode == PadMode::Constant {
        let value = match call.float("value")? {
            Some(value) => cx.like(x, f64::from(value)),
            None if call.has(2) => {
                let value = call.any(cx, 2)?.0;
                cx.reshape(value, &[])?
            }
            None => cx.like(x, 0.0),
        };
        args.push(value);
    }
    let y = cx.emit(Op::Pad { mode, before, after }, &args)?;
    moved(y, elem)
}

/// Pads below 0 take elements away.
type Cropped = (ValueId, Vec<IntExpr>, Vec<IntExpr>);

fn cropped(cx: &mut Cx<'_>, x: ValueId, before: Vec<IntExpr>, after: Vec<IntExpr>) -> Outcome<Cropped> {
    let cut = |pad: &IntExpr| pad.as_const().filter(|n| *n < 0).map_or(0, |n| -n);
    let rest = |pads: Vec<IntExpr>| pads.into_iter().map(|p| if cut(&p) > 0 { int(0) } else { p }).collect();
    if before.iter().chain(&after).all(|p| cut(p) == 0) {
        return Ok((x, before, after));
    }
    let mut axes = cx.whole(x);
    for (i, axis) in axes.iter_mut().enumerate() {
        axis.begin = int(cut(&before[i]));
        axis.extent = &axis.extent - int(cut(&before[i])) - int(cut(&after[i]));
    }
    let x = cx.emit(Op::Slice { axes, drop: Vec::new() }, &[x])?;
    Ok((x, rest(before), rest(after)))
}

/// Broadcasts in both directions.
fn expand<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (x, elem) = call.any(cx, 0)?;
    let wanted = cx.exprs(call.value(1)?)?;
    let own = cx.dims(x);
    let shape = tenfold_ir::relax::broadcast(&cx.b.prover, &[own.as_slice(), wanted.as_slice()])?;
    let y = cx.broadcast(x, &shape)?;
    moved(y, elem)
}

fn tile<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (x, elem) = call.any(cx, 0)?;
    let repeats = cx.exprs(call.value(1)?)?;
    let dims = cx.dims(x);
    if repeats.len() != dims.len() {
        return fault(format!("it has {} repeats for rank {}", repeats.len(), dims.len()));
    }
    let (mut ones, mut wide, mut out) = (Vec::new(), Vec::new(), Vec::new());
    for (dim, repeat) in dims.iter().zip(&repeats) {
        if repeat.as_const() != Some(1) {
            ones.push(int(1));
            wide.push(repeat.clone());
        }
        ones.push(dim.clone());
        wide.push(dim.clone());
        out.push(dim * repeat);
    }
    let y = cx.reshape(x, &ones)?;
    let y = cx.broadcast(y, &wide)?;
    let y = cx.reshape(y, &out)?;
    moved(y, elem)
}

fn constant_of_shape<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let shape = cx.exprs(call.value(0)?)?;
    let value = match call.attributes.get("value") {
        Some(AttributeValue::Tensor(tensor)) => cx.tensor(tensor)?,
        Some(_) => return fault("expected a tensor for the attribute `value`"),
        None => {
            let zero = cx.scalar(DType::F32, 0.0);
            cx.plain(zero)
        }
    };
    let (elem, one) = (cx.elem(&value)?, cx.node(&value)?);
    let one = cx.reshape(one, &[])?;
    let y = cx.full(&shape, one)?;
    moved(y, elem)
}

/// Where a range of integers in steps of 1 begins and ends. Data may decide the end, if it begins at 0 or later.
fn ends<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Outcome<Option<(IntExpr, IntExpr)>> {
    let first = |ints: crate::value::Ints| ints.values.first().cloned();
    let (start, step) = (cx.known_ints(call.value(0)?).and_then(first), cx.known_ints(call.value(2)?).and_then(first));
    let (Some(start), true) = (start, step.is_some_and(|step| step.as_const() == Some(1))) else { return Ok(None) };
    let limit = call.value(1)?;
    if let Some(limit) = cx.known_ints(limit).and_then(first) {
        return Ok(Some((start, limit)));
    }
    let (Value::Node(id, _), Err(Fault::Wanted(_))) = (limit, cx.i64s(limit)) else { return Ok(None) };
    if !cx.has_bound(*id) || !cx.b.prover.prove_le(&int(0), &start) {
        return Ok(None);
    }
    let one = cx.reshape(*id, &[])?;
    Ok(Some((start, cx.natural(one)?)))
}

/// `start + i · delta`, computed as ONNX does: the number of values from the three, each value from `i`.
fn range<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let elem = cx.elem(call.value(0)?)?;
    let Some(dtype) = elem.storage() else { return fault(format!("{elem} is not supported")) };
    let ends = if matches!(elem, Elem::Int64 | Elem::Int32) { ends(cx, call)? } else { None };
    if let Some((start, limit)) = ends {
        let extent = &limit - &start;
        let extent = if cx.b.prover.prove_ge0(&extent) { extent } else { extent.maximum(&int(0)) };
        let y = cx.emit(Op::Arange { start, step: int(1), extent, dtype }, &[])?;
        return moved(y, elem);
    }
    let [start, limit, delta] = [0, 1, 2].map(|i| call.value(i).and_then(|v| cx.f64s(v)).map(|v| v.first().copied()));
    let (Some(start), Some(limit), Some(delta)) = (start?, limit?, delta?) else { return fault("an operand is empty") };
    let count = ((limit - start) / delta).ceil().max(0.0);
    if !count.is_finite() || count > 1e9 {
        return fault(format!("it has {count} values"));
    }
    let wide = if dtype.is_float() { DType::F64 } else { DType::I64 };
    let index = cx.emit(Op::Arange { start: int(0), step: int(1), extent: int(count as i64), dtype: wide }, &[])?;
    let (delta, start) = (cx.scalar(wide, delta), cx.scalar(wide, start));
    let scaled = cx.binary(tenfold_ir::op::BinaryOp::Mul, index, delta)?;
    let y = cx.binary(tenfold_ir::op::BinaryOp::Add, scaled, start)?;
    let y = cx.cast(y, dtype)?;
    moved(y, elem)
}

/// Rows and columns as vectors that broadcast to a matrix.
fn grid(cx: &mut Cx<'_>, rows: &IntExpr, columns: &IntExpr) -> Outcome<(ValueId, ValueId)> {
    let arange =
        |extent: &IntExpr| Op::Arange { start: int(0), step: int(1), extent: extent.clone(), dtype: DType::I64 };
    let (i, j) = (cx.emit(arange(rows), &[])?, cx.emit(arange(columns), &[])?);
    Ok((cx.reshape(i, &[rows.clone(), int(1)])?, j))
}

fn eye_like<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let shape = cx.shape(call.value(0)?)?;
    let own = cx.elem(call.value(0)?)?;
    let elem = call.int("dtype")?.map_or(Some(own), Elem::from_code);
    let Some((elem, dtype)) = elem.and_then(|e| Some((e, e.storage()?))) else { return fault("its dtype is unknown") };
    let [rows, columns] = shape.as_slice() else { return fault("expected a matrix") };
    let (i, j) = grid(cx, rows, columns)?;
    let k = cx.scalar(DType::I64, call.int_or("k", 0)? as f64);
    let moved_row = cx.binary(tenfold_ir::op::BinaryOp::Add, i, k)?;
    let equal = cx.compare(CmpOp::Eq, moved_row, j)?;
    let y = cx.cast(equal, dtype)?;
    moved(y, elem)
}

fn trilu<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (x, elem) = call.any(cx, 0)?;
    let dims = cx.dims(x);
    let [.., rows, columns] = dims.as_slice() else { return fault("expected a matrix") };
    let (i, j) = grid(cx, rows, columns)?;
    let k = if call.has(1) { cx.i64s(call.value(1)?)?.first().copied().unwrap_or(0) } else { 0 };
    // An offset beyond the corners is a corner's: sums stay in range.
    let k = cx.b.scalar(tenfold_ir::Scalar::int(DType::I64, i128::from(k.clamp(-(1 << 40), 1 << 40))));
    let diagonal = cx.binary(tenfold_ir::op::BinaryOp::Add, i, k)?;
    let keeps = if call.int_or("upper", 1)? != 0 { CmpOp::Ge } else { CmpOp::Le };
    let kept = cx.compare(keeps, j, diagonal)?;
    let zero = cx.like(x, 0.0);
    let y = cx.select(kept, x, zero)?;
    moved(y, elem)
}

/// An operator of the language that moves elements of any type.
fn rearranged<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, name: &str) -> Results {
    let (x, elem) = call.any(cx, 0)?;
    let y = cx.entry(call, name, vec![Arg::Value(x)])?;
    Ok(y.into_iter().map(|y| Value::Node(y, elem)).collect())
}

/// Cuts or pads axes about their middle.
fn center_crop_pad<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (mut x, elem) = call.any(cx, 0)?;
    let rank = cx.rank(x);
    let target = cx.i64s(call.value(1)?)?;
    let axes: Vec<i64> = call.ints("axes")?.unwrap_or_else(|| (0..rank as i64).collect());
    let own = cx.fixed(x)?;
    let (mut before, mut after) = (vec![int(0); rank], vec![int(0); rank]);
    for (axis, target) in axes.into_iter().zip(target) {
        let axis = axis_of(axis, rank)?;
        let extra = target - own[axis];
        if extra >= 0 {
            before[axis] = int(extra / 2);
            after[axis] = int(extra - extra / 2);
        } else {
            x = cx.part(x, axis, int(-extra / 2), int(target))?;
        }
    }
    let zero = cx.like(x, 0.0);
    let y = cx.emit(Op::Pad { mode: PadMode::Constant, before, after }, &[x, zero])?;
    moved(y, elem)
}

/// Where the shape is no arithmetic on shapes, it is that of the operand.
fn shape<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let shape = cx.shape(call.value(0)?)?;
    Ok(vec![crate::value::Ints::vector(shape).into()])
}

pub(super) static TABLE: &[OnnxOp] = &[
    op("CenterCropPad", 18, center_crop_pad),
    op("Concat", 4, concat),
    op("Constant", 1, constant),
    op("ConstantOfShape", 9, constant_of_shape),
    op("DepthToSpace", 1, |cx, call| rearranged(cx, call, "depth_to_space")),
    op("Expand", 8, expand),
    op("EyeLike", 9, eye_like),
    op("Flatten", 1, flatten),
    op("Pad", 2, pad),
    op("Range", 11, range),
    op("Reshape", 5, reshape),
    op("Shape", 1, shape),
    op("Size", 1, shape),
    op("Slice", 1, slice),
    op("SpaceToDepth", 1, |cx, call| rearranged(cx, call, "space_to_depth")),
    op("Split", 2, split),
    op("Squeeze", 1, squeeze),
    op("Tile", 6, tile),
    op("Transpose", 1, transpose),
    op("Trilu", 14, trilu),
    op("Unsqueeze", 1, unsqueeze),
];
