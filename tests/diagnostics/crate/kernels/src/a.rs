//! A meaning of `super::of` in `shared.rs`.

use tenfold::prelude::*;

#[tensor_fn]
pub fn of(x: Tensor<f32, N>) -> Tensor<f32, N> {
    x + 1.0
}

#[path = "shared.rs"]
pub mod shared;
