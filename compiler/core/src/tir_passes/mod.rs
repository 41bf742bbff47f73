//! Passes over tir. One pass is one file.

mod flatten;
mod lower_blocks;
mod lower_math;
mod verify_bounds;

pub(crate) use flatten::flatten_buffers;
pub(crate) use lower_blocks::lower_blocks;
pub(crate) use lower_math::lower_math;
pub(crate) use verify_bounds::verify_bounds;

use tenfold_ir::tir::PrimFunc;
use tenfold_ir::{Function, Module};

/// Runs `f` on every prim-func of a module.
fn each_prim(module: &mut Module, mut f: impl FnMut(PrimFunc) -> PrimFunc) {
    for function in module.functions.values_mut() {
        if let Function::Prim(prim) = function {
            *prim = f(prim.clone());
        }
    }
}
