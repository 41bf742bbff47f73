//! The seven products of a tile of rows, and what is made of them.

use tenfold_ir::Scalar;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{BufId, Builder, Expr, ExprId, LoopKind, Scope, Stmt, VarId};

use super::sums::{self, Factor};
use super::written::{Group, Kernel, Pair, Place, Quarter};
use crate::dlight::emit::{Grid, at, each, load, plus, times};
use crate::fuse::access::{loads, names};

/// Terms that are written out behind one another.
const UNROLLED: i64 = 2;

/// A tile of rows of a pair of panels, of which a block of terms is added up.
pub(super) struct Tile<'a> {
    pub group: Group<'a>,
    pub pair: Pair,
    pub block: ExprId,
    /// Its first line and row.
    pub first: [ExprId; 2],
    /// Its lines and rows.
    pub extent: [i64; 2],
    /// Whether it makes the sums of the pair's weights.
    pub sums: bool,
}

/// What is asked for while a product is made.
#[derive(Clone, Copy)]
struct Asked {
    /// Weights that the next pair has in a quarter.
    weights: Option<Quarter>,
    /// A quarter of the results, which this product completes.
    results: Option<Quarter>,
}

impl Asked {
    fn weights(quarter: Quarter) -> Asked {
        Asked { weights: Some(quarter), results: None }
    }

    fn results(quarter: Quarter) -> Asked {
        Asked { weights: None, results: Some(quarter) }
    }
}

/// A tile with its accumulators.
struct Sums<'a> {
    kernel: &'a Kernel<'a>,
    tile: &'a Tile<'a>,
    grid: Grid,
    acc: BufId,
}

impl Tile<'_> {
    /// The four results of a tile. With P1 = A11 B11 and so on: U2 = P1 + S2 T2, U3 = U2 + S3 T3, U4 = U2 + S1 T1;
    /// C11 = P1 + A12 B21, C12 = U4 + S4 B22, C21 = U3 - A22 T4, C22 = U3 + S1 T1.
    pub(super) fn written(&self, b: &mut Builder, kernel: &Kernel<'_>) {
        use Factor::{Quarter, Sum};
        let [lines, rows] = self.extent;
        let grid = Grid { rows: lines * rows, vectors: kernel.plan.vectors, lanes: kernel.plan.lanes };
        let mut local = |name: &str| b.alloc(name, kernel.found.dtype, grid.shape(), Scope::Local);
        let [acc, p1, p5, u4] = ["acc", "p1", "p5", "u4"].map(&mut local);
        let sums = Sums { kernel, tile: self, grid, acc };
        sums.cleared(b);
        sums.product(b, (Sum(0), Sum(0)), BinaryOp::Add, Asked::weights([0, 0]));
        copied(b, grid, acc, p5);
        sums.cleared(b);
        sums.product(b, (Quarter([0, 0]), Quarter([0, 0])), BinaryOp::Add, Asked::weights([0, 1]));
        copied(b, grid, acc, p1);
        let both = Asked { results: Some([0, 0]), ..Asked::weights([1, 0]) };
        sums.product(b, (Quarter([0, 1]), Quarter([1, 0])), BinaryOp::Add, both);
        sums.results(b, [0, 0], acc);
        copied(b, grid, p1, acc);
        sums.product(b, (Sum(1), Sum(1)), BinaryOp::Add, Asked::weights([1, 1]));
        added(b, grid, (acc, p5), u4);
        sums.product(b, (Sum(2), Sum(2)), BinaryOp::Add, Asked::results([1, 1]));
        added(b, grid, (acc, p5), p1);
        sums.results(b, [1, 1], p1);
        sums.product(b, (Quarter([1, 1]), Sum(3)), BinaryOp::Sub, Asked::results([1, 0]));
        sums.results(b, [1, 0], acc);
        copied(b, grid, u4, acc);
        sums.product(b, (Sum(3), Quarter([1, 1])), BinaryOp::Add, Asked::results([0, 1]));
        sums.results(b, [0, 1], acc);
    }

    /// The line and row of a row of the tile.
    fn row(&self, b: &mut Builder, i: ExprId) -> [ExprId; 2] {
        let ([line, row], [lines, rows]) = (self.first, self.extent);
        if lines == 1 {
            return [line, plus(b, row, i)];
        }
        let rows = b.index(rows);
        let [of_line, of_row] = [BinaryOp::DivEuclid, BinaryOp::RemEuclid].map(|op| b.binary(op, i, rows));
        [plus(b, line, of_line), plus(b, row, of_row)]
    }
}

impl Sums<'_> {
    fn cleared(&self, b: &mut Builder) {
        let zero = b.scalar(Scalar::zero(self.kernel.found.dtype));
        self.grid.each(b, &mut |b, i, j| b.store(self.acc, vec![i, j], zero));
    }

    /// Adds a product to the accumulators, or takes it from them, and asks for what comes behind it.
    fn product(&self, b: &mut Builder, factors: (Factor, Factor), op: BinaryOp, asked: Asked) {
        let terms = self.kernel.plan.terms;
        let unrolled = if terms % UNROLLED == 0 { UNROLLED } else { 1 };
        each(b, "k", &(terms / unrolled).into(), LoopKind::Reduction, &mut |b, k| {
            if let Some(quarter) = asked.weights.filter(|_| !self.kernel.plan.kept) {
                self.ask_weights(b, quarter, (k, terms / unrolled));
            }
            // Functions take so long that nobody waits for what comes from memory meanwhile.
            let at_once = self.kernel.sums.is_none() && !self.kernel.found.functions;
            if let Some(quarter) = asked.results.filter(|_| at_once) {
                self.ask_results(b, quarter, (k, terms / unrolled));
            }
            each(b, "u", &unrolled.into(), LoopKind::Unrolled, &mut |b, u| {
                let before = times(b, k, unrolled);
                let term = plus(b, before, u);
                self.term(b, factors, op, term);
            });
        });
    }

    /// A term of a product.
    fn term(&self, b: &mut Builder, (x, y): (Factor, Factor), op: BinaryOp, term: ExprId) {
        let (kernel, tile) = (self.kernel, self.tile);
        let term = (tile.block, term);
        if let (Factor::Sum(n), true) = (y, tile.sums) {
            let row = Grid { rows: 1, ..self.grid };
            row.each(b, &mut |b, _, j| kernel.weights.make_one(b, n, term, tile.pair, j));
        }
        self.grid.each(b, &mut |b, i, j| {
            let row = tile.row(b, i);
            let x = sums::data_at(b, kernel, (tile.group, x), row, term);
            let y = kernel.weights.at(b, y, term, tile.pair, j);
            let (old, product) = (load(b, self.acc, &[i, j]), b.mul(x, y));
            let sum = b.binary(op, old, product);
            b.store(self.acc, vec![i, j], sum);
        });
    }

    /// In one of so many turns, asks for what the next pair has in a quarter: for the part that the tile's rows are of all,
    /// from one cache line to the next, wherever they are.
    fn ask_weights(&self, b: &mut Builder, quarter: Quarter, (turn, turns): (ExprId, i64)) {
        let (plan, tile) = (self.kernel.plan, self.tile);
        let [lines, of_line] = plan.group;
        let rows = lines * of_line;
        let before = times(b, tile.first[0], of_line);
        let first = plus(b, before, tile.first[1]);
        let (part, all) = (times(b, first, plan.terms), b.index(rows));
        let begin = b.binary(BinaryOp::DivEuclid, part, all);
        let (next, zero) = (b.index(plan.width()), b.index(0));
        let pair = Pair { column: plus(b, tile.pair.column, next), ..tile.pair };
        let weight = self.kernel.weights.at(b, Factor::Quarter(quarter), (tile.block, begin), pair, zero);
        let Expr::Load { buf, index, .. } = b.func().exprs.get(weight).clone() else { return };
        let Some((last, outer)) = index.split_last() else { return };
        let vectors = self.grid.rows * plan.terms * plan.vectors / rows;
        let each = (vectors + turns - 1) / turns;
        for n in 0..each {
            let (before, own) = (times(b, turn, each * plan.lanes), b.index(n * plan.lanes));
            let ahead = plus(b, before, own);
            let at = plus(b, *last, ahead);
            b.push(Stmt::Prefetch { buf, index: [outer, &[at]].concat() });
        }
    }

    /// In one of so many turns, asks for lines of a quarter of the results, and for what they are made of beside the sums.
    fn ask_results(&self, b: &mut Builder, [down, right]: Quarter, (turn, turns): (ExprId, i64)) {
        let (kernel, tile) = (self.kernel, self.tile);
        let (found, ends) = (kernel.found, &kernel.found.ends);
        let (before, turns) = (times(b, turn, self.grid.rows), b.index(turns));
        let i = b.binary(BinaryOp::DivEuclid, before, turns);
        let row = tile.row(b, i);
        let mut places = kernel.row(b, tile.group, down, row);
        let func = b.func();
        let moves = |index: &[ExprId], var: VarId| index.iter().any(|i| names(func, *i, var));
        let mut asked = vec![(ends.out.0, ends.out.1.clone())];
        let others = loads(func, [ends.start, ends.out.2]).into_iter().filter(|a| a.buf != ends.sum);
        asked.extend(
            others.map(|a| (a.buf, a.index)).filter(|(_, i)| moves(i, found.row.var) && moves(i, found.column.var)),
        );
        for v in 0..kernel.plan.vectors {
            let first = b.index(right * kernel.plan.columns + v * kernel.plan.lanes);
            places.insert(found.column.var, plus(b, tile.pair.column, first));
            for (buf, index) in &asked {
                let index = index.iter().map(|i| at(b, *i, &places, None)).collect();
                b.push(Stmt::Prefetch { buf: *buf, index });
            }
        }
    }

    /// Gives a quarter of the results the sums of this block.
    fn results(&self, b: &mut Builder, [down, right]: Quarter, sums: BufId) {
        let (kernel, tile) = (self.kernel, self.tile);
        self.grid.each(b, &mut |b, i, j| {
            let [line, row] = tile.row(b, i);
            let sum = load(b, sums, &[i, j]);
            match kernel.sums {
                None => {
                    let place = Place { down, line, row, right, column: plus(b, tile.pair.column, j) };
                    kernel.finished(b, tile.group, place, sum);
                }
                Some(all) => {
                    let first = times(b, tile.pair.turn, kernel.plan.width());
                    let (share, column) = (tile.pair.share, plus(b, first, j));
                    let index = [tile.group.part, share, b.index(down), line, row, b.index(right), column];
                    let before = load(b, all, &index);
                    let sum = b.add(before, sum);
                    b.store(all, index.to_vec(), sum);
                }
            }
        });
    }
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
