//! The rule for large products of matrices by constants in panels: seven products of halves in the place of eight
//! (Strassen, "Gaussian Elimination is not Optimal", 1969), in Winograd's form with 15 additions.
//!
//! Rows, terms and columns are cut in halves. Sums of the halves of the data are made once, those of the weights for each
//! pair of panels, one from each half of the columns; then tiles of rows take the seven products of the pair one after
//! another in the same registers, and have all four results of the tile by then, which go through whatever follows
//! element by element. Weights stay in memory as they are: sums of all of them would be three quarters more.
//!
//! Errors are about twice those of the plain sum, and are bounded by the largest elements of rows and columns, not by
//! each product: `precision.md`.

mod found;
mod plan;
mod sums;
mod tile;
mod written;

use tenfold_ir::Module;
use tenfold_ir::tir::{Phase, PrimFunc, verify_bounds};

use super::machine::Machine;
use super::winograd::within;
use super::{Chosen, Taken, fallback};
use crate::fuse::import::cleaned;
use crate::fuse::stage::Staged;
use crate::tune::Asked;
use plan::Plan;

/// The kernel by seven products; nothing where it is no such product, or sums cost more than they save.
pub(super) fn apply(module: &Module, func: &PrimFunc, machine: &Machine, asked: &Asked) -> Option<Taken> {
    let mut staged = Staged::of(func)?;
    let found = found::product(&mut staged)?;
    let plan = Plan::of(&found, machine)?;
    let chosen = chosen(&plan);
    let behind = |staged| fallback::of_stages(module, staged, machine, asked).0;
    let func = cleaned(&within(staged, &found.ends, behind, |b| written::written(b, &found, &plan)));
    let func = PrimFunc { phase: Phase::Scheduled, ..func };
    verify_bounds(&func).is_empty().then_some(Taken { func, chosen })
}

/// What was chosen.
fn chosen(plan: &Plan) -> Chosen {
    let ([lines, rows], columns) = (plan.half, plan.columns);
    let [of_tile, terms] = [plan.tile[0] * plan.tile[1], plan.terms * plan.blocks];
    let mut all = vec![
        ("tile", format!("{of_tile} x {}", plan.width())),
        ("halves", format!("{} by {terms} by {columns}", lines * rows)),
    ];
    if plan.groups() > 1 {
        all.push(("groups", format!("of {} rows: their sums stay in the second cache", plan.group[0] * plan.group[1])));
    }
    if plan.blocks > 1 {
        all.push(("sums", format!("in blocks of {} terms of each half", plan.terms)));
    }
    all
}
