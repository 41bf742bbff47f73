//! Variants: which of a function's codes runs.
//!
//! A build that optimises compiles each function for several levels of the processor family: on x86-64 for every
//! processor and for the levels v2, v3, v4 and, where it multiplies integers of 8 bits or `bf16`, v4 with VNNI, with
//! `avx512bf16` and with AMX; on AArch64, where it multiplies such integers, for processors with `dotprod` and with `i8mm`. All read the same constants. A call takes the
//! best that the processor, and the system on it, can run; what that is, is looked up once. `f::variants()` lists the
//! codes of a function.
//!
//! The variable `TENFOLD_VARIANT` names the best level that a program takes, [`force`] that of the calls inside of it,
//! and `f::on(&Cpu).variant("x86-64-v3")?` that of one call.
//!
//! ```
//! use tenfold::variants;
//!
//! println!("{} runs here", variants::current());
//! let sum = variants::force("baseline", || 1 + 1)?; // calls of tensor functions inside take the baseline
//! assert_eq!(sum, 2);
//! # Ok::<(), tenfold::Error>(())
//! ```

use crate::{Error, Variant};
use core::cell::Cell;
use core::sync::atomic::{AtomicU8, Ordering};
use std::string::String;
use std::{format, thread_local};
use tenfold_abi::{BASELINE, Level};

/// The levels of the family that this program is compiled for; elsewhere those of x86-64, which do not run.
#[cfg(target_arch = "aarch64")]
const LEVELS: &[Level] = &tenfold_abi::AARCH64_LEVELS;
#[cfg(not(target_arch = "aarch64"))]
const LEVELS: &[Level] = &tenfold_abi::X86_64_LEVELS;

/// The variable that names the best level that a program takes.
const VARIABLE: &str = "TENFOLD_VARIANT";

/// Nobody has said or asked.
const UNKNOWN: u8 = u8::MAX;

/// The best level of this process: 0 is the baseline.
static BEST: AtomicU8 = AtomicU8::new(UNKNOWN);

thread_local! {
    static FORCED: Cell<u8> = const { Cell::new(UNKNOWN) };
}

/// Lets calls inside of `f` take the variant of that name: `baseline`, or a level such as `x86-64-v3`. A function that
/// was not compiled for the level takes its best one below. An inner call of this goes before an outer one.
///
/// # Errors
///
/// [`Error::NoVariant`]: there is no level of this name. [`Error::UnsupportedVariant`]: the processor cannot run it.
pub fn force<R>(name: &str, f: impl FnOnce() -> R) -> Result<R, Error> {
    Ok(within(supported(name)?, f))
}

/// The best level that calls on this thread take now, `baseline` if it is none.
#[must_use]
pub fn current() -> &'static str {
    name_of(most())
}

/// The level of that number.
fn variant_of(number: u8) -> Option<Variant> {
    let level = LEVELS.get(usize::from(number).checked_sub(1)?)?;
    Some(Variant { name: level.name, features: level.features })
}

fn name_of(number: u8) -> &'static str {
    variant_of(number).map_or(BASELINE, |variant| variant.name)
}

/// The number of a level that this processor can run.
pub(crate) fn supported(name: &str) -> Result<u8, Error> {
    if name == BASELINE {
        return Ok(0);
    }
    let numbers = 1..=LEVELS.len() as u8;
    let found = numbers.filter_map(|number| Some((number, variant_of(number)?))).find(|(_, v)| v.name == name);
    let (number, variant) = found.ok_or(Error::NoVariant)?;
    variant.supported().map(|()| number)
}

/// The best level that the caller, the variable or the processor allows.
#[inline]
fn most() -> u8 {
    match FORCED.try_with(Cell::get).unwrap_or(UNKNOWN) {
        UNKNOWN => match BEST.load(Ordering::Relaxed) {
            UNKNOWN => initial(),
            best => best,
        },
        forced => forced,
    }
}

/// Which level a call takes of those that `there` has a bit for: 0 is the baseline, which is always there.
#[inline]
#[must_use]
pub fn level(there: u8) -> u8 {
    const LAST: u32 = u8::BITS - 1;
    let up_to = u8::MAX >> LAST.saturating_sub(u32::from(most()));
    (LAST - ((there | 1) & up_to).leading_zeros()) as u8
}

/// What holds for the process; an error of the environment is told once.
#[cold]
fn initial() -> u8 {
    let numbers = (1..=LEVELS.len() as u8).rev();
    let best = numbers.filter(|n| variant_of(*n).is_some_and(|v| v.supported().is_ok())).max().unwrap_or(0);
    let (level, error) = match from_env() {
        Ok(asked) => (asked.unwrap_or(best), None),
        Err(error) => (best, Some(error)),
    };
    match BEST.compare_exchange(UNKNOWN, level, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => {
            if let Some(error) = error {
                std::eprintln!("tenfold: {error}; `{}` is used", name_of(level));
            }
            level
        }
        Err(set) => set,
    }
}

/// The level that the variable asks for, if it is set.
fn from_env() -> Result<Option<u8>, String> {
    let Some(text) = std::env::var_os(VARIABLE).filter(|text| !text.is_empty()) else { return Ok(None) };
    let text = text.to_string_lossy();
    let name = text.trim();
    match supported(name) {
        Ok(level) => Ok(Some(level)),
        Err(Error::NoVariant) => {
            let levels: String = LEVELS.iter().map(|level| format!(", `{}`", level.name)).collect();
            Err(format!("`{VARIABLE}` takes `{BASELINE}`{levels}, not `{name}`"))
        }
        Err(error) => Err(format!("`{VARIABLE}={name}`: {error}")),
    }
}

/// Puts back what was forced before.
struct Restore(u8);

impl Drop for Restore {
    fn drop(&mut self) {
        FORCED.set(self.0);
    }
}

/// Calls inside take a level that the processor can run.
pub(crate) fn within<R>(level: u8, f: impl FnOnce() -> R) -> R {
    let _restore = Restore(FORCED.replace(level));
    f()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;
    use std::vec::Vec;

    #[test]
    fn the_best_of_those_that_are_there_is_taken() {
        for (most, there, taken) in [
            (0, 0b1110, 0),
            (1, 0b1110, 1),
            (2, 0b1110, 2),
            (3, 0b1110, 3),
            (3, 0b0110, 2),
            (3, 0b1000, 3),
            (2, 0b1000, 0),
            (3, 0, 0),
        ] {
            assert_eq!(within(most, || level(there)), taken, "{most} of {there:b}");
        }
    }

    #[test]
    fn what_is_forced_ends_with_the_call() {
        let before = current();
        let inside = force("baseline", || (current(), level(0b1110))).expect("every processor runs it");
        assert_eq!(inside, (BASELINE, 0));
        assert_eq!(current(), before);
        let panicked = std::panic::catch_unwind(|| force("baseline", || std::panic!("inside")));
        assert!(panicked.is_err());
        assert_eq!(current(), before);
    }

    #[test]
    fn an_unknown_level_and_one_that_does_not_run_are_told_apart() {
        assert_eq!(force("x86-64-v9", || ()), Err(Error::NoVariant));
        for level in LEVELS {
            let wanted = Variant { name: level.name, features: level.features }.supported();
            assert_eq!(force(level.name, current), wanted.map(|()| level.name));
        }
        let strange = Variant { name: "strange", features: &["sse", "telepathy"] };
        let error = Error::UnsupportedVariant { variant: "strange", feature: "telepathy" };
        #[cfg(target_arch = "x86_64")]
        assert_eq!(strange.supported(), Err(error));
        assert!(error.to_string().contains("`telepathy`"), "{error} {strange:?}");
    }

    /// Every feature of a level is one that can be looked up, or no processor would be found to have the level.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn each_feature_is_looked_up() {
        let flags = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let Some(flags) = flags.lines().find(|line| line.starts_with("flags")) else { return };
        let flags: Vec<&str> = flags.split_whitespace().collect();
        // As Linux spells them where it spells them otherwise; features that other names imply are left out.
        let spelt =
            [("cmpxchg16b", "cx16"), ("sse4.1", "sse4_1"), ("sse4.2", "sse4_2"), ("sse3", "pni"), ("lzcnt", "abm")];
        let more = [("avx512vnni", "avx512_vnni"), ("avx512bf16", "avx512_bf16")];
        let tiles = [("amx-bf16", "amx_bf16"), ("amx-int8", "amx_int8"), ("amx-tile", "amx_tile")];
        let spelt = spelt.iter().chain(&more).chain(&tiles);
        for feature in LEVELS[5].features {
            let name = spelt.clone().find(|(own, _)| own == feature).map_or(*feature, |(_, linux)| linux);
            let found = Variant { name: "one", features: std::slice::from_ref(feature) }.supported().is_ok();
            assert_eq!(found, flags.contains(&name), "{feature}");
        }
    }
}
