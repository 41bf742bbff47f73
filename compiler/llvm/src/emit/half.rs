//! 16-bit floats: to and from `f32`.
//!
//! LLVM's own conversions are calls of a runtime library where the processor has none, and not
//! every Rust target carries those functions. Only where there is an instruction is it asked for.

use super::ops::Ops;
use crate::ir::{Freedom, Int, Real, Value};

impl<'c> Ops<'_, 'c, '_> {
    /// The bits of a 16-bit float as `f32`, exactly.
    pub(super) fn extend(&self, brain: bool, a: Value<'c>) -> Value<'c> {
        let ir = self.ir;
        let lanes = a.ty().lanes();
        let (word, float) = (ir.int(32).times(lanes), ir.float(32).times(lanes));
        if brain {
            let high = ir.shl(ir.resize(false, a, word), ir.const_int(word, 16));
            return ir.bitcast(high, float);
        }
        if self.unit.half {
            return ir.fresize(ir.bitcast(a, ir.float(16).times(lanes)), float);
        }
        let constant = |value| ir.const_int(word, value);
        let bits = ir.resize(false, a, word);
        let size = ir.and(bits, constant(0x7fff));
        let sign = ir.shl(ir.and(bits, constant(0x8000)), constant(16));
        let moved = ir.bitcast(ir.shl(size, constant(13)), float);
        // Scaling by a power of two moves the exponent, of subnormals too.
        let scaled = ir.fmul(Freedom::default(), moved, ir.const_float(float, 2f64.powi(112)));
        let scaled = ir.bitcast(scaled, word);
        let special = ir.icmp(Int::LLVMIntUGE, size, constant(0x7c00));
        let full = ir.or(ir.shl(size, constant(13)), constant(0x7f80_0000));
        ir.bitcast(ir.or(ir.select(special, full, scaled), sign), float)
    }

    /// The nearest 16-bit float, ties to even, as its bits.
    pub(super) fn round_half(&self, brain: bool, a: Value<'c>) -> Value<'c> {
        let ir = self.ir;
        let lanes = a.ty().lanes();
        let short = ir.int(16).times(lanes);
        if brain && self.unit.brain {
            return ir.bitcast(ir.fresize(a, ir.brain().times(lanes)), short);
        }
        if brain {
            return ir.resize(false, self.round_brain(a), short);
        }
        if self.unit.half {
            return ir.bitcast(ir.fresize(a, ir.float(16).times(lanes)), short);
        }
        ir.resize(false, self.round_binary16(a), short)
    }

    fn round_brain(&self, a: Value<'c>) -> Value<'c> {
        let ir = self.ir;
        let word = ir.int_like(a.ty());
        let constant = |value| ir.const_int(word, value);
        let bits = ir.bitcast(a, word);
        let high = ir.shr(false, bits, constant(16));
        let bias = ir.add(constant(0x7fff), ir.and(high, constant(1)));
        let rounded = ir.shr(false, ir.add(bits, bias), constant(16));
        let nan = ir.fcmp(Real::LLVMRealUNO, a, a);
        ir.select(nan, ir.or(high, constant(0x40)), rounded)
    }

    fn round_binary16(&self, a: Value<'c>) -> Value<'c> {
        let ir = self.ir;
        let word = ir.int_like(a.ty());
        let constant = |value| ir.const_int(word, value);
        let bits = ir.bitcast(a, word);
        let size = ir.and(bits, constant(0x7fff_ffff));
        let sign = ir.shr(false, ir.and(bits, constant(0x8000_0000)), constant(16));
        // Adding this float leaves the subnormal's bits at the low end, rounded.
        let magic = constant(126 << 23);
        let small = ir.fadd(Freedom::default(), ir.bitcast(size, a.ty()), ir.bitcast(magic, a.ty()));
        let small = ir.sub(ir.bitcast(small, word), magic);
        // A carry out of the fraction moves the exponent up, to infinity at the end.
        let odd = ir.and(ir.shr(false, size, constant(13)), constant(1));
        let bias = constant(-((127 - 15) << 23) + 0xfff);
        let normal = ir.shr(false, ir.add(ir.add(size, bias), odd), constant(13));
        let is_small = ir.icmp(Int::LLVMIntULT, size, constant(113 << 23));
        let finite = ir.select(is_small, small, normal);
        let nan = ir.icmp(Int::LLVMIntUGT, size, constant(255 << 23));
        let large = ir.select(nan, constant(0x7e00), constant(0x7c00));
        let is_large = ir.icmp(Int::LLVMIntUGE, size, constant(143 << 23));
        ir.or(ir.select(is_large, large, finite), sign)
    }

    /// An `f64` as `f32`, rounded to odd: rounding the result to 16 bits is then rounding once.
    pub(super) fn narrow_to_odd(&self, a: Value<'c>) -> Value<'c> {
        let ir = self.ir;
        let float = ir.float(32).times(a.ty().lanes());
        let word = ir.int_like(float);
        let near = ir.fresize(a, float);
        let back = ir.fresize(near, a.ty());
        let size = |x: Value<'c>| ir.intrinsic("llvm.fabs", &[a.ty()], &[x]);
        let away = ir.fcmp(Real::LLVMRealOGT, size(back), size(a));
        let inexact = ir.fcmp(Real::LLVMRealONE, back, a);
        let below = ir.sub(ir.bitcast(near, word), ir.resize(false, away, word));
        ir.bitcast(ir.or(below, ir.resize(false, inexact, word)), float)
    }
}
