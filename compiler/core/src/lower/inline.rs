//! Which values are written out where they are read instead of being stored.

use std::collections::BTreeMap;

use tenfold_ir::relax::{self, Binding, Op, ValueId};

use crate::homes::{Homes, mutable};

/// The decision for a function.
#[derive(Clone, Debug, Default)]
pub struct Inline {
    /// Block and binding of each inlined value.
    places: BTreeMap<ValueId, (usize, usize)>,
}

impl Inline {
    /// Decides for every value of `func`.
    pub fn decide(func: &relax::Function) -> Inline {
        let uses = uses(func);
        let homes = Homes::new(func);
        // Inlining moves a read to a later place, where memory that is updated may hold another value.
        let mutable = mutable(func, &homes);
        let mut places = BTreeMap::new();
        for (b, block) in func.blocks.iter().enumerate() {
            for (i, binding) in block.bindings.iter().enumerate() {
                let steady = binding.args.iter().all(|a| !mutable.contains(&homes.get(*a)));
                if steady && inlines(binding, uses.get(&binding.out), func, &uses) {
                    places.insert(binding.out, (b, i));
                }
            }
        }
        Inline { places }
    }

    /// The binding of `v` if it is inlined.
    pub fn get<'a>(&self, func: &'a relax::Function, v: ValueId) -> Option<&'a Binding> {
        self.places.get(&v).map(|(b, i)| &func.blocks[*b].bindings[*i])
    }

    /// Whether `v` is inlined.
    pub fn contains(&self, v: ValueId) -> bool {
        self.places.contains_key(&v)
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
    for binding in func.blocks.iter().flat_map(|b| &b.bindings) {
        for (position, arg) in binding.args.iter().enumerate() {
            uses.entry(*arg).or_default().push(reader(&binding.op, position));
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
) -> bool {
    let Some(readers) = readers else { return false };
    if readers.contains(&Reader::Stored) {
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
    let def = func.blocks.iter().flat_map(|b| &b.bindings).find(|b| b.out == v);
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
    func.blocks
        .iter()
        .flat_map(|b| &b.bindings)
        .any(|b| matches!(b.op, Op::Element(_)) && b.args.contains(&v) && count(b.out) != count(v))
}
