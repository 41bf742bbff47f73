//! `ConvertLayout`: convolutions, and what stands around them, on other layouts of memory.
//!
//! `ConvertLayout.data` names the layout of data, `NHWC` or blocks such as `NCHW16c`, and `ConvertLayout.kernel` that of
//! weights. Where neither is set, each function's own convolutions decide: channels come last where most of the work
//! then runs in whole vectors of channels, which need no window to be laid out anew and no stride to be skipped. Every
//! convolution takes the layout; blocks are the largest divisor of the channels that is no larger. Weights of floats
//! have the channels of the operand in blocks then, each with its whole window: what one accumulator sums is short, and
//! begins anew with the next block.
//! Elementwise operators, pools, batch norms, reductions, concatenations, padding and repetitions go on in the layout that
//! they are given, so that data is laid out anew (a `reshape` and a `transpose`) only where it comes in and goes out, and
//! before operators that have no layouts. Transforms of constants are computed by `FoldConstant` and
//! `LiftTransformParams`, which run behind. Phase: before the operators become kernels. Only the order of sums changes.
//!
//! Each converted operator is followed by its result in plain order; what nobody reads in that order goes away. Where an
//! operator without layouts takes axes apart or joins them, transposes on both sides of it become one. Reductions over axes at
//! the end, which then lie as they will, are over one.

use std::collections::BTreeMap;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::ElementOp;
use tenfold_ir::relax::{
    Binding, ConvLayout, DataLayout, Function as RelaxFunction, KernelLayout, Op, Part, PoolOp, Type, ValueId, Window,
    in_plain_order, inverse, permutation, plain_shape, stored_shape,
};
use tenfold_ir::{DType, Function, Module};

use super::rewrite::{Rewriter, Visit, rewrite_one};
use super::simplify_inference::normalised;
use super::widened::widened_from;
use super::{one_axis, one_transpose};
use crate::pass::{ConfigKey, Pass, PassContext, PassPhase, TextKey, wrong};
use crate::{CompileError, Target};

/// Layout of data.
const DATA: TextKey = TextKey {
    name: "ConvertLayout.data",
    default: "",
    doc: "layout of convolutions, `NCHW`, `NHWC` or in blocks as `NCHW16c`; what suits the target where it is empty",
};

/// Layout of weights.
const KERNEL: TextKey = TextKey {
    name: "ConvertLayout.kernel",
    default: "",
    doc: "layout of their weights, `OIHW`, `HWIO`, `IHW16iO` or `OIHW16i16o`; what suits the data where it is empty",
};

/// Channels of the operand in a block of weights, where nobody asks for others: a window of 3 by 3 makes 144 terms of it.
const BLOCK: i64 = 16;

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("ConvertLayout", &convert_layout)
    .in_phase(PassPhase::Graph)
    .at_level(1)
    .reads(&[ConfigKey::Text(&DATA), ConfigKey::Text(&KERNEL)])
    .about("lays out what convolutions read and write in another order, where vectors run along channels");

/// Runs on every relax function.
pub(crate) fn convert_layout(module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    let set = wanted(context)?;
    let graphs = module.functions.iter().filter_map(|(name, f)| match f {
        Function::Relax(f) => Some((name.clone(), set.unwrap_or_else(|| suited(f, context)))),
        Function::Prim(_) => None,
    });
    for (name, wanted) in graphs.collect::<Vec<_>>() {
        if wanted != ConvLayout::PLAIN {
            let vector_bytes = set.is_none().then(|| i64::from(context.target.vector_bytes()));
            rewrite_one(module, &name, &mut Convert { wanted, vector_bytes, known: vec![BTreeMap::new()] });
            one_transpose::join(module, &name);
        }
        if context.target.hosted && context.target.vector_bytes() > 0 {
            one_axis::join(module, &name);
        }
    }
    Ok(())
}

/// Channels last where, weighed by their products, most convolutions have whole vectors of channels. In another layout
/// sums take their terms in another order, which strict functions must not get from the target.
fn suited(func: &RelaxFunction, context: &PassContext) -> ConvLayout {
    let (target, mut balance) = (&context.target, 0_i128);
    if !context.strict && target.hosted && target.vector_bytes() > 0 {
        for binding in func.bindings() {
            balance += weight(func, binding, target).unwrap_or(0);
        }
    }
    if balance > 0 {
        ConvLayout { data: DataLayout::ChannelsLast, kernel: KernelLayout::InputBlocked(BLOCK) }
    } else {
        ConvLayout::PLAIN
    }
}

/// Products of a convolution, negative where vectors along channels would not be whole, or channels of several groups.
fn weight(func: &RelaxFunction, binding: &Binding, target: &Target) -> Option<i128> {
    let Op::Conv { group, layout: ConvLayout::PLAIN, .. } = binding.op else { return None };
    let ty = |v: ValueId| match &func.values[v.0 as usize].ty {
        Type::Tensor(ty) => Some(ty),
        Type::Tuple(_) | Type::Shape(_) => None,
    };
    let (out, weights) = (ty(binding.out)?, ty(binding.args[1])?);
    let extents = |shape: &[IntExpr]| shape.iter().map(|d| i128::from(d.as_const().unwrap_or(1))).product::<i128>();
    let products = extents(&out.shape) * extents(&weights.shape[1..]);
    let channels = weights.shape[0].as_const()?;
    let lanes = i64::from(target.vector_bytes()) / out.dtype.size_bytes() as i64;
    let apart = group == 1 || weights.shape[1].as_const() == Some(1);
    Some(if apart && channels >= lanes { products } else { -products })
}

/// The layouts that settings ask for, if they do; the plain one may be asked for.
fn wanted(context: &PassContext) -> Result<Option<ConvLayout>, CompileError> {
    let (data, kernel) = (context.text(&DATA), context.text(&KERNEL));
    if data.is_empty() && kernel.is_empty() {
        return Ok(None);
    }
    let refuse = |key: &TextKey, found: &str, takes: &str| {
        Err(wrong(format!("`{}` takes {takes}, found `{found}`", key.name), None))
    };
    let Some(data) = DataLayout::parse(if data.is_empty() { "NCHW" } else { data }, 2) else {
        return refuse(&DATA, data, "`NCHW`, `NHWC` or blocks as `NCHW16c`");
    };
    let suits = match data {
        DataLayout::ChannelsFirst => KernelLayout::OutFirst,
        DataLayout::ChannelsLast => KernelLayout::OutLast,
        DataLayout::Blocked(n) => KernelLayout::Blocked { input: n, output: n },
    };
    let layout = match KernelLayout::parse(kernel, 2) {
        Some(kernel) => ConvLayout { data, kernel },
        None if kernel.is_empty() => ConvLayout { data, kernel: suits },
        None => return refuse(&KERNEL, kernel, "`OIHW`, `HWIO` or blocks as `IHW16iO` and `OIHW16i16o`"),
    };
    if layout.result().is_none() {
        return refuse(&KERNEL, kernel, "blocks where the data has them, and no others");
    }
    Ok(Some(layout))
}

/// A value as it lies in a layout.
#[derive(Clone, Copy)]
struct Laid {
    value: ValueId,
    layout: DataLayout,
}

struct Convert {
    wanted: ConvLayout,
    /// Bytes of a vector, where nobody has asked for a layout: convolutions that it does not suit keep theirs.
    vector_bytes: Option<i64>,
    /// What values in plain order are in another layout; what a region adds is seen in it alone.
    known: Vec<BTreeMap<ValueId, Laid>>,
}

impl Visit for Convert {
    fn binding(&mut self, cx: &mut Rewriter<'_>, binding: &Binding) -> Option<ValueId> {
        let Laid { value, layout } = match &binding.op {
            Op::Conv { window, group, layout: ConvLayout::PLAIN } => self.conv(cx, binding, window, *group),
            Op::Pool { op, window, ceil_mode, layout: DataLayout::ChannelsFirst } => {
                self.pool(cx, binding, (*op, window, *ceil_mode))
            }
            Op::Element(_) => self.element(cx, binding),
            Op::BatchNorm { axis: 1, epsilon } => self.batch_norm(cx, binding, epsilon.get()),
            Op::Concat { axis } => self.concat(cx, binding, *axis),
            Op::Pad { .. } => self.pad(cx, binding),
            Op::Reshape { .. } => self.repeat(cx, binding),
            Op::Reduce { axes, keepdims, .. } => return self.reduce(cx, binding, axes, *keepdims),
            _ => None,
        }?;
        cx.name_as(value, binding.out);
        let plain = to_plain(cx, value, layout)?;
        self.learn(plain, Laid { value, layout });
        Some(plain)
    }

    fn enter(&mut self) {
        self.known.push(self.known.last().cloned().unwrap_or_default());
    }

    fn leave(&mut self) {
        self.known.pop();
    }
}

impl Convert {
    fn laid(&self, v: ValueId) -> Option<Laid> {
        self.known.last()?.get(&v).copied()
    }

    fn learn(&mut self, plain: ValueId, laid: Laid) {
        if let Some(known) = self.known.last_mut() {
            known.insert(plain, laid);
        }
    }

    /// A value in a layout: as it is known, or laid out here.
    fn in_layout(&mut self, cx: &mut Rewriter<'_>, v: ValueId, layout: DataLayout) -> Option<ValueId> {
        match self.laid(v) {
            Some(laid) if laid.layout == layout => return Some(laid.value),
            Some(_) | None => {}
        }
        let spatial = spatial_of(cx, v)?;
        let divides = |n: i64| cx.shape(v)[1].as_const().is_some_and(|c| c % n == 0);
        if matches!(layout, DataLayout::Blocked(n) if !divides(n)) {
            return None;
        }
        let value = to_stored(cx, v, &layout.parts(spatial))?;
        if self.laid(v).is_none() {
            self.learn(v, Laid { value, layout });
        }
        Some(value)
    }

    fn conv(&mut self, cx: &mut Rewriter<'_>, binding: &Binding, window: &Window, group: i64) -> Option<Laid> {
        let (x, w) = (binding.args[0], binding.args[1]);
        let spatial = spatial_of(cx, x)?;
        if self.suits_rows(cx, binding, group) {
            return None;
        }
        let layout = self.conv_layout(cx, x, w, group)?;
        let result = layout.result()?;
        let data = match widened_from(cx, x).filter(|_| self.laid(x).is_none()) {
            Some(narrow) => {
                let data = self.in_layout(cx, narrow, layout.data)?;
                widened(cx, data, x)?
            }
            None => self.in_layout(cx, x, layout.data)?,
        };
        let parts = layout.kernel.parts(spatial);
        let weights = match widened_from(cx, w) {
            Some(narrow) => {
                let weights = to_stored(cx, narrow, &parts)?;
                widened(cx, weights, w)?
            }
            None => to_stored(cx, w, &parts)?,
        };
        let mut args = binding.args.clone();
        (args[0], args[1]) = (data, weights);
        let value = cx.emit(Op::Conv { window: window.clone(), group, layout }, &args)?;
        Some(Laid { value, layout: result })
    }

    /// Whether a convolution in groups of fewer channels than a vector has does better along the rows of images, which have
    /// as many pixels.
    fn suits_rows(&self, cx: &Rewriter<'_>, binding: &Binding, group: i64) -> bool {
        let (Some(bytes), Some(dtype)) = (self.vector_bytes, cx.dtype(binding.out)) else { return false };
        let lanes = bytes / dtype.size_bytes() as i64;
        let extent = |v: ValueId, axis: usize| cx.shape(v).get(axis).and_then(IntExpr::as_const);
        let (made, taken) = (extent(binding.args[1], 0), extent(binding.args[1], 1));
        let row = cx.shape(binding.out).last().and_then(IntExpr::as_const);
        let narrow = made.is_some_and(|made| made / group < lanes) && taken.is_some_and(|taken| taken > 1);
        group > 1 && narrow && row.is_some_and(|row| row >= lanes)
    }

    /// The wanted layouts with blocks that divide the channels of this convolution.
    fn conv_layout(&self, cx: &Rewriter<'_>, x: ValueId, w: ValueId, group: i64) -> Option<ConvLayout> {
        if let KernelLayout::InputBlocked(most) = self.wanted.kernel {
            return Some(ConvLayout { kernel: input_blocked(cx, w, most), ..self.wanted });
        }
        let (DataLayout::Blocked(most), KernelLayout::Blocked { input, output }) =
            (self.wanted.data, self.wanted.kernel)
        else {
            return Some(self.wanted);
        };
        let extent = |v: ValueId, axis: usize| cx.shape(v)[axis].as_const();
        let (channels, taken, made) = (extent(x, 1)?, extent(w, 1)?, extent(w, 0)?);
        let block = match self.laid(x).map(|laid| laid.layout) {
            Some(DataLayout::Blocked(block)) => block,
            _ => divisor(channels, if group == 1 { most.min(input) } else { most }),
        };
        let input = if group == 1 { block } else { divisor(taken, input) };
        let kernel = KernelLayout::Blocked { input, output: divisor(made, output) };
        Some(ConvLayout { data: DataLayout::Blocked(block), kernel })
    }

    fn pool(
        &mut self,
        cx: &mut Rewriter<'_>,
        binding: &Binding,
        (op, window, ceil_mode): (PoolOp, &Window, bool),
    ) -> Option<Laid> {
        let Laid { value, layout } = self.laid(binding.args[0])?;
        let value = cx.emit(Op::Pool { op, window: window.clone(), ceil_mode, layout }, &[value])?;
        Some(Laid { value, layout })
    }

    fn element(&mut self, cx: &mut Rewriter<'_>, binding: &Binding) -> Option<Laid> {
        let out = cx.shape(binding.out).to_vec();
        let fits = |v: &ValueId| cx.shape(*v).len() == out.len() && cx.shape(*v)[1] == out[1];
        let layout = binding.args.iter().find_map(|v| self.laid(*v).filter(|_| fits(v)))?.layout;
        let args = binding.args.iter().map(|v| self.operand(cx, *v, layout, &out));
        let args: Vec<ValueId> = args.collect::<Option<_>>()?;
        let value = cx.emit(binding.op.clone(), &args)?;
        Some(Laid { value, layout })
    }

    /// An operand that is stretched over `out` as an operand that is stretched over the same in a layout.
    fn operand(&mut self, cx: &mut Rewriter<'_>, v: ValueId, layout: DataLayout, out: &[IntExpr]) -> Option<ValueId> {
        let own = cx.shape(v).to_vec();
        if own.is_empty() {
            return Some(v);
        }
        let one = || IntExpr::from(1);
        let full: Vec<IntExpr> = (own.len()..out.len()).map(|_| one()).chain(own.iter().cloned()).collect();
        if full.len() == own.len() && full[1] == out[1] {
            return self.in_layout(cx, v, layout);
        }
        let wide = if full.len() == own.len() { v } else { cx.emit(Op::Reshape { shape: full.clone() }, &[v])? };
        let parts = layout.parts(out.len() - 2);
        if full[1] == out[1] {
            return to_stored(cx, wide, &parts);
        }
        // One value for all channels: one block of one.
        let parts: Vec<Part> = parts.into_iter().map(single).collect();
        to_stored(cx, wide, &parts)
    }

    fn batch_norm(&mut self, cx: &mut Rewriter<'_>, binding: &Binding, epsilon: f64) -> Option<Laid> {
        let Laid { value: x, layout } = self.laid(binding.args[0])?;
        let parts = layout.parts(spatial_of(cx, binding.args[0])?);
        let place = parts.iter().position(|part| *part == Part::Whole(1));
        let value = match (place, &binding.op) {
            (Some(axis), Op::BatchNorm { epsilon, .. }) => {
                let mut args = binding.args.clone();
                args[0] = x;
                cx.emit(Op::BatchNorm { axis, epsilon: *epsilon }, &args)?
            }
            _ => {
                let own = |(part, extent): (&Part, &IntExpr)| if part.axis() == 1 { extent.clone() } else { 1.into() };
                let wide: Vec<IntExpr> = parts.iter().zip(cx.shape(x)).map(own).collect();
                normalised(cx, binding, x, &wide, epsilon)?
            }
        };
        Some(Laid { value, layout })
    }

    fn concat(&mut self, cx: &mut Rewriter<'_>, binding: &Binding, axis: usize) -> Option<Laid> {
        let layout = binding.args.iter().find_map(|v| self.laid(*v))?.layout;
        let parts = layout.parts(spatial_of(cx, binding.out)?);
        let axis = parts.iter().position(|part| part.axis() == axis)?;
        let args = binding.args.iter().map(|v| self.in_layout(cx, *v, layout)).collect::<Option<Vec<_>>>()?;
        let value = cx.emit(Op::Concat { axis }, &args)?;
        Some(Laid { value, layout })
    }

    fn pad(&mut self, cx: &mut Rewriter<'_>, binding: &Binding) -> Option<Laid> {
        let Op::Pad { mode, before, after } = &binding.op else { return None };
        let Laid { value: x, layout } = self.laid(binding.args[0])?;
        let none = |n: &IntExpr| n.as_const() == Some(0);
        if matches!(layout, DataLayout::Blocked(_)) && !(none(&before[1]) && none(&after[1])) {
            return None;
        }
        let parts = layout.parts(before.len() - 2);
        let moved = |side: &[IntExpr]| parts.iter().map(|part| side[part.axis()].clone()).collect();
        let mut args = binding.args.clone();
        args[0] = x;
        let value = cx.emit(Op::Pad { mode: *mode, before: moved(before), after: moved(after) }, &args)?;
        Some(Laid { value, layout })
    }

    /// Elements repeated along axes (of a `resize`): a reshape that gives each axis one of one element, which becomes longer,
    /// and a reshape that joins them again.
    fn repeat(&mut self, cx: &mut Rewriter<'_>, binding: &Binding) -> Option<Laid> {
        let wide = *binding.args.first()?;
        let Op::BroadcastTo { shape: spread } = cx.def(wide)?.op.clone() else { return None };
        let apart = *cx.def(wide)?.args.first()?;
        let reshape = cx.def(apart).filter(|def| matches!(def.op, Op::Reshape { .. }))?;
        let x = *reshape.args.first()?;
        let Laid { value, layout } = self.laid(x)?;
        let times = repeated(cx.shape(x), cx.shape(apart), &spread)?;
        let parts = layout.parts(spatial_of(cx, x)?);
        let (mut apart, mut spread, mut out) = (Vec::new(), Vec::new(), Vec::new());
        for (part, extent) in parts.iter().zip(cx.shape(value)) {
            let times = &times[part.axis()];
            let own = match part {
                Part::Whole(_) => times.clone(),
                Part::Outer(..) | Part::Inner(..) if times.as_const() == Some(1) => times.clone(),
                Part::Outer(..) | Part::Inner(..) => return None,
            };
            apart.extend([extent.clone(), IntExpr::from(1)]);
            spread.extend([extent.clone(), own.clone()]);
            out.push(extent * &own);
        }
        let value = cx.emit(Op::Reshape { shape: apart }, &[value])?;
        let value = cx.emit(Op::BroadcastTo { shape: spread }, &[value])?;
        let value = cx.emit(Op::Reshape { shape: out }, &[value])?;
        let same = plain_shape(&parts, cx.shape(value)) == cx.shape(binding.out);
        same.then_some(Laid { value, layout })
    }

    /// The result in plain order; in its layout it is known only where channels are left.
    fn reduce(&mut self, cx: &mut Rewriter<'_>, binding: &Binding, axes: &[usize], keepdims: bool) -> Option<ValueId> {
        let Op::Reduce { op, .. } = binding.op else { return None };
        let Laid { value: x, layout } = self.laid(binding.args[0])?;
        let parts = layout.parts(spatial_of(cx, binding.args[0])?);
        let own = (0..parts.len()).filter(|place| axes.contains(&parts[*place].axis())).collect();
        let value = cx.emit(Op::Reduce { op, axes: own, keepdims: true }, &[x])?;
        cx.name_as(value, binding.out);
        let plain = to_plain(cx, value, layout)?;
        if !axes.contains(&1) {
            self.learn(plain, Laid { value, layout });
        }
        if keepdims {
            return Some(plain);
        }
        let shape = cx.shape(binding.out).to_vec();
        cx.emit(Op::Reshape { shape }, &[plain])
    }
}

/// Weights with channels of the operand in blocks of so many, one by one where they fill no block: of floats, whose sums
/// depend on it, and where there are windows and several blocks.
fn input_blocked(cx: &Rewriter<'_>, w: ValueId, most: i64) -> KernelLayout {
    let extent = |axis: usize| cx.shape(w)[axis].as_const();
    let taps: Option<i64> = (2..cx.shape(w).len()).map(extent).product();
    let floats = cx.dtype(w).is_some_and(DType::is_float);
    let Some(channels) = extent(1).filter(|_| floats && taps.is_none_or(|n| n > 1)) else {
        return KernelLayout::OutLast;
    };
    let block = if channels < most { 1 } else { divisor(channels, most) };
    if channels > block { KernelLayout::InputBlocked(block) } else { KernelLayout::OutLast }
}

/// A value in the dtype of another one.
fn widened(cx: &mut Rewriter<'_>, v: ValueId, like: ValueId) -> Option<ValueId> {
    let dtype = cx.dtype(like)?;
    cx.emit(Op::Element(ElementOp::Cast(dtype)), &[v])
}

/// How often each axis of `shape` is repeated by axes of one element behind some in `apart`, which are longer in `spread`.
fn repeated(shape: &[IntExpr], apart: &[IntExpr], spread: &[IntExpr]) -> Option<Vec<IntExpr>> {
    let mut rest = apart.iter().zip(spread).peekable();
    let mut all = Vec::new();
    for extent in shape {
        rest.next().filter(|(own, wide)| *own == extent && *wide == extent)?;
        let one = |(own, wide): &(&IntExpr, &IntExpr)| own.as_const() == Some(1) && wide.as_const() != Some(1);
        all.push(rest.next_if(one).map_or(IntExpr::from(1), |(_, wide)| wide.clone()));
    }
    rest.next().is_none().then_some(all)
}

/// The largest divisor of `n` that is at most `most`.
fn divisor(n: i64, most: i64) -> i64 {
    (1..=most.min(n)).rev().find(|d| n % d == 0).unwrap_or(1)
}

/// A part of an axis that has one index only.
fn single(part: Part) -> Part {
    match part {
        Part::Whole(axis) => Part::Whole(axis),
        Part::Outer(axis, _) => Part::Outer(axis, 1),
        Part::Inner(axis, _) => Part::Inner(axis, 1),
    }
}

/// Spatial axes of a value that may have a layout.
fn spatial_of(cx: &Rewriter<'_>, v: ValueId) -> Option<usize> {
    cx.shape(v).len().checked_sub(2).filter(|spatial| (1..=3).contains(spatial))
}

fn has_blocks(parts: &[Part]) -> bool {
    parts.iter().any(|part| matches!(part, Part::Inner(..)))
}

/// A value in plain order as these parts store it.
fn to_stored(cx: &mut Rewriter<'_>, v: ValueId, parts: &[Part]) -> Option<ValueId> {
    let plain = cx.shape(v).to_vec();
    if let Some(value) = cx.splat(v) {
        return Some(cx.splat_of(value, &stored_shape(parts, &plain)));
    }
    let mut cut = v;
    if has_blocks(parts) {
        cut = cx.emit(Op::Reshape { shape: stored_shape(&in_plain_order(parts), &plain) }, &[v])?;
    }
    moved(cx, cut, permutation(parts))
}

/// A value as a layout stores it in plain order.
fn to_plain(cx: &mut Rewriter<'_>, v: ValueId, layout: DataLayout) -> Option<ValueId> {
    let blocked = usize::from(matches!(layout, DataLayout::Blocked(_)));
    let parts = layout.parts(cx.shape(v).len() - 2 - blocked);
    let shape = plain_shape(&parts, cx.shape(v));
    let sorted = moved(cx, v, inverse(&permutation(&parts)))?;
    if has_blocks(&parts) { cx.emit(Op::Reshape { shape }, &[sorted]) } else { Some(sorted) }
}

/// A transpose, or a reshape where only axes of extent 1 change places.
fn moved(cx: &mut Rewriter<'_>, v: ValueId, perm: Vec<usize>) -> Option<ValueId> {
    let shape: Vec<IntExpr> = perm.iter().map(|axis| cx.shape(v)[*axis].clone()).collect();
    let long = perm.iter().filter(|axis| cx.shape(v)[**axis].as_const() != Some(1));
    if perm.iter().enumerate().all(|(i, axis)| i == *axis) {
        return Some(v);
    }
    if long.is_sorted() { cx.emit(Op::Reshape { shape }, &[v]) } else { cx.emit(Op::Transpose { perm }, &[v]) }
}
