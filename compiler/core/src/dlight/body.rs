//! What an instance of a stage does: scalars, statements before a nest of loops, and what is done behind it.

use tenfold_ir::tir::{BufId, Expr, ExprId, LoopKind, PrimFunc, Scope, Stmt, VarId};

/// Statements in their order, and the scalars that are allocated around them.
pub(super) fn flat(func: &PrimFunc, stmt: &Stmt, locals: &mut Vec<BufId>, all: &mut Vec<Stmt>) -> Option<()> {
    match stmt {
        Stmt::Seq(inner) => inner.iter().try_for_each(|s| flat(func, s, locals, all)),
        Stmt::At(_, body) => flat(func, body, locals, all),
        Stmt::Alloc { buf, body } => {
            let data = &func.buffers[buf.0 as usize];
            locals.push((data.scope == Scope::Local && data.shape.is_empty()).then_some(*buf)?);
            flat(func, body, locals, all)
        }
        other => {
            all.push(other.clone());
            Some(())
        }
    }
}

/// Loops of a kind of which each is all that the one before it holds, and what the last one holds.
pub(super) fn nest(func: &PrimFunc, wanted: LoopKind, mut stmt: Stmt) -> Option<(Vec<(VarId, ExprId)>, Stmt)> {
    let mut loops = Vec::new();
    loop {
        match stmt {
            Stmt::For { var, min, extent, kind, annotations, body } if kind == wanted => {
                if *func.exprs.get(min) != Expr::Index(0) || !annotations.is_empty() {
                    return None;
                }
                loops.push((var, extent));
                stmt = *body;
            }
            Stmt::At(_, body) => stmt = *body,
            other => return Some((loops, other)),
        }
    }
}
