//! The calls of a body as a graph: who reads whom, and how.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::Module;
use tenfold_ir::relax::{self, Binding, BindingBlock, Op, Type, ValueId};
use tenfold_ir::tir::OpPattern;

use crate::fuse::pattern::{Kind, kind_of};
use crate::homes::{Home, Homes, mutable};

/// A binding of the body.
pub(crate) struct Node<'b> {
    /// The binding.
    pub binding: &'b Binding,
    /// What it calls, if it is a call of one kernel for one result.
    pub kind: Option<&'b Kind>,
    /// Whether it may run later than where it stands: nothing that it reads is overwritten meanwhile.
    pub movable: bool,
    /// Whether it writes into an operand.
    pub updates: bool,
    /// The nodes that read it, each once, and how.
    pub readers: Vec<(usize, OpPattern)>,
    /// Whether something else reads it.
    pub escapes: bool,
}

/// Kinds of the kernels of a module, each looked at once.
pub(crate) fn kinds(module: &Module) -> BTreeMap<String, Kind> {
    let mut kinds = BTreeMap::new();
    for (name, function) in &module.functions {
        if let tenfold_ir::Function::Prim(prim) = function
            && !prim.exported
        {
            let kind = kind_of(prim);
            let pattern = prim.pattern.unwrap_or(kind.pattern);
            kinds.insert(name.clone(), Kind { pattern, ..kind });
        }
    }
    kinds
}

/// Which values share memory that is written while they may still be read.
pub(crate) struct Memory {
    homes: Homes,
    mutable: BTreeSet<Home>,
}

impl Memory {
    /// Looks at a function.
    pub(crate) fn of(func: &relax::Function) -> Memory {
        let homes = Homes::new(func);
        let mutable = mutable(func, &homes);
        Memory { homes, mutable }
    }

    /// Whether the memory of a value is written while it may still be read.
    pub(crate) fn changes(&self, v: ValueId) -> bool {
        self.mutable.contains(&self.homes.get(v))
    }
}

/// The nodes of a body. `outside` are values that something but its bindings reads; `changes` says of a value whether its
/// memory is written while it may still be read.
pub(crate) fn nodes<'b>(
    func: &relax::Function,
    blocks: &'b [BindingBlock],
    outside: &BTreeSet<ValueId>,
    changes: &dyn Fn(ValueId) -> bool,
    kinds: &'b BTreeMap<String, Kind>,
) -> Vec<Node<'b>> {
    let bindings: Vec<&Binding> = blocks.iter().flat_map(|b| &b.bindings).collect();
    let at: BTreeMap<ValueId, usize> = bindings.iter().enumerate().map(|(n, b)| (b.out, n)).collect();
    let mut nodes: Vec<Node<'_>> = bindings
        .iter()
        .map(|b| Node {
            binding: b,
            kind: kind(func, b, kinds),
            movable: b.args.iter().all(|a| !changes(*a)),
            updates: matches!(&b.op, Op::CallTir { in_place, .. } if in_place.iter().any(Option::is_some)),
            readers: Vec::new(),
            escapes: outside.contains(&b.out),
        })
        .collect();
    for (n, binding) in bindings.iter().enumerate() {
        let kind = nodes[n].kind;
        for (position, arg) in binding.args.iter().enumerate() {
            let how = kind.and_then(|k| k.operands.get(position)).copied().unwrap_or(OpPattern::Opaque);
            if let Some(m) = at.get(arg) {
                read(&mut nodes[*m], n, how);
            }
        }
        // What a region reads, its binding reads.
        for inner in binding.regions.iter().flat_map(inner_reads) {
            if let Some(m) = at.get(&inner) {
                read(&mut nodes[*m], n, OpPattern::Opaque);
            }
        }
    }
    nodes
}

fn read(node: &mut Node<'_>, reader: usize, how: OpPattern) {
    match node.readers.iter_mut().find(|(m, _)| *m == reader) {
        Some((_, pattern)) => *pattern = how.max(*pattern),
        None => node.readers.push((reader, how)),
    }
}

fn inner_reads(region: &relax::Region) -> Vec<ValueId> {
    let inner = relax::bindings_of(&region.blocks).flat_map(|b| {
        let yields = b.regions.iter().flat_map(|r| r.results.iter().copied());
        b.args.iter().copied().chain(yields)
    });
    inner.chain(region.results.iter().copied()).collect()
}

fn kind<'b>(func: &relax::Function, binding: &Binding, kinds: &'b BTreeMap<String, Kind>) -> Option<&'b Kind> {
    match &binding.op {
        Op::CallTir { func: callee, results, .. } if results.len() == 1 => {
            let tensor = matches!(func.values[binding.out.0 as usize].ty, Type::Tensor(_));
            kinds.get(callee).filter(|_| tensor)
        }
        _ => None,
    }
}
