//! Doubt: where it is unknown which way a program goes, what it may write is unknown.

use std::collections::BTreeSet;

use super::{BufId, CallArg, Frame, Stmt};
use crate::tir::{BufUse, Param};

impl Frame<'_, '_> {
    /// What a statement may write is unknown.
    pub(super) fn spoil(&mut self, stmt: &Stmt) -> Result<(), String> {
        let mut written = BTreeSet::new();
        stmt.walk(&mut |s| match s {
            Stmt::Store { buf, .. } => {
                written.insert(*buf);
            }
            Stmt::Call { func, args, .. } => written.extend(self.results(func, args)),
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
        for buf in written {
            // What is allocated inside is gone by now.
            if self.state.places[buf.0 as usize].is_some() {
                self.spoil_buffer(buf)?;
            }
        }
        Ok(())
    }

    /// The buffers that a call writes.
    pub(super) fn results(&self, callee: &str, args: &[CallArg]) -> Vec<BufId> {
        let params = self.machine.module.prim(callee).map_or(&[][..], |f| &f.params);
        let written = |(arg, param): (&CallArg, &Param)| match (arg, param) {
            (CallArg::Buffer(buf), Param::Buffer(_, BufUse::Out | BufUse::InOut) | Param::Workspace) => Some(*buf),
            (CallArg::Buffer(_), Param::Buffer(_, BufUse::In) | Param::Value(_)) | (CallArg::Value(_), _) => None,
        };
        args.iter().zip(params).filter_map(written).collect()
    }

    pub(super) fn spoil_buffer(&mut self, buf: BufId) -> Result<(), String> {
        let place = self.place(buf)?;
        self.machine.memories[place.view.memory].spoil(place.cells());
        Ok(())
    }
}
