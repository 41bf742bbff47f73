use tenfold::prelude::*;

#[tensor_fn(T = [float, f64])]
fn f<T>(x: Tensor<T, N>) -> Tensor<T, N> {
    x
}

fn main() {}
