//! Arithmetic of dim expressions: signed 64-bit, checked. `None` is a result that does not fit.
//!
//! Each function takes values and results of others alike, so that an expression is emitted as it
//! is nested: `mul(add(h, 1_i64), w)`. Division by zero follows the language: `x / 0` is 0 and
//! `x % 0` is `x`.

/// A value, or the result of another operation.
pub(super) type Value = Option<i64>;

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident |$a:ident, $b:ident| $e:expr;)*) => {$(
        $(#[$doc])*
        #[inline]
        pub fn $name(a: impl Into<Value>, b: impl Into<Value>) -> Value {
            let ($a, $b) = (a.into()?, b.into()?);
            $e
        }
    )*};
}

binary! {
    /// `a + b`.
    add |a, b| a.checked_add(b);
    /// `a - b`.
    sub |a, b| a.checked_sub(b);
    /// `a * b`.
    mul |a, b| a.checked_mul(b);
    /// `a / b`, rounded toward zero.
    trunc_div |a, b| if b == 0 { Some(0) } else { a.checked_div(b) };
    /// `a % b`, with the sign of `a`.
    rem |a, b| Some(if b == 0 { a } else { a.wrapping_rem(b) });
    /// `a / b`, rounded down.
    floor_div |a, b| match (a.checked_div(b), a.checked_rem(b)) {
        (Some(quotient), Some(rest)) => Some(quotient - i64::from(rest != 0 && (rest < 0) != (b < 0))),
        _ if b == 0 => Some(0),
        _ => None,
    };
    /// `a.div_euclid(b)`.
    div_euclid |a, b| if b == 0 { Some(0) } else { a.checked_div_euclid(b) };
    /// `a.rem_euclid(b)`.
    rem_euclid |a, b| Some(if b == 0 { a } else { a.wrapping_rem_euclid(b) });
    /// The smaller.
    min |a, b| Some(a.min(b));
    /// The greater.
    max |a, b| Some(a.max(b));
    /// `a << b`; the count is taken modulo 64, and no bit may be lost.
    shl |a, b| {
        let shifted = a.wrapping_shl(b as u32 & 63);
        (shifted.wrapping_shr(b as u32 & 63) == a).then_some(shifted)
    };
    /// `a >> b`; the count is taken modulo 64.
    shr |a, b| Some(a.wrapping_shr(b as u32 & 63));
    /// The next multiple of `b`, which is positive; for sizes of workspaces.
    round_up |a, b| a.checked_add(b.checked_sub(1)?)?.checked_div(b)?.checked_mul(b);
}

/// `a / b` as the language writes it: [`trunc_div`].
#[inline]
pub fn div(a: impl Into<Value>, b: impl Into<Value>) -> Value {
    trunc_div(a, b)
}

/// `-a`.
#[inline]
pub fn neg(a: impl Into<Value>) -> Value {
    a.into()?.checked_neg()
}

/// A size in bytes. One that is negative or does not fit is more than any memory has.
#[inline]
pub fn bytes(size: impl Into<Value>) -> usize {
    size.into().and_then(|size| usize::try_from(size).ok()).unwrap_or(usize::MAX)
}
