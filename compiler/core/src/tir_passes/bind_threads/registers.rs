//! Rows in registers: a warp a turn, or a group, whose threads go through memory once.
//!
//! A thread has the same columns in every loop: vectors of 16 bytes, as far apart as there are threads beside it, or
//! elements where a group has the row whatever its warps are. What it reads or writes in several loops stays in its
//! registers: it is loaded before the first one and stored by the last one that writes it. Every thread gets the sums, and
//! what is computed from them each thread computes for itself.

use std::collections::BTreeMap;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::tir::{
    Access, BufId, Builder, Expr, ExprId, ExprMap, LoopKind, PrimFunc, Scope, Stmt, VarId, WARP, substitution,
};

use super::held::{Found, Life, Place};
use super::rows::{COLUMNS, Share, Update};
use super::{Bind, GROUPS, Loop, THREADS, lengths};
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

/// Bytes that a thread reads at once.
const BYTES: i64 = 16;

/// How the columns of a row are spread.
#[derive(Clone, Copy)]
pub(super) struct Spread {
    columns: ExprId,
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
    fn of(func: &PrimFunc, found: &Found, meeting: Meeting, number: i64) -> Option<Spread> {
        let columns = found.columns?;
        let (range, most) = match meeting {
            Meeting::Warps => (WARPS, BYTES),
            // Shaders read elements: those side by side are for threads side by side.
            Meeting::Group => (GROUP, 0),
        };
        let group = (number / EACH).clamp(*range.start(), *range.end()) as u64;
        let group = group.next_power_of_two() as i64;
        let of_warp = meeting == Meeting::Warps && number <= OF_WARP;
        let (threads, rows) = if of_warp { (WARP, THREADS / WARP) } else { (group, 1) };
        let widest = found.rows.keys().map(|(buf, _)| size(func, *buf)).max()?;
        let fits = |lanes: &i64| lanes * widest <= most && number % lanes == 0 && threads * lanes <= number;
        let lanes = [8, 4, 2].into_iter().find(fits).unwrap_or(1);
        let steps = (number + threads * lanes - 1) / (threads * lanes);
        let whole = steps * threads * lanes == number;
        let spread = Spread { columns, whole, threads, rows, lanes, steps };
        (number >= COLUMNS && spread.fits(func, found)).then_some(spread)
    }

    /// Of as many columns as a dim says, up to `most`: where a row begins is not known, so threads read elements.
    pub(super) fn up_to(func: &PrimFunc, found: &Found, meeting: Meeting, most: i64) -> Option<Spread> {
        let spread = Spread::of(func, found, meeting, most)?;
        let steps = spread.each();
        let spread = Spread { whole: false, lanes: 1, steps, ..spread };
        spread.fits(func, found).then_some(spread)
    }

    /// Whether what a thread keeps of its columns has room in registers, if it keeps any.
    fn fits(self, func: &PrimFunc, found: &Found) -> bool {
        let room = ROOM[usize::from(self.threads < *WARPS.end())];
        let (kept, passing) = words(func, found);
        let fits = kept * self.each() + passing * self.lanes <= room && self.each() <= WRITTEN_OUT;
        fits || found.held().next().is_none()
    }

    /// Columns of a thread.
    fn each(self) -> i64 {
        self.lanes * self.steps
    }
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
            let spread = Spread::of(bind.b.func(), &found, bind.meeting, columns)?;
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
    let once = constant(bind.b.func(), parts).is_some_and(|n| n <= GROUPS);
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
    registers: BTreeMap<Place, BufId>,
    /// The loops over columns that have been written.
    number: usize,
}

impl<'r, 'a> Row<'r, 'a> {
    fn new(bind: &'r mut Bind<'a>, spread: Spread, me: ExprId, found: &'r Found) -> Self {
        let mut row = Row { bind, spread, me, found, registers: BTreeMap::new(), number: 0 };
        for (place, _) in found.held() {
            let register = row.buffer(place.0, spread.each());
            row.registers.insert(place.clone(), register);
        }
        row
    }

    fn turn(mut self, body: Stmt) -> Stmt {
        let body = self.stmt(body);
        self.registers.values().rev().fold(body, |body, buf| with_alloc(*buf, body))
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
            // Its elements are in registers.
            Stmt::Alloc { buf, body } if self.registers.keys().any(|(held, _)| *held == buf) => self.stmt(*body),
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
            let Some(register) = self.registers.get(place).copied() else {
                let register = self.buffer(place.0, self.spread.lanes);
                apart.push(register);
                homes.insert(place.clone(), (register, false));
                continue;
            };
            homes.insert(place.clone(), (register, true));
            if life.read_first && life.used.first() == Some(&number) {
                before.push(self.steps(|row, at| row.moved(at, place, (register, true), Move::Load)));
            }
        }
        let all = self.steps(|row, at| {
            let mut all = Vec::new();
            for (place, life) in found.rows.iter().filter(|(_, life)| here(life)) {
                if life.read_first && !homes[place].1 {
                    all.push(row.moved(at, place, homes[place], Move::Load));
                }
            }
            all.push(row.lanes(LoopKind::Unrolled, |row, lane| row.element(at, lane, (l.var, &homes), body)));
            for (place, _) in found.rows.iter().filter(|(_, life)| life.written.last() == Some(&number)) {
                if !found.is_own(place.0) {
                    all.push(row.moved(at, place, homes[place], Move::Store));
                }
            }
            apart.into_iter().fold(Stmt::seq(all), |body, buf| with_alloc(buf, body))
        });
        Stmt::seq(before.into_iter().chain([all]))
    }

    /// Registers for elements of a buffer.
    fn buffer(&mut self, of: BufId, count: i64) -> BufId {
        let (name, dtype) = (self.bind.b.buf(of).name.clone(), self.bind.b.buf(of).dtype);
        self.bind.b.buffer(&format!("{name}_held"), dtype, vec![IntExpr::from(count)], Scope::Local)
    }

    /// Every vector of the thread's columns.
    fn steps(&mut self, body: impl FnOnce(&mut Self, At) -> Stmt) -> Stmt {
        let Spread { columns, whole, threads, lanes, steps, .. } = self.spread;
        let b = &mut *self.bind.b;
        let step = b.index_var("step");
        let (s, zero) = (b.read(step), b.index(0));
        let (count, apart, turns) = (b.index(lanes), b.index(threads), b.index(steps));
        let before = b.mul(s, apart);
        let vector = b.add(before, self.me);
        let at = At { column: b.mul(vector, count), element: b.mul(s, count) };
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

    /// A vector between memory and registers, whole rows of which have one for each step.
    fn moved(&mut self, at: At, place: &Place, (register, whole): (BufId, bool), how: Move) -> Stmt {
        let (buf, before) = place.clone();
        self.lanes(LoopKind::Vectorized, |row, lane| {
            let b = &mut *row.bind.b;
            let column = b.add(at.column, lane);
            let own = vec![if whole { b.add(at.element, lane) } else { lane }];
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

    /// A loop's body in a lane, with what it reads and writes there in registers.
    fn element(&mut self, at: At, lane: ExprId, (var, homes): (VarId, &Homes), body: Stmt) -> Stmt {
        let b = &mut *self.bind.b;
        let (column, element) = (b.add(at.column, lane), b.add(at.element, lane));
        let home = |b: &Builder, buf: BufId, index: &[ExprId]| {
            let (last, before) = index.split_last()?;
            let found = homes.get(&(buf, before.to_vec())).filter(|_| *b.func().exprs.get(*last) == Expr::Var(var));
            found.map(|(register, whole)| (*register, vec![if *whole { element } else { lane }]))
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

/// The registers of places, and whether these hold whole rows or one vector.
type Homes = BTreeMap<Place, (BufId, bool)>;

/// Where a vector begins: in its row, and among the thread's elements.
#[derive(Clone, Copy)]
struct At {
    column: ExprId,
    element: ExprId,
}

/// Between memory and registers.
#[derive(Clone, Copy)]
enum Move {
    Load,
    Store,
}

fn store(buf: BufId, index: Vec<ExprId>, value: ExprId) -> Stmt {
    Stmt::Store { buf, index, value, access: Access::Proven }
}
