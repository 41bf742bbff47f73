//! What an entry point returns.

use core::fmt;

/// The `int32_t` that an entry point returns.
///
/// 0 is success. A positive number `n` says that the function's `n`th run-time check (counted from
/// 1, in the order of the source) did not hold; the caller knows the checks by their text. A
/// negative number is one of the constants here. Unless it returns 0, an entry point has left
/// state in the middle of its work.
///
/// ```
/// use tenfold_abi::Status;
///
/// assert!(Status::OK.is_ok());
/// assert_eq!(Status(2).failed_check(), Some(1));
/// assert_eq!(Status::BAD_EXTENT.to_string(), "an extent is negative or too large");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
#[must_use]
pub struct Status(pub i32);

impl Status {
    /// All went well.
    pub const OK: Self = Self(0);
    /// An extent that is computed inside the function is negative, or a size overflows.
    pub const BAD_EXTENT: Self = Self(-1);
    /// A callee of `extern_call!` reported a failure.
    pub const EXTERN_CALL: Self = Self(-2);
    /// The device refused or lost the work.
    pub const DEVICE: Self = Self(-3);
    /// No variant of the function runs on this processor.
    pub const NO_VARIANT: Self = Self(-4);

    /// Whether this is [`OK`](Self::OK).
    #[must_use]
    pub const fn is_ok(self) -> bool {
        self.0 == 0
    }

    /// The place in the function's list of run-time checks of the one that failed.
    #[must_use]
    pub const fn failed_check(self) -> Option<usize> {
        if self.0 > 0 { Some(self.0 as usize - 1) } else { None }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::OK => f.write_str("ok"),
            Self::BAD_EXTENT => f.write_str("an extent is negative or too large"),
            Self::EXTERN_CALL => f.write_str("a called function failed"),
            Self::DEVICE => f.write_str("the device failed"),
            Self::NO_VARIANT => f.write_str("no variant runs on this processor"),
            Self(check @ 1..) => write!(f, "run-time check {check} does not hold"),
            Self(code) => write!(f, "unknown status {code}"),
        }
    }
}
