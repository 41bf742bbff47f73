//! `LiftTransformParams`: constants are laid out at build time as the graph wants them.
//!
//! Transposes, reshapes, slices, joins, padding and conversions of constants become new constants, by plain loops and
//! of any size up to 64 MB; the function then reads weights as it needs them, and the transform costs nothing when it
//! runs. (TVM hands the transforms to a function of their own that the caller runs once; here weights are known when
//! the program is built.) Integers that a product widens as it reads them stay narrow, and so do those of 4 bits.
//! Phase: before the operators become kernels. No result changes: elements are moved, and converted by the same rule
//! as at run time.

use std::borrow::Cow;

use tenfold_ir::eval::{self, Bounded};
use tenfold_ir::op::ElementOp;
use tenfold_ir::relax::{Binding, Op, ValueId};
use tenfold_ir::{DType, Module, Scalar};

use super::const_data::{LAID_OUT, LARGEST, Moving, bytes_of, elements, moved};
use super::fold_constant::constant;
use super::rewrite::{Rewriter, rewrite};
use super::widened;
use crate::CompileError;
use crate::dlight::has_vectors;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("LiftTransformParams", &lift_transform_params)
    .in_phase(PassPhase::Graph)
    .at_level(1)
    .about("lays constants out at build time as the graph wants them");

/// Runs on every relax function.
pub(crate) fn lift_transform_params(module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    let kept = widened::kept(module, has_vectors(&context.target));
    rewrite(module, &mut |cx: &mut Rewriter<'_>, b: &Binding| match kept.contains(&(cx.func.name.clone(), b.out)) {
        true => None,
        false => binding(cx, b),
    });
    Ok(())
}

fn binding(cx: &mut Rewriter<'_>, binding: &Binding) -> Option<ValueId> {
    let ty = cx.tensor(binding.out)?.clone();
    let bytes = relaid(cx, binding)?;
    let name = cx.data(binding.out).name.clone();
    Some(constant(cx, &name, &ty, bytes))
}

/// What a layout or a conversion of constants gives.
pub(super) fn relaid(cx: &Rewriter<'_>, binding: &Binding) -> Option<Vec<u8>> {
    if !transforms(&binding.op) || !has_constant(cx, binding) {
        return None;
    }
    let shape = extents(cx, binding.out)?;
    let size = cx.tensor(binding.out)?.dtype.size_bytes();
    elements(&shape)?.checked_mul(size).filter(|n| *n <= greatest(&binding.op))?;
    let args: Option<Vec<Moving<'_>>> = binding.args.iter().map(|arg| operand(cx, *arg)).collect();
    match &binding.op {
        Op::Element(ElementOp::Cast(to)) => converted(&args?, cx.dtype(binding.args[0])?, *to),
        op => moved(op, &args?, &shape, size),
    }
}

/// The greatest constant that is made: more bytes where elements only change places than where they are more, or others.
fn greatest(op: &Op) -> usize {
    match op {
        Op::Transpose { .. } => LAID_OUT,
        _ => LARGEST,
    }
}

/// Layouts and dtypes; spreading a value over a shape is free where it is read.
fn transforms(op: &Op) -> bool {
    matches!(
        op,
        Op::Reshape { .. }
            | Op::Transpose { .. }
            | Op::Slice { .. }
            | Op::Concat { .. }
            | Op::Pad { .. }
            | Op::Element(ElementOp::Cast(_))
    )
}

fn has_constant(cx: &Rewriter<'_>, binding: &Binding) -> bool {
    binding.args.iter().any(|arg| cx.constant_of(*arg).is_some())
}

fn extents(cx: &Rewriter<'_>, v: ValueId) -> Option<Vec<usize>> {
    cx.fixed(v)?.into_iter().map(|n| usize::try_from(n).ok()).collect()
}

/// The bytes of a constant or of a scalar literal.
fn operand<'c>(cx: &'c Rewriter<'_>, v: ValueId) -> Option<Moving<'c>> {
    let shape = extents(cx, v)?;
    let bytes = match cx.def(v)?.op {
        Op::Scalar(s) => Cow::Owned(s.to_le_bytes()),
        _ => bytes_of(cx.constant_of(v)?)?,
    };
    Some(Moving { shape, bytes })
}

fn converted(args: &[Moving<'_>], from: DType, to: DType) -> Option<Vec<u8>> {
    let cast = |bytes: &[u8]| {
        let scalar = Bounded::exact(Scalar::from_le_bytes(from, bytes));
        eval::element(ElementOp::Cast(to), &[scalar]).value.to_le_bytes()
    };
    Some(args.first()?.bytes.chunks_exact(from.size_bytes()).flat_map(cast).collect())
}
