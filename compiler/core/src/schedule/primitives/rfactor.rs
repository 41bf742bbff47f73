//! `rfactor(loop, axis)`: a reduction keeps one sum for each turn of a reduce loop, which are then added up.

use std::collections::BTreeMap;

use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{Access, Block, BufId, Expr, ExprId, Intrinsic, IterKind, IterVar, LoopKind, Scope, Stmt, VarId};
use tenfold_ir::{DType, Scalar};

use crate::schedule::analysis::{Class, accesses, class_of, uses_var, vars_of, writers};
use crate::schedule::args::Args;
use crate::schedule::edit::{Loop, State, substitute_expr};
use crate::schedule::error::Refusal;
use crate::schedule::inline::{alive_in, closed_block};
use crate::schedule::motion::{conjuncts, in_range, over_iters};
use crate::schedule::table::{Gives, Kind, Out, Outcome, Primitive, required};
use crate::schedule::tree;
use crate::schedule::{BlockRV, LoopRV, Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "rfactor",
    params: &[required("loop", Kind::Loop), required("axis", Kind::Int)],
    gives: Gives::One,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// Keeps one sum for each turn of a reduce loop, along a new axis of a buffer, and adds them up afterwards. Gives
    /// the block of the many sums; the old one adds up.
    pub fn rfactor(&mut self, it: LoopRV, axis: i64) -> Result<BlockRV, ScheduleError> {
        self.step_block("rfactor", vec![it.into(), axis.into()])
    }
}

/// What a reduction does.
struct Sum {
    block: Block,
    buf: BufId,
    index: Vec<ExprId>,
    op: BinaryOp,
    term: ExprId,
    start: ExprId,
    /// What changes nothing where it is added.
    unit: ExprId,
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let var = args.loop_var(0);
    let it = state.get_loop(var)?;
    super::require_plain(state, &it, "factored")?;
    let sum = the_sum(state, var, &it)?;
    let rank = sum.index.len() as i64;
    let axis = args.int(1).filter(|n| (0..=rank).contains(n)).ok_or_else(|| {
        Refusal::new(
            format!("axis {} is none of the new buffer's", args.int(1).unwrap_or(-1)),
            format!("give 0 to {rank}"),
        )
    })?;
    let top = outermost(state, &sum, var)?;
    let guards = guards(state, &sum)?;
    let many = many_sums(state, &sum, var, &it, axis as usize, guards)?;
    let total = total(state, &sum, many.buf, &it, axis as usize)?;
    let name = many.name.clone();
    replace(state, &sum, many, total, var, top)?;
    if let Some(index) = tenfold_ir::tir::verify_bounds(&state.func()).first() {
        return Refusal::err(index.clone(), "let the factors divide the extent");
    }
    Ok(vec![Out::Block(name)])
}

fn the_sum(state: &mut State<'_>, var: VarId, it: &Loop) -> Result<Sum, Refusal> {
    let name = state.name(var);
    let blocks = tree::outer_blocks(&it.body);
    let [block] = blocks[..] else {
        return Refusal::err(format!("`{name}` holds {} blocks", blocks.len()), "take a loop around one reduction");
    };
    if class_of(state, block)? != Class::Reduction {
        let text = format!("block `{}` is no reduction with an init", block.name);
        return Refusal::err(text, "take a reduction that was not decomposed yet");
    }
    let block = block.clone();
    closed_block(state, &block)?;
    let exprs = &state.b.func().exprs;
    let drives = |kind: IterKind| block.iters.iter().any(|i| i.kind == kind && uses_var(exprs, i.value, var));
    if !drives(IterKind::Reduce) || drives(IterKind::Spatial) {
        let text = format!("`{name}` does not drive reduce iterators alone");
        return Refusal::err(text, "take a loop of reduce iterators");
    }
    parts(state, block)
}

fn parts(state: &mut State<'_>, block: Block) -> Result<Sum, Refusal> {
    let unknown = || {
        let text = format!("block `{}` does not accumulate by `+`, `*`, minimum, maximum, and, or", block.name);
        Refusal::new(text, "write it as `t[i] = op(t[i], value)`")
    };
    let (Stmt::Store { buf, index, value, .. }, Some(Stmt::Store { value: start, .. })) =
        (block.body.bare(), block.init.as_ref().map(Stmt::bare))
    else {
        return Err(unknown());
    };
    let (buf, index, start) = (*buf, index.clone(), *start);
    let own = |e: ExprId| matches!(state.b.func().exprs.get(e), Expr::Load { buf: b, index: i, .. } if *b == buf && *i == index);
    let (op, term) = match state.b.func().exprs.get(*value).clone() {
        Expr::Binary(op, a, b) if own(a) => (op, b),
        Expr::Binary(op, a, b) if own(b) => (op, a),
        Expr::Call(Intrinsic::Fma, args, _) if own(args[2]) => (BinaryOp::Add, state.b.mul(args[0], args[1])),
        _ => return Err(unknown()),
    };
    let dtype = state.b.buf(buf).dtype;
    if state.b.func().strict && dtype.is_float() {
        let text = format!("the function is strict, and `{}` would be summed in another order", block.name);
        return Refusal::err(text, "drop `numerics = \"strict\"`");
    }
    let unit = unit(state, op, dtype, start).ok_or_else(unknown)?;
    let own_again = accesses(state.module, &state.b.func().exprs, &Stmt::Evaluate(term)).touch(buf);
    if own_again {
        return Err(unknown());
    }
    Ok(Sum { block, buf, index, op, term, start, unit })
}

fn unit(state: &mut State<'_>, op: BinaryOp, dtype: DType, start: ExprId) -> Option<ExprId> {
    match op {
        BinaryOp::Add => Some(state.b.scalar(Scalar::zero(dtype))),
        BinaryOp::Mul => Some(state.b.scalar(Scalar::one(dtype))),
        // Taking these again changes nothing, so what the sum starts at serves.
        BinaryOp::Min | BinaryOp::Max | BinaryOp::And | BinaryOp::Or => Some(start),
        _ => None,
    }
}

/// The outermost loop around the block; nothing else inside of it may touch the result.
fn outermost(state: &State<'_>, sum: &Sum, var: VarId) -> Result<VarId, Refusal> {
    let top = state.loops_of(&sum.block.name).first().copied().unwrap_or(var);
    let inside = state.get_loop(top)?.body;
    let exprs = &state.b.func().exprs;
    for other in tree::outer_blocks(&inside).into_iter().filter(|b| b.name != sum.block.name) {
        if accesses(state.module, exprs, &Stmt::Block(Box::new(other.clone()))).touch(sum.buf) {
            let text = format!("block `{}` uses `{}` in the same loops", other.name, state.buf_name(sum.buf));
            return Refusal::err(text, "factor the reduction before blocks are moved to it");
        }
    }
    let others: Vec<String> = writers(state, sum.buf).into_iter().filter(|w| *w != sum.block.name).collect();
    if let Some(other) = others.first() {
        let text = format!("block `{other}` writes `{}` too", state.buf_name(sum.buf));
        return Refusal::err(text, "factor a reduction that alone writes its result");
    }
    alive_in(state, &[sum.buf].into(), top)?;
    Ok(top)
}

/// The predicate: what concerns spatial iterators alone, and what concerns the reduction.
struct Guards {
    spatial: Option<ExprId>,
    reduce: Option<ExprId>,
}

fn guards(state: &mut State<'_>, sum: &Sum) -> Result<Guards, Refusal> {
    let block = &sum.block;
    let mut found = Guards { spatial: None, reduce: None };
    let Some(predicate) = block.predicate else { return Ok(found) };
    for part in conjuncts(state, predicate) {
        let exprs = &state.b.func().exprs;
        let vars = vars_of(exprs, part);
        let of_reduce = |v: &VarId| {
            block.iters.iter().any(|i| i.kind == IterKind::Reduce && (i.var == *v || uses_var(exprs, i.value, *v)))
        };
        if vars.iter().any(of_reduce) {
            found.reduce = Some(State::both(&mut state.b, found.reduce, part));
            continue;
        }
        let by_iter = over_iters(state, block, part);
        if !in_range(state, block, by_iter) {
            let text = format!("block `{}` has a predicate on its spatial iterators", block.name);
            return Refusal::err(text, "factor a reduction that computes all of its result");
        }
        found.spatial = Some(State::both(&mut state.b, found.spatial, part));
    }
    Ok(found)
}

/// The block of the many sums.
struct Many {
    name: String,
    buf: BufId,
    block: Block,
}

fn many_sums(
    state: &mut State<'_>,
    sum: &Sum,
    var: VarId,
    it: &Loop,
    axis: usize,
    guards: Guards,
) -> Result<Many, Refusal> {
    let extent = state.int(it.extent);
    if extent.vars().iter().any(|s| !is_param(state, s)) {
        let text = format!("`{}` has an extent that is not known outside of the loops", state.name(var));
        return Refusal::err(text, "take a loop of a known extent");
    }
    let data = state.b.buf(sum.buf).clone();
    let mut shape = data.shape.clone();
    shape.insert(axis, extent);
    let buf = state.b.buffer(&format!("{}_rf", data.name), data.dtype, shape, Scope::Global);
    let (iters, map, turn) = iterators(state, sum, var, it)?;
    let mut index: Vec<ExprId> = sum.index.iter().map(|e| substitute_expr(&mut state.b, &map, *e)).collect();
    index.insert(axis, turn);
    let term = substitute_expr(&mut state.b, &map, sum.term);
    let term = match guards.reduce {
        None => term,
        Some(cond) => {
            let cond = substitute_expr(&mut state.b, &map, cond);
            state.b.if_(cond, term, sum.unit)
        }
    };
    let old = state.b.load(buf, index.clone(), Access::Proven);
    let value = state.b.binary(sum.op, old, term);
    let store = |value: ExprId| Stmt::Store { buf, index: index.clone(), value, access: Access::Proven };
    let start = substitute_expr(&mut state.b, &map, sum.unit);
    let name = state.fresh_block(&format!("{}_rf", sum.block.name));
    let predicate = guards.spatial.map(|p| substitute_expr(&mut state.b, &map, p));
    let block = Block { iters, predicate, init: Some(store(start)), ..Block::new(name.clone(), store(value)) };
    Ok(Many { name, buf, block })
}

fn is_param(state: &State<'_>, sym: &tenfold_ir::arith::Sym) -> bool {
    let params = &state.b.func().params;
    state.b.var_of(sym).is_some_and(|v| params.contains(&tenfold_ir::tir::Param::Value(v)))
}

type Iterators = (Vec<IterVar>, BTreeMap<VarId, ExprId>, ExprId);

/// The iterators: the spatial ones, the loop as one more, and one for each other loop of the reduction.
fn iterators(state: &mut State<'_>, sum: &Sum, var: VarId, it: &Loop) -> Result<Iterators, Refusal> {
    let mut iters = Vec::new();
    let mut map = BTreeMap::new();
    for iter in sum.block.iters.iter().filter(|i| i.kind == IterKind::Spatial) {
        let new = state.b.index_var(&state.name(iter.var));
        let read = state.b.read(new);
        map.insert(iter.var, read);
        iters.push(IterVar { var: new, ..iter.clone() });
    }
    let zero = state.b.index(0);
    let mut loops = BTreeMap::new();
    let mut turn = zero;
    for v in state.loops_of(&sum.block.name) {
        let exprs = &state.b.func().exprs;
        let drives = |kind| sum.block.iters.iter().any(|i| i.kind == kind && uses_var(exprs, i.value, v));
        if !drives(IterKind::Reduce) {
            continue;
        }
        let l = if v == var { it.clone() } else { state.get_loop(v)? };
        if drives(IterKind::Spatial) || l.min != zero {
            let text = format!("`{}` drives more than reduce iterators, or does not begin at 0", state.name(v));
            return Refusal::err(text, "factor before such loops are fused");
        }
        let new = state.b.index_var(&format!("v{}", state.name(v)));
        let read = state.b.read(new);
        let value = state.b.read(v);
        let kind = if v == var { IterKind::Spatial } else { IterKind::Reduce };
        if v == var {
            turn = read;
        }
        loops.insert(v, read);
        iters.push(IterVar { var: new, extent: l.extent, kind, value });
    }
    for iter in sum.block.iters.iter().filter(|i| i.kind == IterKind::Reduce) {
        let value = substitute_expr(&mut state.b, &loops, iter.value);
        map.insert(iter.var, value);
    }
    map.extend(loops);
    Ok((iters, map, turn))
}

/// The nest that adds up.
fn total(state: &mut State<'_>, sum: &Sum, many: BufId, it: &Loop, axis: usize) -> Result<Stmt, Refusal> {
    let zero = state.b.index(0);
    let mut block = sum.block.clone();
    block.predicate = None;
    block.iters.retain(|i| i.kind == IterKind::Spatial);
    let mut loops = Vec::new();
    for iter in &mut block.iters {
        let var = state.b.index_var(&format!("ax_{}", state.b.sym(iter.var)));
        iter.value = state.b.read(var);
        loops.push((var, iter.extent, LoopKind::Serial));
    }
    let turn = state.b.index_var("vrf");
    let var = state.b.index_var("rf");
    let value = state.b.read(var);
    loops.push((var, it.extent, LoopKind::Reduction));
    block.iters.push(IterVar { var: turn, extent: it.extent, kind: IterKind::Reduce, value });
    let mut index = sum.index.clone();
    let turn = state.b.read(turn);
    index.insert(axis, turn);
    let term = state.b.load(many, index, Access::Proven);
    let old = state.b.load(sum.buf, sum.index.clone(), Access::Proven);
    let value = state.b.binary(sum.op, old, term);
    block.body = Stmt::Store { buf: sum.buf, index: sum.index.clone(), value, access: Access::Proven };
    block.init = Some(Stmt::Store { buf: sum.buf, index: sum.index.clone(), value: sum.start, access: Access::Proven });
    block.reads.clear();
    block.writes.clear();
    let mut stmt = Stmt::Block(Box::new(block));
    for (var, extent, kind) in loops.into_iter().rev() {
        stmt = Stmt::loop_(var, zero, extent, kind, stmt);
    }
    Ok(stmt)
}

/// Puts the block of the many sums in the place of the old one, and the nest that adds up behind its loops.
fn replace(state: &mut State<'_>, sum: &Sum, many: Many, total: Stmt, var: VarId, top: VarId) -> Result<(), Refusal> {
    state.edit_block(&sum.block.name, |_, block| *block = many.block)?;
    state.edit_loop(var, |_, l| Loop { kind: LoopKind::Serial, ..l }.stmt())?;
    state.edit_loop(top, |_, l| {
        let body = Box::new(Stmt::Seq(vec![l.stmt(), total]));
        Stmt::Alloc { buf: many.buf, body }
    })?;
    Ok(())
}
