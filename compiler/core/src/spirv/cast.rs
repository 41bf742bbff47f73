//! Conversions, as Rust's `as` has them.

use spirv::Op;

use super::expr::{Cannot, Made};
use super::kind::{F32, F64, I32, Kind};
use super::out::{Id, Out};

impl Out {
    pub(super) fn cast(&mut self, from: Kind, to: Kind, a: Id) -> Made {
        if from == to {
            return Ok(a);
        }
        match (from, to) {
            (_, Kind::Bool) => Ok(self.is_set(from, a)),
            (Kind::Bool, Kind::Int { .. }) => {
                let (one, zero) = (self.number(to, 1), self.number(to, 0));
                Ok(self.select(to, a, one, zero))
            }
            (Kind::Bool, Kind::Float { .. }) => {
                let (one, zero) = (self.real(to, 1.0), self.real(to, 0.0));
                Ok(self.select(to, a, one, zero))
            }
            (Kind::Int { .. }, Kind::Int { .. }) => Ok(self.resized(from, to, a)),
            (Kind::Int { signed, .. }, Kind::Float { .. }) => {
                let ty = self.register(to);
                Ok(self.op(if signed { Op::ConvertSToF } else { Op::ConvertUToF }, ty, &[a]))
            }
            (Kind::Float { .. }, Kind::Float { .. }) => {
                let ty = self.register(to);
                Ok(self.op(Op::FConvert, ty, &[a]))
            }
            (Kind::Float { .. }, Kind::Int { .. }) => Ok(self.truncated(from, to, a)),
            (Kind::Half { brain }, _) => {
                let wide = self.half_to(brain, a);
                self.cast(F32, to, wide)
            }
            (_, Kind::Half { brain }) => self.rounded(from, brain, a),
        }
    }

    /// Whether it is not 0, as NaN is not.
    fn is_set(&mut self, from: Kind, a: Id) -> Id {
        match from {
            Kind::Bool => a,
            Kind::Int { .. } => {
                let zero = self.number(from, 0);
                self.test(Op::INotEqual, a, zero)
            }
            Kind::Half { .. } => {
                let (ty, mask, zero) = (self.int(32), self.word(0x7fff), self.word(0));
                let size = self.op(Op::BitwiseAnd, ty, &[a, mask]);
                self.test(Op::INotEqual, size, zero)
            }
            Kind::Float { .. } => {
                let zero = self.real(from, 0.0);
                self.test(Op::FUnordNotEqual, a, zero)
            }
        }
    }

    fn resized(&mut self, from: Kind, to: Kind, a: Id) -> Id {
        let wide = |kind| matches!(kind, Kind::Int { bits: 64, .. });
        let ty = self.register(to);
        match (wide(from), wide(to)) {
            (false, true) => self.op(if from.is_signed() { Op::SConvert } else { Op::UConvert }, ty, &[a]),
            (true, false) => {
                let low = self.op(Op::UConvert, ty, &[a]);
                self.wrapped(to, low)
            }
            _ => self.wrapped(to, a),
        }
    }

    /// A float without its fraction, kept in the range of the integer; 0 for NaN.
    fn truncated(&mut self, from: Kind, to: Kind, a: Id) -> Id {
        let Kind::Int { signed, bits } = to else { return a };
        let width = bits.max(32);
        let wide = Kind::Int { signed, bits: width };
        let (low, high) = if signed {
            (-2.0f64.powi(width as i32 - 1), 2.0f64.powi(width as i32 - 1))
        } else {
            (0.0, 2.0f64.powi(width as i32))
        };
        let (least, greatest) =
            if signed { (1u64 << (width - 1), (1u64 << (width - 1)) - 1) } else { (0, u64::MAX >> (64 - width)) };
        let (low, high, zero) = (self.real(from, low), self.real(from, high), self.real(from, 0.0));
        let (least, greatest) = (self.constant(wide, least), self.constant(wide, greatest));
        let from_low = self.test(Op::FOrdGreaterThanEqual, a, low);
        let to_high = self.test(Op::FOrdLessThan, a, high);
        let inside = self.test(Op::LogicalAnd, from_low, to_high);
        let safe = self.select(from, inside, a, zero);
        let ty = self.register(wide);
        let inner = self.op(if signed { Op::ConvertFToS } else { Op::ConvertFToU }, ty, &[safe]);
        let above = self.test(Op::FOrdGreaterThanEqual, a, high);
        let below = self.test(Op::FOrdLessThan, a, low);
        let out = self.select(wide, above, greatest, inner);
        let out = self.select(wide, below, least, out);
        if bits < 32 { self.clamped(wide, to, out) } else { out }
    }

    /// The nearest value of a narrow integer.
    fn clamped(&mut self, wide: Kind, to: Kind, a: Id) -> Id {
        let Kind::Int { signed, bits } = to else { return a };
        let (least, greatest) = if signed { (-1 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
        let (least, greatest) = (self.number(wide, least), self.number(wide, greatest));
        let (less, greater) =
            if signed { (Op::SLessThan, Op::SGreaterThan) } else { (Op::ULessThan, Op::UGreaterThan) };
        let above = self.test(greater, a, greatest);
        let out = self.select(wide, above, greatest, a);
        let below = self.test(less, out, least);
        self.select(wide, below, least, out)
    }

    /// To 16 bits, rounded once.
    fn rounded(&mut self, from: Kind, brain: bool, a: Id) -> Made {
        let value = match from {
            F32 => a,
            F64 => self.odd_f32(a),
            Kind::Bool | Kind::Int { bits: 8 | 16, .. } => self.cast(from, F32, a)?,
            // What an f32 does not hold is beyond the greatest f16.
            Kind::Int { .. } if !brain => self.cast(from, F32, a)?,
            Kind::Int { bits: 32, signed } => {
                let odd = self.odd_low(signed, a);
                self.cast(from, F32, odd)?
            }
            _ => {
                let what = format!("the conversion of {} to bf16", from.name());
                return Err(Cannot { what, why: "it would round twice; convert to f32 before" });
            }
        };
        Ok(self.half_of(brain, value))
    }

    /// An integer of which an f32 holds all bits, and which rounds to fewer as this one: where it is large, its low 8
    /// bits are one odd bit.
    fn odd_low(&mut self, signed: bool, a: Id) -> Id {
        let kind = Kind::Int { signed, bits: 32 };
        let ty = self.int(32);
        let (low, high) = (self.word(0xff), self.word(!0xff));
        let (zero, sticky) = (self.word(0), self.word(0x100));
        let lost = self.op(Op::BitwiseAnd, ty, &[a, low]);
        let some = self.test(Op::INotEqual, lost, zero);
        let odd = self.select(I32, some, sticky, zero);
        let kept = self.op(Op::BitwiseAnd, ty, &[a, high]);
        let odd = self.op(Op::BitwiseOr, ty, &[kept, odd]);
        let neg = self.negated(kind, a);
        let below = self.test(Op::SLessThan, a, zero);
        let size = if signed { self.select(I32, below, neg, a) } else { a };
        let limit = self.word(1 << 24);
        let large = self.test(Op::UGreaterThanEqual, size, limit);
        self.select(kind, large, odd, a)
    }
}
