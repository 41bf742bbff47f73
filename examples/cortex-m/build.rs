//! Speaks the words that the firmware hears, and names the linker script.

use model_writer::Random;
use std::path::Path;
use std::{env, fs};

fn main() {
    let of = |name: &str| env::var(name).expect("cargo sets it");
    let words = keyword::words::raw(&keyword::SPOKEN, &mut Random::new(7));
    let samples = Path::new(&of("OUT_DIR")).join("words.raw");
    fs::write(&samples, words).expect("the samples can be written");
    println!("cargo::rustc-link-arg=-T{}/board.ld", of("CARGO_MANIFEST_DIR"));
    println!("cargo::rerun-if-changed=board.ld");
}
