use tenfold::prelude::*;

/// `a` times `x` plus `y`, element by element.
#[tensor_fn]
fn saxpy(a: f32, x: Tensor<f32, N>, y: Tensor<f32, N>) -> Tensor<f32, N> {
    a * x + y
}

fn main() -> Result<(), tenfold::Error> {
    let z = saxpy(2.0, &[1.0, 2.0, 3.0], &[10.0, 20.0, 30.0])?;
    println!("{z:?}");
    assert_eq!(z.as_slice(), [12.0, 24.0, 36.0]);
    Ok(())
}
