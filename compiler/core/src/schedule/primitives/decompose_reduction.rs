//! `decompose_reduction(block, loop)`: the init of a reduction becomes a block of its own before a loop.

use std::collections::BTreeMap;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::tir::{Block, ExprId, IterKind, IterVar, LoopKind, Stmt, VarId};

use crate::schedule::analysis::{Class, accesses, class_of, prover_at, uses_var};
use crate::schedule::args::{Arg, Args};
use crate::schedule::edit::{Loop, State, substitute, substitute_expr};
use crate::schedule::error::Refusal;
use crate::schedule::inline::{alive_in, closed_block};
use crate::schedule::table::{Gives, Kind, Out, Outcome, Primitive, required};
use crate::schedule::tree;
use crate::schedule::{BlockRV, LoopRV, Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "decompose_reduction",
    params: &[required("block", Kind::Block), required("loop", Kind::Loop)],
    gives: Gives::One,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// Makes a block of a reduction's init, before the loop `it`. Gives that block.
    pub fn decompose_reduction(&mut self, block: impl Into<Arg>, it: LoopRV) -> Result<BlockRV, ScheduleError> {
        self.step_block("decompose_reduction", vec![block.into(), it.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let (name, var) = (args.block(0), args.loop_var(1));
    let block = state.get_block(name)?.clone();
    require_init(state, &block)?;
    closed_block(state, &block)?;
    let inner = inner_loops(state, &block, var)?;
    alone(state, &block, var)?;
    let new = init_nest(state, &block, &inner)?;
    let init_name = new.1;
    state.edit_block(name, |_, block| block.init = None)?;
    state.edit_loop(var, |_, l| Stmt::Seq(vec![new.0, l.stmt()]))?;
    Ok(vec![Out::Block(init_name)])
}

fn require_init(state: &State<'_>, block: &Block) -> Result<(), Refusal> {
    match class_of(state, block)? {
        Class::Reduction => Ok(()),
        Class::Complete | Class::Update => {
            let text = format!("block `{}` has no init", block.name);
            Refusal::err(text, "take a reduction that was not decomposed yet")
        }
    }
}

/// The loops from `var` to the block, none of the reduction's being further out.
fn inner_loops(state: &State<'_>, block: &Block, var: VarId) -> Result<Vec<VarId>, Refusal> {
    let loops = state.loops_of(&block.name);
    let name = state.name(var);
    let Some(at) = loops.iter().position(|v| *v == var) else {
        let text = format!("`{name}` is not around block `{}`", block.name);
        return Refusal::err(text, "take one of its loops");
    };
    if let Some(outer) = loops[..at].iter().find(|v| drives(state, block, **v, IterKind::Reduce)) {
        let text = format!("`{}`, a reduce loop of block `{}`, is outside of `{name}`", state.name(*outer), block.name);
        return Refusal::err(text, "take a loop around all of its reduce loops");
    }
    let both = |v: &&VarId| drives(state, block, **v, IterKind::Reduce) && drives(state, block, **v, IterKind::Spatial);
    match loops[at..].iter().find(both) {
        None => Ok(loops[at..].to_vec()),
        Some(v) => {
            let text = format!("`{}` drives both spatial and reduce iterators", state.name(*v));
            Refusal::err(text, "decompose before such loops are fused")
        }
    }
}

fn drives(state: &State<'_>, block: &Block, var: VarId, kind: IterKind) -> bool {
    let exprs = &state.b.func().exprs;
    block.iters.iter().any(|i| i.kind == kind && uses_var(exprs, i.value, var))
}

/// No other block in the loop may write what is initialised before it, which must live there.
fn alone(state: &State<'_>, block: &Block, var: VarId) -> Result<(), Refusal> {
    let exprs = &state.b.func().exprs;
    let written = accesses(state.module, exprs, &Stmt::Block(Box::new(block.clone()))).written_bufs();
    let inside = state.get_loop(var)?.body;
    for other in tree::outer_blocks(&inside).into_iter().filter(|b| b.name != block.name) {
        let found = accesses(state.module, exprs, &Stmt::Block(Box::new(other.clone())));
        if let Some(buf) = found.written_bufs().intersection(&written).next() {
            let text =
                format!("block `{}` writes `{}` inside `{}` too", other.name, state.buf_name(*buf), state.name(var));
            return Refusal::err(text, "take a loop inside which one block writes it");
        }
    }
    alive_in(state, &written, var)
}

/// The init as a block, in loops of its own.
fn init_nest(state: &mut State<'_>, block: &Block, inner: &[VarId]) -> Result<(Stmt, String), Refusal> {
    let mut map: BTreeMap<VarId, ExprId> = BTreeMap::new();
    let mut loops = Vec::new();
    for var in inner {
        let l = state.get_loop(*var)?;
        if drives(state, block, *var, IterKind::Spatial) {
            let new = state.b.index_var(&format!("{}_init", state.name(*var)));
            let read = state.b.read(new);
            // Ranges may name outer loops that have new variables too.
            let min = substitute_expr(&mut state.b, &map, l.min);
            let extent = substitute_expr(&mut state.b, &map, l.extent);
            map.insert(*var, read);
            loops.push((new, min, extent, l.kind));
        } else {
            let min = substitute_expr(&mut state.b, &map, l.min);
            map.insert(*var, min);
        }
    }
    starts_at_zero(state, block, &map)?;
    let name = state.fresh_block(&format!("{}_init", block.name));
    let mut stmt = Stmt::Block(Box::new(init_block(state, block, &map, &name)));
    for (var, min, extent, kind) in loops.into_iter().rev() {
        let kind = if kind == LoopKind::Reduction { LoopKind::Serial } else { kind };
        stmt = Loop { var, min, extent, kind, annotations: Vec::new(), body: stmt }.stmt();
    }
    Ok((stmt, name))
}

/// Where the reduce loops begin, every reduce iterator must be at 0: there the init ran.
fn starts_at_zero(state: &mut State<'_>, block: &Block, map: &BTreeMap<VarId, ExprId>) -> Result<(), Refusal> {
    let prover = prover_at(state, &tree::is_block(&block.name));
    for iter in block.iters.iter().filter(|i| i.kind == IterKind::Reduce) {
        let first = substitute_expr(&mut state.b, map, iter.value);
        if !prover.prove_eq(&state.int(first), &IntExpr::from(0)) {
            let text = format!("`{}` of block `{}` is not proven to begin at 0", state.name(iter.var), block.name);
            return Refusal::err(text, "let its loops begin at 0");
        }
    }
    Ok(())
}

fn init_block(state: &mut State<'_>, block: &Block, loops: &BTreeMap<VarId, ExprId>, name: &str) -> Block {
    let zero = state.b.index(0);
    let mut map = loops.clone();
    let mut iters = Vec::new();
    for iter in &block.iters {
        if iter.kind == IterKind::Reduce {
            map.insert(iter.var, zero);
            continue;
        }
        let new = state.b.index_var(&state.name(iter.var));
        let value = substitute_expr(&mut state.b, loops, iter.value);
        let read = state.b.read(new);
        map.insert(iter.var, read);
        iters.push(IterVar { var: new, value, ..iter.clone() });
    }
    let body = block.init.clone().unwrap_or_else(Stmt::nop);
    let body = substitute(&mut state.b, &map, body);
    let predicate = block.predicate.map(|p| substitute_expr(&mut state.b, &map, p));
    let predicate = predicate.filter(|p| !holds(state, *p));
    Block { iters, predicate, ..Block::new(name, body) }
}

/// Whether a condition is one of numbers that holds.
fn holds(state: &State<'_>, cond: ExprId) -> bool {
    let mut viewer = tenfold_ir::tir::Viewer::new(state.b.func());
    let fact = viewer.fact(cond);
    fact.is_some_and(|f| viewer.prover.prove(&f))
}
