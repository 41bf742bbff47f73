//! Constants' bytes, and moving them: the loops that need no interpreter.
//!
//! It knows shapes and bytes, not what elements mean.

use std::borrow::Cow;
use std::io::{Read, Seek, SeekFrom};

use tenfold_ir::arith::IntExpr;
use tenfold_ir::relax::{Op, PadMode};
use tenfold_ir::{ConstBytes, ConstData};

/// The greatest constant that a build makes of smaller ones, in bytes.
pub(crate) const LARGEST: usize = 64 << 20;

/// How many times the bytes of its operands a greater one may have.
pub(crate) const GROWTH: usize = 16;

/// Whether a constant of `result` bytes may be made of operands of `inputs` bytes.
pub(crate) fn may_grow(inputs: usize, result: usize) -> bool {
    result <= LARGEST || result <= inputs.saturating_mul(GROWTH)
}

/// A constant's bytes; `None` if its file cannot be read, which the back end reports.
pub(crate) fn bytes_of(data: &ConstData) -> Option<Cow<'_, [u8]>> {
    match &data.bytes {
        ConstBytes::Inline(bytes) => Some(Cow::Borrowed(bytes)),
        ConstBytes::File { path, offset, len } => {
            let mut file = std::fs::File::open(path).ok()?;
            file.seek(SeekFrom::Start(*offset)).ok()?;
            let mut bytes = vec![0; usize::try_from(*len).ok()?];
            file.read_exact(&mut bytes).ok()?;
            Some(Cow::Owned(bytes))
        }
    }
}

/// A tensor whose elements are only moved.
pub(crate) struct Moving<'b> {
    /// Extents.
    pub(crate) shape: Vec<usize>,
    /// Elements, row-major.
    pub(crate) bytes: Cow<'b, [u8]>,
}

/// Elements of a shape; `None` where the product overflows.
pub(crate) fn elements(shape: &[usize]) -> Option<usize> {
    shape.iter().try_fold(1usize, |n, extent| n.checked_mul(*extent))
}

/// What a movement of `size`-byte elements gives; `None` if the op computes, or depends on a symbol.
pub(crate) fn moved(op: &Op, args: &[Moving<'_>], shape: &[usize], size: usize) -> Option<Vec<u8>> {
    let x = args.first()?;
    match op {
        Op::Reshape { .. } => Some(x.bytes.to_vec()),
        Op::Transpose { perm } => {
            let own = strides(&x.shape);
            let steps: Vec<i64> = perm.iter().map(|axis| own[*axis] as i64).collect();
            gather(x, 0, &steps, shape, size)
        }
        Op::BroadcastTo { .. } => {
            let own = strides(&x.shape);
            let lead = shape.len() - x.shape.len();
            let step = |axis: usize| if axis < lead || x.shape[axis - lead] == 1 { 0 } else { own[axis - lead] as i64 };
            gather(x, 0, &(0..shape.len()).map(step).collect::<Vec<_>>(), shape, size)
        }
        Op::Slice { axes, drop } => {
            let own = strides(&x.shape);
            let begins: Option<Vec<i64>> = axes.iter().map(|a| a.begin.as_const()).collect();
            let start: i64 = begins?.iter().zip(&own).map(|(begin, stride)| begin * *stride as i64).sum();
            let kept = (0..axes.len()).filter(|axis| !drop.contains(axis));
            let steps: Vec<i64> = kept.map(|axis| axes[axis].step * own[axis] as i64).collect();
            gather(x, start, &steps, shape, size)
        }
        Op::Concat { axis } => concat(*axis, args, size),
        Op::Pad { mode: PadMode::Constant, before, .. } => pad(args, before, shape, size),
        _ => None,
    }
}

/// Distances of neighbours along each axis, in elements.
fn strides(shape: &[usize]) -> Vec<usize> {
    let mut all = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        all[axis - 1] = all[axis] * shape[axis];
    }
    all
}

/// Elements from `start` on, by steps per axis of the result.
fn gather(x: &Moving<'_>, start: i64, steps: &[i64], shape: &[usize], size: usize) -> Option<Vec<u8>> {
    let count = elements(shape)?;
    let mut out = Vec::with_capacity(count * size);
    let mut index = vec![0usize; shape.len()];
    let mut at = start;
    for _ in 0..count {
        let from = usize::try_from(at).ok()? * size;
        out.extend_from_slice(x.bytes.get(from..from + size)?);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            at += steps[axis];
            if index[axis] < shape[axis] {
                break;
            }
            at -= steps[axis] * shape[axis] as i64;
            index[axis] = 0;
        }
    }
    Some(out)
}

fn concat(axis: usize, args: &[Moving<'_>], size: usize) -> Option<Vec<u8>> {
    let outer: usize = args[0].shape[..axis].iter().product();
    let row = |arg: &Moving<'_>| arg.shape[axis..].iter().product::<usize>() * size;
    let mut out = Vec::with_capacity(args.iter().map(|arg| arg.bytes.len()).sum());
    for i in 0..outer {
        for arg in args {
            let row = row(arg);
            out.extend_from_slice(arg.bytes.get(i * row..(i + 1) * row)?);
        }
    }
    Some(out)
}

/// Padding with the second operand's one element.
fn pad(args: &[Moving<'_>], before: &[IntExpr], shape: &[usize], size: usize) -> Option<Vec<u8>> {
    let (x, fill) = (&args[0], args.get(1)?.bytes.get(..size)?);
    let before: Option<Vec<usize>> = before.iter().map(|n| usize::try_from(n.as_const()?).ok()).collect();
    let mut out = fill.repeat(elements(shape)?);
    let (own, to) = (strides(&x.shape), strides(shape));
    let first: usize = before?.iter().zip(&to).map(|(n, stride)| n * stride).sum();
    for position in 0..elements(&x.shape)? {
        let at = (0..own.len()).map(|axis| position / own[axis] % x.shape[axis].max(1) * to[axis]).sum::<usize>();
        let at = (first + at) * size;
        out.get_mut(at..at + size)?.copy_from_slice(x.bytes.get(position * size..(position + 1) * size)?);
    }
    Some(out)
}
