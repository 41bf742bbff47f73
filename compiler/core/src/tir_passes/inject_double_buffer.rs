//! `InjectDoubleBuffer`: what an iteration reads is written during the one before. (TVM: the pass of that name.)
//!
//! Runs on plain loops. Of a loop annotated `double_buffer(b)`, the statements that write `b` stand first in the body and
//! read nothing that the others write; `b` is used nowhere else. `b` gets room for two iterations: the first is filled
//! before the loop, and each iteration fills the room of the next one before it works on its own. What is computed never
//! changes. Barriers stay with the statements behind them.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::Module;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::tir::copy::copy;
use tenfold_ir::tir::{
    Annotation, BufId, Builder, Expr, ExprId, ExprMap, LoopKind, Phase, PrimFunc, Stmt, accesses, read, written,
};

use super::kernel::{Made, constant, refuse, try_body, try_children, with_alloc};
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("InjectDoubleBuffer", &inject_double_buffer)
    .in_phase(PassPhase::Flat)
    .about("writes what an iteration reads during the one before, in loops annotated for it");

fn inject_double_buffer(func: PrimFunc, _: &Module, _: &PassContext) -> Result<PrimFunc, CompileError> {
    try_body(func, stmt)
}

fn stmt(b: &mut Builder, it: Stmt) -> Made {
    let it = try_children(it, &mut |s| stmt(b, s))?;
    // The buffer is allocated around its loop: both are rewritten together.
    let Stmt::Alloc { buf, body } = it else { return Ok(it) };
    let marked = body.any(&mut |s| is_marked(s, buf));
    if !marked {
        return Ok(Stmt::Alloc { buf, body });
    }
    let mut uses = 0;
    let everywhere = accesses(b.func(), &body).into_iter().filter(|a| a.buf == buf).count();
    body.walk(&mut |s| {
        uses += if is_marked(s, buf) { accesses(b.func(), s).iter().filter(|a| a.buf == buf).count() } else { 0 }
    });
    if uses != everywhere {
        return Err(no(b, buf, "is used outside of its loop"));
    }
    let room = two_rooms(b, buf);
    let body = inside(b, *body, buf, room)?;
    Ok(with_alloc(room, body))
}

fn no(b: &Builder, buf: BufId, why: &str) -> CompileError {
    let help = "let the loop's first statements write the buffer, and the others read it";
    refuse(b.func(), format!("`{}` cannot be double buffered: it {why}", b.buf(buf).name), help)
}

fn is_marked(stmt: &Stmt, buf: BufId) -> bool {
    matches!(stmt, Stmt::For { annotations, .. } if annotations.contains(&Annotation::DoubleBuffer(buf)))
}

/// The same buffer twice: along an axis of its own, or behind one another where there is one axis alone.
fn two_rooms(b: &mut Builder, buf: BufId) -> BufId {
    let data = b.buf(buf).clone();
    let two = IntExpr::from(2);
    let shape = match b.func().phase {
        Phase::Flat | Phase::Target => vec![data.shape.iter().fold(two, |n, d| &n * d)],
        Phase::Blocks | Phase::Scheduled => std::iter::once(two).chain(data.shape.clone()).collect(),
    };
    let room = b.buffer(&data.name, data.dtype, shape, data.scope);
    b.buf_mut(room).range = data.range;
    room
}

fn inside(b: &mut Builder, stmt: Stmt, buf: BufId, room: BufId) -> Made {
    if !is_marked(&stmt, buf) {
        return try_children(stmt, &mut |s| inside(b, s, buf, room));
    }
    let Stmt::For { var, min, extent, kind, mut annotations, body } = stmt else { return Ok(stmt) };
    if !matches!(kind, LoopKind::Serial | LoopKind::Unrolled) {
        return Err(no(b, buf, "is filled in a loop that is not serial"));
    }
    annotations.retain(|a| *a != Annotation::DoubleBuffer(buf));
    let (fill, work) = parts(b, *body, buf)?;
    let (i, one) = (b.read(var), b.index(1));
    let next = b.add(i, one);
    let end = if constant(b.func(), min) == Some(0) { extent } else { b.add(min, extent) };
    let first = copy(b, &fill, &BTreeMap::from([(var, min)]));
    let first = in_room(b, first, (buf, room), (min, min));
    let ahead = copy(b, &fill, &BTreeMap::from([(var, next)]));
    let ahead = in_room(b, ahead, (buf, room), (next, min));
    let work = in_room(b, work, (buf, room), (i, min));
    let more = b.compare(CmpOp::Lt, next, end);
    let ahead = Stmt::If { cond: more, then: Box::new(ahead), otherwise: None };
    let body = Box::new(Stmt::seq([ahead, work]));
    let rest = Stmt::For { var, min, extent, kind, annotations, body };
    let zero = b.index(0);
    let first = match constant(b.func(), extent) {
        Some(n) if n > 0 => first,
        Some(_) | None => {
            let any = b.compare(CmpOp::Gt, extent, zero);
            Stmt::If { cond: any, then: Box::new(first), otherwise: None }
        }
    };
    Ok(Stmt::seq([first, rest]))
}

/// The statements that fill the buffer, and those that work on it.
fn parts(b: &Builder, body: Stmt, buf: BufId) -> Result<(Stmt, Stmt), CompileError> {
    let Stmt::Seq(all) = body else { return Err(no(b, buf, "is filled and read by one statement")) };
    let fills = |s: &Stmt| written(b.func(), s).contains(&buf);
    let count = all.iter().take_while(|s| fills(s)).count();
    let (fill, work) = all.split_at(count);
    let (fill, work) = (Stmt::Seq(fill.to_vec()), Stmt::Seq(work.to_vec()));
    let out = written(b.func(), &fill);
    let others: BTreeSet<BufId> = written(b.func(), &work);
    if count == 0 || fills(&work) {
        return Err(no(b, buf, "is not written by the first statements alone"));
    }
    if out.len() != 1 || !read(b.func(), &fill).is_disjoint(&others) || read(b.func(), &fill).contains(&buf) {
        return Err(no(b, buf, "is filled by what depends on the rest of the loop"));
    }
    if fill.any(&mut |s| matches!(s, Stmt::Barrier(_) | Stmt::Let { .. } | Stmt::Call { .. })) {
        return Err(no(b, buf, "is filled by more than stores"));
    }
    Ok((fill, work))
}

/// Accesses of the buffer in the room of an iteration.
fn in_room(b: &mut Builder, stmt: Stmt, (buf, room): (BufId, BufId), (at, min): (ExprId, ExprId)) -> Stmt {
    let two = b.index(2);
    let from = if constant(b.func(), min) == Some(0) { at } else { b.sub(at, min) };
    let which = match constant(b.func(), from) {
        Some(n) => b.index(n.rem_euclid(2)),
        None => b.binary(BinaryOp::RemEuclid, from, two),
    };
    let flat = b.func().phase >= Phase::Flat;
    let size = b.buf(buf).shape.iter().fold(IntExpr::from(1), |n, d| &n * d);
    let moved = move |b: &mut Builder, index: Vec<ExprId>| {
        if !flat {
            return std::iter::once(which).chain(index).collect::<Vec<_>>();
        }
        let size = b.int_expr(&size);
        let begin = b.mul(which, size);
        index.into_iter().map(|i| b.add(begin, i)).collect()
    };
    let shift = moved.clone();
    let mut map = ExprMap::new(|b: &mut Builder, id| match b.func().exprs.get(id).clone() {
        Expr::Load { buf: from, index, access } if from == buf => {
            let index = shift(b, index);
            let ty = b.ty(id);
            b.raw(Expr::Load { buf: room, index, access }, ty)
        }
        _ => id,
    });
    let stmt = map.stmt(b, stmt);
    stmt.map(&mut |s| match s {
        Stmt::Store { buf: to, index, value, access } if to == buf => {
            Stmt::Store { buf: room, index: moved(b, index), value, access }
        }
        Stmt::Prefetch { buf: to, index } if to == buf => Stmt::Prefetch { buf: room, index: moved(b, index) },
        other => other,
    })
}
