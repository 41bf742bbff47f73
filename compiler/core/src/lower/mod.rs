//! From relax to tir: every operator becomes a prim-func of blocks and a `call_tir`.

pub(crate) mod entry;
mod kernel;
mod kernels;
mod ops;

pub use entry::lower_entry;
pub(crate) use kernel::{Finished, Kernel, tensor_of};
pub(crate) use kernels::Kernels;

use std::collections::BTreeMap;

use tenfold_ir::arith::{Fact, IntExpr};
use tenfold_ir::relax::{self, Binding, Op, Phase, TensorType, ValueId};
use tenfold_ir::{Function, Module};

use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};
use crate::relax_passes::widened;

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("LegalizeOps", &legalize_ops)
    .in_phase(PassPhase::Fusion)
    .lowering()
    .about("makes a prim-func of blocks and a `call_tir` per operator; equal kernels are one prim-func");

/// Scalars that every kernel writes out where it reads them.
pub(crate) type Literals<'f> = BTreeMap<ValueId, &'f Binding>;

/// The pass `LegalizeOps`: from [`Phase::Normalised`] to [`Phase::Legalised`] in every relax function.
///
/// One operator is one kernel; equal kernels are one prim-func. What is computed together is `FuseOps`' business.
pub fn legalize_ops(module: &mut Module, _: &PassContext) -> Result<(), CompileError> {
    let names: Vec<String> = module.functions.keys().cloned().collect();
    let mut kernels = Kernels::default();
    for name in names {
        if let Some(func) = module.relax(&name).cloned() {
            let func = legalize(func, module, &mut kernels)?;
            module.functions.insert(name, Function::Relax(func));
        }
    }
    Ok(())
}

fn legalize(
    mut func: relax::Function,
    module: &mut Module,
    kernels: &mut Kernels,
) -> Result<relax::Function, CompileError> {
    let source = func.clone();
    let literals = literals(&source);
    let narrow = widened::sources(&source);
    let mut here: BTreeMap<ValueId, Vec<Fact>> = BTreeMap::new();
    relax::known_at(&source, &mut |binding, facts| {
        if !facts.is_empty() {
            here.insert(binding.out, facts.to_vec());
        }
    });
    let mut failed = None;
    func.bindings_mut(|binding| match legal(binding, &source) {
        Err(error) => {
            failed.get_or_insert(error);
        }
        Ok(true) => {}
        Ok(false) => {
            let data = &source.values[binding.out.0 as usize];
            let base = if data.name.is_empty() { relax::op_name(&binding.op) } else { &data.name };
            let here = here.get(&binding.out).map(Vec::as_slice).unwrap_or_default();
            let narrower = widened::reading_narrow(binding, &narrow);
            let of = narrower.as_ref().unwrap_or(binding);
            let finished = ops::lower(Kernel::new(&source, &literals, base, of, here), of);
            *binding = call(binding, finished, &source, module, kernels);
        }
    });
    if let Some(error) = failed {
        return Err(error);
    }
    func.phase = Phase::Legalised;
    Ok(func)
}

fn literals(func: &relax::Function) -> Literals<'_> {
    let literal = |b: &&Binding| matches!(b.op, Op::Scalar(_) | Op::IndexValue { .. });
    func.bindings().filter(literal).map(|b| (b.out, b)).collect()
}

/// Whether an operator stays: those do that name memory or order, not work.
fn legal(binding: &Binding, func: &relax::Function) -> Result<bool, CompileError> {
    let loc = func.values[binding.out.0 as usize].loc;
    match &binding.op {
        Op::Const(_)
        | Op::Reshape { .. }
        | Op::CallTir { .. }
        | Op::Tuple
        | Op::TupleGet(_)
        | Op::BindIndex(_)
        | Op::MatchShape { .. }
        | Op::CallDps { .. }
        | Op::CallPacked { .. }
        | Op::Assert { .. }
        | Op::If
        | Op::For { .. }
        | Op::While
        | Op::StoreState { .. } => Ok(true),
        Op::ShapeOf | Op::Shape { .. } | Op::ShapeToTensor | Op::TensorToShape => {
            let name = relax::op_name(&binding.op);
            Err(CompileError::internal(loc, format!("`{name}` was not normalised")))
        }
        Op::Later { name, .. } => {
            Err(CompileError::internal(loc, format!("`{name}` stands for a value that nothing is known of")))
        }
        Op::CallFn { func: callee, .. } => {
            Err(CompileError::internal(loc, format!("the call of `{callee}` was not inlined")))
        }
        Op::Scalar(_)
        | Op::IndexValue { .. }
        | Op::Element(_)
        | Op::Reduce { .. }
        | Op::ArgReduce { .. }
        | Op::MatMul
        | Op::Softmax { .. }
        | Op::LayerNorm { .. }
        | Op::BatchNorm { .. }
        | Op::Transpose { .. }
        | Op::BroadcastTo { .. }
        | Op::Concat { .. }
        | Op::Slice { .. }
        | Op::SliceUpdate { .. }
        | Op::Pad { .. }
        | Op::Conv { .. }
        | Op::Pool { .. }
        | Op::Full { .. }
        | Op::Arange { .. } => Ok(false),
    }
}

fn call(
    binding: &Binding,
    finished: Finished,
    func: &relax::Function,
    module: &mut Module,
    kernels: &mut Kernels,
) -> Binding {
    let ty: TensorType = tensor_of(func, binding.out);
    let base = format!("{}.{}", func.name, finished.prim.name);
    let op = Op::CallTir {
        func: kernels.add(module, &base, finished.prim),
        syms: finished.syms.into_iter().map(IntExpr::var).collect(),
        results: vec![ty],
        in_place: vec![finished.in_place],
    };
    Binding::new(binding.out, op, finished.args)
}
