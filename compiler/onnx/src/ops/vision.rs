//! Samples of images, and boxes.

use tenfold_ir::DType;
use tenfold_ir::ops::AttrValue;

use super::{OnnxOp, op};
use crate::call::Call;
use crate::emit::int;
use crate::snippet::{Snippet, tensor_text};
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

/// How many boxes there are must be known: the result has one row for each.
fn non_max_suppression<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (boxes, scores) = (call.x(cx, 0)?, call.x(cx, 1)?);
    let number = |cx: &mut Cx<'m>, i: usize| -> Outcome<Option<f64>> {
        if !call.has(i) {
            return Ok(None);
        }
        Ok(cx.f64s(call.value(i)?)?.first().copied())
    };
    let most = number(cx, 2)?.unwrap_or(0.0);
    let mut attrs = vec![
        ("max_output_boxes_per_class", whole(most as i64)),
        ("iou_threshold", AttrValue::Float(number(cx, 3)?.unwrap_or(0.0))),
        ("center_point_box", AttrValue::Bool(call.int_or("center_point_box", 0)? != 0)),
    ];
    if let Some(least) = number(cx, 4)? {
        attrs.push(("score_threshold", AttrValue::Float(least)));
    }
    let both = cx.op("non_max_suppression", &[boxes, scores], &attrs)?;
    let both = cx.components(both)?;
    let count = cx.plain(both[1]);
    let count = cx.i64s(&count)?.first().copied().unwrap_or(0);
    let y = cx.part(both[0], 0, int(0), int(count))?;
    cx.one(y)
}

/// A convolution whose taps are moved, each by an offset of its own, and read between elements.
fn deform_conv<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (x, w, offset) = (call.x(cx, 0)?, call.x(cx, 1)?, call.x(cx, 2)?);
    let (dims, kernel, moved) = (cx.fixed(x)?, cx.fixed(w)?, cx.fixed(offset)?);
    let ([n, c, ..], [m, per_group, kh, kw], [_, _, oh, ow]) = (&dims[..], &kernel[..], &moved[..]) else {
        return fault("expected batch, channels and two spatial axes");
    };
    let spatial: Vec<_> = dims[2..].iter().map(|d| int(*d)).collect();
    let window = super::nn::window(call, &spatial, vec![*kh, *kw])?;
    let (group, offsets) = (call.int_or("group", 1)?, call.int_or("offset_group", 1)?);
    if group < 1 || offsets < 1 || per_group * group != *c || m % group != 0 || c % offsets != 0 {
        return fault(format!("{group} groups and {offsets} groups of offsets do not divide {c} and {m} channels"));
    }
    let (own, wide) = (cx.dtype(x), if cx.dtype(x) == DType::F64 { DType::F64 } else { DType::F32 });
    let of = |extents: &[i64]| extents.iter().map(|d| int(*d)).collect::<Vec<_>>();
    let mask = match call.optional(cx, 4)? {
        Some(mask) => cx.reshape(mask, &of(&[*n, offsets, *kh, *kw, *oh, *ow]))?,
        None => {
            let one = cx.like(x, 1.0);
            cx.full(&of(&[*n, offsets, *kh, *kw, *oh, *ow]), one)?
        }
    };
    let bias = match call.optional(cx, 3)? {
        Some(bias) => bias,
        None => {
            let zero = cx.like(x, 0.0);
            cx.full(&of(&[*m]), zero)?
        }
    };
    let offset = cx.reshape(offset, &of(&[*n, offsets, *kh, *kw, 2, *oh, *ow]))?;
    let mut text = Snippet::default();
    for (name, value) in [("x", x), ("w", w), ("offset", offset), ("mask", mask), ("bias", bias)] {
        let value = cx.cast(value, wide)?;
        text.tensor(cx, name, value);
    }
    let place = |axis: usize, out: &str, tap: &str| {
        let (stride, step, pad) = (window.strides[axis], window.dilations[axis], window.pads[axis]);
        format!("({out} * {stride} + {tap} * {step}) as {wide} - {pad}.0 + offset[[n, s, u, v, {axis}, i, j]]")
    };
    let body = format!(
        "compute([{n}, {m}, {oh}, {ow}], |n, m, i, j| {{
            bias[[m]] + sum(0..{per_group}, 0..{kh}, 0..{kw}, |k, u, v| {{
                let c = m / {filters} * {per_group} + k;
                let s = c / {shared};
                let (a, b) = ({row}, {column});
                let (top, left) = (floor(a), floor(b));
                let (y, z) = (top as isize, left as isize);
                let (down, right) = (a - top, b - left);
                let upper = (1.0 - right) * x.get_or([n, c, y, z], 0.0) + right * x.get_or([n, c, y, z + 1], 0.0);
                let lower =
                    (1.0 - right) * x.get_or([n, c, y + 1, z], 0.0) + right * x.get_or([n, c, y + 1, z + 1], 0.0);
                ((1.0 - down) * upper + down * lower) * mask[[n, s, u, v, i, j]] * w[[m, k, u, v]]
            }})
        }})",
        filters = m / group,
        shared = c / offsets,
        row = place(0, "i", "u"),
        column = place(1, "j", "v"),
    );
    let result = [*n, *m, *oh, *ow].map(|d| d.to_string());
    let y = text.one(cx, &tensor_text(wide, &result), &body)?;
    let y = cx.cast(y, own)?;
    cx.one(y)
}

pub(super) static TABLE: &[OnnxOp] = &[
    op("DeformConv", 19, deform_conv),
    op("GridSample", 16, grid_sample),
    op("NonMaxSuppression", 10, non_max_suppression),
    op("RoiAlign", 10, roi_align),
];
