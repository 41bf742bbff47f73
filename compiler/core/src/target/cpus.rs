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

/// The microcontrollers of ARM's that run the code of a target, by the begin of its name, each without `cortex-`: the
/// standard library of that target is for them, and they have the float unit that the name may ask for. Others of ARM's
/// have other targets.
const MICROCONTROLLERS: [(&str, &str); 5] = [
    ("thumbv6m-", "m0 m0plus m1 m23 m3 m33 m35p m4 m52 m55 m7 m85"),
    ("thumbv7m-", "m3 m33 m35p m4 m52 m55 m7 m85"),
    ("thumbv7em-", "m33 m35p m4 m52 m55 m7 m85"),
    ("thumbv8m.base-", "m23 m33 m35p m52 m55 m85"),
    ("thumbv8m.main-", "m33 m35p m52 m55 m85"),
];

impl Cpu {
    /// Whether it runs the code of a target, by rustc's name.
    ///
    /// ```
    /// use tenfold_core::CPUS;
    ///
    /// let cpu = |name: &str| CPUS.iter().find(|cpu| cpu.name == name).unwrap();
    /// assert!(cpu("cortex-m7").runs("thumbv7em-none-eabihf"));
    /// assert!(!cpu("cortex-m3").runs("thumbv7em-none-eabihf"));
    /// assert!(!cpu("cortex-a7").runs("thumbv7em-none-eabihf"));
    /// assert!(cpu("cortex-a7").runs("armv7-unknown-linux-gnueabihf"));
    /// ```
    pub fn runs(&self, triple: &str) -> bool {
        let small = MICROCONTROLLERS.iter().find(|(begin, _)| triple.starts_with(begin));
        let own = self.name.strip_prefix("cortex-");
        match small {
            Some((_, names)) => own.is_some_and(|own| names.split(' ').any(|name| name == own)),
            None => {
                let is_small = own.is_some_and(|own| own.starts_with('m'));
                !is_small && self.arch == super::Target::from_triple(triple, &[]).arch
            }
        }
    }
}
