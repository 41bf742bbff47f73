use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> Tensor<f32, N> {
    let mut y = x;
    #[unroll]
    for i in 0..300 {
        #[unroll]
        for j in 0..300 {
            y = y + 1.0;
        }
    }
    y
}

fn main() {}
