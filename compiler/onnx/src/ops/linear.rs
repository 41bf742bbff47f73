//! Sums of products beyond matrices: Einsum and transposed convolutions.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, CmpOp, ReduceOp};
use tenfold_ir::relax::{ConvLayout, Op, PadMode, SliceAxis, ValueId, Window};
use tenfold_ir::{DType, Scalar};

use super::nn::window;
use super::{OnnxOp, op};
use crate::call::Call;
use crate::emit::int;
use crate::snippet::product;
use crate::value::{Outcome, Value, fault};
use crate::walk::Cx;

type Results = Outcome<Vec<Value>>;

/// A tensor with a letter per axis. The axes of an ellipsis have digits, counted from the end.
#[derive(Clone)]
struct Term {
    x: ValueId,
    labels: Vec<char>,
}

/// The letters of a term; those of an ellipsis of `extra` axes are digits.
fn labels(text: &str, extra: usize) -> Outcome<Vec<char>> {
    let digits: String = (0..extra).rev().filter_map(|n| char::from_digit(n as u32, 10)).collect();
    let text = text.replace("...", &digits);
    match text.chars().all(|c| c.is_ascii_alphanumeric()) && extra < 10 {
        true => Ok(text.chars().collect()),
        false => fault(format!("the equation has the term `{text}`")),
    }
}

fn einsum<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let equation: String = call.text("equation", "")?.chars().filter(|c| !c.is_whitespace()).collect();
    let (left, right) = match equation.split_once("->") {
        Some((left, right)) => (left.to_string(), Some(right.to_string())),
        None => (equation.clone(), None),
    };
    let texts: Vec<&str> = left.split(',').collect();
    let operands = call.all(cx)?;
    if texts.len() != operands.len() {
        return fault(format!("`{equation}` has {} terms for {} operands", texts.len(), operands.len()));
    }
    let (mut terms, mut most) = (Vec::new(), 0);
    for (text, x) in texts.iter().zip(operands) {
        let named = text.replace("...", "").chars().count();
        let rank = cx.rank(x);
        let extra = if text.contains("...") { rank.saturating_sub(named) } else { 0 };
        most = most.max(extra);
        let labels = labels(text, extra)?;
        if labels.len() != rank {
            return fault(format!("the term `{text}` has {} letters for rank {rank}", labels.len()));
        }
        terms.push(diagonal(cx, Term { x, labels })?);
    }
    let result = match right {
        Some(text) => labels(&text, most)?,
        None => implied(&left, most)?,
    };
    let missing = |c: &&char| !terms.iter().any(|t: &Term| t.labels.contains(c));
    if let Some(letter) = result.iter().find(missing) {
        return fault(format!("`{equation}` gives an axis `{letter}` that no operand has"));
    }
    let mut terms = terms.into_iter();
    let Some(mut sum) = terms.next() else { return fault("it has no operand") };
    let mut rest: Vec<Term> = terms.collect();
    while !rest.is_empty() {
        let next = rest.remove(0);
        let later = |c: &char| result.contains(c) || rest.iter().any(|t| t.labels.contains(c));
        sum = pair(cx, sum, next, &later)?;
    }
    let sum = summed(cx, sum, &|c| result.contains(c))?;
    let y = ordered(cx, sum, &result)?;
    cx.one(y)
}

/// Without a right side: an ellipsis, then the letters that stand once, in the order of the alphabet.
fn implied(left: &str, most: usize) -> Outcome<Vec<char>> {
    let letters: Vec<char> = left.replace("...", "").chars().filter(|c| *c != ',').collect();
    let mut once: Vec<char> =
        letters.iter().copied().filter(|c| letters.iter().filter(|d| *d == c).count() == 1).collect();
    once.sort_unstable();
    Ok(labels("...", most)?.into_iter().chain(once).collect())
}

/// A letter that stands twice is the diagonal of its axes.
fn diagonal(cx: &mut Cx<'_>, mut term: Term) -> Outcome<Term> {
    while let Some((a, b)) = twice(&term.labels) {
        let dims = cx.dims(term.x);
        let arange = Op::Arange { start: int(0), step: int(1), extent: dims[a].clone(), dtype: DType::I64 };
        let range = cx.emit(arange, &[])?;
        let along = |cx: &mut Cx<'_>, axis: usize| {
            let mut shape = vec![int(1); dims.len()];
            shape[axis] = dims[a].clone();
            cx.reshape(range, &shape)
        };
        let (i, j) = (along(cx, a)?, along(cx, b)?);
        let same = cx.compare(CmpOp::Eq, i, j)?;
        let zero = cx.like(term.x, 0.0);
        let masked = cx.select(same, term.x, zero)?;
        term.x = cx.reduce(ReduceOp::Sum, masked, &[b], false)?;
        term.labels.remove(b);
    }
    Ok(term)
}

fn twice(labels: &[char]) -> Option<(usize, usize)> {
    (0..labels.len()).find_map(|a| Some((a, a + 1 + labels[a + 1..].iter().position(|c| *c == labels[a])?)))
}

/// Summed over the letters that nobody needs.
fn summed(cx: &mut Cx<'_>, term: Term, needed: &dyn Fn(&char) -> bool) -> Outcome<Term> {
    let gone: Vec<usize> = (0..term.labels.len()).filter(|i| !needed(&term.labels[*i])).collect();
    if gone.is_empty() {
        return Ok(term);
    }
    let x = cx.reduce(ReduceOp::Sum, term.x, &gone, false)?;
    Ok(Term { x, labels: term.labels.into_iter().filter(|c| needed(c)).collect() })
}

/// The axes in that order; a letter that is missing is an axis of extent 1.
fn ordered(cx: &mut Cx<'_>, term: Term, order: &[char]) -> Outcome<ValueId> {
    let perm: Vec<usize> = order.iter().filter_map(|c| term.labels.iter().position(|l| l == c)).collect();
    if perm.len() != term.labels.len() {
        return fault("the equation's result has letters that no operand has");
    }
    let dims = cx.dims(term.x);
    let x = cx.transpose(term.x, &perm)?;
    let at = |c: &char| term.labels.iter().position(|l| l == c).map_or_else(|| int(1), |i| dims[i].clone());
    let shape: Vec<IntExpr> = order.iter().map(at).collect();
    cx.reshape(x, &shape)
}

/// Two terms as one product of matrices.
fn pair(cx: &mut Cx<'_>, a: Term, b: Term, later: &dyn Fn(&char) -> bool) -> Outcome<Term> {
    let (in_a, in_b) = (a.labels.clone(), b.labels.clone());
    let a = summed(cx, a, &|c| later(c) || in_b.contains(c))?;
    let b = summed(cx, b, &|c| later(c) || in_a.contains(c))?;
    let both: Vec<char> = a.labels.iter().copied().filter(|c| b.labels.contains(c)).collect();
    let (batch, inner): (Vec<char>, Vec<char>) = both.into_iter().partition(|c| later(c));
    let rows: Vec<char> = a.labels.iter().copied().filter(|c| !b.labels.contains(c)).collect();
    let columns: Vec<char> = b.labels.iter().copied().filter(|c| !a.labels.contains(c)).collect();
    let order = |parts: [&[char]; 3]| parts.concat();
    let (x, y) =
        (ordered(cx, a, &order([&batch, &rows, &inner]))?, ordered(cx, b, &order([&batch, &inner, &columns]))?);
    let (dx, dy) = (cx.dims(x), cx.dims(y));
    let (n, m, k) = (batch.len(), rows.len(), inner.len());
    if inner.is_empty() {
        // Nothing is summed: an outer product that broadcasts, extents of 1 among the shared ones too.
        let wide_x = [&dx[..], &vec![int(1); columns.len()]].concat();
        let wide_y = [&dy[..n], &vec![int(1); m], &dy[n..]].concat();
        let (x, y) = (cx.reshape(x, &wide_x)?, cx.reshape(y, &wide_y)?);
        let z = cx.binary(BinaryOp::Mul, x, y)?;
        return Ok(Term { x: z, labels: order([&batch, &rows, &columns]) });
    }
    let x = cx.reshape(x, &[&dx[..n], &[product(&dx[n..n + m]), product(&dx[n + m..])]].concat())?;
    let y = cx.reshape(y, &[&dy[..n], &[product(&dy[n..n + k]), product(&dy[n + k..])]].concat())?;
    let z = cx.emit(Op::MatMul, &[x, y])?;
    let shared = cx.dims(z)[..n].to_vec();
    let z = cx.reshape(z, &[&shared[..], &dx[n..n + m], &dy[n + k..]].concat())?;
    Ok(Term { x: z, labels: order([&batch, &rows, &columns]) })
}

/// The paddings of a transposed convolution, from its attributes or the output that is asked for.
fn transposed_pads(call: &Call<'_, '_>, w: &Window, dims: &[i64], extra: &[i64]) -> Outcome<Vec<i64>> {
    let n = dims.len();
    let Some(wanted) = call.ints("output_shape")? else {
        let auto = call.text("auto_pad", "NOTSET")?;
        if !auto.starts_with("SAME") {
            return Ok(w.pads.clone());
        }
        let wanted: Vec<i64> = (0..n).map(|i| dims[i] * w.strides[i]).collect();
        return Ok(split_pads(w, dims, extra, &wanted, auto == "SAME_UPPER"));
    };
    let wanted = &wanted[wanted.len().saturating_sub(n)..];
    if wanted.len() != n {
        return fault("its output shape has too few extents");
    }
    Ok(split_pads(w, dims, extra, wanted, call.text("auto_pad", "NOTSET")? == "SAME_UPPER"))
}

fn split_pads(w: &Window, dims: &[i64], extra: &[i64], wanted: &[i64], upper: bool) -> Vec<i64> {
    let n = dims.len();
    let mut pads = vec![0; 2 * n];
    for i in 0..n {
        let full = (dims[i] - 1) * w.strides[i] + extra[i] + (w.kernel[i] - 1) * w.dilations[i] + 1;
        let total = full - wanted[i];
        let half = total.div_euclid(2);
        (pads[i], pads[i + n]) = if upper { (half, total - half) } else { (total - half, half) };
    }
    pads
}

/// A convolution of the input with zeros between its elements, the kernel turned round.
fn conv_transpose<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let (x, w) = (call.x(cx, 0)?, call.x(cx, 1)?);
    let (dims, weights) = (cx.fixed(x)?, cx.fixed(w)?);
    if dims.len() < 3 || weights.len() != dims.len() {
        return fault("expected batch, channels and spatial axes");
    }
    let spatial = &dims[2..];
    let n = spatial.len();
    let exprs: Vec<IntExpr> = spatial.iter().map(|d| int(*d)).collect();
    let window = window(call, &exprs, weights[2..].to_vec())?;
    let extra = call.ints("output_padding")?.filter(|v| v.len() == n).unwrap_or_else(|| vec![0; n]);
    let pads = transposed_pads(call, &window, spatial, &extra)?;
    let spread = spread(cx, x, &dims, &window.strides)?;
    let reach = |i: usize| (window.kernel[i] - 1) * window.dilations[i];
    let (mut before, mut after) = (vec![int(0); 2], vec![int(0); 2]);
    let mut crop = cx.whole(spread);
    for i in 0..n {
        let (front, back) = (reach(i) - pads[i], reach(i) - pads[i + n] + extra[i]);
        before.push(int(front.max(0)));
        after.push(int(back.max(0)));
        // Padding beyond the kernel's reach takes elements away.
        crop[i + 2].begin = int(-front.min(0));
        crop[i + 2].extent = &crop[i + 2].extent + int(front.min(0) + back.min(0));
    }
    let cropped = cx.emit(Op::Slice { axes: crop, drop: Vec::new() }, &[spread])?;
    let zero = cx.like(x, 0.0);
    let padded = cx.emit(Op::Pad { mode: PadMode::Constant, before, after }, &[cropped, zero])?;
    let group = call.int_or("group", 1)?.max(1);
    let kernel = turned(cx, w, &weights, group)?;
    let mut args = vec![padded, kernel];
    args.extend(call.optional(cx, 2)?);
    let window = Window {
        kernel: window.kernel.clone(),
        strides: vec![1; n],
        pads: vec![0; 2 * n],
        dilations: window.dilations,
    };
    let y = cx.emit(Op::Conv { window, group, layout: ConvLayout::PLAIN }, &args)?;
    cx.one(y)
}

/// Zeros between the elements of the spatial axes.
fn spread(cx: &mut Cx<'_>, x: ValueId, dims: &[i64], strides: &[i64]) -> Outcome<ValueId> {
    if strides.iter().all(|s| *s == 1) {
        return Ok(x);
    }
    let mut split: Vec<IntExpr> = dims[..2].iter().map(|d| int(*d)).collect();
    let (mut after, mut wide) = (vec![int(0); 2], split.clone());
    for (d, s) in dims[2..].iter().zip(strides) {
        split.extend([int(*d), int(1)]);
        after.extend([int(0), int(s - 1)]);
        wide.push(int(d * s));
    }
    let before = vec![int(0); after.len()];
    let apart = cx.reshape(x, &split)?;
    let zero = cx.b.scalar(Scalar::zero(cx.dtype(x)));
    let apart = cx.emit(Op::Pad { mode: PadMode::Constant, before, after }, &[apart, zero])?;
    let y = cx.reshape(apart, &wide)?;
    // The zeros behind the last element are no part of it.
    let mut axes = cx.whole(y);
    for (axis, (d, s)) in axes[2..].iter_mut().zip(dims[2..].iter().zip(strides)) {
        *axis = SliceAxis { begin: int(0), extent: int((d - 1) * s + 1), step: 1 };
    }
    cx.emit(Op::Slice { axes, drop: Vec::new() }, &[y])
}

/// `[C, M / group, kernel…]` as `[M, C / group, kernel…]`, spatial axes turned round.
fn turned(cx: &mut Cx<'_>, w: ValueId, dims: &[i64], group: i64) -> Outcome<ValueId> {
    let (c, m) = (dims[0], dims[1]);
    if c % group != 0 {
        return fault(format!("{group} groups do not divide {c} channels"));
    }
    let mut flipped = w;
    for axis in 2..dims.len() {
        flipped = super::shape::flip(cx, flipped, axis)?;
    }
    let kernel: Vec<IntExpr> = dims[2..].iter().map(|d| int(*d)).collect();
    let grouped = cx.reshape(flipped, &[&[int(group), int(c / group), int(m)], &kernel[..]].concat())?;
    let mut perm: Vec<usize> = (0..dims.len() + 1).collect();
    perm.swap(1, 2);
    let swapped = cx.transpose(grouped, &perm)?;
    cx.reshape(swapped, &[&[int(group * m), int(c / group)], &kernel[..]].concat())
}

pub(super) static TABLE: &[OnnxOp] = &[op("ConvTranspose", 1, conv_transpose), op("Einsum", 12, einsum)];
