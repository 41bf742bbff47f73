//! Writes the jumps of LLVM-C for the machine that the crate is compiled for.

#[path = "src/load/jumps.rs"]
mod jumps;

use std::{env, fs, path::Path};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/load/jumps.rs");
    println!("cargo::rerun-if-changed=src/load/names.txt");

    let cfg = |name: &str| env::var(format!("CARGO_CFG_{name}")).unwrap_or_default();
    let form = jumps::Form::of(&cfg("TARGET_ARCH"), &cfg("TARGET_VENDOR"), &cfg("TARGET_OS"));
    let names: Vec<String> = fs::read_to_string("src/load/names.txt")
        .expect("`src/load/names.txt` is part of the crate")
        .lines()
        .map(str::to_owned)
        .collect();

    let out = env::var_os("OUT_DIR").expect("cargo sets OUT_DIR");
    let write = |file: &str, text: String| {
        fs::write(Path::new(&out).join(file), text).expect("OUT_DIR can be written");
    };
    write("jumps.s", jumps::assembly(form, &names));
    write("names.rs", format!("{names:#?}"));
    println!("cargo::rustc-check-cfg=cfg(tenfold_jumps)");
    if form != jumps::Form::Labels {
        println!("cargo::rustc-cfg=tenfold_jumps");
    }
}
