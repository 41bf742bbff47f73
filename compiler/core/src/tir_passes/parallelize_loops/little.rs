//! What little there is to do behind a parallel loop is done in its turns: zeros around an image, which the next kernel
//! reads line by line, then come from the thread that reads them, and no thread waits meanwhile.

use std::collections::BTreeSet;

use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::tir::{Annotation, BufId, Builder, ExprId, LoopKind, PrimFunc, Scope, Stmt, Viewer, written};

use crate::tir_passes::rewrite_body;
use crate::tir_passes::vectorize_loop::dependence;
use crate::work::{LEAST, Work};

/// The function with little loops taken into the parallel ones before them, where neither touches what the other does.
pub(super) fn taken_in(func: PrimFunc, vector_bytes: u32) -> PrimFunc {
    rewrite_body(func, |b, body| everywhere(b, body, vector_bytes))
}

fn everywhere(b: &mut Builder, stmt: Stmt, vector_bytes: u32) -> Stmt {
    match stmt.map_children(&mut |s| everywhere(b, s, vector_bytes)) {
        Stmt::Seq(all) => Stmt::Seq(behind(b, all, vector_bytes)),
        other => other,
    }
}

/// Statements of a sequence, those that fit taken into the parallel loop before them.
fn behind(b: &mut Builder, all: Vec<Stmt>, vector_bytes: u32) -> Vec<Stmt> {
    let mut kept: Vec<Stmt> = Vec::new();
    let mut little: Vec<Stmt> = Vec::new();
    for stmt in all {
        let head = kept.last().filter(|head| is_little(b.func(), &stmt, vector_bytes) && takes(b.func(), head));
        if head.is_some_and(|head| little.iter().chain([head]).all(|other| disjoint(b.func(), other, &stmt))) {
            little.push(stmt);
            continue;
        }
        if let Some(head) = kept.pop() {
            kept.push(with(b, head, std::mem::take(&mut little)));
        }
        kept.push(stmt);
    }
    if let Some(head) = kept.pop() {
        kept.push(with(b, head, little));
    }
    kept
}

/// Whether a statement is a parallel loop whose turns threads share, and which has a first turn.
fn takes(func: &PrimFunc, stmt: &Stmt) -> bool {
    let shared = |s: &Stmt| matches!(s, Stmt::For { annotations, .. } if annotations.contains(&Annotation::Shared));
    let Stmt::For { kind: LoopKind::Parallel, extent, .. } = stmt else { return false };
    let mut viewer = Viewer::new(func);
    let turns = viewer.int(*extent);
    viewer.prover.prove_ge0(&(&turns - 1)) && !stmt.any(&mut |s| shared(s))
}

/// Whether a statement is a loop with too little to do for threads, which may run on any: it checks and calls nothing, and
/// writes to no memory that one thread has.
fn is_little(func: &PrimFunc, stmt: &Stmt, vector_bytes: u32) -> bool {
    let Stmt::For { kind: LoopKind::Serial, annotations, .. } = stmt else { return false };
    let bound = |s: &Stmt| matches!(s, Stmt::Assert { .. } | Stmt::Call { .. } | Stmt::Barrier(_));
    let shared = |buf: &BufId| matches!(func.buffers[buf.0 as usize].scope, Scope::Param | Scope::Workspace);
    if !annotations.is_empty() || stmt.any(&mut |s| bound(s)) || !written(func, stmt).iter().all(shared) {
        return false;
    }
    let cycles = Work::new(func, vector_bytes, BTreeSet::new()).cycles(stmt);
    cycles.as_const().is_some_and(|cycles| cycles < LEAST)
}

/// Whether neither of two statements touches what the other one writes: as turns of a loop of two they are independent.
fn disjoint(func: &PrimFunc, one: &Stmt, other: &Stmt) -> bool {
    let mut b = Builder::resume(PrimFunc { body: Stmt::nop(), ..func.clone() });
    let which = b.index_var("which");
    let (first, turns) = (b.index(0), b.index(2));
    let of = |b: &mut Builder, n: i64, stmt: &Stmt| {
        let (at, n) = (b.read(which), b.index(n));
        let cond = b.compare(CmpOp::Eq, at, n);
        Stmt::If { cond, then: Box::new(stmt.clone()), otherwise: None }
    };
    let body = Box::new(Stmt::Seq(vec![of(&mut b, 0, one), of(&mut b, 1, other)]));
    let kind = LoopKind::Serial;
    let both = Stmt::For { var: which, min: first, extent: turns, kind, annotations: Vec::new(), body };
    dependence(&mut Viewer::new(&b.finish()), &both).is_none()
}

/// A parallel loop that does little loops besides.
fn with(b: &mut Builder, head: Stmt, little: Vec<Stmt>) -> Stmt {
    let Stmt::For { var, min, extent, kind, annotations, body } = head else { return head };
    if little.is_empty() {
        return Stmt::For { var, min, extent, kind, annotations, body };
    }
    let turns = Viewer::new(b.func()).int(extent).as_const();
    let first = b.read(var);
    let turn = if b.func().literal(min) == Some(0) { first } else { b.sub(first, min) };
    let mut all = vec![*body];
    all.extend(little.into_iter().map(|it| in_turns(b, it, turn, turns)));
    Stmt::For { var, min, extent, kind, annotations, body: Box::new(Stmt::Seq(all)) }
}

/// A loop as a part of another one's turns: a turn of it every so many, if they are a multiple, so that who goes over
/// some lines does this for the same ones; else all of it in the first turn.
fn in_turns(b: &mut Builder, it: Stmt, turn: ExprId, turns: Option<i64>) -> Stmt {
    let zero = b.index(0);
    let Stmt::For { var, min, extent, body, .. } = &it else { return it };
    let each =
        b.func().literal(*extent).filter(|n| *n > 0).and_then(|n| turns.filter(|all| all % n == 0).map(|all| all / n));
    let independent = dependence(&mut Viewer::new(b.func()), &it).is_none();
    let Some(each) = each.filter(|_| independent) else {
        let cond = b.compare(CmpOp::Eq, turn, zero);
        return Stmt::If { cond, then: Box::new(it), otherwise: None };
    };
    let each = b.index(each);
    let (line, part) = (b.binary(BinaryOp::DivEuclid, turn, each), b.binary(BinaryOp::RemEuclid, turn, each));
    let value = if b.func().literal(*min) == Some(0) { line } else { b.add(*min, line) };
    let then = Box::new(Stmt::Let { var: *var, value, body: body.clone() });
    let cond = b.compare(CmpOp::Eq, part, zero);
    Stmt::If { cond, then, otherwise: None }
}
