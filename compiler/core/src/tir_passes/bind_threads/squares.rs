//! A group makes a tile of a product of elements of 4 bytes, of which each thread has 8 rows by 8 columns in registers.
//!
//! Rows and columns of a thread are two times four neighbours, so that it finds those of a term in four loads of 16 bytes
//! from shared memory, for 64 products. The threads of a warp are four by eight of these squares: what they read at once
//! is 64 bytes of one factor and 128 of the other. While threads multiply, each has its part of the next terms on the way
//! to registers. Order and number of additions are those of the plain loop.

use std::collections::BTreeMap;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::tir::{Access, BufId, Elem, ExprId, LoopKind, Scope, Stmt, WARP, substitution};
use tenfold_ir::{DType, Scalar};

use super::product::Product;
use super::sums::{Sums, added, store, wait};
use super::tiles::{neighbours, parts};
use super::{Bind, Loop};
use crate::tir_passes::kernel::{constant, with_alloc};

/// Rows and columns of a thread, and neighbours among them.
const SIDE: i64 = 8;
const QUAD: i64 = 4;

/// Threads of a warp down and across, and its rows and columns by fours.
const LANES: [i64; 2] = [4, 8];
const WARP_QUADS: [i64; 2] = [LANES[0] * SIDE / QUAD, LANES[1] * SIDE / QUAD];

/// Terms that are in shared memory at once.
const DEPTH: i64 = 8;

/// Rows and columns of a group, in the order in which they are tried: 64 and 32 products share a load from memory.
const SIZES: [[i64; 2]; 2] = [[128, 128], [64, 64]];

/// A product with the tile that it gets.
pub(super) struct Squares {
    product: Product,
    size: [i64; 2],
    dtype: DType,
}

/// Numbers of a thread and of its tile.
struct Here {
    thread: ExprId,
    /// The first four rows and the first four columns of the thread in the tile.
    quads: [ExprId; 2],
    /// The first row and column of the tile.
    first: [ExprId; 2],
    /// Extents of the product.
    counts: [ExprId; 2],
    terms: ExprId,
}

/// A factor on its way to shared memory, by fours of which each is a thread's.
struct Staged {
    value: ExprId,
    loops: Vec<Loop>,
    /// Registers on the way, and of a term.
    next: BufId,
    term: BufId,
    shared: BufId,
    n: usize,
    /// Of the tile.
    width: i64,
    /// Fours of a thread.
    turns: i64,
    /// Whether four neighbours in memory are terms; else they are rows or columns.
    along_terms: bool,
}

impl Squares {
    /// The tiles of a product, if the nest is one and large enough.
    pub(super) fn find(bind: &mut Bind<'_>, outer: &[Loop], body: &Stmt) -> Option<Squares> {
        let multiprocessors = bind.multiprocessors?;
        let product = Product::find(bind, outer, body)?;
        let func = bind.b.func();
        let dtype = |e: ExprId| match func.exprs.ty(e).elem {
            Elem::Scalar(dtype @ (DType::F32 | DType::I32 | DType::U32)) => Some(dtype),
            Elem::Scalar(_) | Elem::Index => None,
        };
        let of = dtype(product.x)?;
        let alike = dtype(product.y) == Some(of) && func.buffers[product.acc.0 as usize].dtype == of;
        let known = |loops: &[Loop]| loops.iter().try_fold(1i64, |n, l| n.checked_mul(constant(func, l.extent)?));
        let [batch, rows, cols] = [known(&product.batch)?, known(&product.rows)?, known(&product.cols)?];
        let deep = known(&product.terms).is_none_or(|n| n >= DEPTH);
        let suits = |[high, wide]: &[i64; 2]| {
            let tiles = batch.saturating_mul(parts(rows, *high)).saturating_mul(parts(cols, *wide));
            rows > high / 2 && cols > wide / 2 && tiles >= multiprocessors
        };
        let size = SIZES.into_iter().find(suits)?;
        (alike && deep).then_some(Squares { product, size, dtype: of })
    }

    fn threads(&self) -> i64 {
        self.size[0] * self.size[1] / (SIDE * SIDE)
    }

    /// The kernel.
    pub(super) fn kernel(self, bind: &mut Bind<'_>) -> Stmt {
        let p = &self.product;
        let counts = [bind.count(&p.rows), bind.count(&p.cols)];
        let terms = bind.count(&p.terms);
        let min = bind.b.index(0);
        let tiles = [0, 1].map(|n: usize| {
            let extent = bind.parts(counts[n], self.size[n]);
            Loop { var: bind.b.index_var(["down", "across"][n]), min, extent }
        });
        let turns: Vec<Loop> = p.batch.iter().copied().chain(tiles).collect();
        bind.group_a_turn(&turns, self.threads(), |bind, thread| {
            let thread = bind.b.read(thread);
            let first = [0, 1].map(|n: usize| {
                let tile = bind.b.read(tiles[n].var);
                bind.times(tile, self.size[n])
            });
            let quads = self.quads(bind, thread);
            self.group(bind, &Here { thread, quads, first, counts, terms })
        })
    }

    /// Which four rows and which four columns of the tile are the thread's first ones.
    fn quads(&self, bind: &mut Bind<'_>, thread: ExprId) -> [ExprId; 2] {
        let (lane, warp) = (bind.rest(thread, WARP), bind.quotient(thread, WARP));
        let wide = self.size[1] / QUAD / WARP_QUADS[1];
        let warp = [bind.quotient(warp, wide), bind.rest(warp, wide)];
        let lane = [bind.quotient(lane, LANES[1]), bind.rest(lane, LANES[1])];
        [0, 1].map(|n: usize| {
            let first = bind.times(warp[n], WARP_QUADS[n]);
            bind.b.add(first, lane[n])
        })
    }

    fn group(&self, bind: &mut Bind<'_>, here: &Here) -> Stmt {
        let sum = bind.b.buffer("tile", self.dtype, vec![IntExpr::from(SIDE * SIDE)], Scope::Local);
        let staged = [self.staged(bind, 0), self.staged(bind, 1)];
        let size = |n: usize| (here.counts[n], self.size[n]);
        let sums = Sums { product: &self.product, buf: sum, rows: size(0), cols: size(1) };
        let init = self.each(bind, |bind, at, own| {
            let place = element(bind, here, own);
            sums.init(bind, at, place)
        });
        let steps = self.steps(bind, here, &staged, sum);
        let last = self.each(bind, |bind, at, own| {
            let place = element(bind, here, own);
            sums.last(bind, at, place)
        });
        let memory = staged.iter().flat_map(|s| [s.next, s.term, s.shared]);
        memory.chain([sum]).fold(Stmt::seq([init, steps, last]), |body, buf| with_alloc(buf, body))
    }

    fn staged(&self, bind: &mut Bind<'_>, n: usize) -> Staged {
        let p = &self.product;
        let (value, loops) = [(p.x, &p.rows), (p.y, &p.cols)][n];
        let along_terms = neighbours(bind, value, &p.terms, loops);
        let (threads, width) = (self.threads(), self.size[n]);
        let turns = width * DEPTH / QUAD / threads;
        let mut memory = |name, shape: &[i64], scope| {
            bind.b.buffer(name, self.dtype, shape.iter().map(|n| IntExpr::from(*n)).collect(), scope)
        };
        let names = [["next_rows", "a", "rows"], ["next_cols", "b", "cols"]][n];
        let next = memory(names[0], &[turns * QUAD], Scope::Local);
        let term = memory(names[1], &[SIDE], Scope::Local);
        // Each thread writes elements of its own, and fours that are read at once are neighbours.
        let shape = if along_terms { [turns, QUAD, threads] } else { [turns, threads, QUAD] };
        let shared = memory(names[2], &shape, Scope::Shared);
        Staged { value, loops: loops.clone(), next, term, shared, n, width, turns, along_terms }
    }

    /// Some terms after the others; those of the next step are on their way while threads multiply.
    fn steps(&self, bind: &mut Bind<'_>, here: &Here, staged: &[Staged; 2], sum: BufId) -> Stmt {
        let step = bind.b.index_var("step");
        let (at, zero, one) = (bind.b.read(step), bind.b.index(0), bind.b.index(1));
        let next = bind.b.add(at, one);
        let count = bind.parts(here.terms, DEPTH);
        let [begin, ahead] = [zero, next].map(|step| {
            let both = [0, 1].map(|n: usize| self.fetch(bind, here, &staged[n], step));
            let is_there = constant(bind.b.func(), count).is_some_and(|n| n > 0) && step == zero;
            if is_there { Stmt::seq(both) } else { bind.below(step, count, Stmt::seq(both)) }
        });
        let share = [0, 1].map(|n: usize| self.share(bind, here, &staged[n]));
        let multiply = self.multiply(bind, here, staged, (sum, at));
        let body = [wait()].into_iter().chain(share).chain([wait(), ahead, multiply]);
        let body = Stmt::seq(body.collect::<Vec<_>>());
        Stmt::seq([begin, Stmt::loop_(step, zero, count, LoopKind::Serial, body)])
    }

    /// A thread reads its part of a factor's terms of a step into registers; what lies outside is 0.
    fn fetch(&self, bind: &mut Bind<'_>, here: &Here, staged: &Staged, step: ExprId) -> Stmt {
        let (turn, e) = (bind.b.index_var("turn"), bind.b.index_var("e"));
        let (at, lane) = (bind.b.read(turn), bind.b.read(e));
        let far = bind.times(at, self.threads());
        let number = bind.b.add(far, here.thread);
        let [term, place] = if staged.along_terms {
            let (four, place) = (bind.quotient(number, staged.width), bind.rest(number, staged.width));
            let first = bind.times(four, QUAD);
            [bind.b.add(first, lane), place]
        } else {
            let fours = staged.width / QUAD;
            let (term, four) = (bind.quotient(number, fours), bind.rest(number, fours));
            let first = bind.times(four, QUAD);
            [term, bind.b.add(first, lane)]
        };
        let base = bind.times(step, DEPTH);
        let (term, place) = (bind.b.add(base, term), bind.b.add(here.first[staged.n], place));
        let value = self.guarded(bind, here, staged, [term, place]);
        let own = bind.times(at, QUAD);
        let own = bind.b.add(own, lane);
        let (zero, four, turns) = (bind.b.index(0), bind.b.index(QUAD), bind.b.index(staged.turns));
        let body = Stmt::loop_(e, zero, four, LoopKind::Vectorized, store(staged.next, own, value));
        Stmt::loop_(turn, zero, turns, LoopKind::Unrolled, body)
    }

    /// An element of a factor; 0 where it is outside.
    fn guarded(&self, bind: &mut Bind<'_>, here: &Here, staged: &Staged, [term, place]: [ExprId; 2]) -> ExprId {
        let mut to = BTreeMap::new();
        to.extend(bind.places(term, &self.product.terms));
        to.extend(bind.places(place, &staged.loops));
        let mut value = substitution(&to).expr(bind.b, staged.value);
        let none = bind.b.scalar(Scalar::zero(self.dtype));
        for (at, limit, by) in [(term, here.terms, DEPTH), (place, here.counts[staged.n], staged.width)] {
            if constant(bind.b.func(), limit).is_none_or(|n| n % by != 0) {
                let inside = bind.b.compare(CmpOp::Lt, at, limit);
                value = bind.b.if_(inside, value, none);
            }
        }
        value
    }

    /// What a thread has read goes to shared memory.
    fn share(&self, bind: &mut Bind<'_>, here: &Here, staged: &Staged) -> Stmt {
        let (turn, e) = (bind.b.index_var("turn"), bind.b.index_var("e"));
        let (at, lane) = (bind.b.read(turn), bind.b.read(e));
        let own = bind.times(at, QUAD);
        let own = bind.b.add(own, lane);
        let value = bind.b.load(staged.next, vec![own], Access::Proven);
        let index = if staged.along_terms { vec![at, lane, here.thread] } else { vec![at, here.thread, lane] };
        let body = Stmt::Store { buf: staged.shared, index, value, access: Access::Proven };
        let kind = if staged.along_terms { LoopKind::Unrolled } else { LoopKind::Vectorized };
        let (zero, four, turns) = (bind.b.index(0), bind.b.index(QUAD), bind.b.index(staged.turns));
        let body = Stmt::loop_(e, zero, four, kind, body);
        Stmt::loop_(turn, zero, turns, LoopKind::Unrolled, body)
    }

    /// Each thread adds the products of a step's terms to its sums. What lies behind the last one is 0, which strict
    /// functions do not add: it makes 0 of -0.
    fn multiply(&self, bind: &mut Bind<'_>, here: &Here, staged: &[Staged; 2], (sum, step): (BufId, ExprId)) -> Stmt {
        let k = bind.b.index_var("k");
        let term = bind.b.read(k);
        let loads = [0, 1].map(|n: usize| self.registers(bind, here, &staged[n], term));
        let products = self.each(bind, |bind, at, own| {
            let factors = [0, 1].map(|n: usize| bind.b.load(staged[n].term, vec![own[n]], Access::Proven));
            added(bind, &self.product, factors, (sum, at))
        });
        let whole = !bind.strict || constant(bind.b.func(), here.terms).is_some_and(|n| n % DEPTH == 0);
        let (zero, depth) = (bind.b.index(0), bind.b.index(DEPTH));
        let (kind, count) = if whole {
            (LoopKind::Unrolled, depth)
        } else {
            let before = bind.times(step, DEPTH);
            let left = bind.b.sub(here.terms, before);
            (LoopKind::Serial, bind.b.binary(BinaryOp::Min, depth, left))
        };
        Stmt::loop_(k, zero, count, kind, Stmt::seq(loads.into_iter().chain([products])))
    }

    /// A thread's elements of a factor of one term.
    fn registers(&self, bind: &mut Bind<'_>, here: &Here, staged: &Staged, term: ExprId) -> Stmt {
        let (var, e) = (bind.b.index_var("n"), bind.b.index_var("e"));
        let (half, lane) = (bind.b.read(var), bind.b.read(e));
        let far = bind.times(half, LANES[staged.n]);
        let quad = bind.b.add(here.quads[staged.n], far);
        let (threads, fours) = (self.threads(), staged.width / QUAD);
        let from = if staged.along_terms {
            let (four, rest) = (bind.quotient(term, QUAD), bind.rest(term, QUAD));
            let line = bind.times(four, fours);
            let number = bind.b.add(line, quad);
            let (turn, column) = (bind.quotient(number, threads / QUAD), bind.rest(number, threads / QUAD));
            let first = bind.times(column, QUAD);
            vec![turn, rest, bind.b.add(first, lane)]
        } else {
            let line = bind.times(term, fours);
            let number = bind.b.add(line, quad);
            vec![bind.quotient(number, threads), bind.rest(number, threads), lane]
        };
        let value = bind.b.load(staged.shared, from, Access::Proven);
        let own = bind.times(half, QUAD);
        let own = bind.b.add(own, lane);
        let (zero, four, halves) = (bind.b.index(0), bind.b.index(QUAD), bind.b.index(SIDE / QUAD));
        let body = Stmt::loop_(e, zero, four, LoopKind::Vectorized, store(staged.term, own, value));
        Stmt::loop_(var, zero, halves, LoopKind::Unrolled, body)
    }

    /// A thread's elements, four neighbours at once: what is done with each by its row and column among them.
    fn each(&self, bind: &mut Bind<'_>, body: impl FnOnce(&mut Bind<'_>, ExprId, [ExprId; 2]) -> Stmt) -> Stmt {
        let vars = ["r", "half", "e"].map(|name| bind.b.index_var(name));
        let [row, half, e] = vars.map(|var| bind.b.read(var));
        let line = bind.times(row, SIDE);
        let first = bind.times(half, QUAD);
        let col = bind.b.add(first, e);
        let at = bind.b.add(line, col);
        let body = body(bind, at, [row, col]);
        let kinds = [(SIDE, LoopKind::Unrolled), (SIDE / QUAD, LoopKind::Unrolled), (QUAD, LoopKind::Vectorized)];
        let zero = bind.b.index(0);
        vars.into_iter().zip(kinds).rev().fold(body, |body, (var, (count, kind))| {
            let count = bind.b.index(count);
            Stmt::loop_(var, zero, count, kind, body)
        })
    }
}

/// The row and column of a thread's element in the result.
fn element(bind: &mut Bind<'_>, here: &Here, own: [ExprId; 2]) -> (ExprId, ExprId) {
    let [row, col] = [0, 1].map(|n: usize| {
        let (half, e) = (bind.quotient(own[n], QUAD), bind.rest(own[n], QUAD));
        let far = bind.times(half, LANES[n]);
        let quad = bind.b.add(here.quads[n], far);
        let place = bind.times(quad, QUAD);
        let place = bind.b.add(place, e);
        bind.b.add(here.first[n], place)
    });
    (row, col)
}
