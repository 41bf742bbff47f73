//! One fuzzer; `TENFOLD_FUZZ` names its target.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[cfg(feature = "readers")]
#[path = "../readers.rs"]
mod readers;
#[path = "../targets.rs"]
mod targets;

#[cfg(not(feature = "readers"))]
mod readers {
    pub(crate) const READERS: &[crate::targets::Target] = &[];
}

fuzz_target!(|bytes: &[u8]| {
    let name = std::env::var("TENFOLD_FUZZ").expect("TENFOLD_FUZZ names a target");
    let mut all = targets::TARGETS.iter().chain(readers::READERS);
    let target = all.find(|(it, _)| *it == name).expect("there is a target of this name");
    target.1(bytes);
});
