//! `FlattenBuffers`: buffers become one-dimensional, and accesses have one index. (TVM: FlattenBuffer.)

use tenfold_ir::Module;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::tir::{BufId, BufferData, Builder, Expr, ExprId, ExprMap, Phase, PrimFunc, Stmt};

use super::each_prim;
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("FlattenBuffers", &flatten_buffers)
    .in_phase(PassPhase::Flat)
    .lowering()
    .about("gives every access one index");

/// Runs on every prim-func.
pub(crate) fn flatten_buffers(module: &mut Module, _: &PassContext) -> Result<(), CompileError> {
    each_prim(module, |mut func| {
        let strides: Vec<Vec<IntExpr>> = func.buffers.iter().map(strides_of).collect();
        let body = std::mem::replace(&mut func.body, Stmt::Seq(Vec::new()));
        let mut b = Builder::resume(func);
        let mut loads = ExprMap::new(|b: &mut Builder, id: ExprId| match b.func().exprs.get(id).clone() {
            Expr::Load { buf, index, access } => {
                let flat = flat_index(b, &strides, buf, &index);
                let ty = b.ty(id);
                b.raw(Expr::Load { buf, index: vec![flat], access }, ty)
            }
            _ => id,
        });
        let body = loads.stmt(&mut b, body);
        let body = stores(&mut b, &strides, body);
        b.push(body);
        let mut func = b.finish();
        for buffer in &mut func.buffers {
            let size = buffer.shape.iter().fold(IntExpr::from(1), |n, d| &n * d);
            buffer.shape = vec![size];
        }
        PrimFunc { phase: Phase::Flat, ..func }
    });
    Ok(())
}

/// Distance per axis in elements.
fn strides_of(buffer: &BufferData) -> Vec<IntExpr> {
    if let Some(strides) = &buffer.strides {
        return strides.clone();
    }
    let mut strides = vec![IntExpr::from(1); buffer.shape.len()];
    for axis in (1..buffer.shape.len()).rev() {
        strides[axis - 1] = &strides[axis] * &buffer.shape[axis];
    }
    strides
}

fn flat_index(b: &mut Builder, strides: &[Vec<IntExpr>], buf: BufId, index: &[ExprId]) -> ExprId {
    let mut flat = None;
    for (i, stride) in index.iter().zip(&strides[buf.0 as usize]) {
        let i = b.to_index(*i);
        let term = if stride.as_const() == Some(1) {
            i
        } else {
            let stride = b.int_expr(stride);
            b.mul(i, stride)
        };
        flat = Some(match flat {
            None => term,
            Some(all) => b.add(all, term),
        });
    }
    flat.unwrap_or_else(|| b.index(0))
}

fn stores(b: &mut Builder, strides: &[Vec<IntExpr>], stmt: Stmt) -> Stmt {
    let stmt = stmt.map_children(&mut |s| stores(b, strides, s));
    match stmt {
        Stmt::Store { buf, index, value, access } => {
            let flat = flat_index(b, strides, buf, &index);
            Stmt::Store { buf, index: vec![flat], value, access }
        }
        Stmt::Prefetch { buf, index } => {
            let flat = flat_index(b, strides, buf, &index);
            Stmt::Prefetch { buf, index: vec![flat] }
        }
        Stmt::Seq(_)
        | Stmt::For { .. }
        | Stmt::While { .. }
        | Stmt::If { .. }
        | Stmt::Let { .. }
        | Stmt::Alloc { .. }
        | Stmt::At(..)
        | Stmt::Evaluate(_)
        | Stmt::Call { .. }
        | Stmt::Barrier(_)
        | Stmt::Assert { .. } => stmt,
        // `LowerBlocks` runs before; a block left is a bug that the verifier reports.
        Stmt::Block(_) => stmt,
    }
}
