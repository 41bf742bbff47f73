//! Bytes of the workspace that are taken, and until when.

use std::collections::BTreeMap;

use super::Life;

/// Bytes that are taken, by the time for which they are: a segment tree over positions, so that a value is compared
/// with those that live when it does and with no others.
pub(super) struct Taken {
    /// Pieces that are taken for all of a node's positions.
    over: Vec<Vec<(i64, i64)>>,
    /// Pieces by the position from which on they are taken.
    from: BTreeMap<usize, Vec<(i64, i64)>>,
    leaves: usize,
    /// The end of the last piece.
    pub(super) end: i64,
}

impl Taken {
    /// For lives that end at `last` at the latest.
    pub(super) fn new(last: usize) -> Self {
        let leaves = (last + 1).next_power_of_two();
        Taken { over: vec![Vec::new(); 2 * leaves], from: BTreeMap::new(), leaves, end: 0 }
    }

    /// Takes bytes for a life.
    pub(super) fn insert(&mut self, life: &Life, offset: i64, size: i64) {
        let (mut low, mut high) = (life.first + self.leaves, life.last + self.leaves + 1);
        while low < high {
            if low % 2 == 1 {
                self.over[low].push((offset, size));
                low += 1;
            }
            if high % 2 == 1 {
                high -= 1;
                self.over[high].push((offset, size));
            }
            (low, high) = (low / 2, high / 2);
        }
        self.from.entry(life.first).or_default().push((offset, size));
        self.end = self.end.max(offset + size);
    }

    /// The pieces whose time meets a life's: those taken when it begins, and those that begin while it lasts.
    pub(super) fn meeting(&self, life: &Life) -> Vec<(i64, i64)> {
        let mut met = Vec::new();
        let mut node = life.first + self.leaves;
        while node > 0 {
            met.extend_from_slice(&self.over[node]);
            node /= 2;
        }
        met.extend(self.from.range(life.first + 1..life.last + 1).flat_map(|(_, all)| all));
        met
    }
}

/// The lowest offset that lies inside of none of those ranges; their ends are free.
pub(super) fn lowest_free(mut closed: Vec<(i64, i64)>) -> i64 {
    closed.sort_unstable();
    let mut offset = 0;
    for (begin, end) in closed {
        if offset <= begin {
            break;
        }
        offset = offset.max(end);
    }
    offset
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenfold_ir::DType;
    use tenfold_ir::relax::{TensorType, ValueId};

    /// The pieces that meet a life are those that a walk over all of them finds.
    #[test]
    fn what_meets_a_life_is_found() {
        let ty = TensorType { dtype: DType::F32, shape: Vec::new() };
        let life = |first, last| Life { home: (ValueId(0), 0), ty: ty.clone(), first, last };
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) % below) as usize
        };
        let mut taken = Taken::new(40);
        let mut all = Vec::new();
        for n in 0..300 {
            let first = random(41);
            let life = life(first, first + random(41 - first as u64));
            let mut found = taken.meeting(&life);
            let mut meet: Vec<(i64, i64)> = all
                .iter()
                .filter(|(other, _): &&(Life, i64)| other.first <= life.last && life.first <= other.last)
                .map(|(_, offset)| (*offset, 1))
                .collect();
            found.sort_unstable();
            meet.sort_unstable();
            assert_eq!(found, meet);
            taken.insert(&life, n, 1);
            all.push((life, n));
        }
    }
}
