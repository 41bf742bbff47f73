//! `set_scope(block, buffer, scope)`: a buffer that a block writes lives in another memory.

use crate::schedule::args::{Arg, Args};
use crate::schedule::edit::State;
use crate::schedule::table::{Gives, Kind, Outcome, Primitive, required};
use crate::schedule::{BlockRV, Schedule, ScheduleError, stage};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "set_scope",
    params: &[required("block", Kind::Block), required("buffer", Kind::Any), required("scope", Kind::Text)],
    gives: Gives::Nothing,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// Puts a buffer that the block writes, given by name or place, into `global`, `shared` or `local` memory.
    pub fn set_scope(&mut self, block: BlockRV, buffer: impl Into<Arg>, scope: &str) -> Result<(), ScheduleError> {
        self.step("set_scope", vec![block.into(), buffer.into(), scope.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let buf = stage::buffer_of(state, args.block(0), args.get(1), true)?;
    let scope = stage::scope_named(args.text(2))?;
    stage::require_own(state, buf)?;
    state.b.buf_mut(buf).scope = scope;
    Ok(Vec::new())
}
