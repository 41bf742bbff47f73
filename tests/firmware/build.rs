//! Compiles the functions of the programs, and hands the linker the memory map beside this file.

fn main() {
    let here = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets this for build scripts");
    println!("cargo::rerun-if-changed=mps2.ld");
    println!("cargo::rustc-link-arg-bins=-T{here}/mps2.ld");
    tenfold_build::compile();
}
