//! Stores: all lanes are computed before one is written.

use super::{Access, BufId, Cell, Expr, ExprId, Frame, Intrinsic, Stmt, View};
use crate::tir::eval::copies::of_copy;
use crate::tir::eval::few::At;

/// What a lane writes, once all lanes are computed.
pub(super) struct Write {
    place: (View, i64),
    new: Cell,
    sure: bool,
    at: At,
}

impl<'m> Frame<'_, 'm> {
    /// A statement that threads run together begins for this one.
    pub(in crate::tir::eval) fn begin(&mut self, stmt: &'m Stmt) {
        self.current = Some(stmt);
    }

    /// Stores values that are there.
    pub(in crate::tir::eval) fn put(&mut self, stmt: &'m Stmt, made: Vec<Cell>) -> Result<(), String> {
        let Stmt::Store { buf, index, access, .. } = stmt else { return Ok(()) };
        self.begin(stmt);
        for (lane, new) in (0..).zip(made) {
            let (at, sure) = self.index(index, lane)?;
            let (view, cell) = self.cell(*buf, &at, *access)?;
            if !sure || new.value.value.dtype != self.func.buffers[buf.0 as usize].dtype {
                return Err(format!("what a warp makes is stored in `{}`", self.func.buffers[buf.0 as usize].name));
            }
            self.touch(*buf, &at, (view, cell), true)?;
            self.machine.memories[view.memory].set(cell, new);
        }
        Ok(())
    }

    pub(super) fn store(
        &mut self,
        buf: BufId,
        index: &'m [ExprId],
        value: ExprId,
        access: Access,
    ) -> Result<(), String> {
        let lanes = self.func.exprs.ty(value).lanes;
        match self.func.exprs.get(value) {
            Expr::Call(Intrinsic::CopyTensor, ..) => return self.copy_tensor((buf, index, access), value),
            Expr::Call(Intrinsic::Mbarrier(f), args, _) => return self.mbarrier(*f, args, (buf, index, access)),
            _ => {}
        }
        let data = &self.func.buffers[buf.0 as usize];
        if !self.place(buf)?.writable {
            return Err(format!("`{}` is written, which is not writable", data.name));
        }
        if lanes == 1 {
            let write = self.made((buf, index, access), value, 0)?;
            let place = write.place;
            self.write(buf, write)?;
            return self.depart(value, buf, &[place]);
        }
        let mut writes = std::mem::take(&mut self.writes);
        for lane in 0..lanes {
            writes.push(self.made((buf, index, access), value, lane)?);
        }
        let cells: Vec<(View, i64)> = match of_copy(self.func, value) {
            Some(_) => writes.iter().map(|write| write.place).collect(),
            None => Vec::new(),
        };
        writes.drain(..).try_for_each(|write| self.write(buf, write))?;
        self.writes = writes;
        self.depart(value, buf, &cells)
    }

    /// What a lane of a store writes.
    fn made(
        &mut self,
        (buf, index, access): (BufId, &'m [ExprId], Access),
        value: ExprId,
        lane: u16,
    ) -> Result<Write, String> {
        let data = &self.func.buffers[buf.0 as usize];
        let (at, sure) = self.index(index, lane)?;
        let place = self.cell(buf, &at, access)?;
        let new = match self.accumulation(buf, index, value) {
            Some((op, term)) => {
                self.touch(buf, &at, place, false)?;
                self.accumulate(op, term, place, data.dtype, lane)?
            }
            None => Cell { value: self.expr(value, lane)?, sum: None },
        };
        if new.value.value.dtype != data.dtype {
            return Err(format!("a `{}` is stored in `{}`", new.value.value.dtype, data.name));
        }
        Ok(Write { place, new, sure, at })
    }

    fn write(&mut self, buf: BufId, Write { place, new, sure, at }: Write) -> Result<(), String> {
        self.touch(buf, &at, place, true)?;
        self.is_settled(buf, &at, place, true)?;
        self.machine.memories[place.0.memory].set(place.1, new);
        if sure { Ok(()) } else { self.spoil_buffer(buf) }
    }
}
