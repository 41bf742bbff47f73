//! `decompose_padding(block)`: a block that copies or pads becomes one that pads everything and one that copies.

use std::collections::BTreeMap;

use tenfold_ir::arith::{Fact, IntExpr, Prover, Sym};
use tenfold_ir::tir::{Access, Block, BufId, Expr, ExprId, IterKind, Stmt, VarId, Viewer};

use crate::schedule::args::Args;
use crate::schedule::edit::{State, substitute, substitute_expr};
use crate::schedule::error::Refusal;
use crate::schedule::table::{Gives, Kind, Out, Outcome, Primitive, required};
use crate::schedule::{BlockRV, Schedule, ScheduleError, nest, stage};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "decompose_padding",
    params: &[required("block", Kind::Block)],
    gives: Gives::One,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// Lets a new block, which is given back, write the padding everywhere, and the block itself what lies inside.
    pub fn decompose_padding(&mut self, block: BlockRV) -> Result<BlockRV, ScheduleError> {
        self.step_block("decompose_padding", vec![block.into()])
    }
}

/// `buf[index] = if(cond, value, pad)`.
struct Padding {
    buf: BufId,
    index: Vec<ExprId>,
    cond: ExprId,
    value: ExprId,
    pad: ExprId,
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let found = nest::nest_of(state, args.block(0))?;
    let padding = padding(state, &found.block)?;
    let inside = inside(state, &found.block, padding.cond)?;
    let fill = fill(state, &found.block, &padding);
    let name = stage::block_in(&fill);
    let copy = copy(state, &found.block, &padding, &inside)?;
    let both = Stmt::seq([fill, nest::named(copy, &found.block.name)]);
    nest::put(state, found.top, both)?;
    stage::require_proven(state)?;
    Ok(vec![Out::Block(name)])
}

fn padding(state: &State<'_>, block: &Block) -> Result<Padding, Refusal> {
    let no = || {
        let text = format!("block `{}` is not `y[i] = if(inside, x[…], pad)`", block.name);
        Refusal::new(text, "only a block that stores one of a value and a padding can be taken apart")
    };
    let Stmt::Store { buf, index, value, .. } = block.body.bare() else { return Err(no()) };
    let exprs = &state.b.func().exprs;
    let (Expr::If(cond, value, pad) | Expr::Select(cond, value, pad)) = exprs.get(*value) else { return Err(no()) };
    if block.init.is_some() || block.iters.iter().any(|i| i.kind != IterKind::Spatial) || state.b.func().loads(*pad) {
        return Err(no());
    }
    Ok(Padding { buf: *buf, index: index.clone(), cond: *cond, value: *value, pad: *pad })
}

/// The range of each iterator in which the condition holds: `begin..end`.
fn inside(state: &State<'_>, block: &Block, cond: ExprId) -> Result<Vec<(IntExpr, IntExpr)>, Refusal> {
    let mut viewer = Viewer::new(state.b.func());
    let extents: Vec<IntExpr> = block.iters.iter().map(|i| viewer.int(i.extent)).collect();
    let mut ranges: Vec<(IntExpr, IntExpr)> = extents.into_iter().map(|e| (IntExpr::from(0), e)).collect();
    let syms: Vec<Sym> = block.iters.iter().map(|i| state.b.sym(i.var).clone()).collect();
    let whole = viewer.fact(cond);
    let all = whole.as_ref().map(conjuncts).unwrap_or_default();
    let prover = viewer.prover.clone();
    let known = !all.is_empty() && all.iter().all(|fact| narrow(fact, &syms, &mut ranges, &prover));
    if known {
        return Ok(ranges);
    }
    let text = format!("the condition of block `{}` is not a range for each iterator", block.name);
    Refusal::err(text, "only conditions like `i >= 2 && i < N` can be taken apart")
}

fn conjuncts(fact: &Fact) -> Vec<Fact> {
    match fact {
        Fact::And(all) => all.iter().flat_map(conjuncts).collect(),
        one => vec![one.clone()],
    }
}

/// Narrows the range of the one iterator that `fact` bounds.
fn narrow(fact: &Fact, syms: &[Sym], ranges: &mut [(IntExpr, IntExpr)], prover: &Prover) -> bool {
    let Fact::NonNegative(e) = fact else { return false };
    let vars = e.vars();
    let mut named = syms.iter().enumerate().filter(|(_, sym)| vars.contains(*sym));
    let (Some((n, sym)), None) = (named.next(), named.next()) else { return false };
    let var = IntExpr::var(sym.clone());
    // `var + rest >= 0` or `rest - var >= 0`.
    let (rest_up, rest_down) = (e - &var, e + &var);
    let (begin, end) = &mut ranges[n];
    if !rest_up.vars().contains(sym) {
        let least = IntExpr::from(0) - &rest_up;
        *begin = if prover.prove_le(begin, &least) { least } else { begin.maximum(&least) };
        true
    } else if !rest_down.vars().contains(sym) {
        let past = &rest_down + 1;
        *end = if prover.prove_le(&past, end) { past } else { end.minimum(&past) };
        true
    } else {
        false
    }
}

/// The padding everywhere.
fn fill(state: &mut State<'_>, block: &Block, padding: &Padding) -> Stmt {
    let vars = nest::renamed(state, block);
    let here = nest::reads(state, &vars);
    let index = padding.index.iter().map(|e| substitute_expr(&mut state.b, &here, *e)).collect();
    let value = substitute_expr(&mut state.b, &here, padding.pad);
    let body = Stmt::Store { buf: padding.buf, index, value, access: Access::Proven };
    let iters: Vec<_> = block.iters.iter().map(|i| (vars[&i.var], i.extent, i.kind)).collect();
    let name = state.fresh_block(&format!("{}_pad", block.name));
    nest::build(state, &name, &iters, None, body)
}

/// What lies inside.
fn copy(
    state: &mut State<'_>,
    block: &Block,
    padding: &Padding,
    inside: &[(IntExpr, IntExpr)],
) -> Result<Stmt, Refusal> {
    let vars = nest::renamed(state, block);
    let mut here: BTreeMap<VarId, ExprId> = BTreeMap::new();
    let mut iters = Vec::new();
    for (iter, (begin, end)) in block.iters.iter().zip(inside) {
        let (Some(first), Some(count)) = (state.index_of(begin), state.index_of(&(end - begin))) else {
            return Refusal::err(format!("`{begin}..{end}` has ends that depend on data"), "use ends over dims");
        };
        let var = vars[&iter.var];
        let at = state.b.read(var);
        here.insert(iter.var, state.b.add(first, at));
        iters.push((var, count, iter.kind));
    }
    let store =
        Stmt::Store { buf: padding.buf, index: padding.index.clone(), value: padding.value, access: Access::Proven };
    let body = substitute(&mut state.b, &here, store);
    Ok(nest::build(state, &block.name, &iters, None, body))
}
