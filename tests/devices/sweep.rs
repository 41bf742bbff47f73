//! Whatever call of a driver fails, once or from some call on: the program is told, nothing hangs, what is dropped is given
//! back, and where the device is not lost it works on.
#![allow(unsafe_code, reason = "asks the drivers of these tests to fail")]

use std::time::Duration;

use libloading::Library;
use tenfold::{Cuda, Device, DeviceCode, DeviceFault, DeviceTensor, Error, Status, Vulkan};

use crate::program::{Row, call, check, linked, row, twice};
use crate::{cuda, recorded};

/// A driver that fails where it is asked to: `cuda.c`, or `fault.c`.
struct Driver {
    library: Library,
    /// What it returns where there is no memory, and where the device is lost.
    codes: [i32; 2],
    /// Whether a device that is lost takes back what it has.
    takes_back: bool,
}

impl Driver {
    fn open(name: &str, codes: [i32; 2], takes_back: bool) -> Self {
        // SAFETY: the same library as the runtime opens, by the same name.
        let library = unsafe { Library::new(name) }.expect("the driver of these tests is found first");
        Self { library, codes, takes_back }
    }

    /// Has the nth call from here on fail, where `on` is true each one behind it too; with 0 none.
    fn fail(&self, at: i32, code: i32, on: bool) {
        // SAFETY: the function has this type.
        unsafe {
            let fail = self.library.get::<unsafe extern "C" fn(i32, i32, i32)>(b"tenfold_fail").expect("it is there");
            fail(at, code, i32::from(on));
        }
    }

    /// How many calls there were since.
    fn counted(&self) -> i32 {
        // SAFETY: as above.
        unsafe { self.library.get::<unsafe extern "C" fn() -> i32>(b"tenfold_counted").expect("it is there")() }
    }

    /// How much was made and not given back.
    fn alive(&self) -> i32 {
        // SAFETY: as above.
        unsafe { self.library.get::<unsafe extern "C" fn() -> i32>(b"tenfold_alive").expect("it is there")() }
    }
}

/// Everything that a program does with a device; where nothing says that it failed, it is right.
fn everything<D: Device>(gpu: &D, code: DeviceCode) -> Result<(), Error> {
    let stream = gpu.stream()?;
    let begin = stream.event()?;
    let mut x = DeviceTensor::upload(gpu, row(65).view())?;
    let mut y = Row::zeros(gpu, [65])?;
    assert_eq!(call(gpu, code, 2.0, &x, &mut y)?, Status::OK);
    let twice = recorded::on(gpu).recorded();
    for a in [0.5, 0.5, 2.0] {
        assert_eq!(recorded::call(&twice, code, a, &x, &mut y)?, Status::OK);
    }
    let end = stream.event()?;
    let is_done = (0..10_000).find_map(|_| {
        std::thread::sleep(Duration::from_micros(100));
        end.is_done().map(|done| done.then_some(())).transpose()
    });
    is_done.expect("an event comes, or there is an error")?;
    end.synchronize()?;
    end.since(&begin)?;
    let pending = y.start_download(gpu)?;
    x.write(gpu, y_of(65, 0.0).view())?;
    assert_eq!(pending.wait()?, y_of(65, 2.0));
    assert_eq!(x.download(gpu)?, y_of(65, 0.0));
    stream.synchronize()
}

/// What the function makes of a row.
fn y_of(n: usize, a: f32) -> tenfold::Tensor<f32, (tenfold::Dyn,)> {
    row(n).as_slice().iter().map(|x| a * (a * x + 3.0) + 3.0).collect::<Vec<_>>().into()
}

/// Opens a device and does everything, as often as there are calls that can fail: each time the next one fails.
fn sweep<D: Device>(driver: &Driver, on: bool, open: impl Fn() -> Result<D, Error>, code: DeviceCode) {
    let with = driver.codes[usize::from(on)];
    for at in 1.. {
        driver.fail(at, with, on);
        let opened = open();
        let found = opened.as_ref().map_err(|why| *why).and_then(|gpu| everything(gpu, code));
        let failed = driver.counted() >= at;
        driver.fail(0, 0, false);
        match found {
            Ok(()) => {}
            Err(Error::Device { why: DeviceFault::Lost, .. }) if on => {
                let again = opened.as_ref().map_or(found, |gpu| everything(gpu, code));
                assert_eq!(again, found, "call {at}: a device that was lost stays lost");
            }
            Err(Error::Device { why: DeviceFault::OutOfMemory { .. }, .. }) if !on => {}
            Err(why) => panic!("call {at} fails with {with}: {why}"),
        }
        if let (Ok(gpu), false) = (&opened, on) {
            check(gpu, code, 9).unwrap_or_else(|why| panic!("call {at} failed once, and the device works on: {why}"));
        }
        assert!(opened.is_err() || driver.alive() > 0, "what is made is counted");
        drop(opened);
        let kept = on && !driver.takes_back;
        assert!(kept || driver.alive() == 0, "call {at} failed, and {} things are not given back", driver.alive());
        if !failed {
            println!("{at} calls can fail");
            assert!(found.is_ok() && at > 40, "{found:?}, {at} calls");
            return;
        }
    }
}

/// What the processes do; `false` if the case is none of these.
pub(crate) fn case(name: &str) -> bool {
    match name {
        "each call fails" | "each call loses the device" => {
            let driver = Driver::open("libvulkan.so.1", [-2, -4], true);
            sweep(&driver, name != "each call fails", Vulkan::new, linked(&twice()));
        }
        "each call of cuda fails" | "each call of cuda loses the device" => {
            let driver = Driver::open("libcuda.so", [2, 719], false);
            sweep(&driver, name != "each call of cuda fails", Cuda::new, cuda::linked(|_| ()));
        }
        _ => return false,
    }
    true
}
