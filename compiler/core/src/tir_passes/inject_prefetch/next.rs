//! What the next iterations of a loop read, asked for bit by bit in the loops inside.
//!
//! An iteration that goes over a panel of constants many times asks for the next panel meanwhile. Memory is asked for
//! evenly then, for as long as there is something to compute, and no panel has to be waited for.

use std::collections::BTreeMap;

use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{BufId, Builder, Expr, ExprId, LoopKind, Stmt, VarId, Viewer, own_accesses, substitution};

use super::behind;

/// The body of a loop with what is read `turns` iterations later asked for in its inner loops. It stays as it is where
/// the places of what is read do not move by a number of elements, or inner loops have no number of turns.
pub(super) fn spread(b: &mut Builder, (var, min): (VarId, ExprId), body: Stmt, (buf, turns): (BufId, i64)) -> Stmt {
    let Some(inner) = turns_inside(b, &body, buf).filter(|n| *n > 0 && turns > 0) else { return body };
    let i = b.read(var);
    let Some((begin, span)) = moved(b, (var, i), &body, (buf, turns)) else { return body };
    // How far the iterations before the next place are.
    let (begin, done) = if turns == 1 {
        (begin, b.index(0))
    } else {
        let (so_far, each, turns) = (b.sub(i, min), b.index(inner), b.index(turns));
        let nth = b.binary(BinaryOp::RemEuclid, so_far, turns);
        let first = b.sub(i, nth);
        (substitution(&BTreeMap::from([(var, first)])).expr(b, begin), b.mul(nth, each))
    };
    let all = inner.saturating_mul(turns);
    let next = Next { buf, begin, each: (span + all - 1) / all };
    next.placed(b, body, done)
}

/// Where the first element lies that is read so many iterations later, and how many elements lie between.
fn moved(b: &mut Builder, (var, i): (VarId, ExprId), body: &Stmt, (buf, turns): (BufId, i64)) -> Option<(ExprId, i64)> {
    let now = first(b, body, buf, &mut BTreeMap::new())?;
    let step = b.index(turns);
    let later = b.add(i, step);
    let then = first(b, body, buf, &mut BTreeMap::from([(var, later)]))?;
    let mut viewer = Viewer::new(b.func());
    let span = (&viewer.int(then) - &viewer.int(now)).as_const()?;
    (span > 0).then_some((then, span))
}

/// The place of what is read of a buffer at the beginning of the first loop that reads it.
fn first(b: &mut Builder, stmt: &Stmt, buf: BufId, known: &mut BTreeMap<VarId, ExprId>) -> Option<ExprId> {
    match stmt {
        Stmt::For { var, min, .. } => {
            let begin = substitution(known).expr(b, *min);
            known.insert(*var, begin);
        }
        Stmt::Let { var, value, .. } => {
            let value = substitution(known).expr(b, *value);
            known.insert(*var, value);
        }
        _ => {}
    }
    let read = own_accesses(b.func(), stmt).into_iter().find(|a| a.buf == buf && !a.write);
    if let Some(index) = read.and_then(|a| a.index) {
        let [at] = index[..] else { return None };
        let at = substitution(known).expr(b, at);
        return match *b.func().exprs.get(at) {
            _ if b.func().loads(at) => None,
            Expr::Ramp(base, ..) => Some(base),
            _ => (b.ty(at).lanes == 1).then_some(at),
        };
    }
    stmt.children().into_iter().find_map(|s| first(b, s, buf, known))
}

/// How often the innermost loops turn that read a buffer and are not written out; none where that is no number.
fn turns_inside(b: &Builder, stmt: &Stmt, buf: BufId) -> Option<i64> {
    match stmt {
        Stmt::For { extent, kind, body, .. } => {
            let inner = turns_inside(b, body, buf)?;
            let inner = if inner == 0 && stays(*kind) { i64::from(reads(b, body, buf)) } else { inner };
            if inner == 0 { Some(0) } else { b.func().literal(*extent)?.max(0).checked_mul(inner) }
        }
        Stmt::If { then, otherwise, .. } => {
            let otherwise = otherwise.as_ref().map_or(Some(0), |s| turns_inside(b, s, buf))?;
            Some(turns_inside(b, then, buf)?.max(otherwise))
        }
        other => other.children().into_iter().try_fold(0_i64, |n, s| n.checked_add(turns_inside(b, s, buf)?)),
    }
}

/// Whether loops of a kind are still loops when the code runs.
fn stays(kind: LoopKind) -> bool {
    matches!(kind, LoopKind::Serial | LoopKind::Reduction)
}

fn reads(b: &Builder, stmt: &Stmt, buf: BufId) -> bool {
    stmt.any(&mut |s| own_accesses(b.func(), s).iter().any(|a| a.buf == buf && !a.write))
}

/// What is asked for from where on, and how many elements in each turn of the innermost loops.
struct Next {
    buf: BufId,
    begin: ExprId,
    each: i64,
}

impl Next {
    /// The statement, before which so many turns have passed.
    fn placed(&self, b: &mut Builder, stmt: Stmt, mut done: ExprId) -> Stmt {
        match stmt {
            Stmt::For { var, min, extent, kind, annotations, mut body } => {
                let inner = turns_inside(b, &body, self.buf).unwrap_or(0);
                let leaf = inner == 0 && stays(kind) && reads(b, &body, self.buf);
                if leaf || inner > 0 {
                    let (i, inner) = (b.read(var), b.index(inner.max(1)));
                    let (i, before) = (b.sub(i, min), done);
                    let so_far = b.mul(i, inner);
                    done = b.add(before, so_far);
                    *body = if leaf { self.asked(b, *body, done) } else { self.placed(b, *body, done) };
                }
                Stmt::For { var, min, extent, kind, annotations, body }
            }
            Stmt::Seq(all) => Stmt::seq(
                all.into_iter()
                    .map(|s| {
                        let turns = turns_inside(b, &s, self.buf).unwrap_or(0);
                        let made = self.placed(b, s, done);
                        let turns = b.index(turns);
                        done = b.add(done, turns);
                        made
                    })
                    .collect::<Vec<_>>(),
            ),
            other => other.map_children(&mut |s| self.placed(b, s, done)),
        }
    }

    /// The body of an innermost loop behind what its turn asks for.
    fn asked(&self, b: &mut Builder, body: Stmt, done: ExprId) -> Stmt {
        let each = b.index(self.each);
        let offset = b.mul(done, each);
        let at = b.add(self.begin, offset);
        let asked = behind(b, self.buf, at, self.each);
        let asked = asked.into_iter().map(|at| Stmt::Prefetch { buf: self.buf, index: vec![at] });
        Stmt::seq(asked.chain([body]).collect::<Vec<_>>())
    }
}
