//! Whether a block writes a rectangle without holes.

use tenfold_ir::arith::{IntExpr, Range, Sym, View};
use tenfold_ir::tir::{Block, BufId, Stmt};

use super::region::binding;
use crate::schedule::edit::State;
use crate::schedule::inline::whole_index;
use crate::schedule::motion::{conjuncts, in_range};
use crate::schedule::tree;

type Loops = Vec<(Sym, Range)>;

/// The loops on the way from `stmt` to a block.
fn inner_loops(state: &State<'_>, stmt: &Stmt, found: &impl Fn(&Stmt) -> bool) -> Option<Loops> {
    let path = tree::path(stmt, found)?;
    let mut all = Vec::new();
    for s in path {
        match s {
            Stmt::For { var, min, extent, .. } => {
                all.push((state.b.sym(*var).clone(), Range::new(state.int(*min), state.int(*extent))));
            }
            // Not every turn may get there.
            Stmt::If { .. } | Stmt::While { .. } => return None,
            Stmt::Seq(_)
            | Stmt::Let { .. }
            | Stmt::Alloc { .. }
            | Stmt::Store { .. }
            | Stmt::Block(_)
            | Stmt::Evaluate(_)
            | Stmt::Call { .. }
            | Stmt::Barrier(_)
            | Stmt::Assert { .. }
            | Stmt::Prefetch { .. }
            | Stmt::At(..) => {}
        }
    }
    Some(all)
}

/// Whether what a block inside `stmt` stores into `buf` is, over the loops in between, a rectangle without holes.
pub(in crate::schedule) fn fills_box(state: &State<'_>, stmt: &Stmt, block: &Block, buf: BufId) -> bool {
    let store = |s: &Stmt| matches!(s, Stmt::Store { buf: b, .. } if *b == buf);
    let guards = block.predicate.map(|p| conjuncts(state, p)).unwrap_or_default();
    if !guards.into_iter().all(|g| ranged(state, block, g)) {
        return false;
    }
    let outer = inner_loops(state, stmt, &tree::is_block(&block.name));
    let (Some(mut loops), Some(inner)) = (outer, inner_loops(state, &block.body, &store)) else { return false };
    loops.extend(inner);
    let Some(path) = tree::path(&block.body, &store) else { return false };
    let Some(Stmt::Store { index, .. }) = path.last() else { return false };
    // What guards cut off must lie outside of the buffer, where the reader does not look either.
    if block.predicate.is_some() && whole_index(state, block, buf, index).is_err() {
        return false;
    }
    let map = binding(state, block);
    let index: Vec<IntExpr> = index.iter().map(|e| state.int(*e).substitute(&|s: &Sym| map.get(s).cloned())).collect();
    let names = |e: &IntExpr, sym: &Sym| e.vars().contains(sym);
    let apart = loops.iter().all(|(sym, _)| index.iter().filter(|e| names(e, sym)).count() <= 1);
    apart && index.iter().all(|e| dense(e, &loops))
}

/// A guard that only keeps an iterator inside of its range, by its value or by the iterator itself.
fn ranged(state: &State<'_>, block: &Block, guard: tenfold_ir::tir::ExprId) -> bool {
    let mut copy = state.clone();
    let by_iter = crate::schedule::motion::over_iters(&mut copy, block, guard);
    in_range(&copy, block, by_iter)
}

/// Whether a sum takes every value between its least and its greatest.
fn dense(e: &IntExpr, loops: &Loops) -> bool {
    let terms = match e.view() {
        View::Add(all) => all,
        _ => vec![e.clone()],
    };
    let mut steps: Vec<(i64, IntExpr)> = Vec::new();
    for term in terms {
        let Some((sym, range)) = loops.iter().find(|(sym, _)| term.vars().contains(sym)) else { continue };
        let step = &term.substitute(&|s: &Sym| (s == sym).then(|| IntExpr::from(1)));
        let linear = term == step * &IntExpr::var(sym.clone());
        match step.as_const().and_then(i64::checked_abs) {
            Some(step) if linear && !loops.iter().any(|(s, _)| range.extent.vars().contains(s)) => {
                steps.push((step, range.extent.clone()));
            }
            _ => return false,
        }
    }
    steps.sort_by_key(|(step, _)| *step);
    let mut room = IntExpr::from(1);
    for (step, extent) in steps {
        match (&room - step).as_const() {
            Some(n) if n >= 0 => room = room + (extent - 1) * step,
            _ => return false,
        }
    }
    true
}
