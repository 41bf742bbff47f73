//! Operations on floats, by their bits.

use crate::integer::{One, Three, Two};
use crate::kind::{Kind, Type};
use crate::round::{BF16, F16, F32, F64, Format, Mode, add_to_odd};

/// Floats of one format. Every NaN that an operation makes is the same one.
trait Float {
    const FORMAT: Format;

    fn value(bits: u64) -> f64 {
        Self::FORMAT.value(bits)
    }

    /// The float next to a number.
    fn near(value: f64) -> u64 {
        Self::FORMAT.of(value, Mode::Nearest)
    }

    fn add(a: u64, b: u64) -> u64 {
        Self::near(add_to_odd(Self::value(a), Self::value(b)))
    }

    // Twice the bits of a half and two more are fewer than 53, so that rounding twice does no harm.
    fn mul(a: u64, b: u64) -> u64 {
        Self::near(Self::value(a) * Self::value(b))
    }

    fn div(a: u64, b: u64) -> u64 {
        Self::near(Self::value(a) / Self::value(b))
    }

    fn sqrt(a: u64) -> u64 {
        Self::near(Self::value(a).sqrt())
    }

    fn fma(a: u64, b: u64, c: u64) -> u64 {
        Self::near(add_to_odd(Self::value(a) * Self::value(b), Self::value(c)))
    }
}

struct Half;
struct Brain;
struct Single;
struct Double;

impl Float for Half {
    const FORMAT: Format = F16;
}

impl Float for Brain {
    const FORMAT: Format = BF16;
}

/// The bits of a number of single precision.
fn single(value: f32) -> u64 {
    if value.is_nan() { F32.nan() } else { value.to_bits().into() }
}

/// The number of single precision that bits are.
fn of_single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

impl Float for Single {
    const FORMAT: Format = F32;

    fn near(value: f64) -> u64 {
        single(value as f32)
    }

    fn add(a: u64, b: u64) -> u64 {
        single(of_single(a) + of_single(b))
    }

    fn mul(a: u64, b: u64) -> u64 {
        single(of_single(a) * of_single(b))
    }

    fn div(a: u64, b: u64) -> u64 {
        single(of_single(a) / of_single(b))
    }

    fn sqrt(a: u64) -> u64 {
        single(of_single(a).sqrt())
    }

    fn fma(a: u64, b: u64, c: u64) -> u64 {
        single(of_single(a).mul_add(of_single(b), of_single(c)))
    }
}

impl Float for Double {
    const FORMAT: Format = F64;

    fn near(value: f64) -> u64 {
        if value.is_nan() { F64.nan() } else { value.to_bits() }
    }

    fn add(a: u64, b: u64) -> u64 {
        Self::near(f64::from_bits(a) + f64::from_bits(b))
    }

    fn fma(a: u64, b: u64, c: u64) -> u64 {
        Self::near(f64::from_bits(a).mul_add(f64::from_bits(b), f64::from_bits(c)))
    }
}

/// The bit of the sign.
fn sign<F: Float>() -> u64 {
    1 << (F::FORMAT.exponent + F::FORMAT.mantissa)
}

fn neg<F: Float>(a: u64) -> u64 {
    a ^ sign::<F>()
}

fn abs<F: Float>(a: u64) -> u64 {
    a & !sign::<F>()
}

fn sub<F: Float>(a: u64, b: u64) -> u64 {
    F::add(a, neg::<F>(b))
}

fn reciprocal<F: Float>(a: u64) -> u64 {
    F::div(F::near(1.0), a)
}

/// The second with the sign of the first.
fn with_sign<F: Float>(a: u64, b: u64) -> u64 {
    a & sign::<F>() | abs::<F>(b)
}

/// Whether the first is chosen as the lesser of two numbers, of zeros the one with a sign.
fn is_less(a: f64, b: f64) -> bool {
    a < b || a == b && a.is_sign_negative()
}

/// The lesser or the greater; of a number and a NaN the number, or a NaN.
fn choose<F: Float>(a: u64, b: u64, greater: bool, keep_nan: bool) -> u64 {
    let (x, y) = (F::value(a), F::value(b));
    match (x.is_nan(), y.is_nan()) {
        (false, false) if is_less(x, y) != greater => a,
        (false, false) => b,
        (true, true) => F::FORMAT.nan(),
        (true, false) if !keep_nan => b,
        (false, true) if !keep_nan => a,
        _ => F::FORMAT.nan(),
    }
}

fn min<F: Float>(a: u64, b: u64) -> u64 {
    choose::<F>(a, b, false, false)
}

fn max<F: Float>(a: u64, b: u64) -> u64 {
    choose::<F>(a, b, true, false)
}

fn min_nan<F: Float>(a: u64, b: u64) -> u64 {
    choose::<F>(a, b, false, true)
}

fn max_nan<F: Float>(a: u64, b: u64) -> u64 {
    choose::<F>(a, b, true, true)
}

fn add<F: Float>(a: u64, b: u64) -> u64 {
    F::add(a, b)
}

fn mul<F: Float>(a: u64, b: u64) -> u64 {
    F::mul(a, b)
}

fn div<F: Float>(a: u64, b: u64) -> u64 {
    F::div(a, b)
}

fn sqrt<F: Float>(a: u64) -> u64 {
    F::sqrt(a)
}

fn fma<F: Float>(a: u64, b: u64, c: u64) -> u64 {
    F::fma(a, b, c)
}

/// An operation for the format of a type, and for pairs of halves.
macro_rules! formats {
    ($ty:expr, $f:ident($($arg:ident),*)) => {{
        fn pair<F: Float>($($arg: u64),*) -> u64 {
            $f::<F>($($arg & 0xFFFF),*) & 0xFFFF | $f::<F>($($arg >> 16 & 0xFFFF),*) << 16
        }
        match $ty.kind {
            Kind::Float(F16) => Some($f::<Half>),
            Kind::Float(BF16) => Some($f::<Brain>),
            Kind::Float(F32) => Some($f::<Single>),
            Kind::Float(F64) => Some($f::<Double>),
            Kind::Pair(F16) => Some(pair::<Half>),
            Kind::Pair(BF16) => Some(pair::<Brain>),
            _ => None,
        }
    }};
}

/// 0 in the place of a subnormal number.
fn flushed(x: f32) -> f32 {
    if x.is_subnormal() { 0.0 } else { x }
}

/// What an operation of one operand does; `how` is what stands between its name and its type.
pub(crate) fn one(name: &str, how: &[&str], ty: Type) -> Option<One> {
    match (name, how) {
        ("neg", []) => formats!(ty, neg(a)),
        ("abs", []) => formats!(ty, abs(a)),
        ("sqrt", ["rn"]) if ty.bits >= 32 => formats!(ty, sqrt(a)),
        // By the manual it is not exact; here it is as near as it can be.
        ("ex2", ["approx", "ftz"]) if ty.kind == Kind::Float(F32) => {
            Some(|a| single(flushed(flushed(of_single(a)).exp2())))
        }
        ("rcp", ["rn"]) if ty.bits >= 32 => formats!(ty, reciprocal(a)),
        _ => None,
    }
}

/// What an operation of two operands does.
pub(crate) fn two(name: &str, how: &[&str], ty: Type) -> Option<Two> {
    match (name, how) {
        ("add", [] | ["rn"]) => formats!(ty, add(a, b)),
        ("sub", [] | ["rn"]) => formats!(ty, sub(a, b)),
        ("mul", [] | ["rn"]) => formats!(ty, mul(a, b)),
        ("div", ["rn"]) if ty.bits >= 32 => formats!(ty, div(a, b)),
        ("copysign", []) if ty.bits >= 32 => formats!(ty, with_sign(a, b)),
        ("min", []) => formats!(ty, min(a, b)),
        ("max", []) => formats!(ty, max(a, b)),
        // The type of double precision has no such forms.
        ("min", ["NaN"]) if ty.bits <= 32 => formats!(ty, min_nan(a, b)),
        ("max", ["NaN"]) if ty.bits <= 32 => formats!(ty, max_nan(a, b)),
        _ => None,
    }
}

/// What an operation of three operands does.
pub(crate) fn three(name: &str, how: &[&str], ty: Type) -> Option<Three> {
    match (name, how) {
        ("fma", ["rn"]) => formats!(ty, fma(a, b, c)),
        _ => None,
    }
}

fn compare<F: Float, const OP: u8>(a: u64, b: u64) -> u64 {
    let (a, b) = (F::value(a), F::value(b));
    let ordered = !a.is_nan() && !b.is_nan();
    u64::from(match OP {
        0 => a == b,
        1 => ordered && a != b,
        2 => a < b,
        3 => a <= b,
        4 => a > b,
        5 => a >= b,
        6 => !ordered || a == b,
        7 => a != b,
        8 => !ordered || a < b,
        9 => !ordered || a <= b,
        10 => !ordered || a > b,
        11 => !ordered || a >= b,
        12 => ordered,
        _ => !ordered,
    })
}

/// A comparison of floats.
pub(crate) fn comparison(name: &str, ty: Type) -> Option<Two> {
    macro_rules! by {
        ($($name:literal => $op:literal),*) => {
            match name {
                $($name => match ty.kind {
                    Kind::Float(F16) => Some(compare::<Half, $op>),
                    Kind::Float(BF16) => Some(compare::<Brain, $op>),
                    Kind::Float(F32) => Some(compare::<Single, $op>),
                    Kind::Float(F64) => Some(compare::<Double, $op>),
                    _ => None,
                },)*
                _ => None,
            }
        };
    }
    by!("eq" => 0, "ne" => 1, "lt" => 2, "le" => 3, "gt" => 4, "ge" => 5, "equ" => 6, "neu" => 7, "ltu" => 8, "leu" => 9,
        "gtu" => 10, "geu" => 11, "num" => 12, "nan" => 13)
}

#[cfg(test)]
mod tests {
    use super::{comparison, one, three, two};
    use crate::kind::Type;

    fn ty(name: &str) -> Type {
        Type::of(name).expect("a type")
    }

    const NAN: u64 = 0x7FC0_0000;
    const ONE: u64 = 0x3F80_0000;

    #[test]
    fn the_lesser_is_a_number_unless_nan_is_asked_for() {
        let call = |name: &str, how: &[&str], a, b| two(name, how, ty("f32")).expect("an operation")(a, b);
        assert_eq!([call("min", &[], NAN, ONE), call("max", &[], ONE, NAN)], [ONE, ONE]);
        assert_eq!(call("min", &["NaN"], NAN, ONE), 0x7FFF_FFFF);
        assert_eq!([call("min", &[], 0, 1 << 31), call("max", &[], 1 << 31, 0)], [1 << 31, 0]);
        assert!(two("min", &["NaN"], ty("f64")).is_none());
    }

    #[test]
    fn comparisons_know_nan() {
        let call = |name: &str, a, b| comparison(name, ty("f32")).expect("a comparison")(a, b);
        assert_eq!(
            [call("lt", NAN, ONE), call("ltu", NAN, ONE), call("ne", NAN, ONE), call("neu", NAN, ONE)],
            [0, 1, 0, 1]
        );
        assert_eq!([call("num", ONE, ONE), call("nan", ONE, NAN)], [1, 1]);
    }

    #[test]
    fn pairs_are_two_halves() {
        let mul = two("mul", &[], ty("f16x2")).expect("an operation");
        assert_eq!(mul(0x4000_3C00, 0x4200_C000), 0x4600_C000);
        let fma = three("fma", &["rn"], ty("f16")).expect("an operation");
        // 2049 has no half: with one quarter above the tie it goes up.
        assert_eq!(fma(0x6800, 0x3C00, 0x3D00), 0x6801);
        assert_eq!(one("abs", &[], ty("f16x2")).expect("an operation")(0xBC00_8001), 0x3C00_0001);
    }
}
