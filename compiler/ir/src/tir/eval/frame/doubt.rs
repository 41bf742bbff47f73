//! Doubt: where it is unknown which way a program goes, what it may write is unknown.

use std::collections::BTreeSet;

use super::{BufId, CallArg, Frame, Stmt};

impl Frame<'_, '_> {
    pub(super) fn spoil(&mut self, stmt: &Stmt) -> Result<(), String> {
        let mut written = BTreeSet::new();
        collect_written(stmt, &mut written);
        for buf in written {
            // What is allocated inside is gone by now.
            if self.state.places[buf.0 as usize].is_some() {
                self.spoil_buffer(buf)?;
            }
        }
        Ok(())
    }

    pub(super) fn spoil_buffer(&mut self, buf: BufId) -> Result<(), String> {
        let place = self.place(buf)?;
        self.machine.memories[place.view.memory].spoil(place.cells());
        Ok(())
    }
}

fn collect_written(stmt: &Stmt, out: &mut BTreeSet<BufId>) {
    stmt.walk(&mut |s| match s {
        Stmt::Store { buf, .. } => {
            out.insert(*buf);
        }
        Stmt::Call { args, .. } => out.extend(args.iter().filter_map(|a| match a {
            CallArg::Buffer(buf) => Some(*buf),
            CallArg::Value(_) => None,
        })),
        Stmt::Seq(_)
        | Stmt::For { .. }
        | Stmt::While { .. }
        | Stmt::If { .. }
        | Stmt::Let { .. }
        | Stmt::Alloc { .. }
        | Stmt::Block(_)
        | Stmt::Evaluate(_)
        | Stmt::Barrier(_)
        | Stmt::Assert { .. }
        | Stmt::Prefetch { .. }
        | Stmt::At(..) => {}
    });
}
