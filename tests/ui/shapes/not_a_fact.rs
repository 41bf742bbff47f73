use tenfold::prelude::*;

#[tensor_fn(dims(N, N + 1, N <= 0.5))]
fn f(x: Tensor<f32, N>, k: f32) -> Tensor<f32, N> {
    assert!(k > 0.0, "a positive gain");
    assert!(N != 3 || N == 4);
    x
}

fn main() {}
