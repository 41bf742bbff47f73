//! `get_block("name")`: the block of that name.

use crate::schedule::args::Args;
use crate::schedule::edit::State;
use crate::schedule::table::{Gives, Kind, Out, Outcome, Primitive, required};
use crate::schedule::{BlockRV, Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive =
    Primitive { name: "get_block", params: &[required("name", Kind::Block)], gives: Gives::One, run, decides: false };

impl Schedule<'_> {
    /// The block called `name`.
    pub fn get_block(&mut self, name: &str) -> Result<BlockRV, ScheduleError> {
        self.step_block("get_block", vec![name.into()])
    }
}

fn run(_: &mut State<'_>, args: &Args) -> Outcome {
    Ok(vec![Out::Block(args.block(0).to_string())])
}
