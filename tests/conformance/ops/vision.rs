//! Samples of images, and boxes: ONNX's own examples and a computation of samples in f64.

use tenfold_ir::DType;
use tenfold_ir::ops::AttrValue;

use super::{args, int, numbers, reals, word};
use crate::case::{Case, Make, fixed};

pub(crate) fn cases() -> Vec<Case> {
    vec![grids(), regions(), boxes()]
}

/// The element at a place, as a padding mode says.
fn element(x: &[f64], place: f64, low: f64, high: f64, mode: &str) -> f64 {
    let n = x.len() as f64;
    match mode {
        "zeros" if place < 0.0 || place >= n => 0.0,
        "reflection" => x[(reflected(place, low, high) as usize).min(x.len() - 1)],
        _ => x[place.clamp(0.0, n - 1.0) as usize],
    }
}

fn reflected(x: f64, low: f64, high: f64) -> f64 {
    let range = high - low;
    let turned = |distance: f64, near: f64, far: f64, sign: f64| {
        let turns = (distance / range).trunc();
        let rest = (distance - turns * range) * sign;
        if turns % 2.0 == 0.0 { near + rest } else { far - rest }
    };
    if x < low {
        turned(low - x, low, high, 1.0)
    } else if x > high {
        turned(x - high, high, low, -1.0)
    } else {
        x
    }
}

/// One axis, linear or nearest.
fn sampled(x: &[f64], at: f64, align: bool, nearest: bool, mode: &str) -> f64 {
    let n = x.len() as f64;
    let mut place = if align { (at + 1.0) / 2.0 * (n - 1.0) } else { ((at + 1.0) * n - 1.0) / 2.0 };
    if nearest {
        place = place.round_ties_even();
    }
    let (low, high) = if align { (0.0, n - 1.0) } else { (-0.5, n - 0.5) };
    if place < low || place > high {
        place = match mode {
            "border" => place.clamp(0.0, n - 1.0),
            "reflection" => reflected(place, low, high),
            _ => place,
        };
    }
    if nearest {
        return element(x, place, low, high, mode);
    }
    let (base, part) = (place.floor(), place - place.floor());
    element(x, base, low, high, mode) * (1.0 - part) + element(x, base + 1.0, low, high, mode) * part
}

fn grids() -> Case {
    let mut m = Make::new("grid_sample");
    let cells = [1.0, 4.0, -2.0, 3.5, 0.25];
    // None where rounding decides which element is the nearest.
    let places = [-0.93, -0.37, 0.05, 0.52, 0.97, 1.7, -2.9];
    let x = m.values(DType::F32, &[1, 1, 5], &reals(DType::F32, &cells));
    let grid = m.values(DType::F32, &[1, 7, 1], &reals(DType::F32, &places));
    let mut results = Vec::new();
    for mode in ["zeros", "border", "reflection"] {
        for align in [false, true] {
            for (how, nearest) in [("linear", false), ("nearest", true)] {
                let attrs =
                    [("mode", word(how)), ("padding_mode", word(mode)), ("align_corners", AttrValue::Bool(align))];
                let y = m.call("grid_sample", &args(&[x, grid]), &attrs);
                let at = |p: &f64| sampled(&cells, f64::from(*p as f32), align, nearest, mode);
                m.near(y, &places.iter().map(at).collect::<Vec<_>>(), 2f64.powi(-20));
                results.push(y);
            }
        }
    }
    // Two axes: the last of a coordinate is the first axis.
    let image = m.values(DType::F32, &[1, 1, 2, 2], &reals(DType::F32, &[1.0, 2.0, 3.0, 4.0]));
    let corner = m.values(DType::F32, &[1, 1, 1, 2], &reals(DType::F32, &[0.5, -0.5]));
    for how in ["linear", "cubic"] {
        let y = m.call(
            "grid_sample",
            &args(&[image, corner]),
            &[("mode", word(how)), ("align_corners", AttrValue::Bool(true))],
        );
        if how == "linear" {
            m.near(y, &[2.25], 1e-6);
        }
        results.push(y);
    }
    m.done(&results)
}

fn regions() -> Case {
    let mut m = Make::new("roi_align");
    let cells: Vec<f64> = (0..16).map(f64::from).collect();
    let x = m.values(DType::F32, &[1, 1, 4, 4], &reals(DType::F32, &cells));
    let rois = m.values(DType::F32, &[1, 4], &reals(DType::F32, &[0.6, 0.6, 2.5, 2.5]));
    let batch = m.values(DType::I64, &[1], &numbers(DType::I64, &[0]));
    let attrs = [("output_height", int(2)), ("output_width", int(2)), ("sampling_ratio", int(1))];
    let y = m.call("roi_align", &args(&[x, rois, batch]), &attrs);
    // Middles at 0.575 and 1.525 in both axes of what is 4 · row + column.
    m.near(y, &[2.875, 3.825, 6.675, 7.625], 1e-6);
    let whole = m.call("roi_align", &args(&[x, rois, batch]), &[("mode", word("max"))]);
    // The same points: the greatest part of an element around the last.
    m.near(whole, &[10.0 * 0.525 * 0.525], 1e-6);
    m.done(&[y, whole])
}

/// ONNX's example of suppression by overlap and scores.
fn boxes() -> Case {
    let mut m = Make::new("non_max_suppression");
    let corners = [
        [0.0, 0.0, 1.0, 1.0],
        [0.0, 0.1, 1.0, 1.1],
        [0.0, -0.1, 1.0, 0.9],
        [0.0, 10.0, 1.0, 11.0],
        [0.0, 10.1, 1.0, 11.1],
        [0.0, 100.0, 1.0, 101.0],
    ];
    let boxes = m.values(DType::F32, &[1, 6, 4], &reals(DType::F32, &corners.concat()));
    let scores = m.values(DType::F32, &[1, 1, 6], &reals(DType::F32, &[0.9, 0.75, 0.6, 0.95, 0.5, 0.3]));
    let limits = |least: f64| {
        let most = ("max_output_boxes_per_class", int(3));
        [most, ("iou_threshold", AttrValue::Float(0.5)), ("score_threshold", AttrValue::Float(least))]
    };
    let mut results = Vec::new();
    for (least, wanted, count) in [(0.0, [0, 0, 3, 0, 0, 0, 0, 0, 5], 3), (0.4, [0, 0, 3, 0, 0, 0, 0, 0, 0], 2)] {
        let both = m.call("non_max_suppression", &args(&[boxes, scores]), &limits(least));
        let both = m.parts(both, 2);
        m.exactly(both[0], numbers(DType::I64, &wanted));
        m.exactly(both[1], numbers(DType::I64, &[count]));
        results.extend(both);
    }
    let none = m.input(DType::F32, &fixed(&[1, 0, 4]));
    let unscored = m.input(DType::F32, &fixed(&[1, 1, 0]));
    let nothing = m.call("non_max_suppression", &args(&[none, unscored]), &limits(0.0));
    let nothing = m.parts(nothing, 2);
    m.exactly(nothing[1], numbers(DType::I64, &[0]));
    results.extend(nothing);
    m.done(&results)
}
