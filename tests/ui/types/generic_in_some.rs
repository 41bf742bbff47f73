use tenfold::prelude::*;

#[tensor_fn(T = [f32, i32], K = [0, 1])]
fn f<T, const K: usize>(x: Tensor<T, N>) -> Tensor<T, N> {
    let y = sqrt(x);
    compute(|i| y[[i + K]])
}

fn main() {
    let _ = f::<f32, 1>(&[1.0]);
}
