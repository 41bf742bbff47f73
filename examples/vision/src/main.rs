//! Reads handwritten digits by a convolutional network, on the device that is asked for.

mod images;
mod kernels;

use kernels::digit;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tenfold::prelude::*;
use tenfold::{Cuda, DeviceTensor, Error, Vulkan};

/// Pixels of an image, and digits that it may show.
const PIXELS: usize = 64;
const DIGITS: usize = 10;

/// Images, and how likely each shows each digit.
type Images = Tensor<f32, (Dyn, Fixed<PIXELS>)>;
type Digits = Tensor<f32, (Dyn, Fixed<DIGITS>)>;

/// Images at once: all that there are.
const COUNT: usize = 64;

/// How many must be read right: the network takes one in two hundred for another digit.
const RIGHT: usize = 62;

/// The largest difference of two probabilities: a device adds up the terms of each sum in another order.
const TOLERANCE: f32 = 1e-4;

const HELP: &str = "\
Reads handwritten digits by a convolutional network.

usage: vision [--device cpu|cuda|vulkan] [--check]

  --device  where it runs: the processor (the default), a GPU of NVIDIA's through CUDA, or one through
            Vulkan
  --check   compares each probability with the processor's; exit status 1 unless they agree and the digits are right

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
    let (images, digits) = images::read();
    let (found, time) = on(device, &images)?;
    let expected = digit(&images)?;
    let pairs = found.as_slice().iter().zip(expected.as_slice());
    let distance = pairs.fold(0.0_f32, |most, (a, b)| if a == b { most } else { (a - b).abs().max(most) });
    let seen: Vec<usize> = found.as_slice().chunks(DIGITS).map(likeliest).collect();
    let right = seen.iter().zip(&digits).filter(|(seen, digit)| seen == digit).count();
    let first: Vec<String> = seen.iter().take(8).map(usize::to_string).collect();
    println!("the first eight are {}; {right} of {COUNT} are right", first.join(" "));
    println!("{:.2} ms for {COUNT} images; {distance:.1e} from the processor", time.as_secs_f64() * 1e3);
    Ok(right >= RIGHT && distance <= TOLERANCE)
}

/// The digits of images on a device, and the shortest time of several calls.
fn on<D: Device>(device: &D, images: &Images) -> Result<(Digits, Duration), Error> {
    let images = DeviceTensor::upload(device, images.view())?;
    let mut digits = DeviceTensor::zeros(device, [COUNT, DIGITS])?;
    let stream = device.stream()?;
    let mut shortest = Duration::MAX;
    for _ in 0..10 {
        let start = Instant::now();
        // Submitted when the call returns, and done when the stream is.
        digit::on(device).stream(&stream).or_host().call(&images, &mut digits)?;
        stream.synchronize()?;
        shortest = shortest.min(start.elapsed());
    }
    Ok((digits.download(device)?, shortest))
}

/// The most likely digit.
fn likeliest(digits: &[f32]) -> usize {
    let by_size = |a: &usize, b: &usize| digits[*a].total_cmp(&digits[*b]);
    (0..digits.len()).max_by(by_size).unwrap_or_default()
}
