//! Game of life: the neighbour to the left of the first column.

use tenfold::prelude::*;

#[tensor_fn]
fn life(cell: Tensor<u8, H, W>) -> Tensor<u8, H, W> {
    compute(|i, j| {
        let n = sum(0..3, 0..3, |u, v| cell.get_wrapped([i + u - 1, j + v - 1]));
        let left = cell[[i, j - 1]]; // off by one
        (n - left == 3) as u8
    })
}

fn main() {}
