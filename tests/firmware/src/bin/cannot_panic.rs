//! The digits MLP, in a program that cannot panic: its panic handler calls a function that there is not, so that it links
//! only where nothing can reach it.
#![no_std]
#![no_main]

#[path = "../../../../examples/cortex-m/src/board.rs"]
#[allow(dead_code, reason = "it writes nothing")]
mod board;

use core::panic::PanicInfo;
use digits::mlp;

unsafe extern "C" {
    safe fn this_program_can_panic() -> !;
}

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    this_program_can_panic()
}

/// Called by the reset code. Equal images have equal rows.
#[unsafe(no_mangle)]
extern "C" fn firmware_main() -> ! {
    let mut rows = [[0.0; 10]; 2];
    let mut workspace = mlp::Workspace::new();
    match mlp::into(&[[0.0; 64]; 2], &mut rows, &mut workspace) {
        Ok(()) => board::exit(u32::from(rows[0] != rows[1])),
        Err(_) => board::exit(2),
    }
}
