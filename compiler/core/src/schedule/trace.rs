//! What was applied, in order. The text form is in `trace_text.rs`.

use super::args::Arg;
use super::error::ScheduleError;
use super::handle::Rv;
use super::state::Schedule;

/// A step.
#[derive(Clone, PartialEq, Debug)]
pub struct Instruction {
    /// The primitive's name.
    pub primitive: String,
    /// Its arguments. What a sampling primitive chose is among them, as `decision = …`.
    pub args: Vec<Arg>,
    /// What it gave.
    pub results: Vec<Rv>,
}

/// What was applied to a function, in order.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Trace {
    /// The steps.
    pub steps: Vec<Instruction>,
}

impl Trace {
    /// Applies the steps to another schedule, whose references are of its own. Stops at the first that is refused.
    pub fn replay(&self, schedule: &mut Schedule<'_>) -> Result<(), ScheduleError> {
        let mut known = std::collections::BTreeMap::new();
        for step in &self.steps {
            let args: Vec<Arg> = step.args.iter().map(|a| rename(a, &known)).collect();
            let results = schedule.apply(&step.primitive, args)?;
            known.extend(step.results.iter().copied().zip(results));
        }
        Ok(())
    }

    /// The trace without what later steps do not need: queries whose results nothing uses.
    pub fn simplified(&self) -> Trace {
        let mut used = std::collections::BTreeSet::new();
        let mut steps = Vec::new();
        for step in self.steps.iter().rev() {
            let query = step.primitive.starts_with("get_");
            if query && !step.results.iter().any(|rv| used.contains(rv)) {
                continue;
            }
            step.args.iter().for_each(|arg| uses(arg, &mut used));
            steps.push(step.clone());
        }
        steps.reverse();
        Trace { steps }
    }
}

fn uses(arg: &Arg, used: &mut std::collections::BTreeSet<Rv>) {
    match arg {
        Arg::Rv(rv) => {
            used.insert(*rv);
        }
        Arg::List(all) => all.iter().for_each(|a| uses(a, used)),
        Arg::Named(_, arg) => uses(arg, used),
        Arg::Int(_) | Arg::Real(_) | Arg::Bool(_) | Arg::Text(_) | Arg::Infer | Arg::Map(_) => {}
    }
}

/// The argument with the references that `known` gives; one that it lacks stays, and is refused where it is used.
fn rename(arg: &Arg, known: &std::collections::BTreeMap<Rv, Rv>) -> Arg {
    match arg {
        Arg::Rv(rv) => Arg::Rv(known.get(rv).copied().unwrap_or(*rv)),
        Arg::List(all) => Arg::List(all.iter().map(|a| rename(a, known)).collect()),
        Arg::Named(name, arg) => Arg::Named(name.clone(), Box::new(rename(arg, known))),
        Arg::Int(_) | Arg::Real(_) | Arg::Bool(_) | Arg::Text(_) | Arg::Infer | Arg::Map(_) => arg.clone(),
    }
}
