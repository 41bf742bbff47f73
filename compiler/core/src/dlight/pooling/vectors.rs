//! Loops over neighbours in vectors: whole ones, then what is left.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::CmpOp;
use tenfold_ir::tir::{Builder, LoopKind, Stmt};

/// What is done for neighbours.
pub(super) struct Along {
    /// Elements of a vector.
    pub lanes: i64,
    /// Vectors side by side, where there are as many.
    pub vectors: i64,
    /// Whether an element may be made again: then the last vector is a whole one that ends where the row does.
    pub again: bool,
}

/// So many vectors of so many lanes one after another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Piece {
    begin: i64,
    turns: i64,
    lanes: i64,
}

/// Does `f` for every place from `begin` to `end`.
pub(super) fn along(
    b: &mut Builder,
    along: &Along,
    [begin, end]: &[IntExpr; 2],
    f: &mut dyn FnMut(&mut Builder, &IntExpr) -> Stmt,
) -> Stmt {
    let count = end - begin;
    let Some(count) = count.as_const() else {
        return if along.again {
            from_the_end(b, along.lanes, begin, &count, f)
        } else {
            one_loop(b, begin, &count, f)
        };
    };
    Stmt::seq(pieces(count, along).into_iter().map(|piece| vectors(b, begin, piece, f)).collect::<Vec<_>>())
}

/// So many neighbours as nobody knows.
fn one_loop(
    b: &mut Builder,
    begin: &IntExpr,
    count: &IntExpr,
    f: &mut dyn FnMut(&mut Builder, &IntExpr) -> Stmt,
) -> Stmt {
    let (lane, min, extent) = (b.index_var("lane"), b.index(0), b.int_expr(count));
    let at = begin + &IntExpr::var(b.sym(lane).clone());
    let body = f(b, &at);
    Stmt::loop_(lane, min, extent, LoopKind::Vectorized, body)
}

/// The same in whole vectors, if there are as many, of which the last one ends where the row does.
fn from_the_end(
    b: &mut Builder,
    lanes: i64,
    begin: &IntExpr,
    count: &IntExpr,
    f: &mut dyn FnMut(&mut Builder, &IntExpr) -> Stmt,
) -> Stmt {
    let (step, lane, min) = (b.index_var("step"), b.index_var("lane"), b.index(0));
    let [step_at, lane_at] = [step, lane].map(|v| IntExpr::var(b.sym(v).clone()));
    let last = &(begin + count) - lanes;
    let at = &(begin + &(&step_at * lanes)).minimum(&last) + &lane_at;
    let body = f(b, &at);
    let (width, turns) = (b.index(lanes), b.int_expr(&(count + (lanes - 1)).floor_div(&IntExpr::from(lanes))));
    let body = Stmt::loop_(lane, min, width, LoopKind::Vectorized, body);
    let body = Stmt::loop_(step, min, turns, LoopKind::Serial, body);
    let (left, cond) = (b.int_expr(count), b.index(lanes));
    let cond = b.compare(CmpOp::Ge, left, cond);
    let few = one_loop(b, begin, count, f);
    Stmt::If { cond, then: Box::new(body), otherwise: Some(Box::new(few)) }
}

fn vectors(b: &mut Builder, begin: &IntExpr, piece: Piece, f: &mut dyn FnMut(&mut Builder, &IntExpr) -> Stmt) -> Stmt {
    let min = b.index(0);
    let mut at = begin + piece.begin;
    let step = (piece.turns > 1).then(|| b.index_var("step"));
    if let Some(step) = step {
        at = &at + &(&IntExpr::var(b.sym(step).clone()) * piece.lanes);
    }
    let mut body = if piece.lanes > 1 {
        let (lane, extent) = (b.index_var("lane"), b.index(piece.lanes));
        let at = &at + &IntExpr::var(b.sym(lane).clone());
        let body = f(b, &at);
        Stmt::loop_(lane, min, extent, LoopKind::Vectorized, body)
    } else {
        f(b, &at)
    };
    if let Some(step) = step {
        let extent = b.index(piece.turns);
        body = Stmt::loop_(step, min, extent, LoopKind::Serial, body);
    }
    body
}

/// A number of neighbours in vectors: as many as may be side by side, then one by one, then what is left.
fn pieces(count: i64, along: &Along) -> Vec<Piece> {
    let (count, lanes) = (count.max(0), along.lanes.max(1));
    let (mut begin, mut all) = (0, Vec::new());
    for lanes in [lanes * along.vectors.max(1), lanes] {
        let turns = (count - begin) / lanes;
        if turns > 0 {
            all.push(Piece { begin, turns, lanes });
        }
        begin += turns * lanes;
    }
    let left = count - begin;
    let mut one = |begin: i64, lanes: i64| all.push(Piece { begin, turns: 1, lanes });
    if left == 0 {
        return all;
    }
    if !along.again || left & (left - 1) == 0 {
        one(begin, left);
    } else if begin > 0 {
        one(count - lanes, lanes);
    } else {
        let half = 1 << left.ilog2();
        one(0, half);
        one(count - half, half);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(count: i64, again: bool) -> Vec<(i64, i64, i64)> {
        pieces(count, &Along { lanes: 16, vectors: 4, again }).iter().map(|it| (it.begin, it.turns, it.lanes)).collect()
    }

    #[test]
    fn every_place_is_in_a_vector() {
        assert_eq!(all(112, true), [(0, 1, 64), (64, 3, 16)]);
        assert_eq!(all(56, true), [(0, 3, 16), (48, 1, 8)]);
        assert_eq!(all(55, true), [(0, 3, 16), (39, 1, 16)]);
        assert_eq!(all(55, false), [(0, 3, 16), (48, 1, 7)]);
        assert_eq!(all(128, true), [(0, 2, 64)]);
        assert_eq!(all(70, true), [(0, 1, 64), (54, 1, 16)]);
        assert_eq!(all(14, true), [(0, 1, 8), (6, 1, 8)]);
        assert_eq!(all(14, false), [(0, 1, 14)]);
        assert_eq!(all(1, true), [(0, 1, 1)]);
        assert_eq!(all(0, true), []);
    }
}
