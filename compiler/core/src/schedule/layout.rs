//! Buffers laid out by iterators of a block, or by a map of indices.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::arith::{Domain, IntExpr, IntervalSet, Prover, Range, Sym, View};
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{Access, Block, BufId, Builder, ExprId, IterVar, Stmt, VarId, Viewer};

use super::analysis::{Digits, injective, region_of, uses_var};
use super::args::IndexMap;
use super::edit::{State, substitute_expr};
use super::error::Refusal;
use super::stage;

/// How a new buffer is indexed: over which iterators, at which index, with which extents.
pub(super) struct Layout {
    pub over: Vec<IterVar>,
    pub index: Vec<IntExpr>,
    pub shape: Vec<IntExpr>,
}

/// One axis for each iterator that an index uses.
pub(super) fn by_iterators(state: &State<'_>, block: &Block, index: &[ExprId]) -> Layout {
    let over = used(state, block, index);
    let index = over.iter().map(|i| IntExpr::var(state.b.sym(i.var).clone())).collect();
    let shape = over.iter().map(|i| state.int(i.extent)).collect();
    Layout { over, index, shape }
}

/// The axes that a map of the block's iterators gives.
pub(super) fn by_map(state: &State<'_>, block: &Block, index: &[ExprId], map: &IndexMap) -> Result<Layout, Refusal> {
    if map.params.len() != block.iters.len() {
        let (found, takes) = (map.params.len(), block.iters.len());
        let text = format!("the map takes {found} indices, and block `{}` has {takes} iterators", block.name);
        return Refusal::err(text, "take one index for each iterator of the block");
    }
    require_divisors(map)?;
    let names: BTreeMap<&Sym, &Sym> =
        map.params.iter().zip(&block.iters).map(|(p, i)| (p, state.b.sym(i.var))).collect();
    let rename = |sym: &Sym| names.get(sym).map(|to| IntExpr::var((*to).clone()));
    let results: Vec<IntExpr> = map.results.iter().map(|e| e.substitute(&rename)).collect();
    let mut over = used(state, block, index);
    let wanted: BTreeSet<Sym> = over.iter().map(|i| state.b.sym(i.var).clone()).collect();
    let named: BTreeSet<Sym> = results.iter().flat_map(IntExpr::vars).collect();
    over = block
        .iters
        .iter()
        .filter(|i| wanted.contains(state.b.sym(i.var)) || named.contains(state.b.sym(i.var)))
        .cloned()
        .collect();
    let mut digits = Digits::default();
    let mut domain = Domain::new();
    for iter in &over {
        let (sym, extent) = (state.b.sym(iter.var).clone(), state.int(iter.extent));
        digits.push(sym.clone(), IntExpr::from(0), extent.clone());
        domain.push(sym, Range::upto(extent));
    }
    if !injective(&results, &digits, &wanted) {
        return Refusal::err(
            "two elements would be laid out in the same place",
            "give a map that tells apart the iterators that the buffer's index uses",
        );
    }
    // What is known of one turn says nothing of all of them.
    let shape = extents(&results, &domain, &Viewer::new(state.b.func()).prover)?;
    Ok(Layout { over, index: results, shape })
}

/// The iterators of a block that an index uses, in the order of the block.
fn used(state: &State<'_>, block: &Block, index: &[ExprId]) -> Vec<IterVar> {
    let exprs = &state.b.func().exprs;
    let in_index = |i: &&IterVar| index.iter().any(|e| uses_var(exprs, *e, i.var));
    block.iters.iter().filter(in_index).cloned().collect()
}

/// How many places an index has on each axis.
fn extents(index: &[IntExpr], domain: &Domain, prover: &Prover) -> Result<Vec<IntExpr>, Refusal> {
    let mut shape = Vec::new();
    for e in index {
        let set = IntervalSet::of(e, domain, prover);
        let (Some(min), Some(max)) = (set.min(), set.max()) else {
            return Refusal::err(format!("index `{e}` of the map has no bounds"), "use sums, products, `/` and `%`");
        };
        if !prover.prove_ge0(min) {
            return Refusal::err(format!("index `{e}` of the map may be negative"), "let every index begin at 0");
        }
        shape.push(prover.simplify(&(max + 1)));
    }
    Ok(shape)
}

/// Floor division is Euclidean where divisors are positive numbers.
fn require_divisors(map: &IndexMap) -> Result<(), Refusal> {
    match map.results.iter().find(|e| !divides_well(e)) {
        None => Ok(()),
        Some(e) => Refusal::err(format!("`{e}` divides by what is no positive number"), "divide by positive numbers"),
    }
}

fn divides_well(e: &IntExpr) -> bool {
    let positive = |b: &IntExpr| b.as_const().is_some_and(|n| n > 0);
    match e.view() {
        View::Const(_) | View::Var(_) => true,
        View::Add(all) | View::Mul(all) => all.iter().all(divides_well),
        View::FloorDiv(a, b) | View::FloorMod(a, b) | View::TruncDiv(a, b) | View::TruncRem(a, b) => {
            divides_well(&a) && positive(&b)
        }
        View::Min(a, b) | View::Max(a, b) => divides_well(&a) && divides_well(&b),
    }
}

/// The block that copies between a buffer, at `old` over the iterators, and its other layout.
pub(super) fn copy(
    state: &mut State<'_>,
    name: &str,
    (buf, old): (BufId, &[ExprId]),
    (new, layout): (BufId, &Layout),
    into: bool,
) -> Stmt {
    let index: Vec<ExprId> = layout.index.iter().map(|e| state.b.int_expr(e)).collect();
    let extent: Vec<ExprId> = layout.over.iter().map(|i| i.extent).collect();
    let vars: Vec<VarId> = layout.over.iter().map(|i| i.var).collect();
    stage::nest(state, name, &extent, |b, at| {
        let here: BTreeMap<VarId, ExprId> = vars.iter().copied().zip(at.iter().copied()).collect();
        let old: Vec<ExprId> = old.iter().map(|e| substitute_expr(b, &here, *e)).collect();
        let index: Vec<ExprId> = index.iter().map(|e| substitute_expr(b, &here, *e)).collect();
        let ((from, source), (to, target)) = if into { ((buf, old), (new, index)) } else { ((new, index), (buf, old)) };
        let value = b.load(from, source, Access::Proven);
        Stmt::Store { buf: to, index: target, value, access: Access::Proven }
    })
}

/// What is laid out anew, and how.
pub(super) enum Way<'m> {
    /// One axis for each iterator.
    Iterators,
    /// As a map of the iterators says.
    Map(&'m IndexMap),
}

/// Lets a block read a buffer from a copy in another layout; gives the block that copies.
pub(super) fn read_from(
    state: &mut State<'_>,
    block: &str,
    buf: BufId,
    way: &Way<'_>,
    (scope, suffix): (tenfold_ir::tir::Scope, &str),
) -> Result<String, Refusal> {
    stage::require_written_before(state, block, buf)?;
    let holder = state.get_block(block)?.clone();
    let index = stage::only_index(state, &holder, buf, false)?;
    require_free(state, &holder, &index)?;
    let layout = laid(state, &holder, &index, way)?;
    let new = stage::buffer_like(state, buf, suffix, layout.shape.clone(), scope);
    let name = state.fresh_block(state.buf_name(new));
    let made = copy(state, &name, (buf, &index), (new, &layout), true);
    // All that the iterators reach is copied, not only what this turn of loops around reads.
    stage::require_no_holes(state, block, buf, &region_of(state, &made, buf, false))?;
    let name = stage::block_in(&made);
    turn_to(state, block, (buf, new), (true, false), &layout)?;
    stage::put(state, block, made, stage::Side::Before);
    stage::allocate(state, block, new);
    stage::require_proven(state)?;
    Ok(name)
}

/// Lets a block write a buffer through a copy in another layout; gives the block that copies.
pub(super) fn write_to(
    state: &mut State<'_>,
    block: &str,
    buf: BufId,
    way: &Way<'_>,
    (scope, suffix): (tenfold_ir::tir::Scope, &str),
) -> Result<String, Refusal> {
    stage::require_read_behind(state, block, buf)?;
    stage::require_whole(state, block)?;
    let holder = state.get_block(block)?.clone();
    if holder.init.is_none() && stage::reads(state, &holder, buf) {
        let text = format!("block `{block}` updates what `{}` holds before it", state.buf_name(buf));
        return Refusal::err(text, "use `cache_inplace`");
    }
    let index = stage::only_index(state, &holder, buf, true)?;
    require_free(state, &holder, &index)?;
    let layout = laid(state, &holder, &index, way)?;
    require_elements_apart(state, &index, &layout, buf)?;
    let new = stage::buffer_like(state, buf, suffix, layout.shape.clone(), scope);
    let name = state.fresh_block(state.buf_name(new));
    let made = copy(state, &name, (buf, &index), (new, &layout), false);
    let name = stage::block_in(&made);
    turn_to(state, block, (buf, new), (true, true), &layout)?;
    stage::put(state, block, made, stage::Side::Behind);
    stage::allocate(state, block, new);
    stage::require_proven(state)?;
    Ok(name)
}

fn laid(state: &State<'_>, block: &Block, index: &[ExprId], way: &Way<'_>) -> Result<Layout, Refusal> {
    match way {
        Way::Iterators => Ok(by_iterators(state, block, index)),
        Way::Map(map) => by_map(state, block, index, map),
    }
}

/// What the block wrote once it must still write once.
fn require_elements_apart(state: &State<'_>, index: &[ExprId], layout: &Layout, buf: BufId) -> Result<(), Refusal> {
    let mut digits = Digits::default();
    for iter in &layout.over {
        digits.push(state.b.sym(iter.var).clone(), IntExpr::from(0), state.int(iter.extent));
    }
    let old: Vec<IntExpr> = index.iter().map(|e| state.int(*e)).collect();
    if injective(&old, &digits, &digits.syms()) {
        return Ok(());
    }
    let text = format!("values of the iterators share elements of `{}`", state.buf_name(buf));
    Refusal::err(text, "only what is written once for each value of the iterators can be laid out by them")
}

/// An index over the block's iterators and what is bound outside of it.
fn require_free(state: &State<'_>, block: &Block, index: &[ExprId]) -> Result<(), Refusal> {
    let inner = tenfold_ir::tir::free_vars(&state.func(), &block.body);
    let exprs = &state.b.func().exprs;
    let bound = |e: &ExprId| super::analysis::vars_of(exprs, *e).into_iter().find(|v| !inner.contains(v));
    let loaded = |e: &ExprId| state.b.func().loads(*e);
    let text = match (index.iter().find_map(bound), index.iter().any(loaded)) {
        (Some(var), _) => format!("the index uses `{}`, which is bound inside of the block", state.name(var)),
        (None, true) => "the index depends on data".to_string(),
        (None, false) => return Ok(()),
    };
    Refusal::err(text, "only an index over the block's iterators can be laid out anew")
}

fn turn_to(
    state: &mut State<'_>,
    block: &str,
    bufs: (BufId, BufId),
    what: (bool, bool),
    layout: &Layout,
) -> Result<(), Refusal> {
    let index: Vec<ExprId> = layout.index.iter().map(|e| state.b.int_expr(e)).collect();
    stage::turn_block(state, block, bufs, what, &|_, _| index.clone())
}

// Maps of a buffer's indices.

/// The index that a map gives for one of a buffer of `shape`, and the new shape.
pub(super) fn mapped_shape(shape: &[IntExpr], map: &IndexMap, prover: &Prover) -> Result<Vec<IntExpr>, Refusal> {
    if map.params.len() != shape.len() {
        let text = format!("the map takes {} indices, and the buffer has {} axes", map.params.len(), shape.len());
        return Refusal::err(text, "take one index for each axis");
    }
    require_divisors(map)?;
    let (mut digits, mut domain) = (Digits::default(), Domain::new());
    for (sym, extent) in map.params.iter().zip(shape) {
        digits.push(sym.clone(), IntExpr::from(0), extent.clone());
        domain.push(sym.clone(), Range::upto(extent.clone()));
    }
    if !injective(&map.results, &digits, &digits.syms()) {
        return Refusal::err("two elements would be laid out in the same place", "give a map that can be undone");
    }
    extents(&map.results, &domain, prover)
}

/// A map applied to an index.
pub(super) fn apply(b: &mut Builder, map: &IndexMap, index: &[ExprId]) -> Vec<ExprId> {
    // Data may be an index as it is, but not a part of one.
    let index: Vec<ExprId> = index.iter().map(|e| b.to_index(*e)).collect();
    let at: BTreeMap<Sym, ExprId> = map.params.iter().cloned().zip(index).collect();
    map.results.iter().map(|e| expr(b, e, &at)).collect()
}

fn expr(b: &mut Builder, e: &IntExpr, at: &BTreeMap<Sym, ExprId>) -> ExprId {
    let two = |b: &mut Builder, op: BinaryOp, x: &IntExpr, y: &IntExpr| {
        let (x, y) = (expr(b, x, at), expr(b, y, at));
        b.binary(op, x, y)
    };
    match e.view() {
        View::Const(n) => b.index(n),
        View::Var(sym) => at.get(&sym).copied().unwrap_or_else(|| b.int_expr(e)),
        View::Add(all) => fold(b, BinaryOp::Add, &all, at),
        View::Mul(all) => fold(b, BinaryOp::Mul, &all, at),
        View::FloorDiv(x, y) => two(b, BinaryOp::DivEuclid, &x, &y),
        View::FloorMod(x, y) => two(b, BinaryOp::RemEuclid, &x, &y),
        View::TruncDiv(x, y) => two(b, BinaryOp::Div, &x, &y),
        View::TruncRem(x, y) => two(b, BinaryOp::Rem, &x, &y),
        View::Min(x, y) => two(b, BinaryOp::Min, &x, &y),
        View::Max(x, y) => two(b, BinaryOp::Max, &x, &y),
    }
}

fn fold(b: &mut Builder, op: BinaryOp, all: &[IntExpr], at: &BTreeMap<Sym, ExprId>) -> ExprId {
    let mut all = all.iter();
    let Some(first) = all.next() else { return b.index(0) };
    let first = expr(b, first, at);
    all.fold(first, |sum, e| {
        let e = expr(b, e, at);
        b.binary(op, sum, e)
    })
}
