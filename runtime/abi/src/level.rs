//! Levels of processors: features that come together. Code is made for a level and chosen by its features.

/// A level of a family of processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Its name: `x86-64-v3`.
    pub name: &'static str,
    /// The features that it has beyond those of every processor of the family, as rustc names them.
    pub features: &'static [&'static str],
}

/// The levels of x86-64, each with all that those before it have: those that the psABI names, and beyond v4 one for
/// sums of products of 8 bits (`avx512vnni`), which only functions with such sums have code for. `lahfsahf` is left out: neither code for kernels nor
/// the standard library asks for it.
pub const X86_64_LEVELS: [Level; 4] = [
    Level { name: "x86-64-v2", features: &["cmpxchg16b", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"] },
    Level {
        name: "x86-64-v3",
        features: &[
            "avx",
            "avx2",
            "bmi1",
            "bmi2",
            "cmpxchg16b",
            "f16c",
            "fma",
            "lzcnt",
            "movbe",
            "popcnt",
            "sse3",
            "sse4.1",
            "sse4.2",
            "ssse3",
            "xsave",
        ],
    },
    Level {
        name: "x86-64-v4",
        features: &[
            "avx",
            "avx2",
            "avx512bw",
            "avx512cd",
            "avx512dq",
            "avx512f",
            "avx512vl",
            "bmi1",
            "bmi2",
            "cmpxchg16b",
            "f16c",
            "fma",
            "lzcnt",
            "movbe",
            "popcnt",
            "sse3",
            "sse4.1",
            "sse4.2",
            "ssse3",
            "xsave",
        ],
    },
    Level {
        name: "x86-64-v4-vnni",
        features: &[
            "avx",
            "avx2",
            "avx512bw",
            "avx512cd",
            "avx512dq",
            "avx512f",
            "avx512vl",
            "avx512vnni",
            "bmi1",
            "bmi2",
            "cmpxchg16b",
            "f16c",
            "fma",
            "lzcnt",
            "movbe",
            "popcnt",
            "sse3",
            "sse4.1",
            "sse4.2",
            "ssse3",
            "xsave",
        ],
    },
];

/// The name of the code that every processor of the target runs.
pub const BASELINE: &str = "baseline";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_has_what_the_one_before_has() {
        for pair in X86_64_LEVELS.windows(2) {
            let [less, more] = pair else { continue };
            assert!(less.features.iter().all(|f| more.features.contains(f)), "{} {}", less.name, more.name);
            assert!(more.features.len() > less.features.len());
        }
        assert!(X86_64_LEVELS.iter().all(|level| level.features.is_sorted()));
    }
}
