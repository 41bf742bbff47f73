//! What emitted code names. No part of the public interface: it changes with the ABI number alone,
//! together with the attribute that emits it. `compiler/docs/runtime.md` shows how it is used.

#[cfg(feature = "alloc")]
pub use crate::dispatch::{Owned, Scratch};
#[cfg(feature = "std")]
pub use crate::variants::level;
pub use crate::{
    device::On,
    dispatch::{
        Abi, Call, Context, add, bytes, check, div, div_euclid, expect, extent, fact, fact_text, finish, fixed,
        fixed_mut, fixed_strided, floor_div, index, input, max, min, mul, neg, operand, rem, rem_euclid, result, room,
        round_up, same, scalar, scalar_bits, shl, shr, state, steps, strided, sub, target, trunc_div, value, workspace,
    },
    element::Bits,
    module::{Args, FunctionInfo, function},
    safetensors::weight,
};
pub use core::{concat, stringify};

/// Which level a call takes: the baseline, since nobody can look up what the processor has.
#[cfg(not(feature = "std"))]
#[inline]
#[must_use]
pub const fn level(_: u8) -> u8 {
    0
}

/// Keeps items that need `alloc` where this crate has the feature, which the attribute cannot know.
#[cfg(feature = "alloc")]
#[macro_export]
#[doc(hidden)]
macro_rules! __with_alloc {
    ($($tokens:tt)*) => { $($tokens)* };
}

/// Keeps items that need `alloc` where this crate has the feature, which the attribute cannot know.
#[cfg(not(feature = "alloc"))]
#[macro_export]
#[doc(hidden)]
macro_rules! __with_alloc {
    ($($tokens:tt)*) => {};
}

pub use crate::__with_alloc as with_alloc;
