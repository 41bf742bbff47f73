//! Transposes on both sides of a reshape that takes axes apart, or joins them, as one.
//!
//! A transpose moves data, and a reshape of what lies in order does not. What `ConvertLayout` puts around operators that have no
//! layouts (the pieces of a transposed convolution, of a depth that becomes space) would be moved twice.

use std::ops::Range;

use tenfold_ir::Module;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::relax::{Binding, Op, ValueId};

use super::rewrite::{Rewriter, Visit, rewrite_one};

/// Rounds of a whole function: in a chain of movements two become one in each.
const ROUNDS: usize = 4;

/// Joins those of a function.
pub(super) fn join(module: &mut Module, name: &str) {
    for _ in 0..ROUNDS {
        if !rewrite_one(module, name, &mut Join) {
            return;
        }
    }
}

struct Join;

impl Visit for Join {
    fn binding(&mut self, cx: &mut Rewriter<'_>, binding: &Binding) -> Option<ValueId> {
        let Op::Transpose { perm } = &binding.op else { return None };
        let middle = *binding.args.first()?;
        let reshape = cx.def(middle)?.clone();
        let (Op::Reshape { .. }, [inner]) = (&reshape.op, &reshape.args[..]) else { return None };
        let transpose = cx.def(*inner)?.clone();
        let (Op::Transpose { perm: first }, [x]) = (&transpose.op, &transpose.args[..]) else { return None };
        if cx.uses(middle) != 1 || cx.uses(*inner) != 1 {
            return None;
        }
        let (shape, moved) = (cx.shape(middle).to_vec(), cx.shape(*inner).to_vec());
        if let Some(parts) = parts(&moved, &shape) {
            return apart(cx, (*x, first), &parts, &shape, perm);
        }
        let parts = parts(&shape, &moved)?;
        // Each axis is made of several: these are moved together.
        let perm = perm.iter().flat_map(|axis| parts[*axis].clone()).map(|axis| first[axis]).collect();
        let out = cx.shape(binding.out).to_vec();
        let moved = cx.emit(Op::Transpose { perm }, &[*x])?;
        cx.emit(Op::Reshape { shape: out }, &[moved])
    }
}

/// Axes are taken apart before anything is moved.
fn apart(
    cx: &mut Rewriter<'_>,
    (x, first): (ValueId, &[usize]),
    parts: &[Range<usize>],
    shape: &[IntExpr],
    perm: &[usize],
) -> Option<ValueId> {
    let mut order = Vec::new();
    for axis in 0..first.len() {
        order.extend(parts[first.iter().position(|from| *from == axis)?].clone());
    }
    let fine = order.iter().map(|n| shape[*n].clone()).collect();
    let x = cx.emit(Op::Reshape { shape: fine }, &[x])?;
    let perm: Option<Vec<usize>> = perm.iter().map(|axis| order.iter().position(|n| n == axis)).collect();
    cx.emit(Op::Transpose { perm: perm? }, &[x])
}

/// The axes of the finer shape that each axis of the coarser one consists of; nothing where these are no neighbours.
fn parts(coarse: &[IntExpr], fine: &[IntExpr]) -> Option<Vec<Range<usize>>> {
    let mut at = 0;
    let mut all: Vec<Range<usize>> = Vec::new();
    for extent in coarse {
        let (begin, mut product) = (at, fine.get(at)?.clone());
        at += 1;
        while product != *extent {
            product = &product * fine.get(at)?;
            at += 1;
        }
        all.push(begin..at);
    }
    // Axes of one element behind the last one belong to it.
    let rest = fine[at..].iter().all(|n| n.as_const() == Some(1));
    all.last_mut()?.end = fine.len();
    rest.then_some(all)
}
