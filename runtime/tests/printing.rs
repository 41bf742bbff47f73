//! How tensors print.
#![cfg(feature = "alloc")]

use tenfold::{Dyn, Tensor, view};

#[test]
fn columns_are_aligned() {
    let x = Tensor::from([[1.0, -20.5], [300.0, 4.0]]);
    assert_eq!(x.to_string(), "[[  1.0, -20.5],\n [300.0,   4.0]]");
    assert_eq!(format!("{x:.2?}"), "[[  1.00, -20.50],\n [300.00,   4.00]]");
}

#[test]
fn every_rank_prints() {
    assert_eq!(view(&[3], []).unwrap().to_string(), "3");
    assert_eq!(Tensor::from([true, false]).to_string(), "[ true, false]");
    assert_eq!(
        Tensor::from([[[1, 2], [3, 4]], [[5, 6], [7, 8]]]).to_string(),
        "[[[1, 2],\n  [3, 4]],\n\n [[5, 6],\n  [7, 8]]]"
    );
    assert_eq!(Tensor::<i32, (Dyn, Dyn)>::zeros([0, 3]).unwrap().to_string(), "[]");
    assert_eq!(Tensor::<i32, (Dyn, Dyn)>::zeros([2, 0]).unwrap().to_string(), "[[],\n []]");
}

#[test]
fn large_tensors_are_shortened() {
    let x = Tensor::from((0..2000).collect::<Vec<i32>>());
    assert_eq!(x.to_string(), "[   0,    1,    2, ..., 1997, 1998, 1999]");
    let x = x.reshape([500, 4]).unwrap();
    assert!(x.to_string().contains("[   8,    9,   10,   11],\n ...,\n [1988,"));
}
