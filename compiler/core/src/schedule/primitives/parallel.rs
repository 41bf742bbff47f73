//! `parallel(loop)`: the turns of a loop may run on threads.

use tenfold_ir::tir::LoopKind;

use crate::schedule::args::Args;
use crate::schedule::edit::State;
use crate::schedule::table::{Gives, Kind, Outcome, Primitive, required};
use crate::schedule::{LoopRV, Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive =
    Primitive { name: "parallel", params: &[required("loop", Kind::Loop)], gives: Gives::Nothing, run, decides: false };

impl Schedule<'_> {
    /// Lets the turns of a loop run on threads; they must be independent.
    pub fn parallel(&mut self, it: LoopRV) -> Result<(), ScheduleError> {
        self.step("parallel", vec![it.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    super::set_independent(state, args.loop_var(0), LoopKind::Parallel)?;
    Ok(Vec::new())
}
