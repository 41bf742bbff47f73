//! Instances of generic functions against the same in Rust, by type, by name, and as callees.

use tenfold::{f16, view};
use tenfold_programs::generic;

#[test]
fn a_dtype_is_given_or_follows() {
    let y = generic::axpy::<f32>(2.0, &[1.0, 2.0], &[10.0, 20.0]).expect("the dims agree");
    assert_eq!(y.as_slice(), [12.0, 24.0]);
    let y = generic::axpy(2.0f64, &[1.0, 2.0], &[0.5, 0.25]).expect("the dims agree");
    assert_eq!(y.as_slice(), [2.5, 4.25]);
    let y = generic::axpy::<i32>(i32::MAX, &[2, -3], &[1, 1]).expect("the dims agree");
    assert_eq!(y.as_slice(), [i32::MAX.wrapping_mul(2).wrapping_add(1), i32::MAX.wrapping_mul(-3).wrapping_add(1)]);
    let h = |x: f32| f16::from_f32(x);
    let y = generic::axpy::<f16>(h(0.5), &[h(3.0)], &[h(1.0)]).expect("the dims agree");
    assert_eq!(y.as_slice(), [h(2.5)]);
    assert!(generic::axpy(1.0f32, &[1.0, 2.0], &[1.0]).is_err(), "`N` differs");
}

#[test]
fn a_constant_changes_the_shape() {
    let x = [3.0f32, 6.0, 9.0, 12.0, 15.0];
    assert_eq!(generic::blur::<3>(&x).expect("there are enough").as_slice(), [6.0, 9.0, 12.0]);
    assert_eq!(generic::blur::<5>(&x).expect("there are enough").as_slice(), [9.0]);
    assert_eq!(generic::blur::<5>(&x[..4]).expect("none is left").shape(), [0]);
    assert!(generic::blur::<5>(&x[..3]).is_err(), "an extent would be negative");
}

#[test]
fn fixed_dims_cannot_fail() {
    let (products, total) = generic::pairs::<f32, 3>(&[1.0, 2.0, 3.0], &[10.0, 20.0]);
    assert_eq!(products.as_slice(), [10.0, 20.0, 20.0, 40.0, 30.0, 60.0]);
    assert_eq!(total, 6.0);
    let (products, total) = generic::pairs::<i64, 2>(&[1i64, 2], &[-1i64]);
    assert_eq!((products.as_slice(), total), (&[-1, -2][..], 3));
}

#[test]
fn state_is_updated() {
    let mut kept = [1u8, 2, 3, 4];
    assert_eq!(generic::push::<u8, 4>(&mut kept, 9), 4);
    assert_eq!(kept, [9, 1, 2, 3]);
    let mut one = [0.5f32];
    assert_eq!(generic::push::<f32, 1>(&mut one, 1.5), 0.5);
    assert_eq!(one, [1.5]);
}

#[test]
fn an_instance_is_a_function_and_a_module() {
    let mut y = [0.0f64; 2];
    let mut memory = tenfold::DynWorkspace::new(generic::axpy::of_f64::workspace_bytes(2)).expect("there is memory");
    generic::axpy::of_f64::into(3.0, &[1.0, 2.0], &[0.0, 1.0], &mut y, &mut memory).expect("the dims agree");
    assert_eq!(y, [3.0, 7.0]);
    assert_eq!(generic::axpy::of_f64::signature().name, "axpy::of_f64");
    let y = generic::blur::of_3(&view(&[1.0f32, 1.0, 4.0], [3]).expect("three elements")).expect("there are enough");
    assert_eq!(y.as_slice(), [2.0]);
}

#[test]
fn they_are_called_by_others() {
    let x: Vec<f32> = (0..8).map(|n| (n * n) as f32).collect();
    let five: Vec<f32> = x.windows(5).map(|w| w.iter().sum::<f32>() / 5.0).collect();
    let expected: Vec<f32> = five.windows(3).map(|w| w.iter().sum::<f32>() / 3.0).collect();
    let found = generic::smooth(&x).expect("there are enough");
    assert_eq!(found.shape(), [2]);
    for (found, expected) in found.as_slice().iter().zip(&expected) {
        assert!((found - expected).abs() <= 4.0 * f32::EPSILON * expected.abs(), "{found} is not {expected}");
    }
    assert_eq!(generic::double::<f64>(&[1.5f64, -2.0]).expect("the dims agree").as_slice(), [3.0, -4.0]);
    assert_eq!(generic::double::<i32>(&[7, -2]).expect("the dims agree").as_slice(), [14, -4]);
}

#[test]
fn a_function_outside_gets_each_dtype() {
    assert_eq!(generic::reversed::<f32>(&[1.0f32, 2.0, 3.0]).expect("the dims agree").as_slice(), [3.0, 2.0, 1.0]);
    assert_eq!(generic::reversed::<i32>(&[1, 2, 3]).expect("the dims agree").as_slice(), [3, 2, 1]);
}
