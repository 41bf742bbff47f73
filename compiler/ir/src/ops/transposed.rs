//! Convolutions beyond `conv`: transposed and deformable ones, and the sum of overlapping blocks.

use super::call::{int_attr, ints_attr, optional, shape, tensor, values, word_attr};
use super::check::{attr_error, floats, not_empty, numbers, rank, rank_at_least, same_dtype};
use super::compose::{flip, part, reshape, transpose, working};
use super::error::{At, OpError, OpErrorKind, show_tensor};
use super::gather::at_or_zero;
use super::kernel::{Ex, Kernel};
use super::nn::{AUTO_PAD, DILATIONS, GROUP, PADS, STRIDES, kernel_of, plain_window, window};
use super::phases;
use super::vision::{Tap, blend, kept};
use super::{AttrDef, OpCall, OpDef};
use crate::arith::IntExpr;
use crate::op::UnaryOp;
use crate::relax::{Builder, ConvLayout, Op, PadMode, SliceAxis, TensorType, ValueId, Window, dim};
use crate::{DType, Scalar};

pub(super) type Made = Result<ValueId, OpError>;

/// How far the last element of a window is from the first.
fn reach(w: &Window, i: usize) -> i64 {
    (w.kernel[i] - 1).saturating_mul(w.dilations[i])
}

/// An error unless lists of attributes have an entry per spatial axis.
fn check_window(w: &Window) -> Result<(), OpError> {
    let n = w.kernel.len();
    let wrong = |name: &str, list: &[i64], count: usize, least: i64| {
        let fine = list.len() == count && list.iter().all(|v| (least..1 << 31).contains(v));
        let message = format!("expected {count} numbers from {least} on for `{name}`, found {list:?}");
        if fine { Ok(()) } else { Err(attr_error(name, message)) }
    };
    wrong("kernel_shape", &w.kernel, n, 1)?;
    wrong("strides", &w.strides, n, 1)?;
    wrong("dilations", &w.dilations, n, 1)?;
    wrong("pads", &w.pads, 2 * n, 0)
}

/// A transposed convolution: what is asked for.
pub(super) struct Transposed {
    pub window: Window,
    /// Elements added behind.
    pub extra: Vec<i64>,
    pub group: i64,
    /// Spatial extents of x.
    pub spatial: Vec<IntExpr>,
    /// Channels of a group, of x and of the result.
    pub channels: [IntExpr; 2],
}

impl Transposed {
    fn of(b: &Builder, call: &OpCall, x: &TensorType, w: &TensorType) -> Result<Transposed, OpError> {
        let spatial = x.shape[2..].to_vec();
        let n = spatial.len();
        let mut window = plain_window(call, kernel_of(w)?)?;
        check_window(&window)?;
        let extra = ints_attr(call, "output_padding")?.unwrap_or_else(|| vec![0; n]);
        if extra.len() != n || extra.iter().any(|e| !(0..1 << 31).contains(e)) {
            return Err(attr_error("output_padding", format!("expected {n} numbers from 0 on, found {extra:?}")));
        }
        let group = int_attr(call, "group")?.unwrap_or(1);
        let channels = &w.shape[0];
        let even = group >= 1 && dim::equal(&b.prover, &(dim::div_floor(channels, group) * dim::int(group)), channels);
        if !even {
            return Err(attr_error("group", format!("{group} groups are not proven to divide `{channels}` channels")));
        }
        let channels = [dim::div_floor(channels, group), w.shape[1].clone()];
        let mut of = Transposed { window: window.clone(), extra, group, spatial, channels };
        if let Some(total) = of.total_pads(call)? {
            let upper = word_attr(call, "auto_pad", AUTO_PADS)? == 1;
            for (i, total) in total.into_iter().enumerate() {
                let half = total.div_euclid(2);
                (window.pads[i], window.pads[i + n]) = if upper { (half, total - half) } else { (total - half, half) };
            }
            of.window = window;
        }
        Ok(of)
    }

    /// The padding of each axis in all, where it follows from the extents that are asked for; it may be below 0.
    fn total_pads(&self, call: &OpCall) -> Result<Option<Vec<i64>>, OpError> {
        let (n, w) = (self.spatial.len(), &self.window);
        let behind = |i: usize| self.extra[i] + reach(w, i) + 1;
        let Some(wanted) = ints_attr(call, "output_shape")? else {
            return Ok(match word_attr(call, "auto_pad", AUTO_PADS)? {
                0 => None,
                3 => Some(vec![0; n]),
                // as many elements as x has steps
                _ => Some((0..n).map(|i| behind(i) - w.strides[i]).collect()),
            });
        };
        let wanted = wanted.get(wanted.len().saturating_sub(n)..).filter(|wanted| wanted.len() == n);
        let wanted = wanted.ok_or_else(|| attr_error("output_shape", format!("expected {n} spatial extents")))?;
        let total = |i: usize| {
            let last = (&self.spatial[i] - &dim::int(1)) * dim::int(w.strides[i]);
            dim::as_int(&(last + dim::int(behind(i) - wanted[i]))).ok_or_else(|| {
                let message = format!("the padding for `output_shape` depends on `{}`", self.spatial[i]);
                attr_error("output_shape", message).help("fix the dim, or write `pads`")
            })
        };
        (0..n).map(total).collect::<Result<Vec<_>, _>>().map(Some)
    }

    /// Whether each channel of x makes one of the result.
    pub(super) fn is_depthwise(&self) -> bool {
        self.channels.iter().all(|channels| channels.as_const() == Some(1))
    }

    /// x with zeros between its elements and around them, so that a plain convolution gives the result.
    fn spread(&self, b: &mut Builder, x: ValueId) -> Made {
        let (n, w) = (self.spatial.len(), &self.window);
        let y = self.apart(b, x)?;
        let whole = |extent: &IntExpr| SliceAxis { begin: dim::int(0), extent: extent.clone(), step: 1 };
        let mut crop: Vec<SliceAxis> = b.tensor(y).shape.iter().map(whole).collect();
        let (mut before, mut after) = (vec![dim::int(0); 2], vec![dim::int(0); 2]);
        for i in 0..n {
            let (front, back) = (reach(w, i) - w.pads[i], reach(w, i) - w.pads[i + n] + self.extra[i]);
            before.push(dim::int(front.max(0)));
            after.push(dim::int(back.max(0)));
            // Padding beyond the kernel's reach takes elements away.
            crop[i + 2].begin = dim::int(-front.min(0));
            crop[i + 2].extent = &crop[i + 2].extent + &dim::int(front.min(0) + back.min(0));
            if !dim::at_most(&b.prover, &dim::int(0), &crop[i + 2].extent) {
                let message = format!("the padding is not proven to leave an element of `{}`", self.spatial[i]);
                return Err(OpError::new(At::Call, OpErrorKind::Range, message).help("pad less"));
            }
        }
        let y = b.emit(Op::Slice { axes: crop, drop: Vec::new() }, &[y])?;
        let zero = b.scalar(Scalar::zero(b.tensor(x).dtype));
        b.emit(Op::Pad { mode: PadMode::Constant, before, after }, &[y, zero])
    }

    /// Zeros between the elements of the spatial axes.
    fn apart(&self, b: &mut Builder, x: ValueId) -> Made {
        let ty = b.tensor(x).clone();
        if self.window.strides.iter().all(|s| *s == 1) {
            return Ok(x);
        }
        let mut split = ty.shape[..2].to_vec();
        let (mut after, mut wide) = (vec![dim::int(0); 2], split.clone());
        for (extent, stride) in self.spatial.iter().zip(&self.window.strides) {
            not_empty(b, 0, &ty, extent)?;
            split.extend([extent.clone(), dim::int(1)]);
            after.extend([dim::int(0), dim::int(stride - 1)]);
            wide.push(extent * &dim::int(*stride));
        }
        let before = vec![dim::int(0); after.len()];
        let zero = b.scalar(Scalar::zero(ty.dtype));
        let y = reshape(b, x, &split)?;
        let y = b.emit(Op::Pad { mode: PadMode::Constant, before, after }, &[y, zero])?;
        let mut y = reshape(b, y, &wide)?;
        for (i, (extent, stride)) in self.spatial.iter().zip(&self.window.strides).enumerate() {
            // The zeros behind the last element are no part of it.
            let last = (extent - &dim::int(1)) * dim::int(*stride) + dim::int(1);
            y = part(b, y, i + 2, &dim::int(0), &last)?;
        }
        Ok(y)
    }

    /// `[C, M / group, kernel…]` as `[M, C / group, kernel…]`, spatial axes turned round.
    fn turned(&self, b: &mut Builder, w: ValueId) -> Made {
        let ty = b.tensor(w).clone();
        let mut flipped = w;
        for axis in 2..ty.shape.len() {
            flipped = flip(b, flipped, axis)?;
        }
        let (c, m, group) = (dim::div_floor(&ty.shape[0], self.group), ty.shape[1].clone(), dim::int(self.group));
        let grouped = reshape(b, flipped, &[&[group.clone(), c.clone(), m.clone()], &ty.shape[2..]].concat())?;
        let mut perm: Vec<usize> = (0..ty.shape.len() + 1).collect();
        perm.swap(1, 2);
        let swapped = transpose(b, grouped, &perm)?;
        reshape(b, swapped, &[&[group * m, c], &ty.shape[2..]].concat())
    }
}

/// Convolutions of x for each phase of the steps, or one of x with zeros between its elements, the kernel turned round.
fn conv_transpose(b: &mut Builder, call: &OpCall) -> Made {
    let args = values(b, call, 0)?;
    let (x, w) = (b.tensor(args[0]).clone(), b.tensor(args[1]).clone());
    numbers(0, &x)?;
    rank_at_least(0, &x, 3)?;
    same_dtype(1, &w, &x)?;
    rank(1, &w, x.shape.len())?;
    super::check::extent(b, 1, &w, 0, &x.shape[1])?;
    let of = Transposed::of(b, call, &x, &w)?;
    if phases::has_phases(&of) {
        of.spatial.iter().try_for_each(|extent| not_empty(b, 0, &x, extent))?;
        return phases::conv(b, &of, &args);
    }
    let (spread, kernel) = (of.spread(b, args[0])?, of.turned(b, args[1])?);
    let n = of.spatial.len();
    let Window { kernel: extents, dilations, .. } = of.window;
    let window = Window { kernel: extents, strides: vec![1; n], pads: vec![0; 2 * n], dilations };
    let args: Vec<ValueId> = [spread, kernel].into_iter().chain(args.get(2).copied()).collect();
    b.emit(Op::Conv { window, group: of.group, layout: ConvLayout::default() }, &args)
}

/// The operands and extents of a deformable convolution.
struct Deformed {
    window: Window,
    group: i64,
    offset_group: i64,
    /// `[N, M, out…]`.
    result: Vec<IntExpr>,
}

impl Deformed {
    fn of(
        b: &Builder,
        call: &OpCall,
        types: &[TensorType],
        bias: Option<&TensorType>,
        mask: Option<&TensorType>,
    ) -> Result<Deformed, OpError> {
        let (x, w, offset) = (&types[0], &types[1], &types[2]);
        let n = x.shape.len() - 2;
        let window = window(call, &x.shape[2..], kernel_of(w)?)?;
        check_window(&window)?;
        let group = int_attr(call, "group")?.unwrap_or(1);
        let offset_group = int_attr(call, "offset_group")?.unwrap_or(1);
        for (name, groups) in [("group", group), ("offset_group", offset_group)] {
            let parts = dim::div_floor(&x.shape[1], groups.max(1));
            if groups < 1 || !dim::equal(&b.prover, &(parts * dim::int(groups)), &x.shape[1]) {
                let message = format!("{groups} groups are not proven to divide `{}` channels", x.shape[1]);
                return Err(attr_error(name, message));
            }
        }
        super::check::extent(b, 1, w, 1, &dim::div_floor(&x.shape[1], group))?;
        let out = |i: usize| {
            let padded = &x.shape[i + 2] + &dim::int(window.pads[i] + window.pads[i + n] - reach(&window, i) - 1);
            dim::div_floor(&padded, window.strides[i]) + dim::int(1)
        };
        let spatial: Vec<IntExpr> = (0..n).map(out).collect();
        let points = window.kernel.iter().product::<i64>().saturating_mul(offset_group);
        let places = |count: i64| [&[x.shape[0].clone(), dim::int(count)], &spatial[..]].concat();
        super::check::shape(b, 2, offset, &places(points.saturating_mul(n as i64)))?;
        if let Some(bias) = bias {
            same_dtype(3, bias, x)?;
            super::check::shape(b, 3, bias, &w.shape[..1])?;
        }
        if let Some(mask) = mask {
            same_dtype(4, mask, x)?;
            super::check::shape(b, 4, mask, &places(points))?;
        }
        let result = [&[x.shape[0].clone(), w.shape[0].clone()], &spatial[..]].concat();
        Ok(Deformed { window, group, offset_group, result })
    }
}

/// A convolution whose elements are taken beside their places, by offsets that are data.
fn deform_conv(b: &mut Builder, call: &OpCall) -> Made {
    let args = [tensor(b, call, 0)?, tensor(b, call, 1)?, tensor(b, call, 2)?];
    let (bias, mask) = (optional(b, call, 3)?, optional(b, call, 4)?);
    let types = args.each_ref().map(|(_, ty)| ty.clone());
    let x = &types[0];
    floats(0, x)?;
    rank_at_least(0, x, 3)?;
    (1..types.len()).try_for_each(|i| same_dtype(i, &types[i], x))?;
    rank(1, &types[1], x.shape.len())?;
    rank(2, &types[2], x.shape.len())?;
    x.shape[2..].iter().try_for_each(|extent| not_empty(b, 0, x, extent))?;
    let of = Deformed::of(b, call, &types, bias.as_ref().map(|(_, ty)| ty), mask.as_ref().map(|(_, ty)| ty))?;
    let (n, wide) = (x.shape.len() - 2, working(x.dtype));
    let points: i64 = of.window.kernel.iter().product();
    let k = Kernel::new(b, "deform_conv");
    let [from, weights, offsets] = args.each_ref().map(|(arg, _)| k.input(b, *arg));
    let [bias, mask] = [bias, mask].map(|operand| operand.map(|(value, _)| k.input(b, value)));
    let out = k.output(TensorType { dtype: x.dtype, shape: of.result.clone() });
    k.block("deform_conv", &out.shape(), |at| {
        let start = bias.map_or(k.lit(wide, 0.0), |bias| bias.at(&[at[1]]).cast(wide));
        let sum = k.cell("sum", start);
        let per_group = weights.dim(1);
        let of_group = k.clamped(at[1] * of.group / out.dim(1).max(1), k.int(of.group));
        let kernel: Vec<Ex<'_>> = of.window.kernel.iter().map(|extent| k.int(*extent)).collect();
        k.for_all("k", &[&[per_group][..], &kernel].concat(), |inner| {
            let channel = k.clamped(of_group * per_group + inner[0], from.dim(1));
            let shared = k.clamped(channel * of.offset_group / from.dim(1).max(1), k.int(of.offset_group));
            let point = inner[1..].iter().zip(&of.window.kernel).fold(k.int(0), |p, (i, extent)| p * *extent + *i);
            let point = shared * points + point;
            let taps = (0..n).map(|axis| {
                let base = at[axis + 2] * of.window.strides[axis] + inner[axis + 1] * of.window.dilations[axis];
                let place = k.clamped(point * (n as i64) + axis as i64, offsets.dim(1));
                let moved = offsets.at(&[&[at[0], place], &at[2..]].concat()).cast(wide);
                linear(&k, (base - of.window.pads[axis]).cast(wide) + moved, from.dim(axis + 2), wide)
            });
            let taps: Vec<Vec<Tap<'_>>> = taps.collect();
            let mut value = blend(&k, from, &[at[0], channel], &taps, wide);
            if let Some(mask) = mask {
                let place = k.clamped(point, mask.dim(1));
                value = value * mask.at(&[&[at[0], place], &at[2..]].concat()).cast(wide);
            }
            let weight = weights.at(&[&[at[1]], inner].concat()).cast(wide);
            sum.set(sum.now() + value * weight);
        });
        out.put(at, sum.now().cast(x.dtype));
    });
    k.finish(b)
}

/// The two elements about a place along an axis, zeros outside.
fn linear<'k>(k: &'k Kernel, place: Ex<'k>, extent: Ex<'k>, dtype: DType) -> Vec<Tap<'k>> {
    let place = kept(k, "place", place);
    let (low, length) = (kept(k, "low", place.unary(UnaryOp::Floor)), kept(k, "length", extent.cast(dtype)));
    let part = kept(k, "part", place - low);
    let tap = |at: Ex<'k>, weight: Ex<'k>| {
        let at = kept(k, "at", at);
        let inside = kept(k, "inside", at.ge(0).and(at.lt(length)));
        let index = kept(k, "index", at.cast(DType::I64)).index();
        Tap { at: k.clamped(index, extent), inside: Some(inside), weight: kept(k, "weight", weight) }
    };
    vec![tap(low, k.lit(dtype, 1.0) - part), tap(low + 1, part)]
}

/// Blocks summed into an image where they overlap.
fn col2im(b: &mut Builder, call: &OpCall) -> Made {
    let (x, ty) = tensor(b, call, 0)?;
    numbers(0, &ty)?;
    rank(0, &ty, 3)?;
    let (image, block) = (shape(b, call, 1)?, shape(b, call, 2)?);
    let kernel: Option<Vec<i64>> = block.iter().map(dim::as_int).collect();
    let Some(kernel) = kernel.filter(|kernel| kernel.len() == image.len() && !kernel.is_empty()) else {
        let message = format!("expected {} constants as the extents of a block", image.len());
        return Err(OpError::new(At::Arg(2), OpErrorKind::Dims, message));
    };
    let window = plain_window(call, kernel)?;
    check_window(&window)?;
    let (n, size) = (image.len(), window.kernel.iter().product::<i64>());
    let channels = dim::div_floor(&ty.shape[1], size);
    if !dim::equal(&b.prover, &(&channels * &dim::int(size)), &ty.shape[1]) {
        let message = format!("axis 1 of `{}` is not proven to be a multiple of {size}", show_tensor(&ty));
        return Err(OpError::new(At::Arg(0), OpErrorKind::Dims, message));
    }
    let turns = |i: usize| {
        let padded = &image[i] + &dim::int(window.pads[i] + window.pads[i + n] - reach(&window, i) - 1);
        dim::div_floor(&padded, window.strides[i]) + dim::int(1)
    };
    let turns: Vec<IntExpr> = (0..n).map(turns).collect();
    super::check::extent(b, 0, &ty, 2, &dim::product(&turns))?;
    let wide = working(ty.dtype);
    let k = Kernel::new(b, "col2im");
    let from = k.input(b, x);
    let out = k.output(TensorType { dtype: ty.dtype, shape: [&[ty.shape[0].clone(), channels], &image[..]].concat() });
    k.block("col2im", &out.shape(), |at| {
        let sum = k.cell("sum", k.scalar(Scalar::zero(wide)));
        let extents: Vec<Ex<'_>> = window.kernel.iter().map(|extent| k.int(*extent)).collect();
        k.for_all("k", &extents, |inner| {
            let moved = |i: usize| at[i + 2] + window.pads[i] - inner[i] * window.dilations[i];
            let turn = |i: usize| k.cell("turn", moved(i).euclid(window.strides[i])).now();
            let turn: Vec<Ex<'_>> = (0..n).map(turn).collect();
            let of_axis = |i: usize| {
                let whole = moved(i).modulo(window.strides[i]).equals(0);
                whole.and(turn[i].ge(0)).and(turn[i].lt(k.dim(&turns[i])))
            };
            let Some(there) = (0..n).map(of_axis).reduce(Ex::and) else { return };
            let within = inner.iter().zip(&window.kernel).fold(k.int(0), |p, (i, extent)| p * *extent + *i);
            let block = turn.iter().zip(&turns).fold(k.int(0), |p, (t, turns)| p * k.dim(turns) + *t);
            let row = k.clamped(at[1] * size + within, from.dim(1));
            let column = k.clamped(k.cell("block", block).now(), from.dim(2));
            k.if_(there, || {
                let value = at_or_zero(b, from, &[at[0], row, column], &[1, 2]).cast(wide);
                sum.set(sum.now() + value);
            });
        });
        out.put(at, sum.now().cast(ty.dtype));
    });
    k.finish(b)
}

/// The words of `auto_pad`.
const AUTO_PADS: &[&str] = super::nn::AUTO_PADS;

pub(super) static TABLE: &[OpDef] = &[
    graph!(
        "conv_transpose",
        "ConvTranspose",
        "x, w, bias?",
        (2, 3),
        &[
            STRIDES,
            PADS,
            DILATIONS,
            GROUP,
            AUTO_PAD,
            AttrDef {
                name: "output_padding",
                ty: "list = all 0",
                doc: "elements added behind each spatial axis of the result"
            },
            AttrDef {
                name: "output_shape",
                ty: "list",
                doc: "spatial extents of the result, from which the padding follows"
            },
        ],
        conv_transpose,
        "Each element of x [N, C, spatial…] times w [C, M / group, kernel…], added up where they overlap: y[n, m, i · stride + k · dilation - pad…] += x[n, c, i…] · w[c, m, k…]. `auto_pad = \"same_…\"` gives extent · stride elements."
    ),
    graph!(
        "deform_conv",
        "DeformConv",
        "x, w, offset, bias?, mask?",
        (3, 5),
        &[
            STRIDES,
            PADS,
            DILATIONS,
            GROUP,
            AUTO_PAD,
            AttrDef { name: "offset_group", ty: "int = 1", doc: "groups of channels with offsets of their own" },
        ],
        deform_conv,
        "A convolution whose elements are taken at places moved by `offset` [N, offset_group · kernel · axes, out…], between elements linearly and with zeros outside, and weighed by `mask` [N, offset_group · kernel, out…]."
    ),
    graph!(
        "col2im",
        "Col2Im",
        "x, image_shape, block_shape",
        3,
        &[STRIDES, PADS, DILATIONS],
        col2im,
        "Blocks [N, C · block, places] added up in an image [N, C, image…] where they overlap: the places of a window that goes over the image, in row-major order."
    ),
];
