//! `FoldBatchNorm`: a batch norm of a convolution with constant weights becomes part of the weights.
//!
//! `batch_norm(conv(x, W, b))  ->  conv(x, W f, (b - mean) f + bias)` with `f = scale / √(variance + epsilon)`; where
//! these are constants, `FoldConstant` computes the new weights and bias, and the norm costs nothing. Sums of products
//! that were scaled before round elsewhere than the language says, so this is opt-in: `FoldBatchNorm.fast_math`.
//! Without it the norm is taken apart by `SimplifyInference`, its factor is folded, and its elements join the kernel of
//! the convolution. Phase: before `SimplifyInference`.

use tenfold_ir::Module;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::relax::{Binding, ConvLayout, Op, ValueId};

use super::rewrite::{Rewriter, rewrite};
use super::simplify_inference::{batch_factor, binary};
use crate::CompileError;
use crate::pass::{ConfigKey, FlagKey, Pass, PassContext, PassPhase};

/// Whether floats may round elsewhere.
const FAST_MATH: FlagKey = FlagKey {
    name: "FoldBatchNorm.fast_math",
    default: false,
    doc: "whether batch norms become part of weights, which rounds at another place",
};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("FoldBatchNorm", &fold_batch_norm)
    .in_phase(PassPhase::Graph)
    .at_level(1)
    .reads(&[ConfigKey::Flag(&FAST_MATH)])
    .about("makes batch norms part of constant weights of convolutions, where a setting asks for it");

/// Runs on every relax function.
pub(crate) fn fold_batch_norm(module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    if context.flag(&FAST_MATH) {
        rewrite(module, &mut binding);
    }
    Ok(())
}

fn binding(cx: &mut Rewriter<'_>, binding: &Binding) -> Option<ValueId> {
    let Op::BatchNorm { axis: 1, epsilon } = &binding.op else { return None };
    let x = binding.args[0];
    let conv = cx.def(x)?.clone();
    let dtype = cx.dtype(x)?;
    let constant = conv.args.iter().chain(&binding.args).skip(1).filter(|v| **v != x).all(|v| cx.is_constant(*v));
    if !matches!(conv.op, Op::Conv { layout: ConvLayout::PLAIN, .. }) || cx.uses(x) > 1 || !constant || dtype.is_half()
    {
        return None;
    }
    let factor = batch_factor(cx, &binding.args, epsilon.get(), dtype)?;
    let mut wide = vec![IntExpr::from(1); cx.shape(conv.args[1]).len()];
    wide[0] = cx.shape(factor)[0].clone();
    let factors = cx.emit(Op::Reshape { shape: wide }, &[factor])?;
    let weights = binary(cx, BinaryOp::Mul, conv.args[1], factors)?;
    let bias = shifted(cx, &binding.args, conv.args.get(2).copied(), factor)?;
    cx.emit(conv.op, &[conv.args[0], weights, bias])
}

/// `(b - mean) f + bias`, or `bias - mean f`.
fn shifted(cx: &mut Rewriter<'_>, norm: &[ValueId], own: Option<ValueId>, factor: ValueId) -> Option<ValueId> {
    let (bias, mean) = (norm[2], norm[3]);
    match own {
        Some(own) => {
            let apart = binary(cx, BinaryOp::Sub, own, mean)?;
            let scaled = binary(cx, BinaryOp::Mul, apart, factor)?;
            binary(cx, BinaryOp::Add, scaled, bias)
        }
        None => {
            let scaled = binary(cx, BinaryOp::Mul, mean, factor)?;
            binary(cx, BinaryOp::Sub, bias, scaled)
        }
    }
}
