use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>, n: usize) -> Tensor<f32, N> {
    let y = self::g(x)?;
    match n {
        0 => x,
        _ => y,
    }
}

fn main() {}
