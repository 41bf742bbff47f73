//! `DynamicToStatic`: extents that are known become constants.
//!
//! A named dim that a fact fixes, or that every caller of a private function gives the same constant for, is that
//! constant in types, operators and ranges. The symbol stays declared, and facts about it stay: they are checked at the
//! call. Shapes of known extents become constants too: `shape_of`, `shape_to_tensor`, an index value that is a
//! constant, and a `match_shape` of the very shape that the operand has. Phase: before the operators become kernels.
//! No result changes.

use std::collections::BTreeMap;

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::relax::{self, Binding, Op, Phase, SymKind, Type, ValueId};
use tenfold_ir::{DType, Function, Module, Scalar};

use super::rewrite::{Rewriter, rewrite};
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("DynamicToStatic", &dynamic_to_static)
    .in_phase(PassPhase::Graph)
    .at_level(1)
    .about("makes extents that facts or callers fix constants");

type Known = BTreeMap<Sym, i64>;

/// Runs on every relax function.
pub(crate) fn dynamic_to_static(module: &mut Module, _: &PassContext) -> Result<(), CompileError> {
    let called = by_callers(module);
    let entry = module.entry.clone();
    for (name, function) in &mut module.functions {
        let Function::Relax(func) = function else { continue };
        if func.phase >= Phase::Legalised {
            continue;
        }
        let mut known = by_facts(func);
        if *name != entry {
            known.extend(called.get(name).cloned().unwrap_or_default());
        }
        fix(func, &known);
    }
    rewrite(module, &mut shapes);
    Ok(())
}

/// Dims that the function's facts leave one value.
fn by_facts(func: &relax::Function) -> Known {
    let prover = relax::prover(func);
    let fixed = |sym: &Sym| match prover.const_bounds(&IntExpr::var(sym.clone())) {
        (Some(lo), Some(hi)) if lo == hi => Some(lo),
        _ => None,
    };
    let dims = func.syms.iter().filter(|s| matches!(s.kind, SymKind::Dim { .. } | SymKind::IndexParam { .. }));
    dims.filter_map(|s| Some((s.sym.clone(), fixed(&s.sym)?))).collect()
}

/// Dims of each function for which all calls give one constant.
fn by_callers(module: &Module) -> BTreeMap<String, Known> {
    let mut given: BTreeMap<String, BTreeMap<Sym, Option<i64>>> = BTreeMap::new();
    for caller in module.functions.values() {
        let Function::Relax(caller) = caller else { continue };
        for binding in caller.bindings() {
            let Op::CallFn { func, .. } = &binding.op else { continue };
            let Some(callee) = module.relax(func) else { continue };
            let seen = given.entry(func.clone()).or_default();
            for (sym, extent) in extents(caller, callee, binding) {
                let one = seen.entry(sym).or_insert(extent);
                *one = one.filter(|n| Some(*n) == extent);
            }
        }
    }
    let known = |dims: BTreeMap<Sym, Option<i64>>| dims.into_iter().filter_map(|(s, n)| Some((s, n?))).collect();
    given.into_iter().map(|(name, dims)| (name, known(dims))).collect()
}

/// The extents that a call gives for the callee's dims; `None` where one is not a constant.
fn extents(caller: &relax::Function, callee: &relax::Function, call: &Binding) -> Vec<(Sym, Option<i64>)> {
    let extent = |kind: &SymKind| {
        let SymKind::Dim { param, axis } = kind else { return None };
        let at = callee.params.iter().position(|p| p.position == *param)?;
        let ty = caller.values[call.args.get(at)?.0 as usize].ty.tensor()?;
        Some(ty.shape.get(*axis).and_then(IntExpr::as_const))
    };
    callee.syms.iter().filter_map(|s| Some((s.sym.clone(), extent(&s.kind)?))).collect()
}

/// Puts constants in the place of dims.
fn fix(func: &mut relax::Function, known: &Known) {
    if known.is_empty() {
        return;
    }
    let mut put = |e: &IntExpr| e.substitute(&|s: &Sym| known.get(s).map(|n| IntExpr::from(*n)));
    for data in &mut func.values {
        *data = data.map_exprs(&mut put);
    }
    func.bindings_mut(|binding| binding.op = binding.op.map_exprs(&mut put));
}

/// Shapes of known extents.
fn shapes(cx: &mut Rewriter<'_>, binding: &Binding) -> Option<ValueId> {
    match &binding.op {
        Op::IndexValue { expr, dtype } => {
            let value = Scalar::int(DType::I64, i128::from(expr.as_const()?));
            let value = tenfold_ir::eval::scalar_ops::cast(*dtype, value);
            Some(cx.scalar(value))
        }
        Op::ShapeOf => {
            let dims = cx.shape(binding.args[0]).to_vec();
            cx.tensor(binding.args[0])?;
            cx.emit(Op::Shape { dims }, &[])
        }
        Op::ShapeToTensor => {
            let Op::Shape { dims } = &cx.def(binding.args[0])?.op else { return None };
            let dims: Option<Vec<i64>> = dims.iter().map(IntExpr::as_const).collect();
            let dims = dims?;
            let bytes = dims.iter().flat_map(|n| n.to_le_bytes()).collect();
            Some(cx.constant("shape", DType::I64, &[dims.len() as u64], bytes))
        }
        Op::MatchShape { shape } => matched(cx, binding, shape),
        _ => None,
    }
}

/// The operand, where its shape is provably the one to match and no symbol is bound by the match.
fn matched(cx: &Rewriter<'_>, binding: &Binding, shape: &[IntExpr]) -> Option<ValueId> {
    let x = binding.args[0];
    let Type::Tensor(ty) = &cx.data(x).ty else { return None };
    let binds = cx.func.syms.iter().any(|s| s.kind == SymKind::Bound(binding.out));
    (!binds && cx.same_shape(&ty.shape, shape)).then_some(x)
}
