//! Samples of images at places that are data, and boxes.

use super::call::{bool_attr, float_attr, int_attr, missing, optional, tensor, word_attr};
use super::check::{attr_error, floats, integers, rank, same_dtype, shape};
use super::compose::{cast, working};
use super::error::OpError;
use super::kernel::{Buf, Ex, Kernel};
use super::{AttrDef, OpCall, OpDef};
use crate::DType;
use crate::op::{BinaryOp, UnaryOp};
use crate::relax::{Builder, TensorType, ValueId, dim};

/// How a coordinate outside is met.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outside {
    Zeros,
    Border,
    Reflection,
}

/// A place along an axis: the nearest whole index, and its weight.
#[derive(Clone, Copy)]
pub(super) struct Tap<'k> {
    pub(super) at: Ex<'k>,
    /// None where every place is inside.
    pub(super) inside: Option<Ex<'k>>,
    pub(super) weight: Ex<'k>,
}

/// A value kept in a variable, of which a proof need know nothing.
pub(super) fn kept<'k>(k: &'k Kernel, name: &str, value: Ex<'k>) -> Ex<'k> {
    k.cell(name, value).now()
}

/// A coordinate mirrored at both ends, any number of times.
fn reflected<'k>(k: &'k Kernel, x: Ex<'k>, low: Ex<'k>, high: Ex<'k>) -> Ex<'k> {
    let range = kept(k, "range", high - low);
    let turned = |distance: Ex<'k>, near: Ex<'k>, far: Ex<'k>, sign: f64| {
        let distance = kept(k, "distance", distance);
        let turns = kept(k, "turns", (distance / range).unary(UnaryOp::Trunc));
        let rest = (distance - turns * range) * sign;
        let even = turns.binary(BinaryOp::Rem, 2).equals(0);
        even.select(near + rest, far - rest)
    };
    let (below, above) = (turned(low - x, low, high, 1.0), turned(x - high, high, low, -1.0));
    let value = x.lt(low).select(below, x.gt(high).select(above, x));
    range.gt(0).select(value, low)
}

/// What sampling along an axis is told.
#[derive(Clone, Copy)]
struct Sampling {
    mode: usize,
    outside: Outside,
    align: bool,
    dtype: DType,
}

impl Sampling {
    /// The taps of a coordinate from -1 to 1 along an axis of `extent` elements.
    fn taps<'k>(self, k: &'k Kernel, coordinate: Ex<'k>, extent: Ex<'k>) -> Vec<Tap<'k>> {
        let length = kept(k, "length", extent.cast(self.dtype));
        let x = if self.align { (coordinate + 1) / 2 * (length - 1) } else { ((coordinate + 1) * length - 1) / 2 };
        let x = if self.mode == 1 { x.unary(UnaryOp::Round) } else { x };
        let x = kept(k, "x", x);
        let low = k.lit(self.dtype, if self.align { 0.0 } else { -0.5 });
        let high = kept(k, "high", if self.align { length - 1 } else { length - 0.5 });
        let outside = x.lt(low).or(x.gt(high));
        let x = match self.outside {
            Outside::Zeros => x,
            Outside::Border => outside.select(x.max(0).min(length - 1), x),
            Outside::Reflection => reflected(k, x, low, high),
        };
        let x = kept(k, "x", x);
        let base = kept(k, "base", if self.mode == 1 { x } else { x.unary(UnaryOp::Floor) });
        let part = kept(k, "part", x - base);
        let weights = match self.mode {
            0 => vec![(0, k.lit(self.dtype, 1.0) - part), (1, part)],
            1 => vec![(0, k.lit(self.dtype, 1.0))],
            _ => [-1, 0, 1, 2].map(|at| (at, cubic(k, part, at))).to_vec(),
        };
        let bounds = (low, high, length, extent);
        weights.into_iter().map(|(at, weight)| self.tap(k, base + at, weight, bounds)).collect()
    }

    fn tap<'k>(
        self,
        k: &'k Kernel,
        place: Ex<'k>,
        weight: Ex<'k>,
        (low, high, length, extent): (Ex<'k>, Ex<'k>, Ex<'k>, Ex<'k>),
    ) -> Tap<'k> {
        let place = kept(k, "place", place);
        let (place, inside) = match self.outside {
            Outside::Zeros => (place, Some(kept(k, "inside", place.ge(0).and(place.lt(length))))),
            Outside::Border => (place, None),
            // A whole place goes to a whole place, but for rounding.
            Outside::Reflection => (reflected(k, place, low, high).unary(UnaryOp::Round), None),
        };
        let at = kept(k, "at", place.cast(DType::I64)).index();
        Tap { at: k.clamped(at, extent), inside, weight: kept(k, "weight", weight) }
    }
}

/// The weight of the tap at -1, 0, 1 or 2 from the place before, by the convolution with -0.75.
fn cubic<'k>(k: &'k Kernel, part: Ex<'k>, at: i64) -> Ex<'k> {
    const A: f64 = -0.75;
    let x = kept(k, "far", (part - at).unary(UnaryOp::Abs));
    if matches!(at, 0 | 1) {
        ((x * (A + 2.0) - (A + 3.0)) * x) * x + 1
    } else {
        ((x * A - 5.0 * A) * x + 8.0 * A) * x - 4.0 * A
    }
}

/// The sum over all combinations of taps.
pub(super) fn blend<'k>(k: &'k Kernel, x: Buf<'k>, outer: &[Ex<'k>], taps: &[Vec<Tap<'k>>], dtype: DType) -> Ex<'k> {
    let sum = k.cell("sum", k.lit(dtype, 0.0));
    let mut all: Vec<Vec<Tap<'k>>> = vec![Vec::new()];
    for axis in taps {
        all = all.iter().flat_map(|chosen| axis.iter().map(|tap| [chosen.as_slice(), &[*tap]].concat())).collect();
    }
    for chosen in all {
        let at: Vec<Ex<'k>> = chosen.iter().map(|tap| tap.at).collect();
        let weight = chosen.iter().map(|tap| tap.weight).reduce(|a, b| a * b);
        let inside = chosen.iter().filter_map(|tap| tap.inside).reduce(Ex::and);
        let value = x.at(&[outer, &at].concat()).cast(dtype);
        let value = weight.map_or(value, |weight| value * weight);
        sum.set(sum.now() + inside.map_or(value, |inside| inside.choose(value, 0)));
    }
    sum.now()
}

fn grid_sample(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    let (grid, places) = tensor(b, call, 1)?;
    floats(0, &ty)?;
    floats(1, &places)?;
    super::check::rank_at_least(0, &ty, 3)?;
    let spatial = ty.shape.len() - 2;
    rank(1, &places, spatial + 2)?;
    super::check::extent(b, 1, &places, 0, &ty.shape[0])?;
    super::check::extent(b, 1, &places, spatial + 1, &dim::int(spatial as i64))?;
    for extent in &ty.shape[2..] {
        super::check::not_empty(b, 0, &ty, extent)?;
    }
    let mode = word_attr(call, "mode", &["linear", "nearest", "cubic"])?;
    let outside = match word_attr(call, "padding_mode", &["zeros", "border", "reflection"])? {
        0 => Outside::Zeros,
        1 => Outside::Border,
        _ => Outside::Reflection,
    };
    let dtype = working(ty.dtype);
    let how = Sampling { mode, outside, align: bool_attr(call, "align_corners", false)?, dtype };
    let out = [&ty.shape[..2], &places.shape[1..=spatial]].concat();
    let k = Kernel::new(b, "grid_sample");
    let (from, at) = (k.input(b, x), k.input(b, grid));
    let out = k.output(TensorType { dtype: ty.dtype, shape: out });
    k.block("grid_sample", &out.shape(), |i| {
        let taps = (0..spatial).map(|axis| {
            let place = k.int((spatial - 1 - axis) as i64);
            let coordinate = at.at(&[&i[..1], &i[2..], &[place]].concat()).cast(dtype);
            how.taps(&k, coordinate, from.dim(axis + 2))
        });
        let taps: Vec<Vec<Tap<'_>>> = taps.collect();
        out.put(i, blend(&k, from, &i[..2], &taps, dtype).cast(ty.dtype));
    });
    k.finish(b)
}

/// Two neighbours along an axis of a region's sample: their indices, and the weight of the second.
fn neighbours<'k>(k: &'k Kernel, y: Ex<'k>, extent: Ex<'k>, dtype: DType) -> (Ex<'k>, Ex<'k>, Ex<'k>) {
    let y = kept(k, "y", y.max(0));
    let low = k.clamped(kept(k, "first", y.cast(DType::I64)).index(), extent);
    let part = kept(k, "part", (y - low.cast(dtype)).min(1).max(0));
    let last = low.ge(extent - 1);
    (low, k.clamped(low + 1, extent), last.select(k.lit(dtype, 0.0), part))
}

/// A part of a box along an axis: where it begins, how large it is, and in how many steps it is walked.
struct Part<'k> {
    begin: Ex<'k>,
    size: Ex<'k>,
    steps: Ex<'k>,
    dtype: DType,
}

impl<'k> Part<'k> {
    /// Part `at` of `parts` of what lies from one coordinate to another.
    fn new(
        k: &'k Kernel,
        (from, to): (Ex<'k>, Ex<'k>),
        (at, parts): (Ex<'k>, i64),
        (half, ratio): (bool, i64),
    ) -> Self {
        let dtype = from.dtype().unwrap_or(DType::F32);
        let whole = if half { to - from } else { (to - from).max(1) };
        let size = kept(k, "size", whole / parts as f64);
        let steps = if ratio > 0 { k.int(ratio) } else { size.unary(UnaryOp::Ceil).cast(DType::I64).index() };
        let begin = kept(k, "begin", from + at.cast(dtype) * size);
        Part { begin, size, steps: kept(k, "steps", steps), dtype }
    }

    /// The middle of a step.
    fn middle(&self, k: &'k Kernel, step: Ex<'k>) -> Ex<'k> {
        let at = (step.cast(self.dtype) + 0.5) * self.size / self.steps.cast(self.dtype);
        kept(k, "middle", self.begin + at)
    }
}

fn roi_align(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (x, ty) = tensor(b, call, 0)?;
    let (rois, boxes) = tensor(b, call, 1)?;
    let (batch, which) = tensor(b, call, 2)?;
    floats(0, &ty)?;
    rank(0, &ty, 4)?;
    same_dtype(1, &boxes, &ty)?;
    rank(1, &boxes, 2)?;
    super::check::extent(b, 1, &boxes, 1, &dim::int(4))?;
    integers(2, &which)?;
    shape(b, 2, &which, &boxes.shape[..1])?;
    for axis in [0, 2, 3] {
        super::check::not_empty(b, 0, &ty, &ty.shape[axis])?;
    }
    let size = |name| Ok::<i64, OpError>(int_attr(call, name)?.unwrap_or(1));
    let (height, width, ratio) =
        (size("output_height")?, size("output_width")?, int_attr(call, "sampling_ratio")?.unwrap_or(0));
    if height < 1 || width < 1 || ratio < 0 {
        return Err(attr_error(
            "output_height",
            "expected 1 or more for the extents, and 0 or more for `sampling_ratio`",
        ));
    }
    let max = word_attr(call, "mode", &["avg", "max"])? == 1;
    let half = word_attr(call, "coordinate_transformation_mode", &["half_pixel", "output_half_pixel"])? == 0;
    let scale = float_attr(call, "spatial_scale", 1.0)?.get();
    let dtype = working(ty.dtype);
    let k = Kernel::new(b, "roi_align");
    let (from, rois, batch) = (k.input(b, x), k.input(b, rois), k.input(b, batch));
    let out = [&boxes.shape[..1], &ty.shape[1..2], &[dim::int(height), dim::int(width)]].concat();
    let out = k.output(TensorType { dtype: ty.dtype, shape: out });
    k.block("roi_align", &out.shape(), |i| {
        let edge = |at: i64| {
            let value = rois.at(&[i[0], k.int(at)]).cast(dtype) * scale;
            kept(&k, "edge", if half { value - 0.5 } else { value })
        };
        let image = k.wrapped(kept(&k, "image", batch.at(&[i[0]]).index()), from.dim(0));
        let rows = Part::new(&k, (edge(1), edge(3)), (i[2], height), (half, ratio));
        let columns = Part::new(&k, (edge(0), edge(2)), (i[3], width), (half, ratio));
        let (sum, first) = (k.cell("sum", k.lit(dtype, 0.0)), k.cell("first", k.bool(true)));
        k.for_("row", rows.steps, |row| {
            k.for_("column", columns.steps, |column| {
                let point = (rows.middle(&k, row), columns.middle(&k, column));
                let value = sampled(&k, from, (image, i[1]), point, max, dtype);
                let all = first.now().select(value, sum.now().max(value));
                sum.set(if max { all } else { sum.now() + value });
                first.set(k.bool(false));
            });
        });
        let count = kept(&k, "count", (rows.steps * columns.steps).max(1).cast(dtype));
        out.put(i, if max { sum.now() } else { sum.now() / count }.cast(ty.dtype));
    });
    k.finish(b)
}

/// A point between four elements, or the greatest of their parts in it; 0 outside.
fn sampled<'k>(
    k: &'k Kernel,
    x: Buf<'k>,
    (image, channel): (Ex<'k>, Ex<'k>),
    (py, px): (Ex<'k>, Ex<'k>),
    max: bool,
    dtype: DType,
) -> Ex<'k> {
    let (height, width) = (x.dim(2), x.dim(3));
    let beyond = |p: Ex<'k>, extent: Ex<'k>| p.lt(-1).or(p.gt(extent.cast(dtype)));
    let outside = kept(k, "outside", beyond(py, height).or(beyond(px, width)));
    let (top, bottom, v) = neighbours(k, py, height, dtype);
    let (left, right, u) = neighbours(k, px, width, dtype);
    let at = |row: Ex<'k>, column: Ex<'k>, weight: Ex<'k>| x.at(&[image, channel, row, column]).cast(dtype) * weight;
    let one = |w: Ex<'k>| k.lit(dtype, 1.0) - w;
    let parts = [
        at(top, left, one(v) * one(u)),
        at(top, right, one(v) * u),
        at(bottom, left, v * one(u)),
        at(bottom, right, v * u),
    ];
    let value = parts.into_iter().reduce(|a, b| if max { a.max(b) } else { a + b });
    let value = value.unwrap_or_else(|| k.lit(dtype, 0.0));
    kept(k, "value", outside.choose(k.lit(dtype, 0.0), value))
}

/// How much two boxes cover of what they cover together.
fn overlap<'k>(k: &'k Kernel, a: [Ex<'k>; 4], b: [Ex<'k>; 4]) -> Ex<'k> {
    let side = |i: usize| {
        let inner = a[i + 2].min(b[i + 2]) - a[i].max(b[i]);
        kept(k, "side", inner.max(0))
    };
    let area = |c: [Ex<'k>; 4]| (c[2] - c[0]) * (c[3] - c[1]);
    let both = kept(k, "both", side(0) * side(1));
    let all = kept(k, "all", area(a) + area(b) - both);
    all.gt(0).select(both / all, 0)
}

/// A box by its least and greatest coordinates.
fn corners<'k>(k: &'k Kernel, boxes: Buf<'k>, batch: Ex<'k>, at: Ex<'k>, center: bool) -> [Ex<'k>; 4] {
    let n = |i: i64| boxes.at(&[batch, at, k.int(i)]);
    let ends = |a: Ex<'k>, b: Ex<'k>| (a.min(b), a.max(b));
    let ((y, bottom), (x, right)) = if center {
        let span = |middle: Ex<'k>, size: Ex<'k>| (middle - size / 2, middle + size / 2);
        (span(n(1), n(3)), span(n(0), n(2)))
    } else {
        (ends(n(0), n(2)), ends(n(1), n(3)))
    };
    [y, x, bottom, right].map(|value| kept(k, "corner", value))
}

/// A threshold: an operand, or a number where there is none.
#[derive(Clone, Copy)]
enum Threshold {
    Operand(ValueId),
    Number(f64),
}

/// Operand `i`, in the dtype that boxes are compared in, or attribute `name`.
fn threshold(
    b: &mut Builder,
    call: &OpCall,
    (i, name, default): (usize, &str, f64),
    dtype: DType,
) -> Result<Threshold, OpError> {
    let Some((value, ty)) = optional(b, call, i)? else {
        return Ok(Threshold::Number(float_attr(call, name, default)?.get()));
    };
    if call.attrs.contains_key(name) {
        let message = format!("`{name}` is an attribute and operand {i}");
        return Err(attr_error(name, message).help("leave one of them out"));
    }
    floats(i, &ty)?;
    rank(i, &ty, 0)?;
    cast(b, dtype, value).map(Threshold::Operand)
}

/// How many boxes of a class there may be, where that is an operand.
fn asked(b: &mut Builder, call: &OpCall, i: usize) -> Result<Option<ValueId>, OpError> {
    let Some((value, ty)) = optional(b, call, i)? else { return Ok(None) };
    integers(i, &ty)?;
    rank(i, &ty, 0)?;
    cast(b, DType::I64, value).map(Some)
}

/// The best boxes of each class, without those that overlap a better one; behind the count stands 0.
fn non_max_suppression(b: &mut Builder, call: &OpCall) -> Result<ValueId, OpError> {
    let (boxes, places) = tensor(b, call, 0)?;
    let (scores, values) = tensor(b, call, 1)?;
    floats(0, &places)?;
    same_dtype(1, &values, &places)?;
    rank(0, &places, 3)?;
    rank(1, &values, 3)?;
    super::check::extent(b, 0, &places, 2, &dim::int(4))?;
    shape(b, 1, &values, &[places.shape[0].clone(), values.shape[1].clone(), places.shape[1].clone()])?;
    let most = super::call::index_attr(call, "max_output_boxes_per_class")?
        .ok_or_else(|| missing("max_output_boxes_per_class", "10"))?;
    let center = bool_attr(call, "center_point_box", false)?;
    let dtype = working(places.dtype);
    let asked = asked(b, call, 2)?;
    let limit = threshold(b, call, (3, "iou_threshold", 0.0), dtype)?;
    let least = threshold(b, call, (4, "score_threshold", f64::NEG_INFINITY), dtype)?;
    let (boxes, scores) = (cast(b, dtype, boxes)?, cast(b, dtype, scores)?);
    let most = most.minimum(&places.shape[1]).maximum(&dim::int(0));
    let total = dim::product(&[places.shape[0].clone(), values.shape[1].clone(), most.clone()]);
    let k = Kernel::new(b, "non_max_suppression");
    let (boxes, scores) = (k.input(b, boxes), k.input(b, scores));
    let asked = asked.map(|asked| k.input(b, asked).at(&[]));
    let [limit, least] = [limit, least].map(|given| match given {
        Threshold::Operand(given) => k.input(b, given).at(&[]),
        Threshold::Number(given) => k.lit(dtype, given),
    });
    let out = k.output(TensorType { dtype: DType::I64, shape: vec![total.clone(), dim::int(3)] });
    let count = k.output(TensorType { dtype: DType::I64, shape: Vec::new() });
    k.each("clear", out, |_| out.zero());
    k.once("non_max_suppression", || {
        let found = k.cell("found", k.int(0));
        let n = scores.dim(2);
        let alive = k.temp("alive", DType::I8, &scores.shape()[2..]);
        k.for_all("g", &[scores.dim(0), scores.dim(1)], |group| {
            k.for_("t", n, |t| {
                let above = scores.at(&[group[0], group[1], t]).gt(least);
                alive.put(&[t], above.select(k.lit(DType::I8, 1.0), 0));
            });
            k.for_("turn", k.dim(&most), |turn| {
                let best = k.cell("best", k.int(-1));
                let wanted = asked.map_or(k.bool(true), |asked| turn.cast(DType::I64).lt(asked));
                let leader = scores.at(&[group[0], group[1], k.clamped(best.now(), n)]);
                k.for_("t", n, |t| {
                    let better = best.now().lt(0).or(scores.at(&[group[0], group[1], t]).gt(leader));
                    k.if_(wanted.and(alive.at(&[t]).differs(0)).and(better), || best.set(t));
                });
                k.if_(n.ge(1).and(best.now().ge(0)), || {
                    let at = k.clamped(best.now(), n);
                    let to = found.get();
                    k.if_(to.ge(0).and(to.lt(k.dim(&total))), || {
                        for (column, value) in [group[0], group[1], at].into_iter().enumerate() {
                            out.put(&[to, k.int(column as i64)], value.cast(DType::I64));
                        }
                    });
                    found.set(to + 1);
                    let chosen = corners(&k, boxes, group[0], at, center);
                    k.for_("t", n, |t| {
                        let other = corners(&k, boxes, group[0], t, center);
                        let gone = overlap(&k, chosen, other).gt(limit).or(t.equals(best.now()));
                        k.if_(gone, || alive.put(&[t], k.lit(DType::I8, 0.0)));
                    });
                });
            });
        });
        count.put(&[], found.now().cast(DType::I64));
    });
    let made = k.finish(b)?;
    super::chosen::counted(b, made, &total)
}

pub(super) static TABLE: &[OpDef] = &[
    graph!(
        "grid_sample",
        "GridSample",
        "x, grid",
        2,
        &[
            AttrDef {
                name: "mode",
                ty: "\"linear\" | \"nearest\" | \"cubic\" = \"linear\"",
                doc: "how elements are blended"
            },
            AttrDef {
                name: "padding_mode",
                ty: "\"zeros\" | \"border\" | \"reflection\" = \"zeros\"",
                doc: "what stands outside"
            },
            AttrDef {
                name: "align_corners",
                ty: "bool = false",
                doc: "whether -1 and 1 are the middles of the outermost elements"
            },
        ],
        grid_sample,
        "x at coordinates from -1 to 1, of which the last axis of `grid` holds one per spatial axis, the last axis of x first. No spatial axis is empty."
    ),
    graph!(
        "roi_align",
        "RoiAlign",
        "x, rois, batch_indices",
        3,
        &[
            AttrDef { name: "output_height", ty: "int = 1", doc: "rows of a result" },
            AttrDef { name: "output_width", ty: "int = 1", doc: "columns of a result" },
            AttrDef {
                name: "sampling_ratio",
                ty: "int = 0",
                doc: "points per row and column of a part; 0 takes one per element"
            },
            AttrDef { name: "spatial_scale", ty: "float = 1.0", doc: "what coordinates are multiplied by" },
            AttrDef { name: "mode", ty: "\"avg\" | \"max\" = \"avg\"", doc: "how points of a part are combined" },
            AttrDef {
                name: "coordinate_transformation_mode",
                ty: "\"half_pixel\" | \"output_half_pixel\" = \"half_pixel\"",
                doc: "whether coordinates are moved by half an element"
            },
        ],
        roi_align,
        "Boxes (x, y, x, y) of images, each in as many parts as the result has elements, sampled between four elements at a time."
    ),
    graph!(
        "non_max_suppression",
        "NonMaxSuppression",
        "boxes, scores, most?, iou?, least?",
        (2, 5),
        &[
            AttrDef { name: "max_output_boxes_per_class", ty: "int", doc: "the most boxes of a class" },
            AttrDef {
                name: "iou_threshold",
                ty: "float = 0.0",
                doc: "boxes that overlap a better one more than this go"
            },
            AttrDef { name: "score_threshold", ty: "float = -∞", doc: "scores that are not above this do not count" },
            AttrDef {
                name: "center_point_box",
                ty: "bool = false",
                doc: "boxes are middle and size (x, y, w, h), else corners (y, x, y, x)"
            },
        ],
        non_max_suppression,
        "(batch, class, box) of the best boxes of each class, the best first, and how many there are; behind them stands 0. What is known at a call alone is an operand: `iou` and `least` take the place of the thresholds, and a class gives no more than `most` of the `max_output_boxes_per_class` that there is room for."
    ),
];
