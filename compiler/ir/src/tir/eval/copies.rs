//! Copies to shared memory that go on by themselves: nobody touches what they write before a barrier of the block that
//! does not leave them.

use super::frame::Frame;
use super::memory::View;
use crate::tir::{Barrier, BufId, Expr, ExprId, Intrinsic, PrimFunc, Scope};

/// What a value copies, if it is such a copy.
pub(super) fn of_copy(func: &PrimFunc, value: ExprId) -> Option<ExprId> {
    match func.exprs.get(value) {
        Expr::Call(Intrinsic::CopyAsync, args, _) => args.first().copied(),
        _ => None,
    }
}

impl Frame<'_, '_> {
    /// A copy of a value to these cells is on its way; both sides begin at multiples of 16 bytes.
    pub(super) fn depart(&mut self, value: ExprId, buf: BufId, cells: &[(View, i64)]) -> Result<(), String> {
        let Some(from) = of_copy(self.func, value) else { return Ok(()) };
        let mut sides: Vec<(BufId, Option<(View, i64)>)> = vec![(buf, cells.first().copied())];
        if let Expr::Load { buf, index, access } = self.func.exprs.get(from) {
            let (at, _) = self.index(index, 0)?;
            sides.push((*buf, Some(self.cell(*buf, &at, *access)?)));
        }
        for (buf, first) in sides {
            let data = &self.func.buffers[buf.0 as usize];
            let bytes = first.map_or(0, |(view, cell)| cell / view.unit * data.dtype.size_bytes() as i64);
            if bytes % 16 != 0 {
                return Err(format!("`copy_async` at byte {bytes} of `{}`, which is no multiple of 16", data.name));
            }
        }
        let begun = self.machine.barriers;
        self.machine.in_flight.extend(cells.iter().map(|(view, cell)| ((view.memory, *cell), begun)));
        Ok(())
    }

    /// That no copy to a cell is on its way, and no product that an access would be in the way of.
    pub(super) fn is_settled(
        &self,
        buf: BufId,
        index: &[i64],
        (view, cell): (View, i64),
        write: bool,
    ) -> Result<(), String> {
        self.is_free(buf, index, (view.memory, cell), write)?;
        if self.machine.in_flight.is_empty() || !self.machine.in_flight.contains_key(&(view.memory, cell)) {
            return Ok(());
        }
        let name = &self.func.buffers[buf.0 as usize].name;
        Err(format!("`{name}`{index:?} is touched while a copy to it is on its way"))
    }

    /// All threads of a block have met at a barrier.
    pub(super) fn arrive(&mut self, barrier: Barrier) {
        if barrier.scope != Scope::Warp {
            let now = self.machine.barriers;
            self.machine.in_flight.retain(|_, begun| *begun + u64::from(barrier.leaves) > now);
            self.machine.barriers += 1;
        }
        self.machine.races.barrier();
    }
}
