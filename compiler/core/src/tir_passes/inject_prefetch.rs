//! `InjectPrefetch`: elements are asked for some iterations before they are read. (TVM: the pass of that name.)
//!
//! Runs on plain loops. In a loop annotated `prefetch(b, n)`, every statement that reads `b` gets a `prefetch` before it
//! of the element that it will read `n` iterations later, or, of a vector, one in each cache line; what several
//! statements will read is asked for once. Elements whose index itself reads memory are left alone, since that might lie
//! outside. Nothing else changes.

use std::collections::BTreeMap;

use tenfold_ir::Module;
use tenfold_ir::tir::{Annotation, BufId, Builder, Expr, ExprId, PrimFunc, Stmt, VarId, own_accesses, substitution};

use super::kernel::{Made, try_body, try_children};
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("InjectPrefetch", &inject_prefetch)
    .in_phase(PassPhase::Flat)
    .about("asks for elements some iterations before they are read, in loops annotated for it");

fn inject_prefetch(func: PrimFunc, _: &Module, _: &PassContext) -> Result<PrimFunc, CompileError> {
    try_body(func, stmt)
}

fn stmt(b: &mut Builder, it: Stmt) -> Made {
    let it = try_children(it, &mut |s| stmt(b, s))?;
    let Stmt::For { var, min, extent, kind, annotations, mut body } = it else { return Ok(it) };
    let (wanted, annotations): (Vec<_>, Vec<_>) =
        annotations.into_iter().partition(|a| matches!(a, Annotation::Prefetch { .. }));
    for one in wanted {
        if let Annotation::Prefetch { buf, ahead } = one {
            let step = b.index(ahead);
            let (i, mut ids) = (b.read(var), BTreeMap::new());
            ids.insert(var, b.add(i, step));
            *body = ahead_of(b, *body, buf, &ids, &mut Vec::new());
        }
    }
    Ok(Stmt::For { var, min, extent, kind, annotations, body })
}

/// The statement with what is asked for before each one inside that reads the buffer, once in the whole body.
fn ahead_of(b: &mut Builder, stmt: Stmt, buf: BufId, later: &BTreeMap<VarId, ExprId>, known: &mut Vec<Stmt>) -> Stmt {
    let stmt = stmt.map_children(&mut |s| ahead_of(b, s, buf, later, known));
    if matches!(stmt, Stmt::Prefetch { .. } | Stmt::Block(_) | Stmt::While { .. }) {
        return stmt;
    }
    let reads = own_accesses(b.func(), &stmt).into_iter().filter(|a| a.buf == buf && !a.write);
    let mut asked: Vec<Stmt> = Vec::new();
    for index in reads.filter_map(|a| a.index).collect::<Vec<_>>() {
        if index.iter().any(|i| b.func().loads(*i)) {
            continue;
        }
        let moved = substitution(later).exprs(b, &index);
        // What does not move with the loop is there already.
        for index in if moved == index { Vec::new() } else { lines(b, buf, moved) } {
            let one = Stmt::Prefetch { buf, index };
            if !known.contains(&one) {
                known.push(one.clone());
                asked.push(one);
            }
        }
    }
    Stmt::seq(asked.into_iter().chain([stmt]))
}

/// The first element of each cache line of what an index names; nothing of what is scattered.
fn lines(b: &mut Builder, buf: BufId, index: Vec<ExprId>) -> Vec<Vec<ExprId>> {
    const LINE: i64 = 64;
    let [at] = index[..] else { return vec![index] };
    let (base, lanes) = match *b.func().exprs.get(at) {
        Expr::Ramp(base, stride, lanes) if b.func().literal(stride) == Some(1) => (base, i64::from(lanes)),
        _ if b.ty(at).lanes == 1 => return vec![index],
        _ => return Vec::new(),
    };
    let step = (LINE / b.buf(buf).dtype.size_bytes() as i64).max(1);
    let behind = |n: i64| {
        let n = b.index(n);
        vec![b.add(base, n)]
    };
    std::iter::once(vec![base]).chain((step..lanes).step_by(step as usize).map(behind)).collect()
}
