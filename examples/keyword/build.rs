//! Compiles the tensor functions of this crate, those of its programs as well.

fn main() {
    tenfold_build::compile();
}
