//! `fuse([loops])`: loops directly inside each other become one.

use std::collections::BTreeMap;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{Builder, ExprId, LoopKind, Stmt, VarId};

use crate::schedule::analysis::{prover_at, uses_var};
use crate::schedule::args::Args;
use crate::schedule::edit::{Loop, State, substitute};
use crate::schedule::error::Refusal;
use crate::schedule::table::{Gives, Kind, Out, Outcome, Primitive, required};
use crate::schedule::tree;
use crate::schedule::{LoopRV, Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive =
    Primitive { name: "fuse", params: &[required("loops", Kind::Loops)], gives: Gives::One, run, decides: false };

impl Schedule<'_> {
    /// Makes one loop of loops that are directly inside each other, given outermost first.
    pub fn fuse(&mut self, loops: &[LoopRV]) -> Result<LoopRV, ScheduleError> {
        self.step_loop("fuse", vec![loops.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let vars = args.loops(0);
    let Some(outer) = vars.first().copied() else {
        return Refusal::err("there are no loops", "give the loops to fuse, outermost first");
    };
    let loops = chain(state, &vars)?;
    let counts = counts(state, &loops)?;
    let names: Vec<String> = vars.iter().map(|v| state.name(*v)).collect();
    let fused = state.b.index_var(&format!("{}_fused", names.join("_")));
    let inner = loops.last().map(|l| l.body.clone()).unwrap_or(Stmt::Seq(Vec::new()));
    let stmt = build(&mut state.b, &loops, &counts, fused, inner);
    state.edit_loop(outer, |_, _| stmt)?;
    Ok(vec![Out::Loop(fused)])
}

/// The loops, each the only thing in the one before it.
fn chain(state: &State<'_>, vars: &[VarId]) -> Result<Vec<Loop>, Refusal> {
    let mut loops: Vec<Loop> = Vec::new();
    for var in vars {
        let here = state.get_loop(*var)?;
        super::require_plain(state, &here, "fused")?;
        if let Some(above) = loops.last() {
            let (outer, inner) = (state.name(above.var), state.name(*var));
            if !tree::is_loop(*var)(above.body.bare()) {
                let text = format!("`{inner}` is not the only thing directly inside `{outer}`");
                return Refusal::err(text, "give loops that are directly inside each other, outermost first");
            }
            let exprs = &state.b.func().exprs;
            let depends = |l: &Loop| uses_var(exprs, here.min, l.var) || uses_var(exprs, here.extent, l.var);
            if let Some(l) = loops.iter().find(|l| depends(l)) {
                let text = format!("the range of `{inner}` depends on `{}`", state.name(l.var));
                return Refusal::err(text, "fuse only loops whose ranges do not depend on each other");
            }
        }
        loops.push(here);
    }
    Ok(loops)
}

/// The extents, none of them negative.
fn counts(state: &mut State<'_>, loops: &[Loop]) -> Result<Vec<ExprId>, Refusal> {
    let prover = prover_at(state, &tree::is_loop(loops[0].var));
    let mut all = Vec::new();
    for l in loops {
        let count = state.int(l.extent);
        all.push(match count.as_const() {
            Some(n) => state.b.index(n.max(0)),
            None if prover.prove_ge0(&count) => l.extent,
            None => {
                let zero = state.b.index(0);
                state.b.binary(BinaryOp::Max, l.extent, zero)
            }
        });
    }
    Ok(all)
}

fn build(b: &mut Builder, loops: &[Loop], counts: &[ExprId], fused: VarId, body: Stmt) -> Stmt {
    let zero = b.index(0);
    let mut rest = b.read(fused);
    let mut map = BTreeMap::new();
    for (n, (l, count)) in loops.iter().zip(counts).enumerate().rev() {
        // The outermost one is what is left.
        let digit = if n == 0 { rest } else { b.binary(BinaryOp::RemEuclid, rest, *count) };
        if n > 0 {
            rest = b.binary(BinaryOp::DivEuclid, rest, *count);
        }
        let value = if l.min == zero { digit } else { b.add(l.min, digit) };
        map.insert(l.var, value);
    }
    let extent = product(b, counts);
    let kind = if loops.iter().all(|l| l.kind == LoopKind::Reduction) { LoopKind::Reduction } else { LoopKind::Serial };
    let body = substitute(b, &map, body);
    Loop { var: fused, min: zero, extent, kind, annotations: Vec::new(), body }.stmt()
}

fn product(b: &mut Builder, counts: &[ExprId]) -> ExprId {
    let ints: Vec<IntExpr> = counts.iter().map(|c| tenfold_ir::tir::Viewer::new(b.func()).int(*c)).collect();
    let numbers: Option<i64> = ints.iter().try_fold(1i64, |n, i| n.checked_mul(i.as_const()?));
    match numbers {
        Some(n) => b.index(n),
        None => counts[1..].iter().fold(counts[0], |all, c| b.mul(all, *c)),
    }
}
