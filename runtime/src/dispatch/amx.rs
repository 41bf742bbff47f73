//! Whether the registers that are matrices (AMX) may be used: the processor has them, the system keeps them, and this
//! process has asked for them. Linux gives nobody their 8 KiB per thread that did not ask.

use core::arch::x86_64::{__cpuid, __cpuid_count, _xgetbv};
use std::sync::OnceLock;

/// Bits of the processor's answer about features (leaf 7, `edx`).
const FEATURES: [(&str, u32); 3] = [("amx-bf16", 22), ("amx-tile", 24), ("amx-int8", 25)];

/// Bits of the states that the system keeps: how large registers are, and what is in them.
const STATES: u64 = 1 << 17 | 1 << 18;

/// Whether a feature of these registers is there, and may be used. The first call asks the system for them.
pub(crate) fn has(feature: &str) -> bool {
    let bit = FEATURES.iter().find(|(name, _)| *name == feature).map(|(_, bit)| *bit);
    bit.is_some_and(|bit| in_processor() >> bit & 1 == 1) && is_granted()
}

/// What the processor says of features; 0 where the system does not keep the registers.
fn in_processor() -> u32 {
    const KEEPS_STATES: u32 = 1 << 27;
    // SAFETY: every processor of 64 bits has the instruction.
    #[allow(unused_unsafe, reason = "newer compilers know that")]
    let [last, first, more] = unsafe { [__cpuid(0).eax, __cpuid(1).ecx, __cpuid_count(7, 0).edx] };
    if last < 7 || first & KEEPS_STATES == 0 {
        return 0;
    }
    // SAFETY: the bit above says that the system has switched on this instruction.
    let kept = unsafe { _xgetbv(0) };
    if kept & STATES == STATES { more } else { 0 }
}

/// Whether the system lets this process use them: threads that there are and those to come.
fn is_granted() -> bool {
    static GRANTED: OnceLock<bool> = OnceLock::new();
    *GRANTED.get_or_init(ask)
}

/// Asks Linux (`arch_prctl` with `ARCH_REQ_XCOMP_PERM`) for what registers hold.
#[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
fn ask() -> bool {
    const ARCH_PRCTL: u64 = 158;
    const ARCH_REQ_XCOMP_PERM: u64 = 0x1023;
    const TILE_DATA: u64 = 18;
    let answer: u64;
    // SAFETY: the call takes two numbers, reads and writes no memory of the program, and keeps all but these registers.
    unsafe {
        core::arch::asm!(
            "syscall",
            inlateout("rax") ARCH_PRCTL => answer,
            in("rdi") ARCH_REQ_XCOMP_PERM,
            in("rsi") TILE_DATA,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    answer == 0
}

/// Other systems are not known to ask, or to give them to everybody.
#[cfg(not(all(target_os = "linux", target_pointer_width = "64", not(miri))))]
fn ask() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_to_be_there_is() {
        assert!(!has("amx-telepathy"));
        let flags = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let Some(flags) = flags.lines().find(|line| line.starts_with("flags")) else { return };
        let listed = |name: &str| flags.split_whitespace().any(|flag| flag == name);
        for (name, _) in FEATURES {
            // A system may refuse what the processor has, and never gives what it has not.
            assert!(!has(name) || listed(&name.replace('-', "_")), "{name}");
        }
        assert_eq!(has("amx-tile"), listed("amx_tile") && is_granted());
    }
}
