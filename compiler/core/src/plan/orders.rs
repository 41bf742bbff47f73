//! In which order the pieces of a workspace get their places.
//!
//! The largest first is good, and the best for most functions. Where it takes more than what lives at one time, other
//! orders are tried: the piece that lies on top gets its place before the one before it, then the one on top now before
//! all others, and so on.

use super::Life;
use super::distance::Distance;
use super::taken::{Taken, lowest_free};

/// Pieces up to which other orders are tried, and how many: a build script is not optimised.
const FEW: usize = 128;
const TRIES: usize = 64;

/// Where pieces lie.
pub(super) struct Placed {
    /// The offset of each, in the order in which they were given.
    pub(super) offsets: Vec<i64>,
    /// Bytes in all.
    pub(super) end: i64,
}

/// An operand and a result of a call, by their number, that may share bytes where they begin so far apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overlap {
    pub(super) operand: usize,
    pub(super) result: usize,
    pub(super) distance: Distance,
}

/// Places of pieces, each with its bytes, the largest first or in a better order.
pub(super) fn place(pieces: &[(Life, i64)], overlaps: &[Overlap]) -> Placed {
    let mut order: Vec<usize> = (0..pieces.len()).collect();
    order.sort_by_key(|at| (std::cmp::Reverse(pieces[*at].1), pieces[*at].0.first, pieces[*at].0.home));
    let mut best = in_order(pieces, overlaps, &order);
    if pieces.len() > FEW {
        return best;
    }
    let least = least(pieces, overlaps);
    let (mut last, mut end) = (best.offsets.clone(), best.end);
    for turn in 0..TRIES {
        if best.end <= least {
            break;
        }
        let Some(top) = order.iter().position(|at| last[*at] + pieces[*at].1 == end) else { break };
        let earlier = if turn % 2 == 0 { top.saturating_sub(1) } else { 0 };
        order[earlier..=top].rotate_right(1);
        let placed = in_order(pieces, overlaps, &order);
        (last, end) = (placed.offsets.clone(), placed.end);
        if placed.end < best.end {
            best = placed;
        }
    }
    best
}

/// Each at the lowest offset that is free when its turn comes.
fn in_order(pieces: &[(Life, i64)], overlaps: &[Overlap], order: &[usize]) -> Placed {
    let Within { offsets, end } = within(pieces, overlaps, order, i64::MAX);
    Placed { offsets: offsets.into_iter().map(Option::unwrap_or_default).collect(), end }
}

/// Where pieces lie in a memory that may be too small for some.
pub(super) struct Within {
    /// The offset of each, in the order in which they were given; none has what did not fit, and whose turn never came.
    pub(super) offsets: Vec<Option<i64>>,
    /// Bytes in all.
    pub(super) end: i64,
}

/// The same of those alone that end at `limit` or before it.
pub(super) fn within(pieces: &[(Life, i64)], overlaps: &[Overlap], order: &[usize], limit: i64) -> Within {
    let mut taken = Taken::new(pieces.iter().map(|(life, _)| life.last).max().unwrap_or(0));
    let mut offsets: Vec<Option<i64>> = vec![None; pieces.len()];
    for at in order {
        let (life, size) = &pieces[*at];
        let mut met = taken.meeting(life);
        let own = overlaps.iter().filter(|o| o.operand == *at || o.result == *at);
        let mut closed: Vec<(i64, i64)> = own.filter_map(|o| shared(pieces, &offsets, &mut met, o, *at)).collect();
        closed.extend(met.into_iter().map(|(offset, other)| (offset - size, offset + other)));
        let offset = lowest_free(closed);
        if offset.saturating_add(*size) <= limit {
            offsets[*at] = Some(offset);
            taken.insert(life, offset, *size);
        }
    }
    Within { offsets, end: taken.end }
}

/// Where a piece may not begin for the sake of one that has a place and may share bytes with it, which is taken out of
/// those that it meets.
fn shared(
    pieces: &[(Life, i64)],
    offsets: &[Option<i64>],
    met: &mut Vec<(i64, i64)>,
    overlap: &Overlap,
    at: usize,
) -> Option<(i64, i64)> {
    let Overlap { operand, result, distance: Distance { ahead, back } } = *overlap;
    let other = if at == operand { result } else { operand };
    let offset = offsets[other]?;
    let own = met.iter().position(|one| *one == (offset, pieces[other].1))?;
    met.swap_remove(own);
    Some(if at == operand { (offset - back, offset + ahead) } else { (offset - ahead, offset + back) })
}

/// The most that lives at one time, which no order gets below: an operand and a result that may share bytes count as
/// what they take together at least.
fn least(pieces: &[(Life, i64)], overlaps: &[Overlap]) -> i64 {
    let saved = |o: &Overlap| {
        let (operand, result) = (pieces[o.operand].1, pieces[o.result].1);
        let together = (operand + o.distance.ahead).min(result + o.distance.back).max(operand).max(result);
        (operand + result - together).max(0)
    };
    let at = |time: usize| {
        let alive = pieces.iter().filter(|(life, _)| life.first <= time && time <= life.last);
        let begun = overlaps.iter().filter(|o| pieces[o.result].0.first == time);
        alive.map(|(_, size)| size).sum::<i64>() - begun.map(saved).sum::<i64>()
    };
    pieces.iter().map(|(life, _)| at(life.first)).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenfold_ir::DType;
    use tenfold_ir::relax::{TensorType, ValueId};

    fn piece(n: usize, (first, last, size): (usize, usize, i64)) -> (Life, i64) {
        let ty = TensorType { dtype: DType::F32, shape: Vec::new() };
        (Life { home: (ValueId(n as u32), 0), ty, first, last }, size)
    }

    fn place_all(all: &[(usize, usize, i64)], overlaps: &[Overlap]) -> Placed {
        let pieces: Vec<(Life, i64)> = all.iter().enumerate().map(|(n, one)| piece(n, *one)).collect();
        let placed = place(&pieces, overlaps);
        for (n, (one, size)) in pieces.iter().enumerate() {
            assert!(placed.offsets[n] + size <= placed.end);
            for (m, (other, bytes)) in pieces.iter().enumerate().take(n) {
                let meet = one.first <= other.last && other.first <= one.last;
                let (at, from) = (placed.offsets[n], placed.offsets[m]);
                let over = overlaps.iter().find(|o| (o.operand, o.result) == (m, n));
                let far = over.is_some_and(|o| from - at >= o.distance.ahead || at - from >= o.distance.back);
                let apart = at + size <= from || from + bytes <= at;
                assert!(!meet || apart || far, "{n} and {m} share bytes");
            }
        }
        placed
    }

    fn overlap(operand: usize, result: usize, ahead: i64, back: i64) -> Overlap {
        Overlap { operand, result, distance: Distance { ahead, back } }
    }

    /// Two of five bytes beside one another, the second of them before a third, leave the three bytes between no place:
    /// the largest first takes 13.
    #[test]
    fn a_better_order_is_found() {
        assert_eq!(place_all(&[(2, 2, 5), (2, 3, 5), (3, 4, 3), (4, 5, 5)], &[]).end, 10);
    }

    /// Whatever the pieces are, those that live at the same time share no bytes.
    #[test]
    fn pieces_that_meet_are_apart() {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 33) % below) as usize
        };
        for count in [0, 1, 2, 20, 127, 200] {
            let all: Vec<(usize, usize, i64)> = (0..count)
                .map(|_| {
                    let first = random(60);
                    (first, first + random(6), 64 * (1 + random(40) as i64))
                })
                .collect();
            place_all(&all, &[]);
        }
    }

    /// What grows begins in front of what it is made of, and what shrinks behind it: both take what the larger one does.
    #[test]
    fn operands_and_results_share_bytes() {
        let grows = place_all(&[(0, 1, 10), (1, 2, 20)], &[overlap(0, 1, 10, 10)]);
        assert_eq!((grows.offsets, grows.end), (vec![10, 0], 20));
        let shrinks = place_all(&[(0, 1, 20), (1, 2, 10)], &[overlap(0, 1, 10, 12)]);
        assert_eq!((shrinks.offsets, shrinks.end), (vec![0, 12], 22));
        let all = [(0, 1, 20), (1, 2, 10), (2, 3, 20), (3, 4, 10)];
        let chain = [overlap(0, 1, 10, 12), overlap(1, 2, 12, 20), overlap(2, 3, 10, 12)];
        assert_eq!(place_all(&all, &chain).end, 22);
        assert_eq!(place_all(&all, &[]).end, 30);
    }

    /// In chains of pieces each of which is made of the one before.
    #[test]
    fn pieces_that_may_share_bytes_are_as_far_apart_as_they_must_be() {
        let mut state = 7_u64;
        let mut random = |below: i64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as i64 % below
        };
        for count in [2, 3, 10, 40] {
            let all: Vec<(usize, usize, i64)> =
                (0..count).map(|n| (n, n + 1 + random(2) as usize, 64 * (1 + random(40)))).collect();
            let chain: Vec<Overlap> = (1..count)
                .filter(|n| all[n - 1].1 == *n)
                .map(|n| overlap(n - 1, n, random(all[n].2 + 1), random(all[n - 1].2 + 1)))
                .collect();
            let (shared, apart) = (place_all(&all, &chain).end, place_all(&all, &[]).end);
            assert!(shared <= apart, "{shared} bytes, but {apart} without");
        }
    }
}
