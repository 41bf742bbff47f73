//! Conversions between types.

use crate::doubt::Spread;
use crate::kind::{Kind, Type, low, signed};
use crate::round::{Format, Mode};

/// A conversion, as the opcode says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Convert {
    from: Type,
    to: Type,
    /// How a float is rounded, or how a number becomes a whole one.
    mode: Mode,
    /// Whether a float is rounded to a whole number.
    whole: bool,
    saturate: bool,
}

/// The mode of this name, and whether it is one to whole numbers.
fn mode(name: &str) -> Option<(Mode, bool)> {
    Some(match name {
        "rn" => (Mode::Nearest, false),
        "rz" => (Mode::Zero, false),
        "rm" => (Mode::Down, false),
        "rp" => (Mode::Up, false),
        "rni" => (Mode::Nearest, true),
        "rzi" => (Mode::Zero, true),
        "rmi" => (Mode::Down, true),
        "rpi" => (Mode::Up, true),
        _ => return None,
    })
}

/// The range of a type of whole numbers.
fn range(ty: Type) -> (i128, i128) {
    match ty.kind {
        Kind::Signed => (-(1 << (ty.bits - 1)), (1 << (ty.bits - 1)) - 1),
        _ => (0, (1 << ty.bits) - 1),
    }
}

/// A number as a whole one.
fn integral(value: f64, mode: Mode) -> f64 {
    match mode {
        Mode::Nearest => value.round_ties_even(),
        Mode::Zero => value.trunc(),
        Mode::Down => value.floor(),
        Mode::Up => value.ceil(),
    }
}

impl Convert {
    /// The conversion that the parts of an opcode behind `cvt` say. Pairs are put together by whoever asks.
    pub(crate) fn of(parts: &[&str]) -> Option<Self> {
        let [how @ .., to, from] = parts else { return None };
        let (from, to) = (Type::of(from)?, Type::of(to)?);
        let half = |ty: Type| match ty.kind {
            Kind::Pair(format) => Type { kind: Kind::Float(format), bits: 16 },
            _ => ty,
        };
        let (mut rounding, mut saturate) = (None, false);
        for part in how {
            match *part {
                "sat" => saturate = true,
                part => rounding = Some(mode(part)?),
            }
        }
        let to = half(to);
        let (float, to_float) = (matches!(from.kind, Kind::Float(_)), matches!(to.kind, Kind::Float(_)));
        let narrows = match (from.kind, to.kind) {
            (Kind::Float(a), Kind::Float(b)) => a.mantissa > b.mantissa || a.exponent > b.exponent,
            _ => to_float,
        };
        // The manual wants a mode wherever something is rounded, and none elsewhere.
        let wanted = match (float, to_float) {
            (true, false) => Some(true),
            (_, true) if narrows => Some(false),
            (true, true) if from == to => rounding.map(|(_, whole)| whole).filter(|whole| *whole),
            _ => None,
        };
        if rounding.map(|(_, whole)| whole) != wanted || saturate && float && from.bits == 64 && to_float {
            return None;
        }
        let (mode, whole) = rounding.unwrap_or((Mode::Nearest, false));
        Some(Self { from, to, mode, whole, saturate })
    }

    /// The type of what comes out.
    pub(crate) fn to(self) -> Type {
        self.to
    }

    pub(crate) fn from(self) -> Type {
        self.from
    }

    /// How bits that are not known are handed on: they stay where they are if whole numbers are cut or extended.
    pub(crate) fn spread(self) -> Spread {
        let float = |ty: Type| matches!(ty.kind, Kind::Float(_));
        if float(self.from) || float(self.to) || self.saturate { Spread::Whole } else { Spread::Moved(1) }
    }

    /// What a value becomes; a number with a sign is one of 64 bits.
    pub(crate) fn call(self, value: u64) -> u64 {
        match (self.from.kind, self.to.kind) {
            (Kind::Float(from), Kind::Float(to)) => self.between(from.value(value), from, to),
            (Kind::Float(from), _) => self.to_integer(from.value(value)),
            (_, Kind::Float(to)) => to.of_integer(self.integer(value), self.mode),
            _ => self.integers(value),
        }
    }

    fn integer(self, value: u64) -> i128 {
        match self.from.kind {
            Kind::Signed => signed(value, self.from.bits).into(),
            _ => low(value, self.from.bits).into(),
        }
    }

    fn integers(self, value: u64) -> u64 {
        let (least, most) = range(self.to);
        let value = self.integer(value);
        let value = if self.saturate { value.clamp(least, most) } else { value };
        self.extended(value as u64)
    }

    /// The bits of a whole number of the type, its sign above them.
    fn extended(self, value: u64) -> u64 {
        if self.to.kind == Kind::Signed { signed(value, self.to.bits) as u64 } else { low(value, self.to.bits) }
    }

    fn between(self, value: f64, from: Format, to: Format) -> u64 {
        let value = if self.whole { integral(value, self.mode) } else { value };
        let value = match (self.saturate, value.is_nan()) {
            (true, true) => 0.0,
            (true, false) => value.clamp(0.0, 1.0),
            (false, _) => value,
        };
        let mode = if self.whole || from == to { Mode::Nearest } else { self.mode };
        to.of(value, mode)
    }

    /// Numbers beyond the range become its ends. NaN is 0 only between types of at most 32 bits.
    fn to_integer(self, value: f64) -> u64 {
        if value.is_nan() {
            let wide = self.from.bits == 64 || self.to.bits == 64;
            return self.extended(if wide { 1 << (self.to.bits - 1) } else { 0 });
        }
        let (least, most) = range(self.to);
        self.extended((integral(value, self.mode) as i128).clamp(least, most) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::Convert;

    fn call(opcode: &str, value: u64) -> u64 {
        let parts: Vec<&str> = opcode.split('.').collect();
        Convert::of(&parts).unwrap_or_else(|| panic!("{opcode}")).call(value)
    }

    #[test]
    fn modes_stand_where_something_is_rounded() {
        let refused = ["f16.f32", "rn.f32.f16", "u32.f32", "rn.u32.f32", "f32.s32", "rzi.f32.s32", "rn.s32.s16"];
        for opcode in refused {
            let parts: Vec<&str> = opcode.split('.').collect();
            assert_eq!(Convert::of(&parts), None, "{opcode}");
        }
    }

    #[test]
    fn integers_are_cut_and_extended() {
        assert_eq!([call("s16.s8", 0x1FF), call("u64.u16", 0x1_FFFF)], [u64::MAX, 0xFFFF]);
        assert_eq!([call("sat.u8.s32", 0xFFFF_FFFF), call("sat.s8.s32", 300)], [0, 127]);
    }

    #[test]
    fn floats_become_integers() {
        let half = u64::from(2.5_f32.to_bits());
        assert_eq!([call("rni.s32.f32", half), call("rpi.s32.f32", half), call("rzi.u16.f32", half)], [2, 3, 2]);
        assert_eq!(call("rzi.u32.f32", (-1.0_f32).to_bits().into()), 0);
        let nan = u64::from(f32::NAN.to_bits());
        assert_eq!([call("rzi.s32.f32", nan), call("rzi.u64.f32", nan)], [0, 1 << 63]);
        assert_eq!(call("rzi.u32.f64", f64::NAN.to_bits()), 1 << 31);
        assert_eq!(call("rzi.s8.f32", 1e9_f32.to_bits().into()), 127);
    }

    #[test]
    fn floats_become_floats() {
        assert_eq!([call("rn.f16.f32", 1.0_f32.to_bits().into()), call("f32.f16", 0xC000)], [0x3C00, 0xC000_0000]);
        assert_eq!(call("rn.bf16x2.f32", 1.0_f32.to_bits().into()), 0x3F80);
        assert_eq!(call("rni.f32.f32", 2.5_f32.to_bits().into()), 2.0_f32.to_bits().into());
        assert_eq!(call("sat.f32.f32", 2.5_f32.to_bits().into()), 1.0_f32.to_bits().into());
        assert_eq!(call("rn.f32.u64", u64::MAX), (u64::MAX as f32).to_bits().into());
    }
}
