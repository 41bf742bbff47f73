use tenfold::prelude::*;

#[tensor_fn]
struct S {
    x: f32,
}

fn main() {}
