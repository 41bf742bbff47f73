//! `DataflowUseInplaceCalls`: a kernel that computes each element of its result from the same element of an operand
//! which nothing reads afterwards writes into that operand's memory.
//!
//! Runs on legalised graphs before memory is planned, when kernels have their loops. Operands of the user's and
//! constants are never written, nor what a loop carries; results and states are left to the memory plan. What is
//! computed never changes.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::relax::{self, Binding, Event, Op, Phase, ValueId};
use tenfold_ir::tir::{Access, BufId, BufUse, Builder, Expr, ExprId, ExprMap, IterKind, Param, PrimFunc, Stmt};
use tenfold_ir::{Function, Module};

use crate::CompileError;
use crate::homes::Homes;
use crate::lower::tensor_of;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("DataflowUseInplaceCalls", &dataflow_use_inplace_calls)
    .in_phase(PassPhase::Memory)
    .at_level(1)
    .about("lets kernels write into the memory of operands that die with them, where they work element by element");

/// Runs on every legalised relax function.
fn dataflow_use_inplace_calls(module: &mut Module, _: &PassContext) -> Result<(), CompileError> {
    // A group that is no kernel yet may read what it is given more than once.
    if module.functions.values().any(|f| matches!(f, Function::Relax(f) if f.primitive)) {
        return Ok(());
    }
    let names: Vec<String> = module.functions.keys().cloned().collect();
    let mut made: BTreeMap<(String, usize), Option<String>> = BTreeMap::new();
    for name in names {
        let Some(func) = module.relax(&name) else { continue };
        if func.phase != Phase::Legalised || func.primitive || func.skip_optimization {
            continue;
        }
        let mut func = func.clone();
        let dying = dying(&func);
        func.bindings_mut(|binding| {
            for operand in dying.get(&binding.out).into_iter().flatten() {
                if write_in_place(module, binding, *operand, &mut made) {
                    break;
                }
            }
        });
        module.functions.insert(name, Function::Relax(func));
    }
    Ok(())
}

/// For each call, the operands that die there and are like its result, as indices into its arguments.
fn dying(func: &relax::Function) -> BTreeMap<ValueId, Vec<usize>> {
    let homes = Homes::new(func);
    let plain = plain(func);
    let kept = kept(func, &homes);
    let mut last: BTreeMap<ValueId, ValueId> = BTreeMap::new();
    for binding in func.bindings() {
        for arg in &binding.args {
            last.insert(homes.get(*arg).0, binding.out);
        }
    }
    let mut dying = BTreeMap::new();
    for binding in func.bindings().filter(|b| plain.contains(&b.out) && !kept.contains(&homes.get(b.out).0)) {
        let fits = |(n, arg): (usize, &ValueId)| {
            let home = homes.get(*arg).0;
            let once = binding.args.iter().filter(|a| homes.get(**a).0 == home).count() == 1;
            let dies = plain.contains(&home) && !kept.contains(&home) && last.get(&home) == Some(&binding.out);
            (dies && once && tensor_of(func, *arg) == tensor_of(func, binding.out)).then_some(n)
        };
        let operands: Vec<usize> = binding.args.iter().enumerate().filter_map(fits).collect();
        dying.insert(binding.out, operands);
    }
    dying
}

/// Values of calls of one result, outside of branches and loops, where order is time.
fn plain(func: &relax::Function) -> BTreeSet<ValueId> {
    let mut depth = 0_usize;
    let mut plain = BTreeSet::new();
    func.walk(|event| match event {
        Event::Enter(binding) => {
            let call = matches!(&binding.op, Op::CallTir { in_place, .. } if in_place == &[None]);
            if call && depth == 0 {
                plain.insert(binding.out);
            }
        }
        Event::Begin(..) => depth += 1,
        Event::End(..) => depth -= 1,
        Event::Leave(_) => {}
    });
    plain
}

/// Memory that is read where no call stands, or after all of them.
fn kept(func: &relax::Function, homes: &Homes) -> BTreeSet<ValueId> {
    let mut kept: BTreeSet<ValueId> = func.results.iter().map(|v| homes.get(*v).0).collect();
    kept.extend(func.syms.iter().filter_map(|s| match s.kind {
        relax::SymKind::Bound(v) | relax::SymKind::Loop(v) => Some(homes.get(v).0),
        relax::SymKind::Dim { .. } | relax::SymKind::IndexParam { .. } | relax::SymKind::Stride { .. } => None,
    }));
    for binding in func.bindings() {
        kept.extend(binding.regions.iter().flat_map(|r| &r.results).map(|v| homes.get(*v).0));
        if !matches!(binding.op, Op::CallTir { .. } | Op::Reshape { .. }) {
            kept.extend(binding.args.iter().map(|v| homes.get(*v).0));
        }
    }
    // What a region reads may be read in every turn.
    let mut depth = 0_usize;
    func.walk(|event| match event {
        Event::Enter(binding) if depth > 0 => kept.extend(binding.args.iter().map(|v| homes.get(*v).0)),
        Event::Begin(..) => depth += 1,
        Event::End(..) => depth -= 1,
        Event::Enter(_) | Event::Leave(_) => {}
    });
    kept
}

/// Makes a call write into an operand, if its kernel can.
fn write_in_place(
    module: &mut Module,
    binding: &mut Binding,
    operand: usize,
    made: &mut BTreeMap<(String, usize), Option<String>>,
) -> bool {
    let Op::CallTir { func, in_place, .. } = &mut binding.op else { return false };
    let key = (func.clone(), operand);
    if !made.contains_key(&key) {
        let changed = module.prim(func).and_then(|prim| updating(prim, operand));
        let name = changed.map(|prim| {
            let name = module.unique_name(&format!("{func}_inplace"));
            module.functions.insert(name.clone(), Function::Prim(PrimFunc { name: name.clone(), ..prim }));
            name
        });
        made.insert(key.clone(), name);
    }
    let Some(Some(name)) = made.get(&key) else { return false };
    func.clone_from(name);
    *in_place = vec![Some(operand)];
    true
}

/// The kernel with its result in the memory of an operand; `None` where it reads that in any other way than the
/// element that it is about to write.
fn updating(prim: &PrimFunc, operand: usize) -> Option<PrimFunc> {
    let inputs = prim.params.iter().filter_map(|p| match p {
        Param::Buffer(buf, BufUse::In) => Some(*buf),
        Param::Buffer(..) | Param::Value(_) | Param::Workspace => None,
    });
    let from = inputs.collect::<Vec<_>>().get(operand).copied()?;
    let to = prim.params.iter().find_map(|p| match p {
        Param::Buffer(buf, BufUse::Out) => Some(*buf),
        Param::Buffer(..) | Param::Value(_) | Param::Workspace => None,
    })?;
    let stored = only_store(prim, from, to)?;
    let dense = prim.buffers[from.0 as usize].strides.is_none();
    (dense && own_reads(prim, from, &stored)).then(|| replaced(prim, from, to))
}

/// The index of the one store to `to`, in a block of its own that runs once for each element.
fn only_store(prim: &PrimFunc, from: BufId, to: BufId) -> Option<Vec<ExprId>> {
    let mut found = Vec::new();
    let mut others = 0;
    prim.body.walk(&mut |stmt| match stmt {
        Stmt::Block(block) => match &block.body {
            Stmt::Store { buf, index, access: Access::Proven, .. } if *buf == to => {
                found.push((block.iters.clone(), index.clone()));
            }
            _ => {}
        },
        Stmt::Store { buf, .. } if *buf == to || *buf == from => others += 1,
        Stmt::Call { .. } => others += 2,
        _ => {}
    });
    // The walk meets the block's store too.
    let [(iters, index)] = &found[..] else { return None };
    let each = iters.iter().all(|i| {
        let own = index.iter().any(|e| *prim.exprs.get(*e) == Expr::Var(i.var));
        i.kind == IterKind::Spatial && own
    });
    (others == 1 && each).then(|| index.clone())
}

/// Whether `from` is read at `index` alone, by the statement that stores there.
fn own_reads(prim: &PrimFunc, from: BufId, index: &[ExprId]) -> bool {
    let mut fine = true;
    prim.body.walk(&mut |stmt| {
        for id in prim.reachable(stmt.exprs()) {
            if let Expr::Load { buf, index: at, .. } = prim.exprs.get(id)
                && *buf == from
            {
                fine &= matches!(stmt, Stmt::Store { index: stored, .. } if stored == index) && at == index;
            }
        }
    });
    fine
}

fn replaced(prim: &PrimFunc, from: BufId, to: BufId) -> PrimFunc {
    let mut func = prim.clone();
    func.params.retain(|p| *p != Param::Buffer(to, BufUse::Out));
    for param in &mut func.params {
        if *param == Param::Buffer(from, BufUse::In) {
            *param = Param::Buffer(to, BufUse::InOut);
        }
    }
    let body = std::mem::replace(&mut func.body, Stmt::nop());
    let mut b = Builder::resume(func);
    let mut loads = ExprMap::new(|b: &mut Builder, id: ExprId| match b.func().exprs.get(id).clone() {
        Expr::Load { buf, index, access } if buf == from => b.load(to, index, access),
        _ => id,
    });
    let body = loads.stmt(&mut b, body);
    b.push(body);
    let func = b.finish();
    super::import::cleaned(&func)
}
