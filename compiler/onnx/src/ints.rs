//! Arithmetic on shapes, followed with the dims as symbols.
//!
//! A node over small integers that are known as expressions gives such integers again, and nothing is emitted. What is
//! not in the table is an ordinary node; where its value decides a shape all the same, `fold` computes it.

use tenfold_ir::arith::IntExpr;

use crate::call::{Call, axis_of};
use crate::elem::Elem;
use crate::emit::int;
use crate::ops::slice_ends;
use crate::proto::AttributeValue;
use crate::value::{Ints, Outcome, Value};
use crate::walk::Cx;

/// Elements of the greatest result.
const MOST: usize = 1024;

/// What the node gives, if it is arithmetic on shapes.
pub(crate) fn follow(cx: &mut Cx<'_>, call: &Call<'_, '_>) -> Outcome<Option<Vec<Value>>> {
    if !matches!(call.node.domain, "" | "ai.onnx") {
        return Ok(None);
    }
    let found = match call.node.op_type {
        "Shape" => Some(shape(cx, call)?),
        "Size" => Some(size(cx, call)?),
        "Cast" => cast(cx, call)?,
        _ => {
            let known: Option<Vec<Option<Ints>>> = call
                .inputs
                .iter()
                .map(|v| if matches!(v, Value::None) { Some(None) } else { cx.known_ints(v).map(Some) })
                .collect();
            match known {
                Some(inputs) if !inputs.is_empty() => node(call, &inputs)?,
                Some(_) | None => None,
            }
        }
    };
    Ok(found.filter(|ints| ints.values.len() <= MOST).map(|ints| vec![Value::from(ints)]))
}

fn shape(cx: &mut Cx<'_>, call: &Call<'_, '_>) -> Outcome<Ints> {
    let shape = cx.shape(call.value(0)?)?;
    let rank = shape.len() as i64;
    let clamp = |at: i64| (if at < 0 { at + rank } else { at }).clamp(0, rank) as usize;
    let (start, end) = (clamp(call.int_or("start", 0)?), clamp(call.int_or("end", rank)?));
    Ok(Ints::vector(shape.get(start..end.max(start)).unwrap_or_default().to_vec()))
}

fn size(cx: &mut Cx<'_>, call: &Call<'_, '_>) -> Outcome<Ints> {
    let shape = cx.shape(call.value(0)?)?;
    let product = shape.iter().fold(int(1), |all, d| &all * d);
    Ok(Ints { elem: Elem::Int64, shape: Vec::new(), values: vec![product] })
}

/// A conversion between int64 and int32: extents fit both.
fn cast(cx: &mut Cx<'_>, call: &Call<'_, '_>) -> Outcome<Option<Ints>> {
    let to = Elem::from_code(call.int_or("to", 0)?);
    let Some(to) = to.filter(|to| matches!(to, Elem::Int64 | Elem::Int32)) else { return Ok(None) };
    let Some(ints) = cx.known_ints(call.value(0)?) else { return Ok(None) };
    let fits = |e: &IntExpr| e.as_const().is_none_or(|n| i32::try_from(n).is_ok());
    Ok((to == Elem::Int64 || ints.values.iter().all(fits)).then_some(Ints { elem: to, ..ints }))
}

/// Operands of a node, all of them known or left out.
type Operands<'a> = &'a [Option<Ints>];

fn node(call: &Call<'_, '_>, inputs: Operands<'_>) -> Outcome<Option<Ints>> {
    let Some(Some(x)) = inputs.first() else { return Ok(None) };
    let second = inputs.get(1).and_then(Option::as_ref);
    Ok(match (call.node.op_type, second) {
        ("Identity", _) => Some(x.clone()),
        ("Add", Some(y)) => binary(x, y, |a, b| Some(a + b)),
        ("Sub", Some(y)) => binary(x, y, |a, b| Some(a - b)),
        ("Mul", Some(y)) => binary(x, y, |a, b| Some(a * b)),
        ("Div", Some(y)) => binary(x, y, |a, b| (b.as_const() != Some(0)).then(|| divide(a, b))),
        ("Mod", Some(y)) if call.int_or("fmod", 0)? == 0 => {
            binary(x, y, |a, b| (b.as_const() != Some(0)).then(|| a.floor_mod(b)))
        }
        ("Max", Some(y)) if inputs.len() == 2 => binary(x, y, |a, b| Some(a.maximum(b))),
        ("Min", Some(y)) if inputs.len() == 2 => binary(x, y, |a, b| Some(a.minimum(b))),
        ("Neg", _) => Some(Ints { values: x.values.iter().map(|v| int(0) - v).collect(), ..x.clone() }),
        ("Gather", Some(y)) => gather(x, y, call.int_or("axis", 0)?),
        ("Concat", _) => concat(inputs, call.int_or("axis", 0)?),
        ("Slice", _) => slice(call, x, inputs)?,
        ("Squeeze", _) => Some(Ints { shape: squeezed(call, x, second)?, ..x.clone() }),
        ("Unsqueeze", _) => unsqueeze(call, x, second)?,
        ("Reshape", Some(y)) => reshape(x, y),
        ("ReduceProd" | "ReduceSum", _) => reduce(call, x),
        ("Range", Some(y)) => range(x, y, inputs.get(2).and_then(Option::as_ref)),
        ("ConstantOfShape", _) => constant_of_shape(call, x),
        _ => None,
    })
}

/// The quotient of extents: both are 0 or more, so that rounding down and towards 0 agree; of constants, towards 0.
fn divide(a: &IntExpr, b: &IntExpr) -> IntExpr {
    match (a.as_const(), b.as_const()) {
        (Some(_), Some(_)) => a.trunc_div(b),
        (_, Some(b)) if b > 0 => a.floor_div(&int(b)),
        (_, _) => a.trunc_div(b),
    }
}

fn count(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d)).filter(|n| *n <= MOST)
}

/// Element by element, operands broadcast.
fn binary(x: &Ints, y: &Ints, f: impl Fn(&IntExpr, &IntExpr) -> Option<IntExpr>) -> Option<Ints> {
    let rank = x.shape.len().max(y.shape.len());
    let extent = |s: &[usize], i: usize| (i + s.len()).checked_sub(rank).map_or(1, |i| s[i]);
    let mut shape = Vec::new();
    for i in 0..rank {
        let (a, b) = (extent(&x.shape, i), extent(&y.shape, i));
        shape.push(if a == 1 { b } else { a });
        if a != b && a != 1 && b != 1 {
            return None;
        }
    }
    let at = |s: &[usize], mut n: usize| {
        let (mut offset, mut step) = (0, 1);
        for i in (0..rank).rev() {
            let (index, own) = (n % shape[i], extent(s, i));
            n /= shape[i];
            offset += if own == 1 { 0 } else { index * step };
            step *= own;
        }
        offset
    };
    let values = (0..count(&shape)?).map(|n| f(&x.values[at(&x.shape, n)], &y.values[at(&y.shape, n)]));
    Some(Ints { elem: x.elem, values: values.collect::<Option<_>>()?, shape })
}

/// Elements at constant indices of a vector.
fn gather(x: &Ints, indices: &Ints, axis: i64) -> Option<Ints> {
    let extent = x.values.len() as i64;
    if x.shape.len() != 1 || !matches!(axis, 0 | -1) {
        return None;
    }
    let at = |index: &IntExpr| {
        let index = index.as_const()?;
        let index = if index < 0 { index + extent } else { index };
        x.values.get(usize::try_from(index).ok()?).cloned()
    };
    let values = indices.values.iter().map(at).collect::<Option<_>>()?;
    Some(Ints { elem: x.elem, shape: indices.shape.clone(), values })
}

fn concat(inputs: Operands<'_>, axis: i64) -> Option<Ints> {
    let parts: Vec<&Ints> = inputs.iter().flatten().collect();
    if parts.len() != inputs.len() || !matches!(axis, 0 | -1) || parts.iter().any(|p| p.shape.len() != 1) {
        return None;
    }
    let values: Vec<IntExpr> = parts.iter().flat_map(|p| p.values.iter().cloned()).collect();
    Some(Ints { elem: parts[0].elem, shape: vec![values.len()], values })
}

/// A part of a vector, from operands or, before version 10, attributes.
fn slice(call: &Call<'_, '_>, x: &Ints, inputs: Operands<'_>) -> Outcome<Option<Ints>> {
    if x.shape.len() != 1 {
        return Ok(None);
    }
    let list = |i: usize, name: &str| -> Outcome<Option<i64>> {
        let given = inputs.get(i).and_then(Option::as_ref);
        let attribute = call.ints(name)?.and_then(|v| v.first().copied());
        Ok(given.map_or(attribute, |ints| ints.values.first().and_then(IntExpr::as_const)))
    };
    let (Some(start), Some(end)) = (list(1, "starts")?, list(2, "ends")?) else { return Ok(None) };
    let (start, end, step) = (start, end, list(4, "steps")?.unwrap_or(1));
    let n = x.values.len() as i64;
    if step == 0 {
        return Ok(None);
    }
    let (mut at, end) = slice_ends(start, end, step, n);
    let mut values = Vec::new();
    while (step > 0 && at < end) || (step < 0 && at > end) {
        values.extend(usize::try_from(at).ok().and_then(|at| x.values.get(at)).cloned());
        at = at.saturating_add(step);
    }
    Ok(Some(Ints { elem: x.elem, shape: vec![values.len()], values }))
}

fn constants(ints: &Ints) -> Option<Vec<i64>> {
    ints.values.iter().map(IntExpr::as_const).collect()
}

fn axes(call: &Call<'_, '_>, operand: Option<&Ints>) -> Outcome<Option<Vec<i64>>> {
    Ok(call.ints("axes")?.or_else(|| operand.and_then(constants)))
}

fn squeezed(call: &Call<'_, '_>, x: &Ints, operand: Option<&Ints>) -> Outcome<Vec<usize>> {
    let rank = x.shape.len();
    let named = axes(call, operand)?;
    let named =
        named.map(|axes| axes.into_iter().map(|a| axis_of(a, rank)).collect::<Outcome<Vec<_>>>()).transpose()?;
    let gone = |i: usize| named.as_ref().map_or(x.shape[i] == 1, |axes| axes.contains(&i));
    Ok((0..rank).filter(|i| !gone(*i)).map(|i| x.shape[i]).collect())
}

fn unsqueeze(call: &Call<'_, '_>, x: &Ints, operand: Option<&Ints>) -> Outcome<Option<Ints>> {
    let Some(new) = axes(call, operand)? else { return Ok(None) };
    let rank = x.shape.len() + new.len();
    let new = new.into_iter().map(|a| axis_of(a, rank)).collect::<Outcome<Vec<_>>>()?;
    let mut old = x.shape.iter().copied();
    let shape = (0..rank).map(|i| if new.contains(&i) { 1 } else { old.next().unwrap_or(1) }).collect();
    Ok(Some(Ints { shape, ..x.clone() }))
}

fn reshape(x: &Ints, to: &Ints) -> Option<Ints> {
    let to = constants(to)?;
    let known: i64 = to.iter().filter(|n| **n > 0).product();
    let open = x.values.len() as i64 / known.max(1);
    let shape: Option<Vec<usize>> =
        to.iter().map(|n| usize::try_from(if *n == -1 { open } else { *n }).ok().filter(|n| *n > 0)).collect();
    shape.filter(|shape| count(shape) == Some(x.values.len())).map(|shape| Ints { shape, ..x.clone() })
}

/// Over everything.
fn reduce(call: &Call<'_, '_>, x: &Ints) -> Option<Ints> {
    if x.shape.len() != 1 {
        return None;
    }
    let product = call.node.op_type == "ReduceProd";
    let first = int(i64::from(product));
    let value = x.values.iter().fold(first, |all, v| if product { &all * v } else { &all + v });
    let keep = call.int_or("keepdims", 1).ok()? != 0;
    Some(Ints { elem: x.elem, shape: if keep { vec![1] } else { Vec::new() }, values: vec![value] })
}

fn range(start: &Ints, limit: &Ints, step: Option<&Ints>) -> Option<Ints> {
    let one = |ints: &Ints| constants(ints)?.first().copied();
    let (start_value, limit, step) = (one(start)?, one(limit)?, one(step?)?);
    let turns = match step {
        0 => return None,
        s if s > 0 => (limit.checked_sub(start_value)?.max(0)).checked_add(s - 1)? / s,
        s => (start_value.checked_sub(limit)?.max(0)).checked_add(-s - 1)? / -s,
    };
    let turns = usize::try_from(turns).ok().filter(|n| *n <= MOST)?;
    let values = (0..turns as i64).map(|i| int(start_value + i * step)).collect();
    Some(Ints { elem: start.elem, shape: vec![turns], values })
}

/// A few equal integers.
fn constant_of_shape(call: &Call<'_, '_>, x: &Ints) -> Option<Ints> {
    let shape: Option<Vec<usize>> = constants(x)?.into_iter().map(|n| usize::try_from(n).ok()).collect();
    let Some(AttributeValue::Tensor(value)) = call.attributes.get("value") else { return None };
    let value = match (value.data_type, value.int64s.as_slice(), value.raw) {
        (7, [one], _) => *one,
        (7, _, Some(raw)) => i64::from_le_bytes(raw.try_into().ok()?),
        _ => return None,
    };
    let shape = shape?;
    let values = vec![int(value); count(&shape)?];
    Some(Ints { elem: Elem::Int64, shape, values })
}
