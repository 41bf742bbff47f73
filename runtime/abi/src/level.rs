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
/// sums of products of 8 bits (`avx512vnni`), one for those of `bf16` (`avx512bf16`) and one for registers that are
/// matrices (AMX), which only functions that gain from them have code for. One list holds them, since every processor
/// with `avx512bf16` has `avx512vnni`, and every one with AMX has both. `lahfsahf` is left out: neither code for kernels
/// nor the standard library asks for it.
pub const X86_64_LEVELS: [Level; 6] = [
    Level { name: "x86-64-v2", features: &V2 },
    Level { name: "x86-64-v3", features: &V3 },
    Level { name: "x86-64-v4", features: &V4 },
    Level { name: "x86-64-v4-vnni", features: &V4_VNNI },
    Level { name: "x86-64-v4-bf16", features: &V4_BF16 },
    Level { name: "x86-64-v4-amx", features: &V4_AMX },
];

const V2: [&str; 6] = ["cmpxchg16b", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3"];
const V3: [&str; 15] = and(V2, ["avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"]);
const V4: [&str; 20] = and(V3, ["avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"]);
const V4_VNNI: [&str; 21] = and(V4, ["avx512vnni"]);
const V4_BF16: [&str; 22] = and(V4_VNNI, ["avx512bf16"]);
const V4_AMX: [&str; 25] = and(V4_BF16, ["amx-bf16", "amx-int8", "amx-tile"]);

/// The levels of AArch64, where what every processor of it has is NEON. Both are for sums of products of 8 bits, which
/// only functions with such sums have code for: of factors that both have signs or both have none (`udot`, `sdot`), and
/// of one with a sign and one without (`usdot`).
pub const AARCH64_LEVELS: [Level; 2] = [
    Level { name: "aarch64-dotprod", features: &["dotprod"] },
    Level { name: "aarch64-i8mm", features: &["dotprod", "i8mm"] },
];

/// The levels of every family that has some. Names are those of one level; numbers begin at 1 in each family, since a
/// program is compiled for one.
pub const FAMILIES: [&[Level]; 2] = [&X86_64_LEVELS, &AARCH64_LEVELS];

/// The number of a level in its family, by which emitted tokens name it.
#[must_use]
pub fn number_of_level(name: &str) -> Option<u8> {
    let at = FAMILIES.iter().find_map(|levels| levels.iter().position(|level| level.name == name))?;
    u8::try_from(at + 1).ok()
}

/// The features of the level below and those that are new; `N` is how many both are.
const fn and<const B: usize, const M: usize, const N: usize>(
    below: [&'static str; B],
    more: [&'static str; M],
) -> [&'static str; N] {
    assert!(B + M == N);
    let mut all = [""; N];
    let mut at = 0;
    while at < N {
        all[at] = if at < B { below[at] } else { more[at - B] };
        at += 1;
    }
    all
}

/// The name of the code that every processor of the target runs.
pub const BASELINE: &str = "baseline";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_has_what_the_one_before_has() {
        for pair in FAMILIES.iter().flat_map(|levels| levels.windows(2)) {
            let [less, more] = pair else { continue };
            assert!(less.features.iter().all(|f| more.features.contains(f)), "{} {}", less.name, more.name);
            assert!(more.features.len() > less.features.len());
        }
    }

    #[test]
    fn a_name_is_that_of_one_level() {
        for levels in FAMILIES {
            for (number, level) in (1..).zip(levels) {
                assert_eq!(number_of_level(level.name), Some(number), "{}", level.name);
            }
        }
        assert_eq!(number_of_level(BASELINE), None);
    }
}
