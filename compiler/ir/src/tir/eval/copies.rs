//! Copies to shared memory that go on by themselves: nobody touches what they write before the next barrier of the block.

use super::frame::Frame;
use super::memory::View;
use crate::tir::{BufId, Expr, ExprId, Intrinsic, PrimFunc, Scope};

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
        self.machine.in_flight.extend(cells.iter().map(|(view, cell)| (view.memory, *cell)));
        Ok(())
    }

    /// That no copy to a cell is on its way.
    pub(super) fn is_settled(&self, buf: BufId, index: &[i64], (view, cell): (View, i64)) -> Result<(), String> {
        if self.machine.in_flight.is_empty() || !self.machine.in_flight.contains(&(view.memory, cell)) {
            return Ok(());
        }
        let name = &self.func.buffers[buf.0 as usize].name;
        Err(format!("`{name}`{index:?} is touched while a copy to it is on its way"))
    }

    /// All threads of a block have met at a barrier of this scope.
    pub(super) fn arrive(&mut self, scope: Scope) {
        if scope != Scope::Warp {
            self.machine.in_flight.clear();
        }
        self.machine.races.barrier();
    }
}
