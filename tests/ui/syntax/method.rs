use tenfold::prelude::*;

struct Net;

impl Net {
    #[tensor_fn]
    fn forward(&self, x: Tensor<f32, N>) -> Tensor<f32, N> {
        x
    }
}

fn call(net: &Net) {
    net.forward(&[1.0f32; 4]);
}

fn main() {}
