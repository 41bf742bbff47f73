//! A group makes a tile of a product: factors come once a tile into shared memory, some terms at a time, and each thread
//! keeps some rows by some columns of the sum in registers.

use std::collections::BTreeMap;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{Access, BufId, Elem, Expr, ExprId, LoopKind, Scope, Stmt, expr_vars, substitution};
use tenfold_ir::{DType, Scalar};

use super::product::Product;
use super::sums::{Sums, added, store, wait};
use super::{Bind, Loop, THREADS};
use crate::tir_passes::kernel::{constant, with_alloc};

/// Extents of a product as far as they are known.
struct Extents {
    batch: Option<i64>,
    rows: Option<i64>,
    cols: Option<i64>,
}

impl Extents {
    fn known(&self) -> Option<[i64; 3]> {
        Some([self.batch?, self.rows?, self.cols?])
    }
}

/// A tile that products may have.
struct Tile {
    /// Elements of a group.
    rows: i64,
    cols: i64,
    /// Elements of a thread.
    each: (i64, i64),
    /// Whether it is the one to take.
    takes: fn(&Extents) -> bool,
}

/// Groups from which on a device has enough of them.
const ENOUGH: i64 = 16;

/// In the order in which they are tried; each has `THREADS` threads. The larger a tile, the fewer loads a product takes:
/// `rows * cols / (rows + cols)` products share one.
const TILES: &[Tile] = &[
    // 32 products a load, where that leaves groups for the whole device.
    Tile {
        rows: 64,
        cols: 64,
        each: (8, 4),
        takes: |e| e.known().is_some_and(|[b, r, c]| r >= 48 && c >= 48 && b * parts(r, 64) * parts(c, 64) >= ENOUGH),
    },
    // 16 products a load, and groups four times as many.
    Tile { rows: 32, cols: 32, each: (2, 4), takes: |e| e.known().is_some_and(|[_, r, c]| r >= 24 && c >= 24) },
    // 7 products a load, where there are few rows, or it is not known how many.
    Tile {
        rows: 8,
        cols: 64,
        each: (1, 4),
        takes: |e| e.rows.is_none_or(|r| r >= 5) && e.cols.is_none_or(|c| c >= 32),
    },
    // As many, where there are few columns.
    Tile {
        rows: 64,
        cols: 8,
        each: (4, 1),
        takes: |e| e.rows.is_none_or(|r| r >= 32) && e.cols.is_some_and(|c| c >= 5),
    },
];

/// Terms below which there is nothing to share.
const TERMS: i64 = 4;

/// Bytes of both factors in shared memory: half of what every device has is two groups at once.
const SHARED: i64 = 8 << 10;

pub(super) fn parts(n: i64, by: i64) -> i64 {
    n.max(0).saturating_add(by - 1) / by
}

/// A product with the tile that it gets.
pub(super) struct Tiles {
    product: Product,
    tile: &'static Tile,
    /// Terms that are in shared memory at once.
    depth: i64,
}

/// Numbers of a thread and of its tile.
struct Here {
    thread: ExprId,
    /// Of the thread, among the rows and columns of threads.
    row: ExprId,
    col: ExprId,
    /// The first row and column of the tile.
    top: ExprId,
    left: ExprId,
    rows: ExprId,
    cols: ExprId,
    terms: ExprId,
}

/// A factor in shared memory: terms by rows, or terms by columns.
struct Staged {
    value: ExprId,
    loops: Vec<Loop>,
    buf: BufId,
    /// Of the tile.
    first: ExprId,
    count: ExprId,
    width: i64,
    dtype: DType,
    /// Whether neighbours in memory are terms.
    along_terms: bool,
}

impl Tiles {
    /// The tiles of a product, if the nest is one and large enough.
    pub(super) fn find(bind: &mut Bind<'_>, outer: &[Loop], body: &Stmt) -> Option<Tiles> {
        let product = Product::find(bind, outer, body)?.in_words(bind);
        let func = bind.b.func();
        let known = |loops: &[Loop]| loops.iter().try_fold(1i64, |n, l| n.checked_mul(constant(func, l.extent)?));
        let extents = Extents { batch: known(&product.batch), rows: known(&product.rows), cols: known(&product.cols) };
        let tile = TILES.iter().find(|tile| (tile.takes)(&extents))?;
        let terms = known(&product.terms);
        let bytes = [(product.x, tile.rows), (product.y, tile.cols)].map(|(e, n)| match func.exprs.ty(e).elem {
            Elem::Scalar(dtype) => n * dtype.size_bytes().max(4) as i64,
            Elem::Index => 8 * n,
        });
        let most = SHARED / bytes.iter().sum::<i64>();
        let depth = if most >= 16 { 16 } else { 8 };
        let worth = terms.is_none_or(|n| n >= TERMS);
        worth.then(|| Tiles { depth: terms.map_or(depth, |n| n.min(depth)), product, tile })
    }

    /// The kernel.
    pub(super) fn kernel(self, bind: &mut Bind<'_>) -> Stmt {
        let (rows, cols, terms) =
            (bind.count(&self.product.rows), bind.count(&self.product.cols), bind.count(&self.product.terms));
        let (down, across) = (bind.b.index_var("down"), bind.b.index_var("across"));
        let zero = bind.b.index(0);
        let downs = Loop { var: down, min: zero, extent: bind.parts(rows, self.tile.rows) };
        let acrosses = Loop { var: across, min: zero, extent: bind.parts(cols, self.tile.cols) };
        let turns: Vec<Loop> = self.product.batch.iter().copied().chain([downs, acrosses]).collect();
        bind.group_a_turn(&turns, THREADS, |bind, thread| {
            let side = bind.b.index(self.tile.cols / self.tile.each.1);
            let (thread, high, wide) =
                (bind.b.read(thread), bind.b.index(self.tile.rows), bind.b.index(self.tile.cols));
            let (down, across) = (bind.b.read(down), bind.b.read(across));
            let here = Here {
                thread,
                row: bind.b.binary(BinaryOp::DivEuclid, thread, side),
                col: bind.b.binary(BinaryOp::RemEuclid, thread, side),
                top: bind.b.mul(down, high),
                left: bind.b.mul(across, wide),
                rows,
                cols,
                terms,
            };
            self.group(bind, &here)
        })
    }

    fn group(&self, bind: &mut Bind<'_>, here: &Here) -> Stmt {
        let (r, c) = self.tile.each;
        let dtype = bind.b.buf(self.product.acc).dtype;
        let mut own = |name, dtype, n: i64| bind.b.buffer(name, dtype, vec![IntExpr::from(n)], Scope::Local);
        let sum = own("tile", dtype, r * c);
        let x = self.staged(bind, here, true);
        let y = self.staged(bind, here, false);
        let mut own = |name, dtype, n: i64| bind.b.buffer(name, dtype, vec![IntExpr::from(n)], Scope::Local);
        let (a, b) = (own("a", x.dtype, r), own("b", y.dtype, c));
        let (rows, cols) = ((here.rows, self.tile.rows), (here.cols, self.tile.cols));
        let sums = Sums { product: &self.product, buf: sum, rows, cols };
        let init = self.each(bind, |bind, at, own| {
            let place = self.element(bind, here, own);
            sums.init(bind, at, place)
        });
        let steps = self.steps(bind, here, (&x, &y), (a, b, sum));
        let last = self.each(bind, |bind, at, own| {
            let place = self.element(bind, here, own);
            sums.last(bind, at, place)
        });
        let all = Stmt::seq([init, steps, last]);
        [sum, a, b, x.buf, y.buf].into_iter().fold(all, |body, buf| with_alloc(buf, body))
    }

    fn staged(&self, bind: &mut Bind<'_>, here: &Here, rows: bool) -> Staged {
        let (p, tile) = (&self.product, self.tile);
        let (value, loops, width) = if rows { (p.x, &p.rows, tile.rows) } else { (p.y, &p.cols, tile.cols) };
        let (first, count) = if rows { (here.top, here.rows) } else { (here.left, here.cols) };
        let dtype = match bind.b.ty(value).elem {
            Elem::Scalar(dtype) => dtype,
            Elem::Index => DType::I64,
        };
        // A line for each turn of all threads, so that each writes elements of its own.
        let lines = parts(self.depth * width, THREADS);
        let size = vec![IntExpr::from(lines), IntExpr::from(THREADS)];
        let buf = bind.b.buffer(if rows { "rows" } else { "cols" }, dtype, size, Scope::Shared);
        let along_terms = neighbours(bind, value, &p.terms, loops);
        Staged { value, loops: loops.clone(), buf, first, count, width, dtype, along_terms }
    }

    /// Some terms after the others: both factors go to shared memory, and every thread adds their products.
    fn steps(
        &self,
        bind: &mut Bind<'_>,
        here: &Here,
        (x, y): (&Staged, &Staged),
        (a, b, sum): (BufId, BufId, BufId),
    ) -> Stmt {
        let (step, k) = (bind.b.index_var("step"), bind.b.index_var("k"));
        let (at, depth) = (bind.b.read(step), bind.b.index(self.depth));
        let base = bind.product(at, depth);
        let fills = [x, y].map(|staged| self.fill(bind, here, staged, base));
        let known = constant(bind.b.func(), here.terms);
        let count = match known {
            Some(n) if n % self.depth == 0 => depth,
            _ => {
                let left = bind.b.sub(here.terms, base);
                bind.b.binary(BinaryOp::Min, depth, left)
            }
        };
        let term = bind.b.read(k);
        let (r, c) = self.tile.each;
        let of_rows = self.registers(bind, (x, a, r), term, (here.row, self.tile.rows / r));
        let of_cols = self.registers(bind, (y, b, c), term, (here.col, self.tile.cols / c));
        let products = self.each(bind, |bind, at, (r, c)| {
            let factors = [(a, r), (b, c)].map(|(buf, at)| bind.b.load(buf, vec![at], Access::Proven));
            added(bind, &self.product, factors, (sum, at))
        });
        let zero = bind.b.index(0);
        let inner = Stmt::loop_(k, zero, count, LoopKind::Serial, Stmt::seq([of_rows, of_cols, products]));
        let [first, second] = fills;
        let steps = bind.parts(here.terms, self.depth);
        Stmt::loop_(step, zero, steps, LoopKind::Serial, Stmt::seq([wait(), first, second, wait(), inner]))
    }

    /// All threads bring a factor of these terms to shared memory; what lies outside is 0.
    fn fill(&self, bind: &mut Bind<'_>, here: &Here, staged: &Staged, base: ExprId) -> Stmt {
        let turn = bind.b.index_var("turn");
        let (at, threads) = (bind.b.read(turn), bind.b.index(THREADS));
        let number = bind.b.mul(at, threads);
        let number = bind.b.add(number, here.thread);
        let side = bind.b.index(if staged.along_terms { self.depth } else { staged.width });
        let outer = bind.b.binary(BinaryOp::DivEuclid, number, side);
        let inner = bind.b.binary(BinaryOp::RemEuclid, number, side);
        let (term, place) = if staged.along_terms {
            let moved = bind.b.add(inner, outer);
            (bind.b.binary(BinaryOp::RemEuclid, moved, side), outer)
        } else {
            (outer, inner)
        };
        let (k, element) = (bind.b.add(base, term), bind.b.add(staged.first, place));
        let mut to = BTreeMap::new();
        to.extend(bind.places(k, &self.product.terms));
        to.extend(bind.places(element, &staged.loops));
        let value = substitution(&to).expr(bind.b, staged.value);
        let whole = |bind: &Bind<'_>, n: ExprId, by: i64| constant(bind.b.func(), n).is_some_and(|n| n % by == 0);
        let mut guarded = value;
        let zero = bind.b.scalar(Scalar::zero(staged.dtype));
        // The last turn may have threads for which the tile has nothing.
        let exact = self.depth * staged.width % THREADS == 0;
        for (at, limit, by) in [(k, here.terms, self.depth), (element, staged.count, staged.width)] {
            if !exact || !whole(bind, limit, by) {
                let inside = bind.b.compare(tenfold_ir::op::CmpOp::Lt, at, limit);
                guarded = bind.b.if_(inside, guarded, zero);
            }
        }
        let body =
            Stmt::Store { buf: staged.buf, index: vec![at, here.thread], value: guarded, access: Access::Proven };
        let (zero, turns) = (bind.b.index(0), bind.b.index(parts(self.depth * staged.width, THREADS)));
        Stmt::loop_(turn, zero, turns, LoopKind::Serial, body)
    }

    /// Where a factor's element lies. Of terms that lie side by side each line begins one later, so that threads that
    /// read one term of several lines read different banks.
    fn slot(&self, bind: &mut Bind<'_>, staged: &Staged, term: ExprId, place: ExprId) -> Vec<ExprId> {
        let number = if staged.along_terms {
            let depth = bind.b.index(self.depth);
            let (line, back) = (bind.b.mul(place, depth), bind.b.sub(term, place));
            let term = bind.b.binary(BinaryOp::RemEuclid, back, depth);
            bind.b.add(line, term)
        } else {
            let width = bind.b.index(staged.width);
            let line = bind.b.mul(term, width);
            bind.b.add(line, place)
        };
        let threads = bind.b.index(THREADS);
        let line = bind.b.binary(BinaryOp::DivEuclid, number, threads);
        vec![line, bind.b.binary(BinaryOp::RemEuclid, number, threads)]
    }

    /// A thread's own elements of a factor of one term.
    fn registers(
        &self,
        bind: &mut Bind<'_>,
        (staged, to, count): (&Staged, BufId, i64),
        term: ExprId,
        (mine, apart): (ExprId, i64),
    ) -> Stmt {
        let var = bind.b.index_var("n");
        let (n, apart) = (bind.b.read(var), bind.b.index(apart));
        let far = bind.b.mul(n, apart);
        let place = bind.b.add(mine, far);
        let from = self.slot(bind, staged, term, place);
        let value = bind.b.load(staged.buf, from, Access::Proven);
        let (zero, count) = (bind.b.index(0), bind.b.index(count));
        Stmt::loop_(var, zero, count, LoopKind::Unrolled, store(to, n, value))
    }

    /// A thread's elements, one after the other: what is done with each by its place in the tile.
    fn each(&self, bind: &mut Bind<'_>, body: impl FnOnce(&mut Bind<'_>, ExprId, (ExprId, ExprId)) -> Stmt) -> Stmt {
        let (r, c) = (bind.b.index_var("r"), bind.b.index_var("c"));
        let (row, col) = (bind.b.read(r), bind.b.read(c));
        let (high, wide) = (bind.b.index(self.tile.each.0), bind.b.index(self.tile.each.1));
        let line = bind.b.mul(row, wide);
        let at = bind.b.add(line, col);
        let body = body(bind, at, (row, col));
        let zero = bind.b.index(0);
        let inner = Stmt::loop_(c, zero, wide, LoopKind::Unrolled, body);
        Stmt::loop_(r, zero, high, LoopKind::Unrolled, inner)
    }

    /// The row and column of a thread's element: neighbours of one thread are other threads'.
    fn element(&self, bind: &mut Bind<'_>, here: &Here, (r, c): (ExprId, ExprId)) -> (ExprId, ExprId) {
        let of = |bind: &mut Bind<'_>, first, mine, n, apart: i64| {
            let apart = bind.b.index(apart);
            let far = bind.b.mul(n, apart);
            let place = bind.b.add(mine, far);
            bind.b.add(first, place)
        };
        let (high, wide) = self.tile.each;
        let row = of(bind, here.top, here.row, r, self.tile.rows / high);
        (row, of(bind, here.left, here.col, c, self.tile.cols / wide))
    }
}

/// Whether a factor lies in memory along the last loop of the terms, and not along its own.
pub(super) fn neighbours(bind: &Bind<'_>, value: ExprId, terms: &[Loop], own: &[Loop]) -> bool {
    let func = bind.b.func();
    let last = |loops: &[Loop], i: ExprId| loops.last().is_some_and(|l| expr_vars(func, i).contains(&l.var));
    func.reachable([value]).into_iter().any(|e| match func.exprs.get(e) {
        Expr::Load { index, .. } => index.last().is_some_and(|i| last(terms, *i) && !last(own, *i)),
        _ => false,
    })
}
