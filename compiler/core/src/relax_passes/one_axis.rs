//! Reductions over several axes at the end as reductions over one: what they read lies in order, and vectors are whole over all
//! of it rather than along its last axis.

use tenfold_ir::Module;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::relax::{Binding, Op, ValueId};

use super::rewrite::{Rewriter, Visit, rewrite_one};

/// Elements of a last axis from which what its vectors leave over is little.
const LONG: i64 = 1024;

/// Joins those of a function.
pub(super) fn join(module: &mut Module, name: &str) {
    rewrite_one(module, name, &mut OneAxis);
}

struct OneAxis;

impl Visit for OneAxis {
    fn binding(&mut self, cx: &mut Rewriter<'_>, binding: &Binding) -> Option<ValueId> {
        let Op::Reduce { op, axes, .. } = &binding.op else { return None };
        let x = *binding.args.first()?;
        let shape = cx.shape(x).to_vec();
        // What is computed on the way stays in the shape of what it reads.
        if cx.def(x).is_some_and(|def| matches!(def.op, Op::Element(_) | Op::BroadcastTo { .. })) {
            return None;
        }
        let first = shape.len().checked_sub(axes.len())?;
        let short = shape.last()?.as_const().is_some_and(|n| n < LONG);
        if axes.len() < 2 || !axes.iter().copied().eq(first..shape.len()) || !short {
            return None;
        }
        let (kept, joined) = shape.split_at(first);
        let joined = joined.iter().fold(IntExpr::from(1), |n, extent| &n * extent);
        let shape = kept.iter().cloned().chain([joined]).collect();
        let rows = cx.emit(Op::Reshape { shape }, &[x])?;
        let reduced = cx.emit(Op::Reduce { op: *op, axes: vec![first], keepdims: false }, &[rows])?;
        if cx.same_type(reduced, binding.out) {
            return Some(reduced);
        }
        let shape = cx.shape(binding.out).to_vec();
        cx.emit(Op::Reshape { shape }, &[reduced])
    }
}
