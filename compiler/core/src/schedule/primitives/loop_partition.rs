//! `loop_partition(loop, [sizes])`: a loop becomes several, one after another, each over a part of its range.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::arith::IntExpr;
use tenfold_ir::tir::{Builder, ExprId, Stmt, VarId};

use crate::schedule::analysis::prover_at;
use crate::schedule::args::Args;
use crate::schedule::edit::{Loop, State, substitute};
use crate::schedule::error::Refusal;
use crate::schedule::table::{Gives, Kind, Out, Outcome, Primitive, required};
use crate::schedule::tree;
use crate::schedule::{LoopRV, Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "loop_partition",
    params: &[required("loop", Kind::Loop), required("sizes", Kind::Ints)],
    gives: Gives::List,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// Cuts a loop into loops that run one after another: of these sizes, and one of what is left.
    pub fn loop_partition(&mut self, it: LoopRV, sizes: &[i64]) -> Result<Vec<LoopRV>, ScheduleError> {
        self.step_loops("loop_partition", vec![it.into(), sizes.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let var = args.loop_var(0);
    let it = state.get_loop(var)?;
    super::require_plain(state, &it, "cut")?;
    let sizes = args.ints(1);
    if sizes.is_empty() || sizes.iter().any(|s| *s < 1) {
        return Refusal::err(format!("{sizes:?} are no sizes"), "give sizes of at least 1");
    }
    let Some(sum) = sizes.iter().try_fold(0i64, |n, s| n.checked_add(*s)) else {
        return Refusal::err("the sizes are too large", "give smaller sizes");
    };
    let prover = prover_at(state, &tree::is_loop(var));
    let extent = state.int(it.extent);
    if !prover.prove_le(&IntExpr::from(sum), &extent) {
        let text = format!("`{}` is not proven to have {sum} turns: it has {extent}", state.name(var));
        return Refusal::err(text, "give sizes that fit into the loop");
    }
    reduces_inside(state, &it, var)?;
    let left = prover.simplify(&(&extent - sum));
    let mut parts = Vec::new();
    let mut vars = Vec::new();
    let mut taken: BTreeSet<String> = tree::all_blocks(&state.body).iter().map(|b| b.name.clone()).collect();
    let mut begin = 0;
    for (n, size) in sizes.iter().enumerate() {
        let size_expr = state.b.index(*size);
        parts.push(part(state, &it, (n, begin, size_expr), &mut vars, &mut taken));
        begin += size;
    }
    if left.as_const() != Some(0) {
        let sum = state.b.index(sum);
        let rest = match left.as_const() {
            Some(n) => state.b.index(n),
            None => state.b.sub(it.extent, sum),
        };
        parts.push(part(state, &it, (sizes.len(), begin, rest), &mut vars, &mut taken));
    }
    state.edit_loop(var, |_, _| Stmt::Seq(parts))?;
    Ok(vars.into_iter().map(Out::Loop).collect())
}

/// The init of a reduction runs where its iterators are at 0: in the first part alone, which comes first.
fn reduces_inside(state: &State<'_>, it: &Loop, var: VarId) -> Result<(), Refusal> {
    if tree::only_blocks(&it.body) {
        return Ok(());
    }
    let text = format!("`{}` holds statements outside of blocks", state.name(var));
    Refusal::err(text, "only loops of blocks can be cut")
}

/// The loop over one part of the range: blocks and what is bound inside have names of their own from the second on.
fn part(
    state: &mut State<'_>,
    it: &Loop,
    (n, begin, size): (usize, i64, ExprId),
    vars: &mut Vec<VarId>,
    taken: &mut BTreeSet<String>,
) -> Stmt {
    let name = state.name(it.var);
    let var = state.b.index_var(&format!("{name}_{n}"));
    vars.push(var);
    let here = state.b.read(var);
    let value = shifted(&mut state.b, it.min, begin, here);
    let body = if n == 0 { it.body.clone() } else { copy(state, &it.body, taken) };
    let body = substitute(&mut state.b, &BTreeMap::from([(it.var, value)]), body);
    let min = state.b.index(0);
    Loop { var, min, extent: size, body, ..it.clone() }.stmt()
}

fn shifted(b: &mut Builder, min: ExprId, begin: i64, here: ExprId) -> ExprId {
    let first = b.index(begin);
    let zero = b.index(0);
    let start = match (min == zero, begin) {
        (true, 0) => return here,
        (true, _) => first,
        (false, 0) => min,
        (false, _) => b.add(min, first),
    };
    b.add(start, here)
}

/// The statement with new variables for what it binds and names for its blocks that are not `taken` yet.
fn copy(state: &mut State<'_>, stmt: &Stmt, taken: &mut BTreeSet<String>) -> Stmt {
    let mut fresh = BTreeMap::new();
    let mut names = BTreeMap::new();
    let mut bound = Vec::new();
    stmt.walk(&mut |s| bound.extend(s.bound()));
    for var in bound {
        let ty = state.b.func().vars[var.0 as usize].ty;
        let new = state.b.var(&state.name(var), ty);
        fresh.insert(var, new);
    }
    for block in tree::all_blocks(stmt) {
        let name = (1..).map(|n| format!("{}_{n}", block.name)).find(|n| !taken.contains(n)).unwrap_or_default();
        taken.insert(name.clone());
        names.insert(block.name.clone(), name);
    }
    let map: BTreeMap<VarId, ExprId> = fresh.iter().map(|(old, new)| (*old, state.b.read(*new))).collect();
    let stmt = substitute(&mut state.b, &map, stmt.clone());
    stmt.map(&mut |s| {
        let s = s.map_bound(&mut |v| fresh.get(&v).copied().unwrap_or(v));
        match s {
            Stmt::Block(mut block) => {
                block.name = names.get(&block.name).cloned().unwrap_or(block.name);
                Stmt::Block(block)
            }
            s => s,
        }
    })
}
