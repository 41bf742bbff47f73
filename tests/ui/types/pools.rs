use tenfold::prelude::*;

#[tensor_fn(pool(dtcm = "64K", psram = "8M", Dtcm = "1K", dtcm = "64K"))]
fn names(x: Tensor<f32, 4>) -> Tensor<f32, 4> {
    x * 2.0
}

#[tensor_fn(pool(bank_1 = "64K", bank1 = "64K", stack = "2K"))]
fn more_names(x: Tensor<f32, 4>) -> Tensor<f32, 4> {
    x * 2.0
}

#[tensor_fn(pool(dtcm = "64KB", "8M", psram = 1.5))]
fn sizes(x: Tensor<f32, 4>) -> Tensor<f32, 4> {
    x * 2.0
}

#[tensor_fn(pool())]
fn nothing(x: Tensor<f32, 4>) -> Tensor<f32, 4> {
    x * 2.0
}

#[tensor_fn(pool(dtcm = "64K"), dims(M <= 8))]
fn unbounded(x: Tensor<f32, N, M>, n: usize) -> Tensor<f32, N, M> {
    x * n as f32
}

fn main() {}
