//! `InterleaveRows`: what a row ends with is done while the next row is computed.
//!
//! A kernel that goes over a row several times (a softmax) reads memory, computes, and writes memory, each in a loop of
//! its own, so that memory waits while it computes. Where a result is written past the caches, and made of nothing but
//! what stands on the stack by then, the loop that writes it moves into a loop over the next row, turn by turn, before
//! that one's own turns: they leave the elements that are read now, and may put others in their place. Meanwhile the loop
//! asks for what it reads of the rows to come.
//!
//! Runs on plain loops, and changes neither what is computed nor in which order sums are added.

mod ahead;

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::Module;
use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::op::CmpOp;
use tenfold_ir::tir::copy::copy;
use tenfold_ir::tir::{BufId, Builder, ExprId, LoopKind, PrimFunc, Stmt, VarId, Viewer, accesses, read, written};

use super::kernel::{constant, is_parameter, run, with_alloc};
use super::rewrite_body;
use crate::CompileError;
use crate::pass::{ConfigKey, IntKey, Pass, PassContext, PassPhase};

const LEAST: IntKey = IntKey {
    name: "InterleaveRows.least",
    doc: "bytes of a result from which on rows are interleaved; 0: those that the target writes past its caches",
    default: 0,
    least: 0,
    greatest: i64::MAX,
};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("InterleaveRows", &interleave_rows)
    .at_level(2)
    .in_phase(PassPhase::Flat)
    .reads(&[ConfigKey::Int(&LEAST)])
    .about("writes a row of what goes past the caches while the next row is computed");

fn interleave_rows(func: PrimFunc, _: &Module, context: &PassContext) -> Result<PrimFunc, CompileError> {
    let asked = context.int(&LEAST);
    let least = if asked > 0 { Some(asked) } else { context.target.past_caches() };
    Ok(match least {
        Some(least) => rewrite_body(func, |b, body| interleaved(b, body, least)),
        None => func,
    })
}

fn interleaved(b: &mut Builder, stmt: Stmt, least: i64) -> Stmt {
    match stmt {
        Stmt::For { var, min, extent, kind: LoopKind::Serial, annotations, body } => {
            // Both ends are asked for again behind rows, which may have written what they are read of.
            let stays = !b.func().loads(min) && !b.func().loads(extent);
            let found = (annotations.is_empty() && stays).then(|| Found::of(b.func(), &body, least)).flatten();
            match found {
                Some(found) => Rows { var, min, extent, found }.interleaved(b, *body),
                None => Stmt::For { var, min, extent, kind: LoopKind::Serial, annotations, body },
            }
        }
        Stmt::Seq(_) | Stmt::At(..) | Stmt::Alloc { .. } => stmt.map_children(&mut |s| interleaved(b, s, least)),
        other => other,
    }
}

/// Where the loop that a row ends with may run, and what it reads.
struct Found {
    /// Which of the statements of a row is the loop that it may run in.
    place: usize,
    carried: BTreeSet<BufId>,
}

impl Found {
    /// The last loop with as many turns as the one at the end of a row, if that one writes results that go past the caches,
    /// and reads nothing but what the row has left in buffers of its own, and if nothing up to there is in its way.
    fn of(func: &PrimFunc, body: &Stmt, least: i64) -> Option<Found> {
        let mut all = Vec::new();
        in_order(body, &mut all);
        let last = all.pop().filter(|last| stores_alone(last))?;
        let turns = turns(func, last)?;
        let (reads, writes) = (read(func, last), written(func, last));
        let far = |buf: &BufId| func.buffers[buf.0 as usize].bytes().is_some_and(|bytes| bytes >= least);
        if !reads.is_subset(&allocated(body)) || !writes.iter().all(|buf| far(buf) && is_parameter(func, *buf)) {
            return None;
        }
        let apart = |stmt: &Stmt| {
            let touched: BTreeSet<BufId> = accesses(func, stmt).into_iter().map(|a| a.buf).collect();
            is_plain(stmt) && touched.is_disjoint(&writes)
        };
        let passed = |stmt: &&Stmt| apart(stmt) && written(func, stmt).is_disjoint(&reads);
        let until = all.iter().take_while(|s| passed(s)).count();
        let fits = |at: &usize| {
            let stmt = all[*at];
            let equal = apart(stmt) && self::turns(func, stmt) == Some(turns);
            equal && written(func, stmt).intersection(&reads).all(|buf| in_place(func, stmt, last, *buf))
        };
        let place = (0..all.len()).take(until + 1).rfind(fits)?;
        Some(Found { place, carried: reads })
    }
}

/// A loop over rows.
struct Rows {
    var: VarId,
    min: ExprId,
    extent: ExprId,
    found: Found,
}

impl Rows {
    fn interleaved(self, b: &mut Builder, body: Stmt) -> Stmt {
        let Rows { var, min, extent, found: Found { mut place, carried } } = self;
        let (body, last) = without_last(body);
        let body = body.map(&mut |s| match s {
            Stmt::Alloc { buf, body } if carried.contains(&buf) => *body,
            other => other,
        });
        let row = b.read(var);
        let (one, zero) = (b.index(1), b.index(0));
        let before = b.sub(row, one);
        let body = with_nth(body, &mut place, &mut |own| {
            let alone = copy(b, &own, &BTreeMap::new());
            let own = ahead::asking(b, own, var);
            let both = in_turn(b, own, &last, (var, before));
            let cond = b.compare(CmpOp::Gt, row, min);
            Stmt::If { cond, then: Box::new(both), otherwise: Some(Box::new(alone)) }
        });
        let end = b.add(min, extent);
        let final_row = b.sub(end, one);
        let rest = Box::new(copy(b, &last, &BTreeMap::from([(var, final_row)])));
        let rest = Stmt::If { cond: b.compare(CmpOp::Gt, extent, zero), then: rest, otherwise: None };
        let rows = Stmt::loop_(var, min, extent, LoopKind::Serial, body);
        carried.into_iter().fold(Stmt::seq([rows, rest]), |body, buf| with_alloc(buf, body))
    }
}

/// The turns of a loop, each behind one of the last loop of the row before.
fn in_turn(b: &mut Builder, own: Stmt, last: &Stmt, (row, before): (VarId, ExprId)) -> Stmt {
    match (own, last) {
        (Stmt::For { var, min, extent, kind, annotations, body }, Stmt::For { var: turn, body: stores, .. }) => {
            let here = b.read(var);
            let stores = copy(b, stores, &BTreeMap::from([(row, before), (*turn, here)]));
            Stmt::For { var, min, extent, kind, annotations, body: Box::new(Stmt::seq([stores, *body])) }
        }
        (own, _) => own,
    }
}

/// The statements of a body, one behind the other.
fn in_order<'s>(stmt: &'s Stmt, all: &mut Vec<&'s Stmt>) {
    match stmt {
        Stmt::Alloc { body, .. } | Stmt::At(_, body) => in_order(body, all),
        Stmt::Seq(own) => own.iter().for_each(|s| in_order(s, all)),
        other => all.push(other),
    }
}

/// A body with another statement in the place of its `n`th one.
fn with_nth(stmt: Stmt, n: &mut usize, f: &mut impl FnMut(Stmt) -> Stmt) -> Stmt {
    match stmt {
        Stmt::Alloc { .. } | Stmt::At(..) | Stmt::Seq(_) => stmt.map_children(&mut |s| with_nth(s, n, f)),
        other => {
            let here = *n == 0;
            *n = n.wrapping_sub(1);
            if here { f(other) } else { other }
        }
    }
}

/// A body without the loop that it ends with, and that loop.
fn without_last(stmt: Stmt) -> (Stmt, Stmt) {
    match stmt {
        Stmt::Alloc { buf, body } => {
            let (body, last) = without_last(*body);
            (with_alloc(buf, body), last)
        }
        Stmt::At(loc, body) => {
            let (body, last) = without_last(*body);
            (Stmt::At(loc, Box::new(body)), last)
        }
        Stmt::Seq(mut all) => {
            let (body, last) = all.pop().map_or((Stmt::nop(), Stmt::nop()), without_last);
            (Stmt::seq(all.into_iter().chain([body])), last)
        }
        other => (Stmt::nop(), other),
    }
}

/// The number of turns of a plain loop that begins at 0.
fn turns(func: &PrimFunc, stmt: &Stmt) -> Option<i64> {
    match stmt {
        Stmt::For { min, extent, kind: LoopKind::Serial | LoopKind::Reduction, annotations, .. } => {
            let plain = annotations.is_empty() && constant(func, *min) == Some(0);
            constant(func, *extent).filter(|_| plain)
        }
        _ => None,
    }
}

/// Whether a statement is a loop that only stores.
fn stores_alone(stmt: &Stmt) -> bool {
    let stores = |s: &Stmt| matches!(s, Stmt::Store { .. } | Stmt::Seq(_) | Stmt::At(..));
    matches!(stmt, Stmt::For { body, .. } if !body.any(&mut |s| !stores(s)))
}

/// Whether nothing is done but to compute and to store.
fn is_plain(stmt: &Stmt) -> bool {
    !stmt.any(&mut |s| matches!(s, Stmt::Call { .. } | Stmt::Assert { .. } | Stmt::Barrier(_) | Stmt::While { .. }))
}

fn allocated(stmt: &Stmt) -> BTreeSet<BufId> {
    let mut all = BTreeSet::new();
    stmt.walk(&mut |s| all.extend(s.allocates()));
    all
}

/// Whether each turn of a loop touches those elements of a buffer which the same turn of another one reads, and no
/// other turn does.
fn in_place(func: &PrimFunc, own: &Stmt, reader: &Stmt, buf: BufId) -> bool {
    let Stmt::For { var, .. } = own else { return false };
    let viewer = &mut Viewer::new(func);
    let turn = viewer.sym(*var);
    let all = [own, reader].map(|stmt| runs(viewer, stmt, buf, &turn));
    let [Some(mut all), Some(read)] = all else { return false };
    all.extend(read);
    let Some((begin, lanes)) = all.first() else { return false };
    let next = IntExpr::var(turn.clone()) + IntExpr::from(1);
    let later = begin.substitute(&|s| (*s == turn).then(|| next.clone()));
    let same = |(at, n): &(IntExpr, i64)| n == lanes && (at - begin).as_const() == Some(0);
    (&later - begin).as_const() == Some(*lanes) && all.iter().all(same)
}

/// Where neighbours begin that a turn of a loop touches, and how many they are.
fn runs(viewer: &mut Viewer<'_>, stmt: &Stmt, buf: BufId, turn: &Sym) -> Option<Vec<(IntExpr, i64)>> {
    let Stmt::For { var, body, .. } = stmt else { return None };
    let (func, own) = (viewer.func(), viewer.sym(*var));
    let mut all = Vec::new();
    for access in accesses(func, body).into_iter().filter(|a| a.buf == buf) {
        let [at] = access.index?[..] else { return None };
        let (begin, lanes) = run(func, at)?;
        let begin = viewer.int(begin).substitute(&|s| (*s == own).then(|| IntExpr::var(turn.clone())));
        all.push((begin, lanes));
    }
    Some(all)
}
