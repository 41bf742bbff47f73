//! Writes values out where they are read, where that computes nothing twice that costs anything. (TVM: compute_inline.)

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::op::{BinaryOp, UnaryOp};
use tenfold_ir::tir::{BufId, Builder, Expr, ExprId, PrimFunc, Stmt, VarId, operands, substitution};

use crate::fuse::access::{Access, Axis, accesses, axes};
use crate::fuse::loops::redirected_loads;
use crate::fuse::pattern::{moves, of_bytes, whole_value, widens};
use crate::fuse::stage::{Stage, Staged};

/// Nodes that a value may have, counted as often as they are met, after it is written out.
const LARGEST: usize = 512;
/// Operations that are cheaper done again than kept.
const CHEAP: usize = 4;
/// Operations that dequantise a number of 4 or 8 bits: done again, they read a part of what keeping the result would.
const DEQUANTISED: usize = 12;

/// Inlines every buffer between stages that may be.
pub(super) fn inline(staged: &mut Staged) {
    for buf in staged.allocs.clone() {
        if let Some(writer) = inlined(staged, buf) {
            write_out(staged, buf, writer);
        }
    }
}

/// The stage whose value is written out where `buf` is read.
fn inlined(staged: &Staged, buf: BufId) -> Option<usize> {
    let func = staged.b.func();
    let touching = |s: &Stage| accesses(func, s).into_iter().filter(|a| a.buf == buf).collect::<Vec<_>>();
    let used: Vec<Vec<Access>> = staged.stages.iter().map(touching).collect();
    let mut writers = (0..used.len()).filter(|s| used[*s].iter().any(|a| a.write));
    let writer = writers.next().filter(|_| writers.next().is_none())?;
    let value = whole_value(func, &staged.stages[writer])?;
    let readers: Vec<usize> = (0..used.len()).filter(|s| *s != writer && !used[*s].is_empty()).collect();
    if readers.iter().any(|s| *s < writer || changed(func, staged, value, writer, *s)) {
        return None;
    }
    let reads: usize = readers.iter().map(|s| used[*s].len()).sum();
    let once = readers.iter().all(|s| reads_once(func, &staged.stages[*s], &used[*s]));
    let fits = readers.iter().all(|s| size(func, &staged.stages[*s]) + reads * tree(func, value) <= LARGEST);
    let dequantises = widens(func, value) || of_bytes(func, value);
    let cheap = cost(func, value) <= CHEAP || dequantises && of_elements(func, value) <= DEQUANTISED;
    let free = moves(func, value) || cheap || (reads == 1 && once);
    (free && fits).then_some(writer)
}

/// Whether something that the value reads is written between its stage and the reader, or by the reader.
fn changed(func: &PrimFunc, staged: &Staged, value: ExprId, writer: usize, reader: usize) -> bool {
    let sources: Vec<BufId> = crate::fuse::access::loads(func, [value]).iter().map(|a| a.buf).collect();
    let between = &staged.stages[writer + 1..=reader];
    between.iter().any(|s| accesses(func, s).iter().any(|a| a.write && sources.contains(&a.buf)))
}

/// Whether a stage reads each element at most once: every variable of it is in the index.
fn reads_once(func: &PrimFunc, stage: &Stage, reads: &[Access]) -> bool {
    let Stmt::Store { .. } = &stage.body else { return false };
    reads.iter().all(|a| {
        let all = axes(func, &a.index);
        let simple = |v: VarId| all.iter().any(|axis| matches!(axis, Axis::Iter(w, _) if *w == v));
        stage.iters.iter().all(|i| simple(i.var))
    })
}

/// Nodes of a value, counted as often as they are met.
fn tree(func: &PrimFunc, root: ExprId) -> usize {
    let mut sizes: BTreeMap<ExprId, usize> = BTreeMap::new();
    for id in func.reachable([root]) {
        let parts = operands(func.exprs.get(id));
        let size = parts.iter().fold(1_usize, |n, o| n.saturating_add(sizes.get(o).copied().unwrap_or(0)));
        sizes.insert(id, size);
    }
    sizes.get(&root).copied().unwrap_or(0)
}

fn size(func: &PrimFunc, stage: &Stage) -> usize {
    let mut total = 0_usize;
    stage.body.walk(&mut |s| s.exprs().into_iter().for_each(|e| total = total.saturating_add(tree(func, e))));
    total
}

/// What it costs to compute a value: arithmetic on elements, each node once.
fn cost(func: &PrimFunc, value: ExprId) -> usize {
    func.reachable([value]).into_iter().map(|id| weight(func.exprs.get(id))).sum()
}

/// The same without what indices cost.
fn of_elements(func: &PrimFunc, value: ExprId) -> usize {
    let (mut seen, mut open) = (BTreeSet::from([value]), vec![value]);
    while let Some(id) = open.pop() {
        let parts = match func.exprs.get(id) {
            Expr::Load { .. } => Vec::new(),
            expr => operands(expr),
        };
        open.extend(parts.into_iter().filter(|part| seen.insert(*part)));
    }
    seen.into_iter().map(|id| weight(func.exprs.get(id))).sum()
}

fn weight(expr: &Expr) -> usize {
    const DEAR: usize = CHEAP + 1;
    match expr {
        Expr::Const(_) | Expr::Index(_) | Expr::Var(_) | Expr::Broadcast(..) | Expr::Ramp(..) => 0,
        Expr::Cast(..) | Expr::Compare(..) | Expr::Select(..) | Expr::Shuffle(..) => 1,
        Expr::Load { .. } => 1,
        Expr::If(..) | Expr::Call(..) => DEAR,
        Expr::Unary(op, _) => match op {
            UnaryOp::Neg | UnaryOp::Not | UnaryOp::Abs | UnaryOp::Square => 1,
            _ => DEAR,
        },
        Expr::Binary(op, ..) => match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Min | BinaryOp::Max => 1,
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr => 1,
            BinaryOp::Div | BinaryOp::Rem | BinaryOp::DivEuclid | BinaryOp::RemEuclid => DEAR,
            BinaryOp::Pow | BinaryOp::Atan2 => DEAR,
        },
    }
}

/// Replaces every load of `buf` by the value of its stage, which goes.
fn write_out(staged: &mut Staged, buf: BufId, writer: usize) {
    let stage = staged.stages.remove(writer);
    let Stmt::Store { index, value, .. } = &stage.body else { return };
    let places: Vec<Option<VarId>> = axes(staged.b.func(), index)
        .into_iter()
        .map(|a| if let Axis::Iter(v, _) = a { Some(v) } else { None })
        .collect();
    let value = *value;
    let written = |b: &mut Builder, from: BufId, index: &[ExprId]| {
        if from != buf {
            return None;
        }
        let at: BTreeMap<VarId, ExprId> = places.iter().zip(index).filter_map(|(v, i)| Some(((*v)?, *i))).collect();
        Some(substitution(&at).expr(b, value))
    };
    for other in &mut staged.stages {
        let body = std::mem::replace(&mut other.body, Stmt::nop());
        other.body = redirected_loads(&mut staged.b, body, &written);
        other.init = other.init.take().map(|init| redirected_loads(&mut staged.b, init, &written));
    }
    staged.allocs.retain(|b| *b != buf);
}
