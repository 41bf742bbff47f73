//! `cache_read(block, buffer, scope)`: what a block reads of a buffer is copied first, and read from the copy.

use crate::schedule::args::{Arg, Args};
use crate::schedule::edit::State;
use crate::schedule::table::{Gives, Kind, Out, Outcome, Primitive, required};
use crate::schedule::{BlockRV, Schedule, ScheduleError, stage};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "cache_read",
    params: &[required("block", Kind::Block), required("buffer", Kind::Any), required("scope", Kind::Text)],
    gives: Gives::One,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// Copies the part of a buffer that the block reads into memory of `scope`, in a block of its own before it.
    /// The buffer is given by its name, or by its place among those that the block reads.
    pub fn cache_read(
        &mut self,
        block: BlockRV,
        buffer: impl Into<Arg>,
        scope: &str,
    ) -> Result<BlockRV, ScheduleError> {
        self.step_block("cache_read", vec![block.into(), buffer.into(), scope.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let block = args.block(0);
    let buf = stage::buffer_of(state, block, args.get(1), false)?;
    let scope = stage::scope_named(args.text(2))?;
    stage::require_written_before(state, block, buf)?;
    let found = stage::touched_by_item(state, block, buf, false);
    stage::require_no_holes(state, block, buf, &found)?;
    let part = stage::part(state, buf, &found)?;
    let shape = state.b.buf(buf).shape.clone();
    let new = stage::buffer_like(state, buf, args.text(2), shape, scope);
    let name = state.fresh_block(state.buf_name(new));
    let copy = stage::copy(state, &name, buf, new, &part);
    let made = stage::block_in(&copy);
    stage::turn_block(state, block, (buf, new), (true, false), &stage::same)?;
    stage::put(state, block, copy, stage::Side::Before);
    stage::allocate(state, block, new);
    stage::require_proven(state)?;
    Ok(vec![Out::Block(made)])
}
