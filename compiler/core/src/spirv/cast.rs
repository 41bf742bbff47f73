//! Conversions, as Rust's `as` has them.

use spirv::Op;

use super::expr::Made;
use super::int::width;
use super::kind::{F32, F64, Kind};
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
            Kind::Int { .. } => {
                let odd = self.odd_low(from, a);
                self.cast(from, F32, odd)?
            }
            Kind::Half { .. } => self.cast(from, F32, a)?,
            Kind::Float { .. } => a,
        };
        Ok(self.half_of(brain, value))
    }

    /// An integer of which an f32 holds all bits, and which rounds to bf16 as this one: where it is large, one odd bit
    /// stands for its low ones.
    fn odd_low(&mut self, kind: Kind, a: Id) -> Id {
        let (ty, zero, neg) = (self.register(kind), self.number(kind, 0), self.negated(kind, a));
        let below = self.test(Op::SLessThan, a, zero);
        let size = if kind.is_signed() { self.select(kind, below, neg, a) } else { a };
        let mut value = a;
        for (least, low) in ODD.iter().filter(|(least, _)| *least < width(kind)) {
            let (mask, bit) = (self.constant(kind, (1 << low) - 1), self.constant(kind, 1 << low));
            let rest = self.constant(kind, !((1u64 << low) - 1));
            let lost = self.op(Op::BitwiseAnd, ty, &[value, mask]);
            let some = self.test(Op::INotEqual, lost, zero);
            let odd = self.select(kind, some, bit, zero);
            let kept = self.op(Op::BitwiseAnd, ty, &[value, rest]);
            let odd = self.op(Op::BitwiseOr, ty, &[kept, odd]);
            let limit = self.constant(kind, 1 << least);
            let large = self.test(Op::UGreaterThanEqual, size, limit);
            value = self.select(kind, large, odd, value);
        }
        value
    }
}

/// From which power of two on how many low bits become one: of what is left an f32 holds all, and bf16, which has 8 bits,
/// rounds by those above.
const ODD: &[(u32, u32)] = &[(24, 8), (32, 20), (44, 34), (58, 40)];
