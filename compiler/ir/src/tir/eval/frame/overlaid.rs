//! Operands that lie under results of the same call: each element is read before something is written over it.

use std::collections::HashSet;
use std::ops::Range;

use super::{BufId, BufUse, Frame, Param, Place, View};

/// Cells of the workspace that hold such operands, and those that results have been written over.
#[derive(Default)]
pub(super) struct Overlaid {
    operands: Vec<(usize, Range<i64>)>,
    lost: HashSet<(usize, i64)>,
}

impl Frame<'_, '_> {
    /// Buffers of a call share memory only where all of them are read, or where results lie over operands in the
    /// workspace.
    pub(super) fn check_overlap(&mut self) -> Result<(), String> {
        let all: Vec<(BufUse, &str, &Place)> = self
            .func
            .params
            .iter()
            .filter_map(|param| match param {
                Param::Buffer(buf, usage) => {
                    let name = self.func.buffers[buf.0 as usize].name.as_str();
                    Some((*usage, name, self.state.places[buf.0 as usize].as_deref()?))
                }
                Param::Value(_) | Param::Workspace => None,
            })
            .collect();
        let mut operands = Vec::new();
        for (n, (usage, name, a)) in all.iter().enumerate() {
            for (other, named, b) in &all[n + 1..] {
                let (x, y) = (a.cells(), b.cells());
                if a.view.memory != b.view.memory || x.start >= y.end || y.start >= x.end {
                    continue;
                }
                let in_workspace = self.machine.memories[a.view.memory].is_bytes();
                match (usage, other) {
                    (BufUse::In, BufUse::In) => {}
                    (BufUse::In, BufUse::Out) if in_workspace => operands.push((a.view.memory, x)),
                    (BufUse::Out, BufUse::In) if in_workspace => operands.push((a.view.memory, y)),
                    _ => return Err(format!("`{name}` and `{named}` overlap")),
                }
            }
        }
        self.overlaid.operands = operands;
        Ok(())
    }

    /// What results hold at entry is nothing, but for the elements of operands.
    pub(super) fn clear_results(&mut self) {
        for param in &self.func.params {
            let Param::Buffer(buf, BufUse::Out) = param else { continue };
            let Some(place) = self.state.places[buf.0 as usize].as_deref() else { continue };
            let memory = place.view.memory;
            let kept =
                |cell: &i64| self.overlaid.operands.iter().any(|(m, cells)| *m == memory && cells.contains(cell));
            for cell in place.cells().filter(|cell| !kept(cell)) {
                self.machine.memories[memory].clear(cell..cell + 1);
            }
        }
    }

    /// Notes what is written over an operand; whether what is read is still there.
    pub(super) fn is_there(&mut self, buf: BufId, (view, cell): (View, i64), write: bool) -> Result<bool, String> {
        if self.overlaid.operands.is_empty() {
            return Ok(true);
        }
        let place = self.place(buf)?;
        let overlaid = &mut self.overlaid;
        if write {
            let under = |at: i64| overlaid.operands.iter().any(|(m, cells)| *m == view.memory && cells.contains(&at));
            let lost: Vec<i64> = (cell..cell + view.unit).filter(|at| under(*at)).collect();
            overlaid.lost.extend(lost.into_iter().map(|at| (view.memory, at)));
        }
        let lost = |at: i64| overlaid.lost.contains(&(view.memory, at));
        Ok(write || place.writable || !(cell..cell + view.unit).any(lost))
    }
}
