//! Rows in registers: a warp a turn, or a group, whose threads go through memory once.
//!
//! A thread has the same columns in every loop: vectors of 16 bytes, as far apart as there are threads beside it, or
//! elements where a group has the row whatever its warps are. What it reads or writes in several loops stays in its
//! registers: it is loaded before the first one and stored by the last one that writes it. Rows that registers do not hold
//! stay in the memory of the group, and longer ones go through memory in each loop. Every thread gets the sums, and what is
//! computed from them each thread computes for itself.

use std::collections::BTreeMap;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::tir::{
    Access, BufId, Builder, Expr, ExprId, ExprMap, LoopKind, PrimFunc, Scope, Stmt, VarId, WARP, substitution,
};

use super::held::{Found, Life, Place};
use super::rows::{COLUMNS, Share, Update};
use super::{Bind, Loop, THREADS, lengths};
use crate::tir_passes::butterfly::{Meeting, Threads};
use crate::tir_passes::kernel::{constant, with_alloc};

/// Columns up to which a warp has a row.
const OF_WARP: i64 = 512;

/// Elements of a row that a thread is meant to have.
const EACH: i64 = 16;

/// Threads of a group that has a row, in warps.
const WARPS: std::ops::RangeInclusive<i64> = 64..=1024;

/// Threads of a group that has a row on every other device.
const GROUP: std::ops::RangeInclusive<i64> = 64..=THREADS;

/// Elements of a row that a thread has in registers at most: loops over them are written out.
const WRITTEN_OUT: i64 = 32;

/// Words of a thread that stay in registers beside those of its vectors: of those of the largest group, which have 64
/// registers each, and of others.
const ROOM: [i64; 2] = [40, 64];

/// Likewise where two groups are to have room on a multiprocessor, and a thread 64 registers.
const OF_TWO: i64 = 40;

/// Bytes that a thread reads at once.
const BYTES: i64 = 16;

/// Where a thread finds between two loops what both use of its columns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Home {
    Registers,
    /// The memory of its group, in which the places are its own.
    Shared,
    /// Where it lies: each loop goes through memory.
    Memory,
}

/// How the columns of a row are spread.
#[derive(Clone, Copy)]
pub(super) struct Spread {
    columns: ExprId,
    home: Home,
    /// Whether each thread has a column in each of its steps.
    whole: bool,
    /// Threads of a row, and rows of a group.
    threads: i64,
    rows: i64,
    /// Neighbours that a thread has, and how many times.
    lanes: i64,
    steps: i64,
}

impl Spread {
    /// Of so many columns.
    fn of(bind: &Bind<'_>, found: &Found, number: i64) -> Option<Spread> {
        Spread::of_threads(bind, found, number, i64::MAX)
    }

    /// The same of no more threads than so many.
    fn of_threads(bind: &Bind<'_>, found: &Found, number: i64, limit: i64) -> Option<Spread> {
        let (func, columns) = (bind.b.func(), found.columns?);
        let (range, most) = match bind.meeting {
            Meeting::Warps => (WARPS, BYTES),
            // Shaders read elements: those side by side are for threads side by side.
            Meeting::Group => (GROUP, 0),
        };
        let group = (number / EACH).clamp(*range.start(), *range.end()) as u64;
        let group = (group.next_power_of_two() as i64).min(limit);
        let of_warp = bind.meeting == Meeting::Warps && number <= OF_WARP;
        let (threads, rows) = if of_warp { (WARP, THREADS / WARP) } else { (group, 1) };
        let widest = found.rows.keys().map(|(buf, _)| size(func, *buf)).max()?;
        let fits = |lanes: &i64| lanes * widest <= most && number % lanes == 0 && threads * lanes <= number;
        let lanes = [8, 4, 2].into_iter().find(fits).unwrap_or(1);
        let steps = (number + threads * lanes - 1) / (threads * lanes);
        let whole = steps * threads * lanes == number;
        (number >= COLUMNS).then_some(Spread { columns, home: Home::Registers, whole, threads, rows, lanes, steps })
    }

    /// In registers of half as many threads as the largest group has, where a row would have all of these: two rows are on a
    /// multiprocessor then, of which one is read or written while the other one waits.
    fn of_two(bind: &Bind<'_>, found: &Found, number: i64) -> Option<Spread> {
        let all = Spread::of(bind, found, number)?;
        let largest = bind.meeting == Meeting::Warps && all.threads == *WARPS.end();
        let spread = Spread::of_threads(bind, found, number, WARPS.end() / 2).filter(|_| largest)?;
        let (kept, passing) = words(bind.b.func(), found);
        let fits = kept * spread.each() + passing * spread.lanes <= OF_TWO;
        (fits && spread.fits(bind, found)).then_some(spread)
    }

    /// With the first of the homes that takes what threads keep.
    fn held(self, bind: &Bind<'_>, found: &Found) -> Option<Spread> {
        let homes = [Home::Registers, Home::Shared, Home::Memory].into_iter();
        homes.map(|home| Spread { home, ..self }).find(|spread| spread.fits(bind, found))
    }

    /// Of as many columns as a dim says, up to `most`: where a row begins is not known, so threads read elements.
    pub(super) fn up_to(bind: &Bind<'_>, found: &Found, (most, home): (i64, Home)) -> Option<Spread> {
        let spread = Spread::of(bind, found, most)?;
        let steps = spread.each();
        let spread = Spread { whole: false, lanes: 1, steps, home, ..spread };
        spread.fits(bind, found).then_some(spread)
    }

    /// Whether what a thread keeps of its columns has room there, if it keeps any.
    fn fits(self, bind: &Bind<'_>, found: &Found) -> bool {
        let func = bind.b.func();
        match self.home {
            Home::Registers => {
                let room = ROOM[usize::from(self.threads < *WARPS.end())];
                let (kept, passing) = words(func, found);
                let fits = kept * self.each() + passing * self.lanes <= room && self.each() <= WRITTEN_OUT;
                fits || found.held().next().is_none()
            }
            Home::Shared => {
                let kept = self.kept(bind, found);
                let all = found.held().all(|(place, _)| kept.contains(place) || !found.is_own(place.0));
                self.rows == 1 && !kept.is_empty() && all
            }
            Home::Memory => self.rows == 1 && found.has_memory(),
        }
    }

    /// What threads keep between loops; the rest goes through memory. Of what is too much for the memory of a group, what
    /// has no memory else comes first, and what most loops use.
    fn kept(self, bind: &Bind<'_>, found: &Found) -> Vec<Place> {
        let mut all: Vec<(&Place, &Life)> = found.held().collect();
        let mut left = match self.home {
            Home::Registers => i64::MAX,
            Home::Shared => bind.row_bytes,
            Home::Memory => 0,
        };
        all.sort_by_key(|((buf, _), life)| (!found.is_own(*buf), std::cmp::Reverse(life.used.len())));
        all.retain(|((buf, _), _)| {
            let bytes = size(bind.b.func(), *buf) * self.threads * self.each();
            let fits = bytes <= left;
            left -= if fits { bytes } else { 0 };
            fits
        });
        all.into_iter().map(|(place, _)| place.clone()).collect()
    }

    /// Columns of a thread.
    fn each(self) -> i64 {
        self.lanes * self.steps
    }
}

/// The longest rows whose columns stay in the memory of a group, of as many for each thread.
pub(super) fn most_shared(bind: &Bind<'_>, found: &Found) -> i64 {
    let threads = *WARPS.end();
    bind.row_bytes / bytes(bind.b.func(), found).max(1) / threads * threads
}

/// Bytes a column that stay with threads between loops.
fn bytes(func: &PrimFunc, found: &Found) -> i64 {
    found.held().map(|((buf, _), _)| size(func, *buf)).sum()
}

fn size(func: &PrimFunc, buf: BufId) -> i64 {
    func.buffers[buf.0 as usize].dtype.size_bytes() as i64
}

/// Words a column that stay in registers between two loops, and those that pass through them in one, where they are most.
fn words(func: &PrimFunc, found: &Found) -> (i64, i64) {
    let last = found.rows.values().filter_map(|life| life.used.last().copied()).max().unwrap_or(0);
    let of = |(buf, _): &Place| (size(func, *buf) + 3) / 4;
    let kept = |n: usize| -> i64 {
        let across = |life: &Life| life.used.first() <= Some(&n) && life.used.last() > Some(&n);
        found.held().filter(|(_, life)| across(life)).map(|(place, _)| of(place)).sum()
    };
    let passing = |n: usize| -> i64 {
        let here = |life: &Life| life.used.len() == 1 && life.used.contains(&n);
        found.rows.iter().filter(|(_, life)| here(life)).map(|(place, _)| of(place)).sum()
    };
    ((0..=last).map(kept).max().unwrap_or(0), (0..=last).map(passing).max().unwrap_or(0))
}

/// The kernel, if threads need nothing of each other but sums.
pub(super) fn kernel(bind: &mut Bind<'_>, loops: &[Loop], body: &Stmt) -> Option<Stmt> {
    let found = Found::of(bind, loops, body)?;
    match constant(bind.b.func(), found.columns?) {
        Some(columns) => {
            let two = Spread::of_two(bind, &found, columns);
            let spread = two.or_else(|| Spread::of(bind, &found, columns)?.held(bind, &found))?;
            Some(of_rows(bind, loops, body, &found, spread))
        }
        None => lengths::kernels(bind, loops, body),
    }
}

/// The kernel of rows that are spread like that.
pub(super) fn of_rows(bind: &mut Bind<'_>, loops: &[Loop], body: &Stmt, found: &Found, spread: Spread) -> Stmt {
    let (group, thread) = (bind.b.index_var("group"), bind.b.index_var("thread"));
    let (g, t) = (bind.b.read(group), bind.b.read(thread));
    let (mut first, mut me) = (g, t);
    let rows = bind.b.index(spread.rows);
    if spread.rows > 1 {
        let warp = bind.b.index(spread.threads);
        let own = bind.b.binary(BinaryOp::DivEuclid, t, warp);
        me = bind.b.binary(BinaryOp::RemEuclid, t, warp);
        let base = bind.b.mul(g, rows);
        first = bind.b.add(base, own);
    }
    let count = bind.count(loops);
    let parts = if spread.rows > 1 { bind.parts(count, spread.rows) } else { count };
    let groups = bind.groups(parts);
    let stride = if spread.rows > 1 { bind.product(groups, rows) } else { groups };
    let exact = constant(bind.b.func(), count).is_some_and(|n| n > 0 && n % spread.rows == 0);
    let once = constant(bind.b.func(), parts).is_some_and(|n| n <= bind.most);
    let body = Row::new(bind, spread, me, found).turn(body.clone());
    let body = bind.every(first, stride, count, (once, exact), loops, body);
    let threads = bind.b.index(spread.threads * spread.rows);
    bind.bound(group, groups, thread, threads, body)
}

/// A turn, as each of its threads runs it.
struct Row<'r, 'a> {
    bind: &'r mut Bind<'a>,
    spread: Spread,
    /// The number of a thread in its row.
    me: ExprId,
    found: &'r Found,
    /// What it keeps of places between loops.
    kept: BTreeMap<Place, BufId>,
    /// The loops over columns that have been written.
    number: usize,
}

impl<'r, 'a> Row<'r, 'a> {
    fn new(bind: &'r mut Bind<'a>, spread: Spread, me: ExprId, found: &'r Found) -> Self {
        let mut row = Row { bind, spread, me, found, kept: BTreeMap::new(), number: 0 };
        let Spread { threads, lanes, steps, .. } = spread;
        let (shape, scope) = match spread.home {
            Home::Registers => (vec![spread.each()], Scope::Local),
            Home::Shared => (vec![steps, threads, lanes], Scope::SharedDyn),
            Home::Memory => return row,
        };
        for place in spread.kept(row.bind, found) {
            let buf = row.buffer(place.0, &shape, scope);
            row.kept.insert(place, buf);
        }
        row
    }

    fn turn(mut self, body: Stmt) -> Stmt {
        let body = self.stmt(body);
        self.kept.values().rev().fold(body, |body, buf| with_alloc(*buf, body))
    }

    fn stmt(&mut self, stmt: Stmt) -> Stmt {
        match self.bind.share(&stmt) {
            Some(Share::Turns(l, body)) => {
                let body = body.clone();
                return self.columns(l, body);
            }
            Some(Share::Sum(l, update)) => return self.sum(l, &update),
            None => {}
        }
        match stmt {
            // The threads have its elements.
            Stmt::Alloc { buf, body } if self.kept.keys().any(|(held, _)| *held == buf) => self.stmt(*body),
            Stmt::Store { buf, .. } if !self.found.is_own(buf) => self.first(stmt),
            other => other.map_children(&mut |s| self.stmt(s)),
        }
    }

    /// What the first thread of the row does alone.
    fn first(&mut self, body: Stmt) -> Stmt {
        let zero = self.bind.b.index(0);
        let cond = self.bind.b.compare(CmpOp::Eq, self.me, zero);
        Stmt::If { cond, then: Box::new(body), otherwise: None }
    }

    /// The thread's part of a sum, which all threads of the row get.
    fn sum(&mut self, l: Loop, update: &Update) -> Stmt {
        let dtype = self.bind.b.buf(update.buf).dtype;
        let part = self.bind.b.buffer("part", dtype, vec![IntExpr::from(1)], Scope::Local);
        let (zero, op) = (self.bind.b.index(0), update.op.combiner());
        let unit = self.bind.b.scalar(update.op.unit(dtype));
        let own = self.bind.b.load(part, vec![zero], Access::Proven);
        let next = self.bind.b.binary(op, own, update.term);
        let before = vec![store(part, vec![zero], unit), self.columns(l, store(part, vec![zero], next))];
        let threads = Threads { meeting: self.bind.meeting, count: self.spread.threads, number: self.me };
        let combined = threads.combine(self.bind.b, part, update.op, before);
        let old = self.bind.b.load(update.buf, update.index.clone(), Access::Proven);
        let value = self.bind.b.binary(op, old, own);
        let mut last = store(update.buf, update.index.clone(), value);
        if !self.found.is_own(update.buf) {
            last = self.first(last);
        }
        with_alloc(part, combined.then([last]))
    }

    /// A loop over the thread's columns, behind the loads of what it is the first to need.
    fn columns(&mut self, l: Loop, body: Stmt) -> Stmt {
        let number = self.number;
        self.number += 1;
        let found = self.found;
        let here = |life: &Life| life.used.contains(&number);
        let (mut before, mut homes, mut apart) = (Vec::new(), BTreeMap::new(), Vec::new());
        for (place, life) in found.rows.iter().filter(|(_, life)| here(life)) {
            let Some(kept) = self.kept.get(place).copied() else {
                let register = self.buffer(place.0, &[self.spread.lanes], Scope::Local);
                apart.push(register);
                homes.insert(place.clone(), (register, false));
                continue;
            };
            homes.insert(place.clone(), (kept, true));
            if life.read_first() && life.used.first() == Some(&number) {
                before.push(self.steps(|row, at| row.moved(at, place, (kept, true), Move::Load)));
            }
        }
        let all = self.steps(|row, at| {
            let mut all = Vec::new();
            for (place, life) in found.rows.iter().filter(|(_, life)| here(life)) {
                if life.read.contains(&number) && !homes[place].1 {
                    all.push(row.moved(at, place, homes[place], Move::Load));
                }
            }
            all.push(row.lanes(LoopKind::Unrolled, |row, lane| row.element(at, lane, (l.var, &homes), body)));
            for (place, life) in found.rows.iter().filter(|(place, _)| !found.is_own(place.0)) {
                let is_last = life.written.last() == Some(&number);
                let passes = homes.get(place).is_some_and(|(_, kept)| !kept);
                if is_last || passes && life.written.contains(&number) {
                    all.push(row.moved(at, place, homes[place], Move::Store));
                }
            }
            apart.into_iter().fold(Stmt::seq(all), |body, buf| with_alloc(buf, body))
        });
        Stmt::seq(before.into_iter().chain([all]))
    }

    /// What holds elements of a buffer for a thread.
    fn buffer(&mut self, of: BufId, shape: &[i64], scope: Scope) -> BufId {
        let (name, dtype) = (self.bind.b.buf(of).name.clone(), self.bind.b.buf(of).dtype);
        let shape = shape.iter().map(|n| IntExpr::from(*n)).collect();
        self.bind.b.buffer(&format!("{name}_held"), dtype, shape, scope)
    }

    /// Where a lane of a vector is in what the thread keeps.
    fn place(&mut self, at: At, lane: ExprId) -> Vec<ExprId> {
        let b = &mut *self.bind.b;
        match self.spread.home {
            Home::Registers | Home::Memory => {
                let count = b.index(self.spread.lanes);
                let first = b.mul(at.step, count);
                vec![b.add(first, lane)]
            }
            Home::Shared => vec![at.step, self.me, lane],
        }
    }

    /// Every vector of the thread's columns.
    fn steps(&mut self, body: impl FnOnce(&mut Self, At) -> Stmt) -> Stmt {
        let Spread { columns, home, whole, threads, lanes, steps, .. } = self.spread;
        let turns = match home {
            Home::Memory => self.bind.parts(columns, threads * lanes),
            Home::Registers | Home::Shared => self.bind.b.index(steps),
        };
        let b = &mut *self.bind.b;
        let step = b.index_var("step");
        let (s, zero) = (b.read(step), b.index(0));
        let (count, apart) = (b.index(lanes), b.index(threads));
        let before = b.mul(s, apart);
        let vector = b.add(before, self.me);
        let at = At { column: b.mul(vector, count), step: s };
        let mut body = body(self, at);
        if !whole && constant(self.bind.b.func(), columns).is_some() {
            body = self.bind.below(at.column, columns, body);
        } else if !whole {
            // One number for all steps, which are compared with constants: else the column of each has a register.
            let left = self.bind.b.sub(columns, self.me);
            body = self.bind.below(before, left, body);
        }
        Stmt::loop_(step, zero, turns, LoopKind::Serial, body)
    }

    /// Every lane of a vector.
    fn lanes(&mut self, kind: LoopKind, body: impl FnOnce(&mut Self, ExprId) -> Stmt) -> Stmt {
        let lane = self.bind.b.index_var("lane");
        let (zero, count, v) = (self.bind.b.index(0), self.bind.b.index(self.spread.lanes), self.bind.b.read(lane));
        let body = body(self, v);
        Stmt::loop_(lane, zero, count, kind, body)
    }

    /// A vector between memory and what the thread has of it: for each step, where it keeps the row.
    fn moved(&mut self, at: At, place: &Place, (register, kept): (BufId, bool), how: Move) -> Stmt {
        let (buf, before) = place.clone();
        self.lanes(LoopKind::Vectorized, |row, lane| {
            let own = if kept { row.place(at, lane) } else { vec![lane] };
            let b = &mut *row.bind.b;
            let column = b.add(at.column, lane);
            let memory: Vec<ExprId> = before.into_iter().chain([column]).collect();
            match how {
                Move::Load => {
                    let value = b.load(buf, memory, Access::Proven);
                    store(register, own, value)
                }
                Move::Store => {
                    let value = b.load(register, own, Access::Proven);
                    store(buf, memory, value)
                }
            }
        })
    }

    /// A loop's body in a lane, with what it reads and writes there where the thread has it.
    fn element(&mut self, at: At, lane: ExprId, (var, homes): (VarId, &Homes), body: Stmt) -> Stmt {
        let own = self.place(at, lane);
        let b = &mut *self.bind.b;
        let column = b.add(at.column, lane);
        let home = |b: &Builder, buf: BufId, index: &[ExprId]| {
            let (last, before) = index.split_last()?;
            let found = homes.get(&(buf, before.to_vec())).filter(|_| *b.func().exprs.get(*last) == Expr::Var(var));
            found.map(|(register, kept)| (*register, if *kept { own.clone() } else { vec![lane] }))
        };
        let mut map = ExprMap::new(|b: &mut Builder, e| {
            let Expr::Load { buf, index, .. } = b.func().exprs.get(e).clone() else { return e };
            home(b, buf, &index).map_or(e, |(register, at)| b.load(register, at, Access::Proven))
        });
        let body = map.stmt(b, body);
        let body = body.map(&mut |stmt| match &stmt {
            Stmt::Store { buf, index, value, .. } => match home(b, *buf, index) {
                Some((register, at)) => store(register, at, *value),
                None => stmt,
            },
            _ => stmt,
        });
        substitution(&BTreeMap::from([(var, column)])).stmt(b, body)
    }
}

/// What a thread has of places, and whether it keeps that between loops: whole rows, else one vector.
type Homes = BTreeMap<Place, (BufId, bool)>;

/// Where a vector begins in its row, and which one of the thread's it is.
#[derive(Clone, Copy)]
struct At {
    column: ExprId,
    step: ExprId,
}

/// Between memory and what a thread has.
#[derive(Clone, Copy)]
enum Move {
    Load,
    Store,
}

fn store(buf: BufId, index: Vec<ExprId>, value: ExprId) -> Stmt {
    Stmt::Store { buf, index, value, access: Access::Proven }
}
