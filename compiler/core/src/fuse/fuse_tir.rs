//! `FuseTIR`: every primitive function becomes one prim-func.
//!
//! Its kernels' bodies stand side by side; what one hands to another is a buffer inside, or is written out where it
//! is read. Equal kernels are one. A group that cannot be one kernel after all (an access that can no longer be
//! proven, memory that it would need) is taken apart again: each of its calls stands alone. After it there are no
//! primitive functions.

use std::collections::BTreeMap;

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::relax::{self, Binding, Op, SymKind, ValueId};
use tenfold_ir::tir::unproven;
use tenfold_ir::{Function, Module};

use super::fuse_loops::fused;
use super::merge::{Merged, merge};
use crate::CompileError;
use crate::dlight::{Fit, attention};
use crate::lower::{Kernels, tensor_of};
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("FuseTIR", &fuse_tir)
    .in_phase(PassPhase::Fusion)
    .lowering()
    .about("makes one prim-func of every primitive function; what lies between its kernels becomes part of it");

/// Runs on every relax function that calls primitive functions.
fn fuse_tir(module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    let mut kernels = Kernels::default();
    let mut done: BTreeMap<String, Option<Call>> = BTreeMap::new();
    // Graphs repeat themselves: what a group becomes is worked out once for all of one structure.
    let mut known: BTreeMap<u128, Option<Call>> = BTreeMap::new();
    let groups = |f: &Function| matches!(f, Function::Relax(f) if f.primitive);
    let names: Vec<String> = module.functions.keys().cloned().collect();
    for name in &names {
        let Some(group) = module.relax(name).filter(|f| f.primitive).cloned() else { continue };
        let key = relax::structural_hash(module, &relax::Function { name: String::new(), ..group.clone() });
        let call = match known.get(&key) {
            Some(call) => call.clone(),
            None => sound(module, &group, context).map(|m| {
                let func = kernels.add(module, name, m.prim);
                Call { func, in_place: m.in_place }
            }),
        };
        known.insert(key, call.clone());
        done.insert(name.clone(), call);
    }
    for name in &names {
        if let Some(func) = module.relax(name).filter(|f| !f.primitive).cloned() {
            let func = calls(module, func, &done);
            module.functions.insert(name.clone(), Function::Relax(func));
        }
    }
    module.functions.retain(|_, f| !groups(f));
    Ok(())
}

/// What a group has become.
#[derive(Clone)]
struct Call {
    func: String,
    in_place: Option<usize>,
}

/// The group as one kernel, if every access of it is proven and it needs no memory of its own, or as an attention only
/// some.
fn sound(module: &Module, group: &relax::Function, context: &PassContext) -> Option<Merged> {
    let merged = merge(module, group)?;
    let small = |spilled: usize| spilled == 0 || attention(&merged.prim, context) == Fit::Fits;
    let sound = fused(&merged.prim).is_none_or(|f| small(f.spilled) && unproven(&f.func).is_empty());
    sound.then_some(merged)
}

fn calls(module: &Module, mut func: relax::Function, done: &BTreeMap<String, Option<Call>>) -> relax::Function {
    if !func.bindings().any(|b| matches!(&b.op, Op::CallFn { func, .. } if done.contains_key(func))) {
        return func;
    }
    func.rewrite(|func, binding| {
        let Op::CallFn { func: callee, syms, .. } = &binding.op else { return vec![binding] };
        match done.get(callee) {
            None => vec![binding],
            Some(None) => match module.relax(callee) {
                Some(group) => apart(func, group, syms, &binding),
                None => vec![binding],
            },
            Some(Some(call)) => {
                let results = vec![tensor_of(func, binding.out)];
                let in_place = vec![call.in_place];
                let op = Op::CallTir { func: call.func.clone(), syms: syms.clone(), results, in_place };
                vec![Binding::new(binding.out, op, binding.args)]
            }
        }
    });
    relax::renumbered(&func)
}

/// The bindings of a group in place of its call.
fn apart(func: &mut relax::Function, group: &relax::Function, syms: &[IntExpr], call: &Binding) -> Vec<Binding> {
    let indices = group.syms.iter().filter(|s| matches!(s.kind, SymKind::IndexParam { .. }));
    let to: BTreeMap<Sym, IntExpr> = indices.map(|s| s.sym.clone()).zip(syms.iter().cloned()).collect();
    let mut rename = |e: &IntExpr| e.substitute(&|s| to.get(s).cloned());
    let mut values: BTreeMap<ValueId, ValueId> =
        group.params.iter().map(|p| p.value).zip(call.args.iter().copied()).collect();
    let mut out = Vec::new();
    for binding in group.bindings() {
        let value = if group.results.first() == Some(&binding.out) {
            call.out
        } else {
            let data = &group.values[binding.out.0 as usize];
            func.add_value(data.ty.map_exprs(&mut rename), &data.name, data.loc)
        };
        values.insert(binding.out, value);
        let args = binding.args.iter().map(|a| values.get(a).copied().unwrap_or(*a)).collect();
        let mut op = binding.op.clone();
        if let Op::CallTir { syms, results, .. } = &mut op {
            syms.iter_mut().for_each(|e| *e = rename(e));
            results.iter_mut().flat_map(|ty| &mut ty.shape).for_each(|e| *e = rename(e));
        }
        out.push(Binding::new(value, op, args));
    }
    out
}
