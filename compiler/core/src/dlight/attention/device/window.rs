//! Blocks of keys that queries of a tile see: others are not computed, and those that all queries see as a whole have no mask.

use tenfold_ir::Scalar;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::tir::{Builder, ExprId, Stmt, VarId};

use super::{Here, part};
use crate::dlight::attention::seen::Seen;
use crate::dlight::emit::{Places, at, plus, times};

/// The blocks of a tile of queries.
pub(super) struct Window {
    seen: Seen,
    row: VarId,
    /// The first query of the tile, and the last one, if there are as many.
    rows: [ExprId; 2],
    /// The first key of the first block, unless that is the first one of all.
    pub first: Option<ExprId>,
    /// How many blocks there are.
    pub blocks: IntExpr,
}

impl Window {
    /// Of so many queries from a first one on, blocks of so many keys.
    pub(super) fn new(
        b: &mut Builder,
        (seen, row): (Seen, VarId),
        (first, rows): (ExprId, i64),
        (count, keys): (&IntExpr, i64),
    ) -> Window {
        let last = b.index(rows - 1);
        let rows = [first, plus(b, first, last)];
        let (none, one) = (b.index(0), b.index(1));
        let mut blocks = b.int_expr(count);
        if let Some(end) = seen.end {
            // There is a block where there are any, whatever is seen of it.
            let end = of(b, end, row, rows[1]);
            let whole = b.index(keys - 1);
            let end = plus(b, end, whole);
            let behind = part(b, BinaryOp::DivEuclid, end, keys);
            let behind = b.binary(BinaryOp::Max, behind, one);
            blocks = b.binary(BinaryOp::Min, blocks, behind);
        }
        let before = seen.begin.map(|begin| {
            let begin = of(b, begin, row, rows[0]);
            let before = part(b, BinaryOp::DivEuclid, begin, keys);
            let last = b.sub(blocks, one);
            let before = b.binary(BinaryOp::Min, before, last);
            let before = b.binary(BinaryOp::Max, before, none);
            b.let_("before", before)
        });
        let first = before.map(|before| {
            let before = b.read(before);
            blocks = b.sub(blocks, before);
            times(b, before, keys)
        });
        let blocks = b.let_("blocks", blocks);
        Window { seen, row, rows, first, blocks: IntExpr::var(b.sym(blocks).clone()) }
    }

    /// Whether a query of the tile does not see all of a block that begins with a key.
    fn hides(&self, b: &mut Builder, first: ExprId, keys: i64) -> Option<ExprId> {
        let behind = self.seen.end.map(|end| {
            let (end, keys) = (of(b, end, self.row, self.rows[0]), b.index(keys));
            let behind = plus(b, first, keys);
            b.compare(CmpOp::Lt, end, behind)
        });
        let before = self.seen.begin.map(|begin| {
            let begin = of(b, begin, self.row, self.rows[1]);
            b.compare(CmpOp::Lt, first, begin)
        });
        match (before, behind) {
            (Some(before), Some(behind)) => Some(b.or(before, behind)),
            (one, other) => one.or(other),
        }
    }

    /// The score of a key, which is the least one if the query does not see it.
    pub(super) fn masked(&self, b: &mut Builder, [row, key]: [ExprId; 2], score: ExprId) -> ExprId {
        let least = b.scalar(Scalar::least(tenfold_ir::DType::F32));
        let mut score = score;
        if let Some(end) = self.seen.end {
            let end = of(b, end, self.row, row);
            let seen = b.compare(CmpOp::Lt, key, end);
            score = b.select(seen, score, least);
        }
        if let Some(begin) = self.seen.begin {
            let begin = of(b, begin, self.row, row);
            let seen = b.compare(CmpOp::Le, begin, key);
            score = b.select(seen, score, least);
        }
        score
    }
}

/// An end of what a query sees.
fn of(b: &mut Builder, end: ExprId, row: VarId, query: ExprId) -> ExprId {
    at(b, end, &Places::from([(row, query)]), None)
}

/// Does something for a block that begins with a key: what it is given is the window if there is a mask in it.
pub(super) fn of_block(
    b: &mut Builder,
    here: &Here,
    (first, keys): (ExprId, i64),
    f: &mut dyn FnMut(&mut Builder, Option<&Window>),
) {
    let hidden = here.window.as_ref().and_then(|window| Some((window, window.hides(b, first, keys)?)));
    let Some((window, cond)) = hidden else { return f(b, None) };
    b.open_scope();
    f(b, Some(window));
    let then = Box::new(b.close_scope());
    b.open_scope();
    f(b, None);
    let otherwise = Some(Box::new(b.close_scope()));
    b.push(Stmt::If { cond, then, otherwise });
}
