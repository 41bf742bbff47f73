//! `get_consumers(block)`: the blocks of its scope that read what it writes.

use crate::schedule::analysis::consumers;
use crate::schedule::args::{Arg, Args};
use crate::schedule::edit::State;
use crate::schedule::table::{Gives, Kind, Out, Outcome, Primitive, required};
use crate::schedule::{BlockRV, Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "get_consumers",
    params: &[required("block", Kind::Block)],
    gives: Gives::List,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// The other blocks of the scope that read what it writes, in order.
    pub fn get_consumers(&mut self, block: impl Into<Arg>) -> Result<Vec<BlockRV>, ScheduleError> {
        self.step_blocks("get_consumers", vec![block.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    Ok(consumers(state, args.block(0)).into_iter().map(Out::Block).collect())
}
