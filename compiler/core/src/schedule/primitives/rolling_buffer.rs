//! `rolling_buffer(block, buffer)`: of windows that slide over a buffer, only what is new is computed.
//!
//! Where a producer was moved into the loop of its consumer, turns of the loop compute overlapping parts of the buffer.
//! The buffer becomes as long as one part and is used round and round; after the first turn the block runs only for
//! what the turn before it has not computed.

use std::collections::BTreeSet;

use tenfold_ir::arith::{Domain, IntExpr, IntervalSet, Range, Sym};
use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::tir::{Block, BufId, ExprId, Stmt, VarId, Viewer};

use crate::schedule::analysis::{accesses, prover_at, readers, region_of, spatial_index};
use crate::schedule::args::{Arg, Args};
use crate::schedule::edit::State;
use crate::schedule::error::Refusal;
use crate::schedule::table::{Gives, Kind, Outcome, Primitive, required};
use crate::schedule::{BlockRV, Schedule, ScheduleError, stage, tree};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "rolling_buffer",
    params: &[required("block", Kind::Block), required("buffer", Kind::Any)],
    gives: Gives::Nothing,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// Keeps what one turn of a loop shares with the next in a buffer that the block writes.
    pub fn rolling_buffer(&mut self, block: BlockRV, buffer: impl Into<Arg>) -> Result<(), ScheduleError> {
        self.step("rolling_buffer", vec![block.into(), buffer.into()])
    }
}

/// The axis that rolls: its index is `step * turn + rest`, with `rest` in `0..length`.
struct Roll {
    axis: usize,
    turn: VarId,
    step: i64,
    length: i64,
    rest: IntExpr,
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let name = args.block(0);
    let buf = stage::buffer_of(state, name, args.get(1), true)?;
    stage::require_own(state, buf)?;
    let block = state.get_block(name)?.clone();
    if block.predicate.is_some() {
        // The window would be longer than what a turn computes of it.
        let text = format!("block `{name}` does not run for every index of the window");
        return Refusal::err(text, "split the loops of the window into factors of their extents");
    }
    let roll = roll(state, &block, buf)?;
    require_kept(state, name, buf, &roll)?;
    require_read_inside(state, buf, &roll)?;
    let Some(rest) = state.index_of(&roll.rest) else {
        return Refusal::err("the index depends on data", "only windows over loops can roll");
    };
    let cond = first_or_new(state, &roll, rest);
    let mut shape = state.b.buf(buf).shape.clone();
    shape[roll.axis] = IntExpr::from(roll.length);
    stage::replace(state, buf, shape, &|b, index| {
        let mut index = index.to_vec();
        let length = b.index(roll.length);
        index[roll.axis] = b.binary(BinaryOp::RemEuclid, index[roll.axis], length);
        index
    });
    state.edit_block(name, |b, block| block.predicate = Some(State::both(b, block.predicate, cond)))?;
    stage::require_proven(state)?;
    Ok(Vec::new())
}

/// `turn == 0 || rest >= length - step`.
fn first_or_new(state: &mut State<'_>, roll: &Roll, rest: ExprId) -> ExprId {
    let (turn, zero, old) = (state.b.read(roll.turn), state.b.index(0), state.b.index(roll.length - roll.step));
    let first = state.b.compare(CmpOp::Eq, turn, zero);
    let new = state.b.compare(CmpOp::Ge, rest, old);
    state.b.or(first, new)
}

fn roll(state: &State<'_>, block: &Block, buf: BufId) -> Result<Roll, Refusal> {
    let index = stage::only_index(state, block, buf, true)?;
    let axes = spatial_index(state, block, &index).unwrap_or_default();
    let value = |var: VarId| block.iters.iter().find(|i| i.var == var).map(|i| state.int(i.value));
    let values: Vec<Option<IntExpr>> = axes.iter().map(|axis| axis.and_then(value)).collect();
    for (axis, e) in values.iter().enumerate() {
        let Some(e) = e else { continue };
        let found = state.loops_of(&block.name).into_iter().find_map(|turn| sliding(state, block, axis, turn, e));
        let Some(found) = found else { continue };
        let turn = state.b.sym(found.turn);
        let others = values.iter().enumerate().filter(|(other, _)| *other != axis);
        if others.into_iter().any(|(_, e)| e.as_ref().is_some_and(|e| e.vars().contains(turn))) {
            let text = format!("another axis of `{}` moves with `{turn}`, too", state.buf_name(buf));
            return Refusal::err(text, "only a window that slides along one axis can roll");
        }
        return Ok(found);
    }
    let text = format!(
        "turns of no loop around block `{}` compute overlapping parts of `{}`",
        block.name,
        state.buf_name(buf)
    );
    Refusal::err(text, "move the block into the loop of its consumer with `compute_at` first")
}

/// The axis as a window that slides with the turns of a loop, by constant steps shorter than the window.
fn sliding(state: &State<'_>, block: &Block, axis: usize, turn: VarId, e: &IntExpr) -> Option<Roll> {
    let it = state.get_loop(turn).ok().filter(|it| it.is_plain())?;
    if state.int(it.min) != IntExpr::from(0) {
        return None;
    }
    let sym = state.b.sym(turn).clone();
    let next = IntExpr::var(sym.clone()) + 1;
    let step = (e.substitute(&|s: &Sym| (*s == sym).then(|| next.clone())) - e).as_const().filter(|n| *n > 0)?;
    let rest = e - &(IntExpr::var(sym) * step);
    let mut domain = Domain::new();
    let loops = state.loops_of(&block.name);
    for inner in loops.iter().skip_while(|var| **var != turn).skip(1) {
        let it = state.get_loop(*inner).ok()?;
        domain.push(state.b.sym(*inner).clone(), Range::new(state.int(it.min), state.int(it.extent)));
    }
    if !rest.vars().iter().all(|sym| domain.binds(sym)) {
        return None;
    }
    let set = IntervalSet::of(&rest, &domain, &Viewer::new(state.b.func()).prover);
    let (min, max) = (set.min()?.as_const()?, set.max()?.as_const()?);
    (min == 0 && max + 1 > step).then_some(Roll { axis, turn, step, length: max + 1, rest })
}

/// What one turn leaves must be there in the next.
fn require_kept(state: &State<'_>, name: &str, buf: BufId, roll: &Roll) -> Result<(), Refusal> {
    let stmt = state.get_loop(roll.turn)?.stmt();
    let mut inside: BTreeSet<BufId> = tree::allocated(&stmt);
    stmt.walk(&mut |s| {
        if let Stmt::Block(block) = s {
            inside.extend(block.allocs.iter().copied());
        }
    });
    if inside.contains(&buf) {
        let (buf, turn) = (state.buf_name(buf), state.name(roll.turn));
        return Refusal::err(
            format!("`{buf}` is made anew in each turn of `{turn}`"),
            format!("let block `{name}` write a buffer that lives outside of the loop"),
        );
    }
    let own = state.get_block(name)?;
    if stage::reads(state, own, buf) && own.init.is_none() {
        let text = format!("block `{name}` reads `{}`, which it would find changed", state.buf_name(buf));
        return Refusal::err(text, "only a buffer that the block alone writes, and starts, can roll");
    }
    if !used_outside(state, &state.body, buf, roll.turn) {
        return Ok(());
    }
    let (buf, turn) = (state.buf_name(buf), state.name(roll.turn));
    Refusal::err(format!("`{buf}` is also used outside of loop `{turn}`"), "only a buffer of one loop can roll")
}

/// Whether a statement other than the loop touches a buffer.
fn used_outside(state: &State<'_>, stmt: &Stmt, buf: BufId, turn: VarId) -> bool {
    if tree::is_loop(turn)(stmt) {
        return false;
    }
    let inner = stmt.children();
    if inner.is_empty() {
        return accesses(state.module, &state.b.func().exprs, stmt).touch(buf);
    }
    inner.into_iter().any(|s| used_outside(state, s, buf, turn))
}

/// A turn reads only what lies in its window.
fn require_read_inside(state: &State<'_>, buf: BufId, roll: &Roll) -> Result<(), Refusal> {
    let it = state.get_loop(roll.turn)?;
    let found = region_of(state, &it.body, buf, false);
    let prover = prover_at(state, &tree::is_loop(roll.turn));
    let first = IntExpr::var(state.b.sym(roll.turn).clone()) * roll.step;
    let set = &found.axes[roll.axis];
    let low = set.min().is_some_and(|min| prover.prove_le(&first, min));
    let high = set.max().is_some_and(|max| prover.prove_lt(max, &(&first + roll.length)));
    if low && high {
        return Ok(());
    }
    let names: Vec<String> = readers(state, buf).into_iter().map(|name| format!("`{name}`")).collect();
    let text = format!("{} may read of `{}` what lies outside of the window", names.join(" and "), state.buf_name(buf));
    Refusal::err(text, "let the consumer read no more than the block computes in a turn")
}
