//! Calls tensor functions without `std`, a heap or an operating system. It is linked, and not run: what a processor lacks,
//! such as floats, 64 bits or division, must come from `compiler_builtins`.
#![no_std]
#![no_main]

use core::hint::black_box;
use tenfold::prelude::*;

/// A bounded dim, constants in flash, memory on the way, an error.
#[tensor_fn(dims(B <= 4), workspace <= "1K", stack <= "2K")]
fn classify(x: Tensor<f32, B, 8>) -> Tensor<f32, B, 3> {
    const W: Tensor<f32, 8, 16> = reshape(hann_window(128), [8, 16]);
    const V: Tensor<f32, 16, 3> = reshape(hann_window(48), [16, 3]);
    softmax(matmul(relu(matmul(x, W)), V), axis = -1)
}

/// Sums of bytes, and what takes 64 bits.
#[tensor_fn]
fn scores(x: Tensor<i8, 16>, by: i64) -> (Tensor<i32>, Tensor<i64, 16>) {
    (sum(x as i32 * 3), x as i64 / by)
}

/// A model's step with state.
#[tensor_fn]
fn smooth(x: Tensor<f64, 4>, kept: &mut Tensor<f64, 4>) -> Tensor<f64, 4> {
    kept[[..]] = kept * 0.5 + x;
    sqrt(kept)
}

/// Where a program begins that nobody has told otherwise.
#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    let (mut classes, mut sum, mut parts, mut state, mut roots) = ([[0.0; 3]; 2], 0, [0; 16], [0.0; 4], [0.0; 4]);
    let x = black_box([[0.5; 8]; 2]);
    let is_good = classify::into(&x, &mut classes, &mut classify::Workspace::new()).is_ok();
    scores::into(&black_box([3; 16]), black_box(7), &mut sum, &mut parts, &mut scores::Workspace::new());
    smooth::into(&black_box([2.0; 4]), &mut state, &mut roots, &mut smooth::Workspace::new());
    black_box((is_good, classes, sum, parts, state, roots));
    loop {
        core::hint::spin_loop();
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
