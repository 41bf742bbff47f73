//! Order: the largest elements, and those that are different.

use tenfold_ir::ops::AttrValue;

use super::{OnnxOp, op};
use crate::call::{Call, axis_of};
use crate::emit::int;
use crate::value::{Outcome, Value, fault};
use crate::walk::Cx;

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

/// The different elements (parts along an axis) of a tensor, and what is asked for of them.
fn unique<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let x = call.x(cx, 0)?;
    let axis = call.int("axis")?.map(|axis| axis_of(axis, cx.rank(x))).transpose()?;
    let mut attrs = vec![("sorted", AttrValue::Bool(call.int_or("sorted", 1)? != 0))];
    attrs.extend(axis.map(|axis| ("axis", AttrValue::Int(int(axis as i64)))));
    let lists = ["return_index", "return_inverse", "return_counts"];
    attrs.extend((1..).zip(lists).map(|(i, name)| (name, AttrValue::Bool(call.wants(i)))));
    let all = cx.op("unique", &[x], &attrs)?;
    let mut all = cx.components(all)?;
    let Some(count) = all.pop() else { return fault("it gives nothing") };
    let length = cx.length(count)?;
    let mut all = all.into_iter();
    let mut out = Vec::new();
    for i in 0..4 {
        let part = if i == 0 || call.wants(i) { all.next() } else { None };
        let Some(part) = part else {
            out.push(Value::None);
            continue;
        };
        let mut shape = cx.dims(part);
        if i != 2 {
            shape[if i == 0 { axis.unwrap_or(0) } else { 0 }] = length.clone();
        }
        let part = cx.cut(part, shape)?;
        out.push(cx.plain(part));
    }
    Ok(out)
}

pub(super) static TABLE: &[OnnxOp] = &[op("TopK", 1, top_k), op("Unique", 11, unique)];
