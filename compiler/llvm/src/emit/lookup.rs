//! One of eight numbers by the low bits of another, `lookup`: where the eight are the same in all lanes, x86's vectors
//! find all of them by one instruction, which looks at no other bits. Elsewhere they are chosen bit by bit.

use tenfold_core::Arch;
use tenfold_ir::tir::{Expr, ExprId};

use super::function::{Body, Result};
use crate::ir::{Int, Value};

impl<'c> Body<'_, 'c, '_> {
    /// `lookup(i, x0, …, x7)`.
    pub(super) fn lookup(&mut self, args: &[ExprId]) -> Result<Value<'c>> {
        let [at, all @ ..] = args else { return Err("`lookup` of nothing".into()) };
        let at = self.expr(*at)?;
        if let (Some((name, width)), Some(table)) = (self.permutes(at.ty().lanes()), self.same_in_lanes(all)) {
            let table: Vec<Value<'c>> = table.iter().map(|x| self.expr(*x)).collect::<Result<_>>()?;
            return Ok(self.permuted(name, width, at, &table));
        }
        let all = all.iter().map(|x| self.expr(*x)).collect::<Result<_>>()?;
        Ok(self.chosen(at, all))
    }

    /// The instruction for so many lanes, and how many it takes at once.
    fn permutes(&self, lanes: u32) -> Option<(&'static str, u32)> {
        let target = self.cx.target;
        match target.arch {
            Arch::X86_64 if target.has("avx512f") && lanes.is_multiple_of(16) => {
                Some(("llvm.x86.avx512.permvar.si.512", 16))
            }
            Arch::X86_64 if target.has("avx2") && lanes.is_multiple_of(8) => Some(("llvm.x86.avx2.permd", 8)),
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

    fn permuted(&self, name: &str, width: u32, at: Value<'c>, table: &[Value<'c>]) -> Value<'c> {
        let ir = self.cx.ir;
        let mut vector = ir.poison(ir.int(32).times(width));
        for (lane, value) in (0..width).zip(table.iter().cycle()) {
            vector = ir.insert(vector, *value, lane);
        }
        let lanes = at.ty().lanes();
        let part = |first: u32| ir.shuffle(at, at, first..first + width);
        let found = |first: u32| ir.intrinsic(name, &[], &[vector, if lanes == width { at } else { part(first) }]);
        let mut parts: Vec<Value<'c>> = (0..lanes).step_by(width as usize).map(found).collect();
        while let [first, .., last] = parts[..] {
            // The last of an odd number waits beside a copy of itself, of which no lane is taken in the end.
            let longer = 2 * first.ty().lanes();
            let pairs = parts.chunks(2).map(|pair| ir.shuffle(pair[0], *pair.get(1).unwrap_or(&last), 0..longer));
            parts = pairs.collect();
        }
        let all = parts[0];
        if all.ty().lanes() == lanes { all } else { ir.shuffle(all, all, 0..lanes) }
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
