//! An attention on devices whose warps exchange values: a group has a tile of queries, and goes over blocks of keys.
//!
//! Of `f32`, queries stay in shared memory, keys and values come there block by block, by copies of one block while another
//! one is multiplied where they lie in rows (`copies`). A thread has some queries with every eighth key, and an eighth of the
//! elements of their results, so that the eight threads of a query are neighbours in a warp and find its greatest score by
//! exchanges (`elements`). Weights go from the scores of a block to its values through shared memory: neither ever lies in
//! memory as a whole. Of halves, warps multiply matrices (`halves`). Few queries have their keys in parts (`parts`). Of keys
//! that positions hide from all queries of a group nothing is computed (`window`).

mod copies;
mod elements;
mod halves;
mod online;
mod parts;
mod warpgroups;
mod window;

use tenfold_ir::DType;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::tir::{
    Builder, ExprId, LoopKind, Phase, PrimFunc, Scope, Stmt, ThreadAxis, VarId, Viewer, verify_bounds,
};

use super::found::{self, Attention};
use super::seen::Seen;
use crate::dlight::emit::{Places, at, each, plus, times};
use crate::dlight::{Chosen, Fit, Taken};
use crate::fuse::import::cleaned;
use crate::fuse::stage::{Iter, Staged};
use crate::target::Device;
use halves::Halves;
use parts::{Left, Part};
use window::Window;

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
    /// From one query, and from one key, to the next in shared memory: neighbours are in other banks. Chunks lie at multiples
    /// of their length.
    fn pitch(self) -> i64 {
        if self.copied { self.depth + CHUNK } else { self.depth | 1 }
    }

    /// Terms of a product that a thread reads at once, as neighbours in shared memory.
    fn terms(self) -> i64 {
        if self.copied { CHUNK } else { 1 }
    }

    /// Elements of a result that a thread has side by side: those of values that it reads at once.
    fn beside(self) -> i64 {
        [CHUNK, 2].into_iter().find(|n| self.copied && self.own() % n == 0).unwrap_or(1)
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
        let [keys, values] = [self.pitch(), self.own() * ACROSS].map(|line| stages * self.keys * line);
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
    let (mut number, me) = (b.read(tile), b.read(thread));
    let part = parts.as_ref().zip(left).map(|((keys, _), left)| {
        let first = times(&mut b, number, *keys);
        Part { left, number, first, keys: *keys }
    });
    let (score, seen) = seen(&mut b, found, sizes);
    let grows = seen.as_ref().is_some_and(|seen| seen.grows);
    if grows && tiles.as_const().is_some_and(|n| n <= GROUPS) {
        // A tile of all batches and heads comes before the next tile of one.
        let outer = loops.len() - 1;
        (0..)
            .zip(&mut loops)
            .for_each(|(n, (.., axis))| *axis = ThreadAxis::Block((n + outer as u8) % (outer as u8 + 1)));
    }
    if grows {
        // Groups begin in the order of their numbers: those that have the most to do come first.
        let one = b.index(1);
        let last = b.sub(count, one);
        number = b.sub(last, number);
    }
    loops.push((thread, threads, ThreadAxis::Thread(0)));
    let first = if part.is_some() { b.index(0) } else { times(&mut b, number, sizes.rows) };
    let mut here = Here { places, outer, thread: me, first, rows: b.int_expr(&rows), part, score, window: None };
    b.open_scope();
    here.window = seen.zip(found.row.as_ref()).map(|(seen, row)| {
        let blocks = parts::count(&b, found, sizes.keys);
        Window::new(&mut b, (seen, row.var), (first, sizes.rows), (&blocks, sizes.keys))
    });
    match sizes.halves {
        Some(halves) if sizes.by_groups => {
            warpgroups::Group::new(&mut b, found, (halves, sizes), here).iter().for_each(|group| group.run(&mut b));
        }
        Some(halves) => halves::Group::new(&mut b, found, (halves, sizes), here).run(&mut b),
        None => elements::Group::new(&mut b, found, sizes, here).run(&mut b),
    }
    let body = b.close_scope();
    let body = parts::bound(&mut b, loops, body);
    b.push(body);
    if let Some(((_, count), left)) = parts.zip(left) {
        parts::combine(&mut b, found, sizes, (left, &count));
    }
    b.finish()
}

/// A score as it is where no position hides the key, and what positions hide, if that is known and no group has a part of the
/// keys.
fn seen(b: &mut Builder, found: &Attention, sizes: Sizes) -> (ExprId, Option<Seen>) {
    let score = if sizes.halves.is_some() { halves::unrounded(b, found.score) } else { found.score };
    match Seen::of(b, found, score).filter(|_| sizes.part.is_none()) {
        Some(seen) => (seen.score, Some(seen)),
        None => (score, None),
    }
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
    /// A score, made of the product of a query and a key that it sees.
    score: ExprId,
    /// What of keys the queries of the tile see, if positions tell.
    window: Option<Window>,
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

/// A quotient or remainder by a number.
fn part(b: &mut Builder, op: BinaryOp, of: ExprId, by: i64) -> ExprId {
    let by = b.index(by);
    b.binary(op, of, by)
}
