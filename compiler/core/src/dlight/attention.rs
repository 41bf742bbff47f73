//! The rule for attention: two products with a softmax between them, in one kernel.
//!
//! Queries go in tiles. The scores of a tile with a block of keys lie in a buffer that the first cache holds, where the
//! softmax makes weights of them in vectors; values are added up from there, and divided by the sum of weights in the
//! end, when there are as few numbers as a result has. So scores never go through memory. Keys that have no neighbours
//! along vectors are laid out in panels first, once for all tiles.

pub(super) mod device;
mod found;
mod packed;
mod plan;
mod seen;
mod tile;

use tenfold_ir::Module;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::tir::{Builder, LoopKind, Phase, PrimFunc, Viewer, verify_bounds};

use super::emit::{Places, each, plus, times};
use super::left::Rows;
use super::machine::Machine;
use super::{Chosen, Fit, Taken};
use crate::fuse::import::cleaned;
use crate::fuse::stage::{Iter, Staged};
use crate::tune::Asked;
use found::Attention;
pub(super) use found::greatest_of_softmax;
use plan::Plan;
use tile::Tiles;

/// The kernel in tiles of queries; nothing where it is no attention.
pub(super) fn apply(_: &Module, func: &PrimFunc, machine: &Machine, _: &Asked) -> Option<Taken> {
    scheduled(func, machine)?.ok()
}

/// Whether a kernel is an attention, and if so whether the rule takes it.
pub(super) fn fit(func: &PrimFunc, machine: &Machine) -> Fit {
    match scheduled(func, machine) {
        Some(Ok(_)) => Fit::Fits,
        Some(Err(why)) => Fit::Refused(why),
        None => Fit::Other,
    }
}

fn scheduled(func: &PrimFunc, machine: &Machine) -> Option<Result<Taken, &'static str>> {
    let mut staged = Staged::of(func)?;
    let found = found::attention(&mut staged)?;
    Some(plan::plan(staged.b.func(), &found, machine).and_then(|plan| {
        let chosen = chosen(&plan);
        let func = PrimFunc { phase: Phase::Scheduled, ..cleaned(&written(staged.b, &found, &plan)) };
        // Where extents are symbolic, an index may no longer be proven.
        let proven = verify_bounds(&func).is_empty();
        if proven { Ok(Taken { func, chosen }) } else { Err("an index of it is not proven in tiles") }
    }))
}

/// What was chosen.
fn chosen(plan: &Plan) -> Chosen {
    let mut all = vec![("tile", format!("{} queries x {} keys", plan.rows, plan.panel()))];
    all.push(match plan.whole {
        Some(keys) => ("scores", format!("of all {keys} keys at once")),
        None => ("scores", format!("in blocks of {} keys, with an online softmax", plan.block)),
    });
    let packed = [(plan.pack_keys, "keys in panels"), (plan.pack_values, "values")];
    let packed: Vec<&str> = packed.into_iter().filter(|(is, _)| *is).map(|(_, what)| what).collect();
    if !packed.is_empty() {
        all.push(("copied", packed.join(", ")));
    }
    all
}

/// The kernel: operands laid out anew, then tiles of each height.
fn written(mut b: Builder, found: &Attention, plan: &Plan) -> PrimFunc {
    let (keys, values) = (packed::keys(&mut b, found, plan), packed::values(&mut b, found, plan));
    let tiles = Tiles { found, plan, keys, values };
    let extent = found.row.as_ref().map_or(IntExpr::from(1), |row| Viewer::new(b.func()).int(row.extent));
    for Rows { begin, tiles: count, height } in plan.tiles(&extent) {
        over(&mut b, &found.outer, &Places::new(), &mut |b, outer| {
            each(b, "tile", &count, LoopKind::Serial, &mut |b, t| {
                let (begin, offset) = (b.int_expr(&begin), times(b, t, height));
                let first = plus(b, begin, offset);
                tiles.tile(b, outer, first, height);
            });
        });
    }
    b.finish()
}

/// Loops over iterators; `f` is given what stands for them.
fn over(b: &mut Builder, iters: &[Iter], places: &Places, f: &mut dyn FnMut(&mut Builder, &Places)) {
    let Some((iter, rest)) = iters.split_first() else { return f(b, places) };
    let extent = Viewer::new(b.func()).int(iter.extent);
    let name = b.sym(iter.var).to_string();
    each(b, &name, &extent, LoopKind::Serial, &mut |b, at| {
        let mut places = places.clone();
        places.insert(iter.var, at);
        over(b, rest, &places, f);
    });
}
