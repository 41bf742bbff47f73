//! Samples of images, and boxes.

use tenfold_ir::ops::{Arg, AttrValue};
use tenfold_ir::relax::ValueId;

use super::{OnnxOp, op};
use crate::call::Call;
use crate::emit::int;
use crate::value::{Fault, Outcome, Value, fault};
use crate::walk::Cx;

type Results = Outcome<Vec<Value>>;

fn whole(value: i64) -> AttrValue {
    AttrValue::Int(int(value))
}

fn grid_sample<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (x, grid) = (call.x(cx, 0)?, call.x(cx, 1)?);
    let mode = match call.text("mode", "linear")?.as_str() {
        "linear" | "bilinear" => "linear",
        "cubic" | "bicubic" => "cubic",
        "nearest" => "nearest",
        other => return fault(format!("the mode `{other}` is unknown")),
    };
    let attrs = [
        ("mode", AttrValue::Text(mode.into())),
        ("padding_mode", AttrValue::Text(call.text("padding_mode", "zeros")?)),
        ("align_corners", AttrValue::Bool(call.int_or("align_corners", 0)? != 0)),
    ];
    let y = cx.op("grid_sample", &[x, grid], &attrs)?;
    cx.one(y)
}

fn roi_align<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (x, rois, batch) = (call.x(cx, 0)?, call.x(cx, 1)?, call.x(cx, 2)?);
    // Before version 16 nothing was moved by half an element.
    let own = if call.version >= 16 { "half_pixel" } else { "output_half_pixel" };
    let attrs = [
        ("output_height", whole(call.int_or("output_height", 1)?)),
        ("output_width", whole(call.int_or("output_width", 1)?)),
        ("sampling_ratio", whole(call.int_or("sampling_ratio", 0)?)),
        ("spatial_scale", AttrValue::Float(f64::from(call.float_or("spatial_scale", 1.0)?))),
        ("mode", AttrValue::Text(call.text("mode", "avg")?)),
        ("coordinate_transformation_mode", AttrValue::Text(call.text("coordinate_transformation_mode", own)?)),
    ];
    let y = cx.op("roi_align", &[x, rois, batch], &attrs)?;
    cx.one(y)
}

/// What the operator takes as an attribute, and as an operand where it is known at a call alone.
enum Limit<T> {
    Known(T),
    Operand(ValueId),
}

/// A limit that may depend on data.
fn limit<'m, T>(
    cx: &mut Cx<'m>,
    call: &Call<'_, 'm>,
    i: usize,
    known: Outcome<Option<T>>,
) -> Outcome<Option<Limit<T>>> {
    match known {
        Ok(known) => Ok(known.map(Limit::Known)),
        Err(Fault::Poison) => Err(Fault::Poison),
        Err(Fault::Message(_) | Fault::Wanted(_)) => {
            let value = call.x(cx, i)?;
            cx.reshape(value, &[]).map(|value| Some(Limit::Operand(value)))
        }
    }
}

/// One row for each box that is chosen.
fn non_max_suppression<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (boxes, scores) = (call.x(cx, 0)?, call.x(cx, 1)?);
    let mut args = vec![Arg::Value(boxes), Arg::Value(scores)];
    let mut attrs = vec![("center_point_box", AttrValue::Bool(call.int_or("center_point_box", 0)? != 0))];
    let most = match call.has(2) {
        true => {
            let known = cx.exprs(call.value(2)?).map(|all| all.first().cloned());
            limit(cx, call, 2, known)?
        }
        false => None,
    };
    let room = match most {
        Some(Limit::Known(most)) => most,
        // A class has no more boxes than there are.
        Some(Limit::Operand(most)) => {
            args.push(Arg::Value(most));
            cx.dims(boxes).get(1).cloned().unwrap_or_else(|| int(0))
        }
        None => int(0),
    };
    attrs.push(("max_output_boxes_per_class", AttrValue::Int(room)));
    for (i, name) in [(3, "iou_threshold"), (4, "score_threshold")] {
        if !call.has(i) {
            continue;
        }
        let known = cx.f64s(call.value(i)?).map(|all| all.first().copied());
        match limit(cx, call, i, known)? {
            Some(Limit::Known(known)) => attrs.push((name, AttrValue::Float(known))),
            Some(Limit::Operand(value)) => {
                args.resize(i, Arg::List(Vec::new()));
                args.push(Arg::Value(value));
            }
            None => {}
        }
    }
    let both = cx.operator("non_max_suppression", args, &attrs)?;
    let both = cx.components(both)?;
    let y = super::index::first_of(cx, both[0], 0, both[1])?;
    cx.one(y)
}

pub(super) static TABLE: &[OnnxOp] = &[
    op("GridSample", 16, grid_sample),
    op("NonMaxSuppression", 10, non_max_suppression),
    op("RoiAlign", 10, roi_align),
];
