//! `reverse_compute_inline(block)`: what a block makes of its producer's value, the producer makes itself.

use std::collections::BTreeMap;

use tenfold_ir::tir::{Access, Block, BufId, Builder, Expr, ExprId, ExprMap, Stmt};

use crate::schedule::analysis::{accesses, loads_in, outputs_of, producers, raw_writes, require_complete};
use crate::schedule::args::{Arg, Args};
use crate::schedule::edit::{State, substitute_expr};
use crate::schedule::error::Refusal;
use crate::schedule::inline::{
    OneStore, alive, clear_regions, closed, forget_buffer, one_store, only_writer, unit_iters, whole_index,
};
use crate::schedule::table::{Gives, Kind, Outcome, Primitive, required};
use crate::schedule::tree;
use crate::schedule::{Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "reverse_compute_inline",
    params: &[required("block", Kind::Block)],
    gives: Gives::Nothing,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// Lets the producer of a block store what the block would make of it.
    pub fn reverse_compute_inline(&mut self, block: impl Into<Arg>) -> Result<(), ScheduleError> {
        self.step("reverse_compute_inline", vec![block.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let name = args.block(0);
    let block = state.get_block(name)?.clone();
    let store = one_store(state, &block)?;
    let producer = only_producer(state, name)?;
    let between = link(state, &block, &producer, store.value)?;
    require_complete(state, &producer)?;
    only_writer(state, between.buf, &producer.name)?;
    closed(state, &block, store.value)?;
    store.index.iter().try_for_each(|e| closed(state, &block, *e))?;
    no_predicate(&block)?;
    undisturbed(state, &block, &store, between.buf)?;
    let mut lives = loads_in(&state.b.func().exprs, store.value);
    lives.insert(store.buf);
    alive(state, lives, std::slice::from_ref(&producer.name))?;
    let axes = whole_index(state, &block, between.buf, &between.index)?;
    let (buf, made) = producer_store(state, &producer, between.buf)?;
    let mut map = unit_iters(state, &block);
    for (var, i) in axes.iter().zip(&buf) {
        if let Some(var) = var {
            map.insert(*var, *i);
        }
    }
    if let Some(iter) = block.iters.iter().find(|iter| !map.contains_key(&iter.var)) {
        let (iter, buf) = (state.name(iter.var), state.buf_name(between.buf));
        let text = format!("`{iter}` of block `{name}` is no index of `{buf}`");
        return Refusal::err(text, "take a block that writes one element for each that its producer does");
    }
    let index: Vec<ExprId> = store.index.iter().map(|e| substitute_expr(&mut state.b, &map, *e)).collect();
    let value = composed(state, store.value, between.buf, made, &map);
    tree::remove_block(&mut state.body, name);
    forget_buffer(state, between.buf);
    clear_regions(&mut state.body, &[store.buf]);
    let place = |s: &Stmt| matches!(s, Stmt::Store { buf, .. } if *buf == between.buf);
    if let Some(stmt) = tree::find_mut(&mut state.body, &place) {
        *stmt = Stmt::Store { buf: store.buf, index, value, access: Access::Proven };
    }
    Ok(Vec::new())
}

fn only_producer(state: &State<'_>, name: &str) -> Result<Block, Refusal> {
    match &producers(state, name)[..] {
        [one] => state.get_block(one).cloned(),
        [] => Refusal::err(format!("no block writes what `{name}` reads"), "take a block that reads another's result"),
        several => {
            let several: Vec<String> = several.iter().map(|p| format!("`{p}`")).collect();
            let text = format!("`{name}` reads what {} write", several.join(", "));
            Refusal::err(text, "inline all of its producers but one first")
        }
    }
}

/// The one element of the producer's buffer that the block reads.
fn link(state: &State<'_>, block: &Block, producer: &Block, value: ExprId) -> Result<OneStore, Refusal> {
    let of = |b: &Block| accesses(state.module, &state.b.func().exprs, &Stmt::Block(Box::new(b.clone())));
    let written = of(producer).written_bufs();
    let reads: Vec<_> = of(block).reads.into_iter().filter(|a| written.contains(&a.buf)).collect();
    let name = &block.name;
    match &reads[..] {
        [one] => match &one.index {
            Some(index) => Ok(OneStore { buf: one.buf, index: index.clone(), value }),
            None => Refusal::err(format!("`{name}` passes its input to a function"), "schedule that function"),
        },
        _ => Refusal::err(
            format!("`{name}` reads {} elements of what `{}` writes", reads.len(), producer.name),
            "only a block that reads one element for each it writes can be inlined",
        ),
    }
}

fn no_predicate(block: &Block) -> Result<(), Refusal> {
    match block.predicate {
        None => Ok(()),
        Some(_) => Refusal::err(
            format!("block `{}` has a predicate", block.name),
            "inline it before its loops are split, or let its loops be divisible",
        ),
    }
}

/// Nothing may touch the result, or change what else the block reads, before the block runs.
fn undisturbed(state: &State<'_>, block: &Block, store: &OneStore, between: BufId) -> Result<(), Refusal> {
    let exprs = &state.b.func().exprs;
    let reads = accesses(state.module, exprs, &Stmt::Block(Box::new(block.clone()))).read_bufs();
    let live = tree::allocated(&state.body);
    if !live.contains(&store.buf) && !outputs_of(state).contains(&store.buf) {
        return Refusal::err(format!("`{}` is not written here", state.buf_name(store.buf)), "take another block");
    }
    let raw = raw_writes(&state.body);
    if let Some(buf) = reads.iter().chain([&store.buf]).find(|b| raw.contains(b)) {
        let text = format!("a statement outside of blocks writes `{}`", state.buf_name(*buf));
        return Refusal::err(text, "take a block whose buffers blocks write");
    }
    let mut before = true;
    for other in tree::outer_blocks(state.scope_body(&block.name)) {
        if other.name == block.name {
            before = false;
            continue;
        }
        let found = accesses(state.module, exprs, &Stmt::Block(Box::new(other.clone())));
        let written = found.written_bufs();
        let disturbed = reads.iter().find(|b| **b != between && written.contains(b));
        let disturbed = disturbed.copied().or_else(|| written.contains(&store.buf).then_some(store.buf));
        if let Some(buf) = disturbed {
            let text = format!("block `{}` writes `{}`", other.name, state.buf_name(buf));
            return Refusal::err(text, "take a block that alone writes, and reads what does not change");
        }
        if before && found.read_bufs().contains(&store.buf) {
            let text = format!("block `{}` reads `{}` before", other.name, state.buf_name(store.buf));
            return Refusal::err(text, "take a block whose result nothing reads before it");
        }
        if found.read_bufs().contains(&between) {
            let text = format!("block `{}` reads `{}` too", other.name, state.buf_name(between));
            return Refusal::err(text, "inline only a block that alone reads its producer");
        }
    }
    Ok(())
}

/// Index and value of the producer's store, which must be one and stand where the block's buffers live.
fn producer_store(state: &State<'_>, producer: &Block, buf: BufId) -> Result<(Vec<ExprId>, ExprId), Refusal> {
    let mut found = None;
    producer.body.walk(&mut |s| {
        if let Stmt::Store { buf: b, index, value, .. } = s
            && *b == buf
        {
            found = Some((index.clone(), *value));
        }
    });
    found.ok_or_else(|| {
        let text = format!("block `{}` does not store into `{}` itself", producer.name, state.buf_name(buf));
        Refusal::new(text, "take a producer that stores each element once")
    })
}

/// The block's value with the producer's in the place of what it read.
fn composed(
    state: &mut State<'_>,
    value: ExprId,
    between: BufId,
    made: ExprId,
    map: &BTreeMap<tenfold_ir::tir::VarId, ExprId>,
) -> ExprId {
    let mut put = ExprMap::new(|b: &mut Builder, id: ExprId| match b.func().exprs.get(id) {
        Expr::Load { buf, .. } if *buf == between => made,
        Expr::Var(var) => map.get(var).copied().unwrap_or(id),
        _ => id,
    });
    put.expr(&mut state.b, value)
}
