//! PTX: every kernel is taken by ptxas for each chip, without a GPU; where there is one, functions of the suite of operators
//! run on it, and what they give is what the interpreter admits.
//!
//! `sh tests/gpu.sh` runs all that a machine with a GPU of NVIDIA's can say.

mod assemble;
mod attentions;
mod called;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/case.rs"]
mod case;
mod chips;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/data.rs"]
mod data;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/element.rs"]
mod element;
mod elements;
#[path = "../conformance/families.rs"]
mod families;
#[allow(dead_code, reason = "what is measured uses more of it")]
mod functions;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/interpret.rs"]
mod interpret;
mod measured;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/nn.rs"]
mod nn;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/ops/mod.rs"]
mod ops;
mod products;
mod program;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/random.rs"]
mod random;
mod rows;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/shape.rs"]
mod shape;
mod small;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/state.rs"]
mod state;
#[path = "../conformance/zeros.rs"]
mod zeros;

use case::Case;
use chips::{CHIPS, backend, context};

/// Every so manieth case of each family of the suite, all with `TENFOLD_ALL=1`; of one with `TENFOLD_FAMILY=gather`.
fn cases(few: usize) -> Vec<Case> {
    let step = if std::env::var_os("TENFOLD_ALL").is_some() { 1 } else { few };
    let only = std::env::var("TENFOLD_FAMILY").ok();
    let wanted = families::FAMILIES.iter().filter(|(family, _)| only.as_deref().is_none_or(|only| only == *family));
    wanted.flat_map(|(_, cases)| cases().into_iter().step_by(step)).collect()
}
