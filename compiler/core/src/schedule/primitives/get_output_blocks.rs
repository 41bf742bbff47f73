//! `get_output_blocks()`: the blocks that write what the function's caller sees.

use crate::schedule::analysis::{outputs_of, touched};
use crate::schedule::args::Args;
use crate::schedule::edit::State;
use crate::schedule::table::{Gives, Kind, Out, Outcome, Primitive, optional};
use crate::schedule::tree;
use crate::schedule::{BlockRV, Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "get_output_blocks",
    params: &[optional("scope", Kind::Block)],
    gives: Gives::List,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// The outermost blocks of the function that write what its caller sees.
    pub fn get_output_blocks(&mut self) -> Result<Vec<BlockRV>, ScheduleError> {
        self.step_blocks("get_output_blocks", vec![])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let outputs = outputs_of(state);
    let scope = match args.block(0) {
        "" => &state.body,
        name => &state.get_block(name)?.body,
    };
    let blocks = tree::outer_blocks(scope).into_iter();
    let writing = blocks.filter(|b| !touched(state, b).1.is_disjoint(&outputs));
    Ok(writing.map(|b| Out::Block(b.name.clone())).collect())
}
