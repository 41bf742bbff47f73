//! `blockize(loop)`: what a loop holds becomes one block, whose iterators count the parts that the loop makes.

use std::collections::BTreeSet;

use tenfold_ir::arith::{Domain, Fact, IntExpr, IterMapLevel, Range, Subspace, Sym, subspace_divide};
use tenfold_ir::tir::{Block, ExprId, IterVar, Stmt, VarId, Viewer};

use crate::schedule::analysis::vars_of;
use crate::schedule::args::Args;
use crate::schedule::edit::State;
use crate::schedule::error::Refusal;
use crate::schedule::table::{Gives, Kind, Out, Outcome, Primitive, required};
use crate::schedule::{BlockRV, LoopRV, Schedule, ScheduleError, tree};

pub(super) const PRIMITIVE: Primitive =
    Primitive { name: "blockize", params: &[required("loop", Kind::Loop)], gives: Gives::One, run, decides: false };

impl Schedule<'_> {
    /// Makes a block of what a loop holds: loops and one block. The new block is the outer one.
    pub fn blockize(&mut self, it: LoopRV) -> Result<BlockRV, ScheduleError> {
        self.step_block("blockize", vec![it.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    Ok(vec![Out::Block(blockize(state, args.loop_var(0))?)])
}

/// The block around a loop and the loops that belong to it.
struct Around {
    block: Block,
    outer: Vec<VarId>,
    inner: Vec<VarId>,
}

/// Makes the block; gives its name.
pub(super) fn blockize(state: &mut State<'_>, var: VarId) -> Result<String, Refusal> {
    let around = around(state, var)?;
    let parts = divide(state, &around)?;
    let (outer_guard, inner_guard) = guards(state, &around)?;
    let name = state.fresh_block(&format!("{}_o", around.block.name));
    let mut iters = Vec::new();
    let mut inner = around.block.clone();
    for (n, iter) in around.block.iters.iter().enumerate() {
        let outer = state.b.index_var(&format!("{}_o", state.name(iter.var)));
        // What no loop changes, an iterator of the block around say, stays inside: the outer block counts from 0.
        let base = parts.outer[n].base.clone();
        iters.push(IterVar {
            var: outer,
            extent: index(state, iter.var, &parts.outer_extents[n])?,
            kind: iter.kind,
            value: index(state, iter.var, &(parts.outer[n].to_expr() - &base))?,
        });
        let high = (IntExpr::var(state.b.sym(outer).clone()) + base) * &parts.inner_extents[n];
        inner.iters[n].value = index(state, iter.var, &(high + parts.inner[n].to_expr()))?;
    }
    inner.predicate = inner_guard;
    let body = state.get_loop(var)?.stmt();
    let body = with_block(body, inner);
    let block = Block {
        name: name.clone(),
        iters,
        reads: Vec::new(),
        writes: Vec::new(),
        init: None,
        predicate: outer_guard,
        allocs: Vec::new(),
        matches: Vec::new(),
        annotations: Vec::new(),
        body,
    };
    state.edit_loop(var, |_, _| Stmt::Block(Box::new(block)))?;
    Ok(name)
}

/// An expression of what an iterator is made of.
fn index(state: &mut State<'_>, iter: VarId, e: &IntExpr) -> Result<ExprId, Refusal> {
    state.index_of(e).ok_or_else(|| {
        let text = format!("iterator `{}` depends on data", state.name(iter));
        Refusal::new(text, "only blocks whose iterators are made of loops and dims can be made a block of")
    })
}

fn with_block(mut stmt: Stmt, block: Block) -> Stmt {
    let name = block.name.clone();
    if let Some(place) = tree::find_mut(&mut stmt, &tree::is_block(&name)) {
        *place = Stmt::Block(Box::new(block));
    }
    stmt
}

fn around(state: &State<'_>, var: VarId) -> Result<Around, Refusal> {
    let body = state.get_loop(var)?.stmt();
    let name = state.name(var);
    let blocks = tree::outer_blocks(&body);
    let ([block], true) = (blocks.as_slice(), tree::only_blocks(&body)) else {
        return Refusal::err(
            format!("loop `{name}` holds {} blocks, or something beside them", blocks.len()),
            "take a loop that holds loops and one block",
        );
    };
    let loops = state.loops_of(&block.name);
    let at = loops.iter().position(|v| *v == var).unwrap_or(0);
    let around = Around { block: (*block).clone(), outer: loops[..at].to_vec(), inner: loops[at..].to_vec() };
    for inner in &around.inner {
        let it = state.get_loop(*inner)?;
        let used: BTreeSet<VarId> =
            [it.min, it.extent].iter().flat_map(|e| vars_of(&state.b.func().exprs, *e)).collect();
        if let Some(outer) = around.outer.iter().find(|v| used.contains(v)) {
            let (inner, outer) = (state.name(*inner), state.name(*outer));
            let text = format!("the range of `{inner}` depends on `{outer}`, which is outside");
            return Refusal::err(text, "only loops whose ranges do not depend on outer ones can be made a block of");
        }
    }
    Ok(around)
}

fn divide(state: &State<'_>, around: &Around) -> Result<Subspace, Refusal> {
    let mut viewer = Viewer::new(state.b.func());
    let mut domain = Domain::new();
    for var in around.outer.iter().chain(&around.inner) {
        let it = state.get_loop(*var)?;
        domain.push(state.b.sym(*var).clone(), Range::new(viewer.int(it.min), viewer.int(it.extent)));
    }
    let values: Vec<_> = around.block.iters.iter().map(|i| viewer.int(i.value)).collect();
    let inner: Vec<Sym> = around.inner.iter().map(|v| state.b.sym(*v).clone()).collect();
    let guards: Vec<Fact> = around.block.predicate.map(|p| viewer.holds(p)).unwrap_or_default();
    let prover = viewer.prover.clone();
    subspace_divide(&values, &domain, &inner, &guards, IterMapLevel::Surjective, &prover).map_err(|e| {
        Refusal::new(
            format!("the iterators of block `{}` cannot be divided there: {e}", around.block.name),
            "split loops so that the inner ones run over a whole part of each iterator",
        )
    })
}

/// The predicate, on the side whose loops it names; the iterators of the block are inside.
fn guards(state: &State<'_>, around: &Around) -> Result<(Option<ExprId>, Option<ExprId>), Refusal> {
    let Some(guard) = around.block.predicate else { return Ok((None, None)) };
    let used = vars_of(&state.b.func().exprs, guard);
    let own = around.block.iters.iter().map(|iter| iter.var);
    let inside = around.inner.iter().copied().chain(own).any(|v| used.contains(&v));
    let outside = around.outer.iter().any(|v| used.contains(v));
    match (outside, inside) {
        (true, true) => Refusal::err(
            format!("the predicate of block `{}` names loops inside and outside", around.block.name),
            "split by factors that divide the extent",
        ),
        (true, false) => Ok((Some(guard), None)),
        (false, _) => Ok((None, Some(guard))),
    }
}
