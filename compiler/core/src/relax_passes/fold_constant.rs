//! `FoldConstant`: what depends on constants alone is computed at build time.
//!
//! The reference interpreter computes, so a folded value is the very value that the language gives. It is slow: only
//! where operands and result have at most 1 MB each and the work is small. What `LiftTransformParams` moves by plain
//! loops is moved so here too.
//!
//! A result is folded while it has at most 16 times the bytes of its operands, or at most 64 MB; a table computed from
//! nothing (`arange`, `full`) at most 64 KB, for it costs flash. One value all over stays a `full`, which costs
//! nothing; integers that a product widens as it reads them stay narrow, and so do those of 4 bits. Phase: before the
//! operators become kernels.

use tenfold_ir::eval::Value;
use tenfold_ir::relax::{self, Binding, Builder, Inputs, Op, TensorType, ValueId};
use tenfold_ir::{Module, Scalar};

use super::const_data::may_grow;
use super::lift_transform_params::relaid;
use super::rewrite::{Rewriter, rewrite};
use super::widened;
use crate::CompileError;
use crate::dlight::has_vectors;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("FoldConstant", &fold_constant)
    .in_phase(PassPhase::Graph)
    .at_level(1)
    .about("computes at build time what depends on constants alone");

/// The greatest operand or result of the interpreter, in bytes.
pub(crate) const SMALL: usize = 1 << 20;
/// The greatest table that is computed from no constant at all.
const TABLE: usize = 64 << 10;
/// The most products of a contraction.
const WORK: usize = 1 << 24;
/// How far operands that are no constants themselves (`full`, `broadcast_to`) are followed.
const DEPTH: usize = 8;

/// Runs on every relax function.
pub(crate) fn fold_constant(module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    let kept = widened::kept(module, has_vectors(&context.target));
    rewrite(module, &mut |cx: &mut Rewriter<'_>, b: &Binding| match kept.contains(&(cx.func.name.clone(), b.out)) {
        true => None,
        false => binding(cx, b),
    });
    Ok(())
}

fn binding(cx: &mut Rewriter<'_>, binding: &Binding) -> Option<ValueId> {
    if !computes(&binding.op) || binding.args.is_empty() {
        return None;
    }
    let ty = cx.tensor(binding.out)?.clone();
    let result = bytes(&ty)?;
    let mut inputs = Operands::default();
    binding.args.iter().try_for_each(|arg| inputs.add(cx, *arg, DEPTH))?;
    let allowed = if inputs.constants == 0 { result <= TABLE } else { may_grow(inputs.constants, result) };
    if !allowed || result.max(inputs.largest) > SMALL || work(cx, binding, &ty)? > WORK {
        return None;
    }
    let bytes = match relaid(cx, binding) {
        Some(bytes) => bytes,
        None => interpret(cx, binding)?.to_bytes(),
    };
    let name = cx.data(binding.out).name.clone();
    Some(constant(cx, &name, &ty, bytes))
}

/// Whether an op is worth computing: those that spread one value are free where they are read.
fn computes(op: &Op) -> bool {
    match op {
        Op::Element(_)
        | Op::Reduce { .. }
        | Op::ArgReduce { .. }
        | Op::MatMul
        | Op::Softmax { .. }
        | Op::LayerNorm { .. }
        | Op::BatchNorm { .. }
        | Op::Reshape { .. }
        | Op::Transpose { .. }
        | Op::Concat { .. }
        | Op::Slice { .. }
        | Op::SliceUpdate { .. }
        | Op::Pad { .. }
        | Op::Conv { .. }
        | Op::Pool { .. } => true,
        Op::Const(_)
        | Op::Scalar(_)
        | Op::IndexValue { .. }
        | Op::BroadcastTo { .. }
        | Op::Full { .. }
        | Op::Arange { .. }
        | Op::CallTir { .. }
        | Op::CallFn { .. }
        | Op::CallDps { .. }
        | Op::CallPacked { .. }
        | Op::If
        | Op::For { .. }
        | Op::While
        | Op::ShapeOf
        | Op::Shape { .. }
        | Op::ShapeToTensor
        | Op::TensorToShape
        | Op::Tuple
        | Op::TupleGet(_)
        | Op::BindIndex(_)
        | Op::MatchShape { .. }
        | Op::Assert { .. }
        | Op::Later { .. }
        | Op::StoreState { .. } => false,
    }
}

/// Bytes of a type whose extents are constants.
fn bytes(ty: &TensorType) -> Option<usize> {
    let count = ty.shape.iter().try_fold(1usize, |n, d| n.checked_mul(usize::try_from(d.as_const()?).ok()?))?;
    count.checked_mul(ty.dtype.size_bytes())
}

/// What a value is computed from.
#[derive(Default)]
struct Operands {
    /// Bytes of all constants.
    constants: usize,
    /// Bytes of the largest operand.
    largest: usize,
}

impl Operands {
    /// Adds what `v` is computed from; `None` if that is not known at build time.
    fn add(&mut self, cx: &Rewriter<'_>, v: ValueId, depth: usize) -> Option<()> {
        let own = bytes(cx.tensor(v)?)?;
        self.largest = self.largest.max(own);
        let def = cx.def(v)?;
        match &def.op {
            Op::Const(_) => self.constants += own,
            Op::Scalar(_) => {}
            Op::IndexValue { expr, .. } => drop(expr.as_const()?),
            Op::Arange { start, step, .. } => drop((start.as_const()?, step.as_const()?)),
            Op::Full { .. } | Op::BroadcastTo { .. } if depth > 0 => self.add(cx, def.args[0], depth - 1)?,
            _ => return None,
        }
        Some(())
    }
}

/// Products of a contraction, elements of anything else.
fn work(cx: &Rewriter<'_>, binding: &Binding, ty: &TensorType) -> Option<usize> {
    let count = |v: ValueId| cx.tensor(v).and_then(bytes);
    let result = bytes(ty)?;
    match &binding.op {
        Op::MatMul | Op::Conv { .. } => result.checked_mul(count(binding.args[1])?),
        _ => binding.args.iter().try_fold(result, |n, arg| n.checked_add(count(*arg)?)),
    }
}

/// The binding's value, by the reference interpreter.
fn interpret(cx: &Rewriter<'_>, binding: &Binding) -> Option<Value> {
    let mut b = Builder::new("fold");
    let args: Option<Vec<ValueId>> = binding.args.iter().map(|arg| copy(cx, &mut b, *arg)).collect();
    let out = b.emit(binding.op.clone(), &args?).ok()?;
    let func = b.finish(&[out]);
    relax::eval(cx.module, &func, &Inputs::default()).ok()?.results.pop()
}

fn copy(cx: &Rewriter<'_>, b: &mut Builder, v: ValueId) -> Option<ValueId> {
    let def = cx.def(v)?;
    match def.op {
        Op::Const(id) => Some(b.constant(id, cx.tensor(v)?.clone())),
        Op::Scalar(s) => Some(b.scalar(s)),
        _ => {
            let args: Option<Vec<ValueId>> = def.args.iter().map(|arg| copy(cx, b, *arg)).collect();
            b.emit(def.op.clone(), &args?).ok()
        }
    }
}

/// Bytes as a literal, as one value all over, or as a constant.
pub(crate) fn constant(cx: &mut Rewriter<'_>, name: &str, ty: &TensorType, bytes: Vec<u8>) -> ValueId {
    let size = ty.dtype.size_bytes();
    let first = bytes.get(..size).map(|b| Scalar::from_le_bytes(ty.dtype, b));
    if let Some(first) = first.filter(|_| bytes.chunks(size).all(|each| each == &bytes[..size])) {
        return cx.splat_of(first, &ty.shape);
    }
    let shape: Vec<u64> = ty.shape.iter().filter_map(|d| u64::try_from(d.as_const()?).ok()).collect();
    cx.constant(name, ty.dtype, &shape, bytes)
}
