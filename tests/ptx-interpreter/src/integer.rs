//! Operations on whole numbers and bits. Values are the lowest bits of 64; what is above the bits of a result is cut off by
//! whoever writes it.

use crate::kind::{Kind, Type, low, signed};

/// Operations of one, two and three operands.
pub(crate) type One = fn(u64) -> u64;
pub(crate) type Two = fn(u64, u64) -> u64;
pub(crate) type Three = fn(u64, u64, u64) -> u64;

/// A function for the number of bits of a type.
macro_rules! sized {
    ($bits:expr, $f:ident) => {
        match $bits {
            16 => Some($f::<16>),
            32 => Some($f::<32>),
            64 => Some($f::<64>),
            _ => None,
        }
    };
}

/// A function for a type with a sign, and one for a type without.
macro_rules! by_sign {
    ($ty:expr, $signed:ident, $unsigned:ident) => {
        match $ty.kind {
            Kind::Signed => sized!($ty.bits, $signed),
            Kind::Unsigned => sized!($ty.bits, $unsigned),
            _ => None,
        }
    };
}

fn min_s<const B: u32>(a: u64, b: u64) -> u64 {
    signed(a, B).min(signed(b, B)) as u64
}

fn max_s<const B: u32>(a: u64, b: u64) -> u64 {
    signed(a, B).max(signed(b, B)) as u64
}

fn min_u<const B: u32>(a: u64, b: u64) -> u64 {
    low(a, B).min(low(b, B))
}

fn max_u<const B: u32>(a: u64, b: u64) -> u64 {
    low(a, B).max(low(b, B))
}

fn abs_s<const B: u32>(a: u64) -> u64 {
    signed(a, B).unsigned_abs()
}

fn div_s<const B: u32>(a: u64, b: u64) -> u64 {
    signed(a, B).checked_div(signed(b, B)).unwrap_or(i64::MIN) as u64
}

fn div_u<const B: u32>(a: u64, b: u64) -> u64 {
    low(a, B).checked_div(low(b, B)).unwrap_or(u64::MAX)
}

fn rem_s<const B: u32>(a: u64, b: u64) -> u64 {
    signed(a, B).checked_rem(signed(b, B)).unwrap_or(0) as u64
}

fn rem_u<const B: u32>(a: u64, b: u64) -> u64 {
    low(a, B).checked_rem(low(b, B)).unwrap_or(0)
}

fn high_s<const B: u32>(a: u64, b: u64) -> u64 {
    ((i128::from(signed(a, B)) * i128::from(signed(b, B))) >> B) as u64
}

fn high_u<const B: u32>(a: u64, b: u64) -> u64 {
    ((u128::from(low(a, B)) * u128::from(low(b, B))) >> B) as u64
}

fn wide_s<const B: u32>(a: u64, b: u64) -> u64 {
    signed(a, B).wrapping_mul(signed(b, B)) as u64
}

fn wide_u<const B: u32>(a: u64, b: u64) -> u64 {
    low(a, B).wrapping_mul(low(b, B))
}

/// Amounts beyond the bits of the type are as many as it has.
fn left<const B: u32>(a: u64, by: u64) -> u64 {
    a.checked_shl(low(by, 32).min(B.into()) as u32).unwrap_or(0)
}

fn right_u<const B: u32>(a: u64, by: u64) -> u64 {
    low(a, B).checked_shr(low(by, 32).min(B.into()) as u32).unwrap_or(0)
}

fn right_s<const B: u32>(a: u64, by: u64) -> u64 {
    (signed(a, B) >> low(by, 32).min(u64::from(B) - 1)) as u64
}

fn zeros<const B: u32>(a: u64) -> u64 {
    u64::from(low(a, B).leading_zeros() - (64 - B))
}

fn ones<const B: u32>(a: u64) -> u64 {
    u64::from(low(a, B).count_ones())
}

fn reversed<const B: u32>(a: u64) -> u64 {
    low(a, B).reverse_bits() >> (64 - B)
}

/// An operation on both halves of words.
macro_rules! words {
    ($f:expr) => {
        |a, b| {
            let f: Two = $f;
            f(a & 0xFFFF, b & 0xFFFF) & 0xFFFF | f(a >> 16 & 0xFFFF, b >> 16 & 0xFFFF) << 16
        }
    };
}

fn two_words(name: &str, signed: bool) -> Option<Two> {
    match (name, signed) {
        ("add", _) => Some(words!(|a, b| a.wrapping_add(b))),
        ("min", true) => Some(words!(min_s::<16>)),
        ("max", true) => Some(words!(max_s::<16>)),
        ("min", false) => Some(words!(min_u::<16>)),
        ("max", false) => Some(words!(max_u::<16>)),
        _ => None,
    }
}

/// What an operation of one operand does.
pub(crate) fn one(name: &str, ty: Type) -> Option<One> {
    match (name, ty.kind) {
        ("not", Kind::Predicate) => Some(|a| a ^ 1),
        ("not", Kind::Bits) => Some(|a| !a),
        ("neg", Kind::Signed) => Some(|a| a.wrapping_neg()),
        ("abs", Kind::Signed) => sized!(ty.bits, abs_s),
        ("clz", Kind::Bits) => sized!(ty.bits, zeros),
        ("popc", Kind::Bits) => sized!(ty.bits, ones),
        ("brev", Kind::Bits) => sized!(ty.bits, reversed),
        _ => None,
    }
}

/// What an operation of two operands does; `how` is `lo`, `hi`, `wide` or nothing.
pub(crate) fn two(name: &str, how: &str, ty: Type) -> Option<Two> {
    let whole = matches!(ty.kind, Kind::Signed | Kind::Unsigned);
    let bits = matches!(ty.kind, Kind::Bits | Kind::Predicate);
    if let Kind::Words { signed } = ty.kind {
        return two_words(name, signed).filter(|_| how.is_empty());
    }
    match (name, how) {
        ("add", "") if whole => Some(|a, b| a.wrapping_add(b)),
        ("sub", "") if whole => Some(|a, b| a.wrapping_sub(b)),
        ("min", "relu") if ty.kind == Kind::Signed && ty.bits == 32 => {
            Some(|a, b| signed(min_s::<32>(a, b), 64).max(0) as u64)
        }
        ("mul", "lo") if whole => Some(|a, b| a.wrapping_mul(b)),
        ("mul", "hi") => by_sign!(ty, high_s, high_u),
        ("mul", "wide") => by_sign!(ty, wide_s, wide_u),
        ("min", "") => by_sign!(ty, min_s, min_u),
        ("max", "") => by_sign!(ty, max_s, max_u),
        ("div", "") => by_sign!(ty, div_s, div_u),
        ("rem", "") => by_sign!(ty, rem_s, rem_u),
        ("and", "") if bits => Some(|a, b| a & b),
        ("or", "") if bits => Some(|a, b| a | b),
        ("xor", "") if bits => Some(|a, b| a ^ b),
        ("shl", "") if ty.kind == Kind::Bits => sized!(ty.bits, left),
        ("shr", "") if ty.kind == Kind::Bits => sized!(ty.bits, right_u),
        ("shr", "") => by_sign!(ty, right_s, right_u),
        _ => None,
    }
}

fn multiply_add_wide_s<const B: u32>(a: u64, b: u64, c: u64) -> u64 {
    wide_s::<B>(a, b).wrapping_add(c)
}

fn multiply_add_wide_u<const B: u32>(a: u64, b: u64, c: u64) -> u64 {
    wide_u::<B>(a, b).wrapping_add(c)
}

/// Bits from a position on: what is beyond the highest bit has the sign, of numbers that have one.
fn field(a: u64, at: u64, len: u64, bits: u32, with_sign: bool) -> u64 {
    let (at, len) = ((at & 0xFF) as u32, (len & 0xFF) as u32);
    if len == 0 {
        return 0;
    }
    let a = if with_sign { i128::from(signed(a, bits)) } else { i128::from(low(a, bits)) };
    let shifted = a >> at.min(127);
    if len >= 64 {
        return shifted as u64;
    }
    let mask = (1 << len) - 1;
    let value = shifted as u64 & mask;
    if with_sign && shifted >> (len - 1) & 1 == 1 { value | !mask } else { value }
}

fn field_s<const B: u32>(a: u64, at: u64, len: u64) -> u64 {
    field(a, at, len, B, true)
}

fn field_u<const B: u32>(a: u64, at: u64, len: u64) -> u64 {
    field(a, at, len, B, false)
}

/// Bytes of two words, chosen by four bits each, the highest of which asks for the sign in the place of the byte.
fn bytes(a: u64, b: u64, chosen: u64) -> u64 {
    let all = low(a, 32) | low(b, 32) << 32;
    (0..4).fold(0, |word, n| {
        let choice = chosen >> (4 * n) & 0xF;
        let byte = all >> (8 * (choice & 7)) & 0xFF;
        let byte = if choice < 8 {
            byte
        } else if byte >= 0x80 {
            0xFF
        } else {
            0
        };
        word | byte << (8 * n)
    })
}

fn funnel_left_wrap(a: u64, b: u64, by: u64) -> u64 {
    ((low(b, 32) << 32 | low(a, 32)) << (by & 31)) >> 32
}

fn funnel_right_wrap(a: u64, b: u64, by: u64) -> u64 {
    (low(b, 32) << 32 | low(a, 32)) >> (by & 31)
}

/// Four products of bytes, each with a sign or without, and a sum.
fn dot<const A: bool, const B: bool>(a: u64, b: u64, c: u64) -> u64 {
    let byte = |word: u64, n: u32, sign: bool| {
        let byte = word >> (8 * n) & 0xFF;
        if sign { signed(byte, 8) } else { byte as i64 }
    };
    let sum: i64 = (0..4).map(|n| byte(a, n, A) * byte(b, n, B)).sum();
    c.wrapping_add(sum as u64)
}

/// What an operation of three operands does; `how` is all that stands between the name and the last type.
pub(crate) fn three(name: &str, how: &[&str], ty: Type) -> Option<Three> {
    match (name, how) {
        ("mad", ["lo"]) if matches!(ty.kind, Kind::Signed | Kind::Unsigned) => {
            Some(|a, b, c| a.wrapping_mul(b).wrapping_add(c))
        }
        ("mad", ["wide"]) => by_sign!(ty, multiply_add_wide_s, multiply_add_wide_u),
        ("bfe", []) => by_sign!(ty, field_s, field_u),
        ("prmt", []) if ty.bits == 32 => Some(bytes),
        ("shf", ["l", "wrap"]) if ty.bits == 32 => Some(funnel_left_wrap),
        ("shf", ["r", "wrap"]) if ty.bits == 32 => Some(funnel_right_wrap),
        ("dp4a", [left]) => match (*left, ty.kind) {
            ("s32", Kind::Signed) => Some(dot::<true, true>),
            ("s32", Kind::Unsigned) => Some(dot::<true, false>),
            ("u32", Kind::Signed) => Some(dot::<false, true>),
            ("u32", Kind::Unsigned) => Some(dot::<false, false>),
            _ => None,
        },
        _ => None,
    }
}

/// `bfi`: bits of `a` in the place of those of `b` from a position on.
pub(crate) fn insert(a: u64, b: u64, at: u64, len: u64, bits: u32) -> u64 {
    let (at, len) = ((at & 0xFF) as u32, (len & 0xFF) as u32);
    let mask = low(u64::MAX, len).checked_shl(at).unwrap_or(0);
    low(b & !mask | a.checked_shl(at).unwrap_or(0) & mask, bits)
}

fn compare_s<const B: u32, const OP: u8>(a: u64, b: u64) -> u64 {
    u64::from(compared::<OP, i64>(&signed(a, B), &signed(b, B)))
}

fn compare_u<const B: u32, const OP: u8>(a: u64, b: u64) -> u64 {
    u64::from(compared::<OP, u64>(&low(a, B), &low(b, B)))
}

fn compared<const OP: u8, T: PartialOrd>(a: &T, b: &T) -> bool {
    match OP {
        b'e' => a == b,
        b'n' => a != b,
        b'l' => a < b,
        b'L' => a <= b,
        b'g' => a > b,
        _ => a >= b,
    }
}

/// A comparison of whole numbers.
pub(crate) fn comparison(name: &str, ty: Type) -> Option<Two> {
    macro_rules! by {
        ($op:literal) => {
            match (ty.kind, ty.bits) {
                (Kind::Signed, 16) => Some(compare_s::<16, $op>),
                (Kind::Signed, 32) => Some(compare_s::<32, $op>),
                (Kind::Signed, 64) => Some(compare_s::<64, $op>),
                (Kind::Unsigned | Kind::Bits, 16) => Some(compare_u::<16, $op>),
                (Kind::Unsigned | Kind::Bits, 32) => Some(compare_u::<32, $op>),
                (Kind::Unsigned | Kind::Bits, 64) => Some(compare_u::<64, $op>),
                _ => None,
            }
        };
    }
    match (name, ty.kind) {
        ("eq", _) => by!(b'e'),
        ("ne", _) => by!(b'n'),
        (_, Kind::Bits) => None,
        ("lt" | "lo", _) => by!(b'l'),
        ("le" | "ls", _) => by!(b'L'),
        ("gt" | "hi", _) => by!(b'g'),
        ("ge" | "hs", _) => by!(b'G'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{bytes, comparison, field, insert, one, three, two};
    use crate::kind::{Type, low};

    fn ty(name: &str) -> Type {
        Type::of(name).expect("a type")
    }

    #[test]
    fn shifts_beyond_the_bits_leave_nothing_or_the_sign() {
        let call = |name: &str, of: &str, a, b| low(two(name, "", ty(of)).expect("an operation")(a, b), ty(of).bits);
        assert_eq!(call("shl", "b32", 1, 31), 1 << 31);
        assert_eq!([call("shl", "b32", 1, 32), call("shl", "b64", 1, 64), call("shr", "u16", 0x8000, 16)], [0, 0, 0]);
        assert_eq!([call("shr", "s16", 0x8000, 40), call("shr", "s32", 0x8000_0000, 31)], [0xFFFF, 0xFFFF_FFFF]);
    }

    #[test]
    fn bits_are_taken_and_put() {
        assert_eq!(field(0xABCD, 4, 8, 32, false), 0xBC);
        assert_eq!(low(field(0xABCD, 4, 8, 32, true), 32), 0xFFFF_FFBC);
        assert_eq!(field(0xF000_0000, 28, 8, 32, false), 0xF);
        assert_eq!(insert(0xF, 0, 4, 4, 32), 0xF0);
        assert_eq!(bytes(0x8322_1100, 0x7766_5544, 0x7B50), 0x77FF_5500);
        let funnel = three("shf", &["l", "wrap"], ty("b32")).expect("an operation");
        assert_eq!(low(funnel(0xAABB_CCDD, 0x1122_3344, 8), 32), 0x2233_44AA);
        assert_eq!(one("clz", ty("b32")).expect("an operation")(1), 31);
    }

    #[test]
    fn words_are_multiplied_byte_by_byte() {
        let call = |left: &str, right: &str| {
            low(three("dp4a", &[left], ty(right)).expect("an operation")(0xFF01_0203, 0x01FF_0401, 10), 32) as i32
        };
        // -1 or 255, 1, 2, 3 times 1, -1 or 255, 4, 1.
        assert_eq!([call("s32", "s32"), call("s32", "u32")], [10 - 1 - 1 + 8 + 3, 10 - 1 + 255 + 8 + 3]);
        assert_eq!([call("u32", "s32"), call("u32", "u32")], [10 + 255 - 1 + 8 + 3, 10 + 255 + 255 + 8 + 3]);
    }

    #[test]
    fn numbers_are_compared_by_their_type() {
        let call = |name: &str, of: &str, a, b| comparison(name, ty(of)).expect("a comparison")(a, b);
        assert_eq!([call("lt", "s16", 0xFFFF, 0), call("lt", "u16", 0xFFFF, 0)], [1, 0]);
        assert!(comparison("lt", ty("b32")).is_none());
    }
}
