//! Functions of which the build script cannot tell which is meant, or which it does not see.

use tenfold::prelude::*;

#[cfg(debug_assertions)]
#[tensor_fn]
pub fn gain(x: Tensor<f32, N>) -> Tensor<f32, N> {
    x * 2.0
}

#[cfg(not(debug_assertions))]
#[tensor_fn]
pub fn gain(x: Tensor<f32, N>) -> Tensor<f32, N> {
    x * 3.0
}

#[tensor_fn]
pub fn depends(x: Tensor<f32, N>) -> Tensor<f32, N> {
    self::gain(x)
}

macro_rules! make {
    ($name:ident) => {
        #[tensor_fn]
        pub fn $name(x: Tensor<f32, N>) -> Tensor<f32, N> {
            x * 2.0
        }
    };
}

make!(made);

/// What a function in an `impl` would belong to.
pub struct Net;

impl Net {
    #[tensor_fn]
    pub fn forward(x: Tensor<f32, N>) -> Tensor<f32, N> {
        x
    }
}
