//! Compiles the tensor functions of this crate.

fn main() {
    tenfold_build::compile();
}
