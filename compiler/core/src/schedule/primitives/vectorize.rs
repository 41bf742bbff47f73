//! `vectorize(loop)`: the turns of a loop become one vector operation.

use tenfold_ir::tir::LoopKind;

use crate::schedule::args::Args;
use crate::schedule::edit::State;
use crate::schedule::table::{Gives, Kind, Outcome, Primitive, required};
use crate::schedule::{LoopRV, Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "vectorize",
    params: &[required("loop", Kind::Loop)],
    gives: Gives::Nothing,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// Makes one vector operation of the turns of a loop; they must be independent.
    pub fn vectorize(&mut self, it: LoopRV) -> Result<(), ScheduleError> {
        self.step("vectorize", vec![it.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    super::set_independent(state, args.loop_var(0), LoopKind::Vectorized)?;
    Ok(Vec::new())
}
