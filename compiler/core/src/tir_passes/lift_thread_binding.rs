//! `LiftThreadBinding`: loops over one thread axis that stand beside one another become one. (TVM: the pass of that name.)
//!
//! Runs on plain loops. In a sequence inside of a kernel where several statements have loops over one axis, the loop goes
//! around the sequence; what stood between them is done by the first thread. Where a statement alone has it, it stays.

use tenfold_ir::Module;
use tenfold_ir::tir::{Builder, PrimFunc, Stmt};

use super::kernel::{Made, each_kernel, try_body, try_children};
use super::thread_binding::{AXES, gather, has_axis};
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("LiftThreadBinding", &lift_thread_binding)
    .in_phase(PassPhase::Loops)
    .about("makes one loop of loops over a thread axis that stand beside one another");

fn lift_thread_binding(func: PrimFunc, _: &Module, _: &PassContext) -> Result<PrimFunc, CompileError> {
    try_body(func, |b, body| each_kernel(body, &mut |kernel| lift(b, kernel)))
}

fn lift(b: &mut Builder, stmt: Stmt) -> Made {
    let mut stmt = try_children(stmt, &mut |s| lift(b, s))?;
    for axis in AXES.into_iter().rev() {
        let Stmt::Seq(all) = &stmt else { break };
        if all.iter().filter(|s| has_axis(s, axis)).count() > 1 {
            // One loop takes the place of the sequence: the axes outside of it find it there.
            stmt = Stmt::Seq(vec![gather(b, stmt, axis)?]);
        }
    }
    Ok(Stmt::seq([stmt]))
}
