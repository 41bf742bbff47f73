//! Elements of a table of 256 bytes by numbers of 8 bits, a vector of them at once: functions of bytes are such tables.
//!
//! Processors permute 16 bytes by one instruction, or up to 64. So a table is rows of 16, each of which gives its element for
//! the low bits of all numbers, and the high bits choose among these. Loads one by one take three times as long.

use tenfold_core::Arch;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{BufId, Elem, Expr, ExprId};
use tenfold_ir::{DType, arith::IntExpr};

use super::function::{Body, Result};
use crate::ir::{Int, Value};

/// Elements of a table.
const ELEMENTS: i64 = 256;
/// Bytes that are permuted.
const ROW: u32 = 16;

/// How vectors of bytes are permuted.
#[derive(Clone, Copy)]
enum Permute {
    /// Within each 16 of them, in vectors of so many.
    Rows(&'static str, u32),
    /// 64 at once, of which those that a number is too large for are 0, or what they were.
    Quads,
}

impl<'c> Body<'_, 'c, '_> {
    /// The elements of a buffer at places that are numbers of 8 bits; nothing where it is no such table, or the target
    /// permutes no vectors of so many lanes.
    pub(super) fn of_table(&mut self, buf: BufId, index: ExprId, base: Value<'c>) -> Result<Option<Value<'c>>> {
        let table = &self.prim.buffers[buf.0 as usize];
        let is_table = table.dtype.size_bytes() == 1 && table.shape == [IntExpr::from(ELEMENTS)];
        let Some(byte) = self.widened(index) else { return Ok(None) };
        let ty = self.prim.exprs.ty(byte);
        if !is_table || table.dtype.is_bool() || ty.elem != Elem::Scalar(DType::U8) {
            return Ok(None);
        }
        let Some(permute) = self.permute(u32::from(ty.lanes)) else { return Ok(None) };
        let numbers = self.expr(byte)?;
        Ok(Some(match permute {
            Permute::Rows(name, width) => self.in_parts(&[numbers], width, |part| self.chosen_row(name, base, part[0])),
            Permute::Quads => self.in_parts(&[numbers], ROW, |part| self.of_quads(base, part[0])),
        }))
    }

    /// What places were widened from, but for bounds that no number of 8 bits passes.
    fn widened(&self, mut index: ExprId) -> Option<ExprId> {
        let bound = |id: ExprId| match *self.node(id) {
            Expr::Broadcast(one, _) => self.prim.literal(one),
            _ => self.prim.literal(id),
        };
        loop {
            match *self.node(index) {
                Expr::Cast(_, byte) => return Some(byte),
                Expr::Binary(BinaryOp::Min, x, y) if bound(y)? >= ELEMENTS - 1 => index = x,
                Expr::Binary(BinaryOp::Max, x, y) if bound(y)? <= 0 => index = x,
                _ => return None,
            }
        }
    }

    fn permute(&self, lanes: u32) -> Option<Permute> {
        let target = self.cx.target;
        match target.arch {
            Arch::X86_64 => {
                let all = [
                    ("avx512bw", "llvm.x86.avx512.pshuf.b.512", 64),
                    ("avx2", "llvm.x86.avx2.pshuf.b", 32),
                    ("ssse3", "llvm.x86.ssse3.pshuf.b.128", 16),
                ];
                let mut fits =
                    all.into_iter().filter(|(has, _, width)| target.has(has) && lanes.is_multiple_of(*width));
                fits.next().map(|(_, name, width)| Permute::Rows(name, width))
            }
            Arch::Aarch64 => lanes.is_multiple_of(ROW).then_some(Permute::Quads),
            _ => None,
        }
    }

    fn row(&self, base: Value<'c>, n: u32) -> Value<'c> {
        let ir = self.cx.ir;
        let place = ir.element(ir.int(8), base, ir.const_int(ir.int(64), i64::from(n * ROW)));
        ir.load(ir.int(8).times(ROW), place, 1)
    }

    /// Each row's element, and of two rows the one that a bit says, from the lowest one up.
    fn chosen_row(&self, name: &str, base: Value<'c>, numbers: Value<'c>) -> Value<'c> {
        let (ir, ty) = (self.cx.ir, numbers.ty());
        let low = ir.and(numbers, ir.const_int(ty, i64::from(ROW) - 1));
        let mut all: Vec<Value<'c>> = (0..ROW)
            .map(|n| {
                let row = self.row(base, n);
                let rows = ir.shuffle(row, row, (0..ty.lanes()).map(|lane| lane % ROW));
                ir.intrinsic(name, &[], &[rows, low])
            })
            .collect();
        let zero = ir.const_int(ty, 0);
        for bit in (0..4).rev() {
            // The bit as the sign, which instructions choose by.
            let sign = ir.shl(numbers, ir.const_int(ty, bit));
            let upper = ir.icmp(Int::LLVMIntSLT, sign, zero);
            all = all.chunks(2).map(|pair| ir.select(upper, pair[1], pair[0])).collect();
        }
        all[0]
    }

    /// 64 elements after 64.
    fn of_quads(&self, base: Value<'c>, numbers: Value<'c>) -> Value<'c> {
        let (ir, ty) = (self.cx.ir, numbers.ty());
        let mut found = ir.const_int(ty, 0);
        for quad in 0..4 {
            let mut args: Vec<Value<'c>> = (0..4).map(|n| self.row(base, 4 * quad + n)).collect();
            let at = ir.sub(numbers, ir.const_int(ty, i64::from(4 * ROW * quad)));
            args.push(at);
            if quad > 0 {
                args.insert(0, found);
            }
            let name = if quad == 0 { "llvm.aarch64.neon.tbl4" } else { "llvm.aarch64.neon.tbx4" };
            found = ir.intrinsic(name, &[ty], &args);
        }
        found
    }
}
