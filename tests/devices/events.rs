//! Points in the work of a device, on each device alike.

use std::time::Duration;

use tenfold::{Device, DeviceCode, DeviceFault, DeviceTensor, Status};

use crate::program::{Row, call, linked, row, twice};
use crate::{gpu, why};

/// Events come in order, and time goes by between them.
pub(crate) fn works<D: Device>(gpu: &D, code: DeviceCode) {
    let stream = gpu.stream().expect("the device works");
    let x = DeviceTensor::upload(gpu, row(10_000).view()).expect("there is memory");
    let mut y = Row::zeros(gpu, [10_000]).expect("there is memory");
    let begin = stream.event().expect("the device works");
    (0..10).for_each(|_| assert_eq!(call(gpu, code, 1.0, &x, &mut y), Ok(Status::OK)));
    let middle = stream.event().expect("the device works");
    (0..10).for_each(|_| assert_eq!(call(gpu, code, 1.0, &x, &mut y), Ok(Status::OK)));
    let end = stream.event().expect("the device works");
    let between = |from, to: &tenfold::Event<'_, D>| to.since(from).expect("the device measures time");
    let (all, first, second) = (between(&begin, &end), between(&begin, &middle), between(&middle, &end));
    assert!(!first.is_zero() && !second.is_zero() && all < Duration::from_secs(60), "{first:?} of {all:?}");
    assert!(all.abs_diff(first + second) < Duration::from_micros(10), "{first:?} and {second:?} are {all:?}");
    assert_eq!(between(&end, &begin), Duration::ZERO);
    end.synchronize().expect("the device works");
    assert_eq!([&begin, &middle, &end].map(|event| event.is_done()), [Ok(true), Ok(true), Ok(true)]);
}

#[test]
fn the_device_measures_time() {
    let Some(gpu) = gpu() else { return };
    works(gpu, linked(&twice()));
}

#[test]
fn events_of_two_devices_have_no_time_between_them() {
    let (Some(gpu), Ok(other)) = (gpu(), tenfold::Vulkan::new()) else { return };
    let (stream, others) = (gpu.stream().expect("the device works"), other.stream().expect("the device works"));
    let (one, two) = (stream.event().expect("the device works"), others.event().expect("the device works"));
    assert_eq!(why(one.since(&two)), DeviceFault::OtherDevice);
    assert_eq!(why(two.since(&one)), DeviceFault::OtherDevice);
}
