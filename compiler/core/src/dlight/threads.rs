//! Which loops of a scheduled kernel are offered to threads: the outermost ones of a kernel that has enough to do.
//!
//! What a kernel computes in which order is settled before; `ParallelizeLoops` proves later which of these loops are
//! independent, and takes the outermost that are. So every rule gains threads without knowing of them.

use std::collections::BTreeSet;

use tenfold_ir::tir::{Annotation, Builder, LoopKind, PrimFunc, Stmt};

use crate::target::Target;
use crate::work::{LEAST, Work};

/// The kernel with its outermost loops annotated. One that is small whatever is passed stays as it is.
pub(super) fn offered(func: PrimFunc, target: &Target) -> PrimFunc {
    let outside: BTreeSet<_> = func.vars.iter().map(|v| v.sym.clone()).collect();
    let cycles = Work::new(&func, target.vector_bytes(), outside).cycles(&func.body);
    if cycles.as_const().is_some_and(|cycles| cycles < LEAST) {
        return func;
    }
    let mut b = Builder::resume(func);
    let body = std::mem::replace(&mut b.func_mut().body, Stmt::nop());
    b.push(outermost(body));
    b.finish()
}

fn outermost(stmt: Stmt) -> Stmt {
    match stmt {
        // What is computed in registers that are matrices is one piece.
        Stmt::For { ref annotations, .. } if annotations.contains(&Annotation::MatrixTile) => stmt,
        Stmt::For { var, min, extent, kind: LoopKind::Serial, mut annotations, body } => {
            annotations.push(Annotation::AutoParallel);
            Stmt::For { var, min, extent, kind: LoopKind::Serial, annotations, body }
        }
        Stmt::For { .. } => stmt,
        other => other.map_children(&mut outermost),
    }
}
