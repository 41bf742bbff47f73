//! `InjectPrefetch`: elements are asked for before they are read. (TVM: the pass of that name.)
//!
//! Runs on plain loops. In a loop annotated `prefetch(b, n)` each iteration begins by asking for the elements of `b` that
//! are read `n` iterations later, of a vector for one in each cache line, and for each of them once. What inner loops
//! read is asked for in them, unless they are written out. In a loop annotated `prefetch_next(b, n)` inner loops ask bit by
//! bit for what is read `n` iterations later: for as many elements, from the first one on, as lie between that one and the
//! first one of now. Elements whose index itself reads memory are left alone, since that might lie outside. Nothing else
//! changes.

mod next;

use std::collections::BTreeMap;

use tenfold_ir::Module;
use tenfold_ir::tir::copy::substitute;
use tenfold_ir::tir::{
    Annotation, BufId, Builder, Expr, ExprId, LoopKind, PrimFunc, Stmt, VarId, own_accesses, substitution,
};

use super::rewrite_body;
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("InjectPrefetch", &inject_prefetch)
    .in_phase(PassPhase::Flat)
    .about("asks for elements some iterations before they are read, in loops annotated for it");

/// Bytes that come together.
const LINE: i64 = 64;

fn inject_prefetch(func: PrimFunc, _: &Module, _: &PassContext) -> Result<PrimFunc, CompileError> {
    Ok(rewrite_body(func, stmt))
}

fn stmt(b: &mut Builder, it: Stmt) -> Stmt {
    let it = it.map_children(&mut |s| stmt(b, s));
    let Stmt::For { var, min, extent, kind, annotations, mut body } = it else { return it };
    let mut others = Vec::new();
    for annotation in annotations {
        match annotation {
            Annotation::Prefetch { buf, ahead } => {
                let step = b.index(ahead);
                let i = b.read(var);
                let wanted = Wanted { buf, later: BTreeMap::from([(var, b.add(i, step))]) };
                *body = wanted.settled(b, *body);
            }
            Annotation::PrefetchNext { buf, turns } => *body = next::spread(b, (var, min), *body, (buf, turns)),
            other => others.push(other),
        }
    }
    Stmt::For { var, min, extent, kind, annotations: others, body }
}

/// A statement behind what is asked for in it: the elements of a buffer that it reads where a variable is another one.
pub(super) fn asked(b: &mut Builder, stmt: Stmt, buf: BufId, (var, later): (VarId, ExprId)) -> Stmt {
    Wanted { buf, later: BTreeMap::from([(var, later)]) }.settled(b, stmt)
}

/// What is asked for: a buffer, and for which iteration.
struct Wanted {
    buf: BufId,
    later: BTreeMap<VarId, ExprId>,
}

impl Wanted {
    /// The statement behind what is asked for in it.
    fn settled(&self, b: &mut Builder, stmt: Stmt) -> Stmt {
        let mut asked = Vec::new();
        let stmt = self.ahead_of(b, stmt, &mut asked);
        Stmt::seq(asked.into_iter().chain([stmt]))
    }

    /// The statement, and what it wants to be asked for before it.
    fn ahead_of(&self, b: &mut Builder, stmt: Stmt, asked: &mut Vec<Stmt>) -> Stmt {
        match stmt {
            Stmt::Block(_) | Stmt::While { .. } => return stmt,
            _ => self.own(b, &stmt, asked),
        }
        match stmt {
            Stmt::For { var, min, extent, kind: LoopKind::Unrolled, annotations, body } => {
                let mut inside = Vec::new();
                let body = Box::new(self.ahead_of(b, *body, &mut inside));
                out_of(b, (var, min, extent), inside).into_iter().for_each(|one| add(asked, one));
                Stmt::For { var, min, extent, kind: LoopKind::Unrolled, annotations, body }
            }
            Stmt::Seq(_) | Stmt::At(..) => stmt.map_children(&mut |s| self.ahead_of(b, s, asked)),
            // Indices may speak of what these bind.
            other => other.map_children(&mut |s| self.settled(b, s)),
        }
    }

    /// What a statement itself reads.
    fn own(&self, b: &mut Builder, stmt: &Stmt, asked: &mut Vec<Stmt>) {
        let reads = own_accesses(b.func(), stmt).into_iter().filter(|a| a.buf == self.buf && !a.write);
        for index in reads.filter_map(|a| a.index).collect::<Vec<_>>() {
            if index.iter().any(|i| b.func().loads(*i)) {
                continue;
            }
            let moved = substitution(&self.later).exprs(b, &index);
            // What does not move with the loop is there already.
            for index in if moved == index { Vec::new() } else { lines(b, self.buf, moved) } {
                add(asked, Stmt::Prefetch { buf: self.buf, index });
            }
        }
    }
}

fn add(asked: &mut Vec<Stmt>, one: Stmt) {
    if !asked.contains(&one) {
        asked.push(one);
    }
}

/// What is asked for in a loop that is written out, before it: once what does not move with it, the rest in a loop of its
/// own.
fn out_of(b: &mut Builder, (var, min, extent): (VarId, ExprId, ExprId), inside: Vec<Stmt>) -> Vec<Stmt> {
    let moves = |s: &Stmt| b.func().exprs_in(s).into_iter().any(|e| *b.func().exprs.get(e) == Expr::Var(var));
    let (moving, mut all): (Vec<Stmt>, Vec<Stmt>) = inside.into_iter().partition(moves);
    if !moving.is_empty() {
        let own = b.index_var("ahead");
        let read = b.read(own);
        let body = substitute(b, Stmt::seq(moving), &BTreeMap::from([(var, read)]));
        let kind = LoopKind::Unrolled;
        all.push(Stmt::For { var: own, min, extent, kind, annotations: Vec::new(), body: Box::new(body) });
    }
    all
}

/// The first element of each cache line of what an index names; nothing of what is scattered.
fn lines(b: &mut Builder, buf: BufId, index: Vec<ExprId>) -> Vec<Vec<ExprId>> {
    let [at] = index[..] else { return vec![index] };
    let (base, lanes) = match *b.func().exprs.get(at) {
        Expr::Ramp(base, stride, lanes) if b.func().literal(stride) == Some(1) => (base, i64::from(lanes)),
        _ if b.ty(at).lanes == 1 => return vec![index],
        _ => return Vec::new(),
    };
    behind(b, buf, base, lanes).into_iter().map(|at| vec![at]).collect()
}

/// An element, and those behind it that begin another cache line, of so many elements.
fn behind(b: &mut Builder, buf: BufId, base: ExprId, elements: i64) -> Vec<ExprId> {
    let step = (LINE / b.buf(buf).dtype.size_bytes() as i64).max(1);
    let at = |n: i64| {
        let n = b.index(n);
        b.add(base, n)
    };
    std::iter::once(base).chain((step..elements).step_by(step as usize).map(at)).collect()
}
