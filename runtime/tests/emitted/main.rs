//! What `#[tensor_fn]` emits, by hand and as code that runs: the reference for the attribute.
//!
//! `compiler/docs/runtime.md` goes through these files item by item. The entry points are written
//! in Rust in `kernels.rs`; in a user's crate they come from an archive.
#![allow(
    unsafe_code,
    unreachable_pub,
    clippy::undocumented_unsafe_blocks,
    clippy::allow_attributes_without_reason,
    reason = "stands for tokens that the attribute emits, and for a compiled kernel"
)]
#![cfg(feature = "alloc")]

mod allocation;
mod bounded;
mod fixed;
mod kernels;
mod named;
#[cfg(feature = "std")]
mod threads;

use bounded::mean_of;
use fixed::scale2;
use named::step;
use tenfold::{Arg, Cpu, Device, DeviceTensor, DynTensor, DynTensorMut, Error, Tensor, f16, view};

const MODULE: tenfold::Module = tenfold::module!(scale2, named::step, bounded::mean_of);

const X: [[f32; 3]; 2] = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];

fn halves() -> [f16; 2] {
    [f16::from_f32(0.5), f16::from_f32(-1.0)]
}

#[test]
fn fixed_function_returns_its_result() {
    let y = scale2(&[1.0, 2.0, 3.0, 4.0]);
    assert_eq!(y, [2.0, 4.0, 6.0, 8.0]);
    assert_eq!(<[f32; 4]>::from(y), [2.0, 4.0, 6.0, 8.0]);
}

#[test]
fn fixed_function_writes_in_place() {
    let (mut y, mut workspace) = ([0.0; 4], scale2::Workspace::new());
    scale2::into(&[1.0, 2.0, 3.0, 4.0], &mut y, &mut workspace);
    assert_eq!(y, [2.0, 4.0, 6.0, 8.0]);
}

#[test]
fn named_function_returns_a_tuple() -> Result<(), Error> {
    let mut state = [10.0, 20.0];
    let (y, n) = step(&X, &halves(), 2.0, 1, &mut state)?;
    assert_eq!(y, [[2.0, 4.0, 6.0, 0.5, 0.5, 0.5], [8.0, 10.0, 12.0, -1.0, -1.0, -1.0]]);
    assert_eq!(n, [0, 1]);
    assert_eq!(state, [11.0, 21.0]);
    Ok(())
}

#[test]
fn named_function_writes_in_place() -> Result<(), Error> {
    let (mut state, mut y, mut n) = (vec![0.0; 2], vec![[0.0; 6]; 2], [0; 2]);
    let mut workspace = vec![core::mem::MaybeUninit::uninit(); step::workspace_bytes(2, 3) + 63];
    let x: Vec<_> = X.into();
    step::into(&x, &halves()[..], 2.0, 1, &mut state, &mut y, &mut n, &mut workspace[..])?;
    assert_eq!(y[1][..3], [8.0, 10.0, 12.0]);
    assert_eq!(n, [0, 1]);
    Ok(())
}

#[test]
fn errors_name_parameter_axis_and_dim() {
    let text = |result: Result<_, Error>| result.map(|_: (Tensor<_, _>, Tensor<_, _>)| ()).unwrap_err().to_string();
    let h = halves();
    assert_eq!(text(step(&X[..1], &h, 1.0, 0, &mut [0.0; 2])), "`h`: axis 0 is 2, but `N` is 1 (from axis 0 of `x`)");
    assert_eq!(text(step(&X, &h, 1.0, 0, &mut [0.0; 3])), "`state`: axis 0 is 3, but `{ D - 1 }` is 2");
    assert_eq!(text(step(&X, &h, 1.0, 2, &mut [0.0; 2])), "`pos < N` does not hold: the position is past the end");
    assert_eq!(text(step(&[[1.0; 3]; 65], &[h[0]; 65], 1.0, 0, &mut [0.0; 2])), "`N <= 64` does not hold");
    let empty: [[f32; 0]; 2] = [[]; 2];
    assert_eq!(text(step(&empty, &h, 1.0, 0, &mut [0.0; 0])), "the extent `{ D - 1 }` is -1, which is negative");
    assert_eq!(text(step(&X, &h, -1.0, 0, &mut [0.0; 2])), "`scale >= 0.0` does not hold");
}

#[test]
fn results_and_workspace_are_checked() {
    let (mut y, mut n, mut state) = ([[0.0; 5]; 2], [0; 2], [0.0; 2]);
    let mut workspace = tenfold::DynWorkspace::new(step::workspace_bytes(2, 3)).unwrap();
    let error = step::into(&X, &halves(), 1.0, 0, &mut state, &mut y, &mut n, &mut workspace);
    assert_eq!(error.unwrap_err().to_string(), "`result.0`: axis 1 is 5, but `{ D * 2 }` is 6");
    let (mut y, mut small) = ([[0.0; 6]; 2], tenfold::Workspace::<0>::new());
    let error = step::into(&X, &halves(), 1.0, 0, &mut state, &mut y, &mut n, &mut small);
    assert_eq!(error.unwrap_err(), Error::WorkspaceTooSmall { needed: 64, given: 0 });
}

#[test]
fn functions_are_called_by_name() -> Result<(), Error> {
    let scale2 = MODULE.get("scale2")?;
    assert_eq!(format!("{scale2:?}"), "fn scale2(x: Tensor<f32, 4>) -> Tensor<f32, 4>");
    let mut y = [0.0_f32; 4];
    scale2.call_alloc(
        &mut [Arg::input(DynTensor::new(&[1.0_f32, 2.0, 3.0, 4.0], [4])?)],
        &mut [DynTensorMut::new(&mut y, [4])?],
    )?;
    assert_eq!(y, [2.0, 4.0, 6.0, 8.0]);

    let (x, mut state, h) = (Tensor::from(X), Tensor::from([0.0_f32; 2]), halves());
    let (mut y, mut n) = (Tensor::<f32, (tenfold::Dyn, tenfold::Dyn)>::zeros([2, 6])?, [0_i32; 2]);
    let mut args = [
        Arg::input(&x),
        Arg::input(view(&h, [2])?),
        Arg::scalar(1.0_f32),
        Arg::scalar(1_usize),
        Arg::state(&mut state),
    ];
    let mut results = [DynTensorMut::from(&mut y), DynTensorMut::new(&mut n, [2])?];
    MODULE.get("named::step")?.call_alloc(&mut args, &mut results)?;
    args[2] = Arg::scalar(1.0_f64);
    let error = MODULE.get("named::step")?.call_alloc(&mut args, &mut results).unwrap_err();
    assert_eq!(error.to_string(), "`scale`: the elements are `f64`, but the signature says `f32`");
    assert_eq!(y[[1, 2]], 6.0);
    Ok(())
}

#[test]
fn a_device_runs_the_same_call() -> Result<(), Error> {
    let x = DeviceTensor::upload(&Cpu, Tensor::from([1.0_f32, 2.0, 3.0, 4.0]).view())?;
    let mut y = DeviceTensor::upload(&Cpu, Tensor::from([0.0_f32; 4]).view())?;
    let stream = Cpu.stream()?;
    scale2::on(&Cpu).stream(&stream).call(&x, &mut y)?;
    assert_eq!(y.download(&Cpu)?, [2.0, 4.0, 6.0, 8.0]);
    assert!(scale2::on(&Cpu).variant("baseline").is_ok());
    assert!(scale2::on(&Cpu).variant("x86-64-v9").is_err());
    Ok(())
}

#[test]
fn signatures_are_data() {
    assert_eq!(
        step::signature().to_string(),
        "fn step(x: Tensor<f32, N, D>, h: Tensor<f16, N>, scale: f32, pos: usize, \
         state: &mut Tensor<f32, { D - 1 }>) -> (Tensor<f32, N, { D * 2 }>, Tensor<i32, N>)"
    );
    assert_eq!(step::signature().facts, ["N <= 64", "pos < N"]);
    assert_eq!(step::variants()[0].name, "baseline");
    assert_eq!(step::workspace_bytes(3, 5), 64);
}

#[test]
fn device_tensors_are_sent() {
    fn sent<T: Send>() {}
    sent::<DeviceTensor<Cpu, f32, (tenfold::Dyn,)>>();
    sent::<tenfold::Stream<'static, Cpu>>();
}

#[test]
fn strided_input_and_scalar_result() -> Result<(), Error> {
    let bias = f16::from_f32(0.5);
    assert_eq!(mean_of(&X, false, bias)?, 4.0);
    let flat = [1.0, 9.0, 3.0, 9.0, 5.0, 9.0];
    let every_other = tenfold::StridedRef::new(&flat, [1, 3], [0, 2], 0)?;
    assert_eq!(mean_of(&every_other, true, bias)?, -2.5);
    let (mut mean, mut workspace) = (0.0, mean_of::Workspace::new());
    mean_of::into(&X, true, bias, &mut mean, &mut workspace)?;
    assert_eq!(mean, -3.0);
    let error = mean_of(&[[0.0; 9]; 2], false, bias).unwrap_err();
    assert_eq!(error.to_string(), "`W <= 8` does not hold");
    Ok(())
}

#[test]
fn scalar_results_by_name() -> Result<(), Error> {
    let mut mean = 0.0_f32;
    let mut args = [Arg::input(view(X.as_flattened(), [3, 2])?), Arg::scalar(true), Arg::scalar(f16::from_f32(0.0))];
    let mut result = [DynTensorMut::new(std::slice::from_mut(&mut mean), [])?];
    MODULE.get("bounded::mean_of")?.call(&mut args, &mut result, &mut mean_of::Workspace::new())?;
    assert_eq!(mean, -3.5);
    let error = MODULE.get("bounded::mean_of")?.call_alloc(&mut args[..2], &mut []).unwrap_err();
    assert_eq!(error.to_string(), "2 arguments are given, but the signature has 3");
    Ok(())
}
