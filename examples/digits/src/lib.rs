//! Two networks that read handwritten digits. The library needs neither std nor a heap, so the
//! same source runs in the program beside it and in a microcontroller's firmware.
#![no_std]

mod kernels;

pub use kernels::{cnn, mlp};

/// The most images that one call takes. It bounds the workspace, which is a constant therefore.
pub const BATCH: usize = 16;
