//! Which loops go over rows that come from memory and do not touch each other.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::tir::copy::Bound;
use tenfold_ir::tir::{
    BufId, Builder, ExprId, LoopKind, Param, PrimFunc, Scope, Stmt, Ty, VarId, Viewer, own_accesses, read,
};

use crate::tir_passes::inject_prefetch;
use crate::tir_passes::kernel::{is_parameter, run};

/// Bytes of the pages that a core asks for one by one.
const PAGE: i64 = 4 << 10;

/// Bytes that rows may leave on the stack of a thread, of which some have 128 KB in all.
const STACK: i64 = 72 << 10;

/// Rows that are gone over at once.
#[derive(Clone, Copy)]
struct Most {
    rows: i64,
    /// Bytes of what they read again and leave, all together.
    room: i64,
    /// Whether rows are, too, that leave as much as they read: they are computed with for as long as memory takes.
    leaving: bool,
}

/// What is measured on a Granite Rapids, by how many times the least bytes there are from which on results are written past
/// the caches: a part of what is less is still in the last cache, and rows that leave the first one lose more than they gain.
const MEASURED: [(i64, Most); 3] = [
    (8, Most { rows: 4, room: 1 << 20, leaving: true }),
    (2, Most { rows: 2, room: 1 << 20, leaving: false }),
    (1, Most { rows: 2, room: 12 << 10, leaving: false }),
];

/// What is asked for.
pub(super) struct Far {
    /// Rows at once, unless their number follows from how much is read.
    pub at_once: Option<i64>,
    /// Bytes of what comes from memory.
    pub least: i64,
}

impl Far {
    /// Whether a function has such a parameter.
    pub(super) fn is_parameter_of(&self, func: &PrimFunc) -> bool {
        func.params.iter().any(|p| matches!(p, Param::Buffer(buf, _) if is_far(func, *buf, self.least)))
    }

    /// How many rows of parameters of so many bytes are gone over at once at most.
    fn most(&self, bytes: i64) -> Option<Most> {
        let fits = |(times, _): &&(i64, Most)| bytes / times >= self.least;
        let (_, most) = MEASURED.iter().find(fits)?;
        let asked = self.at_once.map(|rows| Most { rows, leaving: true, ..*most });
        Some(asked.unwrap_or(*most))
    }
}

/// A loop over rows that come from memory.
pub(super) struct Found {
    /// How many of them are gone over at once.
    pub at_once: i64,
    /// How far they are apart, so that each of them is in a page of its own.
    pub apart: i64,
    /// What they are rows of.
    pub far: BTreeSet<BufId>,
}

impl Found {
    /// What a loop over rows reads, if it is one.
    pub(super) fn of(func: &PrimFunc, stmt: &Stmt, wanted: &Far) -> Option<Found> {
        let Stmt::For { var, min, extent, kind: LoopKind::Serial, annotations, body } = stmt else { return None };
        // Both ends are asked for again behind rows, which may have written what they are read of.
        let ends = func.vars[var.0 as usize].ty == Ty::index() && !func.loads(*min) && !func.loads(*extent);
        if !ends || !annotations.is_empty() || !is_plain(body) || !has_flat_loops(body) {
            return None;
        }
        let all = Touches::of(func, stmt)?;
        let (reads, writes) = all.parts();
        // Parts of the workspace may lie over one another.
        let shares = |buf: &BufId| func.buffers[buf.0 as usize].scope == Scope::Workspace;
        if reads.union(&writes).any(shares) {
            return None;
        }
        let far: BTreeSet<BufId> = reads.iter().copied().filter(|buf| is_far(func, *buf, wanted.least)).collect();
        if far.is_empty() || !writes.iter().all(|buf| all.keeps_apart(*buf)) {
            return None;
        }
        let rows = far.iter().map(|buf| all.row(*buf)).collect::<Option<Vec<i64>>>()?;
        let bytes = far.iter().filter_map(|buf| func.buffers[buf.0 as usize].bytes()).max()?;
        let row = rows.iter().copied().fold(0, i64::saturating_add);
        let at_once = all.at_once(body, &far, row, wanted.most(bytes)?)?;
        let apart = 1 + (PAGE - 1) / rows.into_iter().max()?;
        let mut viewer = Viewer::new(func);
        let extent = viewer.int(*extent);
        let (least, most) = viewer.prover.const_bounds(&extent);
        let enough = most.is_none_or(|most| most >= 2 * at_once * apart);
        (enough && least.is_some_and(|least| least >= 0)).then_some(Found { at_once, apart, far })
    }
}

/// An access of a row.
struct Touch {
    buf: BufId,
    writes: bool,
    /// Where it begins.
    begin: IntExpr,
    lanes: i64,
    /// The loop along the row that it stands in.
    along: Option<VarId>,
    /// What the begin is at least and at most, of row 0.
    within: (Option<i64>, Option<i64>),
    /// Elements from one row to the next.
    step: Option<i64>,
}

/// What a loop touches that is not its own.
struct Touches<'f> {
    func: &'f PrimFunc,
    all: Vec<Touch>,
    /// Symbols of loops along rows.
    along: BTreeMap<VarId, Sym>,
}

impl<'f> Touches<'f> {
    fn of(func: &'f PrimFunc, stmt: &Stmt) -> Option<Self> {
        let Stmt::For { var, min, extent, body, .. } = stmt else { return None };
        let mut inside = Bound::default();
        inside.collect(body);
        let mut found = Touches { func, all: Vec::new(), along: BTreeMap::new() };
        let mut readable = true;
        let mut viewer = Viewer::new(func);
        viewer.scope(|v| {
            v.enter_loop(*var, *min, *extent);
            let row = v.sym(*var);
            let mut loops: BTreeMap<VarId, BTreeSet<ExprId>> = BTreeMap::new();
            body.walk(&mut |s| {
                if let Stmt::For { var, body, .. } = s {
                    loops.insert(*var, func.exprs_in(body).into_iter().collect());
                }
            });
            v.walk(body, &mut |v, s| {
                for access in own_accesses(func, s).into_iter().filter(|a| !inside.bufs.contains(&a.buf)) {
                    let at = access.index.and_then(|index| <[ExprId; 1]>::try_from(index).ok());
                    let Some((at, lanes)) = at.and_then(|[at]| run(func, at)) else {
                        readable = false;
                        continue;
                    };
                    let along = loops.iter().find(|(_, ids)| ids.contains(&at)).map(|(var, _)| *var);
                    let begin = v.int(at);
                    let step = v.step(&begin, &row);
                    let first = step.map(|step| &begin - &(IntExpr::var(row.clone()) * IntExpr::from(step)));
                    let within = first.map_or((None, None), |first| v.prover.const_bounds(&first));
                    if let Some(along) = along {
                        found.along.insert(along, v.sym(along));
                    }
                    found.all.push(Touch { buf: access.buf, writes: access.write, begin, lanes, along, within, step });
                }
            });
        });
        readable.then_some(found)
    }

    /// What is read, and what is written.
    fn parts(&self) -> (BTreeSet<BufId>, BTreeSet<BufId>) {
        let of = |writes: bool| self.all.iter().filter(|t| t.writes == writes).map(|t| t.buf).collect();
        (of(false), of(true))
    }

    /// Whether no element of a buffer is touched in two rows.
    fn keeps_apart(&self, buf: BufId) -> bool {
        let all: Vec<&Touch> = self.all.iter().filter(|t| t.buf == buf).collect();
        let Some(step) = all.first().and_then(|t| t.step).filter(|step| *step > 0) else { return false };
        let first = all.iter().map(|t| t.within.0).min().flatten();
        let end = all.iter().map(|t| t.within.1.and_then(|last| last.checked_add(t.lanes))).collect::<Option<Vec<_>>>();
        let end = end.and_then(|all| all.into_iter().max());
        let room = first.zip(end).and_then(|(first, end)| end.checked_sub(first));
        all.iter().all(|t| t.step == Some(step) && t.within.0.is_some()) && room.is_some_and(|room| room <= step)
    }

    /// Bytes from one row of a buffer to the next, if loops along rows read vectors of it one behind the other, each of them
    /// at one place.
    fn row(&self, buf: BufId) -> Option<i64> {
        let all: Vec<&Touch> = self.all.iter().filter(|t| t.buf == buf).collect();
        let step = all.first()?.step.filter(|step| *step > 0)?;
        let dense = |t: &Touch| {
            t.along.is_none_or(|along| {
                let turn = self.along.get(&along).and_then(|sym| Viewer::new(self.func).step(&t.begin, sym));
                let mut others = all.iter().filter(|other| other.along == t.along);
                turn == Some(t.lanes) && others.all(|other| other.begin == t.begin && other.lanes == t.lanes)
            })
        };
        let whole = all.iter().all(|t| t.step == Some(step) && dense(t));
        let bytes = self.func.buffers[buf.0 as usize].dtype.size_bytes() as i64;
        (whole && all.iter().any(|t| t.lanes > 1)).then(|| step.saturating_mul(bytes))
    }

    /// So many rows at once that what is read of them again is still near, and that a stack holds what they leave.
    fn at_once(&self, body: &Stmt, far: &BTreeSet<BufId>, row: i64, most: Most) -> Option<i64> {
        let mut own = Bound::default();
        own.collect(body);
        let own = own.bufs.iter().map(|buf| self.func.buffers[buf.0 as usize].bytes()).sum::<Option<i64>>()?;
        let loops = |buf: &BufId| {
            let of = self.all.iter().filter(|t| t.buf == *buf && !t.writes);
            of.filter_map(|t| t.along).collect::<BTreeSet<VarId>>().len()
        };
        let again = far.iter().any(|buf| loops(buf) > 1);
        if own >= row && !most.leaving {
            return None;
        }
        let near = if again { own.saturating_add(row) } else { own };
        let fits = |n: &i64| n.saturating_mul(near) <= most.room && n.saturating_mul(own) <= STACK;
        std::iter::successors(Some(most.rows), |n| Some(n / 2)).take_while(|n| *n > 1).find(fits)
    }
}

/// What a row reads of these parameters asked for so many rows ahead, in the last loop that reads it and nowhere else.
pub(super) fn asking(b: &mut Builder, body: Stmt, far: &BTreeSet<BufId>, (row, ahead): (VarId, i64)) -> Stmt {
    let mut body = unasked(body, far);
    for buf in far {
        let (here, ahead) = (b.read(row), b.index(ahead));
        let later = (row, b.add(here, ahead));
        let mut asked = false;
        body = in_loops(b, body, &mut |b, within| {
            if asked || !read(b.func(), &within).contains(buf) {
                return within;
            }
            asked = true;
            inject_prefetch::asked(b, within, *buf, later)
        });
        if !asked {
            body = inject_prefetch::asked(b, body, *buf, later);
        }
    }
    body
}

/// A statement that asks for nothing of some buffers.
fn unasked(stmt: Stmt, of: &BTreeSet<BufId>) -> Stmt {
    match stmt {
        Stmt::Prefetch { buf, .. } if of.contains(&buf) => Stmt::nop(),
        Stmt::Seq(all) => Stmt::seq(all.into_iter().map(|s| unasked(s, of)).collect::<Vec<_>>()),
        other => other.map_children(&mut |s| unasked(s, of)),
    }
}

/// What loops along a row do replaced, the last one first.
fn in_loops(b: &mut Builder, stmt: Stmt, f: &mut dyn FnMut(&mut Builder, Stmt) -> Stmt) -> Stmt {
    match stmt {
        Stmt::Alloc { .. } | Stmt::At(..) => stmt.map_children(&mut |s| in_loops(b, s, f)),
        Stmt::Seq(all) => {
            let mut all: Vec<Stmt> = all.into_iter().rev().map(|s| in_loops(b, s, f)).collect();
            all.reverse();
            Stmt::Seq(all)
        }
        Stmt::For { var, min, extent, kind, annotations, body } => {
            Stmt::For { var, min, extent, kind, annotations, body: Box::new(f(b, *body)) }
        }
        other => other,
    }
}

/// Whether a buffer is a parameter of at least so many bytes.
fn is_far(func: &PrimFunc, buf: BufId, least: i64) -> bool {
    is_parameter(func, buf) && func.buffers[buf.0 as usize].bytes().is_some_and(|bytes| bytes >= least)
}

/// Whether nothing is done but to compute, to store and to ask for something.
fn is_plain(stmt: &Stmt) -> bool {
    !stmt.any(&mut |s| {
        matches!(s, Stmt::Call { .. } | Stmt::Assert { .. } | Stmt::Barrier(_) | Stmt::While { .. } | Stmt::Block(_))
    })
}

/// Whether no loop stands in another one.
fn has_flat_loops(stmt: &Stmt) -> bool {
    let loops = |s: &Stmt| matches!(s, Stmt::For { .. });
    !stmt.any(&mut |s| matches!(s, Stmt::For { body, .. } if body.any(&mut |s| loops(s))))
}
