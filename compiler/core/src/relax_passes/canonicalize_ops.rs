//! `CanonicalizeOps`: one form for what can be written in several.
//!
//! Operators that are compositions of others take their own name (`maximum(x, 0)` is `relu`), and movements of data
//! that do nothing, or that follow one another, become none or one. Phase: before the operators become kernels. No
//! result changes, not even a sign of zero.

use std::sync::OnceLock;

use tenfold_ir::Module;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::relax::{Binding, Op, SliceAxis, ValueId};

use super::rewrite::{Rewriter, Visit, rewrite_until};
use super::rules::{Apply, Math, On, Rule, Table, rule};
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("CanonicalizeOps", &canonicalize_ops)
    .in_phase(PassPhase::Graph)
    .at_level(1)
    .about("gives compositions their own name, and shortens chains of movements");

/// Compositions with a name of their own.
pub(crate) static RULES: &[Rule] = &[
    rule("relu", "maximum(x, 0)", "relu(x)", On::Number, Math::Exact),
    rule("relu6", "minimum(relu(x), 6)", "relu6(x)", On::Number, Math::Exact),
    rule("clip", "minimum(maximum(x, a:const:scalar), b:const:scalar)", "clip(x, a, b)", On::Number, Math::Exact),
    rule("square", "mul(x, x)", "square(x)", On::Number, Math::Exact),
    rule("silu", "mul(x, sigmoid(x))", "silu(x)", On::Float, Math::Exact),
];

static TABLE: OnceLock<Table> = OnceLock::new();

/// Rounds of the whole function: chains of movements shorten from their end.
const ROUNDS: usize = 4;

/// Runs on every relax function.
pub(crate) fn canonicalize_ops(module: &mut Module, _: &PassContext) -> Result<(), CompileError> {
    rewrite_until(module, ROUNDS, &mut Canonicalize(Apply::new(&TABLE, RULES, false)));
    Ok(())
}

struct Canonicalize(Apply);

impl Visit for Canonicalize {
    fn binding(&mut self, cx: &mut Rewriter<'_>, binding: &Binding) -> Option<ValueId> {
        idle(cx, binding).or_else(|| merged(cx, binding)).or_else(|| self.0.binding(cx, binding))
    }
}

/// The operand, where the op gives it back unchanged.
pub(crate) fn idle(cx: &Rewriter<'_>, binding: &Binding) -> Option<ValueId> {
    let x = *binding.args.first()?;
    let nothing = match &binding.op {
        Op::Reshape { .. } | Op::BroadcastTo { .. } => true,
        Op::Transpose { perm } => perm.iter().enumerate().all(|(i, axis)| i == *axis),
        Op::Concat { .. } => binding.args.len() == 1,
        Op::Slice { axes, drop } => drop.is_empty() && axes.iter().all(whole),
        Op::Pad { before, after, .. } => before.iter().chain(after).all(|n| n.as_const() == Some(0)),
        Op::Reduce { axes, op, .. } => axes.is_empty() && *op != tenfold_ir::op::ReduceOp::Sum,
        _ => false,
    };
    (nothing && cx.same_type(x, binding.out)).then_some(x)
}

/// Whether a part may be the whole axis; the extents decide.
fn whole(axis: &SliceAxis) -> bool {
    axis.begin.as_const() == Some(0) && axis.step == 1
}

/// One movement for two.
fn merged(cx: &mut Rewriter<'_>, binding: &Binding) -> Option<ValueId> {
    let x = *binding.args.first()?;
    let inner = cx.def(x)?.clone();
    let op = match (&binding.op, &inner.op) {
        (Op::Reshape { shape }, Op::Reshape { .. }) => Op::Reshape { shape: shape.clone() },
        (Op::BroadcastTo { shape }, Op::BroadcastTo { .. }) => Op::BroadcastTo { shape: shape.clone() },
        (Op::BroadcastTo { shape }, Op::Full { .. }) => Op::Full { shape: shape.clone() },
        (Op::Reshape { shape }, Op::Full { .. }) => Op::Full { shape: shape.clone() },
        (Op::Transpose { perm }, Op::Transpose { perm: first }) => {
            Op::Transpose { perm: perm.iter().map(|axis| first[*axis]).collect() }
        }
        (Op::Slice { axes, drop }, Op::Slice { axes: first, drop: gone }) if gone.is_empty() => {
            Op::Slice { axes: composed(axes, first), drop: drop.clone() }
        }
        (Op::Slice { axes, drop }, Op::Concat { axis }) if drop.is_empty() => {
            return part_of_concat(cx, axes, *axis, &inner.args);
        }
        _ => return None,
    };
    cx.emit(op, &inner.args[..1])
}

/// The part of a part.
fn composed(axes: &[SliceAxis], first: &[SliceAxis]) -> Vec<SliceAxis> {
    let one = |(outer, inner): (&SliceAxis, &SliceAxis)| SliceAxis {
        begin: &inner.begin + &(&outer.begin * &IntExpr::from(inner.step)),
        extent: outer.extent.clone(),
        step: outer.step * inner.step,
    };
    axes.iter().zip(first).map(one).collect()
}

/// The operand of a concat that a slice cuts out as a whole.
fn part_of_concat(cx: &Rewriter<'_>, axes: &[SliceAxis], axis: usize, parts: &[ValueId]) -> Option<ValueId> {
    let mut begin = IntExpr::from(0);
    for part in parts {
        let shape = cx.shape(*part);
        let extent = shape.get(axis)?.clone();
        let own = |(i, a): (usize, &SliceAxis)| {
            let from = if i == axis { begin.clone() } else { IntExpr::from(0) };
            a.step == 1 && a.begin == from && a.extent == shape[i]
        };
        if axes.iter().enumerate().all(own) {
            return Some(*part);
        }
        begin = &begin + &extent;
    }
    None
}
