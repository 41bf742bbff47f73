//! Targets: what code is generated for.

mod cpus;
mod device;
mod gpus;
mod keys;

use std::fmt;

pub use cpus::{CPUS, Cpu};
pub use device::Device;
pub use gpus::{GPUS, Gpu};
pub use keys::Key;
use tenfold_abi::{AARCH64_LEVELS, Level, X86_64_LEVELS};

/// An instruction set family.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Arch {
    /// x86-64.
    X86_64,
    /// 64-bit ARM.
    Aarch64,
    /// 32-bit ARM, Thumb included.
    Arm,
    /// 32-bit RISC-V.
    Riscv32,
    /// 64-bit RISC-V.
    Riscv64,
    /// WebAssembly with 32-bit addresses.
    Wasm32,
    /// Another: only the C back end serves it.
    Other,
}

/// An object format.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ObjectFormat {
    /// ELF.
    Elf,
    /// Mach-O.
    MachO,
    /// COFF.
    Coff,
    /// WebAssembly.
    Wasm,
}

/// A CPU target, from the Rust target that cargo builds for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Target {
    /// rustc's name: `x86_64-unknown-linux-gnu`.
    pub triple: String,
    /// Instruction set.
    pub arch: Arch,
    /// Object format.
    pub format: ObjectFormat,
    /// Bits of an address.
    pub pointer_bits: u32,
    /// Whether bytes go low first.
    pub little_endian: bool,
    /// CPU name as LLVM spells it; empty for the triple's default.
    pub cpu: String,
    /// Features as rustc names them (`CARGO_CFG_TARGET_FEATURE`), sorted.
    pub features: Vec<String>,
    /// Whether there is an operating system.
    pub hosted: bool,
    /// The device, if it is one.
    pub device: Option<Device>,
    /// The keys that are chosen; none where it has its own.
    pub keys: Vec<Key>,
}

impl Target {
    /// The target of a Rust triple, with `features` as `CARGO_CFG_TARGET_FEATURE` lists them.
    pub fn from_triple(triple: &str, features: &[&str]) -> Target {
        let arch = arch_of(triple);
        let mut features: Vec<String> = features.iter().filter(|f| !f.is_empty()).map(|f| f.to_string()).collect();
        features.sort();
        features.dedup();
        Target {
            triple: triple.to_string(),
            device: Device::of_triple(triple),
            keys: Vec::new(),
            arch,
            format: format_of(triple),
            pointer_bits: match arch {
                Arch::X86_64 | Arch::Aarch64 | Arch::Riscv64 => 64,
                Arch::Arm | Arch::Riscv32 | Arch::Wasm32 => 32,
                Arch::Other => {
                    if triple.contains("64") {
                        64
                    } else {
                        32
                    }
                }
            },
            little_endian: !(triple.starts_with("armeb")
                || triple.starts_with("aarch64_be")
                || triple.contains("s390x")
                || triple.starts_with("mips-")
                || triple.starts_with("powerpc-")
                || triple.starts_with("powerpc64-")),
            cpu: String::new(),
            features,
            hosted: !(triple.contains("-none") || triple.ends_with("-unknown-unknown")),
        }
    }

    /// The machine that this runs on, as far as the standard library says.
    pub fn host() -> Target {
        let system = match std::env::consts::OS {
            "macos" => "apple-darwin",
            "windows" => "pc-windows-msvc",
            _ => "unknown-linux-gnu",
        };
        Target::from_triple(&format!("{}-{system}", std::env::consts::ARCH), &[])
    }

    /// Whether rustc compiles for this feature.
    pub fn has(&self, feature: &str) -> bool {
        self.features.iter().any(|f| f == feature)
    }

    /// The levels of its family with features that it lacks, the lowest first; none where programs are small.
    pub fn levels(&self) -> Vec<Level> {
        let all: &[Level] = match self.arch {
            Arch::X86_64 if self.hosted => &X86_64_LEVELS,
            Arch::Aarch64 if self.hosted && self.little_endian => &AARCH64_LEVELS,
            Arch::X86_64 | Arch::Aarch64 | Arch::Arm | Arch::Riscv32 | Arch::Riscv64 | Arch::Wasm32 | Arch::Other => {
                &[]
            }
        };
        all.iter().filter(|level| !level.features.iter().all(|f| self.has(f))).copied().collect()
    }

    /// The target with the features of a level besides its own.
    pub fn with_level(&self, level: &Level) -> Target {
        let mut target = self.clone();
        target.features.extend(level.features.iter().map(|f| f.to_string()));
        target.features.sort();
        target.features.dedup();
        target
    }

    /// The target with a processor of the table, and what it has.
    pub fn with_cpu(&self, cpu: &Cpu) -> Target {
        let mut target = self.clone();
        target.cpu = cpu.name.into();
        target.features.extend(cpu.features.iter().map(|f| f.to_string()));
        target.features.sort();
        target.features.dedup();
        target
    }

    /// Bytes from which on a kernel writes its result past the caches, where there are stores that do: more than the
    /// share that a core has of the last cache, so that whoever reads the result would not find it there.
    pub fn past_caches(&self) -> Option<i64> {
        (self.arch == Arch::X86_64 && self.hosted).then_some(16 << 20)
    }

    /// Whether two products of `bf16` are added by an instruction (`vdpbf16ps`) that is worth it. Processors with AMX
    /// have it at half the rate, where two fused multiplications are as fast.
    pub fn adds_halves(&self) -> bool {
        self.arch == Arch::X86_64 && self.has("avx512bf16") && self.has("avx512vl") && !self.has("amx-bf16")
    }

    /// Whether sums of vectors begin beside multiplications, on units of their own: so on AMD's processors, the only ones
    /// with `sse4a`. Elsewhere a sum takes the place of a multiplication.
    pub fn adds_beside(&self) -> bool {
        self.arch == Arch::X86_64 && self.has("sse4a")
    }

    /// Whether what comes from memory comes fastest in whole lines, and rows if the next ones are asked for while one is
    /// gone over: so on Intel's servers, which are told by `avx512fp16`. Other cores have room for more reads than lines that
    /// wait, and ask for lines behind each other without being told.
    pub fn reads_lines(&self) -> bool {
        self.arch == Arch::X86_64 && self.has("avx512fp16") && !self.has("sse4a")
    }

    /// Whether it is a microcontroller whose core multiplies two pairs of 16 bits at once, or has vectors besides.
    pub fn adds_products(&self) -> bool {
        self.arch == Arch::Arm && self.has("dsp") && !self.hosted && !self.has("neon")
    }

    /// Bytes of a vector register; 0 if there are none.
    pub fn vector_bytes(&self) -> u32 {
        match self.arch {
            Arch::X86_64 if self.has("avx512f") => 64,
            Arch::X86_64 if self.has("avx") => 32,
            Arch::X86_64 | Arch::Aarch64 => 16,
            Arch::Arm if self.has("neon") || self.has("mve") => 16,
            Arch::Riscv64 if self.has("v") => 16,
            Arch::Wasm32 if self.has("simd128") => 16,
            Arch::Arm | Arch::Riscv32 | Arch::Riscv64 | Arch::Wasm32 | Arch::Other => 0,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.triple)?;
        if !self.cpu.is_empty() {
            write!(f, " -mcpu={}", self.cpu)?;
        }
        if !self.features.is_empty() {
            write!(f, " -mattr={}", self.features.join(","))?;
        }
        if !self.keys.is_empty() {
            write!(f, " -keys={}", self.keys.iter().map(|key| key.name()).collect::<Vec<_>>().join(","))?;
        }
        Ok(())
    }
}

fn arch_of(triple: &str) -> Arch {
    let first = triple.split('-').next().unwrap_or_default();
    match first {
        "x86_64" | "x86_64h" => Arch::X86_64,
        "aarch64" | "arm64" | "arm64e" | "aarch64_be" => Arch::Aarch64,
        "wasm32" | "wasm32v1" => Arch::Wasm32,
        _ if first.starts_with("riscv32") => Arch::Riscv32,
        _ if first.starts_with("riscv64") => Arch::Riscv64,
        _ if first.starts_with("arm") || first.starts_with("thumb") => Arch::Arm,
        _ => Arch::Other,
    }
}

fn format_of(triple: &str) -> ObjectFormat {
    if triple.contains("-apple-") {
        ObjectFormat::MachO
    } else if triple.contains("windows") || triple.contains("uefi") {
        ObjectFormat::Coff
    } else if triple.starts_with("wasm") {
        ObjectFormat::Wasm
    } else {
        ObjectFormat::Elf
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(triple: &str, features: &[&str]) -> Vec<&'static str> {
        Target::from_triple(triple, features).levels().iter().map(|level| level.name).collect()
    }

    #[test]
    fn levels_are_those_above_the_target() {
        let all = ["x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4-vnni", "x86-64-v4-bf16", "x86-64-v4-amx"];
        assert_eq!(names("x86_64-unknown-linux-gnu", &["fxsr", "sse", "sse2"]), all);
        let [second, third, fourth, fifth, sixth, seventh] = X86_64_LEVELS;
        assert_eq!(names("x86_64-pc-windows-msvc", second.features), all[1..]);
        assert_eq!(names("x86_64-unknown-linux-gnu", third.features), all[2..]);
        // Some of a level's features are not the level.
        assert_eq!(names("x86_64-unknown-linux-gnu", &["avx512f"]), all);
        assert_eq!(names("x86_64-unknown-linux-gnu", fourth.features), all[3..]);
        assert_eq!(names("x86_64-unknown-linux-gnu", fifth.features), all[4..]);
        assert_eq!(names("x86_64-unknown-linux-gnu", sixth.features), all[5..]);
        assert!(names("x86_64-unknown-linux-gnu", seventh.features).is_empty());
        assert!(names("x86_64-unknown-none", &[]).is_empty());
        assert_eq!(names("aarch64-unknown-linux-gnu", &["neon"]), ["aarch64-dotprod", "aarch64-i8mm"]);
        assert_eq!(names("aarch64-apple-darwin", &["dotprod", "neon"]), ["aarch64-i8mm"]);
        assert!(names("aarch64_be-unknown-linux-gnu", &["neon"]).is_empty());
        assert!(names("aarch64-unknown-none", &["neon"]).is_empty());
    }

    #[test]
    fn a_level_widens_the_registers() {
        let target = Target::from_triple("x86_64-unknown-linux-gnu", &["sse2", "aes"]);
        let widths: Vec<u32> = target.levels().iter().map(|level| target.with_level(level).vector_bytes()).collect();
        assert_eq!(widths, [16, 32, 64, 64, 64, 64]);
        let widest = target.with_level(&X86_64_LEVELS[5]);
        assert!(widest.has("aes") && widest.features.is_sorted());
        assert!(widest.levels().is_empty());
    }
}
