//! `reorder([loops])`: loops of one nest change places; the others stay where they are.

use tenfold_ir::tir::{Stmt, VarId};

use crate::schedule::analysis::{any_order, uses_var};
use crate::schedule::args::Args;
use crate::schedule::edit::{Loop, State};
use crate::schedule::error::Refusal;
use crate::schedule::table::{Gives, Kind, Outcome, Primitive, required};
use crate::schedule::tree;
use crate::schedule::{LoopRV, Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "reorder",
    params: &[required("loops", Kind::Loops)],
    gives: Gives::Nothing,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// Puts loops of one nest in this order, outermost first, in the places that they have together.
    pub fn reorder(&mut self, loops: &[LoopRV]) -> Result<(), ScheduleError> {
        self.step("reorder", vec![loops.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    reorder(state, &args.loops(0))?;
    Ok(Vec::new())
}

pub(super) fn reorder(state: &mut State<'_>, wanted: &[VarId]) -> Result<(), Refusal> {
    let nest = nest(state, wanted)?;
    let mut next = wanted.iter();
    let order: Vec<VarId> =
        nest.iter().map(|l| if wanted.contains(&l.var) { *next.next().unwrap_or(&l.var) } else { l.var }).collect();
    if order.iter().zip(&nest).all(|(v, l)| *v == l.var) {
        return Ok(());
    }
    check_ranges(state, &nest, &order)?;
    check_axes(state, &nest, &order)?;
    let top = nest[0].clone().stmt();
    // Every loop from the first to the last place changes its order with some other.
    let moved: Vec<VarId> = nest.iter().map(|l| l.var).collect();
    any_order(state, &top, &moved)?;
    let mut body = nest.last().map(|l| l.body.clone()).unwrap_or(Stmt::Seq(Vec::new()));
    for var in order.iter().rev() {
        if let Some(l) = nest.iter().find(|l| l.var == *var) {
            body = Loop { body, ..l.clone() }.stmt();
        }
    }
    let first = nest[0].var;
    state.edit_loop(first, |_, _| body)
}

/// The nest from the outermost to the innermost of the loops, all between included.
fn nest(state: &State<'_>, wanted: &[VarId]) -> Result<Vec<Loop>, Refusal> {
    for (n, var) in wanted.iter().enumerate() {
        if wanted[..n].contains(var) {
            return Refusal::err(format!("`{}` is given twice", state.name(*var)), "give each loop once");
        }
    }
    if wanted.is_empty() {
        return Refusal::err("there are no loops", "give the loops in the order you want");
    }
    let mut top = wanted.iter().copied();
    let outermost = top.find(|v| wanted.iter().all(|w| contains(state, *v, *w)));
    let Some(outermost) = outermost else {
        let names: Vec<String> = wanted.iter().map(|v| format!("`{}`", state.name(*v))).collect();
        let text = format!("{} are not in one nest", names.join(", "));
        return Refusal::err(text, "give loops of which each is inside or around every other");
    };
    let mut nest = vec![state.get_loop(outermost)?];
    let mut missing: Vec<VarId> = wanted.iter().copied().filter(|v| *v != outermost).collect();
    while !missing.is_empty() {
        let above = &nest[nest.len() - 1];
        let Stmt::For { var, .. } = above.body.bare() else {
            let (outer, inner) = (state.name(above.var), state.name(missing[0]));
            let text = format!("`{outer}` holds more than the loop that leads to `{inner}`");
            return Refusal::err(text, "reorder only loops between which nothing stands");
        };
        missing.retain(|v| v != var);
        let next = state.get_loop(*var)?;
        nest.push(next);
    }
    Ok(nest)
}

fn contains(state: &State<'_>, outer: VarId, inner: VarId) -> bool {
    let found = tree::path(&state.body, &tree::is_loop(outer));
    found.and_then(|p| p.last().copied()).is_some_and(|l| tree::any(l, &tree::is_loop(inner)))
}

/// No loop may come before one that its range depends on.
fn check_ranges(state: &State<'_>, nest: &[Loop], order: &[VarId]) -> Result<(), Refusal> {
    let exprs = &state.b.func().exprs;
    for (n, var) in order.iter().enumerate() {
        let Some(l) = nest.iter().find(|l| l.var == *var) else { continue };
        let later = order[n + 1..].iter().find(|v| uses_var(exprs, l.min, **v) || uses_var(exprs, l.extent, **v));
        if let Some(later) = later {
            let (inner, outer) = (state.name(*var), state.name(*later));
            let text = format!("the range of `{inner}` depends on `{outer}`");
            return Refusal::err(text, format!("keep `{inner}` inside `{outer}`"));
        }
    }
    Ok(())
}

/// No loop over threads may come before one over blocks of them.
fn check_axes(state: &State<'_>, nest: &[Loop], order: &[VarId]) -> Result<(), Refusal> {
    let loops: Vec<&Loop> = order.iter().filter_map(|var| nest.iter().find(|l| l.var == *var)).collect();
    for (n, outer) in loops.iter().enumerate() {
        if let Some(inner) = loops[n + 1..].iter().find(|inner| !super::may_hold(outer.kind, inner.kind)) {
            let (outer, inner) = (state.name(outer.var), state.name(inner.var));
            let text = format!("`{inner}` is bound to blocks, and `{outer}` to the threads in them");
            return Refusal::err(text, format!("keep `{outer}` inside `{inner}`"));
        }
    }
    Ok(())
}
