//! An attention on devices whose warps exchange values: a group has a tile of queries, and goes over blocks of keys.
//!
//! Of `f32`, queries stay in shared memory, keys and values come there block by block, by copies of one block while another
//! one is multiplied where they lie in rows (`copies`). A thread has some queries with every eighth
//! key, and every eighth element of their results, so that the eight threads of a query are neighbours in a warp and find
//! its greatest score by exchanges. Weights go from the scores of a block to its values through shared memory: neither ever
//! lies in memory as a whole. Of halves, warps multiply matrices (`halves`). Few queries have their keys in parts (`parts`).

mod copies;
mod halves;
mod online;
mod parts;
mod warpgroups;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::tir::{
    Barrier, BufId, Builder, ExprId, LoopKind, Phase, PrimFunc, Scope, Stmt, ThreadAxis, VarId, Viewer, verify_bounds,
};
use tenfold_ir::{DType, Scalar};

use super::found::{self, Attention};
use crate::dlight::emit::{Places, at, each, load, plus, times};
use crate::dlight::{Chosen, Fit, Taken};
use crate::fuse::import::cleaned;
use crate::fuse::stage::{Iter, Staged};
use crate::target::Device;
use copies::Lines;
use halves::Halves;
use online::{Meeting, Online};
use parts::{Left, Part};

/// Threads of a group, and of a query.
const THREADS: i64 = 128;
const ACROSS: i64 = 8;

/// Queries of a group, and those where there are few; and from one query of a thread to the next.
const ROWS: i64 = 64;
const FEW: i64 = 16;
const DOWN: i64 = THREADS / ACROSS;

/// Elements of 16 bytes, which a thread copies at once.
const CHUNK: i64 = 4;

/// Keys of a block.
const KEYS: i64 = 32;

/// Queries of a group and keys of a block where little memory is shared, the best first.
const SMALL: [[i64; 2]; 6] = [[64, 32], [64, 16], [32, 32], [32, 16], [16, 32], [16, 16]];

/// Keys from which on a group has enough to do.
const LEAST: i64 = 16;

/// The longest query and value: what a thread has of results stays in registers.
const LONGEST: i64 = 128;

/// Bytes of shared memory with which at least two groups are on a multiprocessor of every chip.
const ROOMY: i64 = 64 << 10;

/// Groups along the axes of batches and heads.
const GROUPS: i64 = 65_535;

/// The kernel; nothing where it is no attention.
pub(in crate::dlight) fn apply(func: &PrimFunc, device: Device) -> Option<Taken> {
    scheduled(func, device)?.ok()
}

/// Whether a kernel is an attention, and if so whether the device has a schedule for it.
pub(in crate::dlight) fn fit(func: &PrimFunc, device: Device) -> Fit {
    match scheduled(func, device) {
        Some(Ok(_)) => Fit::Fits,
        Some(Err(why)) => Fit::Refused(why),
        None => Fit::Other,
    }
}

fn scheduled(func: &PrimFunc, device: Device) -> Option<Result<Taken, &'static str>> {
    let mut staged = Staged::of(func)?;
    let found = found::attention(&mut staged)?;
    Some(sizes(staged.b.func(), &found, device).and_then(|sizes| {
        let func = PrimFunc { phase: Phase::Scheduled, ..cleaned(&written(staged.b, &found, sizes)) };
        let mut chosen: Chosen = vec![("tile", format!("{} queries x {} keys", sizes.rows, sizes.keys))];
        chosen.extend(sizes.part.map(|keys| ("part", format!("{keys} keys"))));
        let proven = verify_bounds(&func).is_empty();
        if proven { Ok(Taken { func, chosen }) } else { Err("an index of it is not proven in tiles") }
    }))
}

/// Lengths that are numbers.
#[derive(Clone, Copy)]
struct Sizes {
    /// Of queries and keys.
    depth: i64,
    /// Of values.
    columns: i64,
    /// What warps multiply, if that is what there is.
    halves: Option<Halves>,
    /// Whether four warps multiply together.
    by_groups: bool,
    /// Whether keys and values of `f32` come in chunks as they lie, and not element by element.
    copied: bool,
    /// Queries of a group, and keys of a block.
    rows: i64,
    keys: i64,
    /// Whether threads of a query exchange values as those of a warp do; else they meet in shared memory.
    has_warps: bool,
    /// How many queries there are, where that is no more than a group has; else 0.
    few: i64,
    /// Keys of a part, if few queries have theirs in parts.
    part: Option<i64>,
}

impl Sizes {
    /// From one query to the next in shared memory: neighbours are in other banks.
    fn pitch(self) -> i64 {
        self.depth | 1
    }

    /// From one key to the next, likewise: chunks lie at multiples of their length.
    fn pitch_of_keys(self) -> i64 {
        if self.copied { self.depth + CHUNK } else { self.pitch() }
    }

    /// Keys of a block that a thread has.
    fn some(self) -> i64 {
        self.keys / ACROSS
    }

    /// Where groups have what they share: Vulkan knows how much when a module is built.
    fn scope(self) -> Scope {
        if self.has_warps { Scope::SharedDyn } else { Scope::Shared }
    }

    /// Stages of keys and values: the next block comes while one is multiplied, where other groups have room still.
    fn stages(self) -> i64 {
        let comes = self.halves.is_some() || self.copied;
        if comes && (self.part.is_some() || self.bytes_of(2) <= ROOMY) { 2 } else { 1 }
    }

    /// Threads of a group.
    fn threads(self) -> i64 {
        if self.by_groups { warpgroups::THREADS } else { THREADS }
    }

    /// Queries of a thread.
    fn queries(self) -> i64 {
        self.rows / DOWN
    }

    /// Elements of a result that a thread has.
    fn own(self) -> i64 {
        (self.columns + ACROSS - 1) / ACROSS
    }

    /// Bytes in shared memory, with so many stages.
    fn bytes_of(self, stages: i64) -> i64 {
        match self.halves {
            Some(_) if self.by_groups => warpgroups::bytes(self.depth, self.columns),
            Some(_) => halves::shared(self.depth, self.columns, stages).iter().map(|n| 2 * n).sum(),
            None => self.shared(stages).iter().map(|n| 4 * lines(*n) * THREADS).sum(),
        }
    }

    fn bytes(self) -> i64 {
        self.bytes_of(self.stages())
    }

    /// Elements in shared memory: queries, keys, values, weights, and what threads of a query meet with.
    fn shared(self, stages: i64) -> [i64; 5] {
        let [keys, values] = [self.pitch_of_keys(), self.own() * ACROSS].map(|line| stages * self.keys * line);
        let met = if self.has_warps { 0 } else { self.queries() * THREADS };
        [self.rows * self.pitch(), keys, values, self.rows * self.keys, met]
    }
}

/// The sizes for a device, or why there are none.
fn sizes(func: &PrimFunc, found: &Attention, device: Device) -> Result<Sizes, &'static str> {
    let number = |iter: &Iter| Viewer::new(func).int(iter.extent).as_const();
    let few = |n: Option<i64>| n.is_some_and(|n| n < LEAST);
    let Some((depth, columns)) = number(&found.depth).zip(number(&found.column)) else {
        return Err("the length of queries or values is no number");
    };
    if depth.max(columns) > LONGEST || depth.min(columns) < 1 {
        return Err("registers do not hold results of such a length");
    }
    let of_sixteen = depth % 16 == 0 && columns % 16 == 0;
    let has_warps = device.is_ptx();
    let halves = halves::halves(func, found).filter(|_| of_sixteen && has_warps);
    if found.dtype != DType::F32 || found.rounded.is_some() && halves.is_none() {
        return Err("groups have no tiles of such elements");
    }
    let queries = found.row.as_ref().map_or(Some(1), &number);
    if few(number(&found.key)) || queries == Some(0) {
        return Err("so few keys leave threads of a group idle");
    }
    let counted = |iter: &Iter| number(iter).is_some_and(|n| (1..=GROUPS).contains(&n));
    if found.outer.len() > 2 || !found.outer.iter().all(counted) {
        return Err("a launch has no two axes for its batches and heads");
    }
    let groups = found.outer.iter().filter_map(number).fold(1, i64::saturating_mul);
    let few = queries.filter(|n| *n <= ROWS).unwrap_or(0);
    let most = if halves.is_none() && (1..=FEW).contains(&few) { FEW } else { ROWS };
    let wide = few == 0 && queries.is_some() && device.has_warpgroups();
    let by_groups = wide && halves.is_some_and(|halves| warpgroups::suits(func, found, halves, [depth, columns]));
    let (most, keys) = match halves {
        Some(_) if by_groups => (warpgroups::ROWS, warpgroups::keys(columns)),
        Some(_) => (most, halves::KEYS),
        None => (most, KEYS),
    };
    let split = device.multiprocessors().filter(|_| few > 0);
    let part = split.and_then(|count| parts::keys_of(number(&found.key), keys, groups, count));
    let copied = has_warps && halves.is_none() && of_sixteen && {
        let (along, across) = (found.depth.var, found.column.var);
        copies::is_row(func, found.keys, along) && copies::is_row(func, found.values, across)
    };
    let whole = [most, keys];
    let mut tiles = SMALL.iter().filter(|[rows, _]| *rows <= most && !has_warps).chain([&whole]);
    let sized =
        |[rows, keys]: [i64; 2]| Sizes { depth, columns, halves, by_groups, copied, rows, keys, has_warps, few, part };
    let fitting = tiles.find_map(|tile| Some(sized(*tile)).filter(|sizes| sizes.bytes() <= device.shared_bytes()));
    fitting.ok_or("shared memory does not hold a tile of it")
}

/// A loop over groups or threads, from 0.
type Bound = (VarId, ExprId, ThreadAxis);

/// Loops over groups along some axis, then over batches and heads; what stands for these, and their numbers.
fn around(b: &mut Builder, found: &Attention, (var, extent): (VarId, ExprId)) -> (Vec<Bound>, Places, Vec<ExprId>) {
    let (mut places, mut outer) = (Places::new(), Vec::new());
    let mut loops = vec![(var, extent, ThreadAxis::Block(0))];
    for (axis, iter) in (1..).zip(&found.outer) {
        let var = b.index_var("outer");
        let at = b.read(var);
        places.insert(iter.var, at);
        outer.push(at);
        loops.push((var, iter.extent, ThreadAxis::Block(axis)));
    }
    (loops, places, outer)
}

/// Loops over groups and threads, and what a thread does.
fn written(mut b: Builder, found: &Attention, sizes: Sizes) -> PrimFunc {
    let rows = found.row.as_ref().map_or(IntExpr::from(1), |row| Viewer::new(b.func()).int(row.extent));
    // A launch has a group, whatever there is for it to do.
    let tiles = (&rows + &IntExpr::from(sizes.rows - 1)).floor_div(&IntExpr::from(sizes.rows)).maximum(&1.into());
    let parts = sizes.part.map(|keys| (keys, parts::count(&b, found, keys)));
    let left = parts.as_ref().map(|(_, count)| Left::new(&mut b, found, sizes, count));
    let (tile, thread) = (b.index_var("tile"), b.index_var("thread"));
    let count = b.int_expr(parts.as_ref().map_or(&tiles, |(_, count)| count));
    let (mut loops, places, outer) = around(&mut b, found, (tile, count));
    let threads = b.index(sizes.threads());
    loops.push((thread, threads, ThreadAxis::Thread(0)));
    let (number, me) = (b.read(tile), b.read(thread));
    let part = parts.as_ref().zip(left).map(|((keys, _), left)| {
        let first = times(&mut b, number, *keys);
        Part { left, number, first, keys: *keys }
    });
    let first = if part.is_some() { b.index(0) } else { times(&mut b, number, sizes.rows) };
    let here = Here { places, outer, thread: me, first, rows: b.int_expr(&rows), part };
    b.open_scope();
    match sizes.halves {
        Some(halves) if sizes.by_groups => {
            warpgroups::Group::new(&mut b, found, (halves, sizes), here).iter().for_each(|group| group.run(&mut b));
        }
        Some(halves) => halves::Group::new(&mut b, found, (halves, sizes), here).run(&mut b),
        None => Group::new(&mut b, found, sizes, here).run(&mut b),
    }
    let body = b.close_scope();
    let body = parts::bound(&mut b, loops, body);
    b.push(body);
    if let Some(((_, count), left)) = parts.zip(left) {
        parts::combine(&mut b, found, sizes, (left, &count));
    }
    b.finish()
}

/// Numbers of a thread, and what stands for batches and heads.
struct Here {
    places: Places,
    /// The numbers of batch and head.
    outer: Vec<ExprId>,
    thread: ExprId,
    /// The first query of the tile, and how many there are.
    first: ExprId,
    rows: ExprId,
    /// The group's part of the keys, if it does not have all.
    part: Option<Part>,
}

/// A group with what it shares, and what each thread has for itself.
struct Group<'a> {
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
    fn new(b: &mut Builder, found: &'a Attention, sizes: Sizes, here: Here) -> Self {
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

    fn run(&self, b: &mut Builder) {
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
            (self.keys, found.keys, found.depth.var, [sizes.pitch_of_keys(), sizes.depth]),
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
            let (row, column) = (self.row(b, i), self.in_block(b, j));
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
        each(b, "k", &terms.into(), LoopKind::Serial, &mut |b, k| {
            let mut own = |name, n: i64| b.alloc(name, self.found.dtype, vec![n.into()], Scope::Local);
            let (left, right) = (own("left", self.sizes.queries()), own("right", columns));
            self::own(b, self.sizes.queries(), &mut |b, i| {
                let value = of(b, true, i, k);
                b.store(left, vec![i], value);
            });
            self::own(b, columns, &mut |b, j| {
                let value = of(b, false, j, k);
                b.store(right, vec![j], value);
            });
            self.pairs(b, columns, &mut |b, i, j, at| {
                let (x, y, old) = (load(b, left, &[i]), load(b, right, &[j]), load(b, to, &[at]));
                let product = b.mul(x, y);
                let new = b.add(old, product);
                b.store(to, vec![at], new);
            });
        });
    }

    /// Scores of a block of keys, and the greatest of them so far.
    fn scores(&self, b: &mut Builder, block: ExprId, first: ExprId) {
        let zero = self.number(b, Scalar::zero);
        own(b, self.sizes.queries() * self.sizes.some(), &mut |b, e| b.store(self.scores, vec![e], zero));
        self.products(b, self.scores, self.sizes.depth, self.sizes.some(), &mut |b, is_query, n, d| {
            if !is_query {
                let line = self.in_block(b, n);
                return self.of_block(b, block, (self.keys, self.sizes.pitch_of_keys()), [line, d]);
            }
            let line = self.in_tile(b, n);
            let number = times(b, line, self.sizes.pitch());
            let number = plus(b, number, d);
            let place = slot(b, number);
            load(b, self.queries, &place)
        });
        let rows = self.here.rows;
        self.pairs(b, self.sizes.some(), &mut |b, i, j, e| {
            let (row, own) = (self.row(b, i), self.in_block(b, j));
            let key = plus(b, first, own);
            let mut places = self.here.places.clone();
            places.insert(self.found.key.var, key);
            places.extend(self.found.row.as_ref().map(|iter| (iter.var, row)));
            let dot = load(b, self.scores, &[e]);
            let score = at(b, self.found.score, &places, Some((self.found.dot, dot)));
            let (has_row, has_key) =
                (b.compare(CmpOp::Lt, row, rows), b.compare(CmpOp::Lt, key, self.found.key.extent));
            let least = self.number(b, Scalar::least);
            let score = b.if_(has_row, score, least);
            let score = b.if_(has_key, score, least);
            b.store(self.scores, vec![e], score);
        });
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
        self.products(b, self.sums, self.sizes.keys, each_of, &mut |b, is_weight, n, key| {
            if is_weight {
                // Where the thread that has the query and every eighth key has put it.
                let (j, across) =
                    (part(b, BinaryOp::DivEuclid, key, ACROSS), part(b, BinaryOp::RemEuclid, key, ACROSS));
                let (line, thread) = (times(b, n, self.sizes.some()), times(b, self.down, ACROSS));
                let place = [plus(b, line, j), plus(b, thread, across)];
                return load(b, self.weights, &place);
            }
            let own = self.in_block(b, n);
            self.of_block(b, block, (self.values, each_of * ACROSS), [key, own])
        });
    }

    /// Results divided by the sums of weights, and written.
    fn written(&self, b: &mut Builder) {
        let columns = b.index(self.sizes.columns);
        self.pairs(b, self.sizes.own(), &mut |b, i, j, e| {
            let (row, column) = (self.row(b, i), self.in_block(b, j));
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

/// Writes one element of the result.
fn write(b: &mut Builder, found: &Attention, here: &Here, [row, column]: [ExprId; 2], result: ExprId) {
    let (out, index, value) = &found.out;
    let mut places = here.places.clone();
    places.insert(found.column.var, column);
    places.extend(found.row.as_ref().map(|iter| (iter.var, row)));
    let value = at(b, *value, &places, Some((found.sum, result)));
    let index = index.iter().map(|e| at(b, *e, &places, None)).collect();
    b.store(*out, index, value);
}

/// What is done for the block behind one, if there is another.
fn next(b: &mut Builder, n: ExprId, blocks: &IntExpr, f: &mut dyn FnMut(&mut Builder, ExprId)) {
    let (one, count) = (b.index(1), b.int_expr(blocks));
    let next = plus(b, n, one);
    let cond = b.compare(CmpOp::Lt, next, count);
    b.open_scope();
    f(b, next);
    let then = Box::new(b.close_scope());
    b.push(Stmt::If { cond, then, otherwise: None });
}

/// Whether there are no keys, where nobody knows.
fn is_empty(b: &mut Builder, keys: &IntExpr) -> Option<ExprId> {
    keys.as_const().is_none().then(|| {
        let (count, none) = (b.int_expr(keys), b.index(0));
        b.compare(CmpOp::Le, count, none)
    })
}

/// An element of the left or right operand of a thread's pairs, by its number there and the term.
type Operands<'f> = dyn FnMut(&mut Builder, bool, ExprId, ExprId) -> ExprId + 'f;

/// What comes to shared memory, by the iterators over its lines and along them.
struct Fill {
    to: BufId,
    of: ExprId,
    own: Option<VarId>,
    along: VarId,
}

/// All threads of the group wait for each other.
fn wait(b: &mut Builder, scope: Scope) {
    b.push(Stmt::Barrier(scope.into()));
}

/// Lines of shared memory that hold so many elements, one of each thread in a line.
fn lines(elements: i64) -> i64 {
    (elements + THREADS - 1) / THREADS
}

/// Something for each of so many that a thread has.
fn own(b: &mut Builder, n: i64, f: &mut dyn FnMut(&mut Builder, ExprId)) {
    each(b, "i", &n.into(), LoopKind::Unrolled, f);
}

/// The place of an element in shared memory that threads have filled side by side.
fn slot(b: &mut Builder, number: ExprId) -> [ExprId; 2] {
    [part(b, BinaryOp::DivEuclid, number, THREADS), part(b, BinaryOp::RemEuclid, number, THREADS)]
}

/// A quotient or remainder by a number.
fn part(b: &mut Builder, op: BinaryOp, of: ExprId, by: i64) -> ExprId {
    let by = b.index(by);
    b.binary(op, of, by)
}
