//! Compiles the functions of the program.

fn main() {
    tenfold_build::compile();
}
