//! Features of processors: from rustc's names to LLVM's, and what follows from them for floats.

use tenfold_core::Arch;

/// rustc's name and LLVM's, where they differ, of features that change the code we emit.
const RENAMED: &[(Arch, &str, &str)] = &[
    (Arch::X86_64, "bmi1", "bmi"),
    (Arch::X86_64, "cmpxchg16b", "cx16"),
    (Arch::X86_64, "lahfsahf", "sahf"),
    (Arch::X86_64, "pclmulqdq", "pclmul"),
    (Arch::Aarch64, "fp16", "fullfp16"),
    (Arch::Aarch64, "fhm", "fp16fml"),
    (Arch::Aarch64, "fcma", "complxnum"),
    (Arch::Aarch64, "frintts", "fptoint"),
];

/// The features a user may switch on that change the code we emit; others are not passed on, as
/// LLVM warns on its standard error of each name that it does not know.
const PASSED: &[(Arch, &[&str])] = &[
    (
        Arch::X86_64,
        &[
            "adx",
            "amx-bf16",
            "amx-int8",
            "amx-tile",
            "avx",
            "avx2",
            "avx512bf16",
            "avx512bitalg",
            "avx512bw",
            "avx512cd",
            "avx512dq",
            "avx512f",
            "avx512fp16",
            "avx512ifma",
            "avx512vbmi",
            "avx512vbmi2",
            "avx512vl",
            "avx512vnni",
            "avx512vpopcntdq",
            "avxvnni",
            "bmi1",
            "bmi2",
            "cmpxchg16b",
            "f16c",
            "fma",
            "lahfsahf",
            "lzcnt",
            "movbe",
            "pclmulqdq",
            "popcnt",
            "sse3",
            "sse4.1",
            "sse4.2",
            "ssse3",
        ],
    ),
    (
        Arch::Aarch64,
        &[
            "bf16", "dotprod", "f32mm", "f64mm", "fcma", "fhm", "fp16", "frintts", "i8mm", "lse", "neon", "rdm", "sve",
            "sve2",
        ],
    ),
    (Arch::Arm, &["dotprod", "dsp", "fp-armv8", "mve", "mve.fp", "neon", "vfp2", "vfp3", "vfp4"]),
    (Arch::Riscv32, &["a", "c", "d", "f", "m", "v", "zba", "zbb", "zbs", "zfa", "zfh", "zfhmin"]),
    (Arch::Riscv64, &["a", "c", "d", "f", "m", "v", "zba", "zbb", "zbs", "zfa", "zfh", "zfhmin"]),
    (Arch::Wasm32, &["bulk-memory", "nontrapping-fptoint", "relaxed-simd", "sign-ext", "simd128"]),
];

/// The features that a user may switch on, as rustc names them.
pub fn known_features(arch: Arch) -> &'static [&'static str] {
    PASSED.iter().find(|(of, _)| *of == arch).map_or(&[], |(_, names)| names)
}

/// The features in LLVM's words: those of the target, then those of the user.
pub(super) fn llvm(arch: Arch, base: &str, user: &[String]) -> Vec<String> {
    let passed = known_features(arch);
    let rename = |name: &str| {
        let found = RENAMED.iter().find(|(of, rust, _)| *of == arch && *rust == name);
        found.map_or_else(|| name.to_owned(), |(_, _, llvm)| (*llvm).to_owned())
    };
    let mut all: Vec<String> = base
        .split(',')
        .filter(|feature| !feature.is_empty())
        .map(|feature| {
            let (sign, name) = feature.split_at(1);
            format!("{sign}{}", rename(name))
        })
        .collect();
    for name in user.iter().filter(|name| passed.contains(&name.as_str())) {
        let feature = format!("+{}", rename(name));
        if !all.contains(&feature) {
            all.push(feature);
        }
    }
    all
}

/// Which operations are one instruction, or a few that LLVM writes itself. For the rest LLVM
/// would call a function of C's library, so we write them out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FloatUnit {
    /// Arithmetic and square root of `f32`.
    pub(crate) f32: bool,
    /// Arithmetic and square root of `f64`.
    pub(crate) f64: bool,
    /// `floor`, `ceil`, `trunc` and `roundeven` of the types above.
    pub(crate) round: bool,
    /// Fused multiply and add of the types above.
    pub(crate) fma: bool,
    /// Conversion between `f16` and `f32`.
    pub(crate) half: bool,
    /// Conversion of `f32` to `bf16`.
    pub(crate) brain: bool,
    /// Conversion of vectors to integers that saturates.
    pub(crate) saturates: bool,
    /// `llvm.minimum` and `llvm.maximum` of the types above.
    pub(crate) minimum: Minimum,
}

/// What becomes of `llvm.minimum` and `llvm.maximum`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Minimum {
    /// One instruction.
    Instruction,
    /// A few, which LLVM's vectoriser knows as a reduction.
    Sequence,
    /// Calls of C's library, or worse.
    #[default]
    Absent,
}

impl FloatUnit {
    /// One that has an instruction for each, as GPUs of NVIDIA's have.
    pub(super) fn full() -> FloatUnit {
        FloatUnit {
            f32: true,
            f64: true,
            round: true,
            fma: true,
            half: true,
            brain: true,
            saturates: true,
            minimum: Minimum::Instruction,
        }
    }

    /// What follows from a processor and LLVM's features.
    pub(super) fn of(arch: Arch, cpu: &str, features: &[String]) -> FloatUnit {
        let has = |name: &str| {
            let mut on = false;
            for feature in features.iter().filter(|feature| &feature[1..] == name) {
                on = feature.starts_with('+');
            }
            on
        };
        match arch {
            Arch::X86_64 => x86(cpu, has),
            Arch::Aarch64 => FloatUnit { brain: false, ..FloatUnit::full() },
            Arch::Arm => arm(features, has),
            Arch::Riscv32 | Arch::Riscv64 => FloatUnit {
                f32: has("f") || has("d"),
                f64: has("d"),
                round: has("zfa"),
                fma: has("f") || has("d"),
                half: has("zfhmin") || has("zfh"),
                brain: false,
                saturates: true,
                minimum: Minimum::Absent,
            },
            // Its fused form is not in every engine.
            Arch::Wasm32 => FloatUnit { fma: false, half: false, brain: false, ..FloatUnit::full() },
            Arch::Other => FloatUnit::default(),
        }
    }
}

fn x86(cpu: &str, has: impl Fn(&str) -> bool) -> FloatUnit {
    let level = match cpu {
        "x86-64-v2" => 2,
        "x86-64-v3" => 3,
        "x86-64-v4" => 4,
        _ => 1,
    };
    let hard = !has("soft-float");
    let avx512 = has("avx512f") || level >= 4;
    let avx2 = has("avx2") || avx512 || level >= 3;
    FloatUnit {
        f32: hard,
        f64: hard,
        round: hard && (has("sse4.1") || has("sse4.2") || has("avx") || avx2 || level >= 2),
        fma: hard && (has("fma") || avx512 || level >= 3),
        half: hard && (has("f16c") || avx512 || level >= 3),
        brain: false,
        saturates: false,
        minimum: if hard { Minimum::Sequence } else { Minimum::Absent },
    }
}

fn arm(features: &[String], has: impl Fn(&str) -> bool) -> FloatUnit {
    let unit = |prefix: &str| {
        features.iter().any(|feature| feature.strip_prefix('+').is_some_and(|name| name.starts_with(prefix)))
    };
    let armv8 = unit("fp-armv8");
    let vfp4 = unit("vfp4") || armv8;
    let any = vfp4 || unit("vfp") || has("mve.fp");
    let single_only =
        features.iter().any(|feature| feature.ends_with("sp")) || (has("mve.fp") && !armv8 && !unit("vfp"));
    FloatUnit {
        f32: any,
        f64: any && !single_only,
        round: armv8,
        fma: vfp4,
        half: vfp4,
        brain: false,
        saturates: true,
        minimum: Minimum::Absent,
    }
}
