//! Images of another size.

use tenfold_ir::DType;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::ops::{Arg, AttrValue};
use tenfold_ir::relax::ValueId;

use super::{Family, Kind, Results, kind};
use crate::emit::list;
use crate::walk::{Call, Cx, Outcome, fault};

pub(super) const FAMILY: Family = &[("RESIZE_NEAREST_NEIGHBOR", nearest), ("RESIZE_BILINEAR", bilinear)];

/// How places of the result become places of the operand.
#[derive(Clone, Copy)]
struct Places {
    aligned: bool,
    centred: bool,
}

/// The extents of the operand and of the result, and how places go over.
fn asked<'m>(cx: &mut Cx<'m>, call: &Call<'m>, options: [usize; 2]) -> Outcome<(ValueId, [i64; 2], [i64; 2], Places)> {
    let x = call.x(cx, 0)?;
    let [_, height, width, _] = cx.shape(x)[..] else { return fault("its operand must have 4 axes") };
    let [rows, columns] = call.known_ints(1, "the size")?[..] else { return fault("its size must be two integers") };
    if [height, width, rows, columns].iter().any(|n| !(1..=1 << 16).contains(n)) {
        return fault(format!("{height} by {width} cannot become {rows} by {columns}; extents are from 1 to 65536"));
    }
    let places = Places { aligned: call.byte(options[0])? != 0, centred: call.byte(options[1])? != 0 };
    if places.aligned && places.centred {
        return fault("its corners and its centres are both aligned, and only one of them can be");
    }
    Ok((x, [height, width], [rows, columns], places))
}

/// Elements at places of an axis.
fn taken(cx: &mut Cx<'_>, x: ValueId, axis: usize, places: &[i64]) -> Outcome<ValueId> {
    let places: Vec<i32> = places.iter().map(|place| *place as i32).collect();
    let places = cx.i32s(&[places.len() as i64], &places);
    cx.op("take", &[x, places], &[("axis", AttrValue::Int(IntExpr::from(axis as i64)))])
}

fn nearest<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let (x, from, to, places) = asked(cx, call, [0, 1])?;
    let mut y = x;
    for axis in 0..2 {
        let (n, m) = (from[axis], to[axis]);
        let scale = if places.aligned && m > 1 { (n - 1) as f32 / (m - 1) as f32 } else { n as f32 / m as f32 };
        let at = |i: i64| {
            let place = (i as f32 + if places.centred { 0.5 } else { 0.0 }) * scale;
            let place = if places.aligned { place.round() } else { place.floor() };
            (place as i64).clamp(0, n - 1)
        };
        y = taken(cx, y, axis + 1, &(0..m).map(at).collect::<Vec<_>>())?;
    }
    Ok(vec![y])
}

/// Between which elements of an axis an element lies, and what the two weigh, together 2^10.
fn between(n: i64, m: i64, places: Places) -> Vec<(i64, i64, i32, i32)> {
    let scale = if places.aligned && m > 1 { ((n - 1) * 1024 + (m - 1) / 2) / (m - 1) } else { (n * 1024 + m / 2) / m };
    let at = |i: i64| {
        let place = if places.centred { i * scale + scale / 2 - 512 } else { i * scale };
        let (lower, upper) = ((place / 1024).max(0), ((place + 1023) / 1024).min(n - 1));
        let over = (place - 1024 * lower) as i32;
        (lower.min(n - 1), upper, 1024 - over, over)
    };
    (0..m).map(at).collect()
}

fn bilinear<'m>(cx: &mut Cx<'m>, call: &Call<'m>) -> Results {
    let kind = kind(call, 0)?;
    let (x, from, to, places) = asked(cx, call, [2, 3])?;
    if kind == Kind::Float {
        let mode = match places {
            Places { aligned: true, .. } => "align_corners",
            Places { centred: true, .. } => "half_pixel",
            _ => "asymmetric",
        };
        let shape = Arg::Shape(to.iter().map(|n| IntExpr::from(*n)).collect());
        let text = |word: &str| AttrValue::Text(word.into());
        let attrs = [("axes", list(&[1, 2])), ("mode", text("linear")), ("coordinate_transformation_mode", text(mode))];
        return Ok(vec![cx.language("resize", vec![Arg::Value(x), shape], &attrs)?]);
    }
    let mut y = cx.cast(x, DType::I32)?;
    for axis in 0..2 {
        let all = between(from[axis], to[axis], places);
        let mut shape = [1; 4];
        shape[axis + 1] = to[axis];
        let lower = taken(cx, y, axis + 1, &all.iter().map(|p| p.0).collect::<Vec<_>>())?;
        let upper = taken(cx, y, axis + 1, &all.iter().map(|p| p.1).collect::<Vec<_>>())?;
        let (near, far): (Vec<i32>, Vec<i32>) = all.iter().map(|p| (p.2, p.3)).unzip();
        let (near, far) = (cx.i32s(&shape, &near), cx.i32s(&shape, &far));
        let (lower, upper) = (cx.binary(BinaryOp::Mul, lower, near)?, cx.binary(BinaryOp::Mul, upper, far)?);
        y = cx.binary(BinaryOp::Add, lower, upper)?;
    }
    let zero = cx.int(DType::I32, 0);
    let above = cx.compare(CmpOp::Gt, y, zero)?;
    let (up, down) = (cx.int(DType::I32, 1 << 19), cx.int(DType::I32, -(1 << 19)));
    let half = cx.select(above, up, down)?;
    let y = cx.binary(BinaryOp::Add, y, half)?;
    let y = cx.with(BinaryOp::Div, y, 1 << 20)?;
    Ok(vec![cx.cast(y, DType::I8)?])
}
