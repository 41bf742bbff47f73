//! Functions that an object leaves to the linker: the most stack that each kind of them takes.
//!
//! The figures are the frames in libgcc (GCC 12) and in Rust's `compiler_builtins` (1.95), whichever are larger, along the
//! deepest chain of calls, read off their machine code. `build-support/cli/tests/cli/processors.rs` and `tests/firmware`
//! call functions of each kind on painted stacks.

use tenfold_core::{Arch, Target};

/// A kind of function, and bytes of stack.
struct Row {
    /// Their names, without `__`.
    names: &'static str,
    /// On ARM where instructions have 16 bits: thumbv6m, thumbv8m.base.
    small_arm: u64,
    /// On any other ARM.
    arm: u64,
    /// On RISC-V, of 32 and of 64 bits.
    riscv: u64,
}

const ROWS: &[Row] = &[
    // Memory, of `compiler_builtins`; a C library's take less.
    Row {
        names: "memcpy memmove memset aeabi_memcpy aeabi_memcpy4 aeabi_memcpy8 aeabi_memmove aeabi_memmove4 \
                aeabi_memmove8 aeabi_memset aeabi_memset4 aeabi_memset8 aeabi_memclr aeabi_memclr4 aeabi_memclr8",
        small_arm: 112,
        arm: 104,
        riscv: 32,
    },
    // `f32`.
    Row {
        names: "aeabi_fadd aeabi_fsub aeabi_frsub aeabi_fmul aeabi_fdiv aeabi_fcmpeq aeabi_fcmplt aeabi_fcmple \
                aeabi_fcmpge aeabi_fcmpgt aeabi_fcmpun aeabi_f2iz aeabi_f2uiz aeabi_i2f aeabi_ui2f addsf3 subsf3 \
                mulsf3 divsf3 eqsf2 nesf2 ltsf2 lesf2 gtsf2 gesf2 unordsf2 fixsfsi fixunssfsi floatsisf floatunsisf",
        small_arm: 104,
        arm: 32,
        riscv: 80,
    },
    // `f64`.
    Row {
        names: "aeabi_dadd aeabi_dsub aeabi_drsub aeabi_dmul aeabi_ddiv aeabi_dcmpeq aeabi_dcmplt aeabi_dcmple \
                aeabi_dcmpge aeabi_dcmpgt aeabi_dcmpun aeabi_d2iz aeabi_d2uiz aeabi_i2d aeabi_ui2d aeabi_f2d \
                aeabi_d2f adddf3 subdf3 muldf3 divdf3 eqdf2 nedf2 ltdf2 ledf2 gtdf2 gedf2 unorddf2 fixdfsi \
                fixunsdfsi floatsidf floatunsidf extendsfdf2 truncdfsf2",
        small_arm: 136,
        arm: 64,
        riscv: 80,
    },
    // Floats from and to integers of 64 bits.
    Row {
        names: "aeabi_l2f aeabi_ul2f aeabi_l2d aeabi_ul2d aeabi_f2lz aeabi_f2ulz aeabi_d2lz aeabi_d2ulz fixsfdi \
                fixunssfdi fixdfdi fixunsdfdi floatdisf floatundisf floatdidf floatundidf",
        small_arm: 104,
        arm: 64,
        riscv: 48,
    },
    // Quotients and remainders of 64 bits.
    Row { names: "aeabi_ldivmod aeabi_uldivmod divdi3 udivdi3 moddi3 umoddi3", small_arm: 176, arm: 104, riscv: 96 },
    // Other arithmetic of integers.
    Row {
        names: "aeabi_idiv aeabi_uidiv aeabi_idivmod aeabi_uidivmod aeabi_lmul aeabi_llsl aeabi_llsr aeabi_lasr \
                divsi3 udivsi3 modsi3 umodsi3 mulsi3 muldi3 ashldi3 ashrdi3 lshrdi3 clzsi2 clzdi2 ctzsi2 ctzdi2 \
                multi3",
        small_arm: 64,
        arm: 32,
        riscv: 32,
    },
];

/// The most stack that one of these functions takes with those that it calls; `None` if one is not known.
pub(super) fn most<'a>(names: impl Iterator<Item = &'a str>, target: &Target) -> Option<u64> {
    names.map(|name| bytes(name, target)).try_fold(0, |most, bytes| Some(most.max(bytes?)))
}

fn bytes(name: &str, target: &Target) -> Option<u64> {
    let name = name.strip_prefix("__").unwrap_or(name);
    let row = ROWS.iter().find(|row| row.names.split_whitespace().any(|known| known == name))?;
    let small = ["thumbv6m", "thumbv8m.base"].iter().any(|begin| target.triple.starts_with(begin));
    Some(match target.arch {
        Arch::Arm if small => row.small_arm,
        Arch::Arm => row.arm,
        Arch::Riscv32 | Arch::Riscv64 => row.riscv,
        // Processors of 64 bits ask for memory alone, and it takes no more there.
        Arch::X86_64 | Arch::Aarch64 | Arch::Wasm32 | Arch::Other => row.small_arm,
    })
}
