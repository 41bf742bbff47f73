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
mod written;

use tenfold_ir::Module;
use tenfold_ir::tir::{Phase, PrimFunc, verify_bounds};

use super::machine::Machine;
use super::{Chosen, Taken};
use crate::fuse::import::cleaned;
use crate::fuse::stage::Staged;
use crate::tune::Asked;
use plan::Plan;

/// The kernel by seven products; nothing where it is no such product, or sums cost more than they save.
pub(super) fn apply(_: &Module, func: &PrimFunc, machine: &Machine, _: &Asked) -> Option<Taken> {
    let mut staged = Staged::of(func)?;
    let found = found::product(&mut staged)?;
    let plan = Plan::of(&found, machine)?;
    let chosen = chosen(&plan);
    let func = PrimFunc { phase: Phase::Scheduled, ..cleaned(&written::written(staged, &found, &plan)) };
    verify_bounds(&func).is_empty().then_some(Taken { func, chosen })
}

/// What was chosen.
fn chosen(plan: &Plan) -> Chosen {
    let [rows, terms, columns] = plan.halves;
    vec![("tile", format!("{} x {}", plan.rows, plan.width())), ("halves", format!("{rows} by {terms} by {columns}"))]
}
