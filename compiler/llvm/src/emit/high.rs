//! What the vectors of ARM's microcontrollers have beside what LLVM finds by itself: upper halves of products, rounded, and
//! sums of products that are numbers in other registers.

use std::collections::BTreeSet;

use tenfold_core::Target;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{BufId, Elem, Expr, ExprId, Intrinsic, PrimFunc, Scope, Stmt, Ty};
use tenfold_ir::{DType, Scalar};

use super::function::{Body, Result};
use crate::ir::{Type, Value};

/// Lanes of 32 bits.
const LANES: u16 = 4;

/// The buffers on the stack that sums of products of vectors are added up in. LLVM would keep sums that vectors are
/// loaded from in vectors, out of which and into which each goes for every product.
pub(super) fn summed(prim: &PrimFunc, target: &Target) -> BTreeSet<BufId> {
    let mut found = BTreeSet::new();
    if !target.has("mve") {
        return found;
    }
    prim.body.walk(&mut |stmt| {
        if let Stmt::Store { buf, value, .. } = stmt
            && prim.buffers[buf.0 as usize].scope == Scope::Local
            && let Expr::Binary(BinaryOp::Add, _, term) = prim.exprs.get(*value)
            && let Expr::Call(Intrinsic::Dot(dot), ..) = prim.exprs.get(*term)
            && dot.is_wide()
        {
            found.insert(*buf);
        }
    });
    found
}

impl<'c> Body<'_, 'c, '_> {
    /// Neighbours, each loaded by itself.
    pub(super) fn gathered(&self, ty: Type<'c>, base: Value<'c>, first: Value<'c>, align: u32) -> Value<'c> {
        let ir = self.cx.ir;
        let mut all = ir.poison(ty);
        for lane in 0..ty.lanes() {
            let at = ir.add(first, ir.const_int(first.ty(), i64::from(lane)));
            all = ir.insert(all, ir.load(ty.lane(), ir.element(ty.lane(), base, at), align), lane);
        }
        all
    }

    /// `(x y + 2^31) >> 32` of 64 bits as numbers of 32 bits, if that is what a conversion to `ty` reads.
    pub(super) fn rounded_high(&mut self, ty: Ty, of: ExprId) -> Result<Option<Value<'c>>> {
        let wanted = Ty { elem: Elem::Scalar(DType::I32), lanes: LANES };
        if ty != wanted || !self.cx.target.has("mve") {
            return Ok(None);
        }
        let Some([x, y]) = self.factors_of_high(of) else { return Ok(None) };
        let (Some(x), Some(y)) = (self.word_of(x)?, self.word_of(y)?) else { return Ok(None) };
        let signed = self.cx.ir.const_int(self.cx.ir.int(32), 0);
        Ok(Some(self.cx.ir.intrinsic("llvm.arm.mve.vrmulh", &[x.ty()], &[x, y, signed])))
    }

    fn factors_of_high(&self, of: ExprId) -> Option<[ExprId; 2]> {
        let Expr::Binary(BinaryOp::Shr, moved, places) = *self.node(of) else { return None };
        let Expr::Binary(BinaryOp::Add, product, half) = *self.node(moved) else { return None };
        let Expr::Binary(BinaryOp::Mul, x, y) = *self.node(product) else { return None };
        let is = |id: ExprId, value: i128| self.constant(id).is_some_and(|found| found.to_i128() == value);
        (is(places, 32) && is(half, 1 << 31)).then_some([x, y])
    }

    /// The literal in all lanes.
    fn constant(&self, id: ExprId) -> Option<Scalar> {
        match self.node(id) {
            Expr::Const(value) => Some(*value),
            Expr::Broadcast(inner, _) => self.constant(*inner),
            _ => None,
        }
    }

    /// Numbers of 64 bits as what they were widened from.
    fn word_of(&mut self, id: ExprId) -> Result<Option<Value<'c>>> {
        if let Some(value) = self.constant(id) {
            let word = i32::try_from(value.to_i128()).ok();
            let ir = self.cx.ir;
            return Ok(word.map(|word| ir.const_int(ir.int(32).times(u32::from(LANES)), i64::from(word))));
        }
        match *self.node(id) {
            Expr::Cast(_, inner) if self.prim.exprs.ty(inner).elem == Elem::Scalar(DType::I32) => {
                self.expr(inner).map(Some)
            }
            Expr::Broadcast(inner, lanes) => match *self.node(inner) {
                Expr::Cast(_, inner) if self.prim.exprs.ty(inner).elem == Elem::Scalar(DType::I32) => {
                    let value = self.expr(inner)?;
                    Ok(Some(self.cx.ir.splat(value, u32::from(lanes))))
                }
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }
}
