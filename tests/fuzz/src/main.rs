//! One fuzzer; `TENFOLD_FUZZ` names its target.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../targets.rs"]
mod targets;

fuzz_target!(|bytes: &[u8]| {
    let name = std::env::var("TENFOLD_FUZZ").expect("TENFOLD_FUZZ names a target");
    let target = targets::TARGETS.iter().find(|(it, _)| *it == name).expect("there is a target of this name");
    target.1(bytes);
});
