//! A workspace that is split among several memories: the hottest values lie in the fastest.
//!
//! The first memory takes what is touched most for its size, as far as that fits; the next one takes of what is left,
//! and the last one all that is left then. Where that is too much for the last one, the memories take the largest values
//! first. Offsets count through all memories as if they lay behind one another, each as long as what is used of it.

use std::cmp::Reverse;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::relax::Place;

use super::heat::Heat;
use super::orders::{self, Overlap, Placed};
use super::{Life, Planner};
use crate::{CompileError, ErrorKind};

/// Where pieces lie.
struct Split {
    /// The memory of each and the offset there, in the order in which they were given.
    places: Vec<(usize, i64)>,
    /// Bytes of each memory.
    used: Vec<i64>,
}

impl Split {
    /// Bytes that the last memory lacks.
    fn missing(&self, limits: &[i64]) -> i64 {
        self.used.last().zip(limits.last()).map_or(0, |(used, limit)| (used - limit).max(0))
    }
}

impl Planner<'_> {
    /// Places pieces in the function's memories; gives the bytes of each.
    pub(super) fn place_in_pools(&mut self, pieces: &[(Life, i64)]) -> Vec<u64> {
        let limits: Vec<i64> = self.pools.iter().map(|pool| i64::try_from(pool.bytes).unwrap_or(i64::MAX)).collect();
        let split = best(pieces, &self.overlaps(pieces), &self.heat(), &limits);
        for ((life, size), (pool, offset)) in pieces.iter().zip(&split.places) {
            let offset = split.used[..*pool].iter().sum::<i64>() + offset;
            let place = Place::Workspace { offset: IntExpr::from(offset), bytes: IntExpr::from(*size) };
            self.places.insert(life.home, place);
        }
        split.used.iter().map(|bytes| *bytes as u64).collect()
    }

    /// A memory has a size, so that what lies in it must have one too.
    pub(super) fn refuse_unbounded(&self, life: &Life, bytes: &IntExpr) -> CompileError {
        let name = &self.func.values[life.home.0.0 as usize].name;
        CompileError {
            kind: ErrorKind::Limit,
            loc: self.pools[0].loc,
            message: format!(
                "`{name}` must have a place in one of the memories, but its `{bytes}` bytes have no bound"
            ),
            help: Some("bound the dims that they depend on: `#[tensor_fn(dims(B <= 64))]`".into()),
        }
    }
}

/// The hottest first, or the largest first where the last memory then lacks less.
fn best(pieces: &[(Life, i64)], overlaps: &[Overlap], heat: &Heat, limits: &[i64]) -> Split {
    let mut order: Vec<usize> = (0..pieces.len()).collect();
    let by_size = |at: usize| (Reverse(pieces[at].1), pieces[at].0.first, pieces[at].0.home);
    order.sort_by_key(|at| by_size(*at));
    let largest = order.clone();
    let touched = |at: usize| u128::from(heat.get(&pieces[at].0.home).copied().unwrap_or(0));
    // Bytes that are touched by bytes that there are, without a division.
    order.sort_by(|a, b| {
        let [hot_a, hot_b] = [(*a, *b), (*b, *a)].map(|(own, other)| touched(own) * pieces[other].1.max(1) as u128);
        hot_b.cmp(&hot_a)
    });
    let hottest = split(pieces, overlaps, &order, limits);
    if hottest.missing(limits) == 0 {
        return hottest;
    }
    let other = split(pieces, overlaps, &largest, limits);
    if other.missing(limits) < hottest.missing(limits) { other } else { hottest }
}

/// Each memory takes what fits of what is left, in that order; the last one takes all of it.
fn split(pieces: &[(Life, i64)], overlaps: &[Overlap], order: &[usize], limits: &[i64]) -> Split {
    let mut left = order.to_vec();
    let mut places = vec![(0, 0); pieces.len()];
    let mut used = Vec::new();
    for (pool, limit) in limits.iter().enumerate() {
        let is_last = pool + 1 == limits.len();
        let limit = if is_last { i64::MAX } else { *limit };
        let taken = orders::within(pieces, overlaps, &left, limit);
        let inside: Vec<usize> = left.iter().copied().filter(|at| taken.offsets[*at].is_some()).collect();
        left.retain(|at| taken.offsets[*at].is_none());
        let Placed { offsets, end } = tightest(pieces, overlaps, &inside, &taken);
        for (at, offset) in inside.iter().zip(offsets) {
            places[*at] = (pool, offset);
        }
        used.push(end);
    }
    Split { places, used }
}

/// The pieces of one memory as close together as some order puts them.
fn tightest(pieces: &[(Life, i64)], overlaps: &[Overlap], inside: &[usize], taken: &orders::Within) -> Placed {
    let number = |at: usize| inside.iter().position(|own| *own == at);
    let own: Vec<(Life, i64)> = inside.iter().map(|at| pieces[*at].clone()).collect();
    let within = |overlap: &Overlap| {
        let (operand, result) = (number(overlap.operand)?, number(overlap.result)?);
        Some(Overlap { operand, result, ..*overlap })
    };
    let overlaps: Vec<Overlap> = overlaps.iter().filter_map(within).collect();
    let placed = orders::place(&own, &overlaps);
    if placed.end <= taken.end {
        return placed;
    }
    Placed { offsets: inside.iter().map(|at| taken.offsets[*at].unwrap_or_default()).collect(), end: taken.end }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenfold_ir::DType;
    use tenfold_ir::relax::{TensorType, ValueId};

    /// Pieces of `(first, last, bytes, bytes that are touched)`.
    fn split_of(all: &[(usize, usize, i64, u64)], limits: &[i64]) -> (Vec<(usize, i64)>, Vec<i64>) {
        let ty = TensorType { dtype: DType::F32, shape: Vec::new() };
        let life = |n: usize, first, last| Life { home: (ValueId(n as u32), 0), ty: ty.clone(), first, last };
        let pieces: Vec<(Life, i64)> =
            all.iter().enumerate().map(|(n, (first, last, size, _))| (life(n, *first, *last), *size)).collect();
        let heat = pieces.iter().zip(all).map(|((life, _), (.., hot))| (life.home, *hot)).collect();
        let split = best(&pieces, &[], &heat, limits);
        (split.places, split.used)
    }

    #[test]
    fn the_hottest_lies_in_the_first_memory() {
        let all = [(0, 3, 64, 100), (1, 3, 64, 900), (2, 3, 128, 1000)];
        assert_eq!(split_of(&all, &[64, 1024]), (vec![(1, 128), (0, 0), (1, 0)], vec![64, 192]));
        // Bytes count for their number: 128 that are touched 1000 times are colder than 64 that are 900 times.
        assert_eq!(split_of(&all, &[192, 1024]), (vec![(1, 0), (0, 128), (0, 0)], vec![192, 64]));
    }

    #[test]
    fn what_does_not_live_together_shares_a_memory() {
        let all = [(0, 1, 64, 500), (2, 3, 64, 400), (0, 3, 64, 1)];
        assert_eq!(split_of(&all, &[64, 64]), (vec![(0, 0), (0, 0), (1, 0)], vec![64, 64]));
    }

    /// A small hot value in the larger memory would keep a large one out of both.
    #[test]
    fn the_largest_first_where_else_there_is_no_room() {
        let all = [(0, 1, 64, 900), (0, 1, 256, 256)];
        assert_eq!(split_of(&all, &[256, 64]), (vec![(1, 0), (0, 0)], vec![256, 64]));
    }

    #[test]
    fn the_last_memory_says_what_is_missing() {
        let all = [(0, 1, 128, 900), (0, 1, 256, 256)];
        assert_eq!(split_of(&all, &[64, 256]).1, [0, 384]);
        assert_eq!(split_of(&[], &[64, 256]).1, [0, 0]);
    }
}
