//! What the 32 threads of a warp do together: matrices of 8 by 8 halves out of shared memory, products of tiles, and
//! values that they exchange.

/// Threads of a warp. Each holds a part of every operand and of the result, as PTX spreads them.
pub const WARP: i64 = 32;

/// A function of a warp: what it gives one thread is made of what all of them have. It is all that a store stores, and
/// every thread of the warp reaches that store.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Warp {
    /// `ldmatrix(row)`: four matrices of 8 by 8 halves. Thread `t` reads row `t % 8` of matrix `t / 8`, 8 neighbours in
    /// shared memory, and gets of each matrix `m` in its lanes `2 m` and `2 m + 1` the elements `2 (t % 4)` and
    /// `2 (t % 4) + 1` of row `t / 4`.
    LdMatrix,
    /// `ldmatrix_trans(row)`: as [`Warp::LdMatrix`], each matrix transposed.
    LdMatrixTrans,
    /// `mma(a, b, c)`: `c + a b` of a tile of 16 by 8 `f32`, 16 halves deep. The products are terms of the sum, which may
    /// be taken in any order.
    Mma,
    /// `shuffle_xor16(x)`: what `x` is in the thread whose number differs in that bit.
    ShuffleXor(Bit),
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
    pub const ALL: [(&'static str, Warp); 8] = [
        ("ldmatrix", Warp::LdMatrix),
        ("ldmatrix_trans", Warp::LdMatrixTrans),
        ("mma", Warp::Mma),
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

    /// Lanes of its operands; the last one has the type of the result.
    pub fn lanes(self) -> &'static [u16] {
        match self {
            Warp::LdMatrix | Warp::LdMatrixTrans => &[8],
            Warp::Mma => &[8, 4, 4],
            Warp::ShuffleXor(_) => &[1],
        }
    }
}

/// The thread whose row an element of [`Warp::LdMatrix`] comes from, and its place there: of what thread `t` gets in a lane.
pub fn source(t: usize, lane: usize, transposed: bool) -> (usize, usize) {
    let (matrix, long, short) = (lane / 2, t / 4, 2 * (t % 4) + lane % 2);
    let (row, column) = if transposed { (short, long) } else { (long, short) };
    (8 * matrix + row, column)
}

/// Row and column of what thread `t` holds of [`Warp::Mma`]'s sum in a lane.
pub fn of_sum(t: usize, lane: usize) -> (usize, usize) {
    (t / 4 + 8 * (lane / 2), 2 * (t % 4) + lane % 2)
}

/// The thread and lane that hold an element of its left operand.
pub fn of_left(row: usize, term: usize) -> (usize, usize) {
    (4 * (row % 8) + term % 8 / 2, 4 * (term / 8) + 2 * (row / 8) + term % 2)
}

/// The thread and lane that hold an element of its right operand.
pub fn of_right(term: usize, column: usize) -> (usize, usize) {
    (4 * column + term % 8 / 2, 2 * (term / 8) + term % 2)
}
