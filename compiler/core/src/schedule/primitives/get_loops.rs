//! `get_loops(block)`: the loops around a block up to the next block, outermost first.

use crate::schedule::args::{Arg, Args};
use crate::schedule::edit::State;
use crate::schedule::table::{Gives, Kind, Out, Outcome, Primitive, required};
use crate::schedule::{LoopRV, Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive =
    Primitive { name: "get_loops", params: &[required("block", Kind::Block)], gives: Gives::List, run, decides: false };

impl Schedule<'_> {
    /// The loops around a block (or the block of that name) up to the next block, outermost first.
    pub fn get_loops(&mut self, block: impl Into<Arg>) -> Result<Vec<LoopRV>, ScheduleError> {
        self.step_loops("get_loops", vec![block.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    Ok(state.loops_of(args.block(0)).into_iter().map(Out::Loop).collect())
}
