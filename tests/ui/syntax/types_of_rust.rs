use tenfold::prelude::*;

#[tensor_fn]
fn f(a: Vec<f32>, b: [f32; 4], c: &[f32], d: String) -> Option<f32> {
    a
}

fn main() {}
