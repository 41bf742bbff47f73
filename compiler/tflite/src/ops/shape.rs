//! Operators that only move elements.

use tenfold_ir::DType;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::ops::AttrValue;
use tenfold_ir::relax::{Op, ValueId};

use super::{Activation, Family, Results, axes, axis_of};
use crate::walk::{Call, Cx, Outcome, fault};

pub(super) const FAMILY: Family = &[
    ("RESHAPE", reshape),
    ("SQUEEZE", squeeze),
    ("EXPAND_DIMS", expand_dims),
    ("TRANSPOSE", transpose),
    ("PAD", pad),
    ("PADV2", pad),
    ("MIRROR_PAD", mirror_pad),
    ("CONCATENATION", concatenation),
    ("SLICE", slice),
    ("STRIDED_SLICE", strided_slice),
    ("SPLIT", split),
    ("SPLIT_V", split_v),
    ("PACK", pack),
    ("UNPACK", unpack),
    ("GATHER", gather),
    ("TILE", tile),
    ("BROADCAST_TO", broadcast_to),
    ("DEPTH_TO_SPACE", |cx, call| blocks(cx, call, false)),
    ("SPACE_TO_DEPTH", |cx, call| blocks(cx, call, true)),
];

/// Integers of 8 bits stand for the same numbers in operands and results.
fn same_quantisation(cx: &Cx<'_>, call: &Call<'_>, x: ValueId, operands: &[usize]) -> Outcome<()> {
    if cx.dtype(x) != DType::I8 {
        return Ok(());
    }
    let own = call.out_quant();
    for i in operands {
        // integers that were never quantised have neither scale nor zero point
        if call.tensor(*i)?.scales.is_empty() && call.result(0)?.scales.is_empty() {
            continue;
        }
        if call.quant(*i)? != own.clone()? {
            return fault("its operands and its result must have one scale and one zero point");
        }
    }
    Ok(())
}

fn reshape<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let x = call.x(cx, 0)?;
    same_quantisation(cx, call, x, &[0])?;
    let count: i64 = cx.shape(x).iter().product();
    let asked = match (call.has(1), call.options()) {
        (true, _) => call.known_ints(1, "the shape")?,
        (false, Some(options)) => options.ints(0)?.into_iter().map(i64::from).collect(),
        (false, None) => return fault("its shape is missing"),
    };
    // older files say of no axes that there is one of no elements
    let asked = if asked == [0] && count == 1 { vec![] } else { asked };
    let known = asked.iter().filter(|n| **n != -1).try_fold(1i64, |n, d| n.checked_mul(*d)).unwrap_or(0);
    let open = if known > 0 { count / known } else { 0 };
    let shape: Vec<i64> = asked.iter().map(|n| if *n == -1 { open } else { *n }).collect();
    if asked.iter().filter(|n| **n == -1).count() > 1 {
        return fault(format!("more than one extent of {asked:?} is open"));
    }
    Ok(vec![cx.reshape(x, &shape)?])
}

fn squeeze<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let x = call.x(cx, 0)?;
    let shape = cx.shape(x);
    let named = call.options().map_or(Ok(Vec::new()), |own| own.ints(0))?;
    let named = axes(&named.into_iter().map(i64::from).collect::<Vec<_>>(), shape.len())?;
    if let Some(axis) = named.iter().find(|axis| shape[**axis] != 1) {
        return fault(format!("axis {axis} has the extent {}, and only one of 1 can go", shape[*axis]));
    }
    let goes = |axis: usize| if named.is_empty() { shape[axis] == 1 } else { named.contains(&axis) };
    let left: Vec<i64> = (0..shape.len()).filter(|axis| !goes(*axis)).map(|axis| shape[axis]).collect();
    Ok(vec![cx.reshape(x, &left)?])
}

fn expand_dims<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let x = call.x(cx, 0)?;
    let [axis] = call.known_ints(1, "the axis")?[..] else { return fault("it needs one axis") };
    let mut shape = cx.shape(x);
    shape.insert(axis_of(axis, shape.len() + 1)?, 1);
    Ok(vec![cx.reshape(x, &shape)?])
}

fn transpose<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let x = call.x(cx, 0)?;
    let given = call.known_ints(1, "the order of axes")?;
    let rank = cx.shape(x).len();
    let perm = given.iter().map(|axis| axis_of(*axis, rank)).collect::<Outcome<Vec<_>>>()?;
    if perm.len() != rank || axes(&given, rank)?.len() != rank {
        return fault(format!("{given:?} is no order of {rank} axes"));
    }
    Ok(vec![cx.transpose(x, &perm)?])
}

/// Elements before and after each axis.
fn sides(call: &Call<'_>, shape: &[i64]) -> Outcome<(Vec<i64>, Vec<i64>)> {
    let sides = call.known_ints(1, "the padding")?;
    if sides.len() != 2 * shape.len() || sides.iter().any(|n| !(0..1 << 31).contains(n)) {
        return fault(format!(
            "its padding {sides:?} must be two integers, not below 0, for each of {} axes",
            shape.len()
        ));
    }
    Ok(sides.chunks(2).map(|pair| (pair[0], pair[1])).unzip())
}

fn pad<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let x = call.x(cx, 0)?;
    same_quantisation(cx, call, x, &[0])?;
    let (before, after) = sides(call, &cx.shape(x))?;
    let filler = if call.has(2) {
        let filler = call.x(cx, 2)?;
        if cx.dtype(filler) != cx.dtype(x) {
            return fault(format!("it pads elements of {} with one of {}", cx.dtype(x), cx.dtype(filler)));
        }
        cx.reshape(filler, &[])?
    } else if cx.dtype(x) == DType::I8 {
        let zero = call.out_quant()?.zero;
        cx.int(DType::I8, i64::from(zero))
    } else {
        let zero = tenfold_ir::Scalar::zero(cx.dtype(x));
        cx.b.scalar(zero)
    };
    Ok(vec![cx.pad(x, &before, &after, filler)?])
}

fn mirror_pad<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let x = call.x(cx, 0)?;
    let shape = cx.shape(x);
    let (before, after) = sides(call, &shape)?;
    if call.byte(0)? != 0 {
        return fault("it mirrors the edge too (SYMMETRIC), which is not supported");
    }
    if shape.iter().zip(before.iter().zip(&after)).any(|(n, (a, b))| a.max(b) >= n && *a.max(b) > 0) {
        return fault(format!("padding {before:?} and {after:?} is more than extents {shape:?} can mirror"));
    }
    let exprs = |sides: &[i64]| sides.iter().map(|n| IntExpr::from(*n)).collect();
    let mode = tenfold_ir::relax::PadMode::Reflect;
    Ok(vec![cx.emit(Op::Pad { mode, before: exprs(&before), after: exprs(&after) }, &[x])?])
}

fn all<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Outcome<Vec<ValueId>> {
    if call.count() == 0 {
        return fault("it has no operands");
    }
    (0..call.count()).map(|i| call.x(cx, i)).collect()
}

fn concatenation<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let parts = all(cx, call)?;
    same_quantisation(cx, call, parts[0], &(0..parts.len()).collect::<Vec<_>>())?;
    let axis = axis_of(i64::from(call.option(0, 0)?), cx.shape(parts[0]).len())?;
    let activation = Activation::of(call.byte(1)?)?;
    let y = if parts.len() == 1 { parts[0] } else { cx.emit(Op::Concat { axis }, &parts)? };
    match activation {
        Activation::None => Ok(vec![y]),
        _ => fault("an activation behind it is not supported"),
    }
}

/// Where each axis begins and how many elements it gives.
type Parts = Vec<(i64, i64, i64)>;

fn slice<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let x = call.x(cx, 0)?;
    let shape = cx.shape(x);
    let (begin, size) = (call.known_ints(1, "the begin")?, call.known_ints(2, "the size")?);
    if begin.len() != shape.len() || size.len() != shape.len() {
        return fault(format!("its begin and size must have {} elements", shape.len()));
    }
    let mut parts = Parts::new();
    for ((n, begin), size) in shape.iter().zip(begin).zip(size) {
        let size = if size == -1 { n.saturating_sub(begin) } else { size };
        if begin < 0 || size < 0 || begin.checked_add(size).is_none_or(|end| end > *n) {
            return fault(format!("{size} elements from {begin} on are not within an extent of {n}"));
        }
        parts.push((begin, size, 1));
    }
    Ok(vec![cx.slice(x, &parts, Vec::new())?])
}

fn strided_slice<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let x = call.x(cx, 0)?;
    let shape = cx.shape(x);
    let [begins, ends, steps] =
        [(1, "the begin"), (2, "the end"), (3, "the steps")].map(|(i, what)| call.known_ints(i, what));
    let (begins, ends, steps) = (begins?, ends?, steps?);
    if begins.len() > shape.len() || begins.len() != ends.len() || begins.len() != steps.len() {
        return fault(format!("its begin, end and steps must have as many elements, {} at most", shape.len()));
    }
    if call.option(2, 0)? != 0 || call.option(3, 0)? != 0 {
        return fault("its masks of ellipses and new axes are not supported");
    }
    let masks = [call.option(0, 0)?, call.option(1, 0)?, call.option(4, 0)?];
    let has = |mask: i32, axis: usize| mask >> axis & 1 == 1;
    let (mut parts, mut drop) = (Parts::new(), Vec::new());
    for (axis, n) in shape.iter().copied().enumerate() {
        let Some(step) = steps.get(axis).copied() else {
            parts.push((0, n, 1));
            continue;
        };
        if step == 0 || step.checked_abs().is_none_or(|step| step > 1 << 31) {
            return fault(format!("a step of {step} is not supported"));
        }
        let limits = if step > 0 { (0, n) } else { (-1, n - 1) };
        let counted = |at: i64| (if at < 0 { at.saturating_add(n) } else { at }).clamp(limits.0, limits.1);
        let begin = if has(masks[0], axis) { if step > 0 { 0 } else { n - 1 } } else { counted(begins[axis]) };
        if has(masks[2], axis) {
            if !(0..n).contains(&begin) {
                return fault(format!("index {} is outside of an extent of {n}", begins[axis]));
            }
            parts.push((begin, 1, 1));
            drop.push(axis);
            continue;
        }
        let asked = if call.byte(5)? != 0 { begins[axis].saturating_add(ends[axis]) } else { ends[axis] };
        let end = if has(masks[1], axis) { if step > 0 { limits.1 } else { -1 } } else { counted(asked) };
        let extent = if step > 0 { (end - begin + step - 1) / step } else { (begin - end - step - 1) / -step };
        parts.push((begin, extent.max(0), step));
    }
    Ok(vec![cx.slice(x, &parts, drop)?])
}

/// Parts of these extents along an axis.
fn parted(cx: &mut Cx<'_>, x: ValueId, axis: usize, extents: &[i64]) -> Results {
    let shape = cx.shape(x);
    let mut begin = 0;
    let mut parts = Vec::new();
    for extent in extents {
        let mut own: Parts = shape.iter().map(|n| (0, *n, 1)).collect();
        own[axis] = (begin, *extent, 1);
        parts.push(cx.slice(x, &own, Vec::new())?);
        begin += extent;
    }
    Ok(parts)
}

fn split<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let x = call.x(cx, 1)?;
    let [axis] = call.known_ints(0, "the axis")?[..] else { return fault("it needs one axis") };
    let axis = axis_of(axis, cx.shape(x).len())?;
    let (n, count) = (cx.shape(x)[axis], call.results() as i64);
    if count < 1 || i64::from(call.option(0, 0)?) != count || n % count != 0 {
        return fault(format!("an extent of {n} cannot be split into {count} results"));
    }
    parted(cx, x, axis, &vec![n / count; count as usize])
}

fn split_v<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let x = call.x(cx, 0)?;
    let sizes = call.known_ints(1, "the sizes")?;
    let [axis] = call.known_ints(2, "the axis")?[..] else { return fault("it needs one axis") };
    let axis = axis_of(axis, cx.shape(x).len())?;
    let n = cx.shape(x)[axis];
    let known = sizes.iter().filter(|size| **size != -1).try_fold(0i64, |all, size| all.checked_add(*size));
    let sizes: Vec<i64> =
        sizes.iter().map(|size| if *size == -1 { n.saturating_sub(known.unwrap_or(n)) } else { *size }).collect();
    let total = sizes.iter().try_fold(0i64, |all, size| all.checked_add(*size));
    if total != Some(n) || sizes.iter().any(|size| *size < 0) {
        return fault(format!("parts of {sizes:?} do not make an extent of {n}"));
    }
    parted(cx, x, axis, &sizes)
}

fn pack<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let parts = all(cx, call)?;
    same_quantisation(cx, call, parts[0], &(0..parts.len()).collect::<Vec<_>>())?;
    let mut shape = cx.shape(parts[0]);
    let axis = axis_of(i64::from(call.option(1, 0)?), shape.len() + 1)?;
    shape.insert(axis, 1);
    let parts = parts.iter().map(|part| cx.reshape(*part, &shape)).collect::<Outcome<Vec<_>>>()?;
    if parts.len() == 1 { Ok(parts) } else { Ok(vec![cx.emit(Op::Concat { axis }, &parts)?]) }
}

fn unpack<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let x = call.x(cx, 0)?;
    let shape = cx.shape(x);
    let axis = axis_of(i64::from(call.option(1, 0)?), shape.len())?;
    if shape[axis] != call.results() as i64 {
        return fault(format!("an extent of {} cannot become {} results", shape[axis], call.results()));
    }
    let whole: Parts = shape.iter().map(|n| (0, *n, 1)).collect();
    let one = |cx: &mut Cx<'m>, at: i64| {
        let mut parts = whole.clone();
        parts[axis] = (at, 1, 1);
        cx.slice(x, &parts, vec![axis])
    };
    (0..shape[axis]).map(|at| one(cx, at)).collect()
}

fn gather<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let (x, indices) = (call.x(cx, 0)?, call.x(cx, 1)?);
    let axis = axis_of(i64::from(call.option(0, 0)?), cx.shape(x).len())?;
    if call.option(1, 0)? != 0 {
        return fault("its axes of batches are not supported");
    }
    if !matches!(cx.dtype(indices), DType::I32 | DType::I64) {
        return fault(format!("its indices must be i32 or i64, found {}", cx.dtype(indices)));
    }
    Ok(vec![cx.op("take", &[x, indices], &[("axis", AttrValue::Int(IntExpr::from(axis as i64)))])?])
}

fn tile<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let x = call.x(cx, 0)?;
    let counts = call.known_ints(1, "the counts")?;
    let shape = cx.shape(x);
    if counts.len() != shape.len() || counts.iter().any(|n| !(1..1 << 16).contains(n)) {
        return fault(format!("its counts {counts:?} must be above 0, one for each of {} axes", shape.len()));
    }
    let mut y = x;
    for (axis, count) in counts.iter().enumerate().filter(|(_, count)| **count > 1) {
        y = cx.emit(Op::Concat { axis }, &vec![y; *count as usize])?;
    }
    Ok(vec![y])
}

fn broadcast_to<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let x = call.x(cx, 0)?;
    let shape = call.known_ints(1, "the shape")?.into_iter().map(IntExpr::from).collect();
    Ok(vec![cx.emit(Op::BroadcastTo { shape }, &[x])?])
}

/// Blocks of an image as channels, or back.
fn blocks<'m>(cx: &mut Cx<'m>, call: &Call<'m>, into: bool) -> Results {
    let x = call.x(cx, 0)?;
    let block = i64::from(call.option(0, 0)?);
    let [n, h, w, c] = cx.shape(x)[..] else { return fault("its operand must have 4 axes") };
    let fits =
        (1..1 << 16).contains(&block) && if into { h % block == 0 && w % block == 0 } else { c % (block * block) == 0 };
    if !fits {
        return fault(format!("blocks of {block} do not fit extents of {:?}", [n, h, w, c]));
    }
    let (apart, perm, shape) = if into {
        let apart = vec![n, h / block, block, w / block, block, c];
        (apart, [0, 1, 3, 2, 4, 5], vec![n, h / block, w / block, c * block * block])
    } else {
        let apart = vec![n, h, w, block, block, c / (block * block)];
        (apart, [0, 1, 3, 2, 4, 5], vec![n, h * block, w * block, c / (block * block)])
    };
    let y = cx.reshape(x, &apart)?;
    let y = cx.transpose(y, &perm)?;
    Ok(vec![cx.reshape(y, &shape)?])
}
