//! Elements at indices that are data: gathers and scatters.
//!
//! ONNX leaves open what an index outside does. Here a negative one counts from the end; of what is outside then, a
//! gather takes the nearest element (0 of an axis without elements), and a scatter drops the update.

use super::call::{axis_attr, int_attr, tensor, word_attr};
use super::check::{attr_error, extent, integers, numbers, rank_at_least, same_dtype, shape, some};
use super::entry::AXIS;
use super::error::{At, OpError, OpErrorKind, show_tensor};
use super::kernel::{Buf, Ex, Kernel};
use super::{AttrDef, OpCall, OpDef};
use crate::Scalar;
use crate::arith::IntExpr;
use crate::op::BinaryOp;
use crate::relax::{Builder, Op, SliceAxis, TensorType, ValueId, dim};

const REDUCTION: AttrDef = AttrDef {
    name: "reduction",
    ty: "\"none\" | \"add\" | \"mul\" | \"max\" | \"min\" = \"none\"",
    doc: "how an update meets what is there; without one, of updates of one element the last in row-major order stays",
};

/// `x` at an index of which the axes `open` were clamped: 0 where one of them has no elements.
pub(super) fn at_or_zero<'k>(graph: &Builder, x: Buf<'k>, index: &[Ex<'k>], open: &[usize]) -> Ex<'k> {
    let shape = x.shape();
    let empty = open.iter().filter(|axis| !some(graph, &shape[**axis]));
    let there = empty.map(|axis| x.dim(*axis).ge(1)).reduce(Ex::and);
    match there {
        None => x.at(index),
        Some(there) => there.choose(x.at(index), x.zero()),
    }
}

fn take(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    let (indices, places) = tensor(b, call, 1)?;
    integers(1, &places)?;
    let axis = axis_attr(call, &ty, 0)?;
    let mut shape = ty.shape.clone();
    shape.splice(axis..=axis, places.shape.clone());
    let k = Kernel::new(b, "take");
    let (from, at) = (k.input(b, x), k.input(b, indices));
    let out = k.output(TensorType { dtype: ty.dtype, shape });
    k.each("take", out, |i| {
        let (inner, after) = (axis + places.shape.len(), &i[axis + places.shape.len()..]);
        let place = k.wrapped(at.at(&i[axis..inner]), from.dim(axis));
        at_or_zero(b, from, &[&i[..axis], &[place], after].concat(), &[axis])
    });
    k.finish(b)
}

/// Along one axis, an index of its own for each element.
pub(super) fn take_along_axis(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    let (indices, places) = tensor(b, call, 1)?;
    integers(1, &places)?;
    let axis = axis_attr(call, &ty, -1)?;
    along_axis(b, 1, &places, &ty, axis)?;
    let k = Kernel::new(b, "take_along_axis");
    let (from, at) = (k.input(b, x), k.input(b, indices));
    let out = k.output(TensorType { dtype: ty.dtype, shape: places.shape });
    k.each("take_along_axis", out, |i| {
        let mut source = i.to_vec();
        source[axis] = k.wrapped(at.at(i), from.dim(axis));
        at_or_zero(b, from, &source, &[axis])
    });
    k.finish(b)
}

/// Indices along an axis have the rank of what they index, and no other axis is longer.
fn along_axis(b: &Builder, i: usize, places: &TensorType, x: &TensorType, axis: usize) -> Result<(), OpError> {
    super::check::rank(i, places, x.shape.len())?;
    let longer = |at: &usize| *at != axis && !dim::at_most(&b.prover, &places.shape[*at], &x.shape[*at]);
    match (0..x.shape.len()).find(longer) {
        None => Ok(()),
        Some(at) => extent(b, i, places, at, &x.shape[at]),
    }
}

/// The axes of a call of GatherND or ScatterND.
struct Tuples {
    /// First axes that data and indices share.
    batch: usize,
    /// Axes of the indices before their last.
    outer: usize,
    /// Axes of data that a tuple says.
    depth: usize,
}

fn tuples(b: &Builder, call: &OpCall, x: &TensorType, places: &TensorType) -> Result<Tuples, OpError> {
    integers(1, places)?;
    rank_at_least(0, x, 1)?;
    rank_at_least(1, places, 1)?;
    let outer = places.shape.len() - 1;
    let batch = int_attr(call, "batch_dims")?.unwrap_or(0);
    let most = outer.min(x.shape.len() - 1);
    let Some(batch) = usize::try_from(batch).ok().filter(|n| *n <= most) else {
        return Err(attr_error("batch_dims", format!("expected 0 to {most} for `batch_dims`, found {batch}")));
    };
    (0..batch).try_for_each(|axis| extent(b, 1, places, axis, &x.shape[axis]))?;
    let last = &places.shape[outer];
    let depth = dim::as_int(last).and_then(|n| usize::try_from(n).ok()).filter(|n| batch + n <= x.shape.len());
    match depth {
        Some(depth) => Ok(Tuples { batch, outer, depth }),
        None => {
            let most = x.shape.len() - batch;
            let message =
                format!("expected a constant of at most {most} as the last extent, found `{}`", show_tensor(places));
            Err(OpError::new(At::Arg(1), OpErrorKind::Dims, message))
        }
    }
}

fn gather(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    let (indices, places) = tensor(b, call, 1)?;
    let Tuples { batch, outer, depth } = tuples(b, call, &ty, &places)?;
    let shape = [&places.shape[..outer], &ty.shape[batch + depth..]].concat();
    let k = Kernel::new(b, "gather");
    let (from, at) = (k.input(b, x), k.input(b, indices));
    let out = k.output(TensorType { dtype: ty.dtype, shape });
    k.each("gather", out, |i| {
        let tuple = (0..depth).map(|n| at.at(&[&i[..outer], &[k.int(n as i64)]].concat()));
        let tuple: Vec<Ex<'_>> = tuple.enumerate().map(|(n, p)| k.wrapped(p, from.dim(batch + n))).collect();
        let open: Vec<usize> = (batch..batch + depth).collect();
        at_or_zero(b, from, &[&i[..batch], &tuple, &i[outer..]].concat(), &open)
    });
    k.finish(b)
}

/// How an update meets what is there.
fn meet<'k>(reduction: usize, old: Ex<'k>, new: Ex<'k>) -> Ex<'k> {
    match reduction {
        1 => old + new,
        2 => old * new,
        3 => old.max(new),
        4 => old.min(new),
        _ => new,
    }
}

fn reduction(call: &OpCall, x: &TensorType) -> Result<usize, OpError> {
    let reduction = word_attr(call, "reduction", &["none", "add", "mul", "max", "min"])?;
    if reduction > 0 {
        numbers(0, x)?;
    }
    Ok(reduction)
}

/// A value of its own memory: what is updated in place is no other operand.
fn apart(b: &mut Builder, x: ValueId, others: &[ValueId]) -> Result<ValueId, OpError> {
    if !others.contains(&x) {
        return Ok(x);
    }
    let whole = |extent: &IntExpr| SliceAxis { begin: dim::int(0), extent: extent.clone(), step: 1 };
    let axes = b.tensor(x).shape.iter().map(whole).collect();
    b.emit(Op::Slice { axes, drop: Vec::new() }, &[x])
}

/// `to[index] meets value` if the index lies inside, where `data` are the axes of it that come from data.
fn update<'k>(k: &'k Kernel, to: Buf<'k>, index: &[Ex<'k>], data: &[usize], (reduction, value): (usize, Ex<'k>)) {
    let inside = data.iter().map(|axis| index[*axis].ge(0).and(index[*axis].lt(to.dim(*axis)))).reduce(Ex::and);
    let store = || to.put(index, meet(reduction, to.at(index), value));
    match inside {
        None => store(),
        Some(inside) => k.if_(inside, store),
    }
}

/// An index below 0 counts from the end.
fn from_end<'k>(i: Ex<'k>, extent: Ex<'k>) -> Ex<'k> {
    let i = i.index();
    i.lt(0).select(i + extent, i).bound("place")
}

fn scatter(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    let (indices, places) = tensor(b, call, 1)?;
    let (updates, new) = tensor(b, call, 2)?;
    let Tuples { outer, depth, .. } = tuples(b, call, &ty, &places)?;
    same_dtype(2, &new, &ty)?;
    shape(b, 2, &new, &[&places.shape[..outer], &ty.shape[depth..]].concat())?;
    let reduction = reduction(call, &ty)?;
    let x = apart(b, x, &[indices, updates])?;
    let k = Kernel::new(b, "scatter");
    let (to, at, from) = (k.updated(b, x), k.input(b, indices), k.input(b, updates));
    k.once("scatter", || {
        let extents: Vec<Ex<'_>> = (0..new.shape.len()).map(|axis| from.dim(axis)).collect();
        k.for_all("i", &extents, |i| {
            let tuple = (0..depth).map(|n| at.at(&[&i[..outer], &[k.int(n as i64)]].concat()));
            let tuple: Vec<Ex<'_>> = tuple.enumerate().map(|(n, p)| from_end(p, to.dim(n))).collect();
            let data: Vec<usize> = (0..depth).collect();
            update(&k, to, &[&tuple, &i[outer..]].concat(), &data, (reduction, from.at(i)));
        });
    });
    k.finish(b)
}

/// ScatterElements: along one axis, an index of its own for each update.
fn put_along_axis(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    let (indices, places) = tensor(b, call, 1)?;
    let (updates, new) = tensor(b, call, 2)?;
    integers(1, &places)?;
    same_dtype(2, &new, &ty)?;
    let axis = axis_attr(call, &ty, -1)?;
    along_axis(b, 1, &places, &ty, axis)?;
    shape(b, 2, &new, &places.shape)?;
    let reduction = reduction(call, &ty)?;
    let x = apart(b, x, &[indices, updates])?;
    let k = Kernel::new(b, "put_along_axis");
    let (to, at, from) = (k.updated(b, x), k.input(b, indices), k.input(b, updates));
    k.once("put_along_axis", || {
        let extents: Vec<Ex<'_>> = (0..new.shape.len()).map(|axis| from.dim(axis)).collect();
        k.for_all("i", &extents, |i| {
            let mut index = i.to_vec();
            index[axis] = from_end(at.at(i), to.dim(axis));
            update(&k, to, &index, &[axis], (reduction, from.at(i)));
        });
    });
    k.finish(b)
}

/// Whether the index of a class is the element's, as one of two values.
fn one_hot(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (indices, places) = tensor(b, call, 0)?;
    numbers(0, &places)?;
    let depth = super::call::extent(b, call, 1)?;
    let (values, two) = tensor(b, call, 2)?;
    shape(b, 2, &two, &[dim::int(2)])?;
    let axis = super::call::new_axis_attr(call, &places, -1)?;
    let mut all = places.shape.clone();
    all.insert(axis, depth);
    let k = Kernel::new(b, "one_hot");
    let (at, of) = (k.input(b, indices), k.input(b, values));
    let out = k.output(TensorType { dtype: two.dtype, shape: all });
    k.each("one_hot", out, |i| {
        let mut outer = i.to_vec();
        let class = outer.remove(axis);
        let place = at.at(&outer);
        let place = if places.dtype.is_float() { place.cast(crate::DType::I64) } else { place }.index();
        let place = place.lt(0).select(place + out.dim(axis), place);
        class.equals(place).choose(of.at(&[k.int(1)]), of.at(&[k.int(0)]))
    });
    k.finish(b)
}

/// The first elements along an axis in reverse, as many as a length says, per batch.
fn reverse_sequence(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    let (lengths, counts) = tensor(b, call, 1)?;
    rank_at_least(0, &ty, 2)?;
    integers(1, &counts)?;
    let axes = |name, default| super::call::one_axis_attr(call, name, &ty, default);
    let (time, batch) = (axes("time_axis", 0)?, axes("batch_axis", 1)?);
    if time == batch {
        return Err(attr_error("batch_axis", "expected two different axes for `time_axis` and `batch_axis`"));
    }
    shape(b, 1, &counts, &[ty.shape[batch].clone()])?;
    let k = Kernel::new(b, "reverse_sequence");
    let (from, len) = (k.input(b, x), k.input(b, lengths));
    let out = k.output(ty);
    k.each("reverse_sequence", out, |i| {
        let n = len.at(&[i[batch]]).index().min(from.dim(time));
        let turned = k.clamped(n - 1 - i[time], from.dim(time));
        let mut source = i.to_vec();
        source[time] = i[time].lt(n).select(turned, i[time]);
        from.at(&source)
    });
    k.finish(b)
}

/// Elements moved along axes; what leaves at one end comes back at the other.
fn roll(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    let shifts = super::call::one_or_more_attr(call, "shift")?.ok_or_else(|| super::call::missing("shift", "1"))?;
    let axes = super::call::axes_attr(call, "axis", &ty, 0)?;
    let Some(axes) = axes else {
        let flat = b.emit(Op::Reshape { shape: vec![dim::product(&ty.shape)] }, &[x])?;
        let rolled = roll_axes(b, flat, &[0], &[shifts.iter().sum()])?;
        return b.emit(Op::Reshape { shape: ty.shape }, &[rolled]);
    };
    if axes.len() != shifts.len() {
        let message = format!("expected as many shifts as axes, {}, found {}", axes.len(), shifts.len());
        return Err(attr_error("shift", message));
    }
    roll_axes(b, x, &axes, &shifts)
}

fn roll_axes(b: &mut Builder, x: ValueId, axes: &[usize], shifts: &[i64]) -> Result<ValueId, OpError> {
    let ty = b.tensor(x).clone();
    let k = Kernel::new(b, "roll");
    let from = k.input(b, x);
    let out = k.output(ty);
    k.each("roll", out, |i| {
        let mut source = i.to_vec();
        for (axis, shift) in axes.iter().zip(shifts) {
            source[*axis] = (i[*axis] - *shift).modulo(from.dim(*axis));
        }
        from.at(&source)
    });
    k.finish(b)
}

/// Each element along an axis as often as said, side by side.
fn repeat(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (mut x, mut ty) = tensor(b, call, 0)?;
    let times = match int_attr(call, "repeats")?.ok_or_else(|| super::call::missing("repeats", "2"))? {
        n if (1..1 << 32).contains(&n) => n,
        n => return Err(attr_error("repeats", format!("expected 1 to 4294967295 for `repeats`, found {n}"))),
    };
    let axis = match int_attr(call, "axis")? {
        Some(_) => axis_attr(call, &ty, 0)?,
        None => {
            ty.shape = vec![dim::product(&ty.shape)];
            x = b.emit(Op::Reshape { shape: ty.shape.clone() }, &[x])?;
            0
        }
    };
    ty.shape[axis] = &ty.shape[axis] * &dim::int(times);
    let k = Kernel::new(b, "repeat");
    let from = k.input(b, x);
    let out = k.output(ty);
    k.each("repeat", out, |i| {
        let mut source = i.to_vec();
        source[axis] = i[axis].binary(BinaryOp::DivEuclid, times);
        from.at(&source)
    });
    k.finish(b)
}

/// The triangle of matrices at and below (above) a diagonal; the rest is 0.
fn triangle(b: &mut Builder, call: &OpCall, upper: bool) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    rank_at_least(0, &ty, 2)?;
    let diagonal = super::call::index_attr(call, "k")?.unwrap_or(dim::int(0));
    let k = Kernel::new(b, if upper { "triu" } else { "tril" });
    let from = k.input(b, x);
    let zero = Scalar::zero(ty.dtype);
    let out = k.output(ty);
    k.each("triangle", out, |i| {
        let (row, column) = (i[i.len() - 2], i[i.len() - 1]);
        let edge = row + k.dim(&diagonal);
        let keeps = if upper { column.ge(edge) } else { column.le(edge) };
        keeps.select(from.at(i), k.scalar(zero))
    });
    k.finish(b)
}

const DIAGONAL: AttrDef = AttrDef { name: "k", ty: "int = 0", doc: "the diagonal, counted upwards from the main one" };

pub(super) static TABLE: &[OpDef] = &[
    graph!(
        "take",
        "Gather",
        "x, indices",
        2,
        &[AttrDef { name: "axis", ty: "int = 0", doc: "the axis to index" }],
        take,
        "Elements at indices along an axis; a negative index counts from the end, the rest is clamped."
    ),
    graph!(
        "take_along_axis",
        "GatherElements",
        "x, indices",
        2,
        &[AXIS],
        take_along_axis,
        "y[…, i, …] = x[…, indices[…, i, …], …] along the axis; a negative index counts from the end, the rest is clamped."
    ),
    graph!(
        "gather",
        "GatherND",
        "x, indices",
        2,
        &[AttrDef { name: "batch_dims", ty: "int = 0", doc: "first axes that both have" }],
        gather,
        "Elements, or parts, of x at tuples of indices, which the last axis holds; negative ones count from the end, the rest is clamped."
    ),
    graph!(
        "scatter",
        "ScatterND",
        "x, indices, updates",
        3,
        &[REDUCTION],
        scatter,
        "x with elements, or parts, at tuples of indices replaced; what lies outside is dropped."
    ),
    graph!(
        "put_along_axis",
        "ScatterElements",
        "x, indices, updates",
        3,
        &[AXIS, REDUCTION],
        put_along_axis,
        "x with x[…, indices[…, i, …], …] = updates[…, i, …] along the axis; what lies outside is dropped."
    ),
    graph!(
        "one_hot",
        "OneHot",
        "indices, depth, values",
        3,
        &[AttrDef { name: "axis", ty: "int = -1", doc: "place of the new axis in the result" }],
        one_hot,
        "values[1] where the place along the new axis, of `depth` elements, is the index, else values[0]; a negative index counts from the end."
    ),
    graph!(
        "reverse_sequence",
        "ReverseSequence",
        "x, lengths",
        2,
        &[
            AttrDef { name: "time_axis", ty: "int = 0", doc: "the axis that is turned round" },
            AttrDef { name: "batch_axis", ty: "int = 1", doc: "the axis that `lengths` goes along" },
        ],
        reverse_sequence,
        "x with the first lengths[b] elements along an axis in reverse order."
    ),
    graph!(
        "roll",
        "",
        "x",
        1,
        &[
            AttrDef { name: "shift", ty: "int | list", doc: "how far elements move" },
            AttrDef { name: "axis", ty: "int | list = flattened", doc: "along which axes" },
        ],
        roll,
        "x with elements moved along axes; what leaves at one end comes back at the other."
    ),
    graph!(
        "repeat",
        "",
        "x",
        1,
        &[
            AttrDef { name: "repeats", ty: "int", doc: "how often each element stands there" },
            AttrDef { name: "axis", ty: "int = flattened", doc: "along which axis" },
        ],
        repeat,
        "x with each element along an axis repeated, the copies side by side."
    ),
    graph!(
        "tril",
        "Trilu",
        "x",
        1,
        &[DIAGONAL],
        |b, call| triangle(b, call, false),
        "The lower triangles of matrices, with the diagonal k; the rest is 0."
    ),
    graph!(
        "triu",
        "Trilu",
        "x",
        1,
        &[DIAGONAL],
        |b, call| triangle(b, call, true),
        "The upper triangles of matrices, with the diagonal k; the rest is 0."
    ),
];
