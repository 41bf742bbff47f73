//! IIR sections: a third state of two.

use tenfold::prelude::*;

#[tensor_fn]
fn biquads(x: Tensor<f32, N>, c: Tensor<f32, S, 5>, z: &mut Tensor<f32, S, 2>) -> Tensor<f32, N> {
    let mut y = x;
    for n in 0..N {
        for s in 0..S {
            let (v, o) = (y[[n]], c[[s, 0]] * y[[n]] + z[[s, 0]]);
            z[[s, 0]] = c[[s, 1]] * v - c[[s, 3]] * o + z[[s, 1]];
            z[[s, 2]] = c[[s, 2]] * v - c[[s, 4]] * o; // off by one
            y[[n]] = o;
        }
    }
    y
}

fn main() {}
