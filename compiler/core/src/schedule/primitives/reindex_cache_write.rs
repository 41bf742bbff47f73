//! `reindex_cache_write(block, buffer, scope, map)`: a copy of what a block writes, laid out as a map of its iterators says.

use crate::schedule::args::{Arg, Args, IndexMap};
use crate::schedule::edit::State;
use crate::schedule::layout::{self, Way};
use crate::schedule::table::{Gives, Kind, Out, Outcome, Primitive, required};
use crate::schedule::{BlockRV, Schedule, ScheduleError, stage};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "reindex_cache_write",
    params: &[
        required("block", Kind::Block),
        required("buffer", Kind::Any),
        required("scope", Kind::Text),
        required("map", Kind::Map),
    ],
    gives: Gives::One,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// Copies what the block writes in memory of `scope`, indexed there as `map` says: it takes the block's iterators
    /// and gives the indices of the copy.
    pub fn reindex_cache_write(
        &mut self,
        block: BlockRV,
        buffer: impl Into<Arg>,
        scope: &str,
        map: IndexMap,
    ) -> Result<BlockRV, ScheduleError> {
        self.step_block("reindex_cache_write", vec![block.into(), buffer.into(), scope.into(), map.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let buf = stage::buffer_of(state, args.block(0), args.get(1), true)?;
    let scope = stage::scope_named(args.text(2))?;
    let Some(map) = args.map(3) else { return Ok(Vec::new()) };
    let made = layout::write_to(state, args.block(0), buf, &Way::Map(map), (scope, args.text(2)))?;
    Ok(vec![Out::Block(made)])
}
