//! What `compute_inline` and `reverse_compute_inline` share: blocks that are one store.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::tir::{Block, BufId, Builder, ExprId, IterKind, Stmt, VarId};

use super::analysis::{
    accesses, class_of, exprs_of, loads_in, raw_writes, require_complete, spatial_index, vars_of, writers,
};
use super::edit::{State, substitute_expr};
use super::error::Refusal;
use super::tree;

/// A block that does nothing but store one value.
pub(super) struct OneStore {
    pub buf: BufId,
    pub index: Vec<ExprId>,
    pub value: ExprId,
}

/// The store of a complete block, `let`s written out.
pub(super) fn one_store(state: &mut State<'_>, block: &Block) -> Result<OneStore, Refusal> {
    require_complete(state, block)?;
    let mut lets = BTreeMap::new();
    let mut stmt = &block.body;
    loop {
        match stmt.bare() {
            Stmt::Let { var, value, body } => {
                let value = substitute_expr(&mut state.b, &lets, *value);
                lets.insert(*var, value);
                stmt = body;
            }
            Stmt::Store { buf, index, value, .. } => {
                let each = |b: &mut Builder, e: &ExprId| substitute_expr(b, &lets, *e);
                let index = index.iter().map(|e| each(&mut state.b, e)).collect();
                return Ok(OneStore { buf: *buf, index, value: each(&mut state.b, value) });
            }
            _ => {
                let text = format!("block `{}` does more than store one value", block.name);
                return Refusal::err(text, "only a block of one store can be inlined");
            }
        }
    }
}

/// Refuses a buffer that others than `block` write, or that the caller sees.
pub(super) fn only_writer(state: &State<'_>, buf: BufId, block: &str) -> Result<(), Refusal> {
    let name = state.buf_name(buf);
    if !tree::allocated(&state.body).contains(&buf) {
        return Refusal::err(
            format!("`{name}` is seen outside of the function"),
            "take a block that writes a temporary",
        );
    }
    match count_writes(state, buf) {
        1 => Ok(()),
        _ => {
            let others: Vec<String> =
                writers(state, buf).into_iter().filter(|w| w != block).map(|w| format!("`{w}`")).collect();
            let others = if others.is_empty() { "other statements".to_string() } else { others.join(", ") };
            Refusal::err(format!("`{name}` is written by {others} too"), "take a buffer that one block writes")
        }
    }
}

/// How many innermost blocks, or statements beside blocks, write a buffer.
fn count_writes(state: &State<'_>, buf: BufId) -> usize {
    let leaves = tree::all_blocks(&state.body).into_iter().filter(|b| tree::outer_blocks(&b.body).is_empty());
    let writes = |b: &&Block| {
        let stmt = Stmt::Block(Box::new((*b).clone()));
        accesses(state.module, &state.b.func().exprs, &stmt).written_bufs().contains(&buf)
    };
    leaves.filter(writes).count() + usize::from(raw_writes(&state.body).contains(&buf))
}

/// The iterator of each axis, where the index of `buf` is one iterator per axis over all of the axis.
pub(super) fn whole_index(
    state: &State<'_>,
    block: &Block,
    buf: BufId,
    index: &[ExprId],
) -> Result<Vec<Option<VarId>>, Refusal> {
    let (name, buf_name) = (&block.name, state.buf_name(buf));
    let Some(axes) = spatial_index(state, block, index) else {
        let text = format!("block `{name}` does not name `{buf_name}` by one iterator per axis");
        return Refusal::err(text, format!("index `{buf_name}` by iterators of the block, each once"));
    };
    let prover = super::analysis::prover_at(state, &tree::is_block(name));
    for (axis, var) in axes.iter().enumerate() {
        let dim = &state.b.buf(buf).shape[axis];
        let extent = match var {
            Some(var) => block.iters.iter().find(|i| i.var == *var).map(|i| state.int(i.extent)),
            None => Some(1.into()),
        };
        if !extent.is_some_and(|e| prover.prove_eq(&e, dim)) {
            let text = format!("block `{name}` does not range over all of axis {axis} of `{buf_name}`");
            return Refusal::err(text, "let its iterators have the extents of the buffer");
        }
    }
    Ok(axes)
}

/// Refuses a value that names more than the iterators `vars`, parameters of the function and `let`s inside of it.
pub(super) fn closed(state: &State<'_>, block: &Block, value: ExprId) -> Result<(), Refusal> {
    let params = &state.b.func().params;
    let known = |var: &VarId| {
        block.iters.iter().any(|i| i.var == *var) || params.contains(&tenfold_ir::tir::Param::Value(*var))
    };
    match vars_of(&state.b.func().exprs, value).into_iter().find(|v| !known(v)) {
        None => Ok(()),
        Some(var) => {
            let text = format!("block `{}` uses `{}`, which is bound outside of it", block.name, state.name(var));
            Refusal::err(text, "let the block reach loops through its iterators only")
        }
    }
}

/// Refuses a block that names loops of its scope other than by its iterators.
pub(super) fn closed_block(state: &State<'_>, block: &Block) -> Result<(), Refusal> {
    let own: BTreeSet<VarId> = state.loops_of(&block.name).into_iter().collect();
    let mut used = None;
    let mut look = |stmt: &Stmt| {
        for e in exprs_of(stmt) {
            let vars = vars_of(&state.b.func().exprs, e);
            used = used.or_else(|| vars.intersection(&own).next().copied());
        }
    };
    block.init.iter().chain([&block.body]).for_each(|s| s.walk(&mut look));
    match used {
        None => Ok(()),
        Some(var) => {
            let text = format!("block `{}` uses its loop `{}` itself", block.name, state.name(var));
            Refusal::err(text, "let the block reach loops through its iterators only")
        }
    }
}

/// Refuses where one of `bufs` does not live around a loop.
pub(super) fn alive_in(state: &State<'_>, bufs: &BTreeSet<BufId>, var: VarId) -> Result<(), Refusal> {
    for buf in bufs {
        let path = tree::path(&state.body, &tree::is_alloc(*buf));
        let Some(Some(alloc)) = path.map(|p| p.last().copied()) else { continue };
        if !tree::any(alloc, &tree::is_loop(var)) {
            let text = format!("`{}` does not live where `{}` runs", state.buf_name(*buf), state.name(var));
            return Refusal::err(text, "move the block that reads it first");
        }
    }
    Ok(())
}

/// Iterators that choose nothing: they are 0.
pub(super) fn unit_iters(state: &mut State<'_>, block: &Block) -> BTreeMap<VarId, ExprId> {
    let zero = state.b.index(0);
    let unit = |i: &&tenfold_ir::tir::IterVar| i.kind == IterKind::Spatial && state.int(i.extent).as_const() == Some(1);
    let vars: Vec<VarId> = block.iters.iter().filter(unit).map(|i| i.var).collect();
    vars.into_iter().map(|v| (v, zero)).collect()
}

/// Refuses where what `block` reads could be gone or changed when it runs later: whoever writes it must come before
/// `block` and leave it alone afterwards.
pub(super) fn reads_last(state: &State<'_>, block: &Block, but: Option<BufId>) -> Result<(), Refusal> {
    let stmt = Stmt::Block(Box::new(block.clone()));
    let found = accesses(state.module, &state.b.func().exprs, &stmt);
    let own = super::analysis::private(block);
    let order = tree::all_blocks(&state.body);
    let place = order.iter().position(|b| b.name == block.name).unwrap_or(0);
    let raw = raw_writes(&state.body);
    for buf in found.read_bufs().into_iter().filter(|b| Some(*b) != but && !own.contains(b)) {
        if raw.contains(&buf) {
            let text = format!("a statement outside of blocks writes `{}`", state.buf_name(buf));
            return Refusal::err(text, "take a block whose inputs blocks write");
        }
        for (n, writer) in order.iter().enumerate().filter(|(n, _)| *n != place) {
            let stmt = Stmt::Block(Box::new((*writer).clone()));
            let encloses = tree::any(&writer.body, &tree::is_block(&block.name));
            let writes = accesses(state.module, &state.b.func().exprs, &stmt).written_bufs().contains(&buf);
            if !writes || encloses {
                continue;
            }
            if n > place || class_of(state, writer).is_err() {
                let (buf, writer) = (state.buf_name(buf), &writer.name);
                let text = format!("block `{writer}` writes `{buf}`, which `{}` reads", block.name);
                return Refusal::err(text, "take a block whose inputs do not change after it");
            }
        }
    }
    Ok(())
}

/// Refuses where a buffer that `value` loads from does not live around all of `blocks`.
pub(super) fn alive_at(state: &State<'_>, value: ExprId, blocks: &[String]) -> Result<(), Refusal> {
    alive(state, loads_in(&state.b.func().exprs, value), blocks)
}

/// Refuses where one of `bufs` does not live around all of `blocks`.
pub(super) fn alive(state: &State<'_>, bufs: BTreeSet<BufId>, blocks: &[String]) -> Result<(), Refusal> {
    for buf in bufs {
        let Some(path) = tree::path(&state.body, &tree::is_alloc(buf)) else {
            continue;
        };
        let Some(alloc) = path.last() else { continue };
        if let Some(outside) = blocks.iter().find(|name| !tree::any(alloc, &tree::is_block(name))) {
            let text = format!("`{}` does not live where `{outside}` runs", state.buf_name(buf));
            return Refusal::err(text, "move the block that writes it first");
        }
    }
    Ok(())
}

/// Takes the allocation of a buffer out, and clears the regions that blocks state of it.
pub(super) fn forget_buffer(state: &mut State<'_>, buf: BufId) {
    remove_alloc(&mut state.body, buf);
    clear_regions(&mut state.body, &[buf]);
}

/// Takes the allocation of a buffer out.
pub(super) fn remove_alloc(stmt: &mut Stmt, buf: BufId) {
    if let Stmt::Alloc { buf: b, body } = stmt
        && *b == buf
    {
        *stmt = std::mem::replace(body, Stmt::Seq(Vec::new()));
        return remove_alloc(stmt, buf);
    }
    if let Stmt::Block(block) = stmt {
        block.allocs.retain(|b| *b != buf);
    }
    stmt.children_mut().into_iter().for_each(|s| remove_alloc(s, buf));
}

/// Empties the regions of every block that states one of a buffer of `bufs`: analysis finds them anew.
pub(super) fn clear_regions(stmt: &mut Stmt, bufs: &[BufId]) {
    if let Stmt::Block(block) = stmt
        && block.reads.iter().chain(&block.writes).any(|r| bufs.contains(&r.buf))
    {
        block.reads.clear();
        block.writes.clear();
    }
    stmt.children_mut().into_iter().for_each(|s| clear_regions(s, bufs));
}
