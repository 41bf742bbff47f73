//! What `compute_at` and `reverse_compute_at` share: a block leaves its loops and gets new ones inside another loop.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::arith::{IntExpr, Prover};
use tenfold_ir::op::CmpOp;
use tenfold_ir::tir::{Block, BufId, Builder, Expr, ExprId, ExprMap, IterKind, IterVar, LoopKind, Stmt, VarId};

use super::analysis::{accesses, vars_of};
use super::edit::State;
use super::error::Refusal;
use super::inline::remove_alloc;
use super::tree;

/// The part of an iterator's range that is to run: `min..min + extent`.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub min: IntExpr,
    pub extent: IntExpr,
}

/// A block with new loops of its own. Iterators without a part run over their whole range. `prover` knows where the
/// loops will stand.
pub(super) fn renest(
    state: &mut State<'_>,
    block: &Block,
    parts: &BTreeMap<VarId, Part>,
    prover: &Prover,
    unit_loops: bool,
) -> Result<Stmt, Refusal> {
    let mut block = block.clone();
    let kept = kept_predicate(state, &block)?;
    let mut loops = Vec::new();
    let mut cond = kept;
    let mut iters = Vec::new();
    for (n, iter) in block.iters.iter().enumerate() {
        let whole = Part { min: 0.into(), extent: state.int(iter.extent) };
        let part = parts.get(&iter.var).unwrap_or(&whole);
        let (value, turn) = bound(state, iter, part, n, unit_loops)?;
        loops.extend(turn);
        for inside in inside(state, iter, part, value, prover)? {
            cond = Some(State::both(&mut state.b, cond, inside));
        }
        iters.push(IterVar { value, ..iter.clone() });
    }
    block.iters = iters;
    block.predicate = cond;
    let mut stmt = Stmt::Block(Box::new(block));
    for (var, extent, kind) in loops.into_iter().rev() {
        let min = state.b.index(0);
        stmt = Stmt::loop_(var, min, extent, kind, stmt);
    }
    Ok(stmt)
}

type Turn = Option<(VarId, ExprId, LoopKind)>;

/// The value of an iterator and the loop that drives it.
fn bound(
    state: &mut State<'_>,
    iter: &IterVar,
    part: &Part,
    n: usize,
    unit_loops: bool,
) -> Result<(ExprId, Turn), Refusal> {
    let lost = || Refusal::new("the part to compute depends on data", "move the block to an outer loop");
    let min = state.index_of(&part.min).ok_or_else(lost)?;
    if part.extent.as_const() == Some(1) && !unit_loops {
        return Ok((min, None));
    }
    let extent = state.index_of(&part.extent).ok_or_else(lost)?;
    let var = state.b.index_var(&format!("ax{n}"));
    let read = state.b.read(var);
    let value = if part.min.as_const() == Some(0) { read } else { state.b.add(min, read) };
    let kind = match iter.kind {
        IterKind::Reduce => LoopKind::Reduction,
        IterKind::Spatial | IterKind::Ordered => LoopKind::Serial,
    };
    Ok((value, Some((var, extent, kind))))
}

/// What must be checked for the part to stay inside the iterator's range.
fn inside(
    state: &mut State<'_>,
    iter: &IterVar,
    part: &Part,
    value: ExprId,
    prover: &Prover,
) -> Result<Vec<ExprId>, Refusal> {
    let extent = state.int(iter.extent);
    let mut all = Vec::new();
    if !prover.prove_ge0(&part.min) {
        let zero = state.b.index(0);
        all.push(state.b.compare(CmpOp::Ge, value, zero));
    }
    if !prover.prove_le(&(&part.min + &part.extent), &extent) {
        all.push(state.b.compare(CmpOp::Lt, value, iter.extent));
    }
    Ok(all)
}

/// The parts of a predicate that hold of iterators alone. What split loops have added only keeps iterators inside of
/// their ranges, and goes with the loops.
fn kept_predicate(state: &mut State<'_>, block: &Block) -> Result<Option<ExprId>, Refusal> {
    let Some(predicate) = block.predicate else { return Ok(None) };
    let own: BTreeSet<VarId> = state.loops_of(&block.name).into_iter().collect();
    let mut kept = None;
    for part in conjuncts(state, predicate) {
        let part = over_iters(state, block, part);
        if in_range(state, block, part) {
            continue;
        }
        if let Some(var) = vars_of(&state.b.func().exprs, part).into_iter().find(|v| own.contains(v)) {
            let text = format!("the predicate of block `{}` depends on its loop `{}`", block.name, state.name(var));
            return Refusal::err(text, "move the block before its loops are split");
        }
        kept = Some(State::both(&mut state.b, kept, part));
    }
    Ok(kept)
}

/// A condition over loops as one over the iterators that they drive, as far as it names their values.
pub(super) fn over_iters(state: &mut State<'_>, block: &Block, cond: ExprId) -> ExprId {
    let values: BTreeMap<ExprId, VarId> = block.iters.iter().map(|i| (i.value, i.var)).collect();
    let mut to_iter = ExprMap::new(|b: &mut Builder, id: ExprId| match values.get(&id) {
        Some(var) => b.read(*var),
        None => id,
    });
    to_iter.expr(&mut state.b, cond)
}

/// Whether a condition says no more than that iterators are inside of their ranges.
pub(super) fn in_range(state: &State<'_>, block: &Block, cond: ExprId) -> bool {
    let mut viewer = tenfold_ir::tir::Viewer::new(state.b.func());
    for iter in &block.iters {
        let extent = viewer.int(iter.extent);
        viewer.prover.assume_range(state.b.sym(iter.var), &IntExpr::from(0), &extent);
    }
    let fact = viewer.fact(cond);
    fact.is_some_and(|f| viewer.prover.prove(&f))
}

/// The parts of `a && b`.
pub(super) fn conjuncts(state: &State<'_>, cond: ExprId) -> Vec<ExprId> {
    let exprs = &state.b.func().exprs;
    let is_false = |e: ExprId| matches!(exprs.get(e), Expr::Const(s) if s.bits == 0);
    match exprs.get(cond) {
        Expr::If(a, b, no) if is_false(*no) => [conjuncts(state, *a), conjuncts(state, *b)].concat(),
        _ => vec![cond],
    }
}

/// The scope of a block and of a loop must be one, and the loop not around the block.
pub(super) fn same_scope(state: &State<'_>, block: &str, var: VarId) -> Result<(), Refusal> {
    let scope = |f: &dyn Fn(&Stmt) -> bool| {
        let path = tree::path(&state.body, &|s: &Stmt| f(s)).unwrap_or_default();
        path[..path.len().saturating_sub(1)].iter().rev().find_map(|s| match s {
            Stmt::Block(block) => Some(block.name.clone()),
            _ => None,
        })
    };
    let name = state.name(var);
    if state.loops_of(block).contains(&var) {
        return Refusal::err(format!("`{block}` is inside `{name}` already"), "take a loop of another block");
    }
    if scope(&tree::is_block(block)) != scope(&tree::is_loop(var)) {
        let text = format!("`{block}` and `{name}` are not inside the same block");
        return Refusal::err(text, "take a loop around the blocks that read or feed it");
    }
    Ok(())
}

/// Puts a statement into the body of a loop: before the first part of it that `stop` finds, or at its end. What
/// `after` finds must come before.
pub(super) fn insert(
    state: &mut State<'_>,
    var: VarId,
    new: Stmt,
    stop: &dyn Fn(&Stmt) -> bool,
    after: &dyn Fn(&Stmt) -> bool,
) -> Result<(), Refusal> {
    let Some(Stmt::For { body, .. }) = tree::find_mut(&mut state.body, &tree::is_loop(var)) else {
        return Refusal::err("the loop is gone", "take another loop");
    };
    insert_in(body, new, stop, after)
}

fn insert_in(
    body: &mut Stmt,
    new: Stmt,
    stop: &dyn Fn(&Stmt) -> bool,
    after: &dyn Fn(&Stmt) -> bool,
) -> Result<(), Refusal> {
    match body {
        Stmt::At(_, inner) | Stmt::Alloc { body: inner, .. } | Stmt::Let { body: inner, .. } => {
            insert_in(inner, new, stop, after)
        }
        Stmt::Seq(all) if all.len() == 1 => insert_in(&mut all[0], new, stop, after),
        Stmt::Seq(all) => {
            let at = all.iter().position(|s| tree::any(s, stop)).unwrap_or(all.len());
            if all[at..].iter().any(|s| tree::any(s, after)) {
                let text = "what it reads is computed beside or after what reads it";
                return Refusal::err(text, "take another loop");
            }
            all.insert(at, new);
            Ok(())
        }
        other => {
            let old = std::mem::replace(other, Stmt::Seq(Vec::new()));
            let first = tree::any(&old, stop);
            if first && tree::any(&old, after) {
                let text = "what it reads is computed in the same statement as what reads it";
                return Refusal::err(text, "take another loop");
            }
            *other = Stmt::Seq(if first { vec![new, old] } else { vec![old, new] });
            Ok(())
        }
    }
}

/// Lets a buffer live around what touches it, and no more: its elements must be written before they are read each
/// time that runs.
pub(super) fn settle_alloc(state: &mut State<'_>, buf: BufId) {
    if !tree::allocated(&state.body).contains(&buf) {
        return;
    }
    let mut body = std::mem::replace(&mut state.body, Stmt::Seq(Vec::new()));
    remove_alloc(&mut body, buf);
    let touches = |s: &Stmt| accesses(state.module, &state.b.func().exprs, s).touch(buf);
    let place = smallest(&mut body, &touches);
    let inner = std::mem::replace(place, Stmt::Seq(Vec::new()));
    *place = Stmt::Alloc { buf, body: Box::new(inner) };
    state.body = body;
}

/// The smallest statement outside of blocks that holds all that `touches` finds.
fn smallest<'a>(stmt: &'a mut Stmt, touches: &dyn Fn(&Stmt) -> bool) -> &'a mut Stmt {
    let may_enter = matches!(stmt, Stmt::Seq(_) | Stmt::For { .. } | Stmt::Alloc { .. } | Stmt::At(..));
    let places: Vec<usize> = if may_enter {
        stmt.children().iter().enumerate().filter(|(_, s)| touches(s)).map(|(n, _)| n).collect()
    } else {
        Vec::new()
    };
    match places[..] {
        [one] => {
            let mut children = stmt.children_mut();
            smallest(children.swap_remove(one), touches)
        }
        _ => stmt,
    }
}
