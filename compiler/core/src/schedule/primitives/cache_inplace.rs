//! `cache_inplace(block, buffer, scope)`: a buffer that a block reads and writes is copied, updated there, and copied back.

use crate::schedule::args::{Arg, Args};
use crate::schedule::edit::State;
use crate::schedule::error::Refusal;
use crate::schedule::table::{Gives, Kind, Out, Outcome, Primitive, required};
use crate::schedule::{BlockRV, Schedule, ScheduleError, stage};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "cache_inplace",
    params: &[required("block", Kind::Block), required("buffer", Kind::Any), required("scope", Kind::Text)],
    gives: Gives::List,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// Copies a buffer that the block updates into memory of `scope` before it and back behind it. Gives both blocks.
    pub fn cache_inplace(
        &mut self,
        block: BlockRV,
        buffer: impl Into<Arg>,
        scope: &str,
    ) -> Result<Vec<BlockRV>, ScheduleError> {
        self.step_blocks("cache_inplace", vec![block.into(), buffer.into(), scope.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let block = args.block(0);
    let buf = stage::buffer_of(state, block, args.get(1), true)?;
    let scope = stage::scope_named(args.text(2))?;
    let holder = state.get_block(block)?.clone();
    let updates = holder.init.is_none() && stage::reads(state, &holder, buf);
    if !updates {
        let text = format!("block `{block}` does not read `{}` before it writes it", state.buf_name(buf));
        return Refusal::err(text, "use `cache_write` for what is only written");
    }
    stage::require_filled(state, block, buf)?;
    stage::require_written_before(state, block, buf)?;
    stage::require_not_shared(state, block, buf)?;
    stage::require_whole(state, block)?;
    let found = stage::touched_by_item(state, block, buf, true);
    stage::require_no_holes(state, block, buf, &found)?;
    let part = stage::written_box(state, block, buf)?;
    let shape = state.b.buf(buf).shape.clone();
    let new = stage::buffer_like(state, buf, args.text(2), shape, scope);
    let base = state.buf_name(new).to_string();
    let into = stage::copy(state, &state.fresh_block(&format!("{base}_in")), buf, new, &part);
    let back = stage::copy(state, &state.fresh_block(&format!("{base}_out")), new, buf, &part);
    let made = vec![Out::Block(stage::block_in(&into)), Out::Block(stage::block_in(&back))];
    stage::turn_block(state, block, (buf, new), (true, true), &stage::same)?;
    stage::put(state, block, into, stage::Side::Before);
    stage::put(state, block, back, stage::Side::Behind);
    stage::allocate(state, block, new);
    stage::require_proven(state)?;
    Ok(made)
}
