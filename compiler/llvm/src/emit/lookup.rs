//! One of eight or sixteen numbers by the low bits of another, `lookup`: where they are the same in all lanes, x86's vectors
//! find all of them by one instruction, which looks at no other bits. Elsewhere they are chosen bit by bit.

use tenfold_core::Arch;
use tenfold_ir::tir::{Expr, ExprId, Ty};

use super::function::{Body, Result};
use super::ops::Kind;
use crate::ir::{Int, Value};

impl<'c> Body<'_, 'c, '_> {
    /// `lookup(i, x0, …)` of the type.
    pub(super) fn lookup(&mut self, args: &[ExprId], ty: Ty) -> Result<Value<'c>> {
        let [at, all @ ..] = args else { return Err("`lookup` of nothing".into()) };
        let at = self.expr(*at)?;
        let permutes = self.permutes(at.ty().lanes(), all.len());
        if let (Some((name, width)), Some(table)) = (permutes, self.same_in_lanes(all)) {
            let table: Vec<Value<'c>> = table.iter().map(|x| self.expr(*x)).collect::<Result<_>>()?;
            return Ok(self.permuted(name, width, at, &table, ty));
        }
        let all = all.iter().map(|x| self.expr(*x)).collect::<Result<_>>()?;
        Ok(self.chosen(at, all))
    }

    /// The instruction for so many lanes and numbers, and how many it takes at once.
    fn permutes(&self, lanes: u32, numbers: usize) -> Option<(&'static str, u32)> {
        let target = self.cx.target;
        match target.arch {
            Arch::X86_64 if target.has("avx512f") && lanes.is_multiple_of(16) => {
                Some(("llvm.x86.avx512.permvar.si.512", 16))
            }
            Arch::X86_64 if target.has("avx2") && lanes.is_multiple_of(8) && numbers == 8 => {
                Some(("llvm.x86.avx2.permd", 8))
            }
            _ => None,
        }
    }

    /// What each of these has in all of its lanes.
    fn same_in_lanes(&self, all: &[ExprId]) -> Option<Vec<ExprId>> {
        let one = |id: &ExprId| match self.node(*id) {
            Expr::Broadcast(one, _) => Some(*one),
            _ => None,
        };
        all.iter().map(one).collect()
    }

    fn permuted(&self, name: &str, width: u32, at: Value<'c>, table: &[Value<'c>], ty: Ty) -> Value<'c> {
        let ir = self.cx.ir;
        let mut vector = ir.poison(table[0].ty().times(width));
        for (lane, value) in (0..width).zip(table.iter().cycle()) {
            vector = ir.insert(vector, *value, lane);
        }
        let vector = ir.bitcast(vector, ir.int(32).times(width));
        let found = self.in_parts(&[at], width, |part| ir.intrinsic(name, &[], &[vector, part[0]]));
        ir.bitcast(found, self.ops.ty(Kind::of(ty.elem), u32::from(ty.lanes)))
    }

    /// The one of `all`, which are a power of two, by bits from the highest one down.
    fn chosen(&self, at: Value<'c>, mut all: Vec<Value<'c>>) -> Value<'c> {
        let ir = self.cx.ir;
        while all.len() > 1 {
            let upper = all.split_off(all.len() / 2);
            let bit = self.lanes_of(at, upper.len() as i64);
            let none = self.lanes_of(at, 0);
            let low = ir.icmp(Int::LLVMIntEQ, ir.and(at, bit), none);
            all = all.into_iter().zip(upper).map(|(a, b)| ir.select(low, a, b)).collect();
        }
        all[0]
    }
}
