//! Images in another size, and grids of places. Places and weights of neighbours are computed in f64 along each axis, by
//! operators over constants, which are folded where the extents are known.

mod repeat;

use super::call::{bool_attr, float_attr, floats_attr, shape, tensor, word_attr};
use super::check::{attr_error, floats, not_empty, numbers, rank};
use super::compose::{
    add, arange, binary, call_of, cast, compare, div, index_value, mul, reshape, select, sub, transpose, unary, with,
};
use super::error::{At, OpError, OpErrorKind, show_tensor};
use super::{AttrDef, AttrValue, OpCall, OpDef};
use crate::arith::IntExpr;
use crate::op::{BinaryOp, CmpOp, UnaryOp};
use crate::relax::{Builder, Op, TensorType, ValueId, dim};
use crate::{DType, Scalar};

type Made = Result<ValueId, OpError>;

/// Neighbours up to which each is gathered; more become a product with a matrix.
const MOST_TAPS: usize = 8;

/// The neighbours that one place may have.
const LIMIT_OF_TAPS: i64 = 1 << 12;

/// The greatest denominator of a factor of a dim without a value.
const MOST_PARTS: i64 = 64;

/// How elements are blended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Nearest,
    Linear,
    Cubic,
}

/// How a place of the result becomes one of x.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Transform {
    HalfPixel,
    HalfPixelSymmetric,
    PytorchHalfPixel,
    AlignCorners,
    Asymmetric,
    TfCropAndResize,
}

const TRANSFORMS: [(&str, Transform); 6] = [
    ("half_pixel", Transform::HalfPixel),
    ("half_pixel_symmetric", Transform::HalfPixelSymmetric),
    ("pytorch_half_pixel", Transform::PytorchHalfPixel),
    ("align_corners", Transform::AlignCorners),
    ("asymmetric", Transform::Asymmetric),
    ("tf_crop_and_resize", Transform::TfCropAndResize),
];

/// Which element is the nearest one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nearest {
    RoundPreferFloor,
    RoundPreferCeil,
    Floor,
    Ceil,
}

const NEAREST: [(&str, Nearest); 4] = [
    ("round_prefer_floor", Nearest::RoundPreferFloor),
    ("round_prefer_ceil", Nearest::RoundPreferCeil),
    ("floor", Nearest::Floor),
    ("ceil", Nearest::Ceil),
];

/// What the attributes say.
struct Method {
    mode: Mode,
    transform: Transform,
    nearest: Nearest,
    cubic: f64,
    antialias: bool,
    exclude_outside: bool,
    extrapolation: f64,
}

impl Method {
    fn of(call: &OpCall) -> Result<Method, OpError> {
        let transform = word_attr(call, "coordinate_transformation_mode", &TRANSFORMS.map(|(name, _)| name))?;
        Ok(Method {
            mode: [Mode::Nearest, Mode::Linear, Mode::Cubic][word_attr(call, "mode", &["nearest", "linear", "cubic"])?],
            transform: TRANSFORMS[transform].1,
            nearest: NEAREST[word_attr(call, "nearest_mode", &NEAREST.map(|(name, _)| name))?].1,
            cubic: float_attr(call, "cubic_coeff_a", -0.75)?.get(),
            antialias: bool_attr(call, "antialias", false)?,
            exclude_outside: bool_attr(call, "exclude_outside", false)?,
            extrapolation: float_attr(call, "extrapolation_value", 0.0)?.get(),
        })
    }
}

/// How much longer an axis becomes.
#[derive(Clone, Copy)]
enum Scale {
    Known(f64),
    /// The quotient of the extents.
    Quotient,
}

/// One axis.
struct Axis {
    axis: usize,
    extent: IntExpr,
    out: IntExpr,
    scale: Scale,
    roi: (f64, f64),
}

impl Axis {
    /// The number of the last element.
    fn last(&self) -> IntExpr {
        &self.extent - &dim::int(1)
    }
}

/// An index value times a factor, one rounding away from it.
fn scaled(b: &mut Builder, e: &IntExpr, factor: f64) -> Made {
    match dim::as_int(e) {
        Some(n) => Ok(b.scalar(Scalar::float(DType::F64, n as f64 * factor))),
        None => {
            let e = index_value(b, DType::F64, e)?;
            with(b, BinaryOp::Mul, e, factor)
        }
    }
}

/// An axis with its numbers as values of the graph, all f64.
struct Places<'a> {
    axis: &'a Axis,
    method: &'a Method,
    n: ValueId,
    out: ValueId,
    scale: ValueId,
    /// The extent that the scale says, which need not be whole.
    length: ValueId,
    /// The number of the last element.
    last: ValueId,
}

impl<'a> Places<'a> {
    fn new(b: &mut Builder, axis: &'a Axis, method: &'a Method) -> Result<Self, OpError> {
        let (n, out) = (index_value(b, DType::F64, &axis.extent)?, index_value(b, DType::F64, &axis.out)?);
        let (scale, length) = match axis.scale {
            Scale::Known(scale) => (b.scalar(Scalar::float(DType::F64, scale)), scaled(b, &axis.extent, scale)?),
            Scale::Quotient => (div(b, out, n)?, out),
        };
        let last = index_value(b, DType::F64, &axis.last())?;
        Ok(Places { axis, method, n, out, scale, length, last })
    }

    /// `value` where the length of the result is 1, else `other`.
    fn unless_one(&self, b: &mut Builder, length: ValueId, value: ValueId, other: ValueId) -> Made {
        let one = b.scalar(Scalar::float(DType::F64, 1.0));
        let is_one = compare(b, CmpOp::Eq, length, one)?;
        select(b, is_one, value, other)
    }

    /// The place in x of each place of the result.
    fn places(&self, b: &mut Builder) -> Made {
        let y = arange(b, DType::F64, &self.axis.out)?;
        let (length, last) = (self.length, self.last);
        let steps = with(b, BinaryOp::Sub, length, 1.0)?;
        let zeros = with(b, BinaryOp::Mul, y, 0.0)?;
        match self.method.transform {
            Transform::Asymmetric => div(b, y, self.scale),
            Transform::HalfPixel => self.half_pixel(b, y),
            Transform::PytorchHalfPixel => {
                let (usual, middle) = (self.half_pixel(b, y)?, with(b, BinaryOp::Sub, zeros, 0.5)?);
                self.unless_one(b, length, middle, usual)
            }
            Transform::HalfPixelSymmetric => {
                let usual = self.half_pixel(b, y)?;
                let part = div(b, self.out, length)?;
                let one = b.scalar(Scalar::float(DType::F64, 1.0));
                let rest = sub(b, one, part)?;
                let half = with(b, BinaryOp::Div, self.n, 2.0)?;
                let moved = mul(b, half, rest)?;
                add(b, usual, moved)
            }
            Transform::AlignCorners => {
                let far = mul(b, y, last)?;
                let usual = div(b, far, steps)?;
                self.unless_one(b, length, zeros, usual)
            }
            Transform::TfCropAndResize => {
                let (start, end) = self.axis.roi;
                let wide = scaled(b, &self.axis.last(), end - start)?;
                let far = mul(b, y, wide)?;
                let usual = div(b, far, steps)?;
                let middle = with(b, BinaryOp::Div, wide, 2.0)?;
                let middle = add(b, zeros, middle)?;
                let inner = self.unless_one(b, length, middle, usual)?;
                let begin = scaled(b, &self.axis.last(), start)?;
                add(b, inner, begin)
            }
        }
    }

    fn half_pixel(&self, b: &mut Builder, y: ValueId) -> Made {
        let moved = with(b, BinaryOp::Add, y, 0.5)?;
        let place = div(b, moved, self.scale)?;
        with(b, BinaryOp::Sub, place, 0.5)
    }

    /// The number of the element nearest to each place.
    fn nearest(&self, b: &mut Builder, x: ValueId) -> Made {
        let floor = unary(b, UnaryOp::Floor, x)?;
        let part = sub(b, x, floor)?;
        let (half, next) = (b.scalar(Scalar::float(DType::F64, 0.5)), with(b, BinaryOp::Add, floor, 1.0)?);
        match self.method.nearest {
            Nearest::RoundPreferFloor => {
                let up = compare(b, CmpOp::Gt, part, half)?;
                select(b, up, next, floor)
            }
            Nearest::RoundPreferCeil => {
                let up = compare(b, CmpOp::Ge, part, half)?;
                select(b, up, next, floor)
            }
            Nearest::Floor => Ok(floor),
            Nearest::Ceil => unary(b, UnaryOp::Ceil, x),
        }
    }

    /// The numbers of the neighbours of each place, and their weights.
    fn taps(&self, b: &mut Builder, x: ValueId) -> Result<Vec<(ValueId, ValueId)>, OpError> {
        let floor = unary(b, UnaryOp::Floor, x)?;
        let part = sub(b, x, floor)?;
        let (reach, scale) = (if self.method.mode == Mode::Cubic { 2.0 } else { 1.0 }, self.shrinking()?);
        let first = (-reach / scale).floor() as i64 + 1;
        if first < -LIMIT_OF_TAPS {
            return Err(attr_error("antialias", "the result is too small for its neighbours to be blended"));
        }
        let mut taps = Vec::new();
        for i in first..2 - first {
            let at = with(b, BinaryOp::Add, floor, i as f64)?;
            let far = with(b, BinaryOp::Sub, part, i as f64)?;
            let far = unary(b, UnaryOp::Abs, far)?;
            let far = if scale == 1.0 { far } else { with(b, BinaryOp::Mul, far, scale)? };
            let mut weight = self.weight(b, far)?;
            if self.method.exclude_outside {
                let inside = self.inside(b, at)?;
                let zero = b.scalar(Scalar::float(DType::F64, 0.0));
                weight = select(b, inside, weight, zero)?;
            }
            taps.push((at, weight));
        }
        if scale != 1.0 || self.method.exclude_outside {
            taps = normalised(b, taps)?;
        }
        Ok(taps)
    }

    /// By how much the blending reaches further where the result is smaller.
    fn shrinking(&self) -> Result<f64, OpError> {
        if !self.method.antialias {
            return Ok(1.0);
        }
        let known = match self.axis.scale {
            Scale::Known(scale) => Some(scale),
            Scale::Quotient => match (dim::as_int(&self.axis.out), dim::as_int(&self.axis.extent)) {
                (Some(out), Some(n)) => Some(out as f64 / n as f64),
                _ => None,
            },
        };
        match known {
            Some(scale) if scale > 0.0 => Ok(scale.min(1.0)),
            Some(_) => Ok(1.0),
            None => {
                let text =
                    format!("the reach of `antialias` depends on `{}` and `{}`", self.axis.out, self.axis.extent);
                Err(attr_error("antialias", text).help("fix the dims, or write `scales`"))
            }
        }
    }

    /// The weight of a neighbour that is that far away.
    fn weight(&self, b: &mut Builder, far: ValueId) -> Made {
        let (zero, one) = (b.scalar(Scalar::float(DType::F64, 0.0)), b.scalar(Scalar::float(DType::F64, 1.0)));
        if self.method.mode != Mode::Cubic {
            let left = sub(b, one, far)?;
            return binary(b, BinaryOp::Max, left, zero);
        }
        let a = self.method.cubic;
        let near = polynomial(b, far, &[a + 2.0, -(a + 3.0), 0.0, 1.0])?;
        let wide = polynomial(b, far, &[a, -5.0 * a, 8.0 * a, -4.0 * a])?;
        let two = b.scalar(Scalar::float(DType::F64, 2.0));
        let (is_near, is_wide) = (compare(b, CmpOp::Le, far, one)?, compare(b, CmpOp::Lt, far, two)?);
        let outer = select(b, is_wide, wide, zero)?;
        select(b, is_near, near, outer)
    }

    /// Whether a number is that of an element.
    fn inside(&self, b: &mut Builder, at: ValueId) -> Made {
        let zero = b.scalar(Scalar::float(DType::F64, 0.0));
        let (low, high) = (compare(b, CmpOp::Ge, at, zero)?, compare(b, CmpOp::Lt, at, self.n)?);
        binary(b, BinaryOp::And, low, high)
    }

    /// Numbers as indices, those outside as the nearest inside.
    fn indices(&self, b: &mut Builder, at: ValueId) -> Made {
        let zero = b.scalar(Scalar::float(DType::F64, 0.0));
        let at = binary(b, BinaryOp::Min, at, self.last)?;
        let at = binary(b, BinaryOp::Max, at, zero)?;
        cast(b, DType::I64, at)
    }
}

/// `((c₀ x + c₁) x + c₂) x + …`.
fn polynomial(b: &mut Builder, x: ValueId, coefficients: &[f64]) -> Made {
    let mut sum = with(b, BinaryOp::Mul, x, coefficients[0])?;
    for (i, coefficient) in coefficients.iter().enumerate().skip(1) {
        sum = with(b, BinaryOp::Add, sum, *coefficient)?;
        if i + 1 < coefficients.len() {
            sum = mul(b, sum, x)?;
        }
    }
    Ok(sum)
}

/// Weights divided by their sum, where it is not 0.
fn normalised(b: &mut Builder, taps: Vec<(ValueId, ValueId)>) -> Result<Vec<(ValueId, ValueId)>, OpError> {
    let mut total = None;
    for (_, weight) in &taps {
        total = Some(total.map_or(Ok(*weight), |before| add(b, before, *weight))?);
    }
    let Some(total) = total else { return Ok(taps) };
    let (zero, one) = (b.scalar(Scalar::float(DType::F64, 0.0)), b.scalar(Scalar::float(DType::F64, 1.0)));
    let none = compare(b, CmpOp::Eq, total, zero)?;
    let total = select(b, none, one, total)?;
    taps.into_iter().map(|(at, weight)| Ok((at, div(b, weight, total)?))).collect()
}

/// A vector along an axis of a tensor of that rank.
fn along(b: &mut Builder, vector: ValueId, axis: usize, rank: usize) -> Made {
    let mut shape = vec![dim::int(1); rank];
    shape[axis] = b.tensor(vector).shape[0].clone();
    reshape(b, vector, &shape)
}

fn take(b: &mut Builder, x: ValueId, at: ValueId, axis: usize) -> Made {
    call_of(b, "take", &[x, at], &[("axis", AttrValue::Int(dim::int(axis as i64)))])
}

fn resized(b: &mut Builder, x: ValueId, axis: &Axis, method: &Method) -> Made {
    let of = Places::new(b, axis, method)?;
    let places = of.places(b)?;
    let mut y = if method.mode == Mode::Nearest {
        let nearest = of.nearest(b, places)?;
        let at = of.indices(b, nearest)?;
        take(b, x, at, axis.axis)?
    } else {
        let taps = of.taps(b, places)?;
        blended(b, x, &of, &taps)?
    };
    if method.transform == Transform::TfCropAndResize {
        let rank = b.tensor(x).shape.len();
        let zero = b.scalar(Scalar::float(DType::F64, 0.0));
        let (low, high) = (compare(b, CmpOp::Lt, places, zero)?, compare(b, CmpOp::Gt, places, of.last)?);
        let outside = binary(b, BinaryOp::Or, low, high)?;
        let outside = along(b, outside, axis.axis, rank)?;
        let value = b.scalar(Scalar::float(b.tensor(y).dtype, method.extrapolation));
        y = select(b, outside, value, y)?;
    }
    Ok(y)
}

/// The weighed sum of neighbours along an axis.
fn blended(b: &mut Builder, x: ValueId, of: &Places<'_>, taps: &[(ValueId, ValueId)]) -> Made {
    let (axis, dtype, rank) = (of.axis.axis, b.tensor(x).dtype, b.tensor(x).shape.len());
    if taps.len() > MOST_TAPS {
        return product(b, x, of, taps);
    }
    let mut sum = None;
    for (at, weight) in taps {
        let at = of.indices(b, *at)?;
        let part = take(b, x, at, axis)?;
        let weight = cast(b, dtype, *weight)?;
        let weight = along(b, weight, axis, rank)?;
        let part = mul(b, part, weight)?;
        sum = Some(sum.map_or(Ok(part), |before| add(b, before, part))?);
    }
    Ok(sum.unwrap_or(x))
}

/// The axis as the last one times a matrix of weights.
fn product(b: &mut Builder, x: ValueId, of: &Places<'_>, taps: &[(ValueId, ValueId)]) -> Made {
    let (n, out) = (&of.axis.extent, &of.axis.out);
    let rows = arange(b, DType::I64, n)?;
    let rows = reshape(b, rows, &[n.clone(), dim::int(1)])?;
    let zero = b.scalar(Scalar::float(DType::F64, 0.0));
    let mut matrix = None;
    for (at, weight) in taps {
        let at = of.indices(b, *at)?;
        let at = reshape(b, at, &[dim::int(1), out.clone()])?;
        let own = compare(b, CmpOp::Eq, rows, at)?;
        let weight = reshape(b, *weight, &[dim::int(1), out.clone()])?;
        let part = select(b, own, weight, zero)?;
        matrix = Some(matrix.map_or(Ok(part), |before| add(b, before, part))?);
    }
    let Some(matrix) = matrix else { return Ok(x) };
    let ty = b.tensor(x).clone();
    let matrix = cast(b, ty.dtype, matrix)?;
    let mut perm: Vec<usize> = (0..ty.shape.len()).collect();
    perm.swap(of.axis.axis, ty.shape.len() - 1);
    let turned = transpose(b, x, &perm)?;
    let y = b.emit(Op::MatMul, &[turned, matrix])?;
    transpose(b, y, &perm)
}

/// The axes that sizes, scales and `roi` are about.
fn named_axes(call: &OpCall, ty: &TensorType) -> Result<Vec<usize>, OpError> {
    Ok(super::call::axes_attr(call, "axes", ty, 0)?.unwrap_or_else(|| (0..ty.shape.len()).collect()))
}

/// The axes with their extents, from sizes or scales.
fn axes_of(b: &Builder, call: &OpCall, ty: &TensorType) -> Result<Vec<Axis>, OpError> {
    let named = named_axes(call, ty)?;
    let count = named.len();
    let roi = floats_attr(call, "roi")?.unwrap_or_default();
    if !roi.is_empty() && roi.len() != 2 * count {
        let message = format!("expected {} numbers for `roi`, found {}", 2 * count, roi.len());
        return Err(attr_error("roi", message));
    }
    let rows = match (call.args.len() > 1, floats_attr(call, "scales")?) {
        (true, None) => by_sizes(b, call, ty, &named)?,
        (false, Some(scales)) => by_scales(ty, &named, &scales)?,
        (true, Some(_)) => {
            return Err(attr_error("scales", "expected a shape or `scales`, found both").help("leave one of them out"));
        }
        (false, None) => {
            return Err(
                super::call::missing("scales", "[1.0, 1.0, 2.0, 2.0]").help("write the shape, or `scales = […]`")
            );
        }
    };
    let row = |(i, (out, scale)): (usize, (IntExpr, Scale))| Axis {
        axis: named[i],
        extent: ty.shape[named[i]].clone(),
        out,
        scale,
        roi: (roi.get(i).copied().unwrap_or(0.0), roi.get(i + count).copied().unwrap_or(1.0)),
    };
    Ok(rows.into_iter().enumerate().map(row).collect())
}

type Row = (IntExpr, Scale);

fn by_scales(ty: &TensorType, named: &[usize], scales: &[f64]) -> Result<Vec<Row>, OpError> {
    if scales.len() != named.len() {
        let message = format!("expected {} numbers for `scales`, found {}", named.len(), scales.len());
        return Err(attr_error("scales", message));
    }
    let row = |(axis, scale): (&usize, &f64)| {
        let extent = &ty.shape[*axis];
        let out = match dim::as_int(extent) {
            _ if !(*scale > 0.0 && *scale < 1e9) => None,
            Some(n) => Some((scale * n as f64).floor()).filter(|n| *n < 1e9).map(|n| dim::int(n as i64)),
            None => longer(extent, *scale),
        };
        let out = out.ok_or_else(|| {
            let message = format!(
                "expected a factor above 0, and for a dim without a value a multiple of 1/{MOST_PARTS}, found {scale}"
            );
            attr_error("scales", message).help("write the shape of the result in place of `scales`")
        })?;
        Ok((out, Scale::Known(*scale)))
    };
    named.iter().zip(scales).map(row).collect()
}

/// An extent times a factor, rounded down. It is what floats give where the factor is a fraction that they hold exactly.
fn longer(extent: &IntExpr, scale: f64) -> Option<IntExpr> {
    let parts = (0..=MOST_PARTS.ilog2()).map(|n| 1i64 << n).find(|parts| (scale * *parts as f64).fract() == 0.0)?;
    Some((extent * &dim::int((scale * parts as f64) as i64)).floor_div(&dim::int(parts)))
}

fn by_sizes(b: &Builder, call: &OpCall, ty: &TensorType, named: &[usize]) -> Result<Vec<Row>, OpError> {
    let sizes = shape(b, call, 1)?;
    if sizes.len() != named.len() {
        let message = format!("expected {} extents, found {}", named.len(), sizes.len());
        return Err(
            OpError::new(At::Arg(1), OpErrorKind::Rank, message).help("write one for each axis, or name `axes`")
        );
    }
    let policy = word_attr(call, "keep_aspect_ratio_policy", &["stretch", "not_larger", "not_smaller"])?;
    if policy == 0 {
        return Ok(sizes.into_iter().map(|size| (size, Scale::Quotient)).collect());
    }
    let pairs = sizes.iter().zip(named).map(|(size, axis)| Some((dim::as_int(size)?, dim::as_int(&ty.shape[*axis])?)));
    let pairs: Option<Vec<(i64, i64)>> = pairs.collect();
    let Some(pairs) = pairs.filter(|pairs| pairs.iter().all(|(_, n)| *n > 0)) else {
        let message = format!("one factor for all axes needs extents that are known, found `{}`", show_tensor(ty));
        return Err(attr_error("keep_aspect_ratio_policy", message).help("fix the dims"));
    };
    let factors = pairs.iter().map(|(size, n)| *size as f64 / *n as f64);
    let scale = factors.reduce(if policy == 1 { f64::min } else { f64::max }).unwrap_or(1.0);
    let out = |n: i64| dim::int((scale * n as f64 + 0.5).floor() as i64);
    Ok(pairs.into_iter().map(|(_, n)| (out(n), Scale::Known(scale))).collect())
}

fn resize(b: &mut Builder, call: &OpCall) -> Made {
    let (x, ty) = tensor(b, call, 0)?;
    let method = Method::of(call)?;
    if method.mode != Mode::Nearest {
        numbers(0, &ty)?;
    }
    let axes = axes_of(b, call, &ty)?;
    let wide = match ty.dtype {
        own if method.mode == Mode::Nearest || own == DType::F64 => own,
        _ => DType::F32,
    };
    let y = cast(b, wide, x)?;
    let (mut y, rest) = repeat::repeated(b, y, axes, &method)?;
    for axis in rest {
        let same = match axis.scale {
            Scale::Known(scale) => (scale - 1.0).abs() < 1e-9 && axis.extent == axis.out,
            Scale::Quotient => dim::equal(&b.prover, &axis.extent, &axis.out),
        };
        if !same || method.transform == Transform::TfCropAndResize {
            not_empty(b, 0, &ty, &axis.extent)?;
            y = resized(b, y, &axis, &method)?;
        }
    }
    cast(b, ty.dtype, y)
}

/// Places from -1 to 1 along an axis.
fn unit_places(b: &mut Builder, extent: &IntExpr, corners: bool) -> Made {
    let i = arange(b, DType::F64, extent)?;
    let n = index_value(b, DType::F64, extent)?;
    if !corners {
        let twice = with(b, BinaryOp::Mul, i, 2.0)?;
        let middle = with(b, BinaryOp::Add, twice, 1.0)?;
        let place = div(b, middle, n)?;
        return with(b, BinaryOp::Sub, place, 1.0);
    }
    let (last, one) = (with(b, BinaryOp::Sub, n, 1.0)?, b.scalar(Scalar::float(DType::F64, 1.0)));
    let steps = binary(b, BinaryOp::Max, last, one)?;
    let place = with(b, BinaryOp::Mul, i, 2.0)?;
    let place = div(b, place, steps)?;
    let place = with(b, BinaryOp::Sub, place, 1.0)?;
    let (alone, zero) = (compare(b, CmpOp::Le, n, one)?, b.scalar(Scalar::float(DType::F64, 0.0)));
    select(b, alone, zero, place)
}

/// `theta · (x, y, 1)` for every place of a grid.
fn affine_grid(b: &mut Builder, call: &OpCall) -> Made {
    let (theta, ty) = tensor(b, call, 0)?;
    floats(0, &ty)?;
    rank(0, &ty, 3)?;
    let size = shape(b, call, 1)?;
    let spatial = match size.as_slice() {
        [_, _, spatial @ ..] if (2..=3).contains(&spatial.len()) => spatial.to_vec(),
        _ => {
            let error =
                OpError::new(At::Arg(1), OpErrorKind::Rank, format!("expected 4 or 5 extents, found {}", size.len()));
            return Err(error.help("write `[N, C, H, W]` or `[N, C, D, H, W]`"));
        }
    };
    let n = spatial.len();
    super::check::shape(b, 0, &ty, &[size[0].clone(), dim::int(n as i64), dim::int(n as i64 + 1)])?;
    let corners = bool_attr(call, "align_corners", false)?;
    let mut columns = Vec::new();
    for axis in (0..n).rev() {
        let places = unit_places(b, &spatial[axis], corners)?;
        columns.push(along(b, places, axis, n)?);
    }
    let one = b.scalar(Scalar::float(DType::F64, 1.0));
    columns.push(reshape(b, one, &vec![dim::int(1); n])?);
    let whole = [&spatial[..], &[dim::int(1)]].concat();
    let mut parts = Vec::new();
    for column in columns {
        let wide = b.emit(Op::BroadcastTo { shape: spatial.clone() }, &[column])?;
        parts.push(reshape(b, wide, &whole)?);
    }
    let grid = b.emit(Op::Concat { axis: n }, &parts)?;
    let grid = cast(b, ty.dtype, grid)?;
    let grid = reshape(b, grid, &[dim::product(&spatial), dim::int(n as i64 + 1)])?;
    let turned = transpose(b, theta, &[0, 2, 1])?;
    let y = b.emit(Op::MatMul, &[grid, turned])?;
    reshape(b, y, &[&size[..1], &spatial, &[dim::int(n as i64)]].concat())
}

pub(super) static TABLE: &[OpDef] = &[
    graph!(
        "resize",
        "Resize",
        "x, shape?",
        (1, 2),
        &[
            AttrDef { name: "scales", ty: "list of floats", doc: "a factor per axis, in place of the shape" },
            AttrDef { name: "axes", ty: "list = all", doc: "the axes that the shape, `scales` and `roi` are about" },
            AttrDef {
                name: "mode",
                ty: "\"nearest\" | \"linear\" | \"cubic\" = \"nearest\"",
                doc: "how elements are blended, axis by axis"
            },
            AttrDef {
                name: "coordinate_transformation_mode",
                ty: "\"half_pixel\" | \"half_pixel_symmetric\" | \"pytorch_half_pixel\" | \"align_corners\" | \"asymmetric\" | \"tf_crop_and_resize\" = \"half_pixel\"",
                doc: "how a place of the result becomes one of x"
            },
            AttrDef {
                name: "nearest_mode",
                ty: "\"round_prefer_floor\" | \"round_prefer_ceil\" | \"floor\" | \"ceil\" = \"round_prefer_floor\"",
                doc: "which element is the nearest"
            },
            AttrDef { name: "cubic_coeff_a", ty: "float = -0.75", doc: "the coefficient of cubic blending" },
            AttrDef {
                name: "antialias",
                ty: "bool = false",
                doc: "whether blending reaches further where the result is smaller"
            },
            AttrDef {
                name: "exclude_outside",
                ty: "bool = false",
                doc: "whether neighbours outside x weigh nothing; else they are the nearest inside"
            },
            AttrDef {
                name: "extrapolation_value",
                ty: "float = 0.0",
                doc: "what lies outside the region of tf_crop_and_resize"
            },
            AttrDef {
                name: "roi",
                ty: "list of floats = all of x",
                doc: "the region of tf_crop_and_resize: where each axis begins, then where each ends, from 0 to 1"
            },
            AttrDef {
                name: "keep_aspect_ratio_policy",
                ty: "\"stretch\" | \"not_larger\" | \"not_smaller\" = \"stretch\"",
                doc: "whether all axes take the least or the greatest of the factors that the shape says"
            },
        ],
        resize,
        "x with other extents, its elements blended axis by axis. Places and weights are computed in f64, halves and integers are blended in f32; an axis that changes has an element at least."
    ),
    graph!(
        "affine_grid",
        "AffineGrid",
        "theta, shape",
        2,
        &[AttrDef {
            name: "align_corners",
            ty: "bool = false",
            doc: "whether -1 and 1 are the middles of the outermost elements"
        }],
        affine_grid,
        "The grid for grid_sample that a matrix per batch [N, d, d + 1] makes of places from -1 to 1; the shape is that of the image, [N, C, H, W] or [N, C, D, H, W]."
    ),
];
