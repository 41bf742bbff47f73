//! `get_child_blocks(place)`: the outermost blocks inside a block or a loop, in order.

use crate::schedule::args::{Arg, Args, Value};
use crate::schedule::edit::State;
use crate::schedule::table::{Gives, Kind, Out, Outcome, Primitive, required};
use crate::schedule::tree;
use crate::schedule::{BlockRV, Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "get_child_blocks",
    params: &[required("place", Kind::Place)],
    gives: Gives::List,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// The outermost blocks inside a block or a loop, in order.
    pub fn get_child_blocks(&mut self, place: impl Into<Arg>) -> Result<Vec<BlockRV>, ScheduleError> {
        self.step_blocks("get_child_blocks", vec![place.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let blocks = match args.get(0) {
        Value::Loop(var) => names(&state.get_loop(*var)?.body),
        _ => {
            let block = state.get_block(args.block(0))?;
            block.init.iter().chain([&block.body]).flat_map(names).collect()
        }
    };
    Ok(blocks.into_iter().map(Out::Block).collect())
}

fn names(stmt: &tenfold_ir::tir::Stmt) -> Vec<String> {
    tree::outer_blocks(stmt).into_iter().map(|b| b.name.clone()).collect()
}
