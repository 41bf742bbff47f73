//! How large the tiles of the products are, and whether sums of halves pay.

use super::found::Product;
use crate::dlight::machine::Machine;
use crate::dlight::tiles::{most_rows, rows_in_cache};

/// The most terms of a half, which one accumulator takes.
const TERMS: i64 = 192;

/// Vectors of a panel up to which a tile has rows enough.
const VECTORS: i64 = 3;

/// The most shares of panels, each of which has memory of its own and may run on a thread.
const SHARES: i64 = 8;

/// The sizes of a product.
pub(super) struct Plan {
    /// Elements of a vector.
    pub lanes: i64,
    /// Vectors of a panel.
    pub vectors: i64,
    /// The most rows of a tile.
    pub rows: i64,
    /// Rows, terms and columns of a half.
    pub halves: [i64; 3],
    /// Elements from one row to the next in sums of the data.
    pub stride: i64,
    /// Shares of the pairs of panels.
    pub shares: i64,
}

impl Plan {
    /// The sizes for a machine; nothing where sums cost more than they save.
    pub(super) fn of(found: &Product, machine: &Machine) -> Option<Plan> {
        let bytes = found.dtype.size_bytes() as i64;
        let lanes = machine.vector_bytes / bytes;
        let extents = [found.row, found.term, found.column].map(|axis| axis.extent);
        let halves = extents.map(|n| n / 2);
        if machine.small || lanes < 2 || found.panel % lanes != 0 || extents.iter().any(|n| n % 2 != 0) {
            return None;
        }
        let [rows, terms, columns] = halves;
        let vectors = found.panel / lanes;
        if vectors > VECTORS || columns % found.panel != 0 || terms > TERMS {
            return None;
        }
        let pairs = columns / found.panel;
        let registers = machine.beside_constants(found.functions);
        let most = most_rows(vectors, &Machine { registers, ..*machine });
        let plan = Plan {
            lanes,
            vectors,
            rows: most.min(rows),
            halves,
            stride: terms + if rows_in_cache(terms * bytes, machine) < most { lanes } else { 0 },
            shares: (1..=SHARES).rev().find(|n| pairs % n == 0).unwrap_or(1),
        };
        plan.pays(machine).then_some(plan)
    }

    /// Columns of a tile.
    pub(super) fn width(&self) -> i64 {
        self.vectors * self.lanes
    }

    /// Whether an eighth of the products takes clearly longer than sums and what they move.
    fn pays(&self, machine: &Machine) -> bool {
        /// Of the time that is saved, one part in so many may go for sums.
        const OF: i64 = 3;
        let [rows, terms, columns] = self.halves;
        let saved = rows * terms * columns / self.lanes / machine.fmas;
        // Loads, sums and stores of vectors, of which one is stored a cycle: four of the weights, four of the data; what
        // products leave for one another, and results.
        let sums = 4 * terms * columns / self.lanes + 6 * rows * terms / self.lanes + 8 * rows * columns / self.lanes;
        let hides_latency = self.rows * self.vectors >= machine.latency * machine.fmas;
        hides_latency && OF * sums < saved
    }
}
