//! `InlineCalls`: the bodies of called relax functions take the place of the calls, so that one graph is left.
//!
//! A callee's dims become the extents of the arguments, its index parameters the index arguments, its state
//! parameters the arguments' values; what it stores into them comes back after its results.

use std::collections::BTreeMap;

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::relax::{self, Binding, BindingBlock, BlockKind, Op, Phase, SymKind, Type, ValueData, ValueId};
use tenfold_ir::{Function, Module};

use crate::pass::{Pass, PassContext, PassPhase};
use crate::{CompileError, ErrorKind};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("InlineCalls", &inline_calls)
    .in_phase(PassPhase::Import)
    .lowering()
    .about("puts callees' bodies in the place of calls; tuples are gone");

/// Runs on the entry; callees are left for `DeadCodeElimination`.
pub(crate) fn inline_calls(module: &mut Module, _: &PassContext) -> Result<(), CompileError> {
    refuse_run_time_checks(module)?;
    let entry = module.entry.clone();
    if let Some(func) = module.relax(&entry) {
        let func = expand(func, module);
        module.functions.insert(entry, Function::Relax(func));
    }
    Ok(())
}

/// What later passes have no form for yet.
fn refuse_run_time_checks(module: &Module) -> Result<(), CompileError> {
    for name in module.functions.keys() {
        let Some(func) = module.relax(name) else { continue };
        let unsupported = |b: &&Binding| matches!(b.op, Op::MatchShape { .. }) || !b.regions.is_empty();
        if let Some(binding) = func.bindings().find(unsupported) {
            let what = relax::op_name(&binding.op);
            return Err(CompileError {
                kind: ErrorKind::Unsupported,
                loc: func.values[binding.out.0 as usize].loc,
                message: format!("`{what}` that needs a check at run time is not compiled yet"),
                help: Some("state what is known as a fact: `#[tensor_fn(dims(N == M))]`".into()),
            });
        }
    }
    Ok(())
}

fn expand(func: &relax::Function, module: &Module) -> relax::Function {
    let mut out = relax::Function {
        blocks: Vec::new(),
        values: Vec::new(),
        results: Vec::new(),
        phase: Phase::Normalised,
        ..func.clone()
    };
    let mut frame = Frame::default();
    for param in &mut out.params {
        let new = push_value(&mut out.values, func.values[param.value.0 as usize].clone());
        frame.values.insert(param.value, Slot::Value(new));
        param.value = new;
    }
    let mut stores = Vec::new();
    body(func, &mut frame, module, &mut out, &mut stores);
    for sym in &mut out.syms {
        if let SymKind::Bound(v) = sym.kind {
            sym.kind = SymKind::Bound(frame.value(v));
        }
    }
    out.results = func.results.iter().map(|v| frame.value(*v)).collect();
    let effects = stores
        .into_iter()
        .map(|(param, value)| {
            let ty = relax::Type::Tuple(Vec::new());
            let data = ValueData { ty, range: None, ..out.values[value.0 as usize].clone() };
            let marker = push_value(&mut out.values, data);
            Binding::new(marker, Op::StoreState { param }, vec![value])
        })
        .collect::<Vec<_>>();
    if !effects.is_empty() {
        out.blocks.push(BindingBlock { kind: BlockKind::Effect, bindings: effects });
    }
    out
}

fn push_value(values: &mut Vec<ValueData>, data: ValueData) -> ValueId {
    values.push(data);
    ValueId(values.len() as u32 - 1)
}

/// What a value of the function being copied stands for.
#[derive(Clone, Debug)]
enum Slot {
    Value(ValueId),
    Tuple(Vec<Slot>),
}

/// The copy of one function: its values and symbols in terms of the new function's.
#[derive(Default)]
struct Frame {
    values: BTreeMap<ValueId, Slot>,
    syms: BTreeMap<Sym, IntExpr>,
}

impl Frame {
    fn slot(&self, v: ValueId) -> Slot {
        self.values.get(&v).cloned().unwrap_or(Slot::Value(v))
    }

    fn value(&self, v: ValueId) -> ValueId {
        fn first(slot: &Slot, default: ValueId) -> ValueId {
            match slot {
                Slot::Value(v) => *v,
                Slot::Tuple(parts) => parts.first().map_or(default, |p| first(p, default)),
            }
        }
        first(&self.slot(v), v)
    }

    fn int(&self, e: &IntExpr) -> IntExpr {
        if self.syms.is_empty() { e.clone() } else { e.substitute(&|s| self.syms.get(s).cloned()) }
    }

    fn ints(&self, all: &[IntExpr]) -> Vec<IntExpr> {
        all.iter().map(|e| self.int(e)).collect()
    }

    fn data(&self, data: &ValueData) -> ValueData {
        data.map_exprs(&mut |e| self.int(e))
    }

    /// An operator with its integer expressions in the new function's symbols.
    fn op(&self, op: &Op) -> Op {
        op.map_exprs(&mut |e| self.int(e))
    }
}

/// Copies the bindings of `func` into `out`; what it stores into its state goes to `stores`, last value first wins.
fn body(
    func: &relax::Function,
    frame: &mut Frame,
    module: &Module,
    out: &mut relax::Function,
    stores: &mut Vec<(usize, ValueId)>,
) {
    for block in &func.blocks {
        for binding in &block.bindings {
            one(func, binding, frame, module, out, stores);
        }
    }
}

fn one(
    func: &relax::Function,
    binding: &Binding,
    frame: &mut Frame,
    module: &Module,
    out: &mut relax::Function,
    stores: &mut Vec<(usize, ValueId)>,
) {
    match &binding.op {
        Op::Tuple => {
            let parts = binding.args.iter().map(|a| frame.slot(*a)).collect();
            frame.values.insert(binding.out, Slot::Tuple(parts));
        }
        Op::TupleGet(i) => {
            if let Slot::Tuple(parts) = frame.slot(binding.args[0]) {
                frame.values.insert(binding.out, parts[*i].clone());
            } else {
                copy(func, binding, frame, out);
            }
        }
        Op::StoreState { param } => {
            let value = frame.value(binding.args[0]);
            stores.retain(|(p, _)| p != param);
            stores.push((*param, value));
        }
        Op::CallFn { func: callee, syms, .. } => match module.relax(callee) {
            Some(callee) => {
                let args: Vec<ValueId> = binding.args.iter().map(|a| frame.value(*a)).collect();
                let slot = call(callee, &args, &frame.ints(syms), module, out);
                frame.values.insert(binding.out, slot);
            }
            None => copy(func, binding, frame, out),
        },
        _ => copy(func, binding, frame, out),
    }
}

fn copy(func: &relax::Function, binding: &Binding, frame: &mut Frame, out: &mut relax::Function) {
    let args = binding.args.iter().map(|a| frame.value(*a)).collect();
    let op = frame.op(&binding.op);
    let new = push_value(&mut out.values, frame.data(&func.values[binding.out.0 as usize]));
    if out.blocks.is_empty() {
        out.blocks.push(BindingBlock { kind: BlockKind::Dataflow, bindings: Vec::new() });
    }
    out.blocks[0].bindings.push(Binding::new(new, op, args));
    frame.values.insert(binding.out, Slot::Value(new));
}

fn call(
    callee: &relax::Function,
    args: &[ValueId],
    syms: &[IntExpr],
    module: &Module,
    out: &mut relax::Function,
) -> Slot {
    let mut frame = Frame::default();
    for (param, arg) in callee.params.iter().zip(args) {
        frame.values.insert(param.value, Slot::Value(*arg));
    }
    let mut index_args = syms.iter();
    for decl in &callee.syms {
        let value = match decl.kind {
            SymKind::Dim { param, axis } => {
                let at = callee.params.iter().position(|p| p.position == param);
                at.and_then(|i| match &out.values[args[i].0 as usize].ty {
                    Type::Tensor(t) => t.shape.get(axis).cloned(),
                    Type::Tuple(_) | Type::Shape(_) => None,
                })
            }
            SymKind::IndexParam { .. } => index_args.next().cloned(),
            SymKind::Stride { .. } | SymKind::Bound(_) | SymKind::Loop(_) => None,
        };
        if let Some(value) = value {
            frame.syms.insert(decl.sym.clone(), value);
        }
    }
    let mut stores = Vec::new();
    body(callee, &mut frame, module, out, &mut stores);
    let mut slots: Vec<Slot> = callee.results.iter().map(|v| frame.slot(*v)).collect();
    for (index, param) in callee.params.iter().enumerate() {
        if param.kind == relax::ParamKind::State {
            let stored = stores.iter().find(|(p, _)| *p == index).map(|(_, v)| *v);
            slots.push(Slot::Value(stored.unwrap_or(args[index])));
        }
    }
    if slots.len() == 1 { slots.remove(0) } else { Slot::Tuple(slots) }
}
