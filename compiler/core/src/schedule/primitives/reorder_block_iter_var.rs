//! `reorder_block_iter_var(block, order)`: the iterators of a block change places in its head.

use crate::schedule::args::{Arg, Args};
use crate::schedule::edit::State;
use crate::schedule::error::Refusal;
use crate::schedule::table::{Gives, Kind, Outcome, Primitive, required};
use crate::schedule::{Schedule, ScheduleError};

pub(super) const PRIMITIVE: Primitive = Primitive {
    name: "reorder_block_iter_var",
    params: &[required("block", Kind::Block), required("order", Kind::Ints)],
    gives: Gives::Nothing,
    run,
    decides: false,
};

impl Schedule<'_> {
    /// Puts the iterators of a block in another order: `order[n]` is the old place of the new `n`th.
    pub fn reorder_block_iter_var(&mut self, block: impl Into<Arg>, order: &[i64]) -> Result<(), ScheduleError> {
        self.step("reorder_block_iter_var", vec![block.into(), order.into()])
    }
}

fn run(state: &mut State<'_>, args: &Args) -> Outcome {
    let order = args.ints(1);
    let count = state.get_block(args.block(0))?.iters.len();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if !sorted.iter().copied().eq(0..count as i64) {
        let text = format!("{order:?} is no order of the {count} iterators of `{}`", args.block(0));
        return Refusal::err(text, format!("give each number from 0 to {} once", count.saturating_sub(1)));
    }
    state.edit_block(args.block(0), |_, block| {
        block.iters = order.iter().filter_map(|n| block.iters.get(*n as usize).cloned()).collect();
    })?;
    Ok(Vec::new())
}
