//! `InlineCalls`: the bodies of called relax functions take the place of the calls, so that one graph is left.
//!
//! A callee's dims become the extents of the arguments, its index parameters the index arguments, its state
//! parameters the arguments' values; what it stores into them comes back after its results. Tuples are taken apart:
//! what a region takes or gives is a list of tensors. Shapes as values become the integer expressions of their
//! extents, and a `match_shape` the facts that are not proven, each an `assert`.

mod frame;
mod regions;
mod shapes;

use std::collections::BTreeSet;

use tenfold_ir::arith::{IntExpr, Prover, Sym};
use tenfold_ir::relax::{
    self, Binding, BindingBlock, Op, ParamKind, Phase, SymDecl, SymKind, Type, ValueData, ValueId, binding_kind,
};
use tenfold_ir::{Function, Loc, Module};

use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};
use frame::{Frame, Slot};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("InlineCalls", &inline_calls)
    .in_phase(PassPhase::Import)
    .lowering()
    .about("puts callees' bodies in the place of calls; tuples are gone");

/// Runs on the entry; callees are left for `DeadCodeElimination`.
pub(crate) fn inline_calls(module: &mut Module, _: &PassContext) -> Result<(), CompileError> {
    let entry = module.entry.clone();
    if let Some(func) = module.relax(&entry) {
        let func = expand(func, module);
        module.functions.insert(entry, Function::Relax(func));
    }
    Ok(())
}

fn expand(func: &relax::Function, module: &Module) -> relax::Function {
    let mut inliner = Inliner::new(func, module);
    let mut frame = Frame::default();
    for param in &func.params {
        let new = inliner.new_value(func.values[param.value.0 as usize].clone());
        frame.values.insert(param.value, Slot::Value(new));
        inliner.out.params.push(relax::Param { value: new, ..param.clone() });
    }
    let mut stores = Vec::new();
    inliner.body(func, &func.blocks, &mut frame, &mut stores);
    let results = func.results.iter().map(|v| frame.value(*v)).collect();
    inliner.finish(results, stores)
}

/// The function in the making.
struct Inliner<'m> {
    module: &'m Module,
    out: relax::Function,
    /// The blocks of the body being filled: the function's or a region's.
    blocks: Vec<BindingBlock>,
    prover: Prover,
    syms: BTreeSet<Sym>,
}

/// What a function stores into its state: the last value of each parameter.
type Stores = Vec<(usize, ValueId)>;

impl<'m> Inliner<'m> {
    fn new(func: &relax::Function, module: &'m Module) -> Self {
        // Symbols that the body binds are declared where they are bound.
        let known = |decl: &&SymDecl| !matches!(decl.kind, SymKind::Bound(_) | SymKind::Loop(_));
        let syms: Vec<SymDecl> = func.syms.iter().filter(known).cloned().collect();
        let names = syms.iter().map(|decl| decl.sym.clone()).collect();
        let out = relax::Function {
            syms,
            params: Vec::new(),
            blocks: Vec::new(),
            values: Vec::new(),
            results: Vec::new(),
            phase: Phase::Normalised,
            ..func.clone()
        };
        Inliner { module, out, blocks: Vec::new(), prover: relax::prover(func), syms: names }
    }

    fn finish(mut self, results: Vec<ValueId>, stores: Stores) -> relax::Function {
        for (param, value) in stores {
            let data = ValueData { ty: Type::Tuple(Vec::new()), range: None, ..self.data(value).clone() };
            self.emit(Op::StoreState { param }, vec![value], data);
        }
        self.out.results = results;
        self.out.blocks = self.blocks;
        relax::renumbered(&self.out)
    }

    fn new_value(&mut self, data: ValueData) -> ValueId {
        self.out.values.push(data);
        ValueId(self.out.values.len() as u32 - 1)
    }

    fn data(&self, value: ValueId) -> &ValueData {
        &self.out.values[value.0 as usize]
    }

    /// The extents of a tensor.
    fn extents(&self, value: ValueId) -> Vec<IntExpr> {
        self.data(value).ty.tensor().map_or(Vec::new(), |ty| ty.shape.clone())
    }

    /// Appends a binding to a block of its kind.
    fn push(&mut self, binding: Binding) {
        let kind = binding_kind(&binding);
        match self.blocks.last_mut() {
            Some(block) if block.kind == kind => block.bindings.push(binding),
            Some(_) | None => self.blocks.push(BindingBlock { kind, bindings: vec![binding] }),
        }
    }

    fn emit(&mut self, op: Op, args: Vec<ValueId>, data: ValueData) -> ValueId {
        let out = self.new_value(data);
        self.push(Binding::new(out, op, args));
        out
    }

    /// Declares a symbol under a name that is free.
    fn new_sym(&mut self, base: &Sym, kind: SymKind, loc: Loc) -> Sym {
        let numbered = (1..).map(|n| Sym::new(format!("{base}.{n}")));
        let mut names = std::iter::once(base.clone()).chain(numbered);
        let sym = names.find(|sym| !self.syms.contains(sym)).unwrap_or_else(|| base.clone());
        self.syms.insert(sym.clone());
        self.out.syms.push(SymDecl { sym: sym.clone(), kind, loc });
        sym
    }

    /// Copies bindings of `func`; what it stores into its state goes to `stores`.
    fn body(&mut self, func: &relax::Function, blocks: &[BindingBlock], frame: &mut Frame, stores: &mut Stores) {
        for binding in blocks.iter().flat_map(|block| &block.bindings) {
            if let Op::StoreState { param } = &binding.op {
                let value = frame.value(binding.args[0]);
                stores.retain(|(p, _)| p != param);
                stores.push((*param, value));
            } else {
                let slot = self.binding(func, binding, frame);
                frame.values.insert(binding.out, slot);
            }
        }
    }

    fn binding(&mut self, func: &relax::Function, binding: &Binding, frame: &mut Frame) -> Slot {
        match &binding.op {
            Op::Tuple => Slot::Tuple(binding.args.iter().map(|a| frame.slot(*a)).collect()),
            Op::TupleGet(i) => match frame.slot(binding.args[0]) {
                Slot::Tuple(mut parts) if *i < parts.len() => parts.swap_remove(*i),
                Slot::Tuple(_) | Slot::Value(_) | Slot::Shape(_) => self.copy(func, binding, frame),
            },
            Op::CallFn { func: callee, syms, .. } => match self.module.relax(callee) {
                Some(callee) => {
                    let args: Vec<ValueId> = binding.args.iter().map(|a| frame.value(*a)).collect();
                    self.call(callee, &args, &frame.ints(syms))
                }
                None => self.copy(func, binding, frame),
            },
            Op::If => self.branches(func, binding, frame),
            Op::For { .. } | Op::While => self.turns(func, binding, frame),
            Op::ShapeOf | Op::Shape { .. } | Op::ShapeToTensor | Op::TensorToShape => self.shape(func, binding, frame),
            Op::MatchShape { shape } => self.match_shape(func, binding, shape, frame),
            Op::Assert { fact, .. } => {
                let slot = self.copy(func, binding, frame);
                self.prover.assume(fact.substitute(&|s| frame.syms.get(s).cloned()));
                slot
            }
            Op::BindIndex(sym) => {
                let slot = self.copy(func, binding, frame);
                self.bind(sym, &slot, frame);
                slot
            }
            _ => self.copy(func, binding, frame),
        }
    }

    fn copy(&mut self, func: &relax::Function, binding: &Binding, frame: &Frame) -> Slot {
        let args = binding.args.iter().map(|a| frame.value(*a)).collect();
        let data = frame.data(&func.values[binding.out.0 as usize]);
        Slot::Value(self.emit(frame.op(&binding.op), args, data))
    }

    /// A bound symbol under a name of its own: its binding has just been copied.
    fn bind(&mut self, sym: &Sym, slot: &Slot, frame: &mut Frame) {
        let Slot::Value(out) = slot else { return };
        let loc = self.data(*out).loc;
        let new = self.new_sym(sym, SymKind::Bound(*out), loc);
        if let Some((lo, hi)) = &self.data(*out).range {
            self.prover.assume_range(&new, &lo.clone(), &hi.clone());
        }
        if let Some(binding) = self.blocks.last_mut().and_then(|block| block.bindings.last_mut()) {
            binding.op = Op::BindIndex(new.clone());
        }
        frame.syms.insert(sym.clone(), IntExpr::var(new));
    }

    fn call(&mut self, callee: &relax::Function, args: &[ValueId], syms: &[IntExpr]) -> Slot {
        let mut frame = Frame::default();
        for (param, arg) in callee.params.iter().zip(args) {
            frame.values.insert(param.value, Slot::Value(*arg));
        }
        self.call_syms(callee, args, syms, &mut frame);
        let mut stores = Vec::new();
        self.body(callee, &callee.blocks, &mut frame, &mut stores);
        let mut slots: Vec<Slot> = callee.results.iter().map(|v| frame.slot(*v)).collect();
        for (index, param) in callee.params.iter().enumerate() {
            if param.kind == ParamKind::State {
                let stored = stores.iter().find(|(p, _)| *p == index).map(|(_, v)| *v);
                slots.push(Slot::Value(stored.unwrap_or(args[index])));
            }
        }
        if slots.len() == 1 { slots.remove(0) } else { Slot::Tuple(slots) }
    }

    /// A callee's dims and index parameters in the caller's terms.
    fn call_syms(&self, callee: &relax::Function, args: &[ValueId], syms: &[IntExpr], frame: &mut Frame) {
        let mut index_args = syms.iter();
        for decl in &callee.syms {
            let value = match decl.kind {
                SymKind::Dim { param, axis } => {
                    let at = callee.params.iter().position(|p| p.position == param);
                    at.and_then(|i| self.extents(args[i]).get(axis).cloned())
                }
                SymKind::IndexParam { .. } => index_args.next().cloned(),
                SymKind::Stride { .. } | SymKind::Bound(_) | SymKind::Loop(_) => None,
            };
            if let Some(value) = value {
                frame.syms.insert(decl.sym.clone(), value);
            }
        }
    }
}
