//! Copies of boxes of tensors to shared memory, and the `mbarrier`s that tell of them, which `sm_90a` alone has here. They
//! are text, as products of warpgroups are: LLVM's intrinsics for them differ from version to version.

use tenfold_core::kernel;
use tenfold_ir::tir::{BufId, Expr, ExprId, Intrinsic, Mbarrier, Scope, Stmt, TensorCopy};

use super::device::{Argument, arguments};
use super::function::{Body, Result};
use super::ops::Kind;
use crate::ir::Value;

/// The bytes of a tensor's description, which a launch passes by value, and where these begin: at a multiple of so many.
pub(super) const MAP: (u64, u64) = (128, 64);

impl<'c> Body<'_, 'c, '_> {
    /// What is stored that goes on by itself, if it is a copy of a box or tells of one.
    pub(super) fn of_tensors(&mut self, buf: BufId, index: &[ExprId], value: ExprId) -> Option<Result<()>> {
        match self.node(value) {
            Expr::Call(Intrinsic::CopyTensor, ..) => Some(self.copy_tensor(buf, index, value)),
            Expr::Call(Intrinsic::Mbarrier(f), args, _) => {
                let n = args.first().copied().ok_or_else(|| format!("`{}` of nothing", f.name()));
                Some(n.and_then(|n| self.mbarrier(*f, n, (buf, index))))
            }
            _ => None,
        }
    }

    /// Whether a thread writes to shared memory otherwise: products and copies see that by another way.
    pub(super) fn writes_shared(&self) -> bool {
        self.prim.body.any(&mut |s| match s {
            Stmt::Store { buf, value, .. } => {
                let shared = matches!(self.prim.buffers[buf.0 as usize].scope, Scope::Shared | Scope::SharedDyn);
                let other = matches!(
                    self.prim.exprs.get(*value),
                    Expr::Call(Intrinsic::CopyTensor | Intrinsic::Mbarrier(_), ..)
                );
                shared && !other
            }
            _ => false,
        })
    }

    fn copy_tensor(&mut self, buf: BufId, index: &[ExprId], value: ExprId) -> Result<()> {
        let copy = TensorCopy::of(self.prim, value).ok_or("a box whose extents are no numbers")?;
        let map = self.map_of(&copy)?;
        let Expr::Load { buf: full, index: n, .. } = self.node(copy.tells) else {
            return Err("a copy that tells nobody".into());
        };
        let to = self.first_of(buf, index)?;
        let full = self.one_of(*full, n)?;
        let (to, full) = (self.in_shared(to)?, self.in_shared(full)?);
        let mut given = vec![to, map, full];
        for axis in &copy.axes {
            let at = self.expr(axis.at)?;
            given.push(self.ops.cast(self.kind(axis.at), Kind::Int { signed: true, bits: 32 }, at));
        }
        let places: Vec<String> = (3..given.len()).map(|n| format!("${n}")).collect();
        let text = format!(
            "cp.async.bulk.tensor.{}d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {{{}}}], [$2];",
            places.len(),
            places.join(", "),
        );
        let words = ",r".repeat(places.len());
        self.cx.ir.assembly(&text, &format!("r,l,r{words},~{{memory}}"), &[], &given);
        Ok(())
    }

    fn mbarrier(&mut self, f: Mbarrier, n: ExprId, (buf, index): (BufId, &[ExprId])) -> Result<()> {
        let at = self.one_of(buf, index)?;
        let at = self.in_shared(at)?;
        let number = self.expr(n)?;
        let number = self.ops.cast(self.kind(n), Kind::Int { signed: true, bits: 32 }, number);
        let text = match f {
            // Copies see it by another way than threads do.
            Mbarrier::Init => {
                "mbarrier.init.shared::cta.b64 [$0], $1; fence.mbarrier_init.release.cluster; \
                 fence.proxy.async.shared::cta;"
            }
            Mbarrier::Expect => "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;",
            // It may wait in vain for a while.
            Mbarrier::Wait => {
                "{ .reg .pred over; again: mbarrier.try_wait.parity.shared::cta.b64 over, [$0], $1; @!over bra again; }"
            }
        };
        self.cx.ir.assembly(text, "r,r,~{memory}", &[], &[at, number]);
        Ok(())
    }

    /// The parameter that describes a tensor.
    fn map_of(&self, copy: &TensorCopy) -> Result<Value<'c>> {
        let tensor = kernel::tensor(self.prim, copy).ok_or("a box of what is not in memory")?;
        let number = kernel::tensors(self.prim).iter().position(|known| *known == tensor);
        let of = |argument: &Argument| matches!(argument, Argument::Map(n) if Some(*n) == number);
        let place = arguments(self.prim).iter().position(of).ok_or("a tensor that no launch describes")?;
        Ok(self.cx.ir.parameter(self.function, place as u32))
    }

    /// Where an element is.
    fn one_of(&mut self, buf: BufId, index: &[ExprId]) -> Result<Value<'c>> {
        let [at] = index else { return Err("an element of several axes".into()) };
        let at = self.as_index(*at)?;
        let cell = self.memory_type(tenfold_ir::tir::Ty::scalar(self.prim.buffers[buf.0 as usize].dtype));
        Ok(self.cx.ir.element(cell, self.base(buf)?, at))
    }

    /// An address in shared memory, of 32 bits.
    fn in_shared(&self, place: Value<'c>) -> Result<Value<'c>> {
        if self.cx.target.cpu != "sm_90a" {
            return Err(format!("`copy_tensor` for `{}`", self.cx.target.cpu));
        }
        let ir = self.cx.ir;
        Ok(ir.address(place, ir.int(32)))
    }
}
