//! What a warp does with small matrices, each element of which one of its threads has.

use crate::fault::Result;
use crate::group::Group;
use crate::kind::{low, signed};
use crate::op::{Address, Register, Source};
use crate::order::{Access, LANES, Who};
use crate::round::{BF16, F16, F32, Format, Mode};
use crate::warp::{Lanes, Warp};

/// Bytes of a row of eight halves.
const ROW: usize = 16;

/// Elements of factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    Half,
    Brain,
    Signed,
    Unsigned,
}

impl Element {
    pub(crate) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "f16" => Self::Half,
            "bf16" => Self::Brain,
            "s8" => Self::Signed,
            "u8" => Self::Unsigned,
            _ => return None,
        })
    }

    /// How many a word has.
    pub(crate) fn in_word(self) -> usize {
        match self {
            Self::Half | Self::Brain => 2,
            Self::Signed | Self::Unsigned => 4,
        }
    }

    fn format(self) -> Option<Format> {
        match self {
            Self::Half => Some(F16),
            Self::Brain => Some(BF16),
            Self::Signed | Self::Unsigned => None,
        }
    }

    /// The value of bits, which is exact.
    pub(crate) fn value(self, bits: u64) -> f64 {
        match (self.format(), self) {
            (Some(format), _) => format.value(bits),
            (None, Self::Signed) => signed(bits, 8) as f64,
            (None, _) => low(bits, 8) as f64,
        }
    }
}

/// A product of a matrix of 16 rows and one of 8 columns, added to sums.
#[derive(Clone, Debug)]
pub(crate) struct Mma {
    pub(crate) elements: [Element; 2],
    pub(crate) to: Vec<Register>,
    pub(crate) left: Vec<Source>,
    pub(crate) right: Vec<Source>,
    pub(crate) sums: Vec<Source>,
}

/// Where an element of the left factor is: row and term of element `i` of a thread. Each word has neighbours of one row.
pub(crate) fn left_place(lane: usize, i: usize, in_word: usize) -> (usize, usize) {
    let (word, of) = (i / in_word, i % in_word);
    (lane / 4 + 8 * (word % 2), lane % 4 * in_word + of + 4 * in_word * (word / 2))
}

/// Term and column of element `i` of the right factor.
fn right_place(lane: usize, i: usize, in_word: usize) -> (usize, usize) {
    let (word, of) = (i / in_word, i % in_word);
    (lane % 4 * in_word + of + 4 * in_word * word, lane / 4)
}

/// Row and column of sum `i`.
pub(crate) fn sum_place(lane: usize, i: usize) -> (usize, usize) {
    (lane / 4 + 8 * (i / 2 % 2), lane % 4 * 2 + i % 2 + i / 4 * 8)
}

/// A sum and products of these elements: of integers it wraps; of single precision no manual says how it is rounded, to the
/// nearest number, or towards 0.
pub(crate) fn sum(of: Element, start: u64, terms: impl Iterator<Item = f64>, mode: Mode) -> u64 {
    match of.format() {
        Some(_) => F32.of(terms.fold(F32.value(start), |sum, term| sum + term), mode),
        None => (terms.sum::<f64>() as i64).wrapping_add(start as i64) as u64,
    }
}

impl Group<'_> {
    /// How sums of products are rounded this time.
    pub(crate) fn rounding(&mut self) -> Mode {
        if self.random.below(2) == 0 { Mode::Nearest } else { Mode::Zero }
    }

    /// Reads matrices of 8 by 8 halves, each row from where one thread says.
    pub(crate) fn load_matrices(
        &mut self,
        warp: &mut Warp,
        (to, transposed): (&[Register], bool),
        at: &Address,
        active: u32,
        line: u32,
    ) -> Result {
        let at = self.addresses(warp, at, active)?;
        for (n, to) in to.iter().enumerate() {
            let mut rows = [[0; ROW]; 8];
            for (row, data) in rows.iter_mut().enumerate() {
                let lane = 8 * n + row;
                let Self { shared, order, .. } = &mut *self;
                let who = Who { order, thread: warp.number as u32 * LANES + lane as u32, line };
                data.copy_from_slice(shared.read(at[lane], ROW, &who, Access::Read)?);
            }
            let half = |row: usize, column: usize| {
                u64::from(rows[row][2 * column]) | u64::from(rows[row][2 * column + 1]) << 8
            };
            let word = |lane: usize| {
                let (row, column) = (lane / 4, lane % 4 * 2);
                match transposed {
                    false => half(row, column) | half(row, column + 1) << 16,
                    true => half(column, row) | half(column + 1, row) << 16,
                }
            };
            warp.write(*to, active, &std::array::from_fn(word));
        }
        Ok(())
    }

    /// Multiplies matrices that the threads of a warp have.
    pub(crate) fn multiply(&mut self, warp: &mut Warp, mma: &Mma, active: u32) -> Result {
        let kernel = self.launch.kernel;
        let read = |all: &[Source]| all.iter().map(|s| warp.read(kernel, *s, active)).collect::<Result<Vec<Lanes>>>();
        let (left, right, sums) = (read(&mma.left)?, read(&mma.right)?, read(&mma.sums)?);
        let in_word = mma.elements[0].in_word();
        let terms = 8 * in_word;
        let (mut a, mut b) = (vec![0.0; 16 * terms], vec![0.0; 8 * terms]);
        let value = |words: &[Lanes], lane: usize, i: usize, element: Element| {
            element.value(low(words[i / in_word][lane] >> (32 / in_word * (i % in_word)), 32 / in_word as u32))
        };
        for lane in 0..LANES as usize {
            for i in 0..left.len() * in_word {
                let (row, term) = left_place(lane, i, in_word);
                a[row * terms + term] = value(&left, lane, i, mma.elements[0]);
            }
            for i in 0..right.len() * in_word {
                let (term, column) = right_place(lane, i, in_word);
                b[column * terms + term] = value(&right, lane, i, mma.elements[1]);
            }
        }
        let mode = self.rounding();
        for (i, to) in mma.to.iter().enumerate() {
            let made = |lane: usize| {
                let (row, column) = sum_place(lane, i);
                let products = a[row * terms..][..terms].iter().zip(&b[column * terms..][..terms]).map(|(a, b)| a * b);
                sum(mma.elements[0], sums[i][lane], products, mode)
            };
            warp.write(*to, active, &std::array::from_fn(made));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{left_place, right_place, sum_place};

    #[test]
    fn each_element_has_one_thread() {
        for in_word in [2, 4] {
            let left: BTreeSet<_> =
                (0..32).flat_map(|l| (0..4 * in_word).map(move |i| left_place(l, i, in_word))).collect();
            let right: BTreeSet<_> =
                (0..32).flat_map(|l| (0..2 * in_word).map(move |i| right_place(l, i, in_word))).collect();
            assert_eq!((left.len(), right.len()), (16 * 8 * in_word, 8 * 8 * in_word));
            assert_eq!(left.last(), Some(&(15, 8 * in_word - 1)));
        }
        let sums: BTreeSet<_> = (0..32).flat_map(|l| (0..4).map(move |i| sum_place(l, i))).collect();
        assert_eq!((sums.len(), sums.last()), (128, Some(&(15, 7))));
        // As the manual says of the fourth thread's third register.
        assert_eq!([left_place(3, 4, 2), left_place(3, 8, 4)], [(0, 14), (0, 28)]);
    }
}
