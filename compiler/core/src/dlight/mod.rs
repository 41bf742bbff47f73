//! `ApplyDefaultSchedule`: kernels that no schedule was written for get one, so that users tune nothing.
//!
//! Rules are tried in order on every kernel that is nothing but stages; the first whose predicate holds and whose
//! primitives accept makes the kernel. The last one takes every kernel. Tile sizes follow from the target's registers
//! and vectors and from the kernel's extents; there is no table of shapes.
//!
//! A kernel with a `#[schedule]` is past phase `blocks` and stays as it is; so does one with `skip_optimization`.

mod contraction;
mod cut;
mod fallback;
mod kernel;
mod machine;
mod movement;
pub(crate) mod prepack_weights;
pub(crate) mod tensorize_dots;
mod threads;
mod tiles;
mod walk;

use tenfold_ir::Module;
use tenfold_ir::tir::{Phase, PrimFunc};

use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase, Remark};
use machine::Machine;

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("ApplyDefaultSchedule", &run)
    .in_phase(PassPhase::Schedule)
    .at_level(1)
    .about("schedules kernels that no schedule was written for, by rules that know the target's registers");

/// One way to schedule a kernel.
struct Rule {
    /// Its name.
    name: &'static str,
    /// Why it is a good one where it applies.
    reason: &'static str,
    /// The kernel under the rule, or nothing where it does not apply.
    apply: fn(&Module, &PrimFunc, &Machine) -> Option<Taken>,
}

/// A kernel that a rule took.
struct Taken {
    /// With its loops.
    func: PrimFunc,
    /// What was chosen, by name, and what bounded it: `tile` is rows by columns, in elements.
    chosen: Chosen,
}

/// Choices by name.
type Chosen = Vec<(&'static str, String)>;

/// In the order in which they are tried.
const RULES: &[Rule] = &[
    Rule {
        name: "contraction",
        reason: "a tile of the result in registers reads each operand once per tile, not once per product",
        apply: contraction::apply,
    },
    Rule {
        name: "movement",
        reason: "a tile uses every cache line of both sides as a whole while it is there",
        apply: movement::apply,
    },
    Rule {
        name: "fallback",
        reason: "stages that share loops pass each value on while it is at hand, and neighbours make vectors",
        apply: fallback::apply,
    },
];

fn run(func: PrimFunc, module: &Module, context: &PassContext) -> Result<PrimFunc, CompileError> {
    let Some(machine) = Machine::of(&context.target) else { return Ok(func) };
    if func.phase != Phase::Blocks || func.exported || func.skip_optimization {
        return Ok(func);
    }
    let scheduled = RULES.iter().find_map(|rule| Some((rule, (rule.apply)(module, &func, &machine)?)));
    context.remark(|| match &scheduled {
        Some((rule, taken)) => {
            let place = format!("rule `{}`", rule.name);
            Remark::applied(PASS.info.name, &func.name, place, rule.reason).with(taken.chosen.clone())
        }
        None => Remark::missed(PASS.info.name, &func.name, String::new(), "no rule takes it"),
    });
    Ok(scheduled.map_or(func, |(_, taken)| threads::offered(taken.func, &context.target)))
}
