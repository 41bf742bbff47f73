//! `reindex_cache_write(block, buffer, scope, map)`: a copy of what a block writes, laid out as a map of its iterators says.

use super::reindex_cache_read::{PARAMS, copied};
use crate::schedule::args::{Arg, IndexMap};
use crate::schedule::table::{Gives, Primitive};
use crate::schedule::{BlockRV, Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "reindex_cache_write",
    params: PARAMS,
    gives: Gives::One,
    run: |state, args| copied(state, args, true),
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
