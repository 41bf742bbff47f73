//! An attention of `f32`, element by element: threads multiply squares of queries and keys, of queries and elements of values,
//! and find neighbours in lines of shared memory in one load where these are copied there.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::tir::{Barrier, BufId, Builder, ExprId, LoopKind, Scope, Stmt, VarId, Viewer};
use tenfold_ir::{DType, Scalar};

use super::copies::Lines;
use super::online::{Meeting, Online};
use super::parts::{self, Part};
use super::window::{self, Window};
use super::{ACROSS, DOWN, Here, Sizes, THREADS, is_empty, lines, next, own, part, wait, write};
use crate::dlight::attention::found::Attention;
use crate::dlight::emit::{at, each, load, plus, times};

/// A group with what it shares, and what each thread has for itself.
pub(super) struct Group<'a> {
    found: &'a Attention,
    sizes: Sizes,
    here: Here,
    queries: BufId,
    keys: BufId,
    values: BufId,
    weights: BufId,
    /// Of each query and key or element of a thread.
    scores: BufId,
    sums: BufId,
    online: Online,
    /// The number of the thread among those of its queries, and of these in a tile.
    across: ExprId,
    down: ExprId,
}

impl<'a> Group<'a> {
    pub(super) fn new(b: &mut Builder, found: &'a Attention, sizes: Sizes, here: Here) -> Self {
        let mut shared = |name, n: i64, copied: bool| {
            let by_threads = vec![lines(n).into(), THREADS.into()];
            b.alloc(name, found.dtype, if copied { vec![n.into()] } else { by_threads }, sizes.scope())
        };
        let [q, k, v, w, met] = sizes.shared(sizes.stages());
        let queries = shared("queries", q, false);
        let (keys, values) = (shared("keys", k, sizes.copied), shared("values", v, sizes.copied));
        let weights = shared("weights", w, false);
        let meeting = (!sizes.has_warps).then(|| Meeting { thread: here.thread, values: shared("met", met, false) });
        let mut own = |name, n: i64| b.alloc(name, found.dtype, vec![n.into()], Scope::Local);
        let (scores, sums) =
            (own("scores", sizes.queries() * sizes.some()), own("sums", sizes.queries() * sizes.own()));
        let mut online = Online::new(b, found.dtype, sizes.queries(), ACROSS);
        online.meeting = meeting;
        let across = part(b, BinaryOp::RemEuclid, here.thread, ACROSS);
        let down = part(b, BinaryOp::DivEuclid, here.thread, ACROSS);
        Group { found, sizes, here, queries, keys, values, weights, scores, sums, online, across, down }
    }

    pub(super) fn run(&self, b: &mut Builder) {
        let (zero, rows) = (self.number(b, Scalar::zero), self.here.rows);
        let (found, depth) = (self.found, self.sizes.depth);
        own(b, self.sizes.queries() * self.sizes.own(), &mut |b, e| b.store(self.sums, vec![e], zero));
        let row = found.row.as_ref().map(|row| row.var);
        let queries = Fill { to: self.queries, of: found.query, own: row, along: found.depth.var };
        self.fill(b, &queries, [self.sizes.rows, self.sizes.pitch(), depth], (self.here.first, rows));
        let blocks = parts::blocks(b, found, &self.here, self.sizes.keys);
        let is_staged = self.sizes.stages() == 2;
        if is_staged {
            let none = b.index(0);
            self.block(b, none);
        }
        each(b, "block", &blocks, LoopKind::Serial, &mut |b, n| {
            // Behind the block before this one, whose stage is the next one's.
            wait(b, self.sizes.scope());
            if is_staged {
                next(b, n, &blocks, &mut |b, next| self.block(b, next));
            } else {
                self.block(b, n);
                wait(b, self.sizes.scope());
            }
            let first = parts::first_key(b, &self.here, n, self.sizes.keys);
            self.scores(b, n, first);
            self.weights(b);
            // The next block may still be on its way.
            b.push(Stmt::Barrier(Barrier { scope: self.sizes.scope(), leaves: u8::from(is_staged) }));
            self.results(b, n);
        });
        if let Some(part) = &self.here.part {
            return self.leave(b, part);
        }
        let keys = Viewer::new(b.func()).int(found.key.extent);
        let empty = is_empty(b, &keys);
        self.online.invert(b, found.unseen, empty);
        self.written(b);
    }

    /// Keys and values of a block come to shared memory.
    fn block(&self, b: &mut Builder, n: ExprId) {
        let (found, sizes) = (self.found, self.sizes);
        let lines = (parts::first_key(b, &self.here, n, sizes.keys), found.key.extent);
        let own = Some(found.key.var);
        let operands = [
            (self.keys, found.keys, found.depth.var, [sizes.pitch(), sizes.depth]),
            (self.values, found.values, found.column.var, [sizes.own() * ACROSS, sizes.columns]),
        ];
        for (to, of, along, [pitch, length]) in operands {
            if sizes.copied {
                let stage = self.stage(b, n, pitch);
                Lines { to, stage, of, own, along, count: sizes.keys, length, pitch }.copy(b, &self.here, lines);
            } else {
                self.fill(b, &Fill { to, of, own, along }, [sizes.keys, pitch, length], lines);
            }
        }
    }

    /// Where the stage of a block begins, of lines so far apart.
    fn stage(&self, b: &mut Builder, n: ExprId, pitch: i64) -> ExprId {
        let stage = part(b, BinaryOp::RemEuclid, n, self.sizes.stages());
        times(b, stage, self.sizes.keys * pitch)
    }

    /// An element of a block's keys or values, `along` their line.
    fn of_block(&self, b: &mut Builder, n: ExprId, (from, pitch): (BufId, i64), [line, along]: [ExprId; 2]) -> ExprId {
        let number = times(b, line, pitch);
        let number = plus(b, number, along);
        if self.sizes.copied {
            let stage = self.stage(b, n, pitch);
            let number = plus(b, stage, number);
            return load(b, from, &[number]);
        }
        let place = slot(b, number);
        load(b, from, &place)
    }

    /// What the group has made of its part of the keys.
    fn leave(&self, b: &mut Builder, part: &Part) {
        self.online.gather(b);
        let (none, columns) = (b.index(0), b.index(self.sizes.columns));
        let alone = b.compare(CmpOp::Eq, self.across, none);
        own(b, self.sizes.queries(), &mut |b, i| {
            let row = self.row(b, i);
            let has_row = b.compare(CmpOp::Lt, row, self.here.rows);
            let cond = b.and(has_row, alone);
            b.open_scope();
            part.put_online(b, &self.here, row, (&self.online, i));
            let then = Box::new(b.close_scope());
            b.push(Stmt::If { cond, then, otherwise: None });
        });
        self.pairs(b, self.sizes.own(), &mut |b, i, j, e| {
            let (row, column) = (self.row(b, i), self.column(b, j));
            let has_row = b.compare(CmpOp::Lt, row, self.here.rows);
            let has_column = b.compare(CmpOp::Lt, column, columns);
            let cond = b.and(has_row, has_column);
            let sum = load(b, self.sums, &[e]);
            b.open_scope();
            part.put_sum(b, &self.here, [row, column], sum);
            let then = Box::new(b.close_scope());
            b.push(Stmt::If { cond, then, otherwise: None });
        });
    }

    /// Something for each pair of a thread's queries and so many others, with its number among all.
    fn pairs(&self, b: &mut Builder, columns: i64, f: &mut dyn FnMut(&mut Builder, ExprId, ExprId, ExprId)) {
        own(b, self.sizes.queries(), &mut |b, i| {
            own(b, columns, &mut |b, j| {
                let line = times(b, i, columns);
                let number = plus(b, line, j);
                f(b, i, j, number);
            });
        });
    }

    fn number(&self, b: &mut Builder, of: fn(DType) -> Scalar) -> ExprId {
        b.scalar(of(self.found.dtype))
    }

    /// The number of a thread's query.
    fn row(&self, b: &mut Builder, i: ExprId) -> ExprId {
        let own = self.in_tile(b, i);
        plus(b, self.here.first, own)
    }

    fn in_tile(&self, b: &mut Builder, i: ExprId) -> ExprId {
        let far = times(b, i, DOWN);
        plus(b, self.down, far)
    }

    /// The place among all of a key, or of an element, that a thread has.
    fn in_block(&self, b: &mut Builder, j: ExprId) -> ExprId {
        let far = times(b, j, ACROSS);
        plus(b, self.across, far)
    }

    /// The place among all of an element of a result that a thread has.
    fn column(&self, b: &mut Builder, j: ExprId) -> ExprId {
        let beside = self.sizes.beside();
        let (group, own) = (part(b, BinaryOp::DivEuclid, j, beside), part(b, BinaryOp::RemEuclid, j, beside));
        let vector = self.in_block(b, group);
        number(b, [vector, own], beside)
    }

    /// All threads bring some lines, each of `width` elements, `pitch` apart, to shared memory; zeros where there are none.
    fn fill(&self, b: &mut Builder, fill: &Fill, [lines, pitch, width]: [i64; 3], (first, count): (ExprId, ExprId)) {
        let turns = IntExpr::from(self::lines(lines * pitch));
        each(b, "turn", &turns, LoopKind::Serial, &mut |b, turn| {
            let number = times(b, turn, THREADS);
            let number = plus(b, number, self.here.thread);
            let line = part(b, BinaryOp::DivEuclid, number, pitch);
            let along = part(b, BinaryOp::RemEuclid, number, pitch);
            let own = plus(b, first, line);
            let mut places = self.here.places.clone();
            places.insert(fill.along, along);
            places.extend(fill.own.map(|var| (var, own)));
            let value = at(b, fill.of, &places, None);
            let (width, zero) = (b.index(width), self.number(b, Scalar::zero));
            let (has_line, has_place) = (b.compare(CmpOp::Lt, own, count), b.compare(CmpOp::Lt, along, width));
            let value = b.if_(has_place, value, zero);
            let value = b.if_(has_line, value, zero);
            b.store(fill.to, vec![turn, self.here.thread], value);
        });
    }

    /// Products of lines of two operands, added to what each pair of a thread's has: `rows` by `columns` of them.
    fn products(&self, b: &mut Builder, to: BufId, terms: i64, columns: i64, of: &mut Operands<'_>) {
        let some = self.sizes.terms();
        each(b, "k", &(terms / some).into(), LoopKind::Serial, &mut |b, k| {
            let mut own = |name, n: i64| b.alloc(name, self.found.dtype, vec![(n * some).into()], Scope::Local);
            let (left, right) = (own("left", self.sizes.queries()), own("right", columns));
            for (to, is_left, count) in [(left, true, self.sizes.queries()), (right, false, columns)] {
                self::own(b, count, &mut |b, i| {
                    self::own(b, some, &mut |b, u| {
                        let value = of(b, is_left, i, [k, u]);
                        let place = number(b, [i, u], some);
                        b.store(to, vec![place], value);
                    });
                });
            }
            self::own(b, some, &mut |b, u| {
                self.pairs(b, columns, &mut |b, i, j, at| {
                    let [x, y] = [(left, i), (right, j)].map(|(from, n)| {
                        let place = number(b, [n, u], some);
                        load(b, from, &[place])
                    });
                    let (old, product) = (load(b, to, &[at]), b.mul(x, y));
                    let new = b.add(old, product);
                    b.store(to, vec![at], new);
                });
            });
        });
    }

    /// Scores of a block of keys, and the greatest of them so far.
    fn scores(&self, b: &mut Builder, block: ExprId, first: ExprId) {
        let zero = self.number(b, Scalar::zero);
        own(b, self.sizes.queries() * self.sizes.some(), &mut |b, e| b.store(self.scores, vec![e], zero));
        self.products(b, self.scores, self.sizes.depth, self.sizes.some(), &mut |b, is_query, n, term| {
            let d = number(b, term, self.sizes.terms());
            if !is_query {
                let line = self.in_block(b, n);
                return self.of_block(b, block, (self.keys, self.sizes.pitch()), [line, d]);
            }
            let line = self.in_tile(b, n);
            let number = times(b, line, self.sizes.pitch());
            let number = plus(b, number, d);
            let place = slot(b, number);
            load(b, self.queries, &place)
        });
        window::of_block(b, &self.here, (first, self.sizes.keys), &mut |b, window| {
            self.pairs(b, self.sizes.some(), &mut |b, i, j, e| {
                let (row, own) = (self.row(b, i), self.in_block(b, j));
                let key = plus(b, first, own);
                self.scored(b, [row, key], e, window);
            });
        });
    }

    /// A score is made of a product, and is the least one where there is no such query or key, or where a window hides it.
    fn scored(&self, b: &mut Builder, [row, key]: [ExprId; 2], e: ExprId, window: Option<&Window>) {
        let mut places = self.here.places.clone();
        places.insert(self.found.key.var, key);
        places.extend(self.found.row.as_ref().map(|iter| (iter.var, row)));
        let dot = load(b, self.scores, &[e]);
        let score = at(b, self.here.score, &places, Some((self.found.dot, dot)));
        let score = window.map_or(score, |window| window.masked(b, [row, key], score));
        let (has_row, has_key) =
            (b.compare(CmpOp::Lt, row, self.here.rows), b.compare(CmpOp::Lt, key, self.found.key.extent));
        let least = self.number(b, Scalar::least);
        let score = b.if_(has_row, score, least);
        let score = b.if_(has_key, score, least);
        b.store(self.scores, vec![e], score);
    }

    /// Scores become weights, which other threads of the query find in shared memory.
    fn weights(&self, b: &mut Builder) {
        self.online.begin(b);
        self.pairs(b, self.sizes.some(), &mut |b, i, _, e| {
            let score = load(b, self.scores, &[e]);
            self.online.score(b, i, score);
        });
        self.online.rescale(b);
        self.pairs(b, self.sizes.some(), &mut |b, i, _, e| {
            self.online.weigh(b, i, (self.scores, e));
            let weight = load(b, self.scores, &[e]);
            b.store(self.weights, vec![e, self.here.thread], weight);
        });
    }

    /// Values of a block, added up with its weights.
    fn results(&self, b: &mut Builder, block: ExprId) {
        let each_of = self.sizes.own();
        self.pairs(b, each_of, &mut |b, i, _, e| self.online.scaled(b, i, (self.sums, e)));
        self.products(b, self.sums, self.sizes.keys, each_of, &mut |b, is_weight, n, [k, u]| {
            let some = self.sizes.terms();
            if is_weight {
                // Where the thread that has the query and every eighth key has put it.
                let (j, part_of) =
                    (part(b, BinaryOp::DivEuclid, k, ACROSS / some), part(b, BinaryOp::RemEuclid, k, ACROSS / some));
                let across = number(b, [part_of, u], some);
                let (line, thread) = (times(b, n, self.sizes.some()), times(b, self.down, ACROSS));
                let place = [plus(b, line, j), plus(b, thread, across)];
                return load(b, self.weights, &place);
            }
            let (key, own) = (number(b, [k, u], some), self.column(b, n));
            self.of_block(b, block, (self.values, each_of * ACROSS), [key, own])
        });
    }

    /// Results divided by the sums of weights, and written.
    fn written(&self, b: &mut Builder) {
        let columns = b.index(self.sizes.columns);
        self.pairs(b, self.sizes.own(), &mut |b, i, j, e| {
            let (row, column) = (self.row(b, i), self.column(b, j));
            let has_row = b.compare(CmpOp::Lt, row, self.here.rows);
            let has_column = b.compare(CmpOp::Lt, column, columns);
            let cond = b.and(has_row, has_column);
            let (sum, inverse) = (load(b, self.sums, &[e]), load(b, self.online.scale, &[i]));
            let result = b.mul(sum, inverse);
            b.open_scope();
            write(b, self.found, &self.here, [row, column], result);
            let then = Box::new(b.close_scope());
            b.push(Stmt::If { cond, then, otherwise: None });
        });
    }
}

/// An element of the left or right operand of a thread's pairs, by its number there, how many times some terms come before it,
/// and its number among those.
type Operands<'f> = dyn FnMut(&mut Builder, bool, ExprId, [ExprId; 2]) -> ExprId + 'f;

/// A number among all of one that is behind so many times some others.
fn number(b: &mut Builder, [times_some, own]: [ExprId; 2], some: i64) -> ExprId {
    let before = times(b, times_some, some);
    plus(b, before, own)
}

/// What comes to shared memory, by the iterators over its lines and along them.
struct Fill {
    to: BufId,
    of: ExprId,
    own: Option<VarId>,
    along: VarId,
}

/// The place of an element in shared memory that threads have filled side by side.
fn slot(b: &mut Builder, number: ExprId) -> [ExprId; 2] {
    [part(b, BinaryOp::DivEuclid, number, THREADS), part(b, BinaryOp::RemEuclid, number, THREADS)]
}
