//! `PadChannels`: convolutions of 8-bit integers by constants whose channels are no multiple of four get channels of zeros.
//!
//! `conv(x, w)  ->  conv(pad(x, 0), pad(w, 0))`, along the channels of `x`: products of bytes are added four at once where
//! these are neighbours (`TensorizeDots`), and what is added is 0. An image of three channels is what most networks begin
//! with. Where a target has no such sums, nothing changes. Phase: before the operators become kernels, once channels lie last.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::ElementOp;
use tenfold_ir::relax::{Binding, DataLayout, Op, PadMode, Part, ValueId};
use tenfold_ir::{DType, Module, Scalar};

use super::rewrite::{Rewriter, rewrite};
use super::widened::widened_from;
use crate::CompileError;
use crate::dlight::tensorize_dots::{TERMS, has_dots};
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("PadChannels", &pad_channels)
    .in_phase(PassPhase::Graph)
    .at_level(1)
    .about("gives convolutions of 8-bit integers channels of zeros, so that four products are added at once");

/// Runs on every relax function.
pub(crate) fn pad_channels(module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    if has_dots(&context.target) && context.target.little_endian {
        rewrite(module, &mut binding);
    }
    Ok(())
}

fn binding(cx: &mut Rewriter<'_>, binding: &Binding) -> Option<ValueId> {
    let Op::Conv { group: 1, layout, window } = &binding.op else { return None };
    let [x, w] = binding.args[..] else { return None };
    let (x, w) = (bytes(cx, x)?, bytes(cx, w)?);
    if layout.data != DataLayout::ChannelsLast || !is_constant(cx, w) {
        return None;
    }
    let channels = cx.shape(x).last()?.as_const()?;
    let missing = -channels & (TERMS - 1);
    // A product of one channel is a term of its own either way.
    if channels < 2 || missing == 0 {
        return None;
    }
    let kernel = layout.kernel.parts(window.kernel.len());
    let of_weights = kernel.iter().position(|part| *part == Part::Whole(1))?;
    let of_data = cx.shape(x).len() - 1;
    let (x, w) = (padded(cx, x, of_data, missing)?, padded(cx, w, of_weights, missing)?);
    cx.emit(binding.op.clone(), &[x, w])
}

/// What a factor of 32 bits was widened from, if that has 8 bits.
fn bytes(cx: &Rewriter<'_>, x: ValueId) -> Option<ValueId> {
    let source = widened_from(cx, x).filter(|_| cx.dtype(x) == Some(DType::I32))?;
    matches!(cx.dtype(source), Some(DType::I8 | DType::U8)).then_some(source)
}

/// Whether it is known when the program is built: a constant, or one that was moved.
fn is_constant(cx: &Rewriter<'_>, mut x: ValueId) -> bool {
    while let Some(def) = cx.def(x)
        && matches!(def.op, Op::Transpose { .. } | Op::Reshape { .. })
    {
        x = def.args[0];
    }
    cx.is_constant(x)
}

/// With so many zeros behind an axis, in 32 bits.
fn padded(cx: &mut Rewriter<'_>, x: ValueId, axis: usize, count: i64) -> Option<ValueId> {
    let dtype = cx.dtype(x)?;
    let none = vec![IntExpr::from(0); cx.shape(x).len()];
    let mut after = none.clone();
    after[axis] = count.into();
    let zero = cx.scalar(Scalar::zero(dtype));
    let wider = cx.emit(Op::Pad { mode: PadMode::Constant, before: none, after }, &[x, zero])?;
    cx.emit(Op::Element(ElementOp::Cast(DType::I32)), &[wider])
}
