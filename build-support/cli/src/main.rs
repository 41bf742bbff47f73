//! cargo tenfold.
fn main() {}
