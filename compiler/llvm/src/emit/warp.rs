//! What the threads of a warp do together, by the instructions that `compiler/docs/nvptx.md` tells of.

use tenfold_ir::DType;
use tenfold_ir::tir::{Bit, BufId, Elem, Expr, ExprId, Intrinsic, Ty, WARP, Warp};

use super::expr::contiguous;
use super::function::{Body, Result};
use crate::ir::{Type, Value};

impl<'c> Body<'_, 'c, '_> {
    /// A function of a warp: what it gives this thread.
    pub(super) fn warp(&mut self, f: Warp, args: &[ExprId]) -> Result<Value<'c>> {
        if !self.is_kernel() {
            return Err(format!("`{}` in a function of the host", f.name()));
        }
        match (f, args) {
            (Warp::LdMatrix, [row]) => self.matrices("", *row),
            (Warp::LdMatrixTrans, [row]) => self.matrices(".trans", *row),
            (Warp::Mma, [a, b, c]) => self.mma(*a, *b, *c),
            (Warp::ShuffleXor(bit), [value]) => {
                let value = self.expr(*value)?;
                Ok(self.shuffled(bit, value))
            }
            (Warp::Wgmma(lines), [a, b, c]) => self.wgmma(lines, [*a, *b], *c),
            (Warp::WgmmaRegisters(columns), [a, b, c]) => self.wgmma_registers(columns, [*a, *b], *c),
            (Warp::WgmmaWait(left), [sums]) => self.wgmma_wait(left, *sums),
            (
                Warp::LdMatrix
                | Warp::LdMatrixTrans
                | Warp::Mma
                | Warp::Wgmma(_)
                | Warp::WgmmaRegisters(_)
                | Warp::WgmmaWait(_)
                | Warp::ShuffleXor(_),
                _,
            ) => Err(format!("`{}` has {} operands", f.name(), args.len())),
        }
    }

    /// Four matrices, of one row of which this thread says where it is.
    fn matrices(&mut self, how: &str, row: ExprId) -> Result<Value<'c>> {
        let ir = self.cx.ir;
        let Expr::Load { buf, index, .. } = self.node(row) else { return Err("a row that is not in memory".into()) };
        let place = self.first_of(*buf, index)?;
        let name = format!("llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4{how}.b16");
        let words = ir.together(ir.intrinsic(&name, &[place.ty()], &[place]));
        let half = self.prim.buffers[buf.0 as usize].dtype.size_bytes() == 2;
        let (bits, lanes) = if half { (16, 8) } else { (8, 16) };
        Ok(ir.bitcast(self.vector_of(words, ir.int(32), 4), ir.int(bits).times(lanes)))
    }

    /// What a value copies, if that goes on by itself.
    pub(super) fn copied(&self, value: ExprId) -> Option<ExprId> {
        match self.node(value) {
            Expr::Call(Intrinsic::CopyAsync, args, _) => args.first().copied(),
            _ => None,
        }
    }

    /// 16 bytes begin to go to shared memory; a barrier waits for them.
    pub(super) fn copy_async(&mut self, buf: BufId, index: &[ExprId], from: ExprId) -> Result<()> {
        let Expr::Load { buf: source, index: there, .. } = self.node(from) else {
            return Err("a copy of what is not in memory".into());
        };
        let (to, from) = (self.first_of(buf, index)?, self.first_of(*source, there)?);
        let ir = self.cx.ir;
        ir.intrinsic("llvm.nvvm.cp.async.cg.shared.global.16", &[], &[to, ir.in_global(from)]);
        Ok(())
    }

    /// Where neighbours begin.
    pub(super) fn first_of(&mut self, buf: BufId, index: &[ExprId]) -> Result<Value<'c>> {
        let first = match index {
            [at] => contiguous(self.prim, *at),
            _ => None,
        };
        let at = self.as_index(first.ok_or("elements that are no neighbours")?)?;
        let cell = self.memory_type(Ty::scalar(self.prim.buffers[buf.0 as usize].dtype));
        Ok(self.cx.ir.element(cell, self.base(buf)?, at))
    }

    /// A tile of 16 by 8 sums with 16 products of halves added to each, or 32 of bytes.
    fn mma(&mut self, a: ExprId, b: ExprId, c: ExprId) -> Result<Value<'c>> {
        let ir = self.cx.ir;
        let elem = |e| match self.prim.exprs.ty(e).elem {
            Elem::Scalar(dtype) => dtype,
            Elem::Index => DType::I64,
        };
        // The halves of bf16, and bytes, are words to the intrinsic, those of f16 vectors of two.
        let (name, pair, of) = match (elem(a), elem(b)) {
            (DType::BF16, _) => ("llvm.nvvm.mma.m16n8k16.row.col.bf16", ir.int(32), ir.float(32)),
            (DType::F16, _) => ("llvm.nvvm.mma.m16n8k16.row.col.f32.f32", ir.float(16).times(2), ir.float(32)),
            (DType::I8, DType::I8) => ("llvm.nvvm.mma.m16n8k32.row.col.s8", ir.int(32), ir.int(32)),
            (DType::U8, DType::U8) => ("llvm.nvvm.mma.m16n8k32.row.col.u8", ir.int(32), ir.int(32)),
            (DType::I8, DType::U8) => ("llvm.nvvm.mma.m16n8k32.row.col.s8.u8", ir.int(32), ir.int(32)),
            (DType::U8, DType::I8) => ("llvm.nvvm.mma.m16n8k32.row.col.u8.s8", ir.int(32), ir.int(32)),
            _ => return Err("a product of what are neither halves nor bytes".into()),
        };
        let mut given = Vec::new();
        for (operand, words) in [(a, 4), (b, 2)] {
            let all = ir.bitcast(self.expr(operand)?, ir.int(32).times(words));
            given.extend((0..words).map(|n| ir.bitcast(ir.extract(all, n), pair)));
        }
        let sum = self.expr(c)?;
        given.extend((0..4).map(|n| ir.extract(sum, n)));
        let sums = ir.together(ir.intrinsic(name, &[], &given));
        Ok(self.vector_of(sums, of, 4))
    }

    /// What a value is in another thread of the warp, in words of 32 bits.
    fn shuffled(&self, bit: Bit, value: Value<'c>) -> Value<'c> {
        let (ir, ty) = (self.cx.ir, value.ty());
        let (word, bits) = (ir.int(32), ty.bits());
        let raw = ir.bitcast(value, ir.int(bits));
        if bits <= 32 {
            let given = self.shuffled_word(bit, ir.resize(false, raw, word));
            return ir.bitcast(ir.resize(false, given, ir.int(bits)), ty);
        }
        let mut words = ir.bitcast(raw, word.times(bits / 32));
        for n in 0..bits / 32 {
            words = ir.insert(words, self.shuffled_word(bit, ir.extract(words, n)), n);
        }
        ir.bitcast(words, ty)
    }

    fn shuffled_word(&self, bit: Bit, value: Value<'c>) -> Value<'c> {
        let ir = self.cx.ir;
        let number = |n: i64| ir.const_int(ir.int(32), n);
        // All threads of the warp take part, each from one of the same 32.
        let given = [number(-1), value, number(bit.number()), number(WARP - 1)];
        ir.together(ir.intrinsic("llvm.nvvm.shfl.sync.bfly.i32", &[], &given))
    }

    /// The parts of what an intrinsic gives, as a vector.
    pub(super) fn vector_of(&self, parts: Value<'c>, of: Type<'c>, count: u32) -> Value<'c> {
        let ir = self.cx.ir;
        let empty = ir.poison(of.times(count));
        (0..count).fold(empty, |vector, n| ir.insert(vector, ir.part(parts, n), n))
    }
}
