//! Samples of images, and boxes.

use tenfold_ir::ops::AttrValue;

use super::{OnnxOp, op};
use crate::call::Call;
use crate::emit::int;
use crate::value::{Outcome, Value, fault};
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

/// One row for each box that is chosen.
fn non_max_suppression<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (boxes, scores) = (call.x(cx, 0)?, call.x(cx, 1)?);
    let number = |cx: &mut Cx<'m>, i: usize| -> Outcome<Option<f64>> {
        if !call.has(i) {
            return Ok(None);
        }
        Ok(cx.f64s(call.value(i)?)?.first().copied())
    };
    let most = match call.has(2) {
        true => cx.exprs(call.value(2)?)?.first().cloned().unwrap_or_else(|| int(0)),
        false => int(0),
    };
    let mut attrs = vec![
        ("max_output_boxes_per_class", AttrValue::Int(most)),
        ("iou_threshold", AttrValue::Float(number(cx, 3)?.unwrap_or(0.0))),
        ("center_point_box", AttrValue::Bool(call.int_or("center_point_box", 0)? != 0)),
    ];
    if let Some(least) = number(cx, 4)? {
        attrs.push(("score_threshold", AttrValue::Float(least)));
    }
    let both = cx.op("non_max_suppression", &[boxes, scores], &attrs)?;
    let both = cx.components(both)?;
    let y = super::index::first_of(cx, both[0], 0, both[1])?;
    cx.one(y)
}

pub(super) static TABLE: &[OnnxOp] = &[
    op("GridSample", 16, grid_sample),
    op("NonMaxSuppression", 10, non_max_suppression),
    op("RoiAlign", 10, roi_align),
];
