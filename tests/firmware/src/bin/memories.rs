//! A function whose workspace lies in two memories of the board, which statics take: results are those of the function with
//! one memory, and a call takes no more stack than the constant says. It prints the stack of both calls.
#![no_std]
#![no_main]

#[path = "../../../../examples/cortex-m/src/board.rs"]
mod board;

use core::arch::asm;
use core::cell::UnsafeCell;
use core::fmt::Write;
use core::panic::PanicInfo;
use core::ptr;
use core::sync::atomic::{AtomicBool, Ordering};
use tenfold::prelude::*;

/// What `divided` computes, in one memory.
#[tensor_fn]
fn whole(x: Tensor<f32, 8, 8>, n: Tensor<i64, 8>) -> (Tensor<f32, 8, 8>, Tensor<f64, 8>, Tensor<i64, 8>) {
    let square = matmul(x, x);
    let fourth = matmul(square, transpose(square));
    let total = sum(fourth, axis = 1) as f64;
    (softmax(matmul(fourth, square), axis = 1), total / 3.0 + (n as f64), n / 7)
}

/// Small values in fast memory, the others in the board's PSRAM.
#[tensor_fn(pool(near = 256, far = "4K"))]
fn divided(x: Tensor<f32, 8, 8>, n: Tensor<i64, 8>) -> (Tensor<f32, 8, 8>, Tensor<f64, 8>, Tensor<i64, 8>) {
    let square = matmul(x, x);
    let fourth = matmul(square, transpose(square));
    let total = sum(fourth, axis = 1) as f64;
    (softmax(matmul(fourth, square), axis = 1), total / 3.0 + (n as f64), n / 7)
}

/// A static that is taken once.
struct Once<T> {
    taken: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: `take` gives what is inside to one caller.
unsafe impl<T: Send> Sync for Once<T> {}

impl<T> Once<T> {
    const fn new(value: T) -> Self {
        Once { taken: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    #[allow(clippy::mut_from_ref, reason = "the first call alone returns")]
    fn take(&'static self) -> &'static mut T {
        assert!(!self.taken.swap(true, Ordering::AcqRel), "it was taken");
        // SAFETY: nobody else was given it.
        unsafe { &mut *self.value.get() }
    }
}

static NEAR: Once<divided::Near> = Once::new(divided::Near::new());
#[unsafe(link_section = ".far")]
static FAR: Once<divided::Far> = Once::new(divided::Far::new());

/// Where the board's second memory begins.
const PSRAM: usize = 0x2100_0000;

const PAINT: u32 = 0x5eed_5eed;
const PAINTED: usize = 512;

/// Paints the stack below the frame of the function that it is written into.
#[inline(always)]
fn painted() -> *mut u32 {
    let top: *mut u32;
    // SAFETY: it only reads a register.
    unsafe { asm!("mov {}, sp", out(reg) top, options(nomem, nostack)) };
    for at in 1..=PAINTED {
        // SAFETY: below the stack's pointer nothing lies, and the stack goes further down.
        unsafe { top.sub(at).write_volatile(PAINT) };
    }
    top
}

/// The bytes down to which the paint is gone: what a call between the two has taken.
#[inline(always)]
fn taken(top: *mut u32) -> usize {
    // SAFETY: as it was painted.
    let is_painted = |at: &usize| unsafe { top.sub(*at).read_volatile() } == PAINT;
    4 * (1..=PAINTED).rev().find(|at| !is_painted(at)).unwrap_or(0)
}

type Results = ([[f32; 8]; 8], [f64; 8], [i64; 8]);

const NONE: Results = ([[0.0; 8]; 8], [0.0; 8], [0; 8]);

/// Called by the reset code, which alone knows its name.
#[unsafe(no_mangle)]
extern "C" fn firmware_main() -> ! {
    let x: [[f32; 8]; 8] =
        core::array::from_fn(|i| core::array::from_fn(|j| ((i * 7 + j * 5) % 9) as f32 * 0.125 - 0.5));
    let n: [i64; 8] = core::array::from_fn(|i| (i as i64 - 3) << (4 * i));
    let (mut expected, mut found) = (NONE, NONE);
    let mut workspace = whole::Workspace::new();
    let (near, far) = (NEAR.take(), FAR.take());
    let top = painted();
    whole::into(&x, &n, &mut expected.0, &mut expected.1, &mut expected.2, &mut workspace);
    let one = taken(top);
    let top = painted();
    divided::into(&x, &n, &mut found.0, &mut found.1, &mut found.2, near, far);
    let two = taken(top);
    let _ = writeln!(board::Console, "{one} {}\n{two} {}", whole::STACK_BYTES, divided::STACK_BYTES);
    let sizes = divided::NEAR_BYTES > 0 && divided::NEAR_BYTES <= 256 && divided::FAR_BYTES > 0;
    let [near, far] = [ptr::from_mut(near).addr(), ptr::from_mut(far).addr()];
    let is_far = far >= PSRAM && near < PSRAM;
    let sums = found.2.iter().zip(&n).all(|(found, n)| *found == n / 7);
    board::exit(u32::from(!(sizes && is_far && sums && found == expected && found != NONE)))
}

#[panic_handler]
fn panic(info: &PanicInfo) -> ! {
    let _ = writeln!(board::Console, "{info}");
    board::exit(101)
}
