//! Resize: weights and places of the neighbours are known when the model is read, axis by axis.

use tenfold_ir::op::BinaryOp;
use tenfold_ir::ops::AttrValue;
use tenfold_ir::relax::{Op, ValueId};
use tenfold_ir::{DType, Scalar};

use super::cast::table;
use super::{OnnxOp, op};
use crate::call::{Call, axis_of};
use crate::elem::Elem;
use crate::emit::int;
use crate::value::{Outcome, Value, fault};
use crate::walk::{Cx, integers};

type Results = Outcome<Vec<Value>>;

/// Neighbours up to which each is gathered; more become a product with a matrix.
const MOST_TAPS: usize = 8;

/// How an output place becomes an input place, and how its neighbours are weighed.
struct Method {
    kind: String,
    transform: String,
    nearest: String,
    cubic: f64,
    antialias: bool,
    exclude_outside: bool,
    extrapolation: f64,
}

/// One axis.
struct Axis {
    axis: usize,
    extent: i64,
    out: i64,
    scale: f64,
    roi: (f64, f64),
}

/// The neighbours of each output place: index and weight, `taps` of them, and whether the place lies outside.
struct Neighbours {
    taps: usize,
    at: Vec<(i64, f64)>,
    outside: Vec<bool>,
}

impl Method {
    fn of(call: &Call<'_, '_>) -> Outcome<Method> {
        let old = call.version < 11;
        Ok(Method {
            kind: call.text("mode", "nearest")?,
            transform: call.text("coordinate_transformation_mode", if old { "asymmetric" } else { "half_pixel" })?,
            nearest: call.text("nearest_mode", if old { "floor" } else { "round_prefer_floor" })?,
            cubic: f64::from(call.float_or("cubic_coeff_a", -0.75)?),
            antialias: call.int_or("antialias", 0)? != 0,
            exclude_outside: call.int_or("exclude_outside", 0)? != 0,
            extrapolation: f64::from(call.float_or("extrapolation_value", 0.0)?),
        })
    }

    /// The input place of output place `y`.
    fn place(&self, y: f64, axis: &Axis) -> Outcome<f64> {
        let (n, scale) = (axis.extent as f64, axis.scale);
        let length = scale * n;
        Ok(match self.transform.as_str() {
            "align_corners" if length == 1.0 => 0.0,
            "align_corners" => y * (n - 1.0) / (length - 1.0),
            "asymmetric" => y / scale,
            "tf_crop_and_resize" => {
                let (start, end) = axis.roi;
                let inner = if length == 1.0 {
                    (end - start) * (n - 1.0) / 2.0
                } else {
                    y * (end - start) * (n - 1.0) / (length - 1.0)
                };
                inner + start * (n - 1.0)
            }
            "pytorch_half_pixel" if length == 1.0 => -0.5,
            "half_pixel" | "pytorch_half_pixel" => (y + 0.5) / scale - 0.5,
            "half_pixel_symmetric" => n / 2.0 * (1.0 - axis.out as f64 / length) + (y + 0.5) / scale - 0.5,
            other => return fault(format!("the coordinates `{other}` are not supported")),
        })
    }

    /// Weights of neighbours, for a place `ratio` of the way behind the one in the middle.
    fn weights(&self, ratio: f64, scale: f64) -> Outcome<Vec<f64>> {
        let scale = scale.min(1.0);
        let spread = |reach: f64, weight: &dyn Fn(f64) -> f64| {
            let start = (-reach / scale).floor() as i64 + 1;
            let raw: Vec<f64> = (start..2 - start).map(|i| weight(scale * (i as f64 - ratio))).collect();
            let total: f64 = raw.iter().sum();
            raw.into_iter().map(|w| w / total).collect()
        };
        let a = self.cubic;
        let cubic = |x: f64| match x.abs() {
            x if x <= 1.0 => ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0,
            x if x < 2.0 => ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a,
            _ => 0.0,
        };
        Ok(match (self.kind.as_str(), self.antialias) {
            ("nearest", _) => {
                let second = ratio == 1.0
                    || match self.nearest.as_str() {
                        "round_prefer_floor" => ratio > 0.5,
                        "round_prefer_ceil" => ratio >= 0.5,
                        "floor" => false,
                        "ceil" => true,
                        other => return fault(format!("the rounding `{other}` is not supported")),
                    };
                if second { vec![0.0, 1.0] } else { vec![1.0, 0.0] }
            }
            ("linear", false) => vec![1.0 - ratio, ratio],
            ("linear", true) => spread(1.0, &|x| (1.0 - x.abs()).clamp(0.0, 1.0)),
            ("cubic", false) => [-1.0, 0.0, 1.0, 2.0].iter().map(|i| cubic(i - ratio)).collect(),
            ("cubic", true) => spread(2.0, &cubic),
            (other, _) => return fault(format!("the mode `{other}` is not supported")),
        })
    }

    fn neighbours(&self, axis: &Axis) -> Outcome<Neighbours> {
        let mut all = Neighbours { taps: 0, at: Vec::new(), outside: Vec::new() };
        for y in 0..axis.out {
            let x = self.place(y as f64, axis)?;
            let floor = x.floor();
            // A place that is an element's own counts as the end of the step to it.
            let ratio = if x == floor { 1.0 } else { x - floor };
            let mut weights = self.weights(ratio, axis.scale)?;
            let n = weights.len() as i64;
            let first = match (n % 2 == 0, x - floor) {
                (true, frac) => -(n / 2) + i64::from(frac != 0.0),
                (false, frac) => -((n - 1) / 2) + i64::from(frac > 0.5),
            };
            let first = floor as i64 + first;
            let inside = |i: i64| (0..axis.extent).contains(&i);
            if self.exclude_outside {
                weights.iter_mut().zip(first..).filter(|(_, i)| !inside(*i)).for_each(|(w, _)| *w = 0.0);
                let total: f64 = weights.iter().sum();
                weights.iter_mut().for_each(|w| *w /= if total == 0.0 { 1.0 } else { total });
            }
            all.taps = weights.len();
            all.at.extend((first..).zip(weights).map(|(i, w)| (i.clamp(0, axis.extent - 1), w)));
            let crops = self.transform == "tf_crop_and_resize";
            all.outside.push(crops && (x < 0.0 || x > axis.extent as f64 - 1.0));
        }
        Ok(all)
    }
}

/// A vector of integers.
fn indices(cx: &mut Cx<'_>, values: &[i64]) -> Outcome<ValueId> {
    cx.constant(&integers(Elem::Int64, vec![values.len() as u64], values))
}

fn take(cx: &mut Cx<'_>, x: ValueId, values: &[i64], axis: usize) -> Outcome<ValueId> {
    let at = indices(cx, values)?;
    cx.op("take", &[x, at], &[("axis", AttrValue::Int(int(axis as i64)))])
}

/// A vector along an axis of a tensor of that rank.
fn along(cx: &mut Cx<'_>, values: &[f64], axis: usize, rank: usize, dtype: DType) -> Outcome<ValueId> {
    let vector = table(cx, dtype, values)?;
    let mut shape = vec![int(1); rank];
    shape[axis] = int(values.len() as i64);
    cx.reshape(vector, &shape)
}

fn resized(cx: &mut Cx<'_>, x: ValueId, axis: &Axis, method: &Method) -> Outcome<ValueId> {
    let all = method.neighbours(axis)?;
    let rank = cx.rank(x);
    let tap = |t: usize| all.at.iter().skip(t).step_by(all.taps.max(1));
    let mut y = if method.kind == "nearest" {
        let chosen: Vec<i64> = all.at.iter().filter(|(_, w)| *w == 1.0).map(|(i, _)| *i).collect();
        take(cx, x, &chosen, axis.axis)?
    } else if all.taps <= MOST_TAPS {
        let mut sum = None;
        for t in 0..all.taps {
            let places: Vec<i64> = tap(t).map(|(i, _)| *i).collect();
            let weights: Vec<f64> = tap(t).map(|(_, w)| *w).collect();
            let part = take(cx, x, &places, axis.axis)?;
            let weights = along(cx, &weights, axis.axis, rank, cx.dtype(x))?;
            let part = cx.binary(BinaryOp::Mul, part, weights)?;
            sum = Some(sum.map_or(Ok(part), |before| cx.binary(BinaryOp::Add, before, part))?);
        }
        sum.unwrap_or(x)
    } else {
        product(cx, x, axis, &all)?
    };
    if all.outside.contains(&true) {
        let mask: Vec<f64> = all.outside.iter().map(|o| f64::from(u8::from(*o))).collect();
        let mask = along(cx, &mask, axis.axis, rank, DType::Bool)?;
        let value = cx.like(y, method.extrapolation);
        y = cx.select(mask, value, y)?;
    }
    Ok(y)
}

/// The axis as the last one times a matrix of weights.
fn product(cx: &mut Cx<'_>, x: ValueId, axis: &Axis, all: &Neighbours) -> Outcome<ValueId> {
    let (n, out) = (axis.extent as usize, axis.out as usize);
    if n.saturating_mul(out) > 1 << 24 {
        return fault("this resize needs too large a matrix");
    }
    let mut matrix = vec![0.0; n * out];
    for (at, (index, weight)) in all.at.iter().enumerate() {
        matrix[*index as usize * out + at / all.taps] += weight;
    }
    let flat = table(cx, cx.dtype(x), &matrix)?;
    let matrix = cx.reshape(flat, &[int(axis.extent), int(axis.out)])?;
    let rank = cx.rank(x);
    let mut perm: Vec<usize> = (0..rank).collect();
    perm.swap(axis.axis, rank - 1);
    let turned = cx.transpose(x, &perm)?;
    let y = cx.emit(Op::MatMul, &[turned, matrix])?;
    cx.transpose(y, &perm)
}

/// The axes with their extents, from sizes or scales.
fn axes_of<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, x: ValueId) -> Outcome<Vec<Axis>> {
    let dims = cx.fixed(x)?;
    let rank = dims.len();
    let named = call.ints("axes")?.unwrap_or_else(|| (0..rank as i64).collect());
    let named = named.into_iter().map(|a| axis_of(a, rank)).collect::<Outcome<Vec<_>>>()?;
    let old = call.version < 11;
    let given = |cx: &mut Cx<'m>, i: usize| if call.has(i) { cx.f64s(call.value(i)?) } else { Ok(Vec::new()) };
    let roi = if old { Vec::new() } else { given(cx, 1)? };
    let mut scales = match call.floats("scales")? {
        Some(scales) => scales.into_iter().map(f64::from).collect(),
        None => given(cx, if old { 1 } else { 2 })?,
    };
    let sizes = if old { Vec::new() } else { given(cx, 3)? };
    let extents: Vec<f64> = named.iter().map(|a| dims[*a] as f64).collect();
    let mut outs: Vec<f64> = scales.iter().zip(&extents).map(|(s, n)| (s * n).floor()).collect();
    if !sizes.is_empty() {
        scales = sizes.iter().zip(&extents).map(|(s, n)| s / n).collect();
        outs.clone_from(&sizes);
        let policy = call.text("keep_aspect_ratio_policy", "stretch")?;
        if policy != "stretch" {
            let pick = if policy == "not_larger" { f64::min } else { f64::max };
            let scale = scales.iter().copied().reduce(pick).unwrap_or(1.0);
            scales = vec![scale; scales.len()];
            outs = extents.iter().map(|n| (scale * n + 0.5).floor()).collect();
        }
    }
    if scales.len() != named.len() || outs.iter().any(|n| !(0.0..1e9).contains(n)) {
        return fault(format!("it has {} scales for {} axes, or sizes out of range", scales.len(), named.len()));
    }
    let row = |i: usize| Axis {
        axis: named[i],
        extent: dims[named[i]],
        out: outs[i] as i64,
        scale: scales[i],
        roi: (roi.get(i).copied().unwrap_or(0.0), roi.get(i + named.len()).copied().unwrap_or(1.0)),
    };
    Ok((0..named.len()).map(row).collect())
}

fn resize<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let x = call.x(cx, 0)?;
    let method = Method::of(call)?;
    let own = cx.dtype(x);
    let axes = axes_of(cx, call, x)?;
    let wide = if method.kind == "nearest" || own == DType::F64 { own } else { DType::F32 };
    let mut y = cx.cast(x, wide)?;
    for axis in axes {
        let same = axis.extent == axis.out && (axis.scale - 1.0).abs() < 1e-9;
        if !same || method.transform == "tf_crop_and_resize" {
            y = resized(cx, y, &axis, &method)?;
        }
    }
    let y = cx.cast(y, own)?;
    cx.one(y)
}

/// A matrix of sizes and places, turned: `theta · (x, y, 1)` for every place of a grid from -1 to 1.
fn affine_grid<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let theta = call.x(cx, 0)?;
    let size = cx.i64s(call.value(1)?)?;
    let corners = call.int_or("align_corners", 0)? != 0;
    let Some(spatial) = size.get(2..).filter(|s| (2..=3).contains(&s.len())) else {
        return fault("expected two or three spatial axes");
    };
    let count: i64 = spatial.iter().product();
    if !(0..1 << 24).contains(&count) {
        return fault("the grid is too large");
    }
    let place = |i: i64, n: i64| {
        let (i, n) = (i as f64, n as f64);
        if corners { if n > 1.0 { 2.0 * i / (n - 1.0) - 1.0 } else { 0.0 } } else { (2.0 * i + 1.0) / n - 1.0 }
    };
    // Rows are x, y, (z,) 1; columns are the places in row-major order.
    let mut rows = Vec::new();
    for axis in (0..spatial.len()).rev() {
        let step: i64 = spatial[axis + 1..].iter().product();
        rows.extend((0..count).map(|at| place(at / step % spatial[axis], spatial[axis])));
    }
    rows.extend((0..count).map(|_| 1.0));
    let flat = table(cx, cx.dtype(theta), &rows)?;
    let grid = cx.reshape(flat, &[int(spatial.len() as i64 + 1), int(count)])?;
    let y = cx.emit(Op::MatMul, &[theta, grid])?;
    let y = cx.transpose(y, &[0, 2, 1])?;
    let batch = cx.dims(y)[0].clone();
    let mut shape = vec![batch];
    shape.extend(spatial.iter().map(|n| int(*n)));
    shape.push(int(spatial.len() as i64));
    let y = cx.reshape(y, &shape)?;
    cx.one(y)
}

/// Blocks summed into an image where they overlap.
fn col2im<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let x = call.x(cx, 0)?;
    let (image, block) = (cx.i64s(call.value(1)?)?, cx.i64s(call.value(2)?)?);
    let n = image.len();
    let list = |name: &str, default: i64, count: usize| {
        Ok::<_, crate::value::Fault>(
            call.ints(name)?.filter(|v| v.len() == count).unwrap_or_else(|| vec![default; count]),
        )
    };
    let (dilations, strides, pads) = (list("dilations", 1, n)?, list("strides", 1, n)?, list("pads", 0, 2 * n)?);
    let dims = cx.fixed(x)?;
    let [batch, columns, blocks] = dims[..] else { return fault("expected rank 3") };
    let size: i64 = block.iter().product();
    let count: i64 = image.iter().product();
    if block.len() != n || size < 1 || columns % size != 0 || !(1..1 << 24).contains(&count) {
        return fault("the blocks do not fit the image");
    }
    let turns: Vec<i64> = (0..n)
        .map(|i| (image[i] + pads[i] + pads[i + n] - dilations[i] * (block[i] - 1) - 1).div_euclid(strides[i]) + 1)
        .collect();
    if turns.iter().product::<i64>() != blocks {
        return fault(format!("it has {blocks} blocks where {turns:?} are expected"));
    }
    let mut places = Vec::new();
    for within in 0..size {
        for at in 0..blocks {
            places.push(pixel(&image, within, &block, at, &turns, (&strides, &dilations, &pads)).unwrap_or(count));
        }
    }
    let planes = batch * (columns / size);
    let flat = cx.reshape(x, &[int(planes), int(size * blocks)])?;
    let zero = cx.b.scalar(Scalar::zero(cx.dtype(x)));
    let empty = cx.full(&[int(planes), int(count)], zero)?;
    let at = indices(cx, &places)?;
    let at = cx.broadcast(at, &[int(planes), int(size * blocks)])?;
    let attrs = [("axis", AttrValue::Int(int(1))), ("reduction", AttrValue::Text("add".into()))];
    let y = cx.op("put_along_axis", &[empty, at, flat], &attrs)?;
    let mut shape = vec![int(batch), int(columns / size)];
    shape.extend(image.iter().map(|n| int(*n)));
    let y = cx.reshape(y, &shape)?;
    cx.one(y)
}

/// The place in the image of an element of a block; none if it is padding.
fn pixel(
    image: &[i64],
    within: i64,
    block: &[i64],
    at: i64,
    turns: &[i64],
    steps: (&[i64], &[i64], &[i64]),
) -> Option<i64> {
    let (strides, dilations, pads) = steps;
    let (mut within, mut at, mut offset, mut step) = (within, at, 0, 1);
    for i in (0..image.len()).rev() {
        let place = at % turns[i] * strides[i] - pads[i] + within % block[i] * dilations[i];
        (within, at) = (within / block[i], at / turns[i]);
        if !(0..image[i]).contains(&place) {
            return None;
        }
        offset += place * step;
        step *= image[i];
    }
    Some(offset)
}

/// Elements at their places in a larger tensor of zeros.
fn max_unpool<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (x, at) = (call.x(cx, 0)?, call.x(cx, 1)?);
    let dims = cx.fixed(x)?;
    let n = dims.len().saturating_sub(2);
    let list = |name: &str, default: i64, count: usize| {
        Ok::<_, crate::value::Fault>(
            call.ints(name)?.filter(|v| v.len() == count).unwrap_or_else(|| vec![default; count]),
        )
    };
    let (kernel, strides, pads) = (list("kernel_shape", 1, n)?, list("strides", 1, n)?, list("pads", 0, 2 * n)?);
    let mut shape = dims[..2.min(dims.len())].to_vec();
    shape.extend((0..n).map(|i| (dims[i + 2] - 1) * strides[i] + kernel[i] - pads[i] - pads[i + n]));
    let (total, count) = (shape.iter().product::<i64>(), dims.iter().product::<i64>());
    let (flat, at) = (cx.reshape(x, &[int(count)])?, cx.reshape(at, &[int(count)])?);
    let zero = cx.b.scalar(Scalar::zero(cx.dtype(x)));
    let empty = cx.full(&[int(total)], zero)?;
    let y = cx.op("put_along_axis", &[empty, at, flat], &[("axis", AttrValue::Int(int(0)))])?;
    let inferred: Vec<_> = shape.iter().map(|n| int(*n)).collect();
    let mut y = cx.reshape(y, &inferred)?;
    if call.has(2) {
        // A larger output has zeros behind.
        let wanted = cx.i64s(call.value(2)?)?;
        let after: Vec<_> = wanted.iter().zip(&shape).map(|(w, n)| int(w - n)).collect();
        if wanted.len() != shape.len() || wanted.iter().zip(&shape).any(|(w, n)| w < n) {
            return fault(format!("the output shape {wanted:?} does not hold {shape:?}"));
        }
        let before = vec![int(0); after.len()];
        let mode = tenfold_ir::relax::PadMode::Constant;
        y = cx.emit(Op::Pad { mode, before, after }, &[y, zero])?;
    }
    cx.one(y)
}

pub(super) static TABLE: &[OnnxOp] = &[
    op("AffineGrid", 20, affine_grid),
    op("Col2Im", 18, col2im),
    op("MaxUnpool", 9, max_unpool),
    op("Resize", 10, resize),
    op("Upsample", 7, resize),
];
