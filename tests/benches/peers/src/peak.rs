//! The most that a core does: fused multiplications alone.
#![allow(unsafe_code, reason = "asks the processor itself")]

/// Operations on floats per second; nothing where the processor is another.
pub fn flops_per_second() -> Option<f64> {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("avx512f") {
        return Some(measured(512));
    } else if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
        return Some(measured(256));
    }
    None
}

/// Twelve sums, none of which waits for another.
#[cfg(target_arch = "x86_64")]
fn measured(bits: u32) -> f64 {
    const TURNS: u64 = 1 << 16;
    const SUMS: u64 = 12;
    let begin = std::time::Instant::now();
    // SAFETY: the caller asked the processor for these instructions, which touch no memory and the named registers.
    unsafe {
        macro_rules! turns {
            ($r:literal) => {
                std::arch::asm!(
                    "2:",
                    concat!("vfmadd231ps ", $r, "0, ", $r, "12, ", $r, "12"),
                    concat!("vfmadd231ps ", $r, "1, ", $r, "12, ", $r, "12"),
                    concat!("vfmadd231ps ", $r, "2, ", $r, "12, ", $r, "12"),
                    concat!("vfmadd231ps ", $r, "3, ", $r, "12, ", $r, "12"),
                    concat!("vfmadd231ps ", $r, "4, ", $r, "12, ", $r, "12"),
                    concat!("vfmadd231ps ", $r, "5, ", $r, "12, ", $r, "12"),
                    concat!("vfmadd231ps ", $r, "6, ", $r, "12, ", $r, "12"),
                    concat!("vfmadd231ps ", $r, "7, ", $r, "12, ", $r, "12"),
                    concat!("vfmadd231ps ", $r, "8, ", $r, "12, ", $r, "12"),
                    concat!("vfmadd231ps ", $r, "9, ", $r, "12, ", $r, "12"),
                    concat!("vfmadd231ps ", $r, "10, ", $r, "12, ", $r, "12"),
                    concat!("vfmadd231ps ", $r, "11, ", $r, "12, ", $r, "12"),
                    "dec {turns}",
                    "jnz 2b",
                    turns = inout(reg) TURNS => _,
                    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _, out("xmm4") _, out("xmm5") _,
                    out("xmm6") _, out("xmm7") _, out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                    out("xmm12") _,
                    options(nomem, nostack),
                )
            };
        }
        match bits {
            512 => turns!("zmm"),
            _ => turns!("ymm"),
        }
    }
    let lanes = f64::from(bits / 32);
    (TURNS * SUMS) as f64 * lanes * 2.0 / begin.elapsed().as_secs_f64()
}
