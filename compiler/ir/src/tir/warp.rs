//! What the 32 threads of a warp do together: matrices of 8 by 8 halves out of shared memory, products of tiles, and
//! values that they exchange. And what four warps do together: products of larger tiles, which they find in shared memory.

/// Threads of a warp. Each holds a part of every operand and of the result, as PTX spreads them.
pub const WARP: i64 = 32;

/// Threads of a warpgroup: four warps side by side.
pub const WARPGROUP: i64 = 128;

/// Rows of a warpgroup's product, and its terms.
pub const TILE: usize = 64;

/// Elements of a left operand of 64 rows and terms that a thread has in registers.
const OWN: u16 = 32;

/// A function of a warp, or of a warpgroup: what it gives one thread is made of what all of them have. It is all that a
/// store stores, and every thread of the warp or warpgroup reaches that store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Warp {
    /// `ldmatrix(row)`: four matrices of 8 by 8 halves. Thread `t` reads row `t % 8` of matrix `t / 8`, 8 neighbours in
    /// shared memory, and gets of each matrix `m` in its lanes `2 m` and `2 m + 1` the elements `2 (t % 4)` and
    /// `2 (t % 4) + 1` of row `t / 4`. Rows of 16 integers of 8 bits are the same with two of them for each half.
    LdMatrix,
    /// `ldmatrix_trans(row)`: as [`Warp::LdMatrix`] of halves, each matrix transposed.
    LdMatrixTrans,
    /// `mma(a, b, c)`: `c + a b` of a tile of 16 by 8 `f32`, 16 halves deep, or of as many `i32`, 32 integers of 8 bits deep,
    /// each operand with a sign or without. The products are terms of the sum, which may be taken in any order; sums of
    /// integers wrap.
    Mma,
    /// `wgmma(a, b, c)`: `c + a b` of a tile of 64 by n `f32`, 64 halves deep, where n is 64, 128, 192 or 256. `a` and `b`
    /// are tiles in shared memory, all of their elements, in the order of [`of_tile`]. The product goes on by itself: until
    /// the warpgroup has waited for it, nobody writes what it reads, and nobody touches its sums but another product. Of
    /// integers of 8 bits, all with a sign or all without, it is of n `i32`, which wrap, and 128 deep; lines hold terms.
    Wgmma(Lines),
    /// `wgmma_registers(a, b, c)`: as [`Warp::Wgmma`] of halves, but each thread has its part of `a` itself, 32 neighbours in
    /// an array of its own, where it has as many sums of 64 columns. Nobody writes these before the product was waited for.
    /// A line of `b` is 64 columns of one term if the flag says so, and else 64 terms of a column.
    WgmmaRegisters(bool),
    /// `wgmma_wait0(c)`, `wgmma_wait1(c)` and so on: waits for all products of the warpgroup, or all but the last so many, and
    /// gives the sums `c`.
    WgmmaWait(u8),
    /// `shuffle_xor16(x)`: what `x` is in the thread whose number differs in that bit.
    ShuffleXor(Bit),
}

/// What the lines of a warpgroup's tiles hold.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Lines {
    /// Whether a line of the left one is 64 rows of one term, and not 64 terms of a row.
    pub rows: bool,
    /// Whether a line of the right one is 64 columns of one term, and not 64 terms of a column.
    pub columns: bool,
}

/// A bit of a thread's number in its warp: 1, 2, 4, 8 or 16.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Bit(u8);

impl Bit {
    /// All, the highest one first: the steps of a butterfly over a warp.
    pub const ALL: [Bit; 5] = [Bit(16), Bit(8), Bit(4), Bit(2), Bit(1)];

    /// The number that has this bit alone.
    pub fn number(self) -> i64 {
        self.0.into()
    }
}

impl Warp {
    /// All with their names.
    pub const ALL: [(&'static str, Warp); 17] = [
        ("ldmatrix", Warp::LdMatrix),
        ("ldmatrix_trans", Warp::LdMatrixTrans),
        ("mma", Warp::Mma),
        ("wgmma", Warp::Wgmma(Lines { rows: false, columns: false })),
        ("wgmma_rows", Warp::Wgmma(Lines { rows: true, columns: false })),
        ("wgmma_columns", Warp::Wgmma(Lines { rows: false, columns: true })),
        ("wgmma_rows_columns", Warp::Wgmma(Lines { rows: true, columns: true })),
        ("wgmma_registers", Warp::WgmmaRegisters(false)),
        ("wgmma_registers_columns", Warp::WgmmaRegisters(true)),
        ("wgmma_wait0", Warp::WgmmaWait(0)),
        ("wgmma_wait1", Warp::WgmmaWait(1)),
        ("wgmma_wait2", Warp::WgmmaWait(2)),
        ("shuffle_xor16", Warp::ShuffleXor(Bit(16))),
        ("shuffle_xor8", Warp::ShuffleXor(Bit(8))),
        ("shuffle_xor4", Warp::ShuffleXor(Bit(4))),
        ("shuffle_xor2", Warp::ShuffleXor(Bit(2))),
        ("shuffle_xor1", Warp::ShuffleXor(Bit(1))),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        Warp::ALL.iter().find(|(_, known)| *known == self).map_or("", |(name, _)| *name)
    }

    /// How many threads make it together.
    pub fn threads(self) -> i64 {
        match self {
            Warp::LdMatrix | Warp::LdMatrixTrans | Warp::Mma | Warp::ShuffleXor(_) => WARP,
            Warp::Wgmma(_) | Warp::WgmmaRegisters(_) | Warp::WgmmaWait(_) => WARPGROUP,
        }
    }

    /// How many operands it has.
    pub fn operands(self) -> usize {
        match self {
            Warp::LdMatrix | Warp::LdMatrixTrans | Warp::ShuffleXor(_) | Warp::WgmmaWait(_) => 1,
            Warp::Mma | Warp::Wgmma(_) | Warp::WgmmaRegisters(_) => 3,
        }
    }

    /// Whether operands have so many lanes; the last one has the type of the result.
    pub fn takes(self, lanes: &[u16]) -> bool {
        let tile = (TILE * TILE) as u16;
        match self {
            Warp::LdMatrix => lanes == [8] || lanes == [16],
            Warp::LdMatrixTrans => lanes == [8],
            Warp::Mma => lanes == [8, 4, 4] || lanes == [16, 8, 4],
            Warp::ShuffleXor(_) => lanes == [1],
            Warp::Wgmma(lines) => (1..=4).any(|n| {
                let bytes = lanes == [2 * tile, 2 * n * tile, 32 * n] && lines == Lines::default();
                bytes || lanes == [tile, n * tile, 32 * n]
            }),
            Warp::WgmmaRegisters(_) => (1..=4).any(|n| lanes == [OWN, n * tile, 32 * n]),
            Warp::WgmmaWait(_) => (1..=4).any(|n| lanes == [32 * n]),
        }
    }
}

/// The thread whose row an element of [`Warp::LdMatrix`] comes from, and its place there: of what thread `t` gets in a lane.
/// Elements are halves, or `each` for a half.
pub fn source(t: usize, lane: usize, transposed: bool, each: usize) -> (usize, usize) {
    let (half, within) = (lane / each, lane % each);
    let (matrix, long, short) = (half / 2, t / 4, 2 * (t % 4) + half % 2);
    let (row, column) = if transposed { (short, long) } else { (long, short) };
    (8 * matrix + row, column * each + within)
}

/// Row and column of what thread `t` holds of [`Warp::Mma`]'s sum in a lane.
pub fn of_sum(t: usize, lane: usize) -> (usize, usize) {
    (t / 4 + 8 * (lane / 2), 2 * (t % 4) + lane % 2)
}

/// The thread and lane that hold an element of its left operand, of halves or of `each` for a half.
pub fn of_left(row: usize, term: usize, each: usize) -> (usize, usize) {
    let (half, within) = (term / each, term % each);
    let lane = 4 * (half / 8) + 2 * (row / 8) + half % 2;
    (4 * (row % 8) + half % 8 / 2, lane * each + within)
}

/// The thread and lane that hold an element of its right operand, likewise.
pub fn of_right(term: usize, column: usize, each: usize) -> (usize, usize) {
    let (half, within) = (term / each, term % each);
    (4 * column + half % 8 / 2, (2 * (half / 8) + half % 2) * each + within)
}

/// Row and column of what thread `t` of a warpgroup holds of [`Warp::Wgmma`]'s sum in a lane.
pub fn of_wide_sum(t: usize, lane: usize) -> (usize, usize) {
    let (row, column) = of_sum(t % WARP as usize, lane % 4);
    (16 * (t / WARP as usize) + row, 8 * (lane / 4) + column)
}

/// The thread of a warpgroup and the lane that hold an element of the left operand of [`Warp::WgmmaRegisters`].
pub fn of_wide_left(row: usize, term: usize) -> (usize, usize) {
    let (thread, lane) = of_left(row % 16, term % 16, 1);
    (WARP as usize * (row / 16) + thread, 8 * (term / 16) + lane)
}

/// Where an element of a tile of [`Warp::Wgmma`] is: of a row or column, and of a term. Lines are of 64 halves, 128 bytes,
/// 64 of them in a panel; chunks of 16 bytes lie in the order of PTX's swizzle by 128 bytes, which differs from line to line.
/// There are `each` elements for a half.
pub fn of_tile(own: usize, term: usize, by_term: bool, each: usize) -> usize {
    let (panel, place) = (own / TILE, own % TILE);
    let (line, at) = if by_term { (term, place) } else { (place, term) };
    let (chunk, length) = (8 * each, TILE * each);
    (panel * TILE + line) * length + ((at / chunk) ^ (line % 8)) * chunk + at % chunk
}
