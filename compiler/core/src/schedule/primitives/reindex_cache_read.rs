//! `reindex_cache_read(block, buffer, scope, map)`: a copy of what a block reads, laid out as a map of its iterators says.

use crate::schedule::args::{Arg, Args, IndexMap};
use crate::schedule::edit::State;
use crate::schedule::layout::{self, Way};
use crate::schedule::table::{Gives, Kind, Out, Outcome, ParamInfo, Primitive, required};
use crate::schedule::{BlockRV, Schedule, ScheduleError, stage};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "reindex_cache_read",
    params: PARAMS,
    gives: Gives::One,
    run: |state, args| copied(state, args, false),
    decides: false,
};

/// Of both directions.
pub(super) const PARAMS: &[ParamInfo] = &[
    required("block", Kind::Block),
    required("buffer", Kind::Any),
    required("scope", Kind::Text),
    required("map", Kind::Map),
];

impl Schedule<'_> {
    /// Copies what the block reads in memory of `scope`, indexed there as `map` says: it takes the block's iterators
    /// and gives the indices of the copy.
    pub fn reindex_cache_read(
        &mut self,
        block: BlockRV,
        buffer: impl Into<Arg>,
        scope: &str,
        map: IndexMap,
    ) -> Result<BlockRV, ScheduleError> {
        self.step_block("reindex_cache_read", vec![block.into(), buffer.into(), scope.into(), map.into()])
    }
}

/// Copies what the block reads, or writes.
pub(super) fn copied(state: &mut State<'_>, args: &Args, written: bool) -> Outcome {
    let buf = stage::buffer_of(state, args.block(0), args.get(1), written)?;
    let scope = stage::scope_named(args.text(2))?;
    let Some(map) = args.map(3) else { return Ok(Vec::new()) };
    let copy = if written { layout::write_to } else { layout::read_from };
    let made = copy(state, args.block(0), buf, &Way::Map(map), (scope, args.text(2)))?;
    Ok(vec![Out::Block(made)])
}
