//! 16-bit floats, as their bits: no device has to compute with them, or to round to them as IEEE 754 does.

use spirv::Op;

use super::kind::{F32, F64, Kind, U32};
use super::out::{Id, Out};

const F16: Kind = Kind::Half { brain: false };
const BF16: Kind = Kind::Half { brain: true };

impl Out {
    fn u(&mut self, op: Op, a: Id, b: u32) -> Id {
        let (ty, b) = (self.int(32), self.word(b));
        self.op(op, ty, &[a, b])
    }

    fn u2(&mut self, op: Op, a: Id, b: Id) -> Id {
        let ty = self.int(32);
        self.op(op, ty, &[a, b])
    }

    fn above(&mut self, a: Id, limit: u32) -> Id {
        let limit = self.word(limit);
        self.test(Op::UGreaterThan, a, limit)
    }

    /// The f32 that a 16-bit float is.
    pub(super) fn half_to(&mut self, brain: bool, x: Id) -> Id {
        if brain {
            let bits = self.u(Op::ShiftLeftLogical, x, 16);
            return self.reinterpret(F32, bits);
        }
        self.helper("f16_to", F32, &[(F16, x)], |out, args| out.f16_to(args[0]))
    }

    /// An f32 rounded to a 16-bit float.
    pub(super) fn half_of(&mut self, brain: bool, x: Id) -> Id {
        if brain {
            self.helper("bf16_of", BF16, &[(F32, x)], |out, args| out.bf16_of(args[0]))
        } else {
            self.helper("f16_of", F16, &[(F32, x)], |out, args| out.f16_of(args[0]))
        }
    }

    /// An f64 rounded to an f32 in such a way that it may be rounded again to fewer bits: an odd last bit stands for
    /// what was lost.
    pub(super) fn odd_f32(&mut self, x: Id) -> Id {
        self.helper("f32_odd", F32, &[(F64, x)], |out, args| {
            let (f32, f64) = (out.float(32), out.float(64));
            let near = out.op(Op::FConvert, f32, &[args[0]]);
            let back = out.op(Op::FConvert, f64, &[near]);
            let lost = out.test(Op::FOrdNotEqual, back, args[0]);
            let (a, b) = (out.abs_float(F64, back), out.abs_float(F64, args[0]));
            let outward = out.test(Op::FOrdGreaterThan, a, b);
            let bits = out.reinterpret(U32, near);
            let less = out.u(Op::ISub, bits, 1);
            let bits = out.select(U32, outward, less, bits);
            let odd = out.u(Op::BitwiseOr, bits, 1);
            let odd = out.reinterpret(F32, odd);
            out.select(F32, lost, odd, near)
        })
    }

    /// An f16 is numbers of three sorts: not finite, below the least normal number, and others, whose exponents move.
    fn f16_to(&mut self, h: Id) -> Id {
        let sign = self.u(Op::BitwiseAnd, h, 0x8000);
        let sign = self.u(Op::ShiftLeftLogical, sign, 16);
        let rest = self.u(Op::BitwiseAnd, h, 0x7fff);
        let wide = self.u(Op::ShiftLeftLogical, rest, 13);
        let normal = self.u(Op::IAdd, wide, 112 << 23);
        let endless = self.u(Op::BitwiseOr, wide, 0x7f80_0000);
        let f32 = self.float(32);
        let count = self.op(Op::ConvertUToF, f32, &[rest]);
        let unit = self.real(F32, f64::from(2.0f32.powi(-24)));
        let small = self.exact(Op::FMul, f32, &[count, unit]);
        let small = self.reinterpret(U32, small);
        let is_normal = self.above(rest, 0x3ff);
        let is_endless = self.above(rest, 0x7bff);
        let bits = self.select(U32, is_normal, normal, small);
        let bits = self.select(U32, is_endless, endless, bits);
        let bits = self.u2(Op::BitwiseOr, bits, sign);
        self.reinterpret(F32, bits)
    }

    fn f16_of(&mut self, x: Id) -> Id {
        let bits = self.reinterpret(U32, x);
        let sign = self.u(Op::ShiftRightLogical, bits, 16);
        let sign = self.u(Op::BitwiseAnd, sign, 0x8000);
        let size = self.u(Op::BitwiseAnd, bits, 0x7fff_ffff);
        // Adding a half leaves multiples of 2^-24, ties to even, in the low bits.
        let half = self.real(F32, 0.5);
        let (f32, value) = (self.float(32), self.reinterpret(F32, size));
        let small = self.exact(Op::FAdd, f32, &[value, half]);
        let small = self.reinterpret(U32, small);
        let small = self.u(Op::ISub, small, 0x3f00_0000);
        let last = self.u(Op::ShiftRightLogical, size, 13);
        let last = self.u(Op::BitwiseAnd, last, 1);
        let near = self.u(Op::IAdd, size, 0xfff);
        let near = self.u2(Op::IAdd, near, last);
        let near = self.u(Op::ShiftRightLogical, near, 13);
        let normal = self.u(Op::ISub, near, 112 << 10);
        let (endless, nan) = (self.word(0x7c00), self.word(0x7e00));
        let is_normal = self.above(size, 0x387f_ffff);
        let is_endless = self.above(size, 0x477f_efff);
        let is_nan = self.above(size, 0x7f80_0000);
        let out = self.select(U32, is_normal, normal, small);
        let out = self.select(U32, is_endless, endless, out);
        let out = self.select(U32, is_nan, nan, out);
        self.u2(Op::BitwiseOr, out, sign)
    }

    fn bf16_of(&mut self, x: Id) -> Id {
        let bits = self.reinterpret(U32, x);
        let last = self.u(Op::ShiftRightLogical, bits, 16);
        let odd = self.u(Op::BitwiseAnd, last, 1);
        let near = self.u(Op::IAdd, bits, 0x7fff);
        let near = self.u2(Op::IAdd, near, odd);
        let near = self.u(Op::ShiftRightLogical, near, 16);
        let nan = self.u(Op::BitwiseOr, last, 0x40);
        let size = self.u(Op::BitwiseAnd, bits, 0x7fff_ffff);
        let is_nan = self.above(size, 0x7f80_0000);
        self.select(U32, is_nan, nan, near)
    }
}
