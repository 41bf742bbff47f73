//! One text in two modules.

use tenfold::prelude::*;

#[tensor_fn]
pub fn shared(x: Tensor<f32, N>) -> Tensor<f32, N> {
    super::of(x)
}
