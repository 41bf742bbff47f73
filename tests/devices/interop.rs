//! CUDA beside another library: its stream, its memory, and ours for it.
#![allow(unsafe_code, reason = "what another library hands over is vouched for by who asks it, here a test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tenfold::{Cuda, Device, DeviceCode, DeviceFault, DeviceTensor, Dyn, Error, Status};

use crate::cuda::why;
use crate::program::{Row, call, check, row};

/// What another library keeps until it is dropped.
struct Held(Arc<AtomicUsize>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The one device stands for another library, whose stream and memory a second one uses.
pub(crate) fn works(theirs: &Cuda, code: DeviceCode) {
    let dropped = Arc::new(AtomicUsize::new(0));
    let held = || Held(Arc::clone(&dropped));
    // SAFETY: the other device lives longer.
    let ours = unsafe { Cuda::from_stream(theirs.raw_stream(), held()) }.expect("there is such a stream");
    assert_eq!(ours.info(), theirs.info());
    assert_eq!((ours.raw_stream(), ours.raw_context()), (theirs.raw_stream(), theirs.raw_context()));
    check(&ours, code, 100).expect("the device works");
    let x = DeviceTensor::upload(theirs, row(65).view()).expect("there is memory");
    let mut y = Row::zeros(&ours, [65]).expect("there is memory");
    assert_eq!(why(call(&ours, code, 2.0, &x, &mut y)), DeviceFault::OtherDevice);
    // SAFETY: the tensor is not dropped before this one.
    let shared = unsafe { Row::from_address(&ours, x.address(), [65], held()) }.expect("it is aligned");
    assert_eq!(shared.address(), x.address());
    assert_eq!(call(&ours, code, 2.0, &shared, &mut y), Ok(Status::OK));
    let expected: Vec<f32> = row(65).as_slice().iter().map(|x| 2.0 * (2.0 * x + 3.0) + 3.0).collect();
    assert_eq!(y.download(&ours).expect("the device works").as_slice(), expected);
    // SAFETY: nothing is made of it.
    let crooked = unsafe { Row::from_address(&ours, x.address() + 4, [61], ()) };
    assert_eq!(why(crooked), DeviceFault::Misaligned { address: x.address() + 4 });
    // SAFETY: as above.
    let wide = unsafe { DeviceTensor::<Cuda, f32, (Dyn, Dyn)>::from_address(&ours, 0, [1 << 40, 1 << 40], ()) };
    assert!(matches!(wide, Err(Error::Overflow { .. })), "{wide:?}");
    assert_eq!(dropped.load(Ordering::Relaxed), 0);
    drop(shared);
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
    drop(ours);
    assert_eq!(dropped.load(Ordering::Relaxed), 1, "a tensor holds the stream");
    drop(y);
    assert_eq!(dropped.load(Ordering::Relaxed), 2);
    assert_eq!(x.download(theirs).expect("the device works"), row(65));
    theirs.stream().and_then(|stream| stream.synchronize()).expect("the stream is there");
}
