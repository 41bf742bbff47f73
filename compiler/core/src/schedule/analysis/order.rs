//! Whether the turns of loops may run in another order, or at the same time.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::tir::{Block, BufId, IterKind, IterVar, Stmt, VarId, Viewer};

use super::access::{accesses, uses_var};
use super::class::{Class, class_of, private};
use super::injective::{Digits, injective};
use super::region::binding;
use super::strips::{Walked, in_strips};
use crate::schedule::edit::State;
use crate::schedule::error::Refusal;
use crate::schedule::tree;

/// Refuses unless the turns of the loops `vars` may run in any order relative to each other. `top` holds all of them.
pub(in crate::schedule) fn any_order(state: &State<'_>, top: &Stmt, vars: &[VarId]) -> Result<(), Refusal> {
    let blocks = only_movable(state, top)?;
    for block in &blocks {
        let class = class_of(state, block)?;
        let over = loops_with_extents(state, top, block);
        if class != Class::Complete {
            once_each(state, block, &over)?;
        }
        if class != Class::Complete && state.b.func().strict {
            strict_order(state, block, vars)?;
        }
    }
    apart(state, top, &blocks, vars)
}

/// Refuses unless the turns of the loop `var` may run at the same time.
pub(in crate::schedule) fn independent(state: &State<'_>, top: &Stmt, var: VarId) -> Result<(), Refusal> {
    let name = state.name(var);
    let blocks = only_movable(state, top)?;
    let others: Vec<&Block> = blocks.iter().copied().filter(|b| !own_elements(state, top, b, var)).collect();
    for block in &others {
        class_of(state, block)?;
        for iter in block.iters.iter().filter(|i| uses_var(&state.b.func().exprs, i.value, var)) {
            if iter.kind != IterKind::Spatial {
                let (iter, block) = (state.name(iter.var), &block.name);
                return Refusal::err(
                    format!("`{name}` drives the reduce iterator `{iter}` of block `{block}`"),
                    "take a loop of spatial iterators, or apply `rfactor` to this one first",
                );
            }
        }
    }
    let lives_inside = tree::allocated(top);
    for block in &others {
        let shared: Vec<BufId> =
            written_outside(state, block).into_iter().filter(|b| !lives_inside.contains(b)).collect();
        let Some(buf) = shared.first() else { continue };
        let over = loops_with_extents(state, top, block);
        let values: Vec<IntExpr> = spatial_values(state, block);
        if !injective(&values, &over, &BTreeSet::from([state.b.sym(var).clone()])) {
            let (buf, block) = (state.buf_name(*buf), &block.name);
            return Refusal::err(
                format!("turns of `{name}` write the same elements of `{buf}` in block `{block}`"),
                "take a loop of which every turn writes elements of its own",
            );
        }
    }
    apart(state, top, &blocks, &[var])
}

/// Whether every turn of the loop `var` touches elements of its own of all that the block writes, whatever its class.
fn own_elements(state: &State<'_>, top: &Stmt, block: &Block, var: VarId) -> bool {
    let exprs = &state.b.func().exprs;
    let in_order = |i: &IterVar| match i.kind {
        IterKind::Spatial => false,
        IterKind::Reduce => uses_var(exprs, i.value, var),
        IterKind::Ordered => true,
    };
    let waits = |s: &Stmt| match s {
        Stmt::Assert { .. } | Stmt::Barrier(_) => true,
        Stmt::Block(b) => !b.matches.is_empty(),
        _ => false,
    };
    if block.iters.iter().any(in_order) || tree::any(&Stmt::Block(Box::new(block.clone())), &waits) {
        return false;
    }
    let touched = touched(state, top, &[block]);
    let mut written = touched.values().filter(|all| all.iter().any(|(_, write, _)| *write));
    written.all(|all| own_turn(state, top, &[block], all, &[var]))
}

/// The blocks of a tree, all of what it does being in blocks.
fn only_movable<'s>(state: &State<'_>, top: &'s Stmt) -> Result<Vec<&'s Block>, Refusal> {
    let _ = state;
    if tree::only_blocks(top) {
        return Ok(tree::outer_blocks(top));
    }
    Refusal::err("a statement in the loop stands in no block", "only what blocks do can be moved")
}

/// The loops from `top` to a block, with their extents.
pub(in crate::schedule) fn loops_with_extents(state: &State<'_>, top: &Stmt, block: &Block) -> Digits {
    let path = tree::path(top, &tree::is_block(&block.name)).unwrap_or_default();
    let mut digits = Digits::default();
    for stmt in path {
        if let Stmt::For { var, min, extent, .. } = stmt {
            digits.push(state.b.sym(*var).clone(), state.int(*min), state.int(*extent));
        }
    }
    digits
}

fn spatial_values(state: &State<'_>, block: &Block) -> Vec<IntExpr> {
    let spatial = block.iters.iter().filter(|i| i.kind == IterKind::Spatial);
    spatial.map(|i| state.int(i.value)).collect()
}

/// The buffers that a block writes and that do not live in it.
fn written_outside(state: &State<'_>, block: &Block) -> BTreeSet<BufId> {
    let own = private(block);
    let stmt = Stmt::Block(Box::new(block.clone()));
    let found = accesses(state.module, &state.b.func().exprs, &stmt);
    found.written_bufs().into_iter().filter(|b| !own.contains(b)).collect()
}

/// No instance of an accumulating block may run twice.
fn once_each(state: &State<'_>, block: &Block, over: &Digits) -> Result<(), Refusal> {
    let values: Vec<IntExpr> = block.iters.iter().map(|i| state.int(i.value)).collect();
    if injective(&values, over, &over.syms()) {
        return Ok(());
    }
    let loops: Vec<String> = over.syms().iter().map(|s| format!("`{s}`")).collect();
    Refusal::err(
        format!("it is not proven that block `{}` runs each instance once over {}", block.name, loops.join(", ")),
        "bind its iterators to loops by sums, quotients and remainders that can be taken apart",
    )
}

/// Strict functions add in the order that was written.
fn strict_order(state: &State<'_>, block: &Block, vars: &[VarId]) -> Result<(), Refusal> {
    let exprs = &state.b.func().exprs;
    let reduce = block.iters.iter().filter(|i| i.kind == IterKind::Reduce);
    let driven = |var: &&VarId| reduce.clone().any(|i| uses_var(exprs, i.value, **var));
    if vars.iter().filter(driven).count() < 2 {
        return Ok(());
    }
    let text = format!("the function is strict, and `{}` would be summed in another order", block.name);
    Refusal::err(text, "keep the order of its reduce loops, or drop `numerics = \"strict\"`")
}

/// An access: of which block, whether it writes, the index over loops.
type Touch = (usize, bool, Option<Vec<IntExpr>>);

/// Refuses where one turn of `vars` may touch an element that another turn writes. Elements of buffers that live
/// inside of the loops do not count, nor those that one block alone touches.
fn apart(state: &State<'_>, top: &Stmt, blocks: &[&Block], vars: &[VarId]) -> Result<(), Refusal> {
    for (buf, all) in &touched(state, top, blocks) {
        let written = all.iter().any(|(_, write, _)| *write);
        let shared = all.iter().any(|(n, _, _)| *n != all[0].0);
        if !written || !shared {
            continue;
        }
        if !own_turn(state, top, blocks, all, vars) && !in_own_strips(state, top, blocks, all, vars) {
            let names: BTreeSet<String> = all.iter().map(|(n, _, _)| format!("`{}`", blocks[*n].name)).collect();
            let names: Vec<String> = names.into_iter().collect();
            return Refusal::err(
                format!("blocks {} share `{}` between turns of the loop", names.join(" and "), state.buf_name(*buf)),
                "move one of the blocks out of the loop first",
            );
        }
    }
    Ok(())
}

/// The accesses of blocks to buffers that live outside of the loops and of the blocks.
fn touched(state: &State<'_>, top: &Stmt, blocks: &[&Block]) -> BTreeMap<BufId, Vec<Touch>> {
    let inner = tree::allocated(top);
    let mut touched: BTreeMap<BufId, Vec<Touch>> = BTreeMap::new();
    for (n, block) in blocks.iter().enumerate() {
        let map = binding(state, block);
        let stmt = Stmt::Block(Box::new((*block).clone()));
        let found = accesses(state.module, &state.b.func().exprs, &stmt);
        let own = private(block);
        let all = found.reads.iter().map(|a| (a, false)).chain(found.writes.iter().map(|a| (a, true)));
        for (access, write) in all.filter(|(a, _)| !own.contains(&a.buf) && !inner.contains(&a.buf)) {
            let index = access.index.as_ref().map(|index| {
                let each = index.iter().map(|e| state.int(*e).substitute(&|s: &Sym| map.get(s).cloned()));
                each.collect::<Vec<_>>()
            });
            touched.entry(access.buf).or_default().push((n, write, index));
        }
    }
    touched
}

/// Whether turns that differ in `vars` touch elements that differ along an axis which all accesses index alike.
fn own_turn(state: &State<'_>, top: &Stmt, blocks: &[&Block], all: &[Touch], vars: &[VarId]) -> bool {
    let common = common_axes(all);
    all.iter().all(|(n, _, _)| {
        let over = loops_with_extents(state, top, blocks[*n]);
        let wanted = vars.iter().map(|v| state.b.sym(*v).clone()).collect();
        injective(&common, &over, &wanted)
    })
}

/// Whether along some axis each turn of `vars` stays within a strip of its own.
fn in_own_strips(state: &State<'_>, top: &Stmt, blocks: &[&Block], all: &[Touch], vars: &[VarId]) -> bool {
    let prover = Viewer::new(state.b.func()).prover;
    let mut bound = BTreeSet::new();
    top.walk(&mut |s| bound.extend(s.bound().into_iter().map(|v| state.b.sym(v).clone())));
    let fixed = |sym: &Sym| !bound.contains(sym) && !sym.as_str().starts_with('%');
    let rank = all.iter().map(|(_, _, index)| index.as_ref().map_or(0, Vec::len)).min().unwrap_or(0);
    vars.iter().all(|var| {
        let sym = state.b.sym(*var);
        let walked = |axis: usize, (n, _, index): &Touch| {
            let inner = loops_with_extents(state, top, blocks[*n]).without(sym);
            Some(Walked { index: index.as_ref()?.get(axis)?.clone(), inner })
        };
        (0..rank).any(|axis| {
            let along: Vec<Walked> = all.iter().filter_map(|touch| walked(axis, touch)).collect();
            in_strips(&along, sym, &prover, &fixed)
        })
    })
}

/// The indices of the axes along which all accesses are the same: elements that differ there are others.
fn common_axes(all: &[Touch]) -> Vec<IntExpr> {
    let Some(first) = all.first().and_then(|(_, _, index)| index.clone()) else { return Vec::new() };
    let same = |axis: usize, e: &IntExpr| {
        all.iter().all(|(_, _, index)| index.as_ref().is_some_and(|index| index.get(axis) == Some(e)))
    };
    first.into_iter().enumerate().filter(|(axis, e)| same(*axis, e)).map(|(_, e)| e).collect()
}
