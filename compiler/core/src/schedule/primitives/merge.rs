//! `merge([loops])`: loops that run one after another become one, if no turn needs more of another than the same turn.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::tir::{Block, BufId, Stmt, VarId};

use crate::schedule::analysis::{accesses, any_order, prover_at, raw_touches};
use crate::schedule::args::Args;
use crate::schedule::edit::{Loop, State, substitute};
use crate::schedule::error::Refusal;
use crate::schedule::motion::settle_alloc;
use crate::schedule::table::{Gives, Kind, Out, Outcome, Primitive, required};
use crate::schedule::tree;
use crate::schedule::{LoopRV, Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive =
    Primitive { name: "merge", params: &[required("loops", Kind::Loops)], gives: Gives::One, run, decides: false };

impl Schedule<'_> {
    /// Makes one loop of loops of the same range that stand one after another.
    pub fn merge(&mut self, loops: &[LoopRV]) -> Result<LoopRV, ScheduleError> {
        self.step_loop("merge", vec![loops.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let vars = args.loops(0);
    if vars.len() < 2 {
        return Refusal::err("there are fewer than two loops", "give the loops to merge, in order");
    }
    let loops = vars.iter().map(|v| state.get_loop(*v)).collect::<Result<Vec<Loop>, _>>()?;
    same_range(state, &loops)?;
    let at = neighbours(state, &vars)?;
    let names: Vec<String> = vars.iter().map(|v| state.name(*v)).collect();
    let var = state.b.index_var(&format!("{}_m", names.join("_")));
    let read = state.b.read(var);
    let bodies: Vec<Stmt> =
        loops.iter().map(|l| substitute(&mut state.b, &BTreeMap::from([(l.var, read)]), l.body.clone())).collect();
    let merged = Loop { var, body: Stmt::seq(bodies), ..loops[0].clone() }.stmt();
    any_order(state, &merged, &[var])?;
    let handed_on = handed_on(state, &merged);
    if let Some(Stmt::Seq(all)) = tree::find_mut(&mut state.body, &holds(vars[0])) {
        all.splice(at..at + vars.len(), [merged]);
    }
    handed_on.into_iter().for_each(|buf| settle_alloc(state, buf));
    Ok(vec![Out::Loop(var)])
}

/// The buffers that several statements in the loop touch and nothing outside of it does: a turn reads of them what the
/// same turn has written, so that each turn may have its own.
fn handed_on(state: &State<'_>, merged: &Stmt) -> Vec<BufId> {
    let Stmt::For { body, .. } = merged else { return Vec::new() };
    let touch = |s: &Stmt, buf| accesses(state.module, &state.b.func().exprs, s).touch(buf);
    let bodies = body.children();
    let inside = |buf: &BufId| bodies.iter().filter(|s| touch(s, *buf)).count();
    let outer: Vec<&Block> = tree::outer_blocks(&state.body);
    let here: BTreeSet<&str> = tree::outer_blocks(merged).into_iter().map(|b| b.name.as_str()).collect();
    let elsewhere = |buf: BufId| {
        let others = outer.iter().filter(|b| !here.contains(b.name.as_str()));
        others.map(|b| Stmt::Block(Box::new((*b).clone()))).any(|s| touch(&s, buf)) || raw_touches(state, buf)
    };
    let all = tree::allocated(&state.body).into_iter();
    all.filter(|buf| inside(buf) > 1 && !elsewhere(*buf)).collect()
}

fn same_range(state: &State<'_>, loops: &[Loop]) -> Result<(), Refusal> {
    let first = &loops[0];
    let prover = prover_at(state, &tree::is_loop(first.var));
    for l in loops {
        super::require_plain(state, l, "merged")?;
        let same = prover.prove_eq(&state.int(l.min), &state.int(first.min))
            && prover.prove_eq(&state.int(l.extent), &state.int(first.extent));
        if !same || l.kind != first.kind {
            let text = format!("`{}` and `{}` do not have the same range", state.name(first.var), state.name(l.var));
            return Refusal::err(text, "merge loops of the same range and kind");
        }
    }
    Ok(())
}

/// The sequence that directly holds a loop.
fn holds(var: VarId) -> impl Fn(&Stmt) -> bool {
    move |s| matches!(s, Stmt::Seq(all) if all.iter().any(tree::is_loop(var)))
}

/// Where in their sequence the loops begin, one right after another.
fn neighbours(state: &State<'_>, vars: &[VarId]) -> Result<usize, Refusal> {
    let path = tree::path(&state.body, &holds(vars[0])).unwrap_or_default();
    let at = match path.last() {
        Some(Stmt::Seq(all)) => {
            let at = all.iter().position(tree::is_loop(vars[0])).unwrap_or(0);
            let next = vars.iter().zip(all[at..].iter()).all(|(v, s)| tree::is_loop(*v)(s));
            (next && all.len() >= at + vars.len()).then_some(at)
        }
        _ => None,
    };
    at.ok_or_else(|| {
        let names: Vec<String> = vars.iter().map(|v| format!("`{}`", state.name(*v))).collect();
        let text = format!("{} do not stand one right after another", names.join(", "));
        Refusal::new(text, "give neighbouring loops, in order")
    })
}
