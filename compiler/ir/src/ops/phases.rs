//! Transposed convolutions whose steps are larger than one, as plain ones.
//!
//! With steps of s along an axis, results that are s apart are sums over the same elements of the kernel: those of one
//! phase are a convolution of x by every s-th of them. All phases with equally many elements are channels of one
//! convolution (Shi et al., "Real-Time Single Image and Video Super-Resolution Using an Efficient Sub-Pixel Convolutional
//! Neural Network", 2016), and are put beside each other behind it. Nothing is multiplied by zero.

use super::compose::{concat, flip, part, reshape, transpose};
use super::error::{At, OpError, OpErrorKind};
use super::transposed::{Made, Transposed};
use crate::Scalar;
use crate::arith::IntExpr;
use crate::relax::{Builder, ConvLayout, Op, PadMode, ValueId, Window, dim};

/// Phases along an axis that have equally many elements of the kernel.
#[derive(Clone, Copy)]
struct Phases {
    /// The first, and how many.
    first: i64,
    count: i64,
    /// Elements of the kernel that each has.
    taps: i64,
}

/// What happens along an axis.
struct Axis {
    stride: i64,
    kernel: i64,
    phases: Vec<Phases>,
    /// Elements of x that results before the first one of its first phase would be made of, beyond the taps.
    before: i64,
    /// Elements of zeros behind x.
    after: i64,
    /// Where results begin in those of all phases, and how many there are.
    begin: i64,
    extent: IntExpr,
    /// Results of a phase.
    turns: IntExpr,
}

impl Axis {
    fn of(of: &Transposed, i: usize) -> Axis {
        let (w, x) = (&of.window, &of.spatial[i]);
        let (stride, kernel, n) = (w.strides[i], w.kernel[i], of.spatial.len());
        let (front, back) = (w.pads[i], w.pads[i + n]);
        let (least, more) = (kernel / stride, kernel % stride);
        let all = if of.is_depthwise() {
            // Each is a depthwise convolution, too.
            let one = |first| Phases { first, count: 1, taps: least + i64::from(first < more) };
            (0..stride).map(one).collect()
        } else {
            let longer = Phases { first: 0, count: more, taps: least + 1 };
            vec![longer, Phases { first: more, count: stride - more, taps: least }]
        };
        // Padding below 0 asks for results before the first element, and more of it than a turn leaves turns away.
        let added = ((-front).max(0) + stride - 1) / stride;
        let place = front + stride * added;
        let left = (place / stride).min(least - 1 + added);
        let end = kernel - back + of.extra[i];
        let after = (end + stride - 1).div_euclid(stride).max(1) - 1;
        Axis {
            stride,
            kernel,
            phases: all.into_iter().filter(|p| p.count > 0).collect(),
            before: added - left,
            after,
            begin: place - stride * left,
            extent: (x - &dim::int(1)) * dim::int(stride) + dim::int(end - front),
            turns: x + &dim::int(added - left + after),
        }
    }
}

/// Whether a transposed convolution is made so: each phase has an element of the kernel.
pub(super) fn has_phases(of: &Transposed) -> bool {
    let w = &of.window;
    let each = |i: usize| w.dilations[i] == 1 && w.kernel[i] >= w.strides[i];
    w.strides.iter().any(|s| *s > 1) && (0..w.strides.len()).all(each)
}

/// The result, of x, the kernel and a bias.
pub(super) fn conv(b: &mut Builder, of: &Transposed, args: &[ValueId]) -> Made {
    let axes: Vec<Axis> = (0..of.spatial.len()).map(|i| Axis::of(of, i)).collect();
    for (i, axis) in axes.iter().enumerate() {
        if !dim::at_most(&b.prover, &dim::int(1), &axis.extent) {
            let message = format!("the padding is not proven to leave an element of `{}`", of.spatial[i]);
            return Err(OpError::new(At::Call, OpErrorKind::Range, message).help("pad less"));
        }
    }
    let y = every(b, of, &axes, args, &[])?;
    beside(b, of, &axes, y)
}

/// `[N, group, phase…, M / group, turn…]` of the phases along all axes, those along the first of which are chosen.
fn every(b: &mut Builder, of: &Transposed, axes: &[Axis], args: &[ValueId], chosen: &[Phases]) -> Made {
    let Some(axis) = axes.get(chosen.len()) else { return some(b, of, axes, args, chosen) };
    let mut parts = Vec::new();
    for phases in &axis.phases {
        parts.push(every(b, of, axes, args, &[chosen, &[*phases]].concat())?);
    }
    if let [part] = parts[..] { Ok(part) } else { concat(b, chosen.len() + 2, &parts) }
}

/// The same of some phases along each axis.
fn some(b: &mut Builder, of: &Transposed, axes: &[Axis], args: &[ValueId], chosen: &[Phases]) -> Made {
    let n = axes.len();
    let (groups, channels) = (dim::int(of.group), b.tensor(args[1]).shape[1].clone());
    let counts: Vec<IntExpr> = chosen.iter().map(|p| dim::int(p.count)).collect();
    let shape: Vec<IntExpr> = [groups.clone()].into_iter().chain(counts.clone()).chain([channels.clone()]).collect();
    let all = dim::product(&shape);
    let kernel = kernel(b, of, axes, args[1], chosen)?;
    let mut args = vec![args[0], kernel].into_iter().chain(args.get(2).copied()).collect::<Vec<_>>();
    if let Some(bias) = args.get_mut(2) {
        let of_group = [groups.clone()].into_iter().chain(vec![dim::int(1); n]).chain([channels]).collect::<Vec<_>>();
        let of_group = reshape(b, *bias, &of_group)?;
        let wide = b.emit(Op::BroadcastTo { shape: shape.clone() }, &[of_group])?;
        *bias = reshape(b, wide, std::slice::from_ref(&all))?;
    }
    let before = axes.iter().zip(chosen).map(|(axis, phases)| axis.before + phases.taps - 1);
    let pads = before.chain(axes.iter().map(|axis| axis.after)).collect();
    let taps = chosen.iter().map(|p| p.taps).collect();
    let window = Window { kernel: taps, strides: vec![1; n], pads, dilations: vec![1; n] };
    let y = b.emit(Op::Conv { window, group: of.group, layout: ConvLayout::default() }, &args)?;
    let images = b.tensor(y).shape[0].clone();
    let turns = axes.iter().map(|axis| axis.turns.clone());
    reshape(b, y, &[images].into_iter().chain(shape).chain(turns).collect::<Vec<_>>())
}

/// Of `[C, M / group, kernel…]`, what some phases are made with: `[group · phases · M / group, C / group, taps…]`, the last tap
/// first.
fn kernel(b: &mut Builder, of: &Transposed, axes: &[Axis], w: ValueId, chosen: &[Phases]) -> Made {
    let n = axes.len();
    let mut w = w;
    // Each axis becomes two: taps and phases.
    for (i, (axis, phases)) in axes.iter().zip(chosen).enumerate() {
        let at = 2 + 2 * i;
        let (taps, stride) = (dim::int(phases.taps), dim::int(axis.stride));
        w = resized(b, w, at, axis.kernel, phases.taps * axis.stride)?;
        let mut shape = b.tensor(w).shape.clone();
        shape.splice(at..=at, [taps, stride]);
        w = reshape(b, w, &shape)?;
        w = flip(b, w, at)?;
        w = part(b, w, at + 1, &dim::int(phases.first), &dim::int(phases.count))?;
    }
    let shape = b.tensor(w).shape.clone();
    let (group, of_group) = (dim::int(of.group), dim::div_floor(&shape[0], of.group));
    let w = reshape(b, w, &[&[group.clone(), of_group.clone()], &shape[1..]].concat())?;
    let (taps, phases) = ((0..n).map(|i| 3 + 2 * i), (0..n).map(|i| 4 + 2 * i));
    let perm: Vec<usize> = [0].into_iter().chain(phases).chain([2, 1]).chain(taps).collect();
    let w = transpose(b, w, &perm)?;
    let counts = chosen.iter().map(|p| dim::int(p.count));
    let all: Vec<IntExpr> = [group, shape[1].clone()].into_iter().chain(counts).collect();
    let taps = chosen.iter().map(|p| dim::int(p.taps));
    let shape: Vec<IntExpr> = [dim::product(&all), of_group].into_iter().chain(taps).collect();
    reshape(b, w, &shape)
}

/// So many elements of an axis: its first ones, or all and zeros behind them.
fn resized(b: &mut Builder, w: ValueId, axis: usize, from: i64, to: i64) -> Made {
    if to <= from {
        return part(b, w, axis, &dim::int(0), &dim::int(to));
    }
    let ty = b.tensor(w).clone();
    let before = vec![dim::int(0); ty.shape.len()];
    let mut after = before.clone();
    after[axis] = dim::int(to - from);
    let zero = b.scalar(Scalar::zero(ty.dtype));
    b.emit(Op::Pad { mode: PadMode::Constant, before, after }, &[w, zero])
}

/// Phases beside each other, and of these the results that are asked for.
fn beside(b: &mut Builder, of: &Transposed, axes: &[Axis], y: ValueId) -> Made {
    let n = axes.len();
    let shape = b.tensor(y).shape.clone();
    let interleaved = (0..n).flat_map(|i| [n + 3 + i, 2 + i]);
    let perm: Vec<usize> = [0, 1, n + 2].into_iter().chain(interleaved).collect();
    let y = transpose(b, y, &perm)?;
    let channels = dim::int(of.group) * shape[n + 2].clone();
    let wide = axes.iter().map(|axis| &axis.turns * &dim::int(axis.stride));
    let whole: Vec<IntExpr> = [shape[0].clone(), channels].into_iter().chain(wide).collect();
    let mut y = reshape(b, y, &whole)?;
    for (i, axis) in axes.iter().enumerate() {
        y = part(b, y, i + 2, &dim::int(axis.begin), &axis.extent)?;
    }
    Ok(y)
}
