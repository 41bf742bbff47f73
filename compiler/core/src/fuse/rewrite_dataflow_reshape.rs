//! `RewriteDataflowReshape`: a kernel that puts every element where it lies already becomes a view.
//!
//! A transposition of axes of extent 1, a slice of everything, … is a `reshape` then, which costs nothing. Runs on
//! legalised graphs, after kernels were joined; does nothing while there are groups to join. What memory needs of its
//! own stays a copy: results, what a loop or a state takes, what is updated in place, and what reads memory that is
//! overwritten.

use std::collections::BTreeSet;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::relax::{self, Binding, Op, Phase, TensorType, ValueId};
use tenfold_ir::tir::{BufId, BufUse, Expr, ExprId, Param, PrimFunc, Stmt, Viewer};
use tenfold_ir::{Function, Module};

use super::ops::graph::Memory;
use super::pattern::whole_value;
use super::stage::Staged;
use crate::CompileError;
use crate::lower::tensor_of;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("RewriteDataflowReshape", &rewrite_dataflow_reshape)
    .in_phase(PassPhase::Fusion)
    .at_level(1)
    .about("makes views of kernels that put every element where it lies already");

/// Runs on every legalised relax function.
fn rewrite_dataflow_reshape(module: &mut Module, _: &PassContext) -> Result<(), CompileError> {
    // A group that is no kernel yet may update what it is given.
    let groups = module.functions.values().any(|f| matches!(f, Function::Relax(f) if f.primitive));
    if groups {
        return Ok(());
    }
    let views: BTreeSet<String> = module
        .functions
        .iter()
        .filter(|(_, f)| matches!(f, Function::Prim(p) if is_reshape(p)))
        .map(|(name, _)| name.clone())
        .collect();
    for function in module.functions.values_mut() {
        if let Function::Relax(func) = function
            && func.phase == Phase::Legalised
            && !func.skip_optimization
        {
            rewrite(func, &views);
        }
    }
    Ok(())
}

fn rewrite(func: &mut relax::Function, views: &BTreeSet<String>) {
    let memory = Memory::of(func);
    let owned = owned(func, views);
    let types: Vec<TensorType> = (0..func.values.len()).map(|v| tensor_of(func, ValueId(v as u32))).collect();
    func.bindings_mut(|binding| {
        if let Some(source) = view(binding, views)
            && !owned.contains(&binding.out)
            && !memory.changes(source)
        {
            let shape = types[binding.out.0 as usize].shape.clone();
            *binding = Binding::new(binding.out, Op::Reshape { shape }, vec![source]);
        }
    });
}

/// What a call of such a kernel is a view of.
fn view(binding: &Binding, views: &BTreeSet<String>) -> Option<ValueId> {
    match (&binding.op, binding.args.as_slice()) {
        (Op::CallTir { func, .. }, [source]) if views.contains(func) => Some(*source),
        _ => None,
    }
}

/// Values whose memory has to be their own, and those that they would be views of.
fn owned(func: &relax::Function, views: &BTreeSet<String>) -> BTreeSet<ValueId> {
    let mut owned: BTreeSet<ValueId> = func.results.iter().copied().collect();
    for binding in func.bindings() {
        owned.extend(binding.regions.iter().flat_map(|r| r.results.iter().copied()));
        let takes = match &binding.op {
            Op::StoreState { .. } | Op::For { .. } | Op::While | Op::CallPacked { .. } | Op::Tuple => true,
            Op::CallTir { in_place, .. } => in_place.iter().any(Option::is_some),
            _ => false,
        };
        if takes {
            owned.extend(binding.args.iter().copied());
        }
    }
    // Backwards, so that a chain of views is followed to its start.
    let all: Vec<&Binding> = func.bindings().collect();
    for binding in all.into_iter().rev() {
        let source = match &binding.op {
            Op::Reshape { .. } | Op::TupleGet(_) => binding.args.first().copied(),
            _ => view(binding, views),
        };
        if owned.contains(&binding.out) {
            owned.extend(source);
        }
    }
    owned
}

/// Whether a kernel writes at every place what it reads at the same one, counted in rows.
fn is_reshape(prim: &PrimFunc) -> bool {
    let buffers: Vec<(BufId, BufUse)> = prim
        .params
        .iter()
        .filter_map(|p| match p {
            Param::Buffer(buf, usage) => Some((*buf, *usage)),
            Param::Value(_) | Param::Workspace => None,
        })
        .collect();
    let [(from, BufUse::In), (to, BufUse::Out)] = buffers[..] else { return false };
    let Some(staged) = Staged::of(prim) else { return false };
    let func = staged.b.func();
    let [stage] = &staged.stages[..] else { return false };
    let (Some(value), Stmt::Store { buf, index, .. }) = (whole_value(func, stage), &stage.body) else { return false };
    let Expr::Load { buf: read, index: at, .. } = func.exprs.get(value) else { return false };
    let (source, target) = (&func.buffers[from.0 as usize], &func.buffers[to.0 as usize]);
    let dense = source.strides.is_none() && target.strides.is_none();
    let mut viewer = Viewer::new(func);
    let size = |shape: &[IntExpr]| shape.iter().fold(IntExpr::from(1), |n, d| &n * d);
    *buf == to
        && *read == from
        && dense
        && size(&source.shape) == size(&target.shape)
        && flat(&mut viewer, at, &source.shape) == flat(&mut viewer, index, &target.shape)
}

fn flat(viewer: &mut Viewer<'_>, index: &[ExprId], shape: &[IntExpr]) -> IntExpr {
    index.iter().zip(shape).fold(IntExpr::from(0), |at, (i, extent)| &(&at * extent) + &viewer.int(*i))
}
