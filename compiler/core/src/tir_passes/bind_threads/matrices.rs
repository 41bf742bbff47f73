//! A group makes a tile of a product of halves or bytes, of which each of its warps has a part: factors come into shared
//! memory, some terms at a time, and warps multiply matrices that they find there, alone or four together (`warpgroups`).
//!
//! While warps multiply, each thread has its part of the next terms on the way: to shared memory where these are 16 bytes
//! side by side, else to registers. Shared memory has room for the terms of two steps, in lines of a power of two of chunks of 16 bytes, in an order that differs from line to line: what eight threads read or write at once
//! lies in banks of its own. Sums of halves are of `f32`; their order is that of the terms by sixteens, and free among these.
//! Integers of 8 bits take the place of halves by twos, in lines of terms whatever lies side by side in memory; their sums
//! are of `i32` and wrap, so that any order gives the same bits.

mod tensors;
mod warpgroups;

use std::collections::BTreeMap;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::tir::warp::WARP;
use tenfold_ir::tir::{
    Access, BufId, Elem, Expr, ExprId, Intrinsic, LoopKind, PrimFunc, Scope, Stmt, Ty, Warp, expr_vars, substitution,
};
use tenfold_ir::{DType, Scalar};

use super::product::Product;
use super::sums::{Sums, store, wait};
use super::tiles::{neighbours, parts};
use super::words::widened;
use super::{Bind, Loop};
use crate::tir_passes::kernel::{constant, with_alloc};
use tensors::Boxes;

/// Halves along the terms of a product of matrices, and rows or columns of two of them beside one another.
const SIDE: i64 = 16;

/// Rows of tiles in a strip, at most: some hundred groups, which run at once, make about as many rows of a result then as
/// columns.
const STRIP: i64 = 16;

/// Halves of 16 bytes, which a thread moves at once.
const CHUNK: i64 = 8;

/// Rows of a matrix.
const ROWS: i64 = 8;

/// A tile that products may have.
struct Tile {
    /// Rows and columns of a group.
    size: [i64; 2],
    /// Those of a warp.
    warp: [i64; 2],
    /// Halves along the terms of a step.
    depth: i64,
    /// Steps whose terms have room in shared memory.
    stages: i64,
    by: By,
}

/// Who multiplies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// Each warp: one step is on its way while another one is multiplied.
    Warps,
    /// Four warps together, 16 rows each.
    Warpgroups,
}

/// 128 sums a thread: one group is on a multiprocessor, with 192 KiB of shared memory.
const WIDE: Tile = Tile { size: [128, 256], warp: [16, 256], depth: 64, stages: 4, by: By::Warpgroups };

/// 64 sums a thread: two groups are on a multiprocessor, with 96 KiB of shared memory each.
const SQUARE: Tile = Tile { size: [128, 128], warp: [16, 128], depth: 64, stages: 3, by: By::Warpgroups };

/// 64 sums a thread, and 64 products a load of a factor from memory.
const LARGE: Tile = Tile { size: [128, 128], warp: [64, 32], depth: 32, stages: 2, by: By::Warps };

/// Where large tiles would leave multiprocessors without any.
const SMALL: Tile = Tile { size: [64, 64], warp: [32, 32], depth: 32, stages: 2, by: By::Warps };

impl Tile {
    fn warps(&self) -> [i64; 2] {
        [self.size[0] / self.warp[0], self.size[1] / self.warp[1]]
    }

    fn threads(&self) -> i64 {
        WARP * self.warps()[0] * self.warps()[1]
    }

    /// Whether products of so many parts, rows, columns and terms have such tiles for all multiprocessors, and no fewer
    /// columns of them are left empty by smaller ones.
    fn suits(&self, [batch, rows, cols, terms]: [i64; 4], multiprocessors: i64) -> bool {
        let [high, wide] = self.size;
        let least = SQUARE.size[1];
        let full = parts(cols, wide) * wide == parts(cols, least) * least;
        let deep = self.by == By::Warps || terms >= self.depth;
        rows > high / 2 && cols > wide / 2 && full && deep && self.count([batch, rows, cols]) >= multiprocessors
    }

    /// Tiles of a result of so many parts, rows and columns.
    fn count(&self, [batch, rows, cols]: [i64; 3]) -> i64 {
        batch.saturating_mul(parts(rows, self.size[0])).saturating_mul(parts(cols, self.size[1]))
    }
}

/// A product with the tile that it gets.
pub(super) struct Tiles {
    product: Product,
    narrow: Narrow,
    tile: &'static Tile,
}

/// The factors of a product as they are before they are widened.
#[derive(Clone, Copy)]
struct Narrow {
    factors: [ExprId; 2],
    dtypes: [DType; 2],
    /// What sums are of.
    sums: DType,
}

impl Narrow {
    /// Elements that take the place of one half.
    fn each(self) -> i64 {
        if self.sums == DType::I32 { 2 } else { 1 }
    }
}

/// Numbers of a thread and of its tile.
struct Here {
    thread: ExprId,
    lane: ExprId,
    /// Of the warp, among the rows and columns of warps.
    warp: [ExprId; 2],
    /// The first row and column of the tile.
    first: [ExprId; 2],
    /// Extents of the product.
    counts: [ExprId; 2],
    terms: ExprId,
    /// Where tiles are boxes of tensors.
    boxes: Option<Boxes>,
}

/// A factor on its way.
struct Staged {
    value: ExprId,
    loops: Vec<Loop>,
    /// Registers on the way to shared memory; none where chunks are copied as they lie.
    own: Option<BufId>,
    shared: BufId,
    /// Of the tile: its first row or column, how many the product has, and how many the tile.
    first: ExprId,
    count: ExprId,
    width: i64,
    /// Whether a line holds terms.
    along_terms: bool,
    /// Whether what lies side by side in memory is no line.
    turned: bool,
    dtype: DType,
    /// Elements of a chunk, and terms of a step.
    chunk: i64,
    depth: i64,
    tile: &'static Tile,
}

/// Registers of a thread: parts of both factors' matrices, and sums.
struct Parts {
    factors: [BufId; 2],
    sums: BufId,
}

impl Tiles {
    /// The tiles of a product, if the nest is one of halves or bytes and large enough.
    pub(super) fn find(bind: &mut Bind<'_>, outer: &[Loop], body: &Stmt) -> Option<Tiles> {
        let multiprocessors = bind.multiprocessors?;
        let product = Product::find(bind, outer, body)?;
        let func = bind.b.func();
        let narrow = halves(func, &product).filter(|_| !bind.strict).or_else(|| bytes(func, &product))?;
        let known = |loops: &[Loop]| loops.iter().try_fold(1i64, |n, l| n.checked_mul(constant(func, l.extent)?));
        let extents = [known(&product.batch), known(&product.rows), known(&product.cols)];
        let terms = known(&product.terms);
        let worth =
            extents[1..].iter().all(|n| n.is_none_or(|n| n >= SIDE)) && terms.is_none_or(|n| n >= narrow.each() * SIDE);
        let alike = narrow.dtypes[0] == narrow.dtypes[1];
        let groups = bind.warpgroups && alike && (0..2).all(|n| way(bind, &product, (n, narrow)).copied);
        let tile = match extents {
            [Some(batch), Some(rows), Some(cols)] => {
                let all = [batch, rows, cols, terms.unwrap_or_default() / narrow.each()];
                let large = [&WIDE, &SQUARE, &LARGE].into_iter().filter(|tile| groups || tile.by == By::Warps);
                large.into_iter().find(|tile| tile.suits(all, multiprocessors)).unwrap_or(&SMALL)
            }
            _ => &SMALL,
        };
        (worth && bind.b.buf(product.acc).dtype == narrow.sums).then_some(Tiles { product, narrow, tile })
    }

    /// Elements of 16 bytes.
    fn chunk(&self) -> i64 {
        CHUNK * self.narrow.each()
    }

    /// Terms of a step.
    fn depth(&self) -> i64 {
        self.tile.depth * self.narrow.each()
    }

    /// Sums of a thread.
    fn sums(&self) -> i64 {
        self.tile.warp[0] * self.tile.warp[1] / WARP
    }

    /// The kernel.
    pub(super) fn kernel(self, bind: &mut Bind<'_>) -> Stmt {
        let p = &self.product;
        let counts = [bind.count(&p.rows), bind.count(&p.cols)];
        let terms = bind.count(&p.terms);
        let (tiles, high) = self.tiles(bind, counts);
        let turns: Vec<Loop> = p.batch.iter().copied().chain(tiles).collect();
        let boxes = match self.tile.by {
            By::Warps => None,
            By::Warpgroups => {
                let groups = bind.count(&turns);
                self.boxes(bind, groups)
            }
        };
        bind.group_a_turn(&turns, self.tile.threads(), |bind, thread| {
            let thread = bind.b.read(thread);
            let (lane, warp) = (bind.rest(thread, WARP), bind.quotient(thread, WARP));
            let across = self.tile.warps()[1];
            let warp = [bind.quotient(warp, across), bind.rest(warp, across)];
            let [strip, across, down] = tiles.map(|l| bind.b.read(l.var));
            let strip = bind.times(strip, high);
            let down = bind.b.add(strip, down);
            let first = [(down, 0), (across, 1)].map(|(at, n)| bind.times(at, self.tile.size[n]));
            self.group(bind, &Here { thread, lane, warp, first, counts, terms, boxes })
        })
    }

    /// The loops over the tiles of a result of so many rows and columns: strips of some rows of tiles, the columns of a
    /// strip, the rows of these. Groups that run at once are neighbours then, and share what they read.
    fn tiles(&self, bind: &mut Bind<'_>, counts: [ExprId; 2]) -> ([Loop; 3], i64) {
        let [rows, cols] = [0, 1].map(|n: usize| bind.parts(counts[n], self.tile.size[n]));
        let known = constant(bind.b.func(), rows).filter(|n| *n > 0);
        let high = known.and_then(|n| (1..=STRIP).rev().find(|high| n % high == 0)).unwrap_or(1);
        let strips = known.map_or(rows, |n| bind.b.index(n / high));
        let (min, height) = (bind.b.index(0), bind.b.index(high));
        let loops = [("strip", strips), ("across", cols), ("down", height)];
        (loops.map(|(name, extent)| Loop { var: bind.b.index_var(name), min, extent }), high)
    }

    fn group(&self, bind: &mut Bind<'_>, here: &Here) -> Stmt {
        let mut own = |name, dtype, n: i64| bind.b.buffer(name, dtype, vec![IntExpr::from(n)], Scope::Local);
        let factors = match self.tile.by {
            By::Warps => ["a", "b"]
                .into_iter()
                .zip(self.tile.warp.into_iter().zip(self.narrow.dtypes))
                .map(|(name, (n, dtype))| own(name, dtype, n / SIDE * self.chunk()))
                .collect(),
            By::Warpgroups => Vec::new(),
        };
        let buf = own("tile", self.narrow.sums, self.sums());
        let staged = [self.staged(bind, here, 0), self.staged(bind, here, 1)];
        let size = |n: usize| (here.counts[n], self.tile.size[n]);
        let sums = Sums { product: &self.product, buf, rows: size(0), cols: size(1) };
        let init = self.each(bind, here, |bind, at, place| sums.init(bind, at, place));
        let steps = match factors[..] {
            [a, b] => self.steps(bind, here, &staged, &Parts { factors: [a, b], sums: buf }),
            _ => self.ring(bind, here, &staged, buf),
        };
        let last = self.each(bind, here, |bind, at, place| sums.last(bind, at, place));
        let all = Stmt::seq([init, steps, last]);
        let memory = staged.iter().flat_map(|s| s.own.into_iter().chain([s.shared]));
        let full = here.boxes.as_ref().map(|boxes| boxes.full);
        let buffers = full.into_iter().chain(memory).chain(factors).chain([buf]);
        buffers.fold(all, |body, buf| with_alloc(buf, body))
    }

    fn staged(&self, bind: &mut Bind<'_>, here: &Here, n: usize) -> Staged {
        let (value, dtype, width, tile) = (self.narrow.factors[n], self.narrow.dtypes[n], self.tile.size[n], self.tile);
        let (chunk, depth) = (self.chunk(), self.depth());
        let Way { along_terms, turned, copied } = way(bind, &self.product, (n, self.narrow));
        let loops = if n == 0 { self.product.rows.clone() } else { self.product.cols.clone() };
        let elements = width * depth;
        let scope = match tile.by {
            By::Warps => Scope::Shared,
            By::Warpgroups => Scope::SharedDyn,
        };
        let mut memory = |name, size: i64, scope| bind.b.buffer(name, dtype, vec![IntExpr::from(size)], scope);
        let names = [["next_rows", "rows"], ["next_cols", "cols"]][n];
        let own = (!copied).then(|| memory(names[0], elements / tile.threads(), Scope::Local));
        let shared = memory(names[1], tile.stages * elements, scope);
        let (first, count) = (here.first[n], here.counts[n]);
        Staged { value, loops, own, shared, first, count, width, along_terms, turned, dtype, chunk, depth, tile }
    }

    /// Some terms after the others; those of the next step are on their way while warps multiply.
    fn steps(&self, bind: &mut Bind<'_>, here: &Here, staged: &[Staged; 2], parts: &Parts) -> Stmt {
        let step = bind.b.index_var("step");
        let (at, zero, one) = (bind.b.read(step), bind.b.index(0), bind.b.index(1));
        let next = bind.b.add(at, one);
        let count = bind.parts(here.terms, self.depth());
        let last = match constant(bind.b.func(), count) {
            Some(n) => bind.b.index((n - 1).max(0)),
            None => {
                let last = bind.b.sub(count, one);
                bind.b.binary(BinaryOp::Max, last, zero)
            }
        };
        let begin = [self.fetch(bind, here, staged, zero), self.share(bind, here, staged, zero)];
        let body = Stmt::seq([
            wait(),
            self.fetch(bind, here, staged, next),
            self.multiply(bind, here, (staged, at), parts),
            self.share(bind, here, staged, next),
        ]);
        let body = Stmt::loop_(step, zero, last, LoopKind::Serial, body);
        let end = [wait(), self.multiply(bind, here, (staged, last), parts)];
        Stmt::seq([wait()].into_iter().chain(begin).chain([body]).chain(end))
    }

    /// The next terms of both factors begin their way.
    fn fetch(&self, bind: &mut Bind<'_>, here: &Here, staged: &[Staged; 2], step: ExprId) -> Stmt {
        Stmt::seq([0, 1].map(|n: usize| match staged[n].own {
            Some(own) => self.read(bind, here, (&staged[n], own), step),
            None => self.copy(bind, here, &staged[n], step),
        }))
    }

    /// What threads have read goes to shared memory.
    fn share(&self, bind: &mut Bind<'_>, here: &Here, staged: &[Staged; 2], step: ExprId) -> Stmt {
        let mut all = Vec::new();
        for staged in staged {
            let Some(own) = staged.own else { continue };
            all.push(self.chunks(bind, here, staged, |bind, first, line| {
                let (from, to) = (bind.ramp(first, staged.chunk), staged.place(bind, step, line));
                let value = bind.vector(own, from);
                store(staged.shared, to, value)
            }));
        }
        Stmt::seq(all)
    }

    /// The chunks of a thread, one after the other: by its line and its place there.
    fn chunks(
        &self,
        bind: &mut Bind<'_>,
        here: &Here,
        staged: &Staged,
        body: impl FnOnce(&mut Bind<'_>, ExprId, [ExprId; 2]) -> Stmt,
    ) -> Stmt {
        let (turn, threads) = (bind.b.index_var("turn"), self.tile.threads());
        let at = bind.b.read(turn);
        let number = bind.times(at, threads);
        let number = bind.b.add(number, here.thread);
        // Threads side by side read neighbours.
        let line = match staged.turned {
            true => [bind.rest(number, staged.width), bind.quotient(number, staged.width)],
            false => [bind.quotient(number, staged.chunks()), bind.rest(number, staged.chunks())],
        };
        let own = bind.times(at, staged.chunk);
        let body = body(bind, own, line);
        let (zero, turns) = (bind.b.index(0), bind.b.index(staged.width * staged.depth / staged.chunk / threads));
        Stmt::loop_(turn, zero, turns, LoopKind::Unrolled, body)
    }

    /// A thread reads its part of a factor's terms of a step into registers; what lies outside is 0.
    fn read(&self, bind: &mut Bind<'_>, here: &Here, (staged, own): (&Staged, BufId), step: ExprId) -> Stmt {
        self.chunks(bind, here, staged, |bind, first, line| {
            let e = bind.b.index_var("e");
            let (lane, zero, lanes) = (bind.b.read(e), bind.b.index(0), bind.b.index(staged.chunk));
            let (inside, value) = self.element(bind, here, (staged, line), step, Some(lane));
            let to = bind.b.add(first, lane);
            let read = Stmt::loop_(e, zero, lanes, LoopKind::Vectorized, store(own, to, value));
            let to = bind.ramp(first, staged.chunk);
            staged.or_zeros(bind, inside, read, (own, to))
        })
    }

    /// A thread's part of a factor's terms of a step begins its way to shared memory, chunks as they lie.
    fn copy(&self, bind: &mut Bind<'_>, here: &Here, staged: &Staged, step: ExprId) -> Stmt {
        self.chunks(bind, here, staged, |bind, _, line| {
            let (inside, value) = self.element(bind, here, (staged, line), step, None);
            let to = staged.place(bind, step, line);
            let copy = store(staged.shared, to, bind.chunk_of(value, staged.chunk));
            staged.or_zeros(bind, inside, copy, (staged.shared, to))
        })
    }

    /// An element of a chunk of a factor, or its first one, and whether the chunk is inside.
    fn element(
        &self,
        bind: &mut Bind<'_>,
        here: &Here,
        (staged, [line, chunk]): (&Staged, [ExprId; 2]),
        step: ExprId,
        lane: Option<ExprId>,
    ) -> (Option<ExprId>, ExprId) {
        let base = bind.times(step, staged.depth);
        let inner = bind.times(chunk, staged.chunk);
        let moved = lane.map_or(inner, |lane| bind.b.add(inner, lane));
        let [term, place] = if staged.along_terms { [moved, line] } else { [line, moved] };
        let (term, place) = (bind.b.add(base, term), bind.b.add(staged.first, place));
        let first = bind.b.add(if staged.along_terms { base } else { staged.first }, inner);
        self.guarded(bind, here, staged, [term, place, first])
    }

    /// An element of a factor, and whether its chunk, which begins at `first`, is inside; where a chunk may be inside in
    /// part, each of its elements asks for itself.
    fn guarded(
        &self,
        bind: &mut Bind<'_>,
        here: &Here,
        staged: &Staged,
        [term, place, first]: [ExprId; 3],
    ) -> (Option<ExprId>, ExprId) {
        let mut to = BTreeMap::new();
        to.extend(bind.places(term, &self.product.terms));
        to.extend(bind.places(place, &staged.loops));
        let mut value = substitution(&to).expr(bind.b, staged.value);
        let mut inside = None;
        let limits = [(term, here.terms, staged.depth), (place, staged.count, staged.width)];
        for (n, (at, limit, by)) in limits.into_iter().enumerate() {
            let along = (n == 0) == staged.along_terms;
            let divides = |of: i64| constant(bind.b.func(), limit).is_some_and(|n| n % of == 0);
            if divides(by) {
                continue;
            }
            let whole = !along || divides(staged.chunk);
            let cond = bind.b.compare(CmpOp::Lt, if along && whole { first } else { at }, limit);
            if whole {
                inside = Some(inside.map_or(cond, |before| bind.b.and(before, cond)));
            } else {
                let none = bind.b.scalar(Scalar::zero(staged.dtype));
                value = bind.b.if_(cond, value, none);
            }
        }
        (inside, value)
    }

    /// Every warp multiplies its matrices of the terms that are in shared memory.
    fn multiply(
        &self,
        bind: &mut Bind<'_>,
        here: &Here,
        (staged, step): (&[Staged; 2], ExprId),
        parts: &Parts,
    ) -> Stmt {
        let term = bind.b.index_var("k");
        let k = bind.b.read(term);
        let loads = [0, 1].map(|n: usize| self.matrices(bind, here, (n, &staged[n], step), (parts.factors[n], k)));
        let (m, n) = (bind.b.index_var("m"), bind.b.index_var("n"));
        let (down, across) = (bind.b.read(m), bind.b.read(n));
        let pairs = self.tile.warp[1] / SIDE * 2;
        let line = bind.times(down, pairs);
        let number = bind.b.add(line, across);
        let mut read = |buf, number, lanes: i64| {
            let first = bind.times(number, lanes);
            let at = bind.ramp(first, lanes);
            (at, bind.vector(buf, at))
        };
        let [a, b] = parts.factors;
        let ((_, a), (_, b), (at, c)) =
            (read(a, down, self.chunk()), read(b, across, self.chunk() / 2), read(parts.sums, number, 4));
        let value = bind.together(Warp::Mma, vec![a, b, c]);
        let zero = bind.b.index(0);
        let mut unrolled = |var, count: i64, body| {
            let count = bind.b.index(count);
            Stmt::loop_(var, zero, count, LoopKind::Unrolled, body)
        };
        let products = unrolled(n, pairs, store(parts.sums, at, value));
        let products = unrolled(m, self.tile.warp[0] / SIDE, products);
        unrolled(term, self.tile.depth / SIDE, Stmt::seq(loads.into_iter().chain([products])))
    }

    /// Matrices of a factor: of 16 halves along the terms, and of 16 rows or columns after the others.
    fn matrices(
        &self,
        bind: &mut Bind<'_>,
        here: &Here,
        (n, staged, step): (usize, &Staged, ExprId),
        (to, k): (BufId, ExprId),
    ) -> Stmt {
        let var = bind.b.index_var("n");
        let number = bind.b.read(var);
        let (matrix, row) = (bind.quotient(here.lane, ROWS), bind.rest(here.lane, ROWS));
        // The second matrix has the next rows of the left factor, and the next terms of the right one.
        let (low, high) = (bind.rest(matrix, 2), bind.quotient(matrix, 2));
        let (of_own, of_terms) = if n == 0 { (low, high) } else { (high, low) };
        let first = bind.times(here.warp[n], self.tile.warp[n] / ROWS);
        let [mut own, mut terms] = [(number, of_own), (k, of_terms)].map(|(at, part)| {
            let pair = bind.times(at, SIDE / ROWS);
            bind.b.add(pair, part)
        });
        own = bind.b.add(first, own);
        let line = if staged.along_terms { &mut own } else { &mut terms };
        *line = bind.times(*line, ROWS);
        *line = bind.b.add(*line, row);
        let place = staged.place(bind, step, if staged.along_terms { [own, terms] } else { [terms, own] });
        // A row of the left factor, and a column of the right one, has to have its terms side by side.
        let f = if staged.along_terms { Warp::LdMatrix } else { Warp::LdMatrixTrans };
        let from = bind.vector(staged.shared, place);
        let value = bind.together(f, vec![from]);
        let first = bind.times(number, staged.chunk);
        let at = bind.ramp(first, staged.chunk);
        let (zero, count) = (bind.b.index(0), bind.b.index(self.tile.warp[n] / SIDE));
        Stmt::loop_(var, zero, count, LoopKind::Unrolled, store(to, at, value))
    }

    /// A thread's sums, one after the other: where each is, and its row and column.
    fn each(
        &self,
        bind: &mut Bind<'_>,
        here: &Here,
        body: impl FnOnce(&mut Bind<'_>, ExprId, (ExprId, ExprId)) -> Stmt,
    ) -> Stmt {
        let vars = ["m", "n", "q"].map(|name| bind.b.index_var(name));
        let [m, n, q] = vars.map(|var| bind.b.read(var));
        let (long, short) = (bind.quotient(here.lane, 4), bind.rest(here.lane, 4));
        let (low, high) = (bind.rest(q, 2), bind.quotient(q, 2));
        let mut sum = |parts: [(ExprId, i64); 4]| {
            let parts = parts.map(|(at, apart)| bind.times(at, apart));
            let [first, rest @ ..] = parts;
            rest.into_iter().fold(first, |all, part| bind.b.add(all, part))
        };
        let (warp, matrices) = (self.tile.warp, [SIDE, ROWS]);
        let row = sum([(here.warp[0], warp[0]), (m, matrices[0]), (long, 1), (high, ROWS)]);
        let col = sum([(here.warp[1], warp[1]), (n, matrices[1]), (short, 2), (low, 1)]);
        let place = (bind.b.add(here.first[0], row), bind.b.add(here.first[1], col));
        let counts = [warp[0] / matrices[0], warp[1] / matrices[1], 4];
        let line = bind.times(m, counts[1]);
        let number = bind.b.add(line, n);
        let number = bind.times(number, counts[2]);
        let at = bind.b.add(number, q);
        let body = body(bind, at, place);
        let zero = bind.b.index(0);
        vars.into_iter().zip(counts).rev().fold(body, |body, (var, count)| {
            let count = bind.b.index(count);
            Stmt::loop_(var, zero, count, LoopKind::Unrolled, body)
        })
    }
}

impl Staged {
    /// Chunks of a line in shared memory.
    fn chunks(&self) -> i64 {
        (if self.along_terms { self.depth } else { self.width }) / self.chunk
    }

    fn or_zeros(&self, bind: &mut Bind<'_>, inside: Option<ExprId>, then: Stmt, (buf, at): (BufId, ExprId)) -> Stmt {
        let Some(cond) = inside else { return then };
        let none = bind.b.scalar(Scalar::zero(self.dtype));
        let nothing = bind.b.broadcast(none, self.chunk as u16);
        Stmt::If { cond, then: Box::new(then), otherwise: Some(Box::new(store(buf, at, nothing))) }
    }

    /// Where a step begins.
    fn stage(&self, bind: &mut Bind<'_>, step: ExprId) -> ExprId {
        let stage = bind.rest(step, self.tile.stages);
        bind.times(stage, self.width * self.depth)
    }

    /// Where a chunk of a step lies: lines of eight chunks and more turn by one from line to line, shorter ones every other
    /// line. Warpgroups read lines of eight chunks, one panel of these behind the other.
    fn place(&self, bind: &mut Bind<'_>, step: ExprId, [line, chunk]: [ExprId; 2]) -> ExprId {
        let (mut chunks, mut chunk, mut stage) = (self.chunks(), chunk, self.stage(bind, step));
        if self.tile.by == By::Warpgroups && chunks > CHUNK {
            let panel = bind.quotient(chunk, CHUNK);
            let panel = bind.times(panel, self.tile.depth * CHUNK * CHUNK);
            stage = bind.b.add(stage, panel);
            (chunks, chunk) = (CHUNK, bind.rest(chunk, CHUNK));
        }
        let lines = (8 / chunks).max(1);
        let turn = bind.quotient(line, lines);
        let turn = bind.rest(turn, chunks.min(8));
        let chunk = bind.b.binary(BinaryOp::Xor, chunk, turn);
        let first = bind.times(line, chunks);
        let number = bind.b.add(first, chunk);
        let place = bind.times(number, self.chunk);
        let first = bind.b.add(stage, place);
        bind.ramp(first, self.chunk)
    }
}

impl Bind<'_> {
    /// What the threads of a warp make together; its type is the last operand's.
    fn together(&mut self, f: Warp, args: Vec<ExprId>) -> ExprId {
        let ty = args.last().map_or(Ty::index(), |last| self.b.ty(*last));
        self.b.raw(Expr::Call(Intrinsic::Warp(f), args, ty), ty)
    }

    /// The copy of the chunk that begins with an element.
    fn chunk_of(&mut self, first: ExprId, lanes: i64) -> ExprId {
        let Expr::Load { buf, index, access } = self.b.func().exprs.get(first).clone() else { return first };
        let mut index = index;
        if let Some(last) = index.last_mut() {
            *last = self.ramp(*last, lanes);
        }
        let ty = Ty { lanes: lanes as u16, ..self.b.ty(first) };
        let chunk = self.b.raw(Expr::Load { buf, index, access }, ty);
        self.b.raw(Expr::Call(Intrinsic::CopyAsync, vec![chunk], ty), ty)
    }

    /// What stands in a buffer at a vector of places.
    fn vector(&mut self, buf: BufId, at: ExprId) -> ExprId {
        let ty = Ty { lanes: self.b.ty(at).lanes, ..Ty::scalar(self.b.buf(buf).dtype) };
        self.b.raw(Expr::Load { buf, index: vec![at], access: Access::Proven }, ty)
    }

    /// So many neighbours.
    fn ramp(&mut self, first: ExprId, lanes: i64) -> ExprId {
        let one = self.b.index(1);
        self.b.raw(Expr::Ramp(first, one, lanes as u16), Ty { lanes: lanes as u16, ..Ty::index() })
    }
}

/// How a factor comes to shared memory.
struct Way {
    /// In lines of terms.
    along_terms: bool,
    /// In other lines than it has in memory.
    turned: bool,
    /// By chunks as they lie.
    copied: bool,
}

/// How the factor of that number comes to shared memory. No instruction transposes matrices of bytes.
fn way(bind: &Bind<'_>, product: &Product, (n, narrow): (usize, Narrow)) -> Way {
    let (value, loops) = (narrow.factors[n], if n == 0 { &product.rows } else { &product.cols });
    let as_it_lies = neighbours(bind, value, &product.terms, loops);
    let along_terms = as_it_lies || narrow.each() > 1;
    let along = if along_terms { &product.terms } else { loops };
    let copied = is_copied(bind.b.func(), value, along, CHUNK * narrow.each());
    Way { along_terms, turned: along_terms != as_it_lies, copied }
}

/// The factors of a product as the halves that they are of one dtype, each widened, and nothing else done with them.
fn halves(func: &PrimFunc, product: &Product) -> Option<Narrow> {
    let half = |e: ExprId| match *func.exprs.get(e) {
        Expr::Cast(Ty { elem: Elem::Scalar(DType::F32), .. }, inner) => match func.exprs.ty(inner).elem {
            Elem::Scalar(dtype @ (DType::F16 | DType::BF16)) => Some((inner, dtype)),
            Elem::Scalar(_) | Elem::Index => None,
        },
        _ => None,
    };
    let ((x, of_x), (y, of_y)) = (half(product.x)?, half(product.y)?);
    let narrow = Narrow { factors: [x, y], dtypes: [of_x, of_y], sums: DType::F32 };
    (is_plain(func, product) && of_x == of_y && func.loads(x) && func.loads(y)).then_some(narrow)
}

/// Likewise as integers of 8 bits, with a sign or without, each widened to 32.
fn bytes(func: &PrimFunc, product: &Product) -> Option<Narrow> {
    let ((x, of_x), (y, of_y)) = (widened(func, product.x)?, widened(func, product.y)?);
    let narrow = Narrow { factors: [x, y], dtypes: [of_x, of_y], sums: DType::I32 };
    (is_plain(func, product) && func.loads(x) && func.loads(y)).then_some(narrow)
}

/// Whether what is added is the product of both factors itself.
fn is_plain(func: &PrimFunc, product: &Product) -> bool {
    matches!(*func.exprs.get(product.term), Expr::Binary(BinaryOp::Mul, x, y)
        if [x, y] == [product.x, product.y] || [y, x] == [product.x, product.y])
}

/// Whether chunks of a factor along these loops are copied as they lie: an element of a buffer whose last axis one loop
/// walks, and whose lines are so long that every chunk begins at a multiple of its size.
fn is_copied(func: &PrimFunc, value: ExprId, along: &[Loop], chunk: i64) -> bool {
    let (Expr::Load { buf, index, .. }, [l]) = (func.exprs.get(value), along) else { return false };
    let (Some((last, outer)), Some(data)) = (index.split_last(), func.buffers.get(buf.0 as usize)) else {
        return false;
    };
    let far = match data.scope {
        Scope::Param | Scope::Global | Scope::Const(_) | Scope::Workspace => data.strides.is_none(),
        Scope::Local | Scope::Shared | Scope::SharedDyn | Scope::Warp | Scope::View => false,
    };
    let whole = |n: Option<i64>| n.is_some_and(|n| n % chunk == 0);
    let lines = whole(data.shape.last().and_then(|extent| extent.as_const())) && whole(constant(func, l.extent));
    let walked = *func.exprs.get(*last) == Expr::Var(l.var);
    far && lines && walked && !outer.iter().any(|i| expr_vars(func, *i).contains(&l.var))
}
