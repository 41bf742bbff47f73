//! Resize, and operators whose shapes are operands.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::ops::{Arg, AttrValue};

use super::{OnnxOp, op};
use crate::call::{Call, axis_of};
use crate::emit::int;
use crate::value::{Outcome, Value, fault};
use crate::walk::Cx;

type Results = Outcome<Vec<Value>>;

fn floats(values: Vec<f64>) -> AttrValue {
    AttrValue::List(values.into_iter().map(AttrValue::Float).collect())
}

/// Factors and regions are operands, and before version 11 other defaults hold.
fn resize<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let x = call.x(cx, 0)?;
    let old = call.version < 11;
    let given = |cx: &mut Cx<'m>, i: usize| if call.has(i) { cx.f64s(call.value(i)?) } else { Ok(Vec::new()) };
    let roi = if old { Vec::new() } else { given(cx, 1)? };
    let scales = match call.floats("scales")? {
        Some(scales) => scales.into_iter().map(f64::from).collect(),
        None => given(cx, if old { 1 } else { 2 })?,
    };
    let sizes = if old || !call.has(3) { Vec::new() } else { cx.i64s(call.value(3)?)? };
    let mut args = vec![Arg::Value(x)];
    let mut own = Vec::new();
    if sizes.is_empty() {
        own.push(("scales", floats(scales)));
    } else {
        args.push(Arg::Shape(sizes.into_iter().map(int).collect()));
    }
    if !roi.is_empty() {
        own.push(("roi", floats(roi)));
    }
    if old {
        own.push(("coordinate_transformation_mode", AttrValue::Text("asymmetric".into())));
        own.push(("nearest_mode", AttrValue::Text("floor".into())));
    }
    if let Some(axes) = call.ints("axes")? {
        let rank = cx.rank(x);
        let axes = axes.into_iter().map(|axis| axis_of(axis, rank)).collect::<Outcome<Vec<_>>>()?;
        own.push(("axes", AttrValue::List(axes.into_iter().map(|axis| AttrValue::Int(int(axis as i64))).collect())));
    }
    let y = cx.entry_with(call, "resize", args, &own)?;
    cx.plains(&y)
}

/// An operand that is a shape.
fn shape<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, i: usize) -> Outcome<Arg> {
    let extents: Vec<IntExpr> = cx.i64s(call.value(i)?)?.into_iter().map(int).collect();
    if extents.iter().any(|n| n.as_const().is_some_and(|n| n < 0)) {
        return fault(format!("its operand {i} has an extent below 0: {extents:?}"));
    }
    Ok(Arg::Shape(extents))
}

/// An operator of the language of which the operands from `first` on are shapes.
fn shaped<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, name: &str, first: usize) -> Results {
    let mut args = Vec::new();
    for i in (0..call.inputs.len()).filter(|i| call.has(*i)) {
        args.push(if i < first { Arg::Value(call.x(cx, i)?) } else { shape(cx, call, i)? });
    }
    let y = cx.entry(call, name, args)?;
    cx.plains(&y)
}

pub(super) static TABLE: &[OnnxOp] = &[
    op("AffineGrid", 20, |cx, call| shaped(cx, call, "affine_grid", 1)),
    op("Col2Im", 18, |cx, call| shaped(cx, call, "col2im", 1)),
    op("MaxUnpool", 9, |cx, call| shaped(cx, call, "max_unpool", 2)),
    op("Resize", 10, resize),
    op("Upsample", 7, resize),
];
