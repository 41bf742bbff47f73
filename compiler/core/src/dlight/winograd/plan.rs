//! How large the tiles of the products are, and whether transforms pay.

use super::found::{Convolution, TAPS};
use super::transforms::Size;
use crate::dlight::machine::Machine;
use crate::dlight::tiles::{Extents, cost, lines_at_once, most_rows, rows_in_cache};

/// Bytes of the workspace that sums of the data may take: four times what an image has.
const WORKSPACE: i64 = 16 << 20;

/// Bytes of the sums of all weights, which bands read one after another.
const WEIGHTS: i64 = 4 << 20;

/// Of so many second caches images are in bands.
const BANDS: i64 = 2;

/// Bytes that the products of a tile may take on the stack.
const STACK: i64 = 48 << 10;

/// The most shares of panels, each of which has memory of its own and may run on a thread.
const SHARES: i64 = 8;

/// Terms of a block that all sums of weights are there for at least.
const BLOCK: i64 = 64;

/// The sizes of a convolution.
pub(super) struct Plan {
    /// Of a square.
    pub size: Size,
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
    /// Those of them whose sums of weights are there at once.
    pub block: i64,
    /// Elements from one square to the next in transformed data.
    pub stride: i64,
    /// Squares from one product to the next there.
    pub plane: i64,
    /// Terms from one product to the next in transformed weights.
    pub block_plane: i64,
    /// Whether the second cache holds all transformed weights beside what else is read.
    pub near: bool,
    /// How lines of squares are in bands, if they are.
    pub bands: Option<Bands>,
}

/// Bands of lines of squares, each from its data to its results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bands {
    /// Lines of one.
    pub lines: i64,
    /// In how many shares they are, each of which has memory of its own and may run on a thread.
    pub shares: i64,
}

impl Plan {
    /// The sizes for a machine; nothing where transforms cost more than they save.
    pub(super) fn of(found: &Convolution, machine: &Machine) -> Option<Plan> {
        let plans = [Size::Two, Size::Four].into_iter().filter_map(|size| Plan::sized(found, machine, size));
        let (cycles, plan) = plans.map(|plan| (plan.cycles(found, machine), plan)).min_by_key(|(cycles, _)| *cycles)?;
        (cycles * 5 < plan.plain(found, machine) * 4).then_some(plan)
    }

    /// The sizes with squares of one size.
    fn sized(found: &Convolution, machine: &Machine, size: Size) -> Option<Plan> {
        let bytes = found.dtype.size_bytes() as i64;
        let (lanes, products) = (machine.vector_bytes / bytes, size.products());
        let squares = found.slides.map(|s| (s.results.extent + size.results() - 1) / size.results());
        let terms: i64 = found.terms.iter().map(|t| t.extent).product();
        if machine.small || lanes < 2 {
            return None;
        }
        // Squares so far apart that they share sets of the first cache are moved.
        let stride = terms + if rows_in_cache(terms * bytes, machine) < products { lanes } else { 0 };
        let (images, channels) = (found.images(), found.channel.extent);
        let of_line = products * squares[1] * stride * bytes;
        let of_weights = products * terms * channels * bytes;
        let bands = Bands::of([images, squares[0]], of_line, of_weights, machine);
        let lines = bands.map_or(squares[0], |bands| bands.lines);
        let of = Extents {
            rows: Some(squares[1]),
            lines: Some(lines),
            columns: Some(channels),
            lanes,
            most: i64::MAX,
            // Sums of weights come from the second cache, however wide a panel is.
            near: 0,
        };
        // Sums of a panel's weights are there at once, those of a block of terms if there are many.
        let held = |terms: i64| machine.second_bytes / 2 / (products * terms * lanes * bytes);
        let whole = (channels + lanes - 1) / lanes;
        let widest = ((machine.registers - 2) / 2).min(whole).min(held(terms.min(BLOCK))).max(1);
        let costs = |n: i64| cost(&of, n, machine) * (whole + 2 * on_two_threads(whole, n));
        let vectors = (1..=widest).min_by_key(|n| (costs(*n), *n)).unwrap_or(1);
        let near = bands.is_some() || of_weights <= machine.second_bytes / 2;
        // Sums of all squares stay beside a block.
        let sums = images * squares[0] * squares[1] * products * vectors * lanes * bytes;
        let whole = near || held(terms) >= vectors || sums > machine.second_bytes / 2;
        let block = if whole { terms } else { block(found, held(1) / vectors) };
        let most = if block < terms { i64::MAX } else { STACK / (products * vectors * lanes * bytes) };
        let most = most_rows(vectors, machine).min(most).max(1);
        let at_once = lines_at_once(&Extents { most, ..of }, vectors, machine);
        let rows = if at_once > 1 { squares[1] } else { most.min(squares[1]) };
        // The products of a square and of a window are written at once.
        let plane = spread(lines * squares[1], stride * bytes, products, machine);
        let block_plane = spread(block, vectors * lanes * bytes, products, machine);
        let plan = Plan {
            size,
            block,
            block_plane,
            lanes,
            vectors,
            lines: at_once,
            rows,
            squares,
            terms,
            stride,
            plane,
            near,
            bands,
        };
        (plan.of_data(found) * bytes <= WORKSPACE).then_some(plan)
    }

    /// Channels of a tile.
    pub(super) fn width(&self) -> i64 {
        self.vectors * self.lanes
    }

    /// Elements of transformed data.
    fn of_data(&self, found: &Convolution) -> i64 {
        let planes = self.bands.map_or(found.images(), |bands| bands.shares);
        planes * self.size.products() * self.plane * self.stride
    }

    /// Squares of all images.
    fn squares(&self, found: &Convolution) -> i64 {
        found.images() * self.squares[0] * self.squares[1]
    }

    /// Cycles of the plain sum.
    fn plain(&self, found: &Convolution, machine: &Machine) -> i64 {
        let results: i64 = found.images() * found.slides.iter().map(|s| s.results.extent).product::<i64>();
        let channels = (found.channel.extent + self.lanes - 1) / self.lanes;
        results * TAPS * TAPS * self.terms * channels / machine.fmas
    }

    /// Cycles of transforms and products.
    fn cycles(&self, found: &Convolution, machine: &Machine) -> i64 {
        /// Bytes of weights per cycle, for which nothing is computed meanwhile.
        const STREAM: i64 = 12;
        // Loads, sums and stores of a vector of squares, two of which begin per cycle: of data, of weights, of results.
        let [data, weights, sums] = match self.size {
            Size::Two => [32, 27, 30],
            Size::Four => [180, 100, 150],
        };
        let squares = self.squares(found);
        let channels = (found.channel.extent + self.lanes - 1) / self.lanes;
        let terms = (self.terms + self.lanes - 1) / self.lanes;
        let products = squares * self.size.products() * self.terms * channels / machine.fmas;
        let transforms = squares * terms * data + self.terms * channels * weights + squares * channels * sums;
        let stream = TAPS * TAPS * self.terms * found.channel.extent * found.dtype.size_bytes() as i64 / STREAM;
        products + transforms + stream
    }
}

/// In how many shares panels are.
pub(super) fn shares(panels: i64) -> i64 {
    (1..=SHARES).rev().find(|n| panels % n == 0).unwrap_or(1)
}

/// Of so many vectors of channels, in panels of so many, those that the thread takes which has more than another one. What is
/// left of a panel is a share of its own.
fn on_two_threads(all: i64, of_panel: i64) -> i64 {
    let (panels, rest) = (all / of_panel, all % of_panel);
    let shares = shares(panels);
    (shares + 1) / 2 * (panels / shares) * of_panel + rest
}

impl Bands {
    /// Those of images of so many lines, where sums of the data of all lines, each of which has so many bytes, are more than the
    /// second cache holds, and those of all weights are not.
    fn of([images, lines]: [i64; 2], of_line: i64, of_weights: i64, machine: &Machine) -> Option<Bands> {
        if images * lines * of_line <= BANDS * machine.second_bytes || of_weights > WEIGHTS {
            return None;
        }
        let most = (machine.second_bytes / 2 / of_line).max(1);
        let of_band = (1..lines).rev().find(|n| lines % n == 0 && *n <= most)?;
        Some(Bands { lines: of_band, shares: shares(lines / of_band) })
    }
}

/// Rows of so many bytes from one part to the next, of so many rows at least, so that the first cache holds an element of
/// each of so many parts.
fn spread(rows: i64, bytes: i64, parts: i64, machine: &Machine) -> i64 {
    /// More rows than this help no more.
    const MOST: i64 = 8;
    (rows..rows + MOST).find(|rows| rows_in_cache(rows * bytes, machine) >= parts).unwrap_or(rows)
}

/// The most terms of blocks that are alike, whole turns of the first of their axes.
fn block(found: &Convolution, most: i64) -> i64 {
    let turns = found.terms[0].extent;
    let fits = (1..=turns).rev().find(|n| turns % n == 0 && n * found.unit() <= most);
    fits.unwrap_or(1) * found.unit()
}

#[cfg(test)]
mod tests {
    use tenfold_ir::Module;
    use tenfold_ir::tir::parse;

    use super::*;
    use crate::Target;
    use crate::dlight::winograd::found::convolution;
    use crate::fuse::stage::Staged;

    /// A convolution of so many images with so many lines of so many results, from so many channels to as many.
    fn kernel(images: i64, [lines, results]: [i64; 2], channels: i64) -> String {
        let spatial = [("n", images), ("i", lines), ("j", results), ("o", channels)];
        let spatial = spatial.map(|(name, n)| ("spatial", name, n));
        let axes = [&spatial[..], &[("reduce", "p", 3), ("reduce", "q", 3), ("reduce", "r", channels)]].concat();
        let x = format!("f32[{images}, {}, {}, {channels}]", lines + 2, results + 2);
        let (y, w) =
            (format!("f32[{images}, {lines}, {results}, {channels}]"), format!("f32[3, 3, {channels}, {channels}]"));
        let mut text = format!("prim @f(in x: {x}, in w: {w}, out y: {y}) phase blocks at 0:0 {{\n");
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

    /// The plan for a processor with some features, and what it is for, if transforms are taken.
    fn plan(kernel: &str, features: &[&str]) -> Option<(Plan, Convolution)> {
        let func = parse(&Module::default(), kernel).expect("it reads").remove(0);
        let found = convolution(&mut Staged::of(&func).expect("it has stages")).expect("it is a convolution");
        let machine = Machine::of(&Target::from_triple("x86_64-unknown-linux-gnu", features));
        let plan = Plan::of(&found, &machine.expect("it has vectors"))?;
        Some((plan, found))
    }

    /// Bytes of the sums of the data of lines of 128 results, if transforms are taken, and their bands.
    fn workspace(images: i64, lines: i64, channels: i64) -> Option<(i64, Option<Bands>)> {
        let (plan, found) = plan(&kernel(images, [lines, 128], channels), &["avx2", "avx", "fma"])?;
        Some((plan.of_data(&found) * found.dtype.size_bytes() as i64, plan.bands))
    }

    #[test]
    fn few_squares_go_in_tiles_that_load_less_than_they_multiply() {
        let (plan, _) = plan(&kernel(1, [14, 14], 256), &["avx", "avx2", "avx512f", "fma"]).expect("transforms pay");
        let rows = plan.lines * plan.rows;
        assert!(plan.vectors + rows < plan.vectors * rows, "{rows} x {}", plan.vectors);
    }

    #[test]
    fn sums_of_the_data_take_16_mb_at_most() {
        const MOST: i64 = 16 << 20;
        // Whose weights are too many for bands.
        let all = |images| (4..=64).step_by(4).map(move |lines| workspace(images, lines, 320));
        let fits: Vec<i64> = all(1).map_while(|found| found.map(|(bytes, _)| bytes)).collect();
        assert!(fits.is_sorted() && fits.iter().all(|bytes| *bytes <= MOST), "{fits:?}");
        assert!(fits.last().is_some_and(|bytes| bytes + fits[0] > MOST), "{fits:?}");
        assert!(all(1).skip(fits.len()).all(|found| found.is_none()));
        // Images count together.
        let last = all(2).map_while(|found| found.map(|(bytes, _)| bytes)).last();
        assert_eq!(last, fits.iter().map(|bytes| 2 * bytes).rfind(|bytes| *bytes <= MOST));
    }

    #[test]
    fn large_images_are_in_bands() {
        assert_eq!(workspace(1, 4, 64).and_then(|(_, bands)| bands), None);
        for (images, lines) in [(1, 128), (3, 128), (1, 4 * 31), (1, 1024)] {
            let (bytes, bands) = workspace(images, lines, 64).expect("transforms pay");
            let bands = bands.expect("the second cache does not hold it");
            assert_eq!(lines.div_euclid(4) % (bands.lines * bands.shares), 0, "{bands:?}");
            assert!(bytes <= bands.shares << 20, "{bytes} bytes in {bands:?}");
        }
    }
}
