//! Binding and checking of dims and facts, once per call and before anything is written.

use super::expr::Value;
use crate::Error;

/// A later place of a dim that is bound: both must agree.
///
/// # Errors
///
/// They do not; the text names both places.
#[inline]
pub fn same(
    param: &'static str,
    axis: usize,
    found: usize,
    dim: &'static str,
    expected: i64,
    from: (&'static str, usize),
) -> Result<(), Error> {
    if found as i64 == expected {
        return Ok(());
    }
    Err(Error::Dim { param, axis, found, dim, expected, from: Some(from) })
}

/// An axis whose extent is computed: it must be what the expression says.
///
/// # Errors
///
/// It is not, or the expression is negative or does not fit.
#[inline]
pub fn expect(
    param: &'static str,
    axis: usize,
    found: usize,
    dim: &'static str,
    expected: impl Into<Value>,
) -> Result<(), Error> {
    let expected = extent(dim, expected)?;
    if found == expected {
        return Ok(());
    }
    Err(Error::Dim { param, axis, found, dim, expected: expected as i64, from: None })
}

/// The extent that an expression says.
///
/// # Errors
///
/// It is negative or does not fit.
#[inline]
pub fn extent(dim: &'static str, value: impl Into<Value>) -> Result<usize, Error> {
    match value.into() {
        None => Err(Error::Overflow { what: dim }),
        Some(value) if value < 0 => Err(Error::NegativeExtent { dim, value }),
        Some(value) => match isize::try_from(value) {
            Ok(extent) => Ok(extent.cast_unsigned()),
            Err(_) => Err(Error::Overflow { what: dim }),
        },
    }
}

/// The value of an expression in a fact.
///
/// # Errors
///
/// It does not fit.
#[inline]
pub fn check(expr: &'static str, value: impl Into<Value>) -> Result<i64, Error> {
    value.into().ok_or(Error::Overflow { what: expr })
}

/// A fact of `dims(…)`, or an `assert!` without a text.
///
/// # Errors
///
/// It does not hold.
#[inline]
pub fn fact(holds: bool, fact: &'static str) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(Error::Fact { fact, text: None }) }
}

/// An `assert!` with a text.
///
/// # Errors
///
/// It does not hold.
#[inline]
pub fn fact_text(holds: bool, fact: &'static str, text: &'static str) -> Result<(), Error> {
    if holds { Ok(()) } else { Err(Error::Fact { fact, text: Some(text) }) }
}
