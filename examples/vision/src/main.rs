//! Says which way the stripes of images run, on the device that is asked for.

mod images;
mod kernels;

use kernels::direction;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tenfold::prelude::*;
use tenfold::{Cuda, DeviceTensor, Error, Vulkan};

/// Pixels along a side.
const SIDE: usize = 64;

/// Images of an example, and how likely each class is.
type Images = Tensor<f32, (Dyn, Fixed<SIDE>, Fixed<SIDE>)>;
type Classes = Tensor<f32, (Dyn, Fixed<4>)>;

/// Images at once.
const COUNT: usize = 32;

/// The largest difference of two probabilities: each comes of a sum of 3844 squares, which a device adds in another
/// order.
const TOLERANCE: f32 = 1e-4;

const HELP: &str = "\
Says which way the stripes of images run.

usage: vision [--device cpu|cuda|vulkan] [--check]

  --device  where it runs: the processor (the default), a GPU of NVIDIA's through CUDA, or one through
            Vulkan
  --check   compares each probability with the processor's; exit status 1 unless they agree and all classes are right

exit status 2: the command line is wrong, or the device is not there";

fn main() -> ExitCode {
    let (mut device, mut check) = (String::from("cpu"), false);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match (arg.as_str(), args.len()) {
            ("--check", _) => check = true,
            ("--device", 1..) => device = args.next().unwrap_or_default(),
            _ => return refuse(HELP),
        }
    }
    let done = match device.as_str() {
        "cpu" => report(&Cpu),
        "vulkan" => match Vulkan::new() {
            Ok(gpu) => {
                println!("{}", gpu.info().name);
                report(&gpu)
            }
            Err(error) => return refuse(&error.to_string()),
        },
        "cuda" => match Cuda::new() {
            Ok(gpu) => {
                println!("{}", gpu.info().name);
                report(&gpu)
            }
            Err(error) => return refuse(&error.to_string()),
        },
        other => return refuse(&format!("there is no device `{other}`; the devices are `cpu`, `cuda` and `vulkan`")),
    };
    match done {
        Ok(agree) if agree || !check => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => refuse(&error.to_string()),
    }
}

fn refuse(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::from(2)
}

/// Prints what the device sees, and gives whether that is right and what the processor sees.
fn report<D: Device>(device: &D) -> Result<bool, Error> {
    let (images, classes) = images::draw(COUNT);
    let (found, time) = on(device, &images)?;
    let expected = direction(&images)?;
    let pairs = found.as_slice().iter().zip(expected.as_slice());
    let distance = pairs.fold(0.0_f32, |most, (a, b)| if a == b { most } else { (a - b).abs().max(most) });
    let seen: Vec<usize> = found.as_slice().chunks(4).map(loudest).collect();
    let right = seen.iter().zip(&classes).filter(|(seen, class)| seen == class).count();
    let names: Vec<&str> = seen.iter().take(4).map(|class| images::NAMES[*class]).collect();
    println!("the first four are {}; {right} of {COUNT} are right", names.join(", "));
    println!("{:.2} ms for {COUNT} images; {distance:.1e} from the processor", time.as_secs_f64() * 1e3);
    Ok(right == COUNT && distance <= TOLERANCE)
}

/// The classes of images on a device, and the shortest time of several calls.
fn on<D: Device>(device: &D, images: &Images) -> Result<(Classes, Duration), Error> {
    let images = DeviceTensor::upload(device, images.view())?;
    let mut classes = DeviceTensor::zeros(device, [COUNT, 4])?;
    let stream = device.stream()?;
    let mut shortest = Duration::MAX;
    for _ in 0..10 {
        let start = Instant::now();
        // Submitted when the call returns, and done when the stream is.
        direction::on(device).stream(&stream).or_host().call(&images, &mut classes)?;
        stream.synchronize()?;
        shortest = shortest.min(start.elapsed());
    }
    Ok((classes.download(device)?, shortest))
}

/// The most likely class.
fn loudest(classes: &[f32]) -> usize {
    let by_size = |a: &usize, b: &usize| classes[*a].total_cmp(&classes[*b]);
    (0..classes.len()).max_by(by_size).unwrap_or_default()
}
