//! `cache_write(block, buffer, scope)`: a block writes to other memory, from which the buffer is copied behind it.

use crate::schedule::args::{Arg, Args};
use crate::schedule::edit::State;
use crate::schedule::error::Refusal;
use crate::schedule::table::{Gives, Kind, Out, Outcome, Primitive, required};
use crate::schedule::{BlockRV, Schedule, ScheduleError, stage};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "cache_write",
    params: &[required("block", Kind::Block), required("buffer", Kind::Any), required("scope", Kind::Text)],
    gives: Gives::One,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// Lets the block write to memory of `scope`, and copies that to the buffer in a block of its own behind it.
    /// The buffer is given by its name, or by its place among those that the block writes.
    pub fn cache_write(
        &mut self,
        block: BlockRV,
        buffer: impl Into<Arg>,
        scope: &str,
    ) -> Result<BlockRV, ScheduleError> {
        self.step_block("cache_write", vec![block.into(), buffer.into(), scope.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let block = args.block(0);
    let buf = stage::buffer_of(state, block, args.get(1), true)?;
    let scope = stage::scope_named(args.text(2))?;
    stage::require_read_behind(state, block, buf)?;
    stage::require_whole(state, block)?;
    let holder = state.get_block(block)?;
    if holder.init.is_none() && stage::reads(state, holder, buf) {
        let text = format!("block `{block}` updates what `{}` holds before it", state.buf_name(buf));
        return Refusal::err(text, "use `cache_inplace`");
    }
    let part = stage::written_box(state, block, buf)?;
    let shape = state.b.buf(buf).shape.clone();
    let new = stage::buffer_like(state, buf, args.text(2), shape, scope);
    let name = state.fresh_block(state.buf_name(new));
    let copy = stage::copy(state, &name, new, buf, &part);
    let made = stage::block_in(&copy);
    stage::turn_block(state, block, (buf, new), (true, true), &stage::same)?;
    stage::put(state, block, copy, stage::Side::Behind);
    stage::allocate(state, block, new);
    stage::require_proven(state)?;
    Ok(vec![Out::Block(made)])
}
