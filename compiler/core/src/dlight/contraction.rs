//! The rule for contractions: products of matrices, batched or not, and convolutions, with what works on their result.
//!
//! One iterator runs in vectors, along which every operand has neighbours or one element for all of them; another one
//! gives the rows of the tile. Both axes are cut so that all tiles of a part are whole: rows evenly, columns into
//! tiles, vectors and what is left of a vector. In each part the sum runs around the tile, whose accumulators have
//! constant places, and what follows element by element is done on the tile. Stages that work on rows of the result
//! run once per row of tiles, while it is in the cache.

mod blocks;
mod choice;
mod group;
mod pack;
mod packing_tile;
mod panels;
mod parts;
mod start;
mod steps;
mod terms_outside;

use std::collections::BTreeSet;

use tenfold_ir::Module;
use tenfold_ir::relax::Part;
use tenfold_ir::tir::{BufId, IterKind, Phase, PrimFunc, verify_bounds};

use super::grouped::apart;
use super::kernel::{Contraction, contraction};
use super::machine::Machine;
use super::{Chosen, Taken, fallback, movement};
use crate::fuse::import::cleaned;
use crate::fuse::stage::Staged;
use crate::tune::Asked;
use choice::Choice;
pub(in crate::dlight) use group::is_instructions;

/// The kernel in tiles; nothing where it has no contraction, or one that has no vectors.
pub(super) fn apply(module: &Module, func: &PrimFunc, machine: &Machine, asked: &Asked) -> Option<Taken> {
    let mut staged = apart(Staged::of(func)?, machine);
    let (found, choice) = chosen(&staged, machine, asked)?;
    let behind = |staged| fallback::of_stages(module, staged, machine, asked).0;
    if let Some(func) = packing_tile::written(staged.clone(), &found, &choice, behind) {
        let func = PrimFunc { phase: Phase::Scheduled, ..cleaned(&func) };
        let mut chosen = choice.said(&staged, &found, machine);
        chosen.insert(0, choice.tile());
        chosen.push(("copied", packing_tile::said(&found, &choice).into()));
        let reduce = staged.stages[found.stage].iters.iter().filter(|i| i.kind == IterKind::Reduce);
        let terms = reduce.filter_map(|i| choice::extent(&staged, &staged.stages[found.stage], i.var)).product::<i64>();
        chosen.extend((terms > choice.terms).then(|| choice.in_blocks()));
        return verify_bounds(&func).is_empty().then_some(Taken { func, chosen });
    }
    let product = terms_outside::product(&mut staged, &found, &choice, machine);
    if let Some(product) = product.filter(|_| asked.either("terms-outside", true, ["no", "yes"])) {
        let choice = Choice { block: 1, ..choice.clone() };
        let mut chosen = choice.said(&staged, &found, machine);
        chosen.insert(0, choice.tile());
        chosen.push(choice.in_blocks());
        let text = "outside of rows: what lies along the columns stays in the first cache, block by block";
        chosen.push(("terms", text.into()));
        let func = product.written(staged.clone(), &choice, behind);
        let func = PrimFunc { phase: Phase::Scheduled, ..cleaned(&func) };
        if verify_bounds(&func).is_empty() {
            return Some(Taken { func, chosen });
        }
    }
    let Tiled { staged, parts, copies, chosen } = tiles(staged, &found, &choice, machine)?;
    // A refusal leaves the kernel to the next rule.
    let mut scheduled = steps::run(module, staged.join(), &parts).ok()?;
    for copy in &copies {
        scheduled = movement::tiled(module, scheduled, copy).ok()?;
    }
    let on_rows = parts.iter().flat_map(|part| &part.on_rows).map(|part| part.name.as_str()).collect();
    let scheduled = fallback::with_tables(module, scheduled, machine, &on_rows);
    Some(Taken { func: PrimFunc { phase: scheduled.phase, ..cleaned(&scheduled) }, chosen })
}

/// The contraction of a kernel, and what is chosen for it.
fn chosen(staged: &Staged, machine: &Machine, asked: &Asked) -> Option<(Contraction, Choice)> {
    let found = contraction(staged)?;
    let stage = &staged.stages[found.stage];
    // What has no elements has no tiles.
    if stage.iters.iter().any(|i| choice::extent(staged, stage, i.var) == Some(0)) {
        return None;
    }
    let choice = choice::choose(staged, &found, machine, &BTreeSet::new(), asked)?;
    Some((found, choice))
}

/// Stages cut into parts, what these are, and why.
struct Tiled {
    staged: Staged,
    parts: Vec<parts::RowPart>,
    /// Copies of operands from rows to columns.
    copies: Vec<movement::Tiles>,
    chosen: Chosen,
}

/// Cuts the stages as the choice says.
fn tiles(mut staged: Staged, found: &Contraction, choice: &Choice, machine: &Machine) -> Option<Tiled> {
    let mut chosen = choice.said(&staged, found, machine);
    let copies = pack::pack(&mut staged, found, choice, machine);
    let found = contraction(&staged)?;
    blocks::halved(&mut staged, &found, choice);
    let found = contraction(&staged)?;
    let group = group::Group::of(&mut staged, &found, choice)?;
    let (staged, parts) = parts::cut(staged, &group, choice)?;
    let rows = parts.iter().map(|part| part.rows).max().unwrap_or(1);
    chosen.insert(0, ("tile", format!("{rows} x {}", choice.tile.width())));
    if parts.iter().flat_map(|part| &part.tiles).flat_map(|tile| &tile.sums).any(|sum| sum.blocks.is_some()) {
        chosen.push(choice.in_blocks());
    }
    Some(Tiled { staged, parts, copies, chosen })
}

/// Whether tiles of a kernel are kept in registers that are matrices, if buffers that are `constant` may be laid out anew.
pub(super) fn in_matrices(func: &PrimFunc, machine: &Machine, constant: &BTreeSet<BufId>) -> bool {
    let choice = Staged::of(func).map(|staged| apart(staged, machine)).and_then(|staged| {
        let found = contraction(&staged)?;
        choice::choose(&staged, &found, machine, constant, &Asked::nobody())
    });
    choice.is_some_and(|choice| choice.matrix)
}

/// The kernel with one of its constant operands in panels, which operand that is, and how it lies then; nothing where
/// tiles read none of them in panels, or one that lies so already.
pub(super) fn prepacked(
    func: &PrimFunc,
    machine: &Machine,
    constant: &BTreeSet<BufId>,
    asked: &Asked,
) -> Option<(PrimFunc, BufId, Vec<Part>)> {
    let mut staged = apart(Staged::of(func)?, machine);
    let found = contraction(&staged)?;
    let choice = choice::choose(&staged, &found, machine, constant, asked)?;
    let (n, choice::Packing::Panels) = choice.packed? else { return None };
    let parts = panels::laid(&staged, &found, n, &choice)?;
    let buf = found.operands[n].buf;
    panels::read(&mut staged, &found, n, &parts);
    let packed = staged.clone().join();
    let (found, choice) = self::chosen(&staged, machine, &Asked::nobody())?;
    tiles(staged, &found, &choice, machine)?;
    Some((packed, buf, parts))
}
