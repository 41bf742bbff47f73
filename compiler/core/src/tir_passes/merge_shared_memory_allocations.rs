//! `MergeSharedMemoryAllocations`: places for the shared memory of a kernel whose size the launch says. (TVM: the pass of
//! that name.)
//!
//! Runs on any phase, before `ThreadSync`, which looks at the places. Buffers that live at one time lie behind one another,
//! aligned to 16 bytes; buffers whose lives do not touch lie over one another. With `MergeSharedMemoryAllocations.fixed`
//! memory of a fixed size is placed there too. Lives, shapes and accesses never change.

use tenfold_ir::Module;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::tir::{BufId, PrimFunc, Scope, Stmt};

use super::kernel::is_bound;
use crate::CompileError;
use crate::pass::{ConfigKey, FlagKey, Pass, PassContext, PassPhase};

/// Whether memory of a fixed size is placed too.
const FIXED: FlagKey = FlagKey {
    name: "MergeSharedMemoryAllocations.fixed",
    default: false,
    doc: "also places shared memory of a fixed size in the memory whose size the launch says",
};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("MergeSharedMemoryAllocations", &merge)
    .in_phase(PassPhase::Flat)
    .reads(&[ConfigKey::Flag(&FIXED)])
    .about("gives shared memory of kernels places, over one another where lives do not touch");

/// Bytes that every place is a multiple of.
const ALIGN: i64 = 16;

fn merge(mut func: PrimFunc, _: &Module, context: &PassContext) -> Result<PrimFunc, CompileError> {
    let body = std::mem::replace(&mut func.body, Stmt::nop());
    let mut places = Places { func: &mut func, fixed: context.flag(&FIXED) };
    places.outside(&body);
    func.body = body;
    Ok(func)
}

struct Places<'f> {
    func: &'f mut PrimFunc,
    fixed: bool,
}

impl Places<'_> {
    fn outside(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::For { kind, .. } if is_bound(*kind) => {
                self.inside(stmt, &IntExpr::from(0));
            }
            other => other.children().into_iter().for_each(|s| self.outside(s)),
        }
    }

    /// Places what lives in a statement from `base` on: where the last of it ends.
    fn inside(&mut self, stmt: &Stmt, base: &IntExpr) -> IntExpr {
        let mut base = base.clone();
        for buf in stmt.allocates() {
            base = self.place(buf, base);
        }
        let mut end = base.clone();
        for child in stmt.children() {
            end = end.maximum(&self.inside(child, &base));
        }
        end
    }

    fn place(&mut self, buf: BufId, base: IntExpr) -> IntExpr {
        let data = &mut self.func.buffers[buf.0 as usize];
        let wanted = data.scope == Scope::SharedDyn || self.fixed && data.scope == Scope::Shared;
        if !wanted {
            return base;
        }
        let bytes = data.shape.iter().fold(IntExpr::from(data.dtype.size_bytes() as i64), |n, d| &n * d);
        let align = IntExpr::from(ALIGN);
        let rounded = &(&bytes + &IntExpr::from(ALIGN - 1)).floor_div(&align) * &align;
        let end = &base + &rounded;
        (data.scope, data.offset) = (Scope::SharedDyn, Some(base));
        end
    }
}
