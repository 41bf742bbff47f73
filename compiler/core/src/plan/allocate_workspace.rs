//! `AllocateWorkspace`: memory that a kernel needs for itself becomes a result that nobody reads.
//!
//! Before `PlanMemory`, for every kernel that allocates in scope `global`: the buffer becomes an output, its callers get
//! a tuple and take the old results out of it. So scratch memory has a place in the one workspace for as long as the
//! call runs, and shares bytes with whatever is not alive then.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::relax::{self, Binding, Op, TensorType, Type};
use tenfold_ir::tir::{BufId, BufUse, LoopKind, Param, Phase, PrimFunc, Scope, Stmt, own_accesses};
use tenfold_ir::{Function, Module};

use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("AllocateWorkspace", &allocate_workspace)
    .in_phase(PassPhase::Memory)
    .lowering()
    .about("makes results that nobody reads of memory that kernels need for themselves");

/// What a kernel needs: its index parameters, and the buffers' types over them.
struct Need {
    syms: Vec<Sym>,
    types: Vec<TensorType>,
}

/// Runs on every kernel that relax functions call.
fn allocate_workspace(module: &mut Module, _: &PassContext) -> Result<(), CompileError> {
    let mut needs: BTreeMap<String, Need> = BTreeMap::new();
    for (name, function) in &mut module.functions {
        if let Function::Prim(func) = function
            && !func.exported
            && func.phase < Phase::Flat
            && let Some(need) = hoist(func)
        {
            needs.insert(name.clone(), need);
        }
    }
    for function in module.functions.values_mut() {
        if let Function::Relax(func) = function {
            calls(func, &needs);
        }
    }
    Ok(())
}

/// Makes parameters of the buffers whose size callers know.
fn hoist(func: &mut PrimFunc) -> Option<Need> {
    let syms: Vec<Sym> = func.params.iter().filter_map(|p| index_param(func, p)).collect();
    let mut found: BTreeSet<BufId> = BTreeSet::new();
    func.body.walk(&mut |stmt| {
        if let Stmt::Alloc { buf, .. } = stmt {
            let data = &func.buffers[buf.0 as usize];
            let known = data.shape.iter().all(|d| d.vars().iter().all(|s| syms.contains(s)));
            if data.scope == Scope::Global && data.strides.is_none() && known {
                found.insert(*buf);
            }
        }
    });
    if found.is_empty() {
        return None;
    }
    let mut touched: BTreeSet<BufId> = BTreeSet::new();
    func.body.walk(&mut |s| touched.extend(own_accesses(func, s).into_iter().map(|a| a.buf)));
    let body = in_turn(std::mem::replace(&mut func.body, Stmt::nop()), &found);
    func.body = body.map(&mut |stmt| match stmt {
        Stmt::Alloc { buf, body } if found.contains(&buf) => *body,
        other => other,
    });
    let mut types = Vec::new();
    for buf in found.intersection(&touched).copied() {
        let data = &mut func.buffers[buf.0 as usize];
        data.scope = Scope::Param;
        types.push(TensorType { dtype: data.dtype, shape: data.shape.clone() });
        // Not an output: how much of it is written is the kernel's business.
        func.params.push(Param::Buffer(buf, BufUse::InOut));
    }
    (!types.is_empty()).then_some(Need { syms, types })
}

/// A loop whose turns would all use the one memory that there is runs them in turn.
fn in_turn(body: Stmt, found: &BTreeSet<BufId>) -> Stmt {
    body.map(&mut |stmt| match stmt {
        Stmt::For { var, min, extent, kind: LoopKind::Parallel | LoopKind::Vectorized, annotations, body }
            if body.any(&mut |s| s.allocates().iter().any(|buf| found.contains(buf))) =>
        {
            Stmt::For { var, min, extent, kind: LoopKind::Serial, annotations, body }
        }
        other => other,
    })
}

fn index_param(func: &PrimFunc, param: &Param) -> Option<Sym> {
    match param {
        Param::Value(var) => Some(func.vars[var.0 as usize].sym.clone()),
        Param::Buffer(..) | Param::Workspace => None,
    }
}

/// Lets calls of kernels that need memory have it as further results.
fn calls(func: &mut relax::Function, needs: &BTreeMap<String, Need>) {
    let needs_more = |op: &Op| matches!(op, Op::CallTir { func, .. } if needs.contains_key(func));
    if !func.bindings().any(|b| needs_more(&b.op)) {
        return;
    }
    func.rewrite(|func, binding| {
        let Op::CallTir { func: callee, syms, results, in_place } = &binding.op else { return vec![binding] };
        let Some(need) = needs.get(callee) else { return vec![binding] };
        let to: BTreeMap<Sym, IntExpr> = need.syms.iter().cloned().zip(syms.iter().cloned()).collect();
        let more = need.types.iter().map(|ty| TensorType {
            dtype: ty.dtype,
            shape: ty.shape.iter().map(|d| d.substitute(&|s| to.get(s).cloned())).collect(),
        });
        let all: Vec<TensorType> = results.iter().cloned().chain(more).collect();
        let mut places = in_place.clone();
        places.resize(all.len(), None);
        let ty = Type::Tuple(all.iter().cloned().map(Type::Tensor).collect());
        let single = results.len() == 1;
        let op = Op::CallTir { func: callee.clone(), syms: syms.clone(), results: all, in_place: places };
        if !single {
            func.values[binding.out.0 as usize].ty = ty;
            return vec![Binding::new(binding.out, op, binding.args)];
        }
        let loc = func.values[binding.out.0 as usize].loc;
        let tuple = func.add_value(ty, "", loc);
        vec![Binding::new(tuple, op, binding.args), Binding::new(binding.out, Op::TupleGet(0), vec![tuple])]
    });
    *func = relax::renumbered(func);
}
