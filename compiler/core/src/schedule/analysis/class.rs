//! What kind of block a block is.

use std::collections::BTreeSet;

use tenfold_ir::tir::{Block, BufId, BufUse, Expr, ExprId, IterKind, Param, Stmt, VarId};

use super::access::{accesses, uses_var};
use crate::schedule::edit::State;
use crate::schedule::error::Refusal;
use crate::schedule::tree;

/// What kind of block a block is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::schedule) enum Class {
    /// Every instance writes elements of its own, reads none of them, and may run at any time and again.
    Complete,
    /// An init, and a body that accumulates into elements over the reduce iterators.
    Reduction,
    /// The same, the init being elsewhere.
    Update,
}

/// The buffers that live inside a block.
pub(in crate::schedule) fn private(block: &Block) -> BTreeSet<BufId> {
    tree::allocated(&Stmt::Block(Box::new(block.clone())))
}

/// The class of a block, or why it has none.
pub(in crate::schedule) fn class_of(state: &State<'_>, block: &Block) -> Result<Class, Refusal> {
    let name = &block.name;
    if let Some(iter) = block.iters.iter().find(|i| i.kind == IterKind::Ordered) {
        let iter = state.name(iter.var);
        let text = format!("`{iter}` of block `{name}` runs in order");
        return Refusal::err(text, "only blocks whose instances may run in any order can be moved");
    }
    let body = Stmt::Block(Box::new(block.clone()));
    if tree::any(&body, &|s| matches!(s, Stmt::Block(b) if !b.matches.is_empty())) {
        return Refusal::err(format!("block `{name}` views buffers"), "schedule it before `tensorize` or `blockize`");
    }
    if tree::any(&body, &|s| matches!(s, Stmt::Assert { .. } | Stmt::Barrier(_))) {
        return Refusal::err(format!("block `{name}` checks or waits"), "only what blocks compute can be moved");
    }
    let found = accesses(state.module, &state.b.func().exprs, &body);
    if let Some(call) = found.writes.iter().find(|a| a.index.is_none()) {
        let text =
            format!("block `{name}` passes `{}` to a function that may write all of it", state.buf_name(call.buf));
        return Refusal::err(text, "schedule the function that is called");
    }
    let own = private(block);
    let (reads, writes) = (found.read_bufs(), found.written_bufs());
    let mut both = reads.intersection(&writes).filter(|b| !own.contains(b));
    let reduces = block.iters.iter().any(|i| i.kind == IterKind::Reduce);
    if reduces || block.init.is_some() {
        return accumulates(state, block);
    }
    match both.next() {
        None => written_by_spatial(state, block).map(|()| Class::Complete),
        Some(buf) => Refusal::err(
            format!("block `{name}` reads and writes `{}`", state.buf_name(*buf)),
            "only a block that writes what it does not read, or a reduction, can be moved",
        ),
    }
}

/// Each spatial iterator of a block must choose the elements it writes.
fn written_by_spatial(state: &State<'_>, block: &Block) -> Result<(), Refusal> {
    let own = private(block);
    let body = Stmt::Block(Box::new(block.clone()));
    let found = accesses(state.module, &state.b.func().exprs, &body);
    for write in found.writes.iter().filter(|a| !own.contains(&a.buf)) {
        let index = write.index.as_deref().unwrap_or(&[]);
        for iter in block.iters.iter().filter(|i| i.kind == IterKind::Spatial) {
            let one = state.int(iter.extent).as_const() == Some(1);
            if !one && !index.iter().any(|i| uses_var(&state.b.func().exprs, *i, iter.var)) {
                let (iter, buf) = (state.name(iter.var), state.buf_name(write.buf));
                let text = format!("block `{}` writes the same elements of `{buf}` for every `{iter}`", block.name);
                return Refusal::err(text, "give every spatial iterator a place in the index that is written");
            }
        }
    }
    Ok(())
}

fn accumulates(state: &State<'_>, block: &Block) -> Result<Class, Refusal> {
    let name = &block.name;
    let no = |what: &str| {
        let text = format!("block `{name}` {what}");
        Refusal::err(text, "a reduction block is `init { t[i] = unit } do { t[i] = op(t[i], value) }`")
    };
    let Stmt::Store { buf, index, value, .. } = block.body.bare() else {
        return no("has a reduce iterator or an init, and does more than accumulate");
    };
    let exprs = &state.b.func().exprs;
    for iter in block.iters.iter().filter(|i| i.kind == IterKind::Reduce) {
        if index.iter().any(|i| uses_var(exprs, *i, iter.var)) {
            return no(&format!("writes elements that depend on its reduce iterator `{}`", state.name(iter.var)));
        }
    }
    written_by_spatial(state, block)?;
    if !reads_only_itself(state, *buf, index, *value) {
        return no(&format!("reads elements of `{}` other than the one it accumulates", state.buf_name(*buf)));
    }
    let Some(init) = &block.init else { return Ok(Class::Update) };
    match init.bare() {
        Stmt::Store { buf: b, index: i, value: v, .. } if b == buf && i == index => {
            let of_reduce = |it: &&tenfold_ir::tir::IterVar| it.kind == IterKind::Reduce && uses_var(exprs, *v, it.var);
            match block.iters.iter().find(of_reduce) {
                Some(iter) => no(&format!("starts at a value of its reduce iterator `{}`", state.name(iter.var))),
                None => Ok(Class::Reduction),
            }
        }
        _ => no("starts another element than it accumulates"),
    }
}

/// Whether `value` loads from `buf` at `index` only.
fn reads_only_itself(state: &State<'_>, buf: BufId, index: &[ExprId], value: ExprId) -> bool {
    let stmt = Stmt::Evaluate(value);
    let found = accesses(state.module, &state.b.func().exprs, &stmt);
    found.reads.iter().filter(|a| a.buf == buf).all(|a| a.index.as_deref() == Some(index))
}

/// Refuses a block that is not complete.
pub(in crate::schedule) fn require_complete(state: &State<'_>, block: &Block) -> Result<(), Refusal> {
    match class_of(state, block)? {
        Class::Complete => Ok(()),
        Class::Reduction | Class::Update => Refusal::err(
            format!("block `{}` is a reduction", block.name),
            "only a block that writes each element once can be inlined",
        ),
    }
}

/// The parameters that a call of the function leaves written.
pub(in crate::schedule) fn outputs_of(state: &State<'_>) -> BTreeSet<BufId> {
    let written = |p: &Param| match p {
        Param::Buffer(buf, BufUse::Out | BufUse::InOut) => Some(*buf),
        Param::Buffer(_, BufUse::In) | Param::Value(_) | Param::Workspace => None,
    };
    state.b.func().params.iter().filter_map(written).collect()
}

/// The iterators that an index names, if each axis is one iterator of its own or a constant.
pub(in crate::schedule) fn spatial_index(
    state: &State<'_>,
    block: &Block,
    index: &[ExprId],
) -> Option<Vec<Option<VarId>>> {
    let mut seen = BTreeSet::new();
    let axis = |e: &ExprId| match state.b.func().exprs.get(*e) {
        Expr::Var(var) if block.iters.iter().any(|i| i.var == *var) && seen.insert(*var) => Some(Some(*var)),
        Expr::Index(_) => Some(None),
        _ => None,
    };
    index.iter().map(axis).collect()
}
