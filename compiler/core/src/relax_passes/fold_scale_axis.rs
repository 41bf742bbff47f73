//! `FoldScaleAxis`: a factor per channel before or behind a product or a convolution moves into constant weights.
//!
//! `(x · W) c  ->  x · (W c)`, `(x c) · W  ->  x · (c W)`, likewise for `conv`; `FoldConstant` then computes the new
//! weights. Integers wrap alike on both sides. Floats round at another place than the language says, beyond the bound
//! of a sum where numbers are subnormal or overflow, so their factors move only with `FoldScaleAxis.fast_math`.
//! Phase: before the operators become kernels.

use std::sync::OnceLock;

use tenfold_ir::Module;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, ElementOp};
use tenfold_ir::relax::{Binding, ConvLayout, Op, ValueId, op_name};

use super::pattern::{Caught, Pattern};
use super::rewrite::{Rewriter, rewrite};
use crate::CompileError;
use crate::pass::{ConfigKey, FlagKey, Pass, PassContext, PassPhase};

/// Floats too.
const FAST_MATH: FlagKey = FlagKey {
    name: "FoldScaleAxis.fast_math",
    default: false,
    doc: "whether factors of floats move, which rounds at another place",
};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("FoldScaleAxis", &fold_scale_axis)
    .in_phase(PassPhase::Graph)
    .at_level(1)
    .reads(&[ConfigKey::Flag(&FAST_MATH)])
    .about("moves factors per channel into constant weights");

/// What is rewritten: the pattern, and the rewriting of what it caught.
type Row = (&'static str, fn(&mut Rewriter<'_>, &Binding, &Caught) -> Option<ValueId>);

const ROWS: &[Row] = &[
    ("mul(m=matmul(x, w:const):once, c:const)", behind_matmul),
    ("mul(m=conv(x, w:const):once, c:const)", behind_conv),
    ("mul(m=conv(x, w:const, b:const):once, c:const)", behind_conv),
    ("matmul(m=mul(x, c:const):once, w:const)", before_matmul),
    ("conv(m=mul(x, c:const):once, w:const)", before_conv),
    ("conv(m=mul(x, c:const):once, w:const, b)", before_conv),
];

fn patterns() -> &'static [(Pattern, Row)] {
    static READ: OnceLock<Vec<(Pattern, Row)>> = OnceLock::new();
    READ.get_or_init(|| ROWS.iter().filter_map(|row| Some((Pattern::parse(row.0).ok()?, *row))).collect())
}

/// Runs on every relax function.
pub(crate) fn fold_scale_axis(module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    let fast = context.flag(&FAST_MATH);
    rewrite(module, &mut |cx: &mut Rewriter<'_>, binding: &Binding| fold(cx, binding, fast));
    Ok(())
}

fn fold(cx: &mut Rewriter<'_>, binding: &Binding, fast: bool) -> Option<ValueId> {
    if cx.dtype(binding.out)?.is_float() && !fast {
        return None;
    }
    patterns().iter().find_map(|(pattern, (_, rewrite))| {
        let caught = pattern.catch_root(cx, op_name(&binding.op), &binding.args)?;
        rewrite(cx, binding, &caught)
    })
}

fn mul(cx: &mut Rewriter<'_>, a: ValueId, b: ValueId) -> Option<ValueId> {
    cx.emit(Op::Element(ElementOp::Binary(BinaryOp::Mul)), &[a, b])
}

/// A factor per element of `axis` of a value of that shape: as it stretches over `rank` axes with that one at `at`.
/// `None` if the factor differs along other axes.
fn factor(
    cx: &mut Rewriter<'_>,
    c: ValueId,
    shape: &[IntExpr],
    axis: usize,
    rank: usize,
    at: usize,
) -> Option<ValueId> {
    if let Some(scalar) = cx.splat(c) {
        return Some(cx.scalar(scalar));
    }
    let own = cx.shape(c).to_vec();
    let lead = shape.len().checked_sub(own.len())?;
    let along = |i: usize, d: &IntExpr| if i + lead == axis { *d == shape[axis] } else { d.as_const() == Some(1) };
    if lead > axis || !own.iter().enumerate().all(|(i, d)| along(i, d)) {
        return None;
    }
    let mut wide = vec![IntExpr::from(1); rank];
    wide[at] = shape[axis].clone();
    cx.emit(Op::Reshape { shape: wide }, &[c])
}

fn behind_matmul(cx: &mut Rewriter<'_>, binding: &Binding, caught: &Caught) -> Option<ValueId> {
    let (x, w, c) = (caught["x"], caught["w"], caught["c"]);
    let (shape, rank) = (cx.shape(caught["m"]).to_vec(), cx.shape(w).len());
    if rank != 2 || !cx.same_type(caught["m"], binding.out) {
        return None;
    }
    let factor = factor(cx, c, &shape, shape.len() - 1, 2, 1)?;
    let scaled = mul(cx, w, factor)?;
    cx.emit(Op::MatMul, &[x, scaled])
}

fn before_matmul(cx: &mut Rewriter<'_>, _: &Binding, caught: &Caught) -> Option<ValueId> {
    let (x, w, c) = (caught["x"], caught["w"], caught["c"]);
    let shape = cx.shape(x).to_vec();
    if cx.shape(w).len() != 2 || shape.is_empty() || !cx.same_type(x, caught["m"]) {
        return None;
    }
    let factor = factor(cx, c, &shape, shape.len() - 1, 2, 0)?;
    let scaled = mul(cx, w, factor)?;
    cx.emit(Op::MatMul, &[x, scaled])
}

fn behind_conv(cx: &mut Rewriter<'_>, binding: &Binding, caught: &Caught) -> Option<ValueId> {
    let (w, c, m) = (caught["w"], caught["c"], caught["m"]);
    let (shape, op) = (cx.shape(m).to_vec(), cx.def(m)?.op.clone());
    if !cx.same_type(m, binding.out) || !matches!(op, Op::Conv { layout: ConvLayout::PLAIN, .. }) {
        return None;
    }
    let weights = factor(cx, c, &shape, 1, shape.len(), 0)?;
    let mut args = vec![caught["x"], mul(cx, w, weights)?];
    if let Some(bias) = caught.get("b") {
        let factor = factor(cx, c, &shape, 1, 1, 0)?;
        args.push(mul(cx, *bias, factor)?);
    }
    cx.emit(op, &args)
}

fn before_conv(cx: &mut Rewriter<'_>, binding: &Binding, caught: &Caught) -> Option<ValueId> {
    let (x, w, c) = (caught["x"], caught["w"], caught["c"]);
    let shape = cx.shape(x).to_vec();
    let Op::Conv { group: 1, layout: ConvLayout::PLAIN, .. } = binding.op else { return None };
    if !cx.same_type(x, caught["m"]) {
        return None;
    }
    let factor = factor(cx, c, &shape, 1, shape.len(), 1)?;
    let mut args = vec![x, mul(cx, w, factor)?];
    args.extend(caught.get("b"));
    cx.emit(binding.op.clone(), &args)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_a_pattern() {
        assert_eq!(patterns().len(), ROWS.len());
    }
}
