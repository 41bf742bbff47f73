//! `Materialise`: copies are put where memory could otherwise not be shared as the later passes share it.
//!
//! After it every result and every stored state has a home of its own, and every update may write its
//! destination in place: nothing reads an older value of that memory later.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::arith::IntExpr;
use tenfold_ir::relax::{self, Binding, BlockKind, Op, ParamKind, SliceAxis, TensorType, Type, ValueId};
use tenfold_ir::{Function, Module};

use crate::CompileError;
use crate::homes::{Home, Homes, bindings, updated};
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("Materialise", &materialise)
    .in_phase(PassPhase::Graph)
    .lowering()
    .about("copies where memory could not be shared, so that every update may write in place");

/// Runs on the entry.
pub(crate) fn materialise(module: &mut Module, _: &PassContext) -> Result<(), CompileError> {
    let entry = module.entry.clone();
    if let Some(Function::Relax(func)) = module.functions.get_mut(&entry) {
        strided(func);
        updates(func);
        ends(func);
        // The copies came last and stand before.
        *func = relax::renumbered(func);
    }
    Ok(())
}

/// A copy of `v`: a slice of all of it.
fn copy(func: &mut relax::Function, v: ValueId) -> Binding {
    let data = func.values[v.0 as usize].clone();
    let shape = match &data.ty {
        Type::Tensor(TensorType { shape, .. }) => shape.clone(),
        Type::Tuple(_) | Type::Shape(_) => Vec::new(),
    };
    func.values.push(data);
    let out = ValueId(func.values.len() as u32 - 1);
    let axes = shape.into_iter().map(|extent| SliceAxis { begin: IntExpr::from(0), extent, step: 1 }).collect();
    Binding::new(out, Op::Slice { axes, drop: Vec::new() }, vec![v])
}

/// Copies strided parameters once, so that every kernel but the copy reads dense memory.
fn strided(func: &mut relax::Function) {
    let mut copies = Vec::new();
    for index in 0..func.params.len() {
        if func.params[index].kind != ParamKind::Strided {
            continue;
        }
        let value = func.params[index].value;
        let made = copy(func, value);
        declare_strides(func, index);
        for binding in func.blocks.iter_mut().flat_map(|b| &mut b.bindings) {
            binding.args.iter_mut().filter(|a| **a == value).for_each(|a| *a = made.out);
        }
        func.results.iter_mut().filter(|r| **r == value).for_each(|r| *r = made.out);
        copies.push(made);
    }
    if !copies.is_empty() {
        func.blocks.insert(0, relax::BindingBlock { kind: BlockKind::Dataflow, bindings: copies });
    }
}

fn declare_strides(func: &mut relax::Function, param: usize) {
    let data = &func.values[func.params[param].value.0 as usize];
    let rank = match &data.ty {
        Type::Tensor(t) => t.shape.len(),
        Type::Tuple(_) | Type::Shape(_) => 0,
    };
    let (name, loc) = (data.name.clone(), data.loc);
    for axis in 0..rank {
        // No name of a user holds a dot.
        let sym = tenfold_ir::arith::Sym::new(format!("{name}.stride{axis}"));
        func.syms.push(relax::SymDecl { sym, kind: relax::SymKind::Stride { param, axis }, loc });
    }
}

/// Gives updates whose destination must survive a copy to write to. A copy may keep a state from ending in its own
/// memory, and then earlier updates of it need one too.
fn updates(func: &mut relax::Function) {
    while copy_destinations(func) {}
}

/// Copies each destination that may not be written, given where stored states live now; whether there was any.
fn copy_destinations(func: &mut relax::Function) -> bool {
    let mut memory = Memory::of(func);
    let mut blocks = std::mem::take(&mut func.blocks);
    let mut changed = false;
    let mut position = 0;
    for block in &mut blocks {
        for mut binding in std::mem::take(&mut block.bindings) {
            for operand in updated(&binding.op) {
                if memory.may_update(&binding, operand, position) {
                    continue;
                }
                let made = copy(func, binding.args[operand]);
                binding.args[operand] = made.out;
                memory.last.insert(made.out, position);
                memory.define(&made);
                block.bindings.push(made);
                changed = true;
            }
            memory.define(&binding);
            block.bindings.push(binding);
            position += 1;
        }
    }
    func.blocks = blocks;
    changed
}

/// What is known of memory on the way through a function: one walk, since every question is answered by a map.
struct Memory {
    homes: Homes,
    /// Position of the last binding that reads a value; what a result is, is read behind all.
    last: BTreeMap<ValueId, usize>,
    /// Position of the last binding that takes a part out of a tuple.
    taken: BTreeMap<Home, usize>,
    /// Position of the last read of any value that has lived at a home so far.
    latest: BTreeMap<Home, usize>,
    /// Values whose memory is ours to write: intermediates, and states that end as a value in this very memory.
    ours: BTreeSet<ValueId>,
}

impl Memory {
    fn of(func: &relax::Function) -> Memory {
        let (mut last, mut taken) = (BTreeMap::new(), BTreeMap::new());
        let homes = Homes::new(func);
        let mut ours = BTreeSet::new();
        for (position, binding) in bindings(func).enumerate() {
            match &binding.op {
                // The parts of a call are taken out of it behind it.
                Op::TupleGet(i) => drop(taken.insert((binding.args[0], *i), position)),
                Op::StoreState { param } => ours.extend(kept(func, &homes, *param, binding.args[0])),
                _ => {}
            }
            if !matches!(binding.op, Op::TupleGet(_)) {
                last.extend(binding.args.iter().map(|arg| (*arg, position)));
            }
            if !matches!(binding.op, Op::Const(_)) {
                ours.insert(binding.out);
            }
        }
        last.extend(func.results.iter().map(|result| (*result, usize::MAX)));
        Memory { homes: Homes::default(), last, taken, latest: BTreeMap::new(), ours }
    }

    /// Whether nothing is lost if a binding at a position writes an operand's memory.
    fn may_update(&self, update: &Binding, operand: usize, position: usize) -> bool {
        let home = self.homes.get(update.args[operand]);
        let others = update.args.iter().enumerate().filter(|(at, _)| *at != operand);
        let mut others = others.map(|(_, arg)| self.homes.get(*arg));
        self.ours.contains(&home.0) && self.latest(home) <= position && others.all(|other| other != home)
    }

    fn latest(&self, home: Home) -> usize {
        let root = self.last.get(&home.0).max(self.taken.get(&home)).copied().unwrap_or(0);
        root.max(self.latest.get(&home).copied().unwrap_or(0))
    }

    fn define(&mut self, binding: &Binding) {
        self.homes.define(binding);
        let home = self.homes.get(binding.out);
        let read = self.last.get(&binding.out).copied().unwrap_or(0);
        let latest = self.latest.entry(home).or_insert(0);
        *latest = read.max(*latest);
    }
}

/// The state's own value, if what is stored into it lives in its memory.
fn kept(func: &relax::Function, homes: &Homes, param: usize, stored: ValueId) -> Option<ValueId> {
    let state = func.params[param].value;
    let own = func.params[param].kind == ParamKind::State && homes.get(stored) == (state, 0);
    own.then_some(state)
}

/// Gives results and stored states homes of their own.
fn ends(func: &mut relax::Function) {
    let homes = Homes::new(func);
    let mut taken: BTreeSet<Home> = BTreeSet::new();
    let mut copies = Vec::new();
    let stores: Vec<(usize, ValueId)> = bindings(func)
        .filter_map(|b| match b.op {
            Op::StoreState { param } => Some((param, b.args[0])),
            _ => None,
        })
        .collect();
    for (param, value) in stores {
        let home = homes.get(value);
        let own = (func.params[param].value, 0);
        if home != own && (is_param(func, home) || !taken.insert(home)) {
            let made = copy(func, value);
            replace_store(func, param, made.out);
            copies.push(made);
        }
        taken.insert(own);
    }
    for index in 0..func.results.len() {
        let value = func.results[index];
        let home = homes.get(value);
        if is_param(func, home) || is_const(func, home) || !taken.insert(home) {
            let made = copy(func, value);
            func.results[index] = made.out;
            copies.push(made);
        }
    }
    insert_before_effects(func, copies);
}

fn is_param(func: &relax::Function, home: Home) -> bool {
    func.params.iter().any(|p| p.value == home.0)
}

fn is_const(func: &relax::Function, home: Home) -> bool {
    bindings(func).any(|b| b.out == home.0 && matches!(b.op, Op::Const(_)))
}

fn replace_store(func: &mut relax::Function, param: usize, value: ValueId) {
    for binding in func.blocks.iter_mut().flat_map(|b| &mut b.bindings) {
        if binding.op == (Op::StoreState { param }) {
            binding.args[0] = value;
        }
    }
}

/// Old values of states are copied before anything is stored.
fn insert_before_effects(func: &mut relax::Function, copies: Vec<Binding>) {
    if copies.is_empty() {
        return;
    }
    match func.blocks.iter().position(|b| b.kind == BlockKind::Effect) {
        Some(at) => {
            func.blocks.insert(at, relax::BindingBlock { kind: BlockKind::Dataflow, bindings: copies });
        }
        None => func.blocks.push(relax::BindingBlock { kind: BlockKind::Dataflow, bindings: copies }),
    }
}
