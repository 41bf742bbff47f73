//! Compiles the programs.

fn main() {
    tenfold_build::compile();
}
