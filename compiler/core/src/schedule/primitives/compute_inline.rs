//! `compute_inline(block)`: what a block computes is written out where it is read, and the block goes.

use std::collections::BTreeMap;

use tenfold_ir::tir::{Builder, Expr, ExprId, ExprMap, Stmt, VarId};

use crate::schedule::analysis::{accesses, readers};
use crate::schedule::args::{Arg, Args};
use crate::schedule::edit::{State, substitute_expr};
use crate::schedule::error::Refusal;
use crate::schedule::inline::{
    alive_at, closed, forget_buffer, one_store, only_writer, reads_last, unit_iters, whole_index,
};
use crate::schedule::table::{Gives, Kind, Outcome, Primitive, required};
use crate::schedule::tree;
use crate::schedule::{Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "compute_inline",
    params: &[required("block", Kind::Block)],
    gives: Gives::Nothing,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// Writes out what a block computes wherever it is read.
    pub fn compute_inline(&mut self, block: impl Into<Arg>) -> Result<(), ScheduleError> {
        self.step("compute_inline", vec![block.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let name = args.block(0);
    let block = state.get_block(name)?.clone();
    let store = one_store(state, &block)?;
    only_writer(state, store.buf, name)?;
    let axes = whole_index(state, &block, store.buf, &store.index)?;
    closed(state, &block, store.value)?;
    reads_last(state, &block, None)?;
    let unit = unit_iters(state, &block);
    let value = substitute_expr(&mut state.b, &unit, store.value);
    let readers = readers(state, store.buf);
    alive_at(state, value, &readers)?;
    not_passed(state, store.buf)?;
    tree::remove_block(&mut state.body, name);
    forget_buffer(state, store.buf);
    let body = std::mem::replace(&mut state.body, Stmt::Seq(Vec::new()));
    let mut loads = ExprMap::new(|b: &mut Builder, id: ExprId| match b.func().exprs.get(id).clone() {
        Expr::Load { buf, index, .. } if buf == store.buf => at(b, value, &axes, &index),
        _ => id,
    });
    state.body = loads.stmt(&mut state.b, body);
    Ok(Vec::new())
}

/// The value at an index.
fn at(b: &mut Builder, value: ExprId, axes: &[Option<VarId>], index: &[ExprId]) -> ExprId {
    let mut map = BTreeMap::new();
    for (var, i) in axes.iter().zip(index) {
        if let Some(var) = var {
            let i = b.to_index(*i);
            map.insert(*var, i);
        }
    }
    substitute_expr(b, &map, value)
}

/// A function that is called needs its argument in memory.
fn not_passed(state: &State<'_>, buf: tenfold_ir::tir::BufId) -> Result<(), Refusal> {
    let found = accesses(state.module, &state.b.func().exprs, &state.body);
    if found.reads.iter().all(|a| a.buf != buf || a.index.is_some()) {
        return Ok(());
    }
    let text = format!("`{}` is passed to a function", state.buf_name(buf));
    Refusal::err(text, "take a block that only blocks of this function read")
}
