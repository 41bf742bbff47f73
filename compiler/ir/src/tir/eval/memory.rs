//! Where elements live.

use crate::eval::{Bounded, Sum};
use crate::{ConstBytes, ConstData, DType, Scalar};

/// An element, and the reduction that made it, if one did.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Cell {
    pub value: Bounded,
    pub sum: Option<Sum>,
}

/// A run of cells: one per element, or, of a workspace, one per byte, an element standing at its first byte.
pub(super) struct Memory {
    cells: Vec<Option<Bounded>>,
    /// The reductions that made what stands there, once there are any: they take three times the room of a value.
    sums: Vec<Option<Sum>>,
    bytes: bool,
}

/// A part of a memory, from `base` on; `unit` cells per element.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct View {
    pub memory: usize,
    pub base: i64,
    pub unit: i64,
}

impl Memory {
    pub(super) fn of(values: Vec<Option<Bounded>>) -> Self {
        Memory { cells: values, sums: Vec::new(), bytes: false }
    }

    pub(super) fn workspace(bytes: usize) -> Self {
        Memory { cells: vec![None; bytes], sums: Vec::new(), bytes: true }
    }

    pub(super) fn constant(data: &ConstData) -> Result<Self, String> {
        let bytes = match &data.bytes {
            ConstBytes::Inline(bytes) => bytes.to_vec(),
            ConstBytes::File { path, offset, len } => {
                let fail = |e: &dyn std::fmt::Display| format!("constant `{}`: {}: {e}", data.name, path.display());
                let all = std::fs::read(path).map_err(|e| fail(&e))?;
                let part = all.get(*offset as usize..(*offset + *len) as usize);
                part.ok_or_else(|| fail(&"the file is too short"))?.to_vec()
            }
        };
        let elements = bytes.chunks_exact(data.dtype.size_bytes());
        Ok(Memory::of(elements.map(|b| Some(Bounded::exact(Scalar::from_le_bytes(data.dtype, b)))).collect()))
    }

    pub(super) fn values(&self) -> Vec<Option<Bounded>> {
        self.cells.clone()
    }

    /// How many cells there are.
    pub(super) fn len(&self) -> i64 {
        self.cells.len() as i64
    }

    pub(super) fn is_bytes(&self) -> bool {
        self.bytes
    }

    /// The element of `dtype` at a cell that lies inside.
    pub(super) fn get(&self, at: i64, dtype: DType) -> Option<Bounded> {
        let found = self.cells.get(at as usize).copied().flatten()?;
        (found.value.dtype == dtype).then_some(found)
    }

    /// The reduction that made the element which stands there.
    pub(super) fn sum(&self, at: i64) -> Option<Sum> {
        self.sums.get(at as usize).copied().flatten()
    }

    /// Writes an element; of a workspace, what overlaps it is lost.
    pub(super) fn set(&mut self, at: i64, cell: Cell) {
        let size = cell.value.value.dtype.size_bytes() as i64;
        // What stands there and is as large overlaps nothing else.
        let stands = self.cells.get(at as usize).copied().flatten().map(|old| old.value.dtype.size_bytes() as i64);
        if self.bytes && stands != Some(size) {
            for other in (at - 7).max(0)..(at + size).min(self.len()) {
                let overlaps = self.cells[other as usize]
                    .is_some_and(|c| other + c.value.dtype.size_bytes() as i64 > at || other >= at);
                if overlaps {
                    self.cells[other as usize] = None;
                }
            }
        }
        if cell.sum.is_some() && self.sums.is_empty() {
            self.sums = vec![None; self.cells.len()];
        }
        if let Some(place) = self.cells.get_mut(at as usize) {
            *place = Some(cell.value);
        }
        if let Some(place) = self.sums.get_mut(at as usize) {
            *place = cell.sum;
        }
    }

    /// Forgets cells.
    pub(super) fn clear(&mut self, cells: std::ops::Range<i64>) {
        for at in cells.start.max(0)..cells.end.min(self.len()) {
            self.cells[at as usize] = None;
        }
    }

    /// Nothing is known of these cells any more.
    pub(super) fn spoil(&mut self, cells: std::ops::Range<i64>) {
        for at in cells.start.max(0)..cells.end.min(self.len()) {
            if let Some(value) = &mut self.cells[at as usize] {
                *value = value.unknown();
            }
            if let Some(sum) = self.sums.get_mut(at as usize) {
                *sum = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(dtype: DType, value: i128) -> Cell {
        Cell { value: Bounded::exact(Scalar::int(dtype, value)), sum: None }
    }

    #[test]
    fn what_overlaps_in_a_workspace_is_lost() {
        let mut memory = Memory::workspace(16);
        memory.set(0, cell(DType::I32, 1));
        memory.set(4, cell(DType::I32, 2));
        memory.set(8, cell(DType::I64, 3));
        memory.set(6, cell(DType::I16, 4));
        assert!(memory.get(0, DType::I32).is_some() && memory.get(8, DType::I64).is_some());
        assert!(memory.get(4, DType::I32).is_none() && memory.get(6, DType::I16).is_some());
        assert!(memory.get(0, DType::F32).is_none());
    }
}
