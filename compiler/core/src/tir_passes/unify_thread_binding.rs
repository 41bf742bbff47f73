//! `UnifyThreadBinding`: one loop per thread axis, all around the kernel. (TVM: the pass of that name.)
//!
//! Runs on plain loops. Where loops over an axis have different constant numbers of threads, the kernel has the greatest,
//! and the others are guarded. What stood outside of all loops over an axis of threads is done by the first thread of it.
//! A kernel whose barriers would not be reached by all is refused.

use tenfold_ir::Module;
use tenfold_ir::tir::PrimFunc;

use super::kernel::{each_kernel, try_body};
use super::thread_binding::{AXES, gather, has_axis};
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("UnifyThreadBinding", &unify_thread_binding)
    .in_phase(PassPhase::Loops)
    .about("gives every kernel one loop per thread axis, around all it does");

fn unify_thread_binding(func: PrimFunc, _: &Module, _: &PassContext) -> Result<PrimFunc, CompileError> {
    try_body(func, |b, body| {
        each_kernel(body, &mut |mut kernel| {
            let axes: Vec<_> = AXES.into_iter().filter(|axis| has_axis(&kernel, *axis)).collect();
            for axis in axes.into_iter().rev() {
                kernel = gather(b, kernel, axis)?;
            }
            Ok(kernel)
        })
    })
}
