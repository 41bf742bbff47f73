//! Passes over tir. One pass is one file.

mod copy;
mod flatten;
mod lower_blocks;
mod lower_math;
mod unroll_loop;
mod vectorize_loop;
mod verify_bounds;

pub(crate) use flatten::flatten_buffers;
pub(crate) use lower_blocks::lower_blocks;
pub(crate) use lower_math::lower_math;
pub(crate) use unroll_loop::unroll_loop;
pub(crate) use vectorize_loop::vectorize_loop;
pub(crate) use verify_bounds::verify_bounds;

use tenfold_ir::tir::{Builder, PrimFunc, Stmt};
use tenfold_ir::{Function, Module};

/// Runs `f` on every prim-func of a module.
fn each_prim(module: &mut Module, mut f: impl FnMut(PrimFunc) -> PrimFunc) {
    for function in module.functions.values_mut() {
        if let Function::Prim(prim) = function {
            *prim = f(prim.clone());
        }
    }
}

/// Rewrites the body of every prim-func.
fn rewrite_bodies(module: &mut Module, mut f: impl FnMut(&mut Builder, Stmt) -> Stmt) {
    for function in module.functions.values_mut() {
        if let Function::Prim(prim) = function {
            *prim = rewrite_body(prim.clone(), &mut f);
        }
    }
}

/// Rewrites the body of one.
fn rewrite_body(func: PrimFunc, mut f: impl FnMut(&mut Builder, Stmt) -> Stmt) -> PrimFunc {
    let mut b = Builder::resume(func);
    let body = std::mem::replace(&mut b.func_mut().body, Stmt::nop());
    let body = f(&mut b, body);
    b.push(body);
    b.finish()
}
