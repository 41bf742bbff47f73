//! The loops of a product by seven products of halves.

use tenfold_ir::Scalar;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{BufId, Builder, Expr, ExprId, LoopKind, PrimFunc, Scope, Stmt};

use super::found::Product;
use super::plan::Plan;
use crate::dlight::emit::{Grid, Places, at, each, load, plus, times};
use crate::dlight::tiles::balanced;
use crate::dlight::winograd::{in_spans, within};
use crate::fuse::stage::Staged;

/// Sums of each operand.
const SUMS: i64 = 4;

/// Terms that are written out behind one another.
const UNROLLED: i64 = 2;

/// A quarter of a matrix: which half of its rows and which of its columns.
type Quarter = [i64; 2];

/// A factor of a product.
#[derive(Clone, Copy)]
enum Factor {
    /// A quarter as it is.
    Quarter(Quarter),
    /// One of the sums.
    Sum(i64),
}

/// What all parts of a kernel know.
struct Kernel<'a> {
    found: &'a Product,
    plan: &'a Plan,
    /// Sums of the data: which, row, term.
    data: BufId,
    /// Sums of a pair of panels: share, which, term, column.
    weights: BufId,
}

/// A pair of panels, at some place of the loops.
#[derive(Clone, Copy)]
struct Pair {
    share: ExprId,
    /// The first column of the one in the first half.
    column: ExprId,
}

/// A tile of rows of a pair.
#[derive(Clone, Copy)]
struct Tile {
    pair: Pair,
    first: ExprId,
    grid: Grid,
    /// The accumulators.
    acc: BufId,
    /// Whether it makes the sums of the pair's weights.
    sums: bool,
}

/// The kernel.
pub(super) fn written(staged: Staged, found: &Product, plan: &Plan) -> PrimFunc {
    let [rows, terms, columns] = plan.halves;
    let of_data = [SUMS, rows, plan.stride].map(IntExpr::from).to_vec();
    let of_weights = [plan.shares, SUMS, terms, plan.width()].map(IntExpr::from).to_vec();
    within(staged, &found.ends, |b| {
        let data = b.alloc("data", found.dtype, of_data, Scope::Global);
        let weights = b.alloc("weights", found.dtype, of_weights, Scope::Global);
        let kernel = Kernel { found, plan, data, weights };
        kernel.sums_of_data(b);
        let pairs = columns / plan.width() / plan.shares;
        each(b, "share", &plan.shares.into(), LoopKind::Serial, &mut |b, share| {
            each(b, "pair", &pairs.into(), LoopKind::Serial, &mut |b, turn| {
                let before = times(b, share, pairs);
                let number = plus(b, before, turn);
                let pair = Pair { share, column: times(b, number, plan.width()) };
                let one = alone(rows, plan.rows);
                let begin = b.index(0);
                kernel.tile(b, pair, begin, one, true);
                in_spans(b, "rows", rows - one, plan.rows, &mut |b, first, rows| {
                    let begin = b.index(one);
                    let first = plus(b, begin, first);
                    kernel.tile(b, pair, first, rows, false);
                });
            });
        });
    })
}

impl Kernel<'_> {
    /// S1 = A21 + A22, S2 = S1 - A11, S3 = A11 - A21, S4 = A12 - S2, in vectors of terms.
    fn sums_of_data(&self, b: &mut Builder) {
        let [rows, terms, _] = self.plan.halves;
        let lanes = self.plan.lanes;
        each(b, "row", &rows.into(), LoopKind::Serial, &mut |b, row| {
            let vectors = |b: &mut Builder, begin: i64, turns: i64, lanes: i64| {
                each(b, "v", &turns.into(), LoopKind::Serial, &mut |b, v| {
                    each(b, "l", &lanes.into(), LoopKind::Vectorized, &mut |b, l| {
                        let (begin, offset) = (b.index(begin), times(b, v, lanes));
                        let first = plus(b, begin, offset);
                        let term = plus(b, first, l);
                        let [a11, a12, a21, a22] = quarters(|quarter| self.data_at(b, quarter, row, term));
                        let s1 = b.add(a21, a22);
                        let s2 = b.sub(s1, a11);
                        let (s3, s4) = (b.sub(a11, a21), b.sub(a12, s2));
                        for (n, sum) in [s1, s2, s3, s4].into_iter().enumerate() {
                            let n = b.index(n as i64);
                            b.store(self.data, vec![n, row, term], sum);
                        }
                    });
                });
            };
            let whole = terms / lanes;
            vectors(b, 0, whole, lanes);
            vectors(b, whole * lanes, terms - whole * lanes, 1);
        });
    }

    /// A vector of a sum of a pair's weights, of a term: T1 = B12 - B11, T2 = B22 - T1, T3 = B22 - B12, T4 = T2 - B21.
    fn sum_of_weights(&self, b: &mut Builder, pair: Pair, n: i64, term: ExprId, column: ExprId) -> ExprId {
        let weight = |b: &mut Builder, quarter: Quarter| self.weight_at(b, quarter, term, pair, column);
        match n {
            0 => {
                let (x, y) = (weight(b, [0, 1]), weight(b, [0, 0]));
                b.sub(x, y)
            }
            1 => {
                let (x, y) = (weight(b, [1, 1]), self.sum_at(b, pair, 0, term, column));
                b.sub(x, y)
            }
            2 => {
                let (x, y) = (weight(b, [1, 1]), weight(b, [0, 1]));
                b.sub(x, y)
            }
            _ => {
                let (x, y) = (self.sum_at(b, pair, 1, term, column), weight(b, [1, 0]));
                b.sub(x, y)
            }
        }
    }

    /// A sum of a pair's weights that is stored.
    fn sum_at(&self, b: &mut Builder, pair: Pair, n: i64, term: ExprId, column: ExprId) -> ExprId {
        let n = b.index(n);
        load(b, self.weights, &[pair.share, n, term, column])
    }

    /// The four results of a tile. With P1 = A11 B11 and so on: U2 = P1 + S2 T2, U3 = U2 + S3 T3, U4 = U2 + S1 T1;
    /// C11 = P1 + A12 B21, C12 = U4 + S4 B22, C21 = U3 - A22 T4, C22 = U3 + S1 T1.
    fn tile(&self, b: &mut Builder, pair: Pair, first: ExprId, rows: i64, sums: bool) {
        use Factor::{Quarter, Sum};
        let grid = Grid { rows, vectors: self.plan.vectors, lanes: self.plan.lanes };
        let mut local = |name: &str| b.alloc(name, self.found.dtype, grid.shape(), Scope::Local);
        let [acc, p1, p5, u4] = ["acc", "p1", "p5", "u4"].map(&mut local);
        let tile = Tile { pair, first, grid, acc, sums };
        self.cleared(b, &tile);
        self.product(b, &tile, (Sum(0), Sum(0)), BinaryOp::Add, Some([0, 0]));
        copied(b, grid, acc, p5);
        self.cleared(b, &tile);
        self.product(b, &tile, (Quarter([0, 0]), Quarter([0, 0])), BinaryOp::Add, Some([0, 1]));
        copied(b, grid, acc, p1);
        self.product(b, &tile, (Quarter([0, 1]), Quarter([1, 0])), BinaryOp::Add, Some([1, 0]));
        self.results(b, &tile, [0, 0], acc);
        copied(b, grid, p1, acc);
        self.product(b, &tile, (Sum(1), Sum(1)), BinaryOp::Add, Some([1, 1]));
        added(b, grid, (acc, p5), u4);
        self.product(b, &tile, (Sum(2), Sum(2)), BinaryOp::Add, None);
        added(b, grid, (acc, p5), p1);
        self.results(b, &tile, [1, 1], p1);
        self.product(b, &tile, (Quarter([1, 1]), Sum(3)), BinaryOp::Sub, None);
        self.results(b, &tile, [1, 0], acc);
        copied(b, grid, u4, acc);
        self.product(b, &tile, (Sum(3), Quarter([1, 1])), BinaryOp::Add, None);
        self.results(b, &tile, [0, 1], acc);
    }

    fn cleared(&self, b: &mut Builder, tile: &Tile) {
        let zero = b.scalar(Scalar::zero(self.found.dtype));
        tile.grid.each(b, &mut |b, i, j| b.store(tile.acc, vec![i, j], zero));
    }

    /// Adds a product to the accumulators, or takes it from them, and asks for weights that the next pair has in a quarter.
    fn product(&self, b: &mut Builder, tile: &Tile, factors: (Factor, Factor), op: BinaryOp, next: Option<Quarter>) {
        let terms = self.plan.halves[1];
        let unrolled = if terms % UNROLLED == 0 { UNROLLED } else { 1 };
        each(b, "k", &(terms / unrolled).into(), LoopKind::Reduction, &mut |b, k| {
            if let Some(quarter) = next {
                self.ask(b, tile, quarter, (k, terms / unrolled));
            }
            each(b, "u", &unrolled.into(), LoopKind::Unrolled, &mut |b, u| {
                let before = times(b, k, unrolled);
                let term = plus(b, before, u);
                self.term(b, tile, factors, op, term);
            });
        });
    }

    /// A term of a product, of which the first tile makes the sums of weights.
    fn term(&self, b: &mut Builder, tile: &Tile, (x, y): (Factor, Factor), op: BinaryOp, term: ExprId) {
        if let (Factor::Sum(n), true) = (y, tile.sums) {
            let row = Grid { rows: 1, ..tile.grid };
            row.each(b, &mut |b, _, j| {
                let sum = self.sum_of_weights(b, tile.pair, n, term, j);
                let n = b.index(n);
                b.store(self.weights, vec![tile.pair.share, n, term, j], sum);
            });
        }
        tile.grid.each(b, &mut |b, i, j| {
            let row = plus(b, tile.first, i);
            let x = match x {
                Factor::Quarter(quarter) => self.data_at(b, quarter, row, term),
                Factor::Sum(n) => {
                    let n = b.index(n);
                    load(b, self.data, &[n, row, term])
                }
            };
            let y = match y {
                Factor::Quarter(quarter) => self.weight_at(b, quarter, term, tile.pair, j),
                Factor::Sum(n) => self.sum_at(b, tile.pair, n, term, j),
            };
            let (old, product) = (load(b, tile.acc, &[i, j]), b.mul(x, y));
            let sum = b.binary(op, old, product);
            b.store(tile.acc, vec![i, j], sum);
        });
    }

    /// In one of so many turns, asks for what the next pair has in a quarter: for the part that the tile's rows are of all,
    /// from one cache line to the next, wherever they are.
    fn ask(&self, b: &mut Builder, tile: &Tile, quarter: Quarter, (turn, turns): (ExprId, i64)) {
        let [rows, terms, _] = self.plan.halves;
        let (part, all) = (times(b, tile.first, terms), b.index(rows));
        let begin = b.binary(BinaryOp::DivEuclid, part, all);
        let (next, zero) = (b.index(self.plan.width()), b.index(0));
        let pair = Pair { column: plus(b, tile.pair.column, next), ..tile.pair };
        let weight = self.weight_at(b, quarter, begin, pair, zero);
        let Expr::Load { buf, index, .. } = b.func().exprs.get(weight).clone() else { return };
        let Some((last, outer)) = index.split_last() else { return };
        let vectors = tile.grid.rows * terms * self.plan.vectors / rows;
        let each = (vectors + turns - 1) / turns;
        for n in 0..each {
            let (before, own) = (times(b, turn, each * self.plan.lanes), b.index(n * self.plan.lanes));
            let ahead = plus(b, before, own);
            let at = plus(b, *last, ahead);
            b.push(Stmt::Prefetch { buf, index: [outer, &[at]].concat() });
        }
    }

    /// Writes a quarter of the results, of sums that are stored there.
    fn results(&self, b: &mut Builder, tile: &Tile, [down, right]: Quarter, sums: BufId) {
        let found = self.found;
        let [rows, _, columns] = self.plan.halves;
        tile.grid.each(b, &mut |b, i, j| {
            let row = plus(b, tile.first, i);
            let (offset, column) = (b.index(down * rows), plus(b, tile.pair.column, j));
            let row = plus(b, row, offset);
            let offset = b.index(right * columns);
            let column = plus(b, column, offset);
            let mut places = self.outer(b);
            places.extend([(found.row.var, row), (found.column.var, column)]);
            let (sum, start) = (load(b, sums, &[i, j]), at(b, found.ends.start, &places, None));
            let sum = b.add(sum, start);
            let (out, index, value) = &found.ends.out;
            let value = at(b, *value, &places, Some((found.ends.sum, sum)));
            let index = index.iter().map(|i| at(b, *i, &places, None)).collect();
            b.store(*out, index, value);
        });
    }

    /// What stands for iterators with one value.
    fn outer(&self, b: &mut Builder) -> Places {
        self.found.outer.iter().map(|axis| (axis.var, b.index(0))).collect()
    }

    /// An element of a quarter of the data.
    fn data_at(&self, b: &mut Builder, [down, right]: Quarter, row: ExprId, term: ExprId) -> ExprId {
        let [rows, terms, _] = self.plan.halves;
        let mut places = self.outer(b);
        let (below, behind) = (b.index(down * rows), b.index(right * terms));
        places.extend([(self.found.row.var, plus(b, row, below)), (self.found.term.var, plus(b, term, behind))]);
        at(b, self.found.data, &places, None)
    }

    /// A weight of a quarter, in a column of a pair.
    fn weight_at(&self, b: &mut Builder, [down, right]: Quarter, term: ExprId, pair: Pair, column: ExprId) -> ExprId {
        let [_, terms, columns] = self.plan.halves;
        let mut places = self.outer(b);
        let (below, behind) = (b.index(down * terms), b.index(right * columns));
        let first = plus(b, pair.column, behind);
        places.extend([(self.found.term.var, plus(b, term, below)), (self.found.column.var, plus(b, first, column))]);
        at(b, self.found.weight, &places, None)
    }
}

/// Rows of the first tile: what has one tile of its height, if there is such, so that the others are alike.
fn alone(rows: i64, most: i64) -> i64 {
    let spans = balanced(rows, most);
    let single = spans.iter().find(|span| span.extent == span.tile);
    single.or(spans.first()).map_or(rows, |span| span.tile)
}

/// All quarters, from left to right and down.
fn quarters(mut f: impl FnMut(Quarter) -> ExprId) -> [ExprId; 4] {
    [[0, 0], [0, 1], [1, 0], [1, 1]].map(&mut f)
}

fn copied(b: &mut Builder, grid: Grid, from: BufId, to: BufId) {
    grid.each(b, &mut |b, i, j| {
        let value = load(b, from, &[i, j]);
        b.store(to, vec![i, j], value);
    });
}

fn added(b: &mut Builder, grid: Grid, (x, y): (BufId, BufId), to: BufId) {
    grid.each(b, &mut |b, i, j| {
        let (x, y) = (load(b, x, &[i, j]), load(b, y, &[i, j]));
        let sum = b.add(x, y);
        b.store(to, vec![i, j], sum);
    });
}
