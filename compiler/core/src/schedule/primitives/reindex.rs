//! `reindex(block, side, buffer)`: a buffer is copied so that the block's iterators are its indices.

use crate::schedule::args::{Arg, Args};
use crate::schedule::edit::State;
use crate::schedule::error::Refusal;
use crate::schedule::layout::{self, Way};
use crate::schedule::table::{Gives, Kind, Out, Outcome, Primitive, required};
use crate::schedule::{BlockRV, Schedule, ScheduleError, stage};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "reindex",
    params: &[required("block", Kind::Block), required("side", Kind::Text), required("buffer", Kind::Any)],
    gives: Gives::One,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// Copies what a block reads (`side` is `"read"`, before it) or writes (`"write"`, behind it) so that the block
    /// indexes the copy by one iterator for each axis.
    pub fn reindex(&mut self, block: BlockRV, side: &str, buffer: impl Into<Arg>) -> Result<BlockRV, ScheduleError> {
        self.step_block("reindex", vec![block.into(), side.into(), buffer.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let writes = match args.text(1) {
        "read" => false,
        "write" => true,
        other => return Refusal::err(format!("`{other}` is no side of a block"), "write `\"read\"` or `\"write\"`"),
    };
    let buf = stage::buffer_of(state, args.block(0), args.get(2), writes)?;
    let memory = (tenfold_ir::tir::Scope::Global, "reindex");
    let made = if writes {
        layout::write_to(state, args.block(0), buf, &Way::Iterators, memory)?
    } else {
        layout::read_from(state, args.block(0), buf, &Way::Iterators, memory)?
    };
    Ok(vec![Out::Block(made)])
}
