//! `sample_compute_location(block)`: a loop that a block can be computed at, by chance.

use crate::schedule::analysis::consumers;
use crate::schedule::args::{Arg, Args};
use crate::schedule::edit::State;
use crate::schedule::error::Refusal;
use crate::schedule::table::{Gives, Kind, Out, Outcome, Primitive, optional, required};
use crate::schedule::{LoopRV, Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "sample_compute_location",
    params: &[required("block", Kind::Block), optional("decision", Kind::Text)],
    gives: Gives::One,
    run,
    decides: true,
};

impl Schedule<'_> {
    /// Chooses a loop at which `compute_at` would take the block.
    pub fn sample_compute_location(&mut self, block: impl Into<Arg>) -> Result<LoopRV, ScheduleError> {
        self.step_loop("sample_compute_location", vec![block.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let name = args.block(0);
    let mut places = Vec::new();
    for consumer in consumers(state, name) {
        for var in state.loops_of(&consumer) {
            let taken = || super::compute_at::compute_at(&mut state.clone(), name, var, false).is_ok();
            if !places.contains(&var) && taken() {
                places.push(var);
            }
        }
    }
    if places.is_empty() {
        return Refusal::err(format!("`{name}` can be computed at no loop"), "leave it where it is, or inline it");
    }
    let wanted = args.text(1);
    let chosen = if wanted.is_empty() {
        Some(places[(state.next() % places.len() as u64) as usize])
    } else {
        places.iter().copied().find(|v| state.name(*v) == wanted)
    };
    match chosen {
        Some(var) => Ok(vec![Out::Loop(var)]),
        None => Refusal::err(format!("`{name}` cannot be computed at `{wanted}`"), "leave the decision out"),
    }
}
