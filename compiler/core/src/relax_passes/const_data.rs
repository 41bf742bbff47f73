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

/// The greatest constant that a build lays out anew, with as many elements as before, in bytes: its old and its new bytes
/// are in memory at once.
pub(crate) const LAID_OUT: usize = 1 << 30;

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
pub(crate) fn strides(shape: &[usize]) -> Vec<usize> {
    let mut all = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        all[axis - 1] = all[axis] * shape[axis];
    }
    all
}

/// Elements from `start` on, by steps per axis of the result. Runs of neighbours are copied whole.
pub(crate) fn gather(x: &Moving<'_>, start: i64, steps: &[i64], shape: &[usize], size: usize) -> Option<Vec<u8>> {
    let mut out = vec![0; elements(shape)?.checked_mul(size)?];
    if out.is_empty() {
        return Some(out);
    }
    check_ends(x.bytes.len() / size, start, steps, shape)?;
    let run = neighbours(steps, shape);
    // a row is what lies together, or the last axis
    let (axes, row, step) = match run {
        (axes, elements) if elements > 1 || axes == 0 => (axes, elements, 1),
        (axes, _) => (axes - 1, shape[axes - 1], steps[axes - 1] as isize),
    };
    let mut rows = Rows::new(&shape[..axes], &steps[..axes], start);
    for to in out.chunks_exact_mut(row * size) {
        let at = rows.at as usize * size;
        match step {
            1 => to.copy_from_slice(&x.bytes[at..at + to.len()]),
            _ => strided(to, &x.bytes, at, step * size as isize, size),
        }
        rows.advance();
    }
    Some(out)
}

/// Nothing, if the first or the last element along some axes lies outside.
fn check_ends(count: usize, start: i64, steps: &[i64], shape: &[usize]) -> Option<()> {
    let (mut least, mut most) = (start, start);
    for (step, extent) in steps.iter().zip(shape) {
        let end = step.checked_mul(i64::try_from(extent - 1).ok()?)?;
        least = least.checked_add(end.min(0))?;
        most = most.checked_add(end.max(0))?;
    }
    (least >= 0 && usize::try_from(most).ok()? < count).then_some(())
}

/// How many axes lead up to elements that lie together, and how many these are.
fn neighbours(steps: &[i64], shape: &[usize]) -> (usize, usize) {
    let (mut axes, mut run) = (shape.len(), 1);
    while axes > 0 && (shape[axes - 1] == 1 || steps[axes - 1] == run as i64) {
        axes -= 1;
        run *= shape[axes];
    }
    (axes, run)
}

/// Elements that are `step` bytes apart, from byte `at` on. Build scripts are compiled without optimisation, where
/// plain indices are fast and calls are not.
fn strided(to: &mut [u8], from: &[u8], at: usize, step: isize, size: usize) {
    let (mut own, mut other, end) = (0, at, to.len());
    while own < end {
        let mut byte = 0;
        while byte < size {
            to[own + byte] = from[other + byte];
            byte += 1;
        }
        own += size;
        other = other.wrapping_add_signed(step);
    }
}

/// A walk over the rows of a tensor, and where they begin in another.
struct Rows<'s> {
    shape: &'s [usize],
    steps: &'s [i64],
    index: Vec<usize>,
    at: i64,
}

impl<'s> Rows<'s> {
    fn new(shape: &'s [usize], steps: &'s [i64], at: i64) -> Self {
        Rows { shape, steps, index: vec![0; shape.len()], at }
    }

    fn advance(&mut self) {
        let mut axis = self.shape.len();
        while axis > 0 {
            axis -= 1;
            self.index[axis] += 1;
            self.at += self.steps[axis];
            if self.index[axis] < self.shape[axis] {
                return;
            }
            self.at -= self.steps[axis] * self.shape[axis] as i64;
            self.index[axis] = 0;
        }
    }
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
    let before: Option<Vec<usize>> = before.iter().map(|n| usize::try_from(n.as_const()?).ok()).collect();
    padded(args.first()?, &before?, shape, args.get(1)?.bytes.get(..size)?)
}

/// A tensor inside of a greater one, from an index on, with one element all around.
pub(crate) fn padded(x: &Moving<'_>, before: &[usize], shape: &[usize], fill: &[u8]) -> Option<Vec<u8>> {
    let mut out = fill.repeat(elements(shape)?);
    if x.bytes.is_empty() {
        return Some(out);
    }
    let to: Vec<i64> = strides(shape).into_iter().map(|stride| stride as i64).collect();
    let first = before.iter().zip(&to).map(|(n, stride)| *n as i64 * stride).sum();
    let (outer, row) = x.shape.split_last().map_or((&[][..], 1), |(row, outer)| (outer, *row));
    let mut rows = Rows::new(outer, &to[..outer.len()], first);
    for from in x.bytes.chunks_exact(row * fill.len()) {
        let at = usize::try_from(rows.at).ok()? * fill.len();
        out.get_mut(at..at + from.len())?.copy_from_slice(from);
        rows.advance();
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `gather` gives, element by element.
    fn one_by_one(x: &[u8], start: i64, steps: &[i64], shape: &[usize], size: usize) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        for position in 0..elements(shape)? {
            let own = strides(shape);
            let along = (0..shape.len()).map(|axis| (position / own[axis] % shape[axis]) as i64 * steps[axis]);
            let at = usize::try_from(start + along.sum::<i64>()).ok()? * size;
            out.extend_from_slice(x.get(at..at + size)?);
        }
        Some(out)
    }

    #[test]
    fn rows_runs_and_elements_are_gathered_alike() {
        let bytes: Vec<u8> = (0..=255).collect();
        let cases: [(i64, &[i64], &[usize]); 11] = [
            (0, &[], &[]),
            (3, &[1], &[5]),
            (9, &[-2], &[4]),
            (0, &[6, 1], &[2, 6]),
            (0, &[1, 6], &[6, 2]),
            (1, &[8, 2, 1], &[2, 3, 2]),
            (0, &[1, 0], &[3, 4]),
            (2, &[9, 1, 3], &[1, 3, 3]),
            (5, &[7, 1, 1], &[2, 1, 1]),
            (0, &[4, 1], &[0, 3]),
            (30, &[-10, 1], &[3, 2]),
        ];
        for size in [1, 2, 4, 8] {
            for (start, steps, shape) in cases {
                let x = Moving { shape: vec![bytes.len() / size], bytes: Cow::Borrowed(&bytes) };
                let expected = one_by_one(&bytes, start, steps, shape, size);
                assert_eq!(gather(&x, start, steps, shape, size), expected, "{start} {steps:?} {shape:?} {size}");
            }
        }
    }

    #[test]
    fn what_lies_outside_is_refused() {
        let x = Moving { shape: vec![6], bytes: Cow::Borrowed(&[0; 6]) };
        for (start, steps, shape) in [(0, [1], [7]), (2, [-1], [4]), (-1, [1], [2]), (5, [i64::MAX], [3])] {
            assert_eq!(gather(&x, start, &steps, &shape, 1), None, "{start} {steps:?} {shape:?}");
        }
    }

    #[test]
    fn padding_surrounds() {
        let x = Moving { shape: vec![2, 2], bytes: Cow::Borrowed(&[1, 2, 3, 4]) };
        let expected = vec![9, 9, 9, 9, 1, 2, 9, 3, 4, 9, 9, 9];
        assert_eq!(padded(&x, &[1, 1], &[4, 3], &[9]), Some(expected));
        let scalar = Moving { shape: vec![], bytes: Cow::Borrowed(&[7, 8]) };
        assert_eq!(padded(&scalar, &[], &[], &[0, 0]), Some(vec![7, 8]));
        let none = Moving { shape: vec![0], bytes: Cow::Borrowed(&[]) };
        assert_eq!(padded(&none, &[1], &[2], &[5]), Some(vec![5, 5]));
    }
}
