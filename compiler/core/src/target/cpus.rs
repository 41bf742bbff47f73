//! Processors that a user may name.

use tenfold_abi::{Level, X86_64_LEVELS};

use super::Arch;

/// A processor.
#[derive(Clone, Copy, Debug)]
pub struct Cpu {
    /// As LLVM spells it.
    pub name: &'static str,
    /// Its instruction set.
    pub arch: Arch,
    /// What it has beyond every processor of its targets and changes which code is chosen, as rustc names it.
    pub features: &'static [&'static str],
}

const fn cpu(arch: Arch, name: &'static str, features: &'static [&'static str]) -> Cpu {
    Cpu { name, arch, features }
}

const fn level(level: &Level) -> Cpu {
    Cpu { name: level.name, arch: X86_64, features: level.features }
}

use Arch::{Aarch64, Arm, Riscv32, Riscv64, Wasm32, X86_64};

/// Every processor that is known, those of a family side by side.
pub const CPUS: &[Cpu] = &[
    cpu(Arm, "cortex-m0", &[]),
    cpu(Arm, "cortex-m0plus", &[]),
    cpu(Arm, "cortex-m1", &[]),
    cpu(Arm, "cortex-m23", &[]),
    cpu(Arm, "cortex-m3", &[]),
    cpu(Arm, "cortex-m33", &["dsp"]),
    cpu(Arm, "cortex-m35p", &["dsp"]),
    cpu(Arm, "cortex-m4", &["dsp"]),
    cpu(Arm, "cortex-m52", &["dsp", "mve", "mve.fp"]),
    cpu(Arm, "cortex-m55", &["dsp", "mve", "mve.fp"]),
    cpu(Arm, "cortex-m7", &["dsp"]),
    cpu(Arm, "cortex-m85", &["dsp", "mve", "mve.fp"]),
    cpu(Arm, "cortex-r5", &[]),
    cpu(Arm, "cortex-a7", &["neon"]),
    cpu(Arm, "cortex-a9", &["neon"]),
    cpu(Aarch64, "apple-m1", &["dotprod"]),
    cpu(Aarch64, "cortex-a35", &[]),
    cpu(Aarch64, "cortex-a53", &[]),
    cpu(Aarch64, "cortex-a55", &["dotprod"]),
    cpu(Aarch64, "cortex-a72", &[]),
    cpu(Aarch64, "cortex-a76", &["dotprod"]),
    cpu(Aarch64, "cortex-a78", &["dotprod"]),
    cpu(Aarch64, "neoverse-n1", &["dotprod"]),
    cpu(Aarch64, "neoverse-n2", &["dotprod", "i8mm"]),
    cpu(Aarch64, "neoverse-v1", &["dotprod", "i8mm"]),
    cpu(Riscv32, "generic-rv32", &[]),
    cpu(Riscv32, "sifive-e31", &[]),
    cpu(Riscv64, "generic-rv64", &[]),
    cpu(Riscv64, "sifive-u74", &[]),
    cpu(Riscv64, "sifive-x280", &["v"]),
    cpu(Riscv64, "spacemit-x60", &["v"]),
    cpu(Wasm32, "mvp", &[]),
    cpu(X86_64, "x86-64", &[]),
    level(&X86_64_LEVELS[0]),
    level(&X86_64_LEVELS[1]),
    level(&X86_64_LEVELS[2]),
];
