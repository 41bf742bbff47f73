//! From relax to tir: every operator becomes a prim-func of blocks and a `call_tir`.

pub(crate) mod entry;
mod inline;
mod kernel;
mod ops;

pub use entry::lower_entry;
pub use inline::Inline;
pub(crate) use kernel::{Finished, Kernel, tensor_of};

use tenfold_ir::arith::IntExpr;
use tenfold_ir::relax::{self, Binding, BindingBlock, Op, Phase, TensorType};
use tenfold_ir::{Function, Module};

use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("LegalizeOps", &legalize_ops)
    .in_phase(PassPhase::Fusion)
    .lowering()
    .about("makes a prim-func of blocks and a `call_tir` per operator; elementwise producers are written out in their reader");

/// The pass `LegalizeOps`: from [`Phase::Normalised`] to [`Phase::Legalised`] in every relax function.
pub fn legalize_ops(module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    let names: Vec<String> = module.functions.keys().cloned().collect();
    for name in names {
        if let Some(func) = module.relax(&name).cloned() {
            let func = legalize(func, module, context)?;
            module.functions.insert(name, Function::Relax(func));
        }
    }
    Ok(())
}

fn legalize(
    mut func: relax::Function,
    module: &mut Module,
    _context: &PassContext,
) -> Result<relax::Function, CompileError> {
    let inline = Inline::decide(&func);
    let mut blocks = func.blocks.clone();
    legalize_blocks(&mut blocks, &func, &inline, module)?;
    func.blocks = blocks;
    func.phase = Phase::Legalised;
    Ok(func)
}

/// `func` is the function as it was.
fn legalize_blocks(
    blocks: &mut [BindingBlock],
    func: &relax::Function,
    inline: &Inline,
    module: &mut Module,
) -> Result<(), CompileError> {
    for block in blocks {
        let mut bindings = Vec::with_capacity(block.bindings.len());
        for mut binding in std::mem::take(&mut block.bindings) {
            if inline.contains(binding.out) {
                continue;
            }
            for region in &mut binding.regions {
                legalize_blocks(&mut region.blocks, func, inline, module)?;
            }
            bindings.push(legalize_binding(binding, func, inline, module)?);
        }
        block.bindings = bindings;
    }
    Ok(())
}

/// Operators that stay are those that name memory or order, not work.
fn legalize_binding(
    binding: Binding,
    func: &relax::Function,
    inline: &Inline,
    module: &mut Module,
) -> Result<Binding, CompileError> {
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
        | Op::StoreState { .. } => return Ok(binding),
        Op::ShapeOf | Op::Shape { .. } | Op::ShapeToTensor | Op::TensorToShape => {
            let loc = func.values[binding.out.0 as usize].loc;
            let name = relax::op_name(&binding.op);
            return Err(CompileError::internal(loc, format!("`{name}` was not normalised")));
        }
        Op::Later { name, .. } => {
            let loc = func.values[binding.out.0 as usize].loc;
            let mut error = CompileError::internal(loc, format!("`{name}` is not compiled yet"));
            error.kind = crate::ErrorKind::Unsupported;
            return Err(error);
        }
        Op::CallFn { func: callee, .. } => {
            let loc = func.values[binding.out.0 as usize].loc;
            return Err(CompileError::internal(loc, format!("the call of `{callee}` was not inlined")));
        }
        Op::Scalar(_)
        | Op::IndexValue { .. }
        | Op::Element(_)
        | Op::Reduce { .. }
        | Op::ArgReduce { .. }
        | Op::MatMul
        | Op::Softmax { .. }
        | Op::LayerNorm { .. }
        | Op::Transpose { .. }
        | Op::BroadcastTo { .. }
        | Op::Concat { .. }
        | Op::Slice { .. }
        | Op::SliceUpdate { .. }
        | Op::Pad { .. }
        | Op::Conv { .. }
        | Op::Pool { .. }
        | Op::Full { .. }
        | Op::Arange { .. } => {}
    }
    let data = &func.values[binding.out.0 as usize];
    let base = if data.name.is_empty() { relax::op_name(&binding.op).to_string() } else { data.name.clone() };
    let name = module.unique_name(&format!("{}.{base}", func.name));
    let finished = ops::lower(Kernel::new(module, func, inline, &name, &binding), &binding);
    Ok(call(binding, name, finished, func, module))
}

fn call(binding: Binding, name: String, finished: Finished, func: &relax::Function, module: &mut Module) -> Binding {
    let ty: TensorType = tensor_of(func, binding.out);
    module.functions.insert(name.clone(), Function::Prim(finished.prim));
    let op = Op::CallTir {
        func: name,
        syms: finished.syms.into_iter().map(IntExpr::var).collect(),
        results: vec![ty],
        in_place: vec![finished.in_place],
    };
    Binding::new(binding.out, op, finished.args)
}
