//! `EliminateCommonSubexpr`: what is computed twice is computed once.
//!
//! Two bindings are one if op, attributes, operands and type agree; operands of commutative operators in either order.
//! A value of an outer block serves inside regions, never the other way round. Effects, run-time checks, and ops with
//! regions are left alone. Phase: any before kernels are planned. No result changes.

use std::collections::HashMap;

use tenfold_ir::Module;
use tenfold_ir::relax::{Binding, Op, ValueId, op_name};

use super::pattern::commutes;
use super::rewrite::{Rewriter, Visit, rewrite_one};
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("EliminateCommonSubexpr", &eliminate_common_subexpr)
    .in_phase(PassPhase::Graph)
    .at_level(1)
    .about("computes once what is computed twice");

/// Runs on every relax function.
pub(crate) fn eliminate_common_subexpr(module: &mut Module, _: &PassContext) -> Result<(), CompileError> {
    let names: Vec<String> = module.functions.keys().cloned().collect();
    for name in names {
        rewrite_one(module, &name, &mut Seen { scopes: vec![HashMap::new()] });
    }
    Ok(())
}

/// What has been computed, by scope: only looked up, never walked over.
struct Seen {
    scopes: Vec<HashMap<String, ValueId>>,
}

impl Visit for Seen {
    fn binding(&mut self, cx: &mut Rewriter<'_>, binding: &Binding) -> Option<ValueId> {
        if !pure(binding) {
            return None;
        }
        let key = key(cx, binding);
        if let Some(found) = self.scopes.iter().find_map(|scope| scope.get(&key)) {
            return Some(*found);
        }
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(key, binding.out);
        }
        None
    }

    fn enter(&mut self) {
        self.scopes.push(HashMap::new());
    }

    fn leave(&mut self) {
        self.scopes.pop();
    }
}

/// What tells a computation from others.
fn key(cx: &Rewriter<'_>, binding: &Binding) -> String {
    let mut args = binding.args.clone();
    if commutes(op_name(&binding.op)) {
        args.sort();
    }
    format!("{:?} {args:?} {:?}", binding.op, cx.data(binding.out).ty)
}

/// Whether a binding only computes its value.
fn pure(binding: &Binding) -> bool {
    match &binding.op {
        Op::Const(_)
        | Op::Scalar(_)
        | Op::IndexValue { .. }
        | Op::Element(_)
        | Op::Reduce { .. }
        | Op::ArgReduce { .. }
        | Op::MatMul
        | Op::Softmax { .. }
        | Op::LayerNorm { .. }
        | Op::BatchNorm { .. }
        | Op::Reshape { .. }
        | Op::Transpose { .. }
        | Op::BroadcastTo { .. }
        | Op::Concat { .. }
        | Op::Slice { .. }
        | Op::SliceUpdate { .. }
        | Op::Pad { .. }
        | Op::Conv { .. }
        | Op::Pool { .. }
        | Op::Full { .. }
        | Op::Arange { .. }
        | Op::Later { .. }
        | Op::CallDps { .. }
        | Op::ShapeOf
        | Op::Shape { .. }
        | Op::ShapeToTensor
        | Op::TensorToShape
        | Op::Tuple
        | Op::TupleGet(_) => true,
        // A callee may have effects, and a kernel may write in place.
        Op::CallTir { .. }
        | Op::CallFn { .. }
        | Op::CallPacked { .. }
        | Op::If
        | Op::For { .. }
        | Op::While
        | Op::BindIndex(_)
        | Op::MatchShape { .. }
        | Op::Assert { .. }
        | Op::StoreState { .. } => false,
    }
}
