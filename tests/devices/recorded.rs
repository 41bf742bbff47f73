//! Calls that are recorded and submitted again, on each device alike.
#![allow(unsafe_code, reason = "the code of a device is vouched for by who made it, here a test")]

use tenfold::rt::On;
use tenfold::{Device, DeviceCode, DeviceFault, DeviceTensor, Error, Operands, ScalarBits, Signature, Status, rt};

use crate::program::{Row, linked, row, twice};
use crate::{gpu, why};

/// A function on a device, as the attribute prints it.
pub(crate) fn on<D: Device>(gpu: &D) -> On<'_, D> {
    On::new(
        gpu,
        rt::function(rt::FunctionInfo {
            signature: &Signature { name: "twice", params: &[], results: &[], facts: &[] },
            workspace_bytes: None,
            weight_bytes: 4,
            variants: &[],
            call: |_| Ok(()),
        }),
    )
}

/// Calls it.
pub(crate) fn call<D: Device>(
    on: &On<'_, D>,
    code: DeviceCode,
    a: f32,
    x: &Row<D>,
    y: &mut Row<D>,
) -> Result<Status, Error> {
    let (params, results) = ([x.memory().expect("it has some")], [y.memory().expect("it has some")]);
    let scalars = [ScalarBits { dtype: tenfold::DType::F32, bits: u64::from(a.to_bits()) }];
    let dims = [x.len() as i64];
    let operands = Operands { params: &params, results: &results, scalars: &scalars, dims: &dims };
    // SAFETY: `x` is borrowed to be read and `y` to be written.
    unsafe { on.submit(code, &operands) }.map(|status| status.expect("there is no other code"))
}

/// That a row is what the function makes of another.
fn made<D: Device>(gpu: &D, a: f32, x: usize, y: &Row<D>) {
    let expected = row(x).as_slice().iter().map(|x| a * (a * x + 3.0) + 3.0).collect::<Vec<_>>();
    assert_eq!(y.download(gpu).expect("the device works").as_slice(), expected, "{x} elements, {a}");
}

/// What recorded calls make is what calls make.
pub(crate) fn works<D: Device + Sync>(gpu: &D, code: DeviceCode) {
    let twice = on(gpu).recorded();
    for n in [0, 1, 64, 65, 1000] {
        let x = DeviceTensor::upload(gpu, row(n).view()).expect("there is memory");
        let mut y = Row::zeros(gpu, [n]).expect("there is memory");
        // Recorded, submitted again while it may be on its way, and recorded anew for another value.
        for a in [2.0, 2.0, 2.0, 0.5, 2.0] {
            assert_eq!(call(&twice, code, a, &x, &mut y), Ok(Status::OK));
            assert_eq!(call(&twice, code, a, &x, &mut y), Ok(Status::OK));
            made(gpu, a, n, &y);
        }
    }
    contents_may_change(gpu, code);
    each_tensor_counts(gpu, code);
    writes_wait(gpu, code);
    tensors_take_turns(gpu, code);
    tensors_may_be_dropped(gpu, code);
    threads_share_recordings(gpu, code);
    let x = DeviceTensor::upload(gpu, row(7).view()).expect("there is memory");
    let mut y = Row::zeros(gpu, [7]).expect("there is memory");
    assert_eq!(call(&twice, code, 1.0, &x, &mut y), Ok(Status(1)), "checks are checked");
}

/// What stands in a tensor when a call is submitted is what it reads.
fn contents_may_change<D: Device>(gpu: &D, code: DeviceCode) {
    let twice = on(gpu).recorded();
    let mut x = DeviceTensor::upload(gpu, row(100).view()).expect("there is memory");
    let mut y = Row::zeros(gpu, [100]).expect("there is memory");
    for factor in 0..5 {
        let data: Vec<f32> = row(100).as_slice().iter().map(|it| it * factor as f32).collect();
        x.write(gpu, tenfold::view(&data, [100]).expect("it fits")).expect("the device works");
        assert_eq!(call(&twice, code, 2.0, &x, &mut y), Ok(Status::OK));
        let found = y.download(gpu).expect("the device works");
        assert!(found.as_slice().iter().zip(&data).all(|(y, x)| *y == 2.0 * (2.0 * x + 3.0) + 3.0), "{factor}");
    }
    assert!(x.write(gpu, row(99).view()).is_err(), "another extent");
}

/// The same extents, the one or the other tensor another.
fn each_tensor_counts<D: Device>(gpu: &D, code: DeviceCode) {
    let twice = on(gpu).recorded();
    let other: Vec<f32> = row(50).as_slice().iter().map(|it| it + 1.0).collect();
    let x = DeviceTensor::upload(gpu, row(50).view()).expect("there is memory");
    let other = DeviceTensor::upload(gpu, tenfold::view(&other, [50]).expect("it fits")).expect("there is memory");
    let [mut y, mut z] = [(); 2].map(|()| Row::zeros(gpu, [50]).expect("there is memory"));
    for y in [&mut y, &mut z] {
        assert_eq!(call(&twice, code, 2.0, &other, y), Ok(Status::OK));
        assert_eq!(call(&twice, code, 2.0, &x, y), Ok(Status::OK));
    }
    [y, z].iter().for_each(|y| made(gpu, 2.0, 50, y));
}

/// What is written into a tensor is not seen by calls that were submitted before.
fn writes_wait<D: Device>(gpu: &D, code: DeviceCode) {
    const MANY: usize = 100_003;
    let (many, ones) = (row(MANY), vec![1.0_f32; MANY]);
    let ones = tenfold::view(&ones, [MANY]).expect("it fits");
    let mut x = DeviceTensor::upload(gpu, many.view()).expect("there is memory");
    let [mut busy, mut y] = [(); 2].map(|()| Row::zeros(gpu, [MANY]).expect("there is memory"));
    (0..30).for_each(|_| assert_eq!(crate::program::call(gpu, code, 0.5, &x, &mut busy), Ok(Status::OK)));
    assert_eq!(crate::program::call(gpu, code, 2.0, &x, &mut y), Ok(Status::OK));
    x.write(gpu, ones).expect("the device works");
    made(gpu, 2.0, MANY, &y);
    assert!(x.download(gpu).expect("the device works").as_slice().iter().all(|it| *it == 1.0));
}

/// More pairs of tensors than are kept.
fn tensors_take_turns<D: Device>(gpu: &D, code: DeviceCode) {
    let twice = on(gpu).recorded();
    let all: Vec<_> = (60..66).map(|n| DeviceTensor::upload(gpu, row(n).view()).expect("there is memory")).collect();
    let mut results: Vec<_> = (60..66).map(|n| Row::zeros(gpu, [n]).expect("there is memory")).collect();
    for _ in 0..3 {
        for (x, y) in all.iter().zip(&mut results) {
            assert_eq!(call(&twice, code, 2.0, x, y), Ok(Status::OK));
        }
    }
    results.iter().for_each(|y| made(gpu, 2.0, y.len(), y));
}

/// A tensor that comes after one that was dropped is another, wherever it lies.
fn tensors_may_be_dropped<D: Device>(gpu: &D, code: DeviceCode) {
    let twice = on(gpu).recorded();
    for a in 0..20 {
        let x = DeviceTensor::upload(gpu, row(a + 30).view()).expect("there is memory");
        let mut y = Row::zeros(gpu, [a + 30]).expect("there is memory");
        assert_eq!(call(&twice, code, 2.0, &x, &mut y), Ok(Status::OK));
        drop(x);
        made(gpu, 2.0, a + 30, &y);
    }
    let mut y = Row::zeros(gpu, [30]).expect("there is memory");
    let x = DeviceTensor::upload(gpu, row(30).view()).expect("there is memory");
    assert_eq!(call(&twice, code, 2.0, &x, &mut y), Ok(Status::OK));
    drop(twice);
    made(gpu, 2.0, 30, &y);
}

fn threads_share_recordings<D: Device + Sync>(gpu: &D, code: DeviceCode) {
    let twice = on(gpu).recorded();
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let twice = &twice;
            scope.spawn(move || {
                let n = 80 + thread;
                let x = DeviceTensor::upload(gpu, row(n).view()).expect("there is memory");
                let mut y = Row::zeros(gpu, [n]).expect("there is memory");
                (0..20).for_each(|_| assert_eq!(call(twice, code, 2.0, &x, &mut y), Ok(Status::OK)));
                made(gpu, 2.0, n, &y);
            });
        }
    });
}

#[test]
fn recorded_calls_are_calls() {
    let Some(gpu) = gpu() else { return };
    works(gpu, linked(&twice()));
}

#[test]
fn a_recording_takes_no_other_devices_tensors() {
    let (Some(gpu), Ok(other)) = (gpu(), tenfold::Vulkan::new()) else { return };
    let (twice, code) = (on(gpu).recorded(), linked(&twice()));
    let run = |gpu: &tenfold::Vulkan| {
        let x = DeviceTensor::upload(gpu, row(8).view()).expect("there is memory");
        call(&twice, code, 2.0, &x, &mut Row::zeros(gpu, [8]).expect("there is memory"))
    };
    assert_eq!(run(gpu), Ok(Status::OK));
    assert_eq!(why(run(&other)), DeviceFault::OtherDevice);
    assert_eq!(run(gpu), Ok(Status::OK));
}
