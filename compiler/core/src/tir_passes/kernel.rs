//! What the passes over GPU kernels share. A kernel is a loop bound to a thread axis that stands in no other one.

use std::collections::BTreeSet;

use tenfold_ir::tir::{
    Block, BufId, Builder, Expr, ExprId, LoopKind, Param, PrimFunc, Scope, Stmt, ThreadAxis, VarId, expr_vars,
};

use crate::{CompileError, ErrorKind};

/// Whether a loop runs over a thread axis.
pub(super) fn is_bound(kind: LoopKind) -> bool {
    matches!(kind, LoopKind::ThreadBound(_))
}

/// Whether a loop runs over the threads of a block.
pub(super) fn is_thread(kind: LoopKind) -> bool {
    matches!(kind, LoopKind::ThreadBound(ThreadAxis::Thread(_)))
}

/// Whether the threads of a block have one of a buffer.
pub(super) fn is_shared(scope: Scope) -> bool {
    matches!(scope, Scope::Shared | Scope::SharedDyn | Scope::Warp)
}

/// Every kernel of a statement replaced.
pub(super) fn each_kernel(stmt: Stmt, f: &mut impl FnMut(Stmt) -> Result<Stmt, CompileError>) -> Made {
    match &stmt {
        Stmt::For { kind, .. } if is_bound(*kind) => f(stmt),
        _ => try_children(stmt, &mut |s| each_kernel(s, f)),
    }
}

/// What a rewrite makes, or why it cannot.
pub(super) type Made = Result<Stmt, CompileError>;

/// [`Stmt::map_children`] with a function that may fail.
pub(super) fn try_children(stmt: Stmt, f: &mut impl FnMut(Stmt) -> Made) -> Made {
    let mut error = None;
    let stmt = stmt.map_children(&mut |s| match &error {
        Some(_) => s,
        None => f(s).unwrap_or_else(|e| {
            error = Some(e);
            Stmt::nop()
        }),
    });
    error.map_or(Ok(stmt), Err)
}

/// The body of a function rewritten by what may fail.
pub(super) fn try_body(func: PrimFunc, f: impl FnOnce(&mut Builder, Stmt) -> Made) -> Result<PrimFunc, CompileError> {
    let mut b = Builder::resume(func);
    let body = std::mem::replace(&mut b.func_mut().body, Stmt::nop());
    let body = f(&mut b, body)?;
    b.push(body);
    Ok(b.finish())
}

/// Why a function cannot be compiled for threads.
pub(super) fn refuse(func: &PrimFunc, message: impl Into<String>, help: &str) -> CompileError {
    let message = format!("`{}`: {}", func.name, message.into());
    CompileError { kind: ErrorKind::Schedule, loc: func.loc, message, help: Some(help.into()) }
}

/// Whether an expression is the same for all threads that differ in `varying`: it names none of them, and reads no memory.
pub(super) fn is_uniform(func: &PrimFunc, e: ExprId, varying: &BTreeSet<VarId>) -> bool {
    !func.loads(e) && expr_vars(func, e).is_disjoint(varying)
}

/// A constant extent.
pub(super) fn constant(func: &PrimFunc, e: ExprId) -> Option<i64> {
    match func.exprs.get(e) {
        Expr::Index(n) => Some(*n),
        _ => None,
    }
}

/// Where neighbours begin that an index names, and how many they are.
pub(super) fn run(func: &PrimFunc, at: ExprId) -> Option<(ExprId, i64)> {
    match *func.exprs.get(at) {
        Expr::Ramp(base, stride, lanes) if func.literal(stride) == Some(1) => Some((base, i64::from(lanes))),
        _ => (func.exprs.ty(at).lanes == 1).then_some((at, 1)),
    }
}

/// Whether a buffer is a parameter.
pub(super) fn is_parameter(func: &PrimFunc, buf: BufId) -> bool {
    func.params.iter().any(|p| matches!(p, Param::Buffer(of, _) if *of == buf))
}

/// The block that a statement is, behind places in the source.
pub(super) fn block_of(stmt: &Stmt) -> Option<&Block> {
    match stmt.bare() {
        Stmt::Block(block) => Some(block),
        _ => None,
    }
}

/// A buffer around a statement.
pub(super) fn with_alloc(buf: BufId, body: Stmt) -> Stmt {
    Stmt::Alloc { buf, body: Box::new(body) }
}

/// A sum of what need not be written out: nothing makes it shorter behind this.
pub(super) fn plus(b: &mut Builder, one: ExprId, other: ExprId) -> ExprId {
    match [one, other].map(|e| b.func().literal(e)) {
        [Some(0), _] => other,
        [_, Some(0)] => one,
        [Some(x), Some(y)] => b.index(x + y),
        _ => b.add(one, other),
    }
}
