//! The typed call: what stands between a safe signature and an entry point.
//!
//! Emitted code names the items of this folder as `tenfold::rt`. They bind and check dims, find
//! pointers and make room for results; each is small, so that emitted tokens are few and optimise
//! to what a careful hand would write. Besides the devices, this is the only place of the crate
//! with unsafe code: casts between types of one layout, memory that a kernel initialises, loops of kernels that
//! threads share, and a question to the system about registers.
#![allow(unsafe_code, reason = "memory that compiled kernels read and write is handed out here")]

mod abi;
#[cfg(all(feature = "std", target_arch = "x86_64"))]
pub(crate) mod amx;
mod bind;
mod call;
mod cast;
mod expr;
#[cfg(feature = "ndarray")]
pub(crate) mod ndarray;
mod outside;
#[cfg(feature = "alloc")]
mod owned;
#[cfg(feature = "bytemuck")]
mod pod;
#[cfg(not(feature = "std"))]
mod serial;
mod strided;
#[cfg(feature = "std")]
mod threads;

pub use abi::Abi;
pub use bind::{check, expect, extent, fact, fact_text, same};
pub use call::{
    finish, fixed, fixed_mut, fixed_strided, index, input, result, room, scalar, scalar_bits, state, steps, strided,
    workspace,
};
pub(crate) use cast::{cast, cast_mut, elements, sized, whole};
pub use expr::{
    add, bytes, div, div_euclid, floor_div, max, min, mul, neg, rem, rem_euclid, round_up, shl, shr, sub, trunc_div,
};
pub use outside::{Call, operand, target, value};
#[cfg(feature = "alloc")]
pub use owned::{Owned, Scratch};
#[cfg(not(feature = "std"))]
pub use serial::Context;
pub use strided::StridedRef;
#[cfg(feature = "std")]
pub use threads::Context;
#[cfg(feature = "std")]
pub(crate) use threads::{MOST, executed, limited};
