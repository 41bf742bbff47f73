//! Floats of 32 and 64 bits. Nothing is left to a driver's idea of precision but division and the square root, of which
//! Vulkan promises 2.5 units in the last place.

use spirv::{GlslStd450Op as Glsl, Op};
use tenfold_ir::op::{BinaryOp, UnaryOp};

use super::expr::{Cannot, Made};
use super::kind::{F32, F64, Kind};
use super::out::{Id, Out};

/// What the bits of a float are as an integer.
pub(super) fn word_of(kind: Kind) -> Kind {
    Kind::Int { signed: false, bits: if kind == F64 { 64 } else { 32 } }
}

/// The bits of infinity.
fn endless(kind: Kind) -> u64 {
    if kind == F64 { f64::INFINITY.to_bits() } else { u64::from(f32::INFINITY.to_bits()) }
}

impl Out {
    /// The same bits as another kind of that width.
    pub(super) fn reinterpret(&mut self, to: Kind, a: Id) -> Id {
        let ty = self.register(to);
        self.op(Op::Bitcast, ty, &[a])
    }

    pub(super) fn abs_float(&mut self, kind: Kind, a: Id) -> Id {
        let ty = self.register(kind);
        self.glsl(Glsl::FAbs, ty, &[a])
    }

    /// The bits without the sign.
    pub(super) fn size(&mut self, kind: Kind, a: Id) -> Id {
        let word = word_of(kind);
        let (ty, bits) = (self.register(word), self.reinterpret(word, a));
        let mask = self.constant(word, if kind == F64 { u64::MAX >> 1 } else { u64::from(u32::MAX >> 1) });
        self.op(Op::BitwiseAnd, ty, &[bits, mask])
    }

    /// How the bits without the sign compare with infinity's: drivers may take comparisons of floats to see no NaN.
    pub(super) fn beside_endless(&mut self, op: Op, kind: Kind, a: Id) -> Id {
        let size = self.size(kind, a);
        let limit = self.constant(word_of(kind), endless(kind));
        self.test(op, size, limit)
    }

    pub(super) fn is_nan(&mut self, kind: Kind, a: Id) -> Id {
        self.beside_endless(Op::UGreaterThan, kind, a)
    }

    pub(super) fn float_unary(&mut self, op: UnaryOp, kind: Kind, a: Id) -> Made {
        let ty = self.register(kind);
        Ok(match op {
            UnaryOp::Neg => self.exact(Op::FNegate, ty, &[a]),
            UnaryOp::Abs => self.abs_float(kind, a),
            UnaryOp::Sign => {
                let (zero, one, less) = (self.real(kind, 0.0), self.real(kind, 1.0), self.real(kind, -1.0));
                let (above, below) = (self.test(Op::FOrdGreaterThan, a, zero), self.test(Op::FOrdLessThan, a, zero));
                let rest = self.select(kind, below, less, a);
                self.select(kind, above, one, rest)
            }
            UnaryOp::Floor => self.glsl(Glsl::Floor, ty, &[a]),
            UnaryOp::Ceil => self.glsl(Glsl::Ceil, ty, &[a]),
            UnaryOp::Round if kind == F64 => self.round_f64(a),
            UnaryOp::Round => self.glsl(Glsl::RoundEven, ty, &[a]),
            UnaryOp::Trunc => self.glsl(Glsl::Trunc, ty, &[a]),
            UnaryOp::Sqrt => self.glsl(Glsl::Sqrt, ty, &[a]),
            UnaryOp::IsNan => self.is_nan(kind, a),
            UnaryOp::IsInf => self.beside_endless(Op::IEqual, kind, a),
            UnaryOp::IsFinite => self.beside_endless(Op::ULessThan, kind, a),
            _ => return Err(Cannot::unexpanded(format!("{op:?} of {}", kind.name()))),
        })
    }

    /// The nearest whole number, of two the even one: drivers are known to take the other of two. Above 2^52 all are
    /// whole, so the sum with it has no fraction.
    fn round_f64(&mut self, a: Id) -> Id {
        self.helper("round_f64", F64, &[(F64, a)], |out, args| {
            let (ty, word) = (out.float(64), word_of(F64));
            let (size, limit) = (out.abs_float(F64, args[0]), out.real(F64, 2.0f64.powi(52)));
            let sum = out.exact(Op::FAdd, ty, &[size, limit]);
            let near = out.exact(Op::FSub, ty, &[sum, limit]);
            let (bits, near) = (out.reinterpret(word, args[0]), out.reinterpret(word, near));
            let (bits_ty, top) = (out.register(word), out.constant(word, 1 << 63));
            let sign = out.op(Op::BitwiseAnd, bits_ty, &[bits, top]);
            let near = out.op(Op::BitwiseOr, bits_ty, &[near, sign]);
            let near = out.reinterpret(F64, near);
            let small = out.test(Op::FOrdLessThan, size, limit);
            out.select(F64, small, near, args[0])
        })
    }

    pub(super) fn float_binary(&mut self, op: BinaryOp, kind: Kind, a: Id, b: Id) -> Made {
        let ty = self.register(kind);
        Ok(match op {
            BinaryOp::Add => self.exact(Op::FAdd, ty, &[a, b]),
            BinaryOp::Sub => self.exact(Op::FSub, ty, &[a, b]),
            BinaryOp::Mul => self.exact(Op::FMul, ty, &[a, b]),
            BinaryOp::Div => self.exact(Op::FDiv, ty, &[a, b]),
            BinaryOp::Min => self.least(kind, a, b, true),
            BinaryOp::Max => self.least(kind, a, b, false),
            BinaryOp::Rem => self.float_rem(kind, a, b),
            BinaryOp::RemEuclid => self.float_rem_euclid(kind, a, b),
            BinaryOp::DivEuclid => self.float_div_euclid(kind, a, b),
            _ => return Err(Cannot::unexpanded(format!("{op:?} of {}", kind.name()))),
        })
    }

    /// The smaller or the greater one; NaN where one is, and -0 below 0.
    fn least(&mut self, kind: Kind, a: Id, b: Id, smaller: bool) -> Id {
        let name = match (kind == F64, smaller) {
            (false, true) => "min_f32",
            (false, false) => "max_f32",
            (true, true) => "min_f64",
            (true, false) => "max_f64",
        };
        self.helper(name, kind, &[(kind, a), (kind, b)], |out, args| {
            let (a, b) = (args[0], args[1]);
            let (before, behind) = if smaller { (a, b) } else { (b, a) };
            let first = out.test(Op::FOrdLessThan, before, behind);
            let second = out.test(Op::FOrdGreaterThan, before, behind);
            let word = word_of(kind);
            let (x, y) = (out.reinterpret(word, a), out.reinterpret(word, b));
            let ty = out.register(word);
            let both = out.op(if smaller { Op::BitwiseOr } else { Op::BitwiseAnd }, ty, &[x, y]);
            let equal = out.reinterpret(kind, both);
            let rest = out.select(kind, second, b, equal);
            let rest = out.select(kind, first, a, rest);
            let (nan_a, nan_b) = (out.is_nan(kind, a), out.is_nan(kind, b));
            let rest = out.select(kind, nan_b, b, rest);
            out.select(kind, nan_a, a, rest)
        })
    }

    /// `a * b + c` with one rounding. The product is exact in f64, and a sum that is rounded to odd may be rounded once
    /// more; Vulkan's own may round twice.
    pub(super) fn fma_f32(&mut self, a: Id, b: Id, c: Id) -> Id {
        self.helper("fma_f32", F32, &[(F32, a), (F32, b), (F32, c)], |out, args| {
            let (wide, f32) = (out.float(64), out.float(32));
            let [x, y, z] = [0, 1, 2].map(|n| out.op(Op::FConvert, wide, &[args[n]]));
            let p = out.exact(Op::FMul, wide, &[x, y]);
            let s = out.exact(Op::FAdd, wide, &[p, z]);
            let part = out.exact(Op::FSub, wide, &[s, p]);
            let rest = out.exact(Op::FSub, wide, &[s, part]);
            let lost_p = out.exact(Op::FSub, wide, &[p, rest]);
            let lost_z = out.exact(Op::FSub, wide, &[z, part]);
            let lost = out.exact(Op::FAdd, wide, &[lost_p, lost_z]);
            let zero = out.real(F64, 0.0);
            let up = out.test(Op::FOrdGreaterThan, lost, zero);
            let some = out.test(Op::FOrdNotEqual, lost, zero);
            let positive = out.test(Op::FOrdGreaterThan, s, zero);
            let word = word_of(F64);
            let (ty, bits) = (out.register(word), out.reinterpret(word, s));
            let (one, none) = (out.number(word, 1), out.number(word, 0));
            let last = out.op(Op::BitwiseAnd, ty, &[bits, one]);
            let even = out.test(Op::IEqual, last, none);
            let away = out.test(Op::LogicalEqual, up, positive);
            let less = out.number(word, -1);
            let step = out.select(word, away, one, less);
            let moved = out.op(Op::IAdd, ty, &[bits, step]);
            let moves = out.test(Op::LogicalAnd, some, even);
            let bits = out.select(word, moves, moved, bits);
            let odd = out.reinterpret(F64, bits);
            out.op(Op::FConvert, f32, &[odd])
        })
    }
}
