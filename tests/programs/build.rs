//! Compiles the programs, and the functions of C that some of them call.

fn main() {
    tenfold_build::compile();
    println!("cargo::rerun-if-changed=csrc/outside.c");
    cc::Build::new().file("csrc/outside.c").warnings_into_errors(true).compile("tenfold_programs_outside");
}
