//! `transform_block_layout(block, map)`: a block iterates over what a map makes of its iterators.

use std::collections::BTreeMap;

use tenfold_ir::arith::{Domain, IntExpr, IterMap, IterMapLevel, Range, Sym, detect_iter_map};
use tenfold_ir::tir::{Block, ExprId, IterKind, VarId, Viewer};

use crate::schedule::args::{Args, IndexMap};
use crate::schedule::edit::{State, substitute};
use crate::schedule::error::Refusal;
use crate::schedule::table::{Gives, Kind, Outcome, Primitive, required};
use crate::schedule::{BlockRV, Schedule, ScheduleError, nest, stage};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "transform_block_layout",
    params: &[required("block", Kind::Block), required("map", Kind::Map)],
    gives: Gives::Nothing,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// Lets the block have the iterators that `map` makes of those it has, each with a loop of its own.
    pub fn transform_block_layout(&mut self, block: BlockRV, map: IndexMap) -> Result<(), ScheduleError> {
        self.step("transform_block_layout", vec![block.into(), map.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let found = nest::nest_of(state, args.block(0))?;
    let Some(map) = args.map(1) else { return Ok(Vec::new()) };
    let results = results(state, &found.block, map)?;
    let whole = bijection(state, &found.block, &results)?;
    let kinds = kinds(state, &found.block, &results)?;
    let vars: Vec<VarId> = (0..results.len()).map(|n| state.b.index_var(&format!("v{n}"))).collect();
    let mut iters = Vec::new();
    for (n, var) in vars.iter().enumerate() {
        let Some(extent) = state.index_of(&whole.extents[n]) else { return no_bounds(&results[n]) };
        iters.push((*var, extent, kinds[n]));
    }
    let outputs: Vec<IntExpr> = vars.iter().map(|var| IntExpr::var(state.b.sym(*var).clone())).collect();
    let back = whole.inverse(&outputs);
    let mut old: BTreeMap<VarId, ExprId> = BTreeMap::new();
    for iter in &found.block.iters {
        let sym = state.b.sym(iter.var).clone();
        let Some((_, e)) = back.iter().find(|(s, _)| *s == sym) else { return no_bounds(&IntExpr::var(sym)) };
        let e = state.b.int_expr(e);
        old.insert(iter.var, e);
    }
    let init = found.block.init.clone().map(|s| substitute(&mut state.b, &old, s));
    let body = substitute(&mut state.b, &old, found.block.body.clone());
    let stmt = nest::build(state, &found.block.name, &iters, init, body);
    let stmt = nest::named(stmt, &found.block.name);
    nest::put(state, found.top, stmt)?;
    stage::require_proven(state)?;
    Ok(Vec::new())
}

fn no_bounds<T>(e: &IntExpr) -> Result<T, Refusal> {
    Refusal::err(format!("`{e}` of the map has no extent over dims"), "use sums, products, `/` and `%` of iterators")
}

/// The map over the block's iterators.
fn results(state: &State<'_>, block: &Block, map: &IndexMap) -> Result<Vec<IntExpr>, Refusal> {
    if map.params.len() != block.iters.len() {
        let (found, has) = (map.params.len(), block.iters.len());
        let text = format!("the map takes {found} indices, and block `{}` has {has} iterators", block.name);
        return Refusal::err(text, "take one index for each iterator of the block");
    }
    let names: BTreeMap<&Sym, IntExpr> =
        map.params.iter().zip(&block.iters).map(|(p, i)| (p, IntExpr::var(state.b.sym(i.var).clone()))).collect();
    Ok(map.results.iter().map(|e| e.substitute(&|sym: &Sym| names.get(sym).cloned())).collect())
}

fn bijection(state: &State<'_>, block: &Block, results: &[IntExpr]) -> Result<IterMap, Refusal> {
    let mut domain = Domain::new();
    for iter in &block.iters {
        domain.push(state.b.sym(iter.var).clone(), Range::upto(state.int(iter.extent)));
    }
    let prover = Viewer::new(state.b.func()).prover;
    let found = detect_iter_map(results, &domain, &[], IterMapLevel::Bijective, &prover);
    let found = found.map_err(|e| {
        Refusal::new(
            format!("the map does not take the iterators of block `{}` to a box, each point once: {e}", block.name),
            "give a map that can be undone and leaves no gaps",
        )
    })?;
    match found.indices.iter().find(|sum| !prover.prove_eq(&sum.base, &IntExpr::from(0))) {
        None => Ok(found),
        Some(sum) => Refusal::err(format!("`{}` does not begin at 0", sum.to_expr()), "let every index begin at 0"),
    }
}

/// What an index of the map iterates over: iterators of one kind.
fn kinds(state: &State<'_>, block: &Block, results: &[IntExpr]) -> Result<Vec<IterKind>, Refusal> {
    let kind = |e: &IntExpr| {
        let vars = e.vars();
        let mut all: Vec<IterKind> =
            block.iters.iter().filter(|i| vars.contains(state.b.sym(i.var))).map(|i| i.kind).collect();
        all.dedup();
        match all.as_slice() {
            [] => Ok(IterKind::Spatial),
            [one] if *one != IterKind::Ordered => Ok(*one),
            _ => Refusal::err(
                format!("`{e}` of the map mixes iterators of several kinds, or one that runs in order"),
                "make each index of spatial iterators alone, or of reduce iterators alone",
            ),
        }
    };
    results.iter().map(kind).collect()
}
