//! An attention of halves by warpgroups, of 64 queries each: they find keys and values in shared memory, where one thread has
//! boxes of them copied, and weights are where their threads have them already.
//!
//! A turn begins the scores of the next block of keys and then the results of this one: while these are made, the scores
//! become weights. Keys come two blocks ahead, values one. Where a group is alone on its multiprocessor, no barrier keeps its
//! warpgroups side by side: each tells when it has read keys or values, and who has others copied in their place waits for that.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::tir::tensor::{LINE, MAX_AXES};
use tenfold_ir::tir::warp::TILE;
use tenfold_ir::tir::{
    Access, BufId, Builder, Expr, ExprId, Intrinsic, LoopKind, Mbarrier, PrimFunc, Scope, Stmt, Ty, VarId, WARP,
    WARPGROUP, Warp, expr_vars,
};
use tenfold_ir::{DType, Scalar};

use super::copies::{is_row, ramp};
use super::halves::{self, ACROSS, Halves, OWN, Spread};
use super::online::Online;
use super::parts;
use super::window;
use super::{Here, Sizes, own, part, wait, write};
use crate::dlight::attention::found::Attention;
use crate::dlight::emit::{at, each, load, plus, times};

/// Keys of a block: where a thread has few results, so few that two groups are on a multiprocessor.
const MANY: i64 = 128;
const FEW: i64 = 64;

/// Warpgroups of a group.
pub(super) const GROUPS: i64 = 2;

/// Blocks of keys, and of values, that have room in shared memory.
const STAGES: i64 = 2;

/// Queries of a warpgroup, terms of a product, and elements of a line in shared memory.
const SIDES: i64 = TILE as i64;

/// Queries of a group.
pub(super) const ROWS: i64 = GROUPS * SIDES;

/// Threads of a group.
pub(super) const THREADS: i64 = GROUPS * WARPGROUP;

/// What tells of copies: queries, then each stage of keys, then each of values. Behind these is what tells that all warps have
/// read the keys of a block, then its values.
const READ: i64 = 1 + 2 * STAGES;
const TOLD: i64 = READ + 2;

/// Lengths of keys and values as they lie in shared memory.
fn whole(length: i64) -> i64 {
    (length + SIDES - 1) / SIDES * SIDES
}

/// Keys of a block, for values of that length.
pub(super) fn keys(columns: i64) -> i64 {
    if whole(columns) > SIDES { MANY } else { FEW }
}

/// Elements in shared memory: of queries, and of so many blocks of keys and of values.
fn shared(depth: i64, columns: i64) -> [i64; 3] {
    let keys = keys(columns);
    [ROWS * whole(depth), STAGES * keys * whole(depth), STAGES * keys * whole(columns)]
}

/// Bytes of shared memory.
pub(super) fn bytes(depth: i64, columns: i64) -> i64 {
    shared(depth, columns).iter().sum::<i64>() * 2 + TOLD * 8
}

/// Whether all operands are tensors whose boxes can be copied, of lengths of which not too much is left empty.
pub(super) fn suits(func: &PrimFunc, found: &Attention, halves: Halves, [depth, columns]: [i64; 2]) -> bool {
    let Some(row) = &found.row else { return false };
    let all = [
        (halves.query, row.var, found.depth.var),
        (halves.keys, found.key.var, found.depth.var),
        (halves.values, found.key.var, found.column.var),
    ];
    depth.min(columns) > SIDES / 2 && all.into_iter().all(|(of, own, along)| tensor(func, of, [own, along]).is_some())
}

/// An operand as a tensor.
struct Tensor {
    buf: BufId,
    rank: usize,
    /// The innermost axis first.
    axes: Vec<Axis>,
}

/// An axis of an operand.
struct Axis {
    follows: Follows,
    extent: i64,
    stride: i64,
}

/// What the index of an axis is.
#[derive(Clone, Copy)]
enum Follows {
    /// Queries or keys.
    Own,
    /// The elements of these.
    Along,
    /// Neither: this value.
    Neither(ExprId),
}

/// An operand as a tensor: an element of a buffer of which one axis is walked by queries or keys, and the last one by their
/// elements, both from begin to end, and the others by neither.
fn tensor(func: &PrimFunc, of: ExprId, [own, along]: [VarId; 2]) -> Option<Tensor> {
    let Expr::Load { buf, index, .. } = func.exprs.get(of) else { return None };
    let data = &func.buffers[buf.0 as usize];
    let size = data.dtype.size_bytes() as i64;
    let (mut axes, mut stride, mut owns) = (Vec::new(), 1_i64, 0);
    for (n, (at, extent)) in index.iter().zip(&data.shape).rev().enumerate() {
        let extent = extent.as_const().filter(|n| (1..=1 << 31).contains(n))?;
        let vars = expr_vars(func, *at);
        let follows = match *func.exprs.get(*at) {
            Expr::Var(var) if var == along => (n == 0).then_some(Follows::Along)?,
            Expr::Var(var) if var == own => {
                owns += 1;
                Follows::Own
            }
            _ => (n > 0 && !vars.contains(&along) && !vars.contains(&own)).then_some(Follows::Neither(*at))?,
        };
        // What is one element wide needs no axis.
        if extent > 1 || !matches!(follows, Follows::Neither(_)) {
            axes.push(Axis { follows, extent, stride });
        }
        stride = stride.checked_mul(extent)?;
    }
    let apart = axes.iter().skip(1).all(|axis| axis.stride * size % 16 == 0 && axis.stride * size < 1 << 40);
    let fits = is_row(func, of, along) && owns == 1 && apart && axes.len() <= MAX_AXES;
    fits.then_some(Tensor { buf: *buf, rank: index.len(), axes })
}

/// A box of an operand: its first line and how many, its first element in these, and where it goes to.
struct Boxed {
    first: ExprId,
    lines: i64,
    along: ExprId,
    to: BufId,
    place: ExprId,
}

/// A group with what it shares, and what each thread has for itself.
pub(super) struct Group<'a> {
    found: &'a Attention,
    halves: Halves,
    /// As they lie in shared memory.
    depth: i64,
    columns: i64,
    /// Of a block.
    keys: i64,
    /// As they are.
    length: i64,
    here: Here,
    spread: Spread,
    /// The number of the warpgroup.
    group: ExprId,
    /// Queries, keys, values.
    shared: [BufId; 3],
    tensors: [Tensor; 3],
    full: BufId,
    scores: BufId,
    weights: BufId,
    sums: BufId,
    online: Online,
    /// A score, made of the product of a query and a key.
    score: ExprId,
    blocks: IntExpr,
}

impl<'a> Group<'a> {
    /// Nothing where an operand is no tensor.
    pub(super) fn new(
        b: &mut Builder,
        found: &'a Attention,
        (halves, sizes): (Halves, Sizes),
        here: Here,
    ) -> Option<Self> {
        let row = found.row.as_ref()?.var;
        let of = |e: ExprId, own: VarId, along: VarId| tensor(b.func(), e, [own, along]);
        let tensors = [
            of(halves.query, row, found.depth.var)?,
            of(halves.keys, found.key.var, found.depth.var)?,
            of(halves.values, found.key.var, found.column.var)?,
        ];
        let [depth, columns] = [sizes.depth, sizes.columns].map(whole);
        let keys = keys(columns);
        // Tiles begin at multiples of 1,024 bytes: what tells of copies lies behind them, as what is allocated first does.
        let full = b.alloc("full", DType::U64, vec![TOLD.into()], Scope::SharedDyn);
        let mut names = ["queries", "keys", "values"].into_iter();
        let shared = shared(depth, columns).map(|n| {
            let name = names.next().unwrap_or_default();
            b.alloc(name, halves.dtype, vec![n.into()], Scope::SharedDyn)
        });
        let mut own = |name, dtype, n: i64| b.alloc(name, dtype, vec![n.into()], Scope::Local);
        let weights = own("weights", halves.dtype, keys / 2);
        let (scores, sums) = (own("scores", DType::F32, keys / 2), own("sums", DType::F32, columns / 2));
        let mut online = Online::new(b, DType::F32, OWN, ACROSS);
        let (score, factor) = scaled(b, found, here.score);
        online.rounded = Some(factor);
        let lane = part(b, BinaryOp::RemEuclid, here.thread, WARP);
        let warp = part(b, BinaryOp::DivEuclid, here.thread, WARP);
        let group = part(b, BinaryOp::DivEuclid, here.thread, WARPGROUP);
        let spread = Spread { lane, warp, first: here.first };
        let blocks = parts::blocks(b, found, &here, keys);
        let length = sizes.columns;
        Some(Group {
            found,
            halves,
            depth,
            columns,
            keys,
            length,
            here,
            spread,
            group,
            shared,
            tensors,
            full,
            scores,
            weights,
            sums,
            online,
            score,
            blocks,
        })
    }

    pub(super) fn run(&self, b: &mut Builder) {
        let zero = b.scalar(Scalar::zero(DType::F32));
        own(b, self.columns / 2, &mut |b, e| b.store(self.sums, vec![e], zero));
        self.begin(b);
        wait(b, Scope::SharedDyn);
        let none = b.index(0);
        self.tell(b, none, Mbarrier::Wait, none);
        self.begin_scores(b, none);
        self.wait_for(b, self.scores, 0);
        self.have_read(b, 0);
        self.weigh(b, none);
        self.round(b);
        let later = &self.blocks - &IntExpr::from(1);
        each(b, "block", &later, LoopKind::Serial, &mut |b, n| self.turn(b, n));
        let last = b.int_expr(&later);
        self.begin_results(b, last);
        self.wait_for(b, self.sums, 0);
        self.online.invert(b, self.found.unseen, None);
        self.written(b);
    }

    /// What tells of copies is made ready, and the first ones begin.
    fn begin(&self, b: &mut Builder) {
        self.by_first(b, &mut |b| {
            for n in 0..if self.is_alone() { TOLD } else { READ } {
                let (told, count) = (b.index(n), b.index(if n < READ { 1 } else { THREADS / WARP }));
                self.tell(b, told, Mbarrier::Init, count);
            }
            self.copy_queries(b);
            let (none, next) = (b.index(0), b.index(1));
            self.copy_keys(b, none);
            self.copy_values(b, none);
            match self.blocks.as_const() {
                Some(n) if n <= 1 => {}
                Some(_) => self.copy_keys(b, next),
                None => super::next(b, none, &self.blocks, &mut |b, next| self.copy_keys(b, next)),
            }
        });
    }

    /// Scores of the next block, and results of this one.
    fn turn(&self, b: &mut Builder, n: ExprId) {
        let one = b.index(1);
        let next = plus(b, n, one);
        if !self.is_alone() {
            // Behind the scores of this block and the results of the one before it, in whose place copies go.
            wait(b, Scope::SharedDyn);
            self.by_first(b, &mut |b| self.copy_values(b, next));
        }
        self.by_first(b, &mut |b| {
            super::next(b, next, &self.blocks, &mut |b, behind| {
                self.wait_for_readers(b, 0, n);
                self.copy_keys(b, behind);
            });
        });
        self.begin_scores(b, next);
        self.begin_results(b, n);
        // Results are on their way behind them.
        self.wait_for(b, self.scores, (self.keys / SIDES) as u8);
        self.have_read(b, 0);
        if self.is_alone() {
            // In the place of the values of the block before this one, if there is one: else nobody is waited for.
            self.by_first(b, &mut |b| {
                self.wait_for_readers(b, 1, next);
                self.copy_values(b, next);
            });
        }
        self.weigh(b, next);
        self.wait_for(b, self.sums, 0);
        self.have_read(b, 1);
        self.round(b);
        self.each(b, self.columns, &mut |b, _, i, e| self.online.scaled(b, i, (self.sums, e)));
    }

    /// Whether no other group is on the multiprocessor: warpgroups have only each other to compute beside their products.
    fn is_alone(&self) -> bool {
        self.keys == MANY
    }

    /// A warp has read the keys (0) or values (1) of a block: its first thread tells so, and announces no bytes.
    fn have_read(&self, b: &mut Builder, of: i64) {
        if !self.is_alone() {
            return;
        }
        let (none, told) = (b.index(0), b.index(READ + of));
        let cond = b.compare(CmpOp::Eq, self.spread.lane, none);
        b.open_scope();
        self.tell(b, told, Mbarrier::Expect, none);
        let then = Box::new(b.close_scope());
        b.push(Stmt::If { cond, then, otherwise: None });
    }

    /// Waits until all warps have read the keys of the block of that number, or the values of the one two before it.
    fn wait_for_readers(&self, b: &mut Builder, of: i64, n: ExprId) {
        if !self.is_alone() {
            return;
        }
        let (told, parity) = (b.index(READ + of), part(b, BinaryOp::RemEuclid, n, 2));
        self.tell(b, told, Mbarrier::Wait, parity);
    }

    /// What the first thread does alone.
    fn by_first(&self, b: &mut Builder, f: &mut dyn FnMut(&mut Builder)) {
        let none = b.index(0);
        let cond = b.compare(CmpOp::Eq, self.here.thread, none);
        b.open_scope();
        f(b);
        let then = Box::new(b.close_scope());
        b.push(Stmt::If { cond, then, otherwise: None });
    }

    /// Something is done with what tells of some copies.
    fn tell(&self, b: &mut Builder, number: ExprId, f: Mbarrier, n: ExprId) {
        let ty = Ty::scalar(DType::U64);
        let value = b.raw(Expr::Call(Intrinsic::Mbarrier(f), vec![n], ty), ty);
        b.store(self.full, vec![number], value);
    }

    /// What tells of a stage of keys (0) or of values (1).
    fn told(&self, b: &mut Builder, of: i64, n: ExprId) -> ExprId {
        let (stage, first) = (part(b, BinaryOp::RemEuclid, n, STAGES), b.index(1 + of * STAGES));
        plus(b, first, stage)
    }

    /// Waits for the keys (0) or values (1) of a block.
    fn wait_for_copies(&self, b: &mut Builder, of: i64, n: ExprId) {
        let told = self.told(b, of, n);
        let round = part(b, BinaryOp::DivEuclid, n, STAGES);
        let parity = part(b, BinaryOp::RemEuclid, round, 2);
        self.tell(b, told, Mbarrier::Wait, parity);
    }

    fn copy_queries(&self, b: &mut Builder) {
        let told = b.index(0);
        self.expect(b, told, ROWS * self.depth);
        self.copy_lines(b, (0, told), (self.here.first, ROWS), told);
    }

    fn copy_keys(&self, b: &mut Builder, n: ExprId) {
        let (told, first) = (self.told(b, 0, n), parts::first_key(b, &self.here, n, self.keys));
        self.expect(b, told, self.keys * self.depth);
        let stage = self.stage(b, n, self.depth);
        self.copy_lines(b, (1, told), (first, self.keys), stage);
    }

    /// Lines of queries (0) or keys (1), as many as there are at once.
    fn copy_lines(&self, b: &mut Builder, (of, told): (usize, ExprId), (first, lines): (ExprId, i64), stage: ExprId) {
        for n in 0..self.depth / SIDES {
            let (along, more) = (b.index(n * SIDES), b.index(n * SIDES * lines));
            let place = plus(b, stage, more);
            self.copy(b, (of, told), &Boxed { first, lines, along, to: self.shared[of], place });
        }
    }

    /// Values of 64 keys, then those of the next ones: panels of 64 columns, one after the other.
    fn copy_values(&self, b: &mut Builder, n: ExprId) {
        let (told, first) = (self.told(b, 1, n), parts::first_key(b, &self.here, n, self.keys));
        self.expect(b, told, self.keys * self.columns);
        let stage = self.stage(b, n, self.columns);
        for keys in 0..self.keys / SIDES {
            for panel in 0..self.columns / SIDES {
                let (more, along) = (b.index(keys * SIDES), b.index(panel * SIDES));
                let far = b.index((keys * self.columns + panel * SIDES) * SIDES);
                let (first, place) = (plus(b, first, more), plus(b, stage, far));
                self.copy(b, (2, told), &Boxed { first, lines: SIDES, along, to: self.shared[2], place });
            }
        }
    }

    fn expect(&self, b: &mut Builder, told: ExprId, elements: i64) {
        let bytes = b.index(elements * LINE / SIDES);
        self.tell(b, told, Mbarrier::Expect, bytes);
    }

    /// The copy of a box of queries, keys or values begins.
    fn copy(&self, b: &mut Builder, (of, told): (usize, ExprId), boxed: &Boxed) {
        let (tensor, none) = (&self.tensors[of], b.index(0));
        let told = load(b, self.full, &[told]);
        let first = b.load(tensor.buf, vec![none; tensor.rank], Access::Proven);
        let mut args = vec![told, first];
        for axis in &tensor.axes {
            let (begin, width) = match axis.follows {
                Follows::Along => (boxed.along, SIDES),
                Follows::Own => (boxed.first, boxed.lines),
                Follows::Neither(value) => (at(b, value, &self.here.places, None), 1),
            };
            args.push(begin);
            args.extend([width, axis.extent, axis.stride].map(|n| b.index(n)));
        }
        let lanes = SIDES * boxed.lines;
        let ty = Ty { lanes: lanes as u16, ..b.ty(first) };
        let value = b.raw(Expr::Call(Intrinsic::CopyTensor, args, ty), ty);
        let there = ramp(b, boxed.place, lanes);
        b.store(boxed.to, vec![there], value);
    }

    /// Where the stage of a block begins, of lines of that length.
    fn stage(&self, b: &mut Builder, n: ExprId, length: i64) -> ExprId {
        let stage = part(b, BinaryOp::RemEuclid, n, STAGES);
        times(b, stage, self.keys * length)
    }

    /// The product of the queries of each warpgroup and the keys of a block begins, when these are there.
    fn begin_scores(&self, b: &mut Builder, n: ExprId) {
        self.wait_for_copies(b, 0, n);
        let (stage, mine) = (self.stage(b, n, self.depth), times(b, self.group, SIDES * SIDES));
        for step in 0..self.depth / SIDES {
            let (left, right) = (b.index(step * SIDES * ROWS), b.index(step * SIDES * self.keys));
            let (left, right) = (plus(b, mine, left), plus(b, stage, right));
            let left = neighbours(b, self.shared[0], left, SIDES * SIDES);
            let right = neighbours(b, self.shared[1], right, SIDES * self.keys);
            let sums = self.all(b, self.scores);
            let before = if step == 0 {
                let zero = b.scalar(Scalar::zero(DType::F32));
                b.broadcast(zero, (self.keys / 2) as u16)
            } else {
                halves::vector(b, self.scores, sums)
            };
            let value = halves::together(b, Warp::Wgmma(Default::default()), vec![left, right, before]);
            b.store(self.scores, vec![sums], value);
        }
    }

    /// The product of weights and the values of a block begins, when these are there.
    fn begin_results(&self, b: &mut Builder, n: ExprId) {
        self.wait_for_copies(b, 1, n);
        let stage = self.stage(b, n, self.columns);
        for step in 0..self.keys / SIDES {
            let (own, far) = (b.index(step * SIDES / 2), b.index(step * SIDES * self.columns));
            let far = plus(b, stage, far);
            let left = neighbours(b, self.weights, own, SIDES / 2);
            let right = neighbours(b, self.shared[2], far, SIDES * self.columns);
            let sums = self.all(b, self.sums);
            let before = halves::vector(b, self.sums, sums);
            let value = halves::together(b, Warp::WgmmaRegisters(true), vec![left, right, before]);
            b.store(self.sums, vec![sums], value);
        }
    }

    /// Waits for products but for the last so many.
    fn wait_for(&self, b: &mut Builder, sums: BufId, left: u8) {
        let all = self.all(b, sums);
        let own = halves::vector(b, sums, all);
        let value = halves::together(b, Warp::WgmmaWait(left), vec![own]);
        b.store(sums, vec![all], value);
    }

    /// The places of a thread's sums.
    fn all(&self, b: &mut Builder, sums: BufId) -> ExprId {
        let (zero, count) = (b.index(0), if sums == self.sums { self.columns } else { self.keys });
        ramp(b, zero, count / 2)
    }

    /// Scores of a block become weights.
    fn weigh(&self, b: &mut Builder, n: ExprId) {
        let first = parts::first_key(b, &self.here, n, self.keys);
        window::of_block(b, &self.here, (first, self.keys), &mut |b, window| {
            self.each(b, self.keys, &mut |b, place, _, e| {
                halves::scored(b, (self.found, &self.here, self.score), (place, first), (self.scores, e), window);
            });
        });
        self.online.begin(b);
        self.each(b, self.keys, &mut |b, _, i, e| {
            let score = load(b, self.scores, &[e]);
            self.online.score(b, i, score);
        });
        self.online.rescale(b);
        self.each(b, self.keys, &mut |b, _, i, e| self.online.weigh(b, i, (self.scores, e)));
    }

    /// Weights are rounded to halves.
    fn round(&self, b: &mut Builder) {
        own(b, self.keys / 2, &mut |b, e| {
            let weight = load(b, self.scores, &[e]);
            let weight = b.cast(self.halves.dtype, weight);
            b.store(self.weights, vec![e], weight);
        });
    }

    fn each(&self, b: &mut Builder, columns: i64, f: &mut halves::EachSum<'_>) {
        self.spread.each(b, columns, f);
    }

    fn written(&self, b: &mut Builder) {
        self.each(b, self.columns, &mut |b, [row, column], i, e| {
            let (sum, inverse) = (load(b, self.sums, &[e]), load(b, self.online.scale, &[i]));
            let result = b.mul(sum, inverse);
            let mut cond = b.compare(CmpOp::Lt, row, self.here.rows);
            if self.length < self.columns {
                let has_column = b.compare(CmpOp::Lt, column, self.found.column.extent);
                cond = b.and(cond, has_column);
            }
            b.open_scope();
            write(b, self.found, &self.here, [row, column], result);
            let then = Box::new(b.close_scope());
            b.push(Stmt::If { cond, then, otherwise: None });
        });
    }
}

/// A score and what it is multiplied with: a product of nothing but a number above 0 is taken for itself.
fn scaled(b: &Builder, found: &Attention, score: ExprId) -> (ExprId, f64) {
    let func = b.func();
    let is_dot = |e: ExprId| matches!(func.exprs.get(e), Expr::Load { buf, .. } if *buf == found.dot);
    let known = match *func.exprs.get(score) {
        Expr::Binary(BinaryOp::Mul, x, y) => match (func.exprs.get(x), func.exprs.get(y)) {
            (_, Expr::Const(factor)) if is_dot(x) => Some((x, factor.to_f64())),
            (Expr::Const(factor), _) if is_dot(y) => Some((y, factor.to_f64())),
            _ => None,
        },
        _ => None,
    };
    known.filter(|(_, factor)| *factor > 0.0 && factor.is_finite()).unwrap_or((score, 1.0))
}

/// So many neighbours in a buffer.
fn neighbours(b: &mut Builder, buf: BufId, first: ExprId, lanes: i64) -> ExprId {
    let place = ramp(b, first, lanes);
    halves::vector(b, buf, place)
}
