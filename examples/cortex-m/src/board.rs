//! What a Cortex-M needs before and around `main`: vectors, reset, and semihosting for output.
//!
//! It knows nothing of what the firmware computes. There is no crate below it.

use core::arch::{asm, global_asm};
use core::fmt;

global_asm!(
    r#"
    .section .vectors, "a", %progbits
    .word __stack_top
    .word reset
    .rept 14
    .word fault
    .endr

    .section .text.reset, "ax", %progbits
    .global reset
    .type reset, %function
    .thumb_func
reset:
    // full access to the floating point unit: CPACR, coprocessors 10 and 11
    ldr r0, =0xE000ED88
    ldr r1, [r0]
    orr r1, r1, #0xF00000
    str r1, [r0]
    dsb
    isb
    // initialised data is copied from flash, the rest is cleared
    ldr r0, =__data_start
    ldr r1, =__data_end
    ldr r2, =__data_image
1:  cmp r0, r1
    beq 2f
    ldr r3, [r2], #4
    str r3, [r0], #4
    b 1b
2:  ldr r0, =__bss_start
    ldr r1, =__bss_end
    movs r2, #0
3:  cmp r0, r1
    beq 4f
    str r2, [r0], #4
    b 3b
4:  bl firmware_main
    .type fault, %function
    .thumb_func
fault:
    // SYS_EXIT with "run time error": the simulator ends with a status other than 0
    movs r0, #0x18
    ldr r1, =0x20023
    bkpt #0xab
    b fault
"#
);

/// One semihosting call.
fn semihost(operation: u32, argument: *const u32) {
    // SAFETY: the debugger or simulator answers the breakpoint; it reads at `argument` what the
    // operation says, and changes nothing but r0.
    unsafe {
        asm!("bkpt #0xab", inout("r0") operation => _, in("r1") argument, options(nostack));
    }
}

/// Text output, a character at a time (SYS_WRITEC).
pub struct Console;

impl fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            let word = u32::from(byte);
            semihost(0x03, &raw const word);
        }
        Ok(())
    }
}

/// Ends the simulation with this status (SYS_EXIT_EXTENDED).
pub fn exit(status: u32) -> ! {
    let block = [0x20026, status];
    loop {
        semihost(0x20, block.as_ptr());
    }
}
