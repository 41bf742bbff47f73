//! `get_producers(block)`: the blocks of its scope that write what it reads.

use crate::schedule::analysis::producers;
use crate::schedule::args::{Arg, Args};
use crate::schedule::edit::State;
use crate::schedule::table::{Gives, Kind, Out, Outcome, Primitive, required};
use crate::schedule::{BlockRV, Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "get_producers",
    params: &[required("block", Kind::Block)],
    gives: Gives::List,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// The other blocks of the scope that write what it reads, in order.
    pub fn get_producers(&mut self, block: impl Into<Arg>) -> Result<Vec<BlockRV>, ScheduleError> {
        self.step_blocks("get_producers", vec![block.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    Ok(producers(state, args.block(0)).into_iter().map(Out::Block).collect())
}
