//! `ApplyDefaultSchedule`: kernels that no schedule was written for get one, so that users tune nothing.
//!
//! Rules are tried in order on every kernel that is nothing but stages; the first whose predicate holds and whose
//! primitives accept makes the kernel. The last one takes every kernel. Tile sizes follow from the target's registers
//! and vectors and from the kernel's extents; there is no table of shapes.
//!
//! A kernel with a `#[schedule]` is past phase `blocks` and stays as it is; so does one with `skip_optimization`.

mod attention;
mod body;
mod boxed;
mod contraction;
mod cut;
mod emit;
mod fallback;
mod grouped;
mod kernel;
mod left;
mod machine;
mod movement;
pub(crate) mod narrow_constants;
mod one_axis;
mod parts;
pub(crate) mod pooling;
pub(crate) mod prepack_weights;
mod scan;
mod strassen;
pub(crate) mod tensorize_dots;
mod threads;
mod tiles;
mod walk;
mod winograd;

use std::collections::BTreeSet;

use tenfold_ir::Module;
use tenfold_ir::tir::{Phase, PrimFunc, structural_hash};

use crate::CompileError;
use crate::pass::{ConfigKey, FlagKey, Pass, PassContext, PassPhase, Remark, TextKey};
use crate::target::{Device, Target};
use crate::tune::{Answers, Asked, Decisions, Point};
use machine::Machine;
pub(crate) use movement::computes_turned;

/// Decisions for people who try some.
const DECISIONS: TextKey = TextKey {
    name: "ApplyDefaultSchedule.decisions",
    default: "",
    doc: "decisions for every kernel that asks for them, as `rows=4 vectors=2`; tune.md says what can be decided",
};

/// Off for results that no neighbour of an element has a part in.
const WINOGRAD: FlagKey = FlagKey {
    name: "ApplyDefaultSchedule.winograd",
    default: true,
    doc: "convolutions by windows of 3 by 3 may be computed by transforms; precision.md says what that does to results",
};

/// Off for results whose errors each product bounds by itself.
const STRASSEN: FlagKey = FlagKey {
    name: "ApplyDefaultSchedule.strassen",
    default: true,
    doc: "large products by constants may be computed by seven of their halves; precision.md says what that does to \
          results. Not set, they are for targets that add beside their multiplications, which are AMD's (`sse4a`)",
};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("ApplyDefaultSchedule", &run)
    .in_phase(PassPhase::Schedule)
    .at_level(1)
    .reads(&[ConfigKey::Text(&DECISIONS), ConfigKey::Flag(&STRASSEN), ConfigKey::Flag(&WINOGRAD)])
    .about("schedules kernels that no schedule was written for, by rules that know the target's registers");

/// One way to schedule a kernel.
struct Rule {
    /// Its name.
    name: &'static str,
    /// Why it is a good one where it applies.
    reason: &'static str,
    /// The kernel under the rule, or nothing where it does not apply.
    apply: fn(&Module, &PrimFunc, &Machine, &Asked) -> Option<Taken>,
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
        name: "attention",
        reason: "scores of a tile of queries stay in the first cache from one product to the other",
        apply: attention::apply,
    },
    Rule {
        name: "winograd",
        reason: "neighbouring results of windows of 3 by 3 share products: 36 do for 144, or 16 for 36",
        apply: winograd::apply,
    },
    Rule { name: "strassen", reason: "seven products of halves do for eight", apply: strassen::apply },
    Rule {
        name: "contraction",
        reason: "a tile of the result in registers reads each operand once per tile, not once per product",
        apply: contraction::apply,
    },
    Rule {
        name: "movement",
        reason: "a tile uses every cache line that it reads as a whole while it is there",
        apply: movement::apply,
    },
    Rule {
        name: "pooling",
        reason: "windows share what is made of a row, and those at the border cost no others a condition",
        apply: pooling::apply,
    },
    Rule {
        name: "scan",
        reason: "chains of operations wait for themselves, and not for those beside them",
        apply: scan::apply,
    },
    Rule {
        name: "fallback",
        reason: "stages that share loops pass each value on while it is at hand, and neighbours make vectors",
        apply: fallback::apply,
    },
];

fn run(func: PrimFunc, module: &Module, context: &PassContext) -> Result<PrimFunc, CompileError> {
    if func.phase != Phase::Blocks || func.exported || func.skip_optimization {
        return Ok(func);
    }
    if let Some(device) = context.target.device {
        return Ok(on_device(func, device, context));
    }
    let Some(machine) = Machine::of(&context.target) else { return Ok(func) };
    let machine = Machine { adds_beside: context.set_flag(&STRASSEN).unwrap_or(machine.adds_beside), ..machine };
    let mut asked = context.asked(Point::Schedule, &func, || hash(module, &func))?;
    let is_on = |rule: &&Rule| match rule.name {
        "strassen" => context.flag(&STRASSEN),
        "winograd" => context.flag(&WINOGRAD),
        _ => true,
    };
    let rules: Vec<&Rule> = RULES.iter().filter(is_on).collect();
    let mut scheduled = scheduled(&rules, module, &func, &machine, &asked);
    let refused = asked.refused().or_else(|| scheduled.is_none().then(|| "no rule takes it so".into()));
    if let Some(why) = refused.filter(|_| asked.is_recorded()) {
        context.refuse(&func, &why);
        asked = Asked::nobody();
        scheduled = self::scheduled(&rules, module, &func, &machine, &asked);
    }
    if let (Some((_, taken)), true) = (&mut scheduled, asked.is_recorded()) {
        taken.chosen.push(("decided by", "a record of `cargo tenfold tune`".into()));
    }
    context.tuned.answered(Point::Schedule, &func.name, asked);
    if !machine.small
        && scheduled.as_ref().is_none_or(|(rule, _)| rule.name != "pooling")
        && let Some(why) = pooling::refused(module, &func, &machine)
    {
        context.remark(|| Remark::missed(PASS.info.name, &func.name, "rule `pooling`".into(), why));
    }
    context.remark(|| match &scheduled {
        Some((rule, taken)) => {
            let place = format!("rule `{}`", rule.name);
            Remark::applied(PASS.info.name, &func.name, place, rule.reason).with(taken.chosen.clone())
        }
        None => Remark::missed(PASS.info.name, &func.name, String::new(), "no rule takes it"),
    });
    Ok(scheduled.map_or(func, |(_, taken)| threads::offered(taken.func, &context.target)))
}

/// The kernel of a device, of which `BindThreads` makes all but those that are several nests in one.
fn on_device(func: PrimFunc, device: Device, context: &PassContext) -> PrimFunc {
    let Some(taken) = attention::device::apply(&func, device).filter(|_| !context.strict) else { return func };
    context.remark(|| {
        let why = "scores of a tile of queries stay in registers and shared memory from one product to the other";
        Remark::applied(PASS.info.name, &func.name, "rule `attention`".into(), why).with(taken.chosen.clone())
    });
    taken.func
}

/// The kernel by the rule that is wanted, else by the first that takes it.
fn scheduled<'r>(
    rules: &[&'r Rule],
    module: &Module,
    func: &PrimFunc,
    machine: &Machine,
    asked: &Asked,
) -> Option<(&'r Rule, Taken)> {
    let names: Vec<String> = rules.iter().map(|rule| rule.name.to_string()).collect();
    let wanted = asked.wanted("rule", &names);
    let taken = |n: &usize| match rules[*n].name {
        "contraction" => true,
        "fallback" if machine.helium => fallback::scales(func),
        "strassen" => machine.adds_beside,
        _ => !machine.small,
    };
    let apply = |n: usize| {
        asked.forget();
        Some((n, (rules[n].apply)(module, func, machine, asked)?))
    };
    let (n, taken) = match wanted {
        Some(n) => apply(n),
        None => (0..rules.len()).filter(taken).find_map(apply),
    }?;
    asked.say("rule", &names, n, n);
    Some((rules[n], taken))
}

/// Whether a kernel is an attention that the target has a schedule for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fit {
    /// It is.
    Fits,
    /// It is one for which the rule has no schedule, and why.
    Refused(&'static str),
    /// It is something else, or has to stay in order.
    Other,
}

/// Whether a kernel is an attention that the target has a schedule for: together its stages then need less memory than
/// each for itself.
pub(crate) fn attention(func: &PrimFunc, context: &PassContext) -> Fit {
    if let Some(device) = context.target.device {
        return if context.strict { Fit::Other } else { attention::device::fit(func, device) };
    }
    match Machine::of(&context.target).filter(|machine| !context.strict && !machine.small) {
        Some(machine) => attention::fit(func, &machine),
        None => Fit::Other,
    }
}

/// Whether default schedules of the target multiply in vectors, on a processor that is no microcontroller.
pub(crate) fn has_vectors(target: &Target) -> bool {
    Machine::of(target).is_some_and(|machine| !machine.small)
}

/// Whether the default schedule of a kernel keeps tiles in registers that are matrices.
pub(crate) fn in_matrices(func: &PrimFunc, target: &Target) -> bool {
    prepack_weights::is_open(func)
        && Machine::of(target).is_some_and(|machine| contraction::in_matrices(func, &machine, &BTreeSet::new()))
}

/// What a kernel is found by, whatever it is called.
fn hash(module: &Module, func: &PrimFunc) -> String {
    let unnamed = PrimFunc { name: "kernel".into(), ..func.clone() };
    format!("{:032x}", structural_hash(module, &unnamed))
}

impl PassContext {
    /// Says that the record of a kernel does not fit.
    fn refuse(&self, kernel: &PrimFunc, why: &str) {
        self.tuned.refuse(kernel, &self.target, why);
        let text = format!("its record is not used: {why}");
        self.remark(|| Remark::missed(PASS.info.name, &kernel.name, String::new(), text));
    }

    /// What answers for a kernel: settings, else records or a search.
    fn asked(&self, point: Point, kernel: &PrimFunc, hash: impl FnOnce() -> String) -> Result<Asked, CompileError> {
        match self.text(&DECISIONS) {
            "" => Ok(self.tuned.asked(point, &self.target, kernel, hash)),
            text => {
                let wrong = |why| crate::pass::wrong(format!("`{}={text}`: {why}", DECISIONS.name), None);
                Ok(Asked::new(Answers::Given(Decisions::parse(text).map_err(wrong)?)))
            }
        }
    }
}
