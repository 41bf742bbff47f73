//! What may be passed for a tensor, and what is said of what may not.
#![cfg(feature = "alloc")]

use tenfold::{
    AsFixed, AsStrided, AsTensor, AsTensorMut, Dyn, Error, Fixed, Mismatch, StridedRef, Tensor, TensorMut, TensorRef,
    bf16, f16, view, view_mut,
};

fn shape2(x: &(impl AsTensor<f32, (Dyn, Dyn)> + ?Sized)) -> Result<[usize; 2], Mismatch> {
    x.as_tensor().map(|x| x.shape())
}

fn rows3(x: &(impl AsTensor<f32, (Dyn, Fixed<3>)> + ?Sized)) -> Result<usize, Mismatch> {
    x.as_tensor().map(|x| x.shape()[0])
}

fn sum_of(x: &(impl AsTensor<i32, (Dyn,)> + ?Sized)) -> i32 {
    x.as_tensor().map_or(0, |x| x.iter().sum())
}

#[test]
fn arrays_slices_vectors_views_and_tensors_are_tensors() -> Result<(), Error> {
    let array = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let flat = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    assert_eq!(shape2(&array)?, [2, 3]);
    assert_eq!(shape2(&&&array)?, [2, 3]);
    assert_eq!(shape2(&array[..1])?, [1, 3]);
    assert_eq!(shape2(&array.to_vec())?, [2, 3]);
    assert_eq!(shape2(&Box::new(array))?, [2, 3]);
    assert_eq!(shape2(&view(&flat, [3, 2])?)?, [3, 2]);
    assert_eq!(shape2(&Tensor::from(array))?, [2, 3]);
    assert_eq!(shape2(&Tensor::from(array.to_vec()).view())?, [2, 3]);
    assert_eq!(rows3(&array)?, 2);
    assert_eq!(rows3(&view(&flat, (2, Fixed::<3>))?)?, 2);
    assert_eq!(sum_of(&[1, 2, 3]), 6);
    assert_eq!(sum_of(&[1, 2, 3][1..]), 5);
    assert_eq!(sum_of(&vec![1, 2, 3]), 6);
    assert_eq!(sum_of(&Tensor::from([1, 2, 3])), 6);
    Ok(())
}

#[test]
fn what_the_types_leave_open_is_checked() -> Result<(), Error> {
    let flat = [0.0; 6];
    let wrong = rows3(&view(&flat, [3, 2])?).unwrap_err();
    assert_eq!(wrong, Mismatch::Extent { axis: 1, expected: 3, found: 2 });
    assert_eq!(wrong.to_string(), "axis 1 is 2, but the signature says 3");
    let wrong = view(&flat, [usize::MAX, 2]).unwrap_err();
    assert_eq!(wrong.to_string(), "a shape of too many elements is given for 6 elements");
    assert!(view(&flat[..0], [usize::MAX, 0, usize::MAX]).is_ok());
    assert!(view(&flat[..0], [usize::MAX, 2]).is_err());
    Ok(())
}

#[test]
fn all_ranks() {
    fn extents<S: tenfold::Shape>(x: &(impl AsTensor<u8, S> + ?Sized)) -> S::Extents {
        x.as_tensor().unwrap().shape()
    }
    type D8 = (Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, Dyn);
    type D7 = (Dyn, Dyn, Dyn, Dyn, Dyn, Dyn, Dyn);
    let x = [[[[[[[[7_u8; 1]; 2]; 1]; 3]; 1]; 2]; 1]; 4];
    assert_eq!(extents::<D8>(&x), [4, 1, 2, 1, 3, 1, 2, 1]);
    assert_eq!(extents::<D8>(&x[..2]), [2, 1, 2, 1, 3, 1, 2, 1]);
    assert_eq!(extents::<D7>(&x[0]), [1, 2, 1, 3, 1, 2, 1]);
    assert_eq!(extents::<()>(&7), []);
    assert_eq!(AsFixed::<u8, ()>::as_fixed(&7)[[]], 7);
    assert_eq!(Tensor::from(x)[[3, 0, 1, 0, 2, 0, 1, 0]], 7);
}

#[test]
fn results_are_written_through() -> Result<(), Error> {
    fn count<S: tenfold::Shape>(y: &mut (impl AsTensorMut<i32, S> + ?Sized)) {
        let mut y = y.as_tensor_mut().unwrap();
        (0..).zip(y.as_mut_slice()).for_each(|(i, y)| *y = i);
    }
    let mut array = [[0; 2]; 2];
    count::<(Dyn, Fixed<2>)>(&mut array);
    assert_eq!(array, [[0, 1], [2, 3]]);
    let mut vector = vec![0; 3];
    count::<(Dyn,)>(&mut vector);
    assert_eq!(vector, [0, 1, 2]);
    count::<(Dyn,)>(&mut vector[1..]);
    assert_eq!(vector, [0, 0, 1]);
    let mut tensor = Tensor::from([[9; 3]]);
    count::<(Dyn, Dyn)>(&mut tensor);
    assert_eq!(tensor, [[0, 1, 2]]);
    count::<(Dyn,)>(&mut view_mut(&mut vector, [3])?);
    assert_eq!(vector, [0, 1, 2]);
    let mut scalar = 5;
    count::<()>(&mut scalar);
    assert_eq!(scalar, 0);
    Ok(())
}

#[test]
fn strided_views_stay_inside() -> Result<(), Error> {
    fn all(x: &(impl AsStrided<i32, (Dyn, Dyn)> + ?Sized)) -> Vec<i32> {
        let x = x.as_strided().unwrap();
        let [h, w] = x.shape();
        (0..h).flat_map(|i| (0..w).map(move |j| *x.get([i, j]).unwrap())).collect()
    }
    let data: Vec<i32> = (0..12).collect();
    assert_eq!(all(&view(&data, [2, 6])?), data);
    assert_eq!(all(&StridedRef::new(&data, [3, 4], [1, 3], 0)?), [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11]);
    assert_eq!(all(&StridedRef::new(&data, [2, 2], [-6, -2], 11)?), [11, 9, 5, 3]);
    assert_eq!(all(&StridedRef::new(&data, [2, 2], [0, 0], 4)?), [4; 4]);
    assert_eq!(StridedRef::new(&data, [2, 2], [-6, -6], 11).unwrap_err(), Mismatch::Strides);
    assert_eq!(StridedRef::new(&data, [13], [1], 0).unwrap_err(), Mismatch::Strides);
    assert_eq!(StridedRef::new(&data, [2], [isize::MAX], 1).unwrap_err(), Mismatch::Strides);
    assert_eq!(StridedRef::new(&data, [usize::MAX], [isize::MIN], 1).unwrap_err(), Mismatch::Strides);
    let empty = StridedRef::new(&data[..0], [0, 3], [isize::MAX, 1], 0)?;
    assert_eq!(empty.get([0, 0]), None);
    Ok(())
}

#[test]
fn views_are_sent_and_shared_as_slices_are() {
    fn both<T: Send + Sync>() {}
    both::<TensorRef<'_, f32, (Dyn, Dyn)>>();
    both::<TensorMut<'_, f32, (Dyn, Dyn)>>();
    both::<StridedRef<'_, f32, (Dyn, Dyn)>>();
    both::<Tensor<f32, (Dyn, Dyn)>>();
    both::<tenfold::Workspace<64>>();
}

#[test]
fn a_workspace_fits_a_static() {
    static WORKSPACE: std::sync::Mutex<tenfold::Workspace<100>> = std::sync::Mutex::new(tenfold::Workspace::new());
    assert_eq!(WORKSPACE.lock().map(|it| &raw const *it as usize % 64).unwrap(), 0);
}

#[test]
fn sixteen_bit_floats_round_as_they_should() {
    for bits in 0..=u16::MAX {
        let (x, y) = (f16::from_bits(bits), bf16::from_bits(bits));
        if x.to_f32().is_nan() {
            assert!(f16::from_f32(x.to_f32()).to_f32().is_nan());
        } else {
            assert_eq!(f16::from_f32(x.to_f32()).to_bits(), bits);
        }
        if !y.to_f32().is_nan() {
            assert_eq!(bf16::from_f32(y.to_f32()).to_bits(), bits);
        }
        // Half way to the next one: to the even of the two.
        if bits & 0x7fff < 0x7bff {
            let next = f16::from_bits(bits + 1).to_f32();
            let middle = f16::from_f32((x.to_f32() + next) / 2.0);
            assert_eq!(middle.to_bits(), bits + (bits & 1), "{bits:#06x}");
        }
    }
    assert_eq!(f16::from_f32(65520.0).to_f32(), f32::INFINITY);
    assert_eq!(f16::from_f32(65519.9).to_f32(), 65504.0);
    assert_eq!(f16::from_f32(2.0_f32.powi(-25)).to_bits(), 0);
    assert_eq!(f16::from_f32(2.0_f32.powi(-25) * 1.001).to_bits(), 1);
    assert_eq!(f16::from_f32(-1e-30).to_bits(), 0x8000);
    assert_eq!(bf16::from_f32(f32::MAX).to_f32(), f32::INFINITY);
    assert!(bf16::from_f32(f32::from_bits(0x7f80_0001)).to_f32().is_nan());
}

#[cfg(feature = "half")]
#[test]
fn slices_of_half_are_tensors() {
    fn bits(x: &(impl AsTensor<f16, (Dyn,)> + ?Sized)) -> Vec<u16> {
        x.as_tensor().unwrap().iter().map(|x| x.to_bits()).collect()
    }
    let x = [0.5, -3.25].map(half::f16::from_f32);
    assert_eq!(bits(&x), [0x3800, 0xc280]);
    assert_eq!(bits(&x[1..]), [0xc280]);
    for bits in 0..=u32::MAX >> 8 {
        let x = f32::from_bits(bits << 8 | 0x80);
        if !x.is_nan() {
            assert_eq!(f16::from_f32(x).to_bits(), half::f16::from_f32_const(x).to_bits(), "{x:e}");
            assert_eq!(bf16::from_f32(x).to_bits(), half::bf16::from_f32_const(x).to_bits(), "{x:e}");
        }
    }
}

#[cfg(feature = "ndarray")]
#[test]
fn arrays_of_ndarray_are_tensors() -> Result<(), Error> {
    use ndarray::{Array2, array, s};
    let mut x: Array2<f32> = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    assert_eq!(shape2(&x)?, [2, 3]);
    assert_eq!(rows3(&x.view())?, 2);
    assert_eq!(shape2(&x.t()).unwrap_err(), Mismatch::Layout);
    assert_eq!(rows3(&x.slice(s![.., ..2])).unwrap_err().to_string(), "axis 1 is 2, but the signature says 3");
    let reversed = x.slice(s![..;-1, ..;2]);
    let strided: StridedRef<'_, f32, (Dyn, Dyn)> = reversed.as_strided()?;
    assert_eq!((strided.shape(), strided.strides()), ([2, 2], [-3, 2]));
    assert_eq!((strided.get([0, 1]), strided.get([1, 0])), (Some(&6.0), Some(&1.0)));
    let mut y: TensorMut<'_, f32, (Dyn, Dyn)> = x.as_tensor_mut()?;
    y[[1, 1]] = 9.0;
    assert_eq!(x[[1, 1]], 9.0);
    Ok(())
}
