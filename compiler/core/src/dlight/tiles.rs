//! How large a tile of the result is kept in registers.
//!
//! A tile of `rows` times `vectors` accumulators takes, per step of the sum, a load per vector of the one operand, a
//! broadcast per row of the other, and a fused multiplication per accumulator. Accumulators, the vectors and one
//! broadcast must fit into the registers; there must be enough of them to hide the latency.

use super::machine::Machine;

/// A tile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tile {
    /// Rows, each with its own broadcast.
    pub rows: i64,
    /// Lines that these are in, each of which has equally many of them.
    pub lines: i64,
    /// Vectors per row.
    pub vectors: i64,
    /// Elements of a vector.
    pub lanes: i64,
}

impl Tile {
    /// Elements along the vectors.
    pub(super) fn width(&self) -> i64 {
        self.vectors * self.lanes
    }

    /// Whether it has as many sums as are begun before the first of them can be added to.
    pub(super) fn hides_latency(&self, machine: &Machine) -> bool {
        self.rows * self.vectors >= machine.latency * machine.fmas
    }

    /// Cycles of one step of the sum, in so small parts that they are whole numbers.
    fn cycles(&self, far: bool, machine: &Machine) -> i64 {
        let work = self.rows * self.vectors * machine.loads;
        let loads = (self.vectors + self.rows) * machine.fmas;
        // The first accumulator of a step needs what the step before has added to it.
        let busy = work.max(loads).max(machine.latency * machine.fmas * machine.loads);
        // What comes from further away comes while the step before is busy, but not all of it in time.
        let parts = PARTS * machine.fmas * machine.loads;
        let waits =
            if far { self.vectors * machine.vector_bytes * parts / machine.far_bytes / machine.waits } else { 0 };
        // Loads take power from multiplications even where there is room for them.
        busy * PARTS + loads * machine.load_parts + waits
    }
}

/// Parts of a cycle that are counted.
pub(super) const PARTS: i64 = 16;

/// A result that is to be cut into tiles.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extents {
    /// Its rows, if they are a number.
    pub rows: Option<i64>,
    /// Lines of so many rows each, where a tile may have several whole ones.
    pub lines: Option<i64>,
    /// Its columns, if they are a number.
    pub columns: Option<i64>,
    /// Elements of a vector.
    pub lanes: i64,
    /// The most rows that a tile may have.
    pub most: i64,
    /// The most columns for which all that a tile reads along them stays in the first cache.
    pub near: i64,
}

/// A part of an axis: its extent, and the tile's extent along it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Span {
    /// Elements; unknown ones are what is left of a symbolic extent.
    pub extent: i64,
    /// How many of them a tile has.
    pub tile: i64,
}

/// Rows in parts of equal tiles: `ceil(extent / most)` tiles, as even as can be.
pub(super) fn balanced(extent: i64, most: i64) -> Vec<Span> {
    let count = (extent + most - 1) / most.max(1);
    if count <= 0 {
        return Vec::new();
    }
    let (small, large) = (extent / count, extent % count);
    let part = |tiles: i64, tile: i64| Span { extent: tiles * tile, tile };
    let all = [part(large, small + 1), part(count - large, small)];
    all.into_iter().filter(|s| s.extent > 0).collect()
}

/// Rows of a tile that comes first: what has one tile of its height, if there is such, so that the others are alike.
pub(super) fn alone(extent: i64, most: i64) -> i64 {
    let spans = balanced(extent, most);
    let single = spans.iter().find(|span| span.extent == span.tile);
    single.or(spans.first()).map_or(extent, |span| span.tile)
}

/// Columns in whole tiles, then whole vectors, then what is left of a vector.
pub(super) fn columns(extent: i64, tile: &Tile) -> Vec<Tile> {
    let whole = extent / tile.width();
    let rest = extent % tile.width();
    let (vectors, lanes) = (rest / tile.lanes, rest % tile.lanes);
    let mut all = Vec::new();
    if whole > 0 {
        all.push(*tile);
    }
    if vectors > 0 {
        all.push(Tile { vectors, ..*tile });
    }
    if lanes > 0 {
        all.push(Tile { vectors: 1, lanes, ..*tile });
    }
    all
}

/// The most rows that tiles of so many vectors may have, beside the vectors of one operand and two elements of the other:
/// with room for one alone, 4 by 3 of 16 registers, accumulators come to lie in memory when several terms are written out.
pub(super) fn most_rows(vectors: i64, machine: &Machine) -> i64 {
    ((machine.registers - 2 - vectors) / vectors).max(1)
}

/// The most rows whose elements, so many bytes apart, stay in the first cache together: rows at a distance that many
/// cache lines share fall on few sets.
pub(super) fn rows_in_cache(bytes_apart: i64, machine: &Machine) -> i64 {
    let sets_apart = greatest_common_divisor(bytes_apart.max(1), machine.way_bytes);
    // One way of each set is for what else is read.
    machine.way_bytes / sets_apart * (machine.ways - 1)
}

fn greatest_common_divisor(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// The vectors per tile that cost the least, and what they cost per step of the sum. Extents that are not known count
/// as large. An operand may lie in panels of so many columns for a machine with wider vectors: each vector lies in one
/// of them, but of tiles that cost the same those are taken that do so as a whole.
pub(super) fn best(of: &Extents, panel: Option<i64>, machine: &Machine) -> (i64, i64) {
    // No more vectors than a row has, and room for as many accumulators as vectors.
    let whole = (of.columns.unwrap_or(LARGE) + of.lanes - 1) / of.lanes;
    let widest = ((machine.registers - 2) / 2).min(whole).max(1);
    let apart = |vectors: i64| panel.is_some_and(|width| width % (vectors * of.lanes) != 0);
    let costs = |vectors: i64| (cost(of, vectors, machine), apart(vectors), loads(vectors, machine), vectors);
    (1..=widest).map(costs).min().map_or((1, 0), |(cost, _, _, vectors)| (vectors, cost))
}

/// Extents that are not known.
const LARGE: i64 = 1 << 10;

/// What tiles of so many vectors cost per step of the sum, of all lines if there are some.
pub(super) fn cost(of: &Extents, vectors: i64, machine: &Machine) -> i64 {
    let (rows, columns) = (of.rows.unwrap_or(LARGE), of.columns.unwrap_or(LARGE));
    let (lines, at_once) = (of.lines.unwrap_or(1), lines_at_once(of, vectors, machine));
    let spans = match at_once {
        1 => balanced(rows, most_rows(vectors, machine).min(of.most)),
        _ => balanced(lines, at_once),
    };
    let (turns, each) = if at_once == 1 { (lines, 1) } else { (1, rows) };
    let tile = Tile { rows: 1, lines: 1, vectors, lanes: of.lanes };
    let all = self::columns(columns, &tile).into_iter().map(|part| {
        let tiles = if part == tile { columns / tile.width() } else { 1 };
        let far = part.width() > of.near;
        let one = |s: &Span| s.extent / s.tile * Tile { rows: s.tile * each, ..part }.cycles(far, machine);
        tiles * spans.iter().map(one).sum::<i64>()
    });
    turns * all.sum::<i64>().max(stream(columns, &tile, of.near, machine))
}

/// How many whole lines a tile of so many vectors has room for; one where it has none for two.
pub(super) fn lines_at_once(of: &Extents, vectors: i64, machine: &Machine) -> i64 {
    let most = most_rows(vectors, machine).min(of.most);
    match (of.lines, of.rows) {
        (Some(lines), Some(rows)) if rows > 1 => (most / rows).clamp(1, lines.max(1)),
        _ => 1,
    }
}

/// What it costs per step of the sum that all which tiles read along the columns comes once, whole panels of it, where
/// the first cache does not hold it: with few rows there is nothing else to wait for, and panels that columns fill are
/// the best.
fn stream(columns: i64, tile: &Tile, near: i64, machine: &Machine) -> i64 {
    let vectors = (columns + tile.width() - 1) / tile.width() * tile.vectors;
    let parts = PARTS * machine.fmas * machine.loads;
    if columns > near { vectors * machine.vector_bytes * parts / machine.far_bytes } else { 0 }
}

/// Loads for as many multiplications as the largest tile of the register count has.
fn loads(vectors: i64, machine: &Machine) -> i64 {
    let rows = most_rows(vectors, machine);
    (vectors + rows) * machine.registers * machine.registers / (rows * vectors)
}

#[cfg(test)]
mod tests {
    use super::super::machine::{Dots, Matrices};
    use super::*;

    const AVX512: Machine = Machine {
        vector_bytes: 64,
        registers: 32,
        fmas: 2,
        latency: 4,
        loads: 2,
        way_bytes: 4096,
        ways: 8,
        far_bytes: 32,
        waits: 4,
        far_cycles: 400,
        second_bytes: 1 << 20,
        pages: 64,
        dots: Dots::NONE,
        matrices: Matrices { bytes: false, bf16: false },
        load_parts: 2,
        written_out: 2,
        small: false,
        helium: false,
        max_is_several: true,
        tables: true,
        adds_beside: false,
        reads_lines: false,
        past_caches: None,
    };

    #[test]
    fn tiles_fit_into_the_registers() {
        for vectors in 1..=15 {
            let rows = most_rows(vectors, &AVX512);
            assert!(rows * vectors + vectors < 32 || rows == 1, "{rows} x {vectors}");
        }
    }

    #[test]
    fn rows_are_even() {
        assert_eq!(balanced(64, 14), [Span { extent: 52, tile: 13 }, Span { extent: 12, tile: 12 }]);
        assert_eq!(balanced(7, 14), [Span { extent: 7, tile: 7 }]);
        assert_eq!(balanced(0, 14), []);
    }

    #[test]
    fn a_square_product_takes_few_loads() {
        let of = |rows, near| Extents { rows: Some(rows), lines: None, columns: Some(512), lanes: 16, most: 64, near };
        let (vectors, _) = best(&of(512, 512), None, &AVX512);
        assert!((2..=6).contains(&vectors), "{vectors}");
        // One row: as many accumulators as hide the latency.
        let (vectors, _) = best(&of(1, 512), None, &AVX512);
        assert!(vectors >= 8, "{vectors}");
        // What comes from the second cache is read by as many rows as there can be.
        let (vectors, _) = best(&of(14, 0), None, &AVX512);
        assert_eq!(vectors, 2);
    }

    #[test]
    fn panels_that_come_once_are_filled() {
        // Whole panels come from beyond the first cache: of 160 columns, no vector of the last one is for nothing.
        let of = |near| Extents { rows: Some(1), lines: None, columns: Some(160), lanes: 16, most: 64, near };
        let (vectors, _) = best(&of(0), None, &AVX512);
        assert_eq!(10 % vectors, 0, "{vectors}");
    }

    #[test]
    fn panels_of_a_wider_machine_bind_none() {
        let narrow = Machine { vector_bytes: 32, registers: 16, load_parts: 4, ..AVX512 };
        let of = |lanes| Extents { rows: Some(512), lines: None, columns: Some(512), lanes, most: 64, near: 512 };
        // The machine that panels were laid out for finds them as wide as it wants them.
        let (vectors, least) = best(&of(16), None, &AVX512);
        assert_eq!(best(&of(16), Some(vectors * 16), &AVX512), (vectors, least));
        // One with narrower vectors pays no more than for its own, and keeps to a panel where that is as cheap.
        let (own, least) = best(&of(8), None, &narrow);
        for width in [16, 32, 48, 64, 96, 192] {
            let (vectors, paid) = best(&of(8), Some(width), &narrow);
            assert_eq!(paid, least, "{width}");
            let fits = |v: i64| width % (v * 8) == 0 && cost(&of(8), v, &narrow) == least;
            assert_eq!(width % (vectors * 8) == 0, (1..=7).any(fits), "{width}: {vectors}, {own}");
        }
    }
}
