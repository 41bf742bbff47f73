//! `FlattenBuffer`: buffers become one-dimensional, and accesses have one index.
//!
//! Behind `LowerOpaqueBlock`, and behind the proof of accesses, which needs axes. An element stands where its buffer's
//! strides say; an allocation with strides has room for the gaps between them. Indices that are the places of one number
//! among the buffer's elements, quotients and remainders by its extents, are that number again.

use tenfold_ir::Module;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{BufId, BufferData, Builder, Expr, ExprId, ExprMap, Phase, PrimFunc, Scope, Stmt, Ty};

use super::rewrite_body;
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("FlattenBuffer", &run)
    .in_phase(PassPhase::Flat)
    .lowering()
    .about("gives every access one index");

fn run(func: PrimFunc, _: &Module, _: &PassContext) -> Result<PrimFunc, CompileError> {
    if func.phase >= Phase::Flat {
        return Ok(func);
    }
    let strides: Vec<Vec<IntExpr>> = func.buffers.iter().map(strides_of).collect();
    let mut func = rewrite_body(func, |b, body| {
        let mut loads = ExprMap::new(|b: &mut Builder, id: ExprId| match b.func().exprs.get(id).clone() {
            Expr::Load { buf, index, access } => {
                let flat = flat_index(b, &strides, buf, &index);
                let ty = b.ty(id);
                b.raw(Expr::Load { buf, index: vec![flat], access }, ty)
            }
            _ => id,
        });
        let body = loads.stmt(b, body);
        stores(b, &strides, body)
    });
    func.buffers.iter_mut().for_each(flatten);
    Ok(PrimFunc { phase: Phase::Flat, ..func })
}

/// One axis of as many elements; of an allocation with gaps, of as many as lie between the first and the last.
fn flatten(buffer: &mut BufferData) {
    let own = matches!(buffer.scope, Scope::Global | Scope::Local | Scope::Shared | Scope::SharedDyn | Scope::Warp);
    let size = match buffer.strides.take_if(|_| own) {
        None => buffer.shape.iter().fold(IntExpr::from(1), |n, d| &n * d),
        Some(strides) => {
            let reach = buffer.shape.iter().zip(&strides).map(|(d, s)| &(d - 1) * s);
            reach.fold(IntExpr::from(1), |n, r| &n + &r)
        }
    };
    buffer.shape = vec![size];
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
    // Neighbours along the last axis stay neighbours.
    if let Some((last, outer)) = index.split_last()
        && let Expr::Ramp(first, one, lanes) = *b.func().exprs.get(*last)
        && strides[buf.0 as usize].last().and_then(|stride| stride.as_const()) == Some(1)
        && outer.iter().all(|i| b.ty(*i).lanes == 1)
    {
        let firsts: Vec<ExprId> = outer.iter().copied().chain([first]).collect();
        let flat = flat_index(b, strides, buf, &firsts);
        let one = b.to_index(one);
        return b.raw(Expr::Ramp(flat, one, lanes), Ty { lanes, ..Ty::index() });
    }
    let (number, axes) = number(b, buf, index).map_or((None, 0), |(number, axes)| (Some(number), axes));
    let outer = index.len() - axes;
    let one = IntExpr::from(1);
    let outer = index[..outer].iter().zip(&strides[buf.0 as usize]);
    let mut flat = None;
    for (i, stride) in outer.chain(number.iter().map(|number| (number, &one))) {
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

/// The number whose places along the last axes of a buffer without gaps indices are, written as `number / (m n), number / n % m,
/// number % n`, and how many axes these are.
fn number(b: &mut Builder, buf: BufId, index: &[ExprId]) -> Option<(ExprId, usize)> {
    let data = b.buf(buf).clone();
    let last = index.last().filter(|_| data.strides.is_none())?;
    let Expr::Binary(BinaryOp::RemEuclid, number, _) = *b.func().exprs.get(*last) else { return None };
    let mut rest = number;
    for (n, (i, extent)) in index.iter().zip(&data.shape).rev().enumerate() {
        if *i == rest {
            return Some((number, n + 1));
        }
        let extent = b.int_expr(extent);
        if *i != b.binary(BinaryOp::RemEuclid, rest, extent) {
            return None;
        }
        rest = b.binary(BinaryOp::DivEuclid, rest, extent);
    }
    None
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
        // `LowerOpaqueBlock` runs before; a block left is a bug that the verifier reports.
        Stmt::Block(_) => stmt,
    }
}
