//! Products of warpgroups (`wgmma`): of tiles in shared memory, or of what threads have in registers and such tiles, which go
//! on by themselves. Their factors must not change until they were waited for, nor may anybody touch their sums.

use std::collections::BTreeSet;

use crate::fault::{Result, wrong};
use crate::group::Group;
use crate::matrix::{Element, left_place, sum, sum_place};
use crate::op::{Kernel, Register, Source};
use crate::order::{Access, LANES, Who};
use crate::round::Mode;
use crate::warp::{Lanes, Warp};

/// Bytes of the terms of an instruction, and rows of one warp of the four.
const TERMS: usize = 32;
const ROWS: usize = 16;

/// A product as the instruction says it.
#[derive(Clone, Debug)]
pub(crate) struct Product {
    pub(crate) elements: [Element; 2],
    pub(crate) sums: Vec<Register>,
    pub(crate) left: Left,
    /// What says where the right tile is.
    pub(crate) right: Source,
    /// Whether the sums are added to, else they are made anew.
    pub(crate) added: Source,
    /// Whether elements of a line of a tile are of one term.
    pub(crate) by_term: [bool; 2],
}

/// Where the left factor is.
#[derive(Clone, Debug)]
pub(crate) enum Left {
    /// In a tile, of which this says where it is.
    Tile(Source),
    /// In words of each thread, as it has those of a product of one warp.
    Words(Vec<Source>),
}

/// Where the elements of a tile are.
#[derive(Clone, Copy, Debug)]
struct Tile {
    start: u64,
    leading: u64,
    stride: u64,
    by_term: bool,
    /// Bytes of an element.
    size: usize,
}

/// A product that is on its way.
#[derive(Clone, Debug)]
struct Pending {
    product: Product,
    added: bool,
    /// The left one, if it is a tile, and the right one.
    tiles: (Option<Tile>, Tile),
    /// What its factors were when it began: the bytes of the terms of each row and column of the tile.
    factors: [Vec<u8>; 2],
    group: u32,
    line: u32,
}

/// The products of a warp.
#[derive(Clone, Debug, Default)]
pub(crate) struct Products {
    pending: Vec<Pending>,
    closed: u32,
    /// When registers were last made ready, in instructions of the warp.
    pub(crate) fenced: Option<u64>,
}

impl Tile {
    /// Reads a descriptor. Of the ways of swizzling that there are one is known here.
    fn of(descriptor: u64, by_term: bool, size: usize) -> std::result::Result<Self, String> {
        let field = |at: u32| (descriptor >> at & 0x3FFF) << 4;
        let (way, offset) = (descriptor >> 62, descriptor >> 49 & 7);
        if way != 1 || offset != 0 {
            return Err(format!("a descriptor {descriptor:#x} of another kind than the swizzle by 128 bytes"));
        }
        Ok(Self { start: field(0), leading: field(16), stride: field(32), by_term, size })
    }

    /// Where an element is: of a row or column, and a term. Bits 4 to 6 of an address are changed by bits 7 to 9.
    fn place(self, along: usize, term: usize) -> u64 {
        let (along, term) = (along as u64, term as u64);
        let plain = match self.by_term {
            // Lines of 128 bytes of terms, eight after each other; the leading offset has no meaning.
            false => along / 8 * self.stride + along % 8 * 128 + self.size as u64 * term,
            // Lines of 64 rows or columns, one for each of eight terms.
            true => along / 64 * self.leading + along % 64 * 2 + term / 8 * self.stride + term % 8 * 128,
        };
        let at = self.start + plain;
        at ^ (at >> 7 & 7) << 4
    }
}

impl Products {
    pub(crate) fn commit(&mut self) {
        self.closed += 1;
    }

    /// The registers that are in use.
    pub(crate) fn registers(&self) -> BTreeSet<u32> {
        self.pending.iter().flat_map(|pending| pending.product.sums.iter().map(|sum| sum.number)).collect()
    }
}

impl Group<'_> {
    /// Reads a factor as the device does, past what threads wrote but did not say.
    fn factor(&mut self, warp: &Warp, tile: Tile, along: std::ops::Range<usize>, line: u32) -> Result<Vec<u8>> {
        let mut all = Vec::with_capacity(along.len() * TERMS);
        let Self { shared, order, .. } = &mut *self;
        let who = Who { order, thread: warp.number as u32 * LANES, line };
        for n in along {
            for term in 0..TERMS / tile.size {
                let at = tile.place(n, term);
                all.extend(shared.read(at, tile.size, &who, Access::Read)?);
                if let Some(made) = shared.writer(at).filter(|made| !who.order.is_shown(made)) {
                    let (thread, line) = (made.thread, made.line);
                    let what = "without a fence to the asynchronous proxy behind it";
                    return wrong(0, format!("reads {at:#x}, which thread {thread} wrote in line {line} {what}"));
                }
            }
        }
        Ok(all)
    }

    fn factors(
        &mut self,
        warp: &Warp,
        product: &Product,
        (left, right): (Option<Tile>, Tile),
        line: u32,
    ) -> Result<[Vec<u8>; 2]> {
        let rows = warp.number % 4 * ROWS;
        let left = match (left, &product.left) {
            (Some(tile), _) => self.factor(warp, tile, rows..rows + ROWS, line)?,
            (None, Left::Words(words)) => of_words(warp, self.launch.kernel, words)?,
            (None, Left::Tile(_)) => return wrong(0, "has no left tile"),
        };
        Ok([left, self.factor(warp, right, 0..2 * product.sums.len(), line)?])
    }

    /// Begins a product.
    pub(crate) fn begin_product(&mut self, warp: &mut Warp, product: &Product, line: u32) -> Result {
        let kernel = self.launch.kernel;
        let one = |source| -> Result<u64> {
            let values = warp.read(kernel, source, u32::MAX)?;
            match values.iter().position(|value| *value != values[0]) {
                Some(lane) => wrong(lane as u32, "says something else than the first thread of its warp"),
                None => Ok(values[0]),
            }
        };
        let tile = |n: usize, source| -> Result<Tile> {
            let found = Tile::of(one(source)?, product.by_term[n], 4 / product.elements[n].in_word());
            found.or_else(|what| wrong(0, what))
        };
        let added = one(product.added)? == 1;
        let left = match &product.left {
            Left::Tile(source) => Some(tile(0, *source)?),
            Left::Words(_) => None,
        };
        let tiles = (left, tile(1, product.right)?);
        warp.ready_for_product(kernel, product, added)?;
        let factors = self.factors(warp, product, tiles, line)?;
        let group = warp.products.closed;
        warp.products.pending.push(Pending { product: product.clone(), added, tiles, factors, group, line });
        Ok(())
    }

    /// Waits for all groups of products but so many.
    pub(crate) fn wait_for_products(&mut self, warp: &mut Warp, leaves: u32) -> Result {
        let end = warp.products.closed.saturating_sub(leaves);
        let (done, left) =
            std::mem::take(&mut warp.products.pending).into_iter().partition(|p: &Pending| p.group < end);
        warp.products.pending = left;
        for pending in done {
            let again = self.factors(warp, &pending.product, pending.tiles, pending.line)?;
            if again != pending.factors {
                let what = "what a product multiplies was changed before it was waited for";
                return wrong(0, format!("{what}: that of line {}", pending.line));
            }
            let mode = self.rounding();
            finish(warp, &pending, mode);
        }
        Ok(())
    }
}

/// What threads have of a left factor, as the bytes of the terms of each row.
fn of_words(warp: &Warp, kernel: &Kernel, words: &[Source]) -> Result<Vec<u8>> {
    let mut all = vec![0; ROWS * TERMS];
    for (n, word) in words.iter().enumerate() {
        for (lane, bits) in warp.read(kernel, *word, u32::MAX)?.into_iter().enumerate() {
            let (row, term) = left_place(lane, 2 * n, 2);
            all[row * TERMS + 2 * term..][..4].copy_from_slice(&(bits as u32).to_le_bytes());
        }
    }
    Ok(all)
}

/// Puts the sums of a product into registers.
fn finish(warp: &mut Warp, pending: &Pending, mode: Mode) {
    let [left, right] = [0, 1].map(|n| {
        let element = pending.product.elements[n];
        let bits = |bytes: &[u8]| bytes.iter().rev().fold(0, |bits: u64, byte| bits << 8 | u64::from(*byte));
        let elements = pending.factors[n].chunks_exact(4 / element.in_word());
        elements.map(|bytes| element.value(bits(bytes))).collect::<Vec<f64>>()
    });
    let of = pending.product.elements[0];
    let terms = TERMS / (4 / of.in_word());
    for (i, to) in pending.product.sums.iter().enumerate() {
        let before = warp.value(Source::Register(to.number));
        let made: Lanes = std::array::from_fn(|lane| {
            let (row, column) = sum_place(lane, i);
            let factors = left[row * terms..][..terms].iter().zip(&right[column * terms..][..terms]);
            sum(of, if pending.added { before[lane] } else { 0 }, factors.map(|(a, b)| a * b), mode)
        });
        warp.finish(*to, &made);
    }
}

#[cfg(test)]
mod tests {
    use super::Tile;

    #[test]
    fn tiles_lie_as_the_swizzle_says() {
        let lines = Tile::of(1 << 62 | 64 << 32 | 1 << 16 | 0x40, false, 2).expect("a descriptor");
        // The second line of the second eight, its ninth term: the second chunk of 16 bytes is the first one there.
        assert_eq!(lines.place(9, 8), 0x400 + 1024 + 128);
        let bytes = Tile::of(1 << 62 | 64 << 32 | 1 << 16 | 0x40, false, 1).expect("a descriptor");
        assert_eq!(bytes.place(9, 16), 0x400 + 1024 + 128);
        let turned = Tile::of(1 << 62 | 64 << 32 | 512 << 16 | 0x40, true, 2).expect("a descriptor");
        assert_eq!(turned.place(64, 0), 0x400 + 8192);
        assert_eq!(turned.place(8, 9), 0x400 + 1024 + 128);
        assert!(Tile::of(64 << 32, false, 2).is_err());
    }
}
