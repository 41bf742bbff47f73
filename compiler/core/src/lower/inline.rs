//! Which values are written out where they are read instead of being stored.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::relax::{self, Binding, Event, Op, ValueId};

use crate::homes::{Homes, mutable};

/// The decision for a function.
#[derive(Clone, Debug, Default)]
pub struct Inline {
    /// The binding of each inlined value.
    bindings: BTreeMap<ValueId, Binding>,
}

impl Inline {
    /// Decides for every value of `func`.
    pub fn decide(func: &relax::Function) -> Inline {
        let uses = uses(func);
        let homes = Homes::new(func);
        // Inlining moves a read to a later place, where memory that is updated may hold another value.
        let mutable = mutable(func, &homes);
        let crossing = crossing(func);
        let mut bindings = BTreeMap::new();
        for binding in func.bindings() {
            let steady = binding.args.iter().all(|a| !mutable.contains(&homes.get(*a)));
            if steady && inlines(binding, uses.get(&binding.out), func, &uses, &crossing) {
                bindings.insert(binding.out, binding.clone());
            }
        }
        Inline { bindings }
    }

    /// The binding of `v` if it is inlined.
    pub fn get(&self, v: ValueId) -> Option<&Binding> {
        self.bindings.get(&v)
    }

    /// Whether `v` is inlined.
    pub fn contains(&self, v: ValueId) -> bool {
        self.bindings.contains_key(&v)
    }
}

/// How a value is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reader {
    /// Each element at most once per element of the reader: nothing is computed twice.
    Once,
    /// Elements are read again and again: only what costs nothing is inlined.
    Often,
    /// The value itself is needed.
    Stored,
}

/// Readers of every value.
fn uses(func: &relax::Function) -> BTreeMap<ValueId, Vec<Reader>> {
    let mut uses: BTreeMap<ValueId, Vec<Reader>> = BTreeMap::new();
    for binding in func.bindings() {
        for (position, arg) in binding.args.iter().enumerate() {
            uses.entry(*arg).or_default().push(reader(&binding.op, position));
        }
        for result in binding.regions.iter().flat_map(|region| &region.results) {
            uses.entry(*result).or_default().push(Reader::Stored);
        }
    }
    for result in &func.results {
        uses.entry(*result).or_default().push(Reader::Stored);
    }
    for sym in &func.syms {
        if let relax::SymKind::Bound(v) = sym.kind {
            uses.entry(v).or_default().push(Reader::Stored);
        }
    }
    uses
}

/// Values that are read in another region than they are made in: computing them there might repeat them.
fn crossing(func: &relax::Function) -> BTreeSet<ValueId> {
    let mut made: BTreeMap<ValueId, usize> = BTreeMap::new();
    let (mut open, mut count) = (vec![0], 0);
    let mut crossing = BTreeSet::new();
    func.walk(|event| match event {
        Event::Enter(binding) => {
            let here = open.last().copied();
            crossing.extend(binding.args.iter().filter(|arg| made.get(*arg).copied() != here));
            made.insert(binding.out, here.unwrap_or(0));
        }
        Event::Begin(..) => {
            count += 1;
            open.push(count);
        }
        Event::End(..) => drop(open.pop()),
        Event::Leave(_) => {}
    });
    crossing
}

fn reader(op: &Op, position: usize) -> Reader {
    match op {
        Op::Element(_)
        | Op::Reduce { .. }
        | Op::Transpose { .. }
        | Op::Slice { .. }
        | Op::Pad { .. }
        | Op::Concat { .. } => Reader::Once,
        Op::BroadcastTo { .. } | Op::MatMul | Op::Full { .. } => Reader::Often,
        Op::SliceUpdate { .. } if position == 1 => Reader::Once,
        Op::Softmax { .. } | Op::LayerNorm { .. } | Op::ArgReduce { .. } => Reader::Often,
        Op::Conv { .. } | Op::Pool { .. } => Reader::Often,
        Op::SliceUpdate { .. }
        | Op::Const(_)
        | Op::Scalar(_)
        | Op::IndexValue { .. }
        | Op::Reshape { .. }
        | Op::Arange { .. }
        | Op::CallTir { .. }
        | Op::CallFn { .. }
        | Op::CallDps { .. }
        | Op::CallPacked { .. }
        | Op::If
        | Op::For { .. }
        | Op::While
        | Op::ShapeOf
        | Op::Shape { .. }
        | Op::ShapeToTensor
        | Op::TensorToShape
        | Op::Assert { .. }
        | Op::Tuple
        | Op::TupleGet(_)
        | Op::BindIndex(_)
        | Op::MatchShape { .. }
        | Op::Later { .. }
        | Op::StoreState { .. } => Reader::Stored,
    }
}

fn inlines(
    binding: &Binding,
    readers: Option<&Vec<Reader>>,
    func: &relax::Function,
    uses: &BTreeMap<ValueId, Vec<Reader>>,
    crossing: &BTreeSet<ValueId>,
) -> bool {
    let Some(readers) = readers else { return false };
    if readers.contains(&Reader::Stored) {
        return false;
    }
    let constant = matches!(binding.op, Op::Scalar(_) | Op::IndexValue { .. } | Op::Arange { .. });
    if crossing.contains(&binding.out) && !constant {
        return false;
    }
    let free = match &binding.op {
        Op::Scalar(_) | Op::IndexValue { .. } | Op::Arange { .. } => true,
        Op::Full { .. } | Op::BroadcastTo { .. } | Op::Transpose { .. } | Op::Slice { .. } => {
            // Moving data is free where the source is at hand, and so is any number of times.
            binding.args.iter().all(|a| stays_cheap(*a, func, uses))
        }
        _ => false,
    };
    let computed = matches!(binding.op, Op::Element(_) | Op::Pad { .. })
        || matches!(binding.op, Op::Full { .. } | Op::BroadcastTo { .. } | Op::Transpose { .. } | Op::Slice { .. });
    let broadcasts = readers.len() == 1 && readers[0] == Reader::Once && !read_by_broadcast(binding.out, func);
    free || (computed && broadcasts)
}

/// Whether reading `v` again costs a load at most.
fn stays_cheap(v: ValueId, func: &relax::Function, uses: &BTreeMap<ValueId, Vec<Reader>>) -> bool {
    let def = func.bindings().find(|b| b.out == v);
    match def {
        None => true,
        Some(def) => match &def.op {
            Op::Element(_) | Op::Pad { .. } => {
                // It is stored unless its only reader inlines it.
                uses.get(&v).is_some_and(|r| r.len() > 1)
            }
            _ => true,
        },
    }
}

/// Whether the one reader of `v` broadcasts it, and so reads elements more than once.
fn read_by_broadcast(v: ValueId, func: &relax::Function) -> bool {
    let count = |id: ValueId| super::kernel::tensor_of(func, id).shape;
    func.bindings().any(|b| matches!(b.op, Op::Element(_)) && b.args.contains(&v) && count(b.out) != count(v))
}
