//! `compute_at(block, loop)`: a producer is computed inside a loop of its consumers, only as far as each turn reads.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::arith::Rectangle;
use tenfold_ir::tir::{Block, BufId, IterKind, Stmt, VarId};

use crate::schedule::analysis::{
    Class, accesses, class_of, consumers, private, producers, prover_at, raw_touches, region_of, spatial_index,
};
use crate::schedule::args::{Arg, Args};
use crate::schedule::edit::State;
use crate::schedule::error::Refusal;
use crate::schedule::inline::{alive_in, clear_regions, closed_block, only_writer, reads_last};
use crate::schedule::motion::{Part, insert, renest, same_scope, settle_alloc};
use crate::schedule::table::{Gives, Kind, Outcome, Primitive, optional, required};
use crate::schedule::tree;
use crate::schedule::{LoopRV, Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "compute_at",
    params: &[
        required("block", Kind::Block),
        required("loop", Kind::Loop),
        optional("preserve_unit_loops", Kind::Bool),
    ],
    gives: Gives::Nothing,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// Computes a block inside a loop around all that reads it, as far as each turn of the loop reads.
    pub fn compute_at(&mut self, block: impl Into<Arg>, it: LoopRV) -> Result<(), ScheduleError> {
        self.step("compute_at", vec![block.into(), it.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let (name, var) = (args.block(0), args.loop_var(1));
    compute_at(state, name, var, args.flag(2))?;
    Ok(Vec::new())
}

pub(super) fn compute_at(state: &mut State<'_>, name: &str, var: VarId, unit_loops: bool) -> Result<(), Refusal> {
    let block = state.get_block(name)?.clone();
    same_scope(state, name, var)?;
    movable(state, &block)?;
    let buf = only_buffer(state, &block)?;
    only_writer(state, buf, name)?;
    all_inside(state, buf, name, var)?;
    reads_last(state, &block, None)?;
    let own = private(&block);
    let reads = accesses(state.module, &state.b.func().exprs, &Stmt::Block(Box::new(block.clone()))).read_bufs();
    alive_in(state, &reads.into_iter().filter(|read| *read != buf && !own.contains(read)).collect(), var)?;
    closed_block(state, &block)?;
    let body = state.get_loop(var)?.body;
    let region = region_of(state, &body, buf, false);
    let parts = parts(state, &block, buf, &region)?;
    let prover = prover_at(state, &tree::is_loop(var));
    let new = renest(state, &block, &parts, &prover, unit_loops)?;
    let feeds: BTreeSet<String> = producers(state, name).into_iter().collect();
    let stop: BTreeSet<String> = consumers(state, name).into_iter().collect();
    tree::remove_block(&mut state.body, name);
    insert(state, var, new, &named(&stop), &named(&feeds))?;
    clear_regions(&mut state.body, &[buf]);
    settle_alloc(state, buf);
    Ok(())
}

/// Whether a statement is a block of one of these names.
fn named(names: &BTreeSet<String>) -> impl Fn(&Stmt) -> bool + '_ {
    |s| matches!(s, Stmt::Block(b) if names.contains(&b.name))
}

/// A block that may run elsewhere and again.
fn movable(state: &State<'_>, block: &Block) -> Result<(), Refusal> {
    match class_of(state, block)? {
        Class::Complete | Class::Reduction => Ok(()),
        Class::Update => Refusal::err(
            format!("the init of block `{}` is elsewhere", block.name),
            "move the block before `decompose_reduction`",
        ),
    }
}

fn only_buffer(state: &State<'_>, block: &Block) -> Result<BufId, Refusal> {
    let own = private(block);
    let found = accesses(state.module, &state.b.func().exprs, &Stmt::Block(Box::new(block.clone())));
    let written: Vec<BufId> = found.written_bufs().into_iter().filter(|b| !own.contains(b)).collect();
    match written[..] {
        [buf] => Ok(buf),
        _ => Refusal::err(
            format!("block `{}` writes {} buffers", block.name, written.len()),
            "only a block that writes one buffer can be moved to its readers",
        ),
    }
}

/// Everything that reads the buffer must be inside the loop.
fn all_inside(state: &State<'_>, buf: BufId, name: &str, var: VarId) -> Result<(), Refusal> {
    let inside = state.get_loop(var)?.body;
    let mut found = false;
    for reader in tree::outer_blocks(state.scope_body(name)).into_iter().filter(|b| b.name != name) {
        if !accesses(state.module, &state.b.func().exprs, &Stmt::Block(Box::new(reader.clone()))).touch(buf) {
            continue;
        }
        found = true;
        if !tree::any(&inside, &tree::is_block(&reader.name)) {
            let text =
                format!("block `{}` reads `{}` outside of `{}`", reader.name, state.buf_name(buf), state.name(var));
            return Refusal::err(text, "take a loop around all that reads it");
        }
    }
    if raw_touches(state, buf) {
        let text = format!("a statement outside of blocks reads `{}`", state.buf_name(buf));
        return Refusal::err(text, "take a block that only blocks read");
    }
    if !found {
        let text = format!("no block inside `{}` reads `{}`", state.name(var), state.buf_name(buf));
        return Refusal::err(text, "take a loop around the blocks that read it");
    }
    Ok(())
}

/// What of each iterator's range the region needs.
fn parts(state: &State<'_>, block: &Block, buf: BufId, region: &Rectangle) -> Result<BTreeMap<VarId, Part>, Refusal> {
    let own = Stmt::Block(Box::new(block.clone()));
    let found = accesses(state.module, &state.b.func().exprs, &own);
    let mut all: BTreeMap<VarId, Part> = BTreeMap::new();
    for write in found.writes.iter().filter(|a| a.buf == buf) {
        let index = write.index.as_deref().unwrap_or(&[]);
        let Some(axes) = spatial_index(state, block, index) else { return not_by_iterators(state, block, buf) };
        for (axis, var) in axes.iter().enumerate() {
            let (Some(var), Some(set)) = (var, region.axes.get(axis)) else { continue };
            if !block.iters.iter().any(|i| i.var == *var && i.kind == IterKind::Spatial) {
                continue;
            }
            let (Some(min), Some(extent)) = (set.min().cloned(), set.extent()) else { continue };
            if all.insert(*var, Part { min, extent }).is_some() && found.writes.len() > 1 {
                return not_by_iterators(state, block, buf);
            }
        }
    }
    Ok(all)
}

fn not_by_iterators<T>(state: &State<'_>, block: &Block, buf: BufId) -> Result<T, Refusal> {
    let (name, buf) = (&block.name, state.buf_name(buf));
    let text = format!("block `{name}` does not write `{buf}` by one iterator per axis");
    Refusal::err(text, format!("index `{buf}` by iterators of the block, each once"))
}
