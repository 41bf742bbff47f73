//! Index arithmetic: integer expressions of shapes, and how wide a loop's counter must be.

use tenfold_ir::{
    arith::{IntExpr, View},
    op::BinaryOp,
};

use super::{
    function::{Body, Result},
    ops::Kind,
};
use crate::ir::Value;

const INDEX: Kind = Kind::Int { signed: true, bits: 64 };

impl<'c> Body<'_, 'c, '_> {
    /// An integer expression over the function's variables, as an index.
    pub(super) fn int_expr(&mut self, expr: &IntExpr) -> Result<Value<'c>> {
        let ir = self.cx.ir;
        let constant = |value| ir.const_int(ir.int(64), value);
        match expr.view() {
            View::Const(value) => Ok(constant(value)),
            View::Var(sym) => self.sym(&sym),
            View::Add(terms) => self.int_chain(BinaryOp::Add, constant(0), &terms),
            View::Mul(factors) => self.int_chain(BinaryOp::Mul, constant(1), &factors),
            View::FloorDiv(a, b) => self.int_floor(BinaryOp::DivEuclid, &a, &b),
            View::FloorMod(a, b) => self.int_floor(BinaryOp::RemEuclid, &a, &b),
            View::TruncDiv(a, b) => self.int_pair(BinaryOp::Div, &a, &b),
            View::TruncRem(a, b) => self.int_pair(BinaryOp::Rem, &a, &b),
            View::Min(a, b) => self.int_pair(BinaryOp::Min, &a, &b),
            View::Max(a, b) => self.int_pair(BinaryOp::Max, &a, &b),
        }
    }

    fn int_chain(&mut self, op: BinaryOp, unit: Value<'c>, parts: &[IntExpr]) -> Result<Value<'c>> {
        let mut all = unit;
        for part in parts {
            let value = self.int_expr(part)?;
            all = self.int_binary(op, all, value)?;
        }
        Ok(all)
    }

    fn int_pair(&mut self, op: BinaryOp, a: &IntExpr, b: &IntExpr) -> Result<Value<'c>> {
        let (a, b) = (self.int_expr(a)?, self.int_expr(b)?);
        self.int_binary(op, a, b)
    }

    /// Floor and Euclidean division agree where the divisor is positive, which sizes ask for.
    fn int_floor(&mut self, op: BinaryOp, a: &IntExpr, b: &IntExpr) -> Result<Value<'c>> {
        if b.as_const().is_some_and(|b| b <= 0) {
            return Err("a size divides by a number that is not positive".to_owned());
        }
        self.int_pair(op, a, b)
    }

    fn int_binary(&self, op: BinaryOp, a: Value<'c>, b: Value<'c>) -> Result<Value<'c>> {
        self.ops.binary(op, INDEX, false, a, b).map_err(|error| error.0)
    }

    /// 32 where addresses have 32 bits: a loop walks over extents of tensors, which are in memory.
    /// Constants that do not fit keep 64.
    pub(super) fn counter_bits(&self, first: Value<'c>, turns: Value<'c>) -> u32 {
        if first.ty().bits() == 32 {
            return 32;
        }
        if self.cx.target.pointer_bits >= 64 {
            return 64;
        }
        let fits = |value: Value<'c>| match value.as_const() {
            Some(value) => i32::try_from(value).is_ok(),
            None => self.is_narrow(value),
        };
        match (first.as_const(), turns.as_const()) {
            (Some(first), Some(turns)) => {
                let end = first.saturating_add(turns);
                if i32::try_from(end).is_ok() && i32::try_from(first).is_ok() { 32 } else { 64 }
            }
            // From 0 the counter stays below the number of turns.
            (Some(0), None) if fits(turns) => 32,
            (Some(_) | None, Some(_) | None) => 64,
        }
    }

    /// Whether a 64-bit value is a 32-bit one that was widened with its sign.
    fn is_narrow(&self, value: Value<'c>) -> bool {
        self.cx.ir.widened_from(value).is_some_and(|bits| bits <= 32)
    }
}
