//! An attention of halves: warps multiply matrices, each for 16 queries.
//!
//! Lines of shared memory are a chunk longer than what they hold, so that eight threads read or write other banks. Scores of
//! a block are sums of a warp's product, and are where the product with the values has its left operand: weights go from
//! one to the other in registers.

use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::tir::{
    Access, BufId, Builder, Elem, Expr, ExprId, ExprMap, Intrinsic, LoopKind, PrimFunc, Scope, Stmt, Ty, VarId, Viewer,
    WARP, Warp,
};
use tenfold_ir::{DType, Scalar};

use super::copies::{self, Lines, ramp};
use super::online::Online;
use super::parts::{self, Part};
use super::window::{self, Window};
use super::{Here, Sizes, own, part, wait, write};
use crate::dlight::attention::found::Attention;
use crate::dlight::emit::{at, each, load, plus, times};

/// Halves of 16 bytes, which a thread copies at once; rows of a matrix.
const CHUNK: i64 = 8;

/// Rows and terms of a product.
pub(super) const SIDE: i64 = 16;

/// Keys of a block.
pub(super) const KEYS: i64 = 64;

/// Queries of a thread, and neighbours in a warp that have the same.
pub(super) const OWN: i64 = 2;
pub(super) const ACROSS: i64 = 4;

/// An operand as the halves that it is.
#[derive(Clone, Copy)]
pub(super) struct Halves {
    pub query: ExprId,
    pub keys: ExprId,
    pub values: ExprId,
    pub dtype: DType,
}

/// The operands, if all are rows of halves of one dtype, whose chunks can be copied as they lie.
pub(super) fn halves(func: &PrimFunc, found: &Attention) -> Option<Halves> {
    let depth = found.depth.var;
    let query = rows(func, found.query, depth)?;
    let (keys, values) = (rows(func, found.keys, depth)?, rows(func, found.values, found.column.var)?);
    let dtype = of(func, query)?;
    let alike = of(func, keys) == Some(dtype) && of(func, values) == Some(dtype) && found.rounded == Some(dtype);
    alike.then_some(Halves { query, keys, values, dtype })
}

fn of(func: &PrimFunc, id: ExprId) -> Option<DType> {
    match func.exprs.ty(id).elem {
        Elem::Scalar(dtype @ (DType::F16 | DType::BF16)) => Some(dtype),
        Elem::Scalar(_) | Elem::Index => None,
    }
}

/// What is widened, if it is an element of a row that a variable walks, whose chunks can be copied as they lie.
fn rows(func: &PrimFunc, id: ExprId, along: VarId) -> Option<ExprId> {
    let Expr::Cast(_, narrow) = *func.exprs.get(id) else { return None };
    copies::is_row(func, narrow, along).then_some(narrow)
}

/// An expression of `f32` without what is rounded to halves on its way: weights are, once, and that says enough.
pub(super) fn unrounded(b: &mut Builder, id: ExprId) -> ExprId {
    let mut map = ExprMap::new(|b: &mut Builder, id: ExprId| match *b.func().exprs.get(id) {
        Expr::Cast(Ty { elem: Elem::Scalar(DType::F32), .. }, narrow) if of(b.func(), narrow).is_some() => {
            widened(b, narrow)
        }
        _ => id,
    });
    map.expr(b, id)
}

/// A half as the `f32` that it is made of, or that is made of it.
fn widened(b: &mut Builder, id: ExprId) -> ExprId {
    match *b.func().exprs.get(id) {
        Expr::Cast(_, wide) if b.ty(wide) == Ty::scalar(DType::F32) => wide,
        Expr::Const(number) => b.scalar(Scalar::float(DType::F32, number.to_f64())),
        Expr::Binary(op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div), x, y) => {
            let (x, y) = (widened(b, x), widened(b, y));
            b.binary(op, x, y)
        }
        Expr::Select(cond, x, y) => {
            let (x, y) = (widened(b, x), widened(b, y));
            b.select(cond, x, y)
        }
        Expr::If(cond, x, y) => {
            let (x, y) = (widened(b, x), widened(b, y));
            b.if_(cond, x, y)
        }
        _ => b.cast(DType::F32, id),
    }
}

/// From one line to the next in shared memory.
fn pitch(length: i64) -> i64 {
    length + CHUNK
}

/// Halves in shared memory: of queries, and of so many blocks of keys and of values.
pub(super) fn shared(depth: i64, columns: i64, stages: i64) -> [i64; 3] {
    [super::ROWS * pitch(depth), stages * KEYS * pitch(depth), stages * KEYS * pitch(columns)]
}

/// A group with what it shares, and what each thread has for itself.
pub(super) struct Group<'a> {
    found: &'a Attention,
    halves: Halves,
    depth: i64,
    columns: i64,
    stages: i64,
    here: Here,
    spread: Spread,
    shared: [BufId; 3],
    left: BufId,
    right: BufId,
    scores: BufId,
    weights: BufId,
    sums: BufId,
    online: Online,
}

impl<'a> Group<'a> {
    pub(super) fn new(b: &mut Builder, found: &'a Attention, (halves, sizes): (Halves, Sizes), here: Here) -> Self {
        let (Sizes { depth, columns, .. }, stages) = (sizes, sizes.stages());
        let mut names = ["queries", "keys", "values"].into_iter();
        let shared = shared(depth, columns, stages).map(|n| {
            let name = names.next().unwrap_or_default();
            b.alloc(name, halves.dtype, vec![n.into()], Scope::SharedDyn)
        });
        let mut own = |name, dtype, n: i64| b.alloc(name, dtype, vec![n.into()], Scope::Local);
        let (left, right) = (own("left", halves.dtype, CHUNK), own("right", halves.dtype, CHUNK));
        let weights = own("weights", halves.dtype, KEYS / 2);
        let (scores, sums) = (own("scores", DType::F32, KEYS / 2), own("sums", DType::F32, columns / 2));
        let mut online = Online::new(b, DType::F32, OWN, ACROSS);
        online.rounded = Some(1.0);
        let lane = part(b, BinaryOp::RemEuclid, here.thread, WARP);
        let warp = part(b, BinaryOp::DivEuclid, here.thread, WARP);
        let spread = Spread { lane, warp, first: here.first };
        Group {
            found,
            halves,
            depth,
            columns,
            stages,
            here,
            spread,
            shared,
            left,
            right,
            scores,
            weights,
            sums,
            online,
        }
    }

    pub(super) fn run(&self, b: &mut Builder) {
        let (zero, found) = (b.scalar(Scalar::zero(DType::F32)), self.found);
        own(b, self.columns / 2, &mut |b, e| b.store(self.sums, vec![e], zero));
        let row = found.row.as_ref().map(|row| row.var);
        let (first, rows) = (self.here.first, self.here.rows);
        let none = b.index(0);
        self.fill(b, (self.shared[0], none, self.halves.query), (row, found.depth.var), self.depth, (first, rows));
        let blocks = parts::blocks(b, found, &self.here, KEYS);
        if self.stages == 2 {
            self.block(b, none);
        }
        each(b, "block", &blocks, LoopKind::Serial, &mut |b, n| {
            // Behind the block before this one, whose stage is the next one's.
            wait(b, Scope::SharedDyn);
            if self.stages == 2 {
                super::next(b, n, &blocks, &mut |b, next| self.block(b, next));
            } else {
                self.block(b, n);
                wait(b, Scope::SharedDyn);
            }
            let first = parts::first_key(b, &self.here, n, KEYS);
            self.scores(b, n, first);
            self.weigh(b);
            self.results(b, n);
        });
        if let Some(part) = &self.here.part {
            return self.leave(b, part);
        }
        let count = Viewer::new(b.func()).int(found.key.extent);
        let empty = super::is_empty(b, &count);
        self.online.invert(b, found.unseen, empty);
        self.written(b);
    }

    /// Keys and values of a block begin to come to its stage.
    fn block(&self, b: &mut Builder, n: ExprId) {
        let (found, first) = (self.found, parts::first_key(b, &self.here, n, KEYS));
        let lines = (first, found.key.extent);
        let operands =
            [(self.halves.keys, found.depth.var, self.depth), (self.halves.values, found.column.var, self.columns)];
        for (to, (of, along, length)) in self.shared[1..].iter().zip(operands) {
            let stage = self.stage(b, n, length);
            self.fill(b, (*to, stage, of), (Some(found.key.var), along), length, lines);
        }
    }

    /// Where the stage of a block begins, of lines of that length.
    fn stage(&self, b: &mut Builder, n: ExprId, length: i64) -> ExprId {
        let stage = part(b, BinaryOp::RemEuclid, n, self.stages);
        times(b, stage, KEYS * pitch(length))
    }

    /// What the group has made of its part of the keys.
    fn leave(&self, b: &mut Builder, part: &Part) {
        self.online.gather(b);
        let none = b.index(0);
        self.each(b, self.columns, &mut |b, [row, column], i, e| {
            let has_row = b.compare(CmpOp::Lt, row, self.here.rows);
            let alone = b.compare(CmpOp::Eq, column, none);
            b.open_scope();
            let sum = load(b, self.sums, &[e]);
            part.put_sum(b, &self.here, [row, column], sum);
            b.open_scope();
            part.put_online(b, &self.here, row, (&self.online, i));
            let then = Box::new(b.close_scope());
            b.push(Stmt::If { cond: alone, then, otherwise: None });
            let then = Box::new(b.close_scope());
            b.push(Stmt::If { cond: has_row, then, otherwise: None });
        });
    }

    /// All threads copy some lines to shared memory.
    fn fill(
        &self,
        b: &mut Builder,
        (to, stage, of): (BufId, ExprId, ExprId),
        (own, along): (Option<VarId>, VarId),
        length: i64,
        lines: (ExprId, ExprId),
    ) {
        let of = Lines { to, stage, of, own, along, count: KEYS, length, pitch: pitch(length) };
        of.copy(b, &self.here, lines);
    }

    /// Matrices of 16 by 16 of an operand in shared memory: `lines` and `chunks` say which of its four each is, by its
    /// number's low and high bit.
    fn matrices(
        &self,
        b: &mut Builder,
        f: Warp,
        (from, stage, length): (BufId, ExprId, i64),
        to: BufId,
        [line, chunk]: [ExprId; 2],
    ) {
        let row = part(b, BinaryOp::RemEuclid, self.spread.lane, CHUNK);
        let line = times(b, line, CHUNK);
        let line = plus(b, line, row);
        let far = times(b, line, pitch(length));
        let near = times(b, chunk, CHUNK);
        let first = plus(b, far, near);
        let first = plus(b, stage, first);
        let place = ramp(b, first, CHUNK);
        let row = vector(b, from, place);
        let value = together(b, f, vec![row]);
        let zero = b.index(0);
        let own = ramp(b, zero, CHUNK);
        b.store(to, vec![own], value);
    }

    /// The low and the high bit of the number of the matrix of which the thread names a row.
    fn bits(&self, b: &mut Builder) -> (ExprId, ExprId) {
        let matrix = part(b, BinaryOp::DivEuclid, self.spread.lane, CHUNK);
        (part(b, BinaryOp::RemEuclid, matrix, 2), part(b, BinaryOp::DivEuclid, matrix, 2))
    }

    /// Two products of a warp, side by side, added to their sums.
    fn pair(&self, b: &mut Builder, (left, k): (BufId, ExprId), (sums, n): (BufId, ExprId)) {
        for half in 0..2 {
            let (first, line) = (times(b, k, CHUNK), times(b, n, 2 * CHUNK / 2));
            let own = b.index(4 * half);
            let sum = plus(b, line, own);
            let (a, c) = (ramp(b, first, CHUNK), ramp(b, sum, 4));
            let right = ramp(b, own, 4);
            let args = vec![vector(b, left, a), vector(b, self.right, right), vector(b, sums, c)];
            let value = together(b, Warp::Mma, args);
            b.store(sums, vec![c], value);
        }
    }

    /// Scores of a block of keys.
    fn scores(&self, b: &mut Builder, n: ExprId, first: ExprId) {
        let zero = b.scalar(Scalar::zero(DType::F32));
        own(b, KEYS / 2, &mut |b, e| b.store(self.scores, vec![e], zero));
        let (low, high) = self.bits(b);
        let (begin, stage) = (b.index(0), self.stage(b, n, self.depth));
        own(b, self.depth / SIDE, &mut |b, k| {
            let (none, lines, chunks) = (b.index(0), times(b, self.spread.warp, 2), times(b, k, 2));
            let place = [plus(b, lines, low), plus(b, chunks, high)];
            self.matrices(b, Warp::LdMatrix, (self.shared[0], begin, self.depth), self.left, place);
            own(b, KEYS / SIDE, &mut |b, n| {
                let lines = times(b, n, 2);
                let place = [plus(b, lines, high), plus(b, chunks, low)];
                self.matrices(b, Warp::LdMatrix, (self.shared[1], stage, self.depth), self.right, place);
                self.pair(b, (self.left, none), (self.scores, n));
            });
        });
        window::of_block(b, &self.here, (first, KEYS), &mut |b, window| {
            self.each(b, KEYS, &mut |b, place, _, e| {
                scored(b, (self.found, &self.here, self.here.score), (place, first), (self.scores, e), window);
            });
        });
    }

    /// Scores become weights, which are rounded to halves.
    fn weigh(&self, b: &mut Builder) {
        self.online.begin(b);
        self.each(b, KEYS, &mut |b, _, i, e| {
            let score = load(b, self.scores, &[e]);
            self.online.score(b, i, score);
        });
        self.online.rescale(b);
        self.each(b, KEYS, &mut |b, _, i, e| {
            self.online.weigh(b, i, (self.scores, e));
            let weight = load(b, self.scores, &[e]);
            let weight = b.cast(self.halves.dtype, weight);
            b.store(self.weights, vec![e], weight);
        });
    }

    /// Values of a block, added up with its weights.
    fn results(&self, b: &mut Builder, n: ExprId) {
        self.each(b, self.columns, &mut |b, _, i, e| self.online.scaled(b, i, (self.sums, e)));
        let (low, high) = self.bits(b);
        let stage = self.stage(b, n, self.columns);
        own(b, KEYS / SIDE, &mut |b, k| {
            own(b, self.columns / SIDE, &mut |b, n| {
                let (lines, chunks) = (times(b, k, 2), times(b, n, 2));
                let place = [plus(b, lines, low), plus(b, chunks, high)];
                self.matrices(b, Warp::LdMatrixTrans, (self.shared[2], stage, self.columns), self.right, place);
                self.pair(b, (self.weights, k), (self.sums, n));
            });
        });
    }

    fn each(&self, b: &mut Builder, columns: i64, f: &mut EachSum<'_>) {
        self.spread.each(b, columns, f);
    }

    fn written(&self, b: &mut Builder) {
        self.each(b, self.columns, &mut |b, [row, column], i, e| {
            let (sum, inverse) = (load(b, self.sums, &[e]), load(b, self.online.scale, &[i]));
            let result = b.mul(sum, inverse);
            let cond = b.compare(CmpOp::Lt, row, self.here.rows);
            b.open_scope();
            write(b, self.found, &self.here, [row, column], result);
            let then = Box::new(b.close_scope());
            b.push(Stmt::If { cond, then, otherwise: None });
        });
    }
}

/// Which thread it is that has sums: its number in its warp, that of the warp, and the first query of the group.
pub(super) struct Spread {
    pub lane: ExprId,
    pub warp: ExprId,
    pub first: ExprId,
}

impl Spread {
    /// Something for each sum of a thread among so many columns: its query and column, the number of the query, its own.
    pub(super) fn each(&self, b: &mut Builder, columns: i64, f: &mut EachSum<'_>) {
        let (long, short) = (part(b, BinaryOp::DivEuclid, self.lane, 4), part(b, BinaryOp::RemEuclid, self.lane, 4));
        let (top, left) = (times(b, self.warp, SIDE), times(b, short, 2));
        let top = plus(b, self.first, top);
        let top = plus(b, top, long);
        own(b, columns / CHUNK, &mut |b, t| {
            own(b, OWN, &mut |b, i| {
                own(b, 2, &mut |b, l| {
                    let (down, tile) = (times(b, i, CHUNK), times(b, t, CHUNK));
                    let (row, column) = (plus(b, top, down), plus(b, tile, left));
                    let column = plus(b, column, l);
                    let (line, own) = (times(b, t, 4), times(b, i, 2));
                    let number = plus(b, line, own);
                    let number = plus(b, number, l);
                    f(b, [row, column], i, number);
                });
            });
        });
    }
}

/// A score is made of a product, and is the least one where there is no such query, or no such key, of a block that begins
/// with the first one, and where a window hides it.
pub(super) fn scored(
    b: &mut Builder,
    (found, here, score): (&Attention, &Here, ExprId),
    ([row, column], first): ([ExprId; 2], ExprId),
    (scores, e): (BufId, ExprId),
    window: Option<&Window>,
) {
    let (key, least) = (plus(b, first, column), b.scalar(Scalar::least(DType::F32)));
    let mut places = here.places.clone();
    places.insert(found.key.var, key);
    places.extend(found.row.as_ref().map(|iter| (iter.var, row)));
    let dot = load(b, scores, &[e]);
    let score = at(b, score, &places, Some((found.dot, dot)));
    // Of a query that is not there a score may be anything, unless it is made of something else in memory.
    let score = if reads_alone(b.func(), score, scores) {
        score
    } else {
        let has_row = b.compare(CmpOp::Lt, row, here.rows);
        b.if_(has_row, score, least)
    };
    let score = window.map_or(score, |window| window.masked(b, [row, key], score));
    let has_key = b.compare(CmpOp::Lt, key, found.key.extent);
    let score = b.if_(has_key, score, least);
    b.store(scores, vec![e], score);
}

/// Whether an expression reads no other buffer.
fn reads_alone(func: &PrimFunc, id: ExprId, of: BufId) -> bool {
    func.reachable([id]).into_iter().all(|e| !matches!(func.exprs.get(e), Expr::Load { buf, .. } if *buf != of))
}

/// What is done with a sum.
pub(super) type EachSum<'f> = dyn FnMut(&mut Builder, [ExprId; 2], ExprId, ExprId) + 'f;

/// What stands in a buffer at a vector of places.
pub(super) fn vector(b: &mut Builder, buf: BufId, at: ExprId) -> ExprId {
    let ty = Ty { lanes: b.ty(at).lanes, ..Ty::scalar(b.buf(buf).dtype) };
    b.raw(Expr::Load { buf, index: vec![at], access: Access::Proven }, ty)
}

/// What the threads of a warp make together; its type is the last operand's.
pub(super) fn together(b: &mut Builder, f: Warp, args: Vec<ExprId>) -> ExprId {
    let ty = args.last().map_or(Ty::index(), |last| b.ty(*last));
    b.raw(Expr::Call(Intrinsic::Warp(f), args, ty), ty)
}
