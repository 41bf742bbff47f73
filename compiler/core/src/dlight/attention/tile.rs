//! A tile of queries: scores of a block of keys into a buffer that a near cache holds, a softmax of its rows, and the
//! values of these keys added up with the weights.
//!
//! Where all keys are one block, that is all, and what was added up is divided by the sum of a row's weights in the
//! end. Else blocks follow one another with an online softmax: the greatest score and the sum of weights so far, and
//! results that are scaled where a greater score comes up.

use tenfold_ir::Scalar;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::tir::{Access, BufId, Builder, ExprId, LoopKind, Scope, Viewer};

use super::found::{Attention, Unseen};
use super::plan::{Plan, TERMS};
use crate::dlight::emit::{Grid, Places, Strip, at, each, folded, greater, load, plus, strips, times};
use crate::dlight::tiles::balanced;
use crate::dlight::walk::straight;

/// Makes the factors of a term: from a row, a column and the term.
type Factors<'f> = dyn FnMut(&mut Builder, ExprId, ExprId, ExprId) -> (ExprId, ExprId) + 'f;

/// What all tiles of an attention have in common.
pub(super) struct Tiles<'a> {
    pub found: &'a Attention,
    pub plan: &'a Plan,
    /// An element of a key as it is read.
    pub keys: ExprId,
    /// An element of a value.
    pub values: ExprId,
}

/// A tile of queries.
struct Tile {
    /// What stands for batches and heads.
    outer: Places,
    /// The first query.
    first: ExprId,
    /// How many there are.
    rows: i64,
    /// Their elements.
    query: BufId,
    /// What one division per row makes of the sum of its weights.
    inverse: BufId,
    /// What blocks hand on.
    online: Option<Online>,
}

/// What is known of the rows of a tile after some blocks of keys.
struct Online {
    /// The greatest score of a row.
    greatest: BufId,
    /// The sum of its weights.
    total: BufId,
    /// What results so far are to be multiplied with.
    scale: BufId,
    /// Results so far.
    result: BufId,
}

/// Keys whose scores are there at once.
struct Block {
    first: ExprId,
    count: IntExpr,
    scores: BufId,
    /// Of each row and lane, the greatest score.
    most: BufId,
}

impl Tiles<'_> {
    /// A tile of so many queries.
    pub(super) fn tile(&self, b: &mut Builder, outer: &Places, first: ExprId, rows: i64) {
        let (query, inverse) = (self.local(b, "query", &[rows, self.plan.depth]), self.local(b, "inverse", &[rows]));
        let online = self.plan.whole.is_none().then(|| self.online(b, rows));
        let tile = Tile { outer: outer.clone(), first, rows, query, inverse, online };
        self.queries(b, &tile);
        let keys = Viewer::new(b.func()).int(self.found.key.extent);
        let block = self.plan.block;
        if tile.online.is_none() {
            let zero = b.index(0);
            return self.block(b, &tile, zero, &keys);
        }
        let whole = keys.floor_div(&IntExpr::from(block));
        each(b, "block", &whole, LoopKind::Serial, &mut |b, n| {
            let first = times(b, n, block);
            self.block(b, &tile, first, &block.into());
        });
        let begin = &whole * block;
        let rest = keys.floor_mod(&IntExpr::from(block));
        if rest.as_const() != Some(0) {
            let begin = b.int_expr(&begin);
            self.block(b, &tile, begin, &rest);
        }
        self.divided(b, &tile, &keys);
    }

    fn local(&self, b: &mut Builder, name: &str, shape: &[i64]) -> BufId {
        b.alloc(name, self.found.dtype, shape.iter().map(|n| IntExpr::from(*n)).collect(), Scope::Local)
    }

    fn zero(&self, b: &mut Builder) -> ExprId {
        b.scalar(Scalar::zero(self.found.dtype))
    }

    fn least(&self, b: &mut Builder) -> ExprId {
        b.scalar(Scalar::least(self.found.dtype))
    }

    /// What blocks hand on, as it is before the first of them.
    fn online(&self, b: &mut Builder, rows: i64) -> Online {
        let columns = self.plan.columns;
        let (greatest, total) = (self.local(b, "greatest", &[rows]), self.local(b, "total", &[rows]));
        let (scale, result) = (self.local(b, "scale", &[rows]), self.local(b, "sums", &[rows, columns]));
        let (zero, least) = (self.zero(b), self.least(b));
        each(b, "i", &rows.into(), LoopKind::Serial, &mut |b, i| {
            b.store(greatest, vec![i], least);
            b.store(total, vec![i], zero);
            each(b, "c", &columns.into(), LoopKind::Vectorized, &mut |b, c| b.store(result, vec![i, c], zero));
        });
        Online { greatest, total, scale, result }
    }

    /// The queries side by side.
    fn queries(&self, b: &mut Builder, tile: &Tile) {
        let found = self.found;
        let along = straight(b.func(), found.query, found.depth.var);
        let kind = if along { LoopKind::Vectorized } else { LoopKind::Serial };
        each(b, "i", &tile.rows.into(), LoopKind::Serial, &mut |b, i| {
            each(b, "d", &self.plan.depth.into(), kind, &mut |b, d| {
                let mut places = self.of_row(b, tile, i);
                places.insert(found.depth.var, d);
                let value = at(b, found.query, &places, None);
                b.store(tile.query, vec![i, d], value);
            });
        });
    }

    /// What stands for iterators in a row of a tile.
    fn of_row(&self, b: &mut Builder, tile: &Tile, i: ExprId) -> Places {
        let mut places = tile.outer.clone();
        if let Some(row) = &self.found.row {
            places.insert(row.var, plus(b, tile.first, i));
        }
        places
    }

    /// All that is done with a block of keys.
    fn block(&self, b: &mut Builder, tile: &Tile, first: ExprId, count: &IntExpr) {
        b.open_scope();
        let room = count.as_const().unwrap_or(self.plan.block);
        let lanes = self.plan.lanes;
        let scores = self.local(b, "scores", &[tile.rows, (room + lanes - 1) / lanes * lanes]);
        let most = self.local(b, "most", &[tile.rows, lanes]);
        let block = Block { first, count: count.clone(), scores, most };
        let least = self.least(b);
        Grid { rows: tile.rows, vectors: 1, lanes }.each(b, &mut |b, i, l| b.store(most, vec![i, l], least));
        for strip in strips(count, self.plan.of_keys, lanes) {
            each(b, "t", &strip.turns, LoopKind::Serial, &mut |b, t| self.scores(b, tile, &block, &strip, t));
        }
        self.weights(b, tile, &block);
        for strip in strips(&self.plan.columns.into(), self.plan.of_columns, lanes) {
            each(b, "t", &strip.turns, LoopKind::Serial, &mut |b, t| self.results(b, tile, &block, &strip, t));
        }
        let all = b.close_scope();
        b.push(all);
    }

    /// Where a tile of a strip begins.
    fn begin(b: &mut Builder, strip: &Strip, turn: ExprId) -> ExprId {
        let (begin, offset) = (b.int_expr(&strip.begin), times(b, turn, strip.width()));
        plus(b, begin, offset)
    }

    /// Scores of a tile of keys, and the greatest of them.
    fn scores(&self, b: &mut Builder, tile: &Tile, block: &Block, strip: &Strip, turn: ExprId) {
        let found = self.found;
        let grid = Grid { rows: tile.rows, vectors: strip.vectors, lanes: strip.lanes };
        let begin = Self::begin(b, strip, turn);
        let depth = IntExpr::from(self.plan.depth);
        let acc = self.product(b, grid, &depth, &mut |b, i, j, d| {
            let (own, first) = (plus(b, begin, j), block.first);
            let mut places = tile.outer.clone();
            places.extend([(found.key.var, plus(b, first, own)), (found.depth.var, d)]);
            (load(b, tile.query, &[i, d]), at(b, self.keys, &places, None))
        });
        grid.each(b, &mut |b, i, j| {
            let own = plus(b, begin, j);
            let mut places = self.of_row(b, tile, i);
            places.insert(found.key.var, plus(b, block.first, own));
            let dot = load(b, acc, &[i, j]);
            let score = at(b, found.score, &places, Some((found.dot, dot)));
            b.store(block.scores, vec![i, own], score);
        });
        for v in 0..strip.vectors {
            let strip = Grid { rows: tile.rows, vectors: 1, lanes: strip.lanes };
            strip.each(b, &mut |b, i, l| {
                let first = b.index(v * strip.lanes);
                let (inner, most) = (plus(b, first, l), load(b, block.most, &[i, l]));
                let own = plus(b, begin, inner);
                let score = load(b, block.scores, &[i, own]);
                // One instruction, unlike a maximum that a NaN passes: of such a score the weight is one too, and the sum.
                let most = greater(b, most, score);
                b.store(block.most, vec![i, l], most);
            });
        }
    }

    /// Sums of products over a tile, in blocks where there are many terms.
    fn product(&self, b: &mut Builder, grid: Grid, terms: &IntExpr, factors: &mut Factors<'_>) -> BufId {
        let Some(n) = terms.as_const().filter(|n| *n > TERMS) else {
            let none = b.index(0);
            return self.partial(b, grid, none, terms, factors);
        };
        let acc = b.alloc("acc", self.found.dtype, grid.shape(), Scope::Local);
        let zero = self.zero(b);
        grid.each(b, &mut |b, i, j| b.store(acc, vec![i, j], zero));
        let mut begin = 0;
        for span in balanced(n, TERMS) {
            each(b, "n", &(span.extent / span.tile).into(), LoopKind::Serial, &mut |b, n| {
                let (first, offset) = (b.index(begin), times(b, n, span.tile));
                let first = plus(b, first, offset);
                let part = self.partial(b, grid, first, &span.tile.into(), factors);
                grid.each(b, &mut |b, i, j| {
                    let (all, more) = (load(b, acc, &[i, j]), load(b, part, &[i, j]));
                    let sum = b.add(all, more);
                    b.store(acc, vec![i, j], sum);
                });
            });
            begin += span.extent;
        }
        acc
    }

    /// The same over terms from `first` on, in one accumulator each.
    fn partial(&self, b: &mut Builder, grid: Grid, first: ExprId, terms: &IntExpr, factors: &mut Factors<'_>) -> BufId {
        let acc = b.alloc("acc", self.found.dtype, grid.shape(), Scope::Local);
        let zero = self.zero(b);
        grid.each(b, &mut |b, i, j| b.store(acc, vec![i, j], zero));
        each(b, "k", terms, LoopKind::Reduction, &mut |b, k| {
            let k = plus(b, first, k);
            grid.each(b, &mut |b, i, j| {
                let (x, y) = factors(b, i, j, k);
                let (old, term) = (load(b, acc, &[i, j]), b.mul(x, y));
                let sum = b.add(old, term);
                b.store(acc, vec![i, j], sum);
            });
        });
        acc
    }

    /// Weights in the place of scores, and what the sums of a row and its greatest score become.
    ///
    /// Rows go through each of three loops before the next: folding a vector takes long and does little, so a
    /// processor has several rows of it under way at once where nothing else stands between them.
    fn weights(&self, b: &mut Builder, tile: &Tile, block: &Block) {
        let lanes = self.plan.lanes;
        let (bases, sums) = (self.local(b, "bases", &[tile.rows]), self.local(b, "sums", &[tile.rows, lanes]));
        let rows = IntExpr::from(tile.rows);
        each(b, "i", &rows, LoopKind::Serial, &mut |b, i| {
            let base = self.base(b, tile, block, i);
            let base = b.read_local(base);
            b.store(bases, vec![i], base);
        });
        each(b, "i", &rows, LoopKind::Serial, &mut |b, i| {
            let sum = self.local(b, "sum", &[lanes]);
            let zero = self.zero(b);
            each(b, "l", &lanes.into(), LoopKind::Vectorized, &mut |b, l| b.store(sum, vec![l], zero));
            for strip in strips(&block.count, 4, lanes) {
                each(b, "t", &strip.turns, LoopKind::Serial, &mut |b, t| {
                    let begin = Self::begin(b, &strip, t);
                    self.powers(b, block, (i, begin), &strip, (bases, sum));
                });
            }
            each(b, "l", &lanes.into(), LoopKind::Vectorized, &mut |b, l| {
                let all = load(b, sum, &[l]);
                b.store(sums, vec![i, l], all);
            });
        });
        each(b, "i", &rows, LoopKind::Serial, &mut |b, i| self.totals(b, tile, sums, i));
    }

    /// What is taken from the scores of a row before they become weights.
    fn base(&self, b: &mut Builder, tile: &Tile, block: &Block, i: ExprId) -> BufId {
        let top = self.row(b, "top", block.most, i);
        let top = folded(b, top, self.plan.lanes, greater);
        let top = b.local("greatest", top);
        match (&tile.online, self.found.unseen) {
            (Some(online), _) => self.rescale(b, online, top, i),
            (None, Unseen::Zeros) => self.unless_masked(b, top),
            (None, Unseen::NoNumbers) => top,
        }
    }

    /// What the sum of a row's weights becomes.
    fn totals(&self, b: &mut Builder, tile: &Tile, sums: BufId, i: ExprId) {
        let sum = self.row(b, "sum", sums, i);
        let sum = folded(b, sum, self.plan.lanes, Builder::add);
        match &tile.online {
            None => self.invert(b, tile, i, sum),
            Some(Online { total, scale, .. }) => {
                let (old, scale) = (load(b, *total, &[i]), load(b, *scale, &[i]));
                let old = b.mul(old, scale);
                let all = b.add(old, sum);
                b.store(*total, vec![i], all);
            }
        }
    }

    /// A vector of a row, to be folded.
    fn row(&self, b: &mut Builder, name: &str, of: BufId, i: ExprId) -> BufId {
        let lanes = self.plan.lanes;
        let row = self.local(b, name, &[lanes]);
        each(b, "l", &lanes.into(), LoopKind::Vectorized, &mut |b, l| {
            let value = load(b, of, &[i, l]);
            b.store(row, vec![l], value);
        });
        row
    }

    /// Powers in the place of some scores of a row, and their sum lane by lane.
    fn powers(
        &self,
        b: &mut Builder,
        block: &Block,
        (i, begin): (ExprId, ExprId),
        strip: &Strip,
        (bases, sum): (BufId, BufId),
    ) {
        for v in 0..strip.vectors {
            let first = b.index(v * strip.lanes);
            let first = plus(b, begin, first);
            each(b, "l", &strip.lanes.into(), LoopKind::Vectorized, &mut |b, l| {
                let own = plus(b, first, l);
                let (score, base) = (load(b, block.scores, &[i, own]), load(b, bases, &[i]));
                let shifted = b.sub(score, base);
                let power = b.exp_nonpositive(shifted);
                b.store(block.scores, vec![i, own], power);
            });
            each(b, "l", &strip.lanes.into(), LoopKind::Vectorized, &mut |b, l| {
                let own = plus(b, first, l);
                let (power, old) = (load(b, block.scores, &[i, own]), load(b, sum, &[l]));
                let more = b.add(old, power);
                b.store(sum, vec![l], more);
            });
        }
    }

    /// The greatest score so far, and what results so far are multiplied with; what is taken from scores.
    fn rescale(&self, b: &mut Builder, online: &Online, top: BufId, i: ExprId) -> BufId {
        let old = load(b, online.greatest, &[i]);
        let old = b.local("before", old);
        let (before, top) = (b.read_local(old), b.read_local(top));
        let now = greater(b, before, top);
        let now = b.local("now", now);
        let base = self.unless_masked(b, now);
        let less = b.read_local(base);
        let shifted = b.sub(before, less);
        let (scale, now) = (b.exp_nonpositive(shifted), b.read_local(now));
        b.store(online.scale, vec![i], scale);
        b.store(online.greatest, vec![i], now);
        base
    }

    /// The greatest score of a row, 0 where all of them are masked: then weights are 0, and not what the difference of
    /// two infinities is.
    fn unless_masked(&self, b: &mut Builder, greatest: BufId) -> BufId {
        let (now, least, zero) = (b.read_local(greatest), self.least(b), self.zero(b));
        let masked = b.compare(CmpOp::Eq, now, least);
        let base = b.select(masked, zero, now);
        b.local("base", base)
    }

    /// One over the sum of a row's weights.
    fn invert(&self, b: &mut Builder, tile: &Tile, i: ExprId, sum: ExprId) {
        let one = b.scalar(Scalar::one(self.found.dtype));
        let sum = match self.found.unseen {
            Unseen::Zeros => b.binary(BinaryOp::Max, sum, one),
            Unseen::NoNumbers => sum,
        };
        let inverse = b.div(one, sum);
        b.store(tile.inverse, vec![i], inverse);
    }

    /// A tile of values added up with the weights of a block.
    fn results(&self, b: &mut Builder, tile: &Tile, block: &Block, strip: &Strip, turn: ExprId) {
        let found = self.found;
        let grid = Grid { rows: tile.rows, vectors: strip.vectors, lanes: strip.lanes };
        let begin = Self::begin(b, strip, turn);
        let acc = self.product(b, grid, &block.count, &mut |b, i, j, k| {
            let mut places = tile.outer.clone();
            places.extend([(found.key.var, plus(b, block.first, k)), (found.column.var, plus(b, begin, j))]);
            (load(b, block.scores, &[i, k]), at(b, self.values, &places, None))
        });
        match &tile.online {
            None => self.written(b, tile, grid, begin, &mut |b, i, j, _| load(b, acc, &[i, j])),
            Some(Online { scale, result, .. }) => grid.each(b, &mut |b, i, j| {
                let own = plus(b, begin, j);
                let (old, scale) = (load(b, *result, &[i, own]), load(b, *scale, &[i]));
                let (old, more) = (b.mul(old, scale), load(b, acc, &[i, j]));
                let all = b.add(old, more);
                b.store(*result, vec![i, own], all);
            }),
        }
    }

    /// Results divided by the sums of weights and written, where blocks have added them up. Of no keys the sum is 0.
    fn divided(&self, b: &mut Builder, tile: &Tile, keys: &IntExpr) {
        let Some(Online { total, result, .. }) = &tile.online else { return };
        each(b, "i", &tile.rows.into(), LoopKind::Serial, &mut |b, i| {
            let mut sum = load(b, *total, &[i]);
            if keys.as_const().is_none() {
                let (count, none) = (b.int_expr(keys), b.index(0));
                let (empty, one) = (b.compare(CmpOp::Le, count, none), b.scalar(Scalar::one(self.found.dtype)));
                sum = b.select(empty, one, sum);
            }
            self.invert(b, tile, i, sum);
        });
        for strip in strips(&self.plan.columns.into(), self.plan.of_columns, self.plan.lanes) {
            each(b, "t", &strip.turns, LoopKind::Serial, &mut |b, t| {
                let begin = Self::begin(b, &strip, t);
                let grid = Grid { rows: tile.rows, vectors: strip.vectors, lanes: strip.lanes };
                self.written(b, tile, grid, begin, &mut |b, i, _, own| load(b, *result, &[i, own]));
            });
        }
    }

    /// Writes a tile of results, divided by the sums of weights.
    fn written(
        &self,
        b: &mut Builder,
        tile: &Tile,
        grid: Grid,
        begin: ExprId,
        sum: &mut dyn FnMut(&mut Builder, ExprId, ExprId, ExprId) -> ExprId,
    ) {
        let (out, index, value) = &self.found.out;
        let column = self.found.column.var;
        // An element of the result is read and written at the same place of it.
        let stored = b.load(*out, index.clone(), Access::Proven);
        let along = straight(b.func(), stored, column) && straight(b.func(), *value, column);
        grid.in_order(b, along, &mut |b, i, j| {
            let own = plus(b, begin, j);
            let mut places = self.of_row(b, tile, i);
            places.insert(column, own);
            let (sum, inverse) = (sum(b, i, j, own), load(b, tile.inverse, &[i]));
            let result = b.mul(sum, inverse);
            let value = at(b, *value, &places, Some((self.found.sum, result)));
            let index = index.iter().map(|e| at(b, *e, &places, None)).collect();
            b.store(*out, index, value);
        });
    }
}
