//! `unroll(loop)`: the turns of a loop are written out.

use tenfold_ir::tir::LoopKind;

use crate::schedule::args::Args;
use crate::schedule::edit::State;
use crate::schedule::table::{Gives, Kind, Outcome, Primitive, required};
use crate::schedule::{LoopRV, Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive =
    Primitive { name: "unroll", params: &[required("loop", Kind::Loop)], gives: Gives::Nothing, run, decides: false };

impl Schedule<'_> {
    /// Writes the turns of a loop out.
    pub fn unroll(&mut self, it: LoopRV) -> Result<(), ScheduleError> {
        self.step("unroll", vec![it.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    super::set_kind(state, args.loop_var(0), LoopKind::Unrolled)?;
    Ok(Vec::new())
}
