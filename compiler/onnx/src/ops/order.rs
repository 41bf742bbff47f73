//! Order: the largest elements, and those that are different.

use std::cmp::Ordering;

use tenfold_ir::Scalar;
use tenfold_ir::ops::AttrValue;

use super::{OnnxOp, op};
use crate::call::{Call, axis_of};
use crate::elem::Elem;
use crate::emit::{int, product};
use crate::value::{Outcome, Value, fault};
use crate::walk::{Cx, integers};

type Results = Outcome<Vec<Value>>;

fn top_k<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let x = call.x(cx, 0)?;
    let axis = call.axis(-1, cx.rank(x))?;
    let count = match call.int("k")? {
        Some(k) => int(k),
        None => match cx.exprs(call.value(1)?)?.as_slice() {
            [k] => k.clone(),
            found => return fault(format!("expected one number for K, found {}", found.len())),
        },
    };
    let attrs = [
        ("axis", AttrValue::Int(int(axis as i64))),
        ("k", AttrValue::Int(count)),
        ("largest", AttrValue::Bool(call.int_or("largest", 1)? != 0)),
    ];
    let both = cx.op("top_k", &[x], &attrs)?;
    let both = cx.components(both)?;
    Ok(both.into_iter().map(|v| cx.plain(v)).collect())
}

/// Ascending, NaN last and equal to itself.
fn ordered(a: &[Scalar], b: &[Scalar]) -> Ordering {
    let one = |(a, b): (&Scalar, &Scalar)| {
        if !a.dtype.is_float() {
            return a.to_i128().cmp(&b.to_i128());
        }
        let (x, y) = (a.to_f64(), b.to_f64());
        x.is_nan().cmp(&y.is_nan()).then(x.partial_cmp(&y).unwrap_or(Ordering::Equal))
    };
    a.iter().zip(b).map(one).find(|found| *found != Ordering::Equal).unwrap_or(Ordering::Equal)
}

/// What is different among parts.
struct Different {
    /// Where each part that is kept stands first.
    first: Vec<i64>,
    /// Which kept part each part is.
    inverse: Vec<i64>,
    /// How often each kept part stands.
    counts: Vec<i64>,
}

fn different(parts: &[Vec<Scalar>], sorted: bool) -> Different {
    let mut places: Vec<usize> = (0..parts.len()).collect();
    places.sort_by(|a, b| ordered(&parts[*a], &parts[*b]));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for place in places {
        match groups.last_mut() {
            Some(group) if ordered(&parts[group[0]], &parts[place]).is_eq() => group.push(place),
            Some(_) | None => groups.push(vec![place]),
        }
    }
    if !sorted {
        groups.sort_by_key(|group| group[0]);
    }
    let mut inverse = vec![0; parts.len()];
    for (n, group) in (0..).zip(&groups) {
        group.iter().for_each(|place| inverse[*place] = n);
    }
    let (first, counts) = groups.iter().map(|group| (group[0] as i64, group.len() as i64)).unzip();
    Different { first, inverse, counts }
}

/// The different elements (parts along an axis) of a known tensor.
fn unique<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (x, elem) = call.any(cx, 0)?;
    let data = cx.data(call.value(0)?)?;
    let Some(scalars) = data.scalars(1 << 20) else { return fault("expected numbers, and no more than a million") };
    let shape: Vec<usize> = data.shape.iter().map(|n| *n as usize).collect();
    let (x, axis, extent, inner) = match call.int("axis")? {
        None => {
            let all = product(&cx.dims(x));
            (cx.reshape(x, &[all])?, 0, scalars.len(), 1)
        }
        Some(axis) => {
            let axis = axis_of(axis, shape.len())?;
            (x, axis, shape[axis], shape[axis + 1..].iter().product::<usize>())
        }
    };
    let part = |at: usize| {
        let of = |n: &usize| n / inner.max(1) % extent.max(1) == at;
        (0..scalars.len()).filter(of).map(|n| scalars[n]).collect::<Vec<_>>()
    };
    let parts: Vec<Vec<Scalar>> = (0..extent).map(part).collect();
    let found = different(&parts, call.int_or("sorted", 1)? != 0);
    let vector = |values: &[i64]| integers(Elem::Int64, vec![values.len() as u64], values);
    let first = cx.constant(&vector(&found.first))?;
    let y = cx.op("take", &[x, first], &[("axis", AttrValue::Int(int(axis as i64)))])?;
    let rest = [&found.first, &found.inverse, &found.counts].map(|values| vector(values).into());
    Ok(std::iter::once(Value::Node(y, elem)).chain(rest).collect())
}

pub(super) static TABLE: &[OnnxOp] = &[op("TopK", 1, top_k), op("Unique", 11, unique)];
