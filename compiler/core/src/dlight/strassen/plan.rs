//! How large the tiles of the products are, and whether sums of halves pay.

use tenfold_ir::tir::{Builder, ExprId};

use super::found::Product;
use crate::dlight::emit::{plus, times};
use crate::dlight::machine::Machine;
use crate::dlight::tiles::{most_rows, rows_in_cache};

/// The most terms of a half, which one accumulator takes.
const TERMS: i64 = 192;

/// Vectors of a tile up to which it has rows enough.
const VECTORS: i64 = 3;

/// Sums of each operand.
pub(super) const SUMS: i64 = 4;

/// Quarters of the data that are multiplied as they are.
pub(super) const QUARTERS: [[i64; 2]; 3] = [[0, 0], [0, 1], [1, 1]];

/// Rows that are enough to make sums of weights for.
const ENOUGH: i64 = 64;

/// The most shares of panels, each of which has memory of its own and may run on a thread.
const SHARES: i64 = 8;

/// The sizes of a product.
pub(super) struct Plan {
    /// Elements of a vector.
    pub lanes: i64,
    /// Vectors of a tile.
    pub vectors: i64,
    /// The most lines of a tile, and the most rows of these.
    pub tile: [i64; 2],
    /// Lines and rows of a half.
    pub half: [i64; 2],
    /// Lines and rows of a group, for which sums of the data are made, then used.
    pub group: [i64; 2],
    /// Whether sums of all weights are made, once for all groups, and not those of a share's pair again and again.
    pub kept: bool,
    /// Terms of a half of a block.
    pub terms: i64,
    /// Blocks of terms.
    pub blocks: i64,
    /// Columns of a half.
    pub columns: i64,
    /// Elements from one row to the next in sums of the data.
    pub stride: i64,
    /// Whether quarters of the data are copied to their sums: where they are, rows of a tile share cache sets.
    pub copied: bool,
    /// Shares of the pairs of panels.
    pub shares: i64,
}

impl Plan {
    /// The sizes for a machine; nothing where sums cost more than they save.
    pub(super) fn of(found: &Product, machine: &Machine) -> Option<Plan> {
        let bytes = found.dtype.size_bytes() as i64;
        let lanes = machine.vector_bytes / bytes;
        let cut = found.line.unwrap_or(found.row).extent;
        if machine.small || lanes < 2 || found.panel % lanes != 0 || cut % 2 != 0 || found.column.extent % 2 != 0 {
            return None;
        }
        let half = found.line.map_or([1, cut / 2], |_| [cut / 2, found.row.extent]);
        let columns = found.column.extent / 2;
        let panel = found.panel / lanes;
        let vectors = (1..=VECTORS).rev().find(|n| panel % n == 0)?;
        let (blocks, terms) = blocks(found.term.extent)?;
        if columns % (vectors * lanes) != 0 {
            return None;
        }
        let pairs = columns / (vectors * lanes);
        let registers = machine.beside_constants(found.functions);
        let most = most_rows(vectors, &Machine { registers, ..*machine });
        let tile = [(most / half[1]).clamp(1, half[0]), most.min(half[1])];
        let fit = SUMS * blocks * terms * columns * bytes <= machine.second_bytes / 2;
        // Data and its sums, of a block.
        let of_row = 2 * SUMS * terms * bytes;
        let least = if fit { tile[0] * tile[1] } else { ENOUGH };
        let group = group(half, found.line.is_some(), least, machine.second_bytes / 2 / of_row);
        let plan = Plan {
            lanes,
            vectors,
            tile,
            half,
            group,
            kept: fit && group != half,
            terms,
            blocks,
            columns,
            copied: found.apart.is_none_or(|n| rows_in_cache(n * bytes, machine) < most),
            stride: terms + if rows_in_cache(terms * bytes, machine) < most { lanes } else { 0 },
            shares: (1..=SHARES).rev().find(|n| pairs % n == 0).unwrap_or(1),
        };
        plan.pays(machine).then_some(plan)
    }

    /// Columns of a tile.
    pub(super) fn width(&self) -> i64 {
        self.vectors * self.lanes
    }

    /// What is made of the data.
    pub(super) fn of_data(&self) -> i64 {
        SUMS + if self.copied { QUARTERS.len() as i64 } else { 0 }
    }

    /// A term of a half of a block.
    pub(super) fn term(&self, b: &mut Builder, half: i64, block: ExprId, term: ExprId) -> ExprId {
        let terms = self.terms;
        let (before, half) = (times(b, block, 2 * terms), b.index(half * terms));
        let first = plus(b, before, half);
        plus(b, first, term)
    }

    /// Pairs of panels.
    pub(super) fn pairs(&self) -> i64 {
        self.columns / self.width()
    }

    /// Parts of the groups, each of which has memory of its own and may run on a thread.
    pub(super) fn parts(&self) -> i64 {
        let fit = |n: &i64| self.groups() % n == 0;
        // An even number gives two threads even shares; two parts alone would be too few for more of them.
        let even = (4..=SHARES).rev().find(|n| n % 2 == 0 && fit(n));
        even.or_else(|| (1..=SHARES).rev().find(fit)).unwrap_or(1)
    }

    /// How many groups.
    pub(super) fn groups(&self) -> i64 {
        self.half[0] / self.group[0] * (self.half[1] / self.group[1])
    }

    /// Whether an eighth of the products takes clearly longer than sums and what they move.
    fn pays(&self, machine: &Machine) -> bool {
        /// Of the time that is saved, one part in so many may go for sums.
        const OF: i64 = 2;
        let [lines, rows] = self.half;
        let (rows, terms, columns) = (lines * rows, self.terms * self.blocks, self.columns);
        let saved = rows * terms * columns / self.lanes / machine.fmas;
        // Loads, sums and stores of vectors, of which one is stored a cycle: four of the weights, four of the data; what
        // products leave for one another, and results.
        let results = 8 * rows * columns * self.blocks;
        let copies = self.of_data() - SUMS;
        let sums = (4 * terms * columns + (6 + copies) * rows * terms + results) / self.lanes;
        let hides_latency = self.tile[0] * self.tile[1] * self.vectors >= machine.latency * machine.fmas;
        hides_latency && OF * sums < saved
    }
}

/// The fewest blocks of terms whose halves one accumulator takes, and the terms of such a half.
fn blocks(terms: i64) -> Option<(i64, i64)> {
    let (half, odd) = (terms / 2, terms % 2);
    let fewest = (half + TERMS - 1) / TERMS;
    // More, where as many are not equally long.
    let blocks = (fewest..=2 * fewest).find(|n| *n > 0 && half % n == 0)?;
    (odd == 0).then_some((blocks, half / blocks))
}

/// Lines and rows of a group: all of a half, or an even number of equal parts of its lines, or rows where these are in
/// none, of which so many stay in the second cache.
fn group([lines, rows]: [i64; 2], in_lines: bool, least: i64, most: i64) -> [i64; 2] {
    let (cut, each) = if in_lines { (lines, rows) } else { (rows, 1) };
    let parts = (1..=cut).filter(|n| cut % n == 0 && (*n == 1 || n % 2 == 0));
    let part = parts.map(|n| cut / n).take_while(|part| part * each >= least);
    let part = part.filter(|part| part * each <= most).max().unwrap_or(cut);
    if in_lines { [part, rows] } else { [1, part] }
}
