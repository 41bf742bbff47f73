//! The rule for convolutions by windows of 3 by 3: Winograd's minimal filtering, F(4x4, 3x3) and F(2x2, 3x3).
//!
//! A square of 4 by 4 neighbouring results of such a convolution reads 6 by 6 elements, and takes 144 products per channel.
//! The same are sums of 36 products of sums: `A' [(G g G') * (B' d B)] A` (Lavin and Gray, "Fast Algorithms for
//! Convolutional Neural Networks", 2015). The sums of data and of weights are made once and used by all channels of the
//! other side, so that 36 products of matrices stand where the convolution was. Squares of 2 by 2 results take 16 products
//! in the place of 36, and transforms that are a fifth of the work: those are for images of few squares.
//!
//! The kernel makes the sums of all data, then for each panel of channels those of the weights, block by block of terms
//! where there are many, the products of a tile in registers, and of these the results, which go through whatever follows
//! element by element. Weights stay in memory as they are: transformed, a program would have to hold 36 numbers for 9.
//!
//! Sums of squares of 2 by 2 have factors of 1 and 1/2 alone, and their errors are of the size of those of the plain sum where
//! data is of one magnitude; those of 4 by 4 have such up to 27/8, and lose three times as much. An element that is larger than
//! its neighbours by far costs these their last bits, and one that is infinite makes them no numbers: `precision.md`.

mod ahead;
mod found;
mod operands;
mod plan;
mod products;
mod transforms;
mod written;

use tenfold_ir::Module;
use tenfold_ir::tir::{Phase, PrimFunc, verify_bounds};

use super::machine::Machine;
use super::{Chosen, Taken, fallback};
use crate::fuse::import::cleaned;
use crate::fuse::stage::Staged;
use crate::tune::Asked;
pub(in crate::dlight) use found::{Axis, Ends, axes_of_kind, operands};
pub(in crate::dlight) use operands::over;
use plan::Plan;
pub(in crate::dlight) use products::{after, in_spans};
pub(in crate::dlight) use written::within;

/// The kernel by transforms; nothing where it is no such convolution, or they cost more than they save.
pub(super) fn apply(module: &Module, func: &PrimFunc, machine: &Machine, asked: &Asked) -> Option<Taken> {
    let mut staged = Staged::of(func)?;
    let found = found::convolution(&mut staged)?;
    let plan = Plan::of(&found, machine)?;
    let chosen = chosen(&plan);
    let behind = |staged| fallback::of_stages(module, staged, machine, asked).0;
    let func = cleaned(&written::written(staged, &found, &plan, behind));
    let func = PrimFunc { phase: Phase::Scheduled, ..func };
    verify_bounds(&func).is_empty().then_some(Taken { func, chosen })
}

/// What was chosen.
fn chosen(plan: &Plan) -> Chosen {
    let tile = format!("{} x {}", plan.lines * plan.rows, plan.width());
    let side = plan.size.results();
    let results = format!("in {} x {} squares of {side} x {side}", plan.squares[0], plan.squares[1]);
    vec![("tile", tile), ("results", results)]
}
