//! `reverse_compute_at(block, loop)`: a consumer runs inside a loop of its producers, on what each turn has produced.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::arith::IntExpr;
use tenfold_ir::tir::{Block, BufId, BufUse, IterKind, Param, Stmt, VarId, Viewer};

use crate::schedule::analysis::{
    Class, accesses, bounded_region, class_of, fills_box, private, prover_at, raw_writes, spatial_index, uses_var,
};
use crate::schedule::args::{Arg, Args};
use crate::schedule::edit::State;
use crate::schedule::error::Refusal;
use crate::schedule::inline::{clear_regions, closed_block};
use crate::schedule::motion::{Part, insert, renest, same_scope, settle_alloc};
use crate::schedule::table::{Gives, Kind, Outcome, Primitive, optional, required};
use crate::schedule::tree;
use crate::schedule::{LoopRV, Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "reverse_compute_at",
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
    /// Runs a block inside a loop of its producers, on what each turn of the loop has produced.
    pub fn reverse_compute_at(&mut self, block: impl Into<Arg>, it: LoopRV) -> Result<(), ScheduleError> {
        self.step("reverse_compute_at", vec![block.into(), it.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let (name, var) = (args.block(0), args.loop_var(1));
    let block = state.get_block(name)?.clone();
    same_scope(state, name, var)?;
    if class_of(state, &block)? == Class::Update {
        let text = format!("the init of block `{name}` is elsewhere");
        return Refusal::err(text, "move the block before `decompose_reduction`");
    }
    closed_block(state, &block)?;
    let made = produced(state, &block, var)?;
    undisturbed(state, &block, var, &made)?;
    let mut parts: BTreeMap<VarId, Part> = BTreeMap::new();
    for buf in &made {
        final_inside(state, *buf, var)?;
        made_inside(state, &block, *buf, var)?;
        for (iter, part) in part_of(state, &block, *buf, var)? {
            let same = |other: &Part| other.min == part.min && other.extent == part.extent;
            if parts.get(&iter).is_some_and(|other| !same(other)) {
                let text =
                    format!("each turn of `{}` produces different parts of what `{name}` reads", state.name(var));
                return Refusal::err(text, "take a loop whose turns produce the same part of each");
            }
            parts.insert(iter, part);
        }
    }
    let prover = prover_at(state, &tree::is_loop(var));
    let new = renest(state, &block, &parts, &prover, args.flag(2))?;
    tree::remove_block(&mut state.body, name);
    insert(state, var, new, &|_| false, &|_| false)?;
    let bufs: Vec<BufId> = made.into_iter().collect();
    clear_regions(&mut state.body, &bufs);
    bufs.into_iter().for_each(|buf| settle_alloc(state, buf));
    Ok(Vec::new())
}

fn of(state: &State<'_>, stmt: &Stmt) -> crate::schedule::analysis::Accesses {
    accesses(state.module, &state.b.func().exprs, stmt)
}

/// The buffers that the block reads and blocks inside the loop write.
fn produced(state: &State<'_>, block: &Block, var: VarId) -> Result<BTreeSet<BufId>, Refusal> {
    let inside = state.get_loop(var)?.body;
    let reads = of(state, &Stmt::Block(Box::new(block.clone()))).read_bufs();
    let written = of(state, &inside).written_bufs();
    let made: BTreeSet<BufId> = reads.intersection(&written).copied().collect();
    if made.is_empty() {
        let text = format!("nothing inside `{}` writes what `{}` reads", state.name(var), block.name);
        return Refusal::err(text, "take a loop around a block that it reads");
    }
    Ok(made)
}

/// From the loop to the block nothing else may touch what the block writes, or write what else it reads.
fn undisturbed(state: &State<'_>, block: &Block, var: VarId, made: &BTreeSet<BufId>) -> Result<(), Refusal> {
    let own = private(block);
    let mine = of(state, &Stmt::Block(Box::new(block.clone())));
    let writes: BTreeSet<BufId> = mine.written_bufs().into_iter().filter(|b| !own.contains(b)).collect();
    let raw = raw_writes(&state.body);
    if let Some(buf) = mine.read_bufs().union(&writes).find(|b| raw.contains(b)) {
        let text = format!("a statement outside of blocks writes `{}`", state.buf_name(*buf));
        return Refusal::err(text, "take a block whose buffers blocks write");
    }
    let inside = state.get_loop(var)?.body;
    let order = tree::outer_blocks(state.scope_body(&block.name));
    let place = order.iter().position(|b| b.name == block.name).unwrap_or(0);
    let start = order.iter().position(|b| tree::any(&inside, &tree::is_block(&b.name))).unwrap_or(0);
    if start > place {
        let text = format!("`{}` runs after block `{}`", state.name(var), block.name);
        return Refusal::err(text, "take a loop of a block that comes before it");
    }
    let around = shared_loops(state, &block.name, var);
    for (n, other) in order.iter().enumerate().filter(|(n, _)| *n != place) {
        let found = of(state, &Stmt::Block(Box::new((*other).clone())));
        let name = &other.name;
        let between = (start..place).contains(&n) || (around && n > place);
        if !between {
            continue;
        }
        let here = tree::any(&inside, &tree::is_block(name));
        let written = found.written_bufs();
        let feeds = mine.read_bufs().into_iter().find(|b| written.contains(b) && !(here && made.contains(b)));
        if let Some(buf) = feeds {
            let text = format!(
                "block `{name}` writes `{}` between `{}` and `{}`",
                state.buf_name(buf),
                state.name(var),
                block.name
            );
            return Refusal::err(text, "take a loop after all that the block reads is written");
        }
        if let Some(buf) = writes.iter().find(|b| found.touch(**b)) {
            let text = format!(
                "block `{name}` touches `{}` between `{}` and `{}`",
                state.buf_name(*buf),
                state.name(var),
                block.name
            );
            return Refusal::err(text, "take a block whose result nothing touches before it");
        }
    }
    crate::schedule::inline::alive_in(state, &writes, var)
}

/// Whether the block and the loop are inside a common loop, whose next turn comes after the block.
fn shared_loops(state: &State<'_>, block: &str, var: VarId) -> bool {
    let above = state.loops_above(&tree::is_loop(var));
    state.loops_of(block).iter().any(|v| above.contains(v))
}

/// What a turn leaves in the buffer must be final: reductions into it end inside the turn.
fn final_inside(state: &State<'_>, buf: BufId, var: VarId) -> Result<(), Refusal> {
    let inside = state.get_loop(var)?.body;
    let mut around = state.loops_above(&tree::is_loop(var));
    around.push(var);
    for writer in tree::outer_blocks(&inside) {
        if !of(state, &Stmt::Block(Box::new(writer.clone()))).written_bufs().contains(&buf) {
            continue;
        }
        class_of(state, writer)?;
        for iter in writer.iters.iter().filter(|i| i.kind != IterKind::Spatial) {
            if let Some(v) = around.iter().find(|v| uses_var(&state.b.func().exprs, iter.value, **v)) {
                let text = format!(
                    "block `{}` is not done with `{}` in one turn of `{}`",
                    writer.name,
                    state.buf_name(buf),
                    state.name(var)
                );
                return Refusal::err(
                    text,
                    format!("take a loop inside of `{}` or around all of its turns", state.name(*v)),
                );
            }
        }
    }
    Ok(())
}

/// What the block reads of the buffer the turns of the loop must have written: of what is there without them, turns run
/// only for a part.
fn made_inside(state: &State<'_>, block: &Block, buf: BufId, var: VarId) -> Result<(), Refusal> {
    let inside = state.get_loop(var)?.body;
    let elsewhere = |b: &&Block| b.name != block.name && !tree::any(&inside, &tree::is_block(&b.name));
    let writes = |b: &&Block| of(state, &Stmt::Block(Box::new((*b).clone()))).written_bufs().contains(&buf);
    let blocks = tree::outer_blocks(state.scope_body(&block.name));
    let before = blocks.into_iter().take_while(|b| b.name != block.name).filter(elsewhere).find(writes);
    let given = state.b.func().params.contains(&Param::Buffer(buf, BufUse::InOut));
    if given && before.is_none() {
        return exact_region(state, state.scope_body(&block.name), buf).map(|_| ());
    }
    let Some(other) = before else { return Ok(()) };
    let text = format!("block `{}` outside of `{}` writes `{}`, too", other.name, state.name(var), state.buf_name(buf));
    Refusal::err(text, "take a loop around all blocks that write what the block reads")
}

/// Which part of each iterator one turn of the loop has produced.
fn part_of(state: &State<'_>, block: &Block, buf: BufId, var: VarId) -> Result<Vec<(VarId, Part)>, Refusal> {
    let buf_name = state.buf_name(buf);
    let reads = of(state, &Stmt::Block(Box::new(block.clone()))).reads;
    let mut reads = reads.into_iter().filter(|a| a.buf == buf);
    let (first, more) = (reads.next().and_then(|a| a.index), reads.next());
    let axes = first.as_deref().filter(|_| more.is_none()).and_then(|index| spatial_index(state, block, index));
    let Some(axes) = axes else {
        let text = format!("block `{}` does not read `{buf_name}` by one iterator per axis", block.name);
        return Refusal::err(text, format!("index `{buf_name}` by iterators of the block, each once"));
    };
    let inside = state.get_loop(var)?.body;
    let exact = exact_region(state, &inside, buf)?;
    let mut all = Vec::new();
    let written = written_in_all(state, block, buf);
    for (axis, (iter, (min, extent))) in axes.iter().zip(exact).enumerate() {
        let Some(iter) = iter else { continue };
        if !reaches(state, block, *iter, &written[axis]) {
            let text = format!("block `{}` also runs where no turn writes `{buf_name}`", block.name);
            return Refusal::err(text, "take a block that runs for what its producers write, and for no more");
        }
        if block.iters.iter().any(|i| i.var == *iter && i.kind != IterKind::Spatial) {
            let text = format!("`{}` of block `{}` is no spatial iterator", state.name(*iter), block.name);
            return Refusal::err(text, "take a loop of whose turns each produces all that the block reduces over");
        }
        all.push((*iter, Part { min, extent }));
    }
    Ok(all)
}

/// What is written of each axis of a buffer in the scope of a block, all turns of all loops together.
fn written_in_all(state: &State<'_>, block: &Block, buf: BufId) -> Vec<Option<(IntExpr, IntExpr)>> {
    let (region, bounded) = bounded_region(state, state.scope_body(&block.name), buf, true);
    let count = region.axes.len();
    match (region.begin(), region.extent(), bounded) {
        (Some(begin), Some(extent), true) => begin.into_iter().zip(extent).map(Some).collect(),
        _ => vec![None; count],
    }
}

/// Whether an iterator goes no further than what is written.
fn reaches(state: &State<'_>, block: &Block, iter: VarId, written: &Option<(IntExpr, IntExpr)>) -> bool {
    let Some((begin, extent)) = written else { return false };
    let prover = Viewer::new(state.b.func()).prover;
    let last = block.iters.iter().find(|i| i.var == iter).map(|i| state.int(i.extent));
    last.is_some_and(|last| prover.prove_le(begin, &IntExpr::from(0)) && prover.prove_le(&last, &(begin + extent)))
}

/// What the blocks in `stmt` write of a buffer, if it is proven to be a rectangle without holes.
fn exact_region(state: &State<'_>, stmt: &Stmt, buf: BufId) -> Result<Vec<(IntExpr, IntExpr)>, Refusal> {
    let holes = |name: &str| {
        let text = format!(
            "what block `{name}` writes of `{}` in one turn is not proven to be a rectangle",
            state.buf_name(buf)
        );
        Refusal::new(text, "take a loop whose turns write whole tiles")
    };
    let writers: Vec<&Block> = tree::outer_blocks(stmt)
        .into_iter()
        .filter(|b| of(state, &Stmt::Block(Box::new((*b).clone()))).written_bufs().contains(&buf))
        .collect();
    let Some(first) = writers.first() else { return Err(holes("?")) };
    if let Some(writer) = writers.iter().find(|w| !fills_box(state, stmt, w, buf)) {
        return Err(holes(&writer.name));
    }
    let (region, bounded) = bounded_region(state, stmt, buf, true);
    let (Some(begin), Some(extent), true) = (region.begin(), region.extent(), bounded) else {
        return Err(holes(&first.name));
    };
    Ok(begin.into_iter().zip(extent).collect())
}
