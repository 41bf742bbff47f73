//! Copies to shared memory that go on by themselves: nobody touches what they write before a barrier of the block that
//! does not leave them.

use super::frame::Frame;
use super::memory::View;
use crate::tir::{Barrier, BufId, Expr, ExprId, Intrinsic, PrimFunc, Scope};

/// What a copy waits for.
#[derive(Clone, Copy)]
pub(super) enum Arrival {
    /// A barrier behind so many.
    Barrier(u64),
    /// The end of a phase of an `mbarrier`.
    Phase((usize, i64), u64),
}

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
        let arrival = Arrival::Barrier(self.machine.barriers);
        self.machine.in_flight.extend(cells.iter().map(|(view, cell)| ((view.memory, *cell), arrival)));
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
        if self.machine.in_flight.is_empty() {
            return Ok(());
        }
        match self.machine.in_flight.get(&(view.memory, cell)) {
            None => return Ok(()),
            Some(Arrival::Phase(of, phase)) if self.state.waited.get(of).is_some_and(|ended| ended > phase) => {
                return Ok(());
            }
            Some(Arrival::Barrier(_) | Arrival::Phase(..)) => {}
        }
        let name = &self.func.buffers[buf.0 as usize].name;
        Err(format!("`{name}`{index:?} is touched while a copy to it is on its way"))
    }

    /// All threads of a block have met at a barrier.
    pub(super) fn arrive(&mut self, barrier: Barrier) {
        if barrier.scope != Scope::Warp {
            let now = self.machine.barriers;
            self.machine.in_flight.retain(|_, arrival| match arrival {
                Arrival::Barrier(begun) => *begun + u64::from(barrier.leaves) > now,
                Arrival::Phase(..) => true,
            });
            self.machine.barriers += 1;
        }
        self.machine.races.barrier();
    }
}
