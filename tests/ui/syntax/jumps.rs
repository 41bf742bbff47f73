use tenfold::prelude::*;

#[tensor_fn]
fn f(x: Tensor<f32, N>) -> Tensor<f32, N> {
    for i in 0..N {
        if i == 3 {
            break;
        }
    }
    return x;
}

fn main() {}
