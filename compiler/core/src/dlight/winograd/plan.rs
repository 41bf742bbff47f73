//! How large the tiles of the products are, and whether transforms pay.

use super::found::{Convolution, TAPS};
use crate::dlight::machine::Machine;
use crate::dlight::tiles::{Extents, cost, lines_at_once, most_rows, rows_in_cache};

/// Results of a square along each side.
pub(super) const RESULTS: i64 = 2;
/// Elements of the data that a square reads along each side, and so the side of what is transformed.
pub(super) const SIDE: i64 = RESULTS + TAPS - 1;
/// Products of matrices.
pub(super) const PRODUCTS: i64 = SIDE * SIDE;

/// Bytes of the workspace that sums of the data may take: four times what an image has.
const WORKSPACE: i64 = 16 << 20;

/// Bytes that the products of a tile may take on the stack.
const STACK: i64 = 48 << 10;

/// The sizes of a convolution.
pub(super) struct Plan {
    /// Elements of a vector.
    pub lanes: i64,
    /// Vectors of channels of a tile.
    pub vectors: i64,
    /// The most lines of squares of a tile, of whole ones if there are several.
    pub lines: i64,
    /// The most squares of a line in a tile.
    pub rows: i64,
    /// Squares of an image: lines, and squares of a line.
    pub squares: [i64; 2],
    /// Channels of the data.
    pub terms: i64,
    /// Elements from one square to the next in transformed data.
    pub stride: i64,
    /// Whether the second cache holds all transformed weights beside what else is read.
    pub near: bool,
}

impl Plan {
    /// The sizes for a machine; nothing where transforms cost more than they save.
    pub(super) fn of(found: &Convolution, machine: &Machine) -> Option<Plan> {
        let bytes = found.dtype.size_bytes() as i64;
        let lanes = machine.vector_bytes / bytes;
        let squares = found.slides.map(|s| (s.results.extent + RESULTS - 1) / RESULTS);
        let terms: i64 = found.terms.iter().map(|t| t.extent).product();
        if machine.small || lanes < 2 {
            return None;
        }
        let of = Extents {
            rows: Some(squares[1]),
            lines: Some(squares[0]),
            columns: Some(found.channel.extent),
            lanes,
            most: i64::MAX,
            near: machine.way_bytes * machine.ways / 2 / (terms * bytes),
        };
        // All sums of a panel's weights are there at once.
        let held = machine.second_bytes / 2 / (PRODUCTS * terms * lanes * bytes);
        let whole = (found.channel.extent + lanes - 1) / lanes;
        let widest = ((machine.registers - 2) / 2).min(whole).min(held).max(1);
        let vectors = (1..=widest).min_by_key(|n| (cost(&of, *n, machine), *n)).unwrap_or(1);
        let most = most_rows(vectors, machine).min(STACK / (PRODUCTS * vectors * lanes * bytes)).max(1);
        let of = Extents { most, ..of };
        let lines = lines_at_once(&of, vectors, machine);
        let rows = if lines > 1 { squares[1] } else { most.min(squares[1]) };
        // Rows so far apart that they share sets of the first cache are moved.
        let apart = rows_in_cache(terms * bytes, machine) < lines * rows;
        let stride = terms + if apart { lanes } else { 0 };
        let near = PRODUCTS * terms * found.channel.extent * bytes <= machine.second_bytes / 2;
        let plan = Plan { lanes, vectors, lines, rows, squares, terms, stride, near };
        let fits = plan.squares(found) * PRODUCTS * plan.stride * bytes <= WORKSPACE;
        (fits && plan.pays(found, machine)).then_some(plan)
    }

    /// Channels of a tile.
    pub(super) fn width(&self) -> i64 {
        self.vectors * self.lanes
    }

    /// Squares of all images.
    fn squares(&self, found: &Convolution) -> i64 {
        found.outer.iter().map(|a| a.extent).product::<i64>() * self.squares[0] * self.squares[1]
    }

    /// Whether transforms and products of sums take clearly less than the products of windows.
    fn pays(&self, found: &Convolution, machine: &Machine) -> bool {
        /// Loads, sums and stores of a vector of squares, two of which begin per cycle: of data, of weights, of results.
        const DATA: i64 = 32;
        const WEIGHTS: i64 = 27;
        const SUMS: i64 = 30;
        /// Bytes of weights per cycle, for which nothing is computed meanwhile.
        const STREAM: i64 = 12;
        let images: i64 = found.outer.iter().map(|a| a.extent).product();
        let squares = self.squares(found);
        let results: i64 = images * found.slides.iter().map(|s| s.results.extent).product::<i64>();
        let channels = (found.channel.extent + self.lanes - 1) / self.lanes;
        let terms = (self.terms + self.lanes - 1) / self.lanes;
        let plain = results * TAPS * TAPS * self.terms * channels / machine.fmas;
        let products = squares * PRODUCTS * self.terms * channels / machine.fmas;
        let transforms = squares * terms * DATA + self.terms * channels * WEIGHTS + squares * channels * SUMS;
        let weights = TAPS * TAPS * self.terms * found.channel.extent * found.dtype.size_bytes() as i64 / STREAM;
        (products + transforms + weights) * 5 < plain * 4
    }
}

#[cfg(test)]
mod tests {
    use tenfold_ir::Module;
    use tenfold_ir::tir::parse;

    use super::*;
    use crate::Target;
    use crate::dlight::winograd::found::convolution;
    use crate::fuse::stage::Staged;

    /// A convolution of so many images with so many lines of 128 results, of 64 channels each.
    fn kernel(images: i64, lines: i64) -> String {
        let spatial = [("n", images), ("i", lines), ("j", 128), ("o", 64)].map(|(name, n)| ("spatial", name, n));
        let axes = [&spatial[..], &[("reduce", "p", 3), ("reduce", "q", 3), ("reduce", "r", 64)]].concat();
        let [x, y] = [format!("f32[{images}, {}, 130, 64]", lines + 2), format!("f32[{images}, {lines}, 128, 64]")];
        let mut text = format!("prim @f(in x: {x}, in w: f32[3, 3, 64, 64], out y: {y}) phase blocks at 0:0 {{\n");
        for (kind, name, n) in &axes {
            let kind = if *kind == "spatial" { "serial" } else { "reduction" };
            text += &format!("for {name}_l in 0 +: {n} {kind} {{\n");
        }
        text += "block conv {\n";
        text.extend(axes.iter().map(|(kind, name, n)| format!("{kind} {name} in {n} = {name}_l\n")));
        text += "init {\ny[n, i, j, o] = 0.0f32\n}\ndo {\n";
        text += "y[n, i, j, o] = add(y[n, i, j, o], mul(x[n, add(i, p), add(j, q), r], w[p, q, r, o]))\n}\n}\n";
        text + &"}\n".repeat(axes.len() + 1)
    }

    /// Bytes of the sums of its data, if transforms are taken.
    fn workspace(images: i64, lines: i64) -> Option<i64> {
        let func = parse(&Module::default(), &kernel(images, lines)).expect("it reads").remove(0);
        let found = convolution(&mut Staged::of(&func).expect("it has stages")).expect("it is a convolution");
        let machine = Machine::of(&Target::from_triple("x86_64-unknown-linux-gnu", &["avx2", "avx", "fma"]));
        let plan = Plan::of(&found, &machine.expect("it has vectors"))?;
        Some(plan.squares(&found) * PRODUCTS * plan.stride * found.dtype.size_bytes() as i64)
    }

    #[test]
    fn sums_of_the_data_take_16_mb_at_most() {
        let per_square = workspace(1, 2).expect("it is small") / 64;
        // Two lines of results are one of squares, of which a line has 64.
        let most = (16 << 20) / (64 * per_square);
        assert_eq!(workspace(1, 2 * most), Some(most * 64 * per_square));
        assert_eq!(workspace(1, 2 * most + 1), None);
        // Images count together.
        assert_eq!(workspace(2, most / 2 * 2), Some(most / 2 * 2 * 64 * per_square));
        assert_eq!(workspace(2, most / 2 * 2 + 2), None);
    }
}
