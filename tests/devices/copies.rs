//! Copies that nobody waits for, on each device alike.

use tenfold::{Device, DeviceCode, DeviceTensor, Status};

use crate::gpu;
use crate::program::{Row, call, linked, row, twice};

/// Copies see what was there when they were asked for.
pub(crate) fn works<D: Device>(gpu: &D, code: DeviceCode) {
    // The last is larger than what goes through memory that is kept.
    for n in [0, 1, 65, 1000, 1_100_000] {
        let x = DeviceTensor::upload(gpu, row(n).view()).expect("there is memory");
        let mut y = Row::zeros(gpu, [n]).expect("there is memory");
        let made = |a: f32| row(n).as_slice().iter().map(|x| a * (a * x + 3.0) + 3.0).collect::<Vec<_>>();
        let mut pending = vec![];
        for a in [2.0, 0.5, 1.0] {
            assert_eq!(call(gpu, code, a, &x, &mut y), Ok(Status::OK));
            pending.push((a, y.start_download(gpu).expect("there is memory")));
        }
        drop(y.start_download(gpu).expect("there is memory"));
        y.write(gpu, row(n).view()).expect("there is memory");
        // In whatever order they are waited for.
        pending.rotate_left(1);
        for (a, pending) in pending {
            assert_eq!(pending.wait().expect("the device works").as_slice(), made(a), "{n} elements, {a}");
        }
        assert_eq!(y.download(gpu).expect("the device works"), row(n));
    }
    uploads_keep_their_order(gpu);
    let zeros = Row::zeros(gpu, [9]).expect("there is memory");
    let found = zeros.start_download(gpu).and_then(|pending| pending.wait());
    assert_eq!(found.expect("the device works"), [0.0; 9], "nothing comes behind that would wait");
    let pending = zeros.start_download(gpu).expect("there is memory");
    drop(zeros);
    assert_eq!(pending.wait().expect("a copy outlives its tensor"), [0.0; 9]);
}

/// More copies than there is room to keep, none of which is waited for.
fn uploads_keep_their_order<D: Device>(gpu: &D) {
    let mut all: Vec<_> = (0..40).map(|n| DeviceTensor::upload(gpu, row(1000 + n).view())).collect();
    for (n, x) in all.iter_mut().enumerate() {
        let x = x.as_mut().expect("there is memory");
        for factor in [3.0, 2.0] {
            let data: Vec<f32> = row(1000 + n).as_slice().iter().map(|it| it * factor).collect();
            x.write(gpu, tenfold::view(&data, [1000 + n]).expect("it fits")).expect("the device works");
        }
    }
    for (n, x) in all.iter().enumerate() {
        let found = x.as_ref().expect("there is memory").download(gpu).expect("the device works");
        assert!(found.as_slice().iter().zip(row(1000 + n).as_slice()).all(|(found, it)| *found == 2.0 * it), "{n}");
    }
}

#[test]
fn copies_need_not_be_waited_for() {
    let Some(gpu) = gpu() else { return };
    works(gpu, linked(&twice()));
}
