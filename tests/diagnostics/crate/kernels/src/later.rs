//! What is part of the language and not compiled yet, each by its name.

use tenfold::prelude::*;

#[tensor_fn(precision = "tf32")]
pub fn precision(x: Tensor<f32, 4, 4>) -> Tensor<f32, 4, 4> {
    matmul(x, x)
}
