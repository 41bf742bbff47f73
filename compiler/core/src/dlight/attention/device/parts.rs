//! Where there are few queries, as when one token follows the others: their keys in parts, of which each is a group's, so that
//! all multiprocessors read keys and values at once. What a group makes of its part lies in memory, and a second kernel makes
//! one result of those of all parts, as an online softmax goes on from one block of keys to the next.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, UnaryOp};
use tenfold_ir::tir::{BufId, Builder, ExprId, LoopKind, Scope, Stmt, ThreadAxis, Viewer};
use tenfold_ir::{DType, Scalar};

use super::online::Online;
use super::{Here, Sizes, around, is_empty, write};
use crate::dlight::attention::found::Attention;
use crate::dlight::emit::{each, load, plus, times};

/// Groups of a multiprocessor, at least: one reads while another one computes.
const GROUPS: i64 = 2;

/// Blocks of a part, at least, and where nobody knows how many keys there are.
const LEAST: i64 = 2;
const UNKNOWN: i64 = 8;

/// Keys of a part, a multiple of those of a block.
pub(super) fn keys_of(keys: Option<i64>, block: i64, groups: i64, multiprocessors: i64) -> Option<i64> {
    if groups >= multiprocessors {
        return None;
    }
    let Some(keys) = keys else { return Some(UNKNOWN * block) };
    let parts = (GROUPS * multiprocessors / groups.max(1)).max(1);
    let own = (keys + parts - 1) / parts;
    let own = ((own + block - 1) / block * block).max(LEAST * block);
    (own < keys).then_some(own)
}

/// What groups leave of the queries of their parts, by batches and heads, part and query.
#[derive(Clone, Copy)]
pub(super) struct Left {
    /// Weighted sums of values, by column too.
    sums: BufId,
    greatest: BufId,
    total: BufId,
}

/// A part of the keys, which a group has.
pub(super) struct Part {
    pub left: Left,
    /// Its number, and its first key.
    pub number: ExprId,
    pub first: ExprId,
    pub keys: i64,
}

/// How many parts there are.
pub(super) fn count(b: &Builder, found: &Attention, keys: i64) -> IntExpr {
    let all = Viewer::new(b.func()).int(found.key.extent);
    (&all + &IntExpr::from(keys - 1)).floor_div(&IntExpr::from(keys))
}

impl Left {
    /// Memory for what groups leave.
    pub(super) fn new(b: &mut Builder, found: &Attention, sizes: Sizes, parts: &IntExpr) -> Left {
        let outer = found.outer.iter().map(|iter| Viewer::new(b.func()).int(iter.extent));
        let lines: Vec<IntExpr> = outer.chain([parts.clone(), sizes.few.into()]).collect();
        let with_columns = lines.iter().cloned().chain([sizes.columns.into()]).collect();
        let sums = b.alloc("sums_of_parts", DType::F32, with_columns, Scope::Global);
        let mut line = |name| b.alloc(name, DType::F32, lines.clone(), Scope::Global);
        Left { sums, greatest: line("greatest_of_parts"), total: line("total_of_parts") }
    }
}

impl Part {
    /// Where a query's numbers lie.
    fn line(&self, here: &Here, row: ExprId) -> Vec<ExprId> {
        here.outer.iter().copied().chain([self.number, row]).collect()
    }

    /// A weighted sum of values.
    pub(super) fn put_sum(&self, b: &mut Builder, here: &Here, [row, column]: [ExprId; 2], sum: ExprId) {
        let place = self.line(here, row).into_iter().chain([column]).collect();
        b.store(self.left.sums, place, sum);
    }

    /// The greatest score of a query, and the sum of its weights.
    pub(super) fn put_online(&self, b: &mut Builder, here: &Here, row: ExprId, (online, i): (&Online, ExprId)) {
        let (greatest, total) = (load(b, online.greatest, &[i]), load(b, online.total, &[i]));
        b.store(self.left.greatest, self.line(here, row), greatest);
        b.store(self.left.total, self.line(here, row), total);
    }
}

/// The second kernel: a group a query, a thread a column.
pub(super) fn combine(b: &mut Builder, found: &Attention, sizes: Sizes, (left, parts): (Left, &IntExpr)) {
    let (row, thread) = (b.index_var("row"), b.index_var("thread"));
    let rows = b.index(sizes.few);
    let (mut loops, places, outer) = around(b, found, (row, rows));
    let threads = b.index(sizes.columns);
    loops.push((thread, threads, ThreadAxis::Thread(0)));
    let (row, column) = (b.read(row), b.read(thread));
    b.open_scope();
    let (score, window) = (found.score, None);
    let here = Here { places, outer, thread: column, first: row, rows, part: None, score, window };
    let online = Online::new(b, DType::F32, 1, 1);
    let zero = b.index(0);
    let none = b.scalar(Scalar::zero(DType::F32));
    let sum = b.alloc("sum", DType::F32, vec![1.into()], Scope::Local);
    b.store(sum, vec![zero], none);
    each(b, "part", parts, LoopKind::Serial, &mut |b, part| {
        let line: Vec<ExprId> = here.outer.iter().copied().chain([part, row]).collect();
        let of_column: Vec<ExprId> = line.iter().copied().chain([column]).collect();
        online.begin(b);
        let top = load(b, left.greatest, &line);
        online.score(b, zero, top);
        online.rescale(b);
        online.scaled(b, zero, (sum, zero));
        let (top, base) = (load(b, left.greatest, &line), load(b, online.base, &[zero]));
        let shifted = b.sub(top, base);
        let weight = b.unary(UnaryOp::Exp, shifted);
        for (to, from, index) in [(online.total, left.total, &line), (sum, left.sums, &of_column)] {
            let (old, new) = (load(b, to, &[zero]), load(b, from, index));
            let new = b.mul(new, weight);
            let new = b.binary(BinaryOp::Add, old, new);
            b.store(to, vec![zero], new);
        }
    });
    let keys = Viewer::new(b.func()).int(found.key.extent);
    let empty = is_empty(b, &keys);
    online.invert(b, found.unseen, empty);
    let (sum, inverse) = (load(b, sum, &[zero]), load(b, online.scale, &[zero]));
    let result = b.mul(sum, inverse);
    write(b, found, &here, [row, column], result);
    let body = b.close_scope();
    let body = bound(b, loops, body);
    b.push(body);
}

/// Loops over groups and threads around what a thread does.
pub(super) fn bound(b: &mut Builder, loops: Vec<super::Bound>, body: Stmt) -> Stmt {
    let zero = b.index(0);
    let loops = loops.into_iter().rev();
    loops.fold(body, |body, (var, extent, axis)| Stmt::loop_(var, zero, extent, LoopKind::ThreadBound(axis), body))
}

/// The first key of a block, of a part, of those that queries see, or of all.
pub(super) fn first_key(b: &mut Builder, here: &Here, block: ExprId, keys: i64) -> ExprId {
    let first = times(b, block, keys);
    let part = here.part.as_ref().map(|part| part.first);
    match part.or(here.window.as_ref().and_then(|window| window.first)) {
        Some(before) => plus(b, before, first),
        None => first,
    }
}

/// How many blocks of keys a group has.
pub(super) fn blocks(b: &Builder, found: &Attention, here: &Here, keys: i64) -> IntExpr {
    match (&here.part, &here.window) {
        (Some(part), _) => (part.keys / keys).into(),
        (None, Some(window)) => window.blocks.clone(),
        (None, None) => count(b, found, keys),
    }
}
