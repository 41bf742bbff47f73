//! Nests of one block: loops that each drive one iterator, and nothing else in them.

use std::collections::BTreeMap;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::tir::{Block, Expr, ExprId, IterKind, LoopKind, Stmt, VarId, Viewer};

use super::edit::State;
use super::error::Refusal;
use super::tree;

/// A block and the loops around it, one for each iterator.
pub(super) struct Nest {
    pub block: Block,
    /// The outermost loop.
    pub top: VarId,
}

/// The nest of a block, or why it is none.
pub(super) fn nest_of(state: &State<'_>, name: &str) -> Result<Nest, Refusal> {
    let block = state.get_block(name)?.clone();
    let loops = state.loops_of(name);
    let no = |what: String| {
        Refusal::err(what, "do this while every iterator of the block still has one loop of its own around it")
    };
    if let Some(predicate) = block.predicate {
        let _ = predicate;
        return no(format!("block `{name}` has a predicate"));
    }
    if loops.len() != block.iters.len() {
        let (loops, iters) = (loops.len(), block.iters.len());
        return no(format!("block `{name}` has {iters} iterators, and {loops} loops are around it"));
    }
    let mut driven: BTreeMap<VarId, VarId> = BTreeMap::new();
    for iter in &block.iters {
        match state.b.func().exprs.get(iter.value) {
            Expr::Var(var) if loops.contains(var) && !driven.contains_key(var) => driven.insert(*var, iter.var),
            _ => return no(format!("iterator `{}` of block `{name}` is not driven by one loop", state.name(iter.var))),
        };
    }
    let Some(top) = loops.first().copied() else { return no(format!("there is no loop around block `{name}`")) };
    let mut here = &state.get_loop(top)?.stmt();
    let mut kinds = Vec::new();
    loop {
        match here {
            Stmt::For { var, min, extent, kind, body, .. } => {
                kinds.push(*kind);
                if state.int(*min) != IntExpr::from(0) {
                    return no(format!("a loop around block `{name}` does not begin at 0"));
                }
                if !goes_round(state, &block, driven.get(var), *extent) {
                    return no(format!("a loop around block `{name}` runs for a part of an iterator alone"));
                }
                here = body.bare();
            }
            Stmt::Block(inner) if inner.name == name => break,
            _ => return no(format!("the loops around block `{name}` hold something else, too")),
        }
    }
    if kinds.iter().any(|kind| !matches!(kind, LoopKind::Serial | LoopKind::Reduction)) {
        return no(format!("a loop around block `{name}` is not serial any more"));
    }
    Ok(Nest { block, top })
}

/// Whether a loop of this extent drives all of an iterator.
fn goes_round(state: &State<'_>, block: &Block, iter: Option<&VarId>, extent: ExprId) -> bool {
    let prover = Viewer::new(state.b.func()).prover;
    let whole = block.iters.iter().find(|i| Some(&i.var) == iter).map(|i| state.int(i.extent));
    whole.is_some_and(|whole| prover.prove_le(&whole, &state.int(extent)))
}

/// The loops and the block over iterators of these extents; the block's body names the iterators.
pub(super) fn build(
    state: &mut State<'_>,
    name: &str,
    iters: &[(VarId, ExprId, IterKind)],
    init: Option<Stmt>,
    body: Stmt,
) -> Stmt {
    state.b.scope(|b| b.nest(name, iters, init, body)).0
}

/// Puts a statement in the place of the nest.
pub(super) fn put(state: &mut State<'_>, top: VarId, stmt: Stmt) -> Result<(), Refusal> {
    state.edit_loop(top, |_, _| stmt)
}

/// A new variable in the place of an iterator, and the map to it.
pub(super) fn renamed(state: &mut State<'_>, block: &Block) -> BTreeMap<VarId, VarId> {
    let names: Vec<(VarId, String)> = block.iters.iter().map(|i| (i.var, state.name(i.var))).collect();
    names.into_iter().map(|(var, name)| (var, state.b.index_var(&name))).collect()
}

/// The map as expressions.
pub(super) fn reads(state: &mut State<'_>, map: &BTreeMap<VarId, VarId>) -> BTreeMap<VarId, ExprId> {
    map.iter().map(|(from, to)| (*from, state.b.read(*to))).collect()
}

/// The one block of a nest under this name.
pub(super) fn named(mut stmt: Stmt, name: &str) -> Stmt {
    if let Some(block) = tree::outer_blocks_mut(&mut stmt).into_iter().next() {
        block.name = name.to_string();
    }
    stmt
}
