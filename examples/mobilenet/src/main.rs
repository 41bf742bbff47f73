//! Runs MobileNetV2 on an image, and compares it with plain loops.

mod net;
mod reference;

use model_writer::Random;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tenfold::prelude::*;

/// The network, whose body stands in a file. `cargo tenfold signature FILE` prints this line for any model.
///
/// The build script writes the file; one that lies in the package is `"models/mobilenet.onnx"`.
#[tensor_fn(onnx = "$OUT_DIR/mobilenet.onnx")]
fn mobilenet(image: Tensor<f32, 1, 3, 96, 96>) -> Tensor<f32, 1, 1000>;

/// An image: channels, rows, columns.
type Image = [[[[f32; net::SIDE]; net::SIDE]; 3]; 1];
/// The score of each class.
type Scores = [[f32; net::CLASSES]; 1];

const HELP: &str = "\
Runs MobileNetV2 (width 0.35, 96 by 96 pixels, random weights), imported from ONNX while cargo built.

usage: mobilenet           sizes, time, and the distance from the same network in plain loops
       mobilenet --check   the same; exit status 1 unless they agree";

/// The largest difference of two scores, as a part of the largest score. Each score is a sum at the end of 53 layers
/// of sums, each of which rounds.
const TOLERANCE: f64 = 1e-5;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => drop(report()),
        ["--check"] => return if report() <= TOLERANCE { ExitCode::SUCCESS } else { ExitCode::FAILURE },
        _ => {
            eprintln!("{HELP}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// Prints what there is to know, and gives the distance.
fn report() -> f64 {
    let image = image();
    // Large, so not on the stack. `into` allocates nothing: all that it writes is passed to it.
    let mut workspace = Box::new(mobilenet::Workspace::new());
    let mut scores: Scores = [[0.0; net::CLASSES]];
    let time = fastest(|| mobilenet::into(&*image, &mut scores, &mut workspace));

    let expected = reference::run(&net::Net::new(), image.as_flattened().as_flattened().as_flattened());
    let size = expected.iter().fold(0.0_f64, |most, score| most.max(score.abs()));
    let pairs = scores[0].iter().zip(&expected);
    let distance = pairs.fold(0.0_f64, |most, (a, b)| most.max((f64::from(*a) - b).abs())) / size;
    println!(
        "{:.2} ms per image; {} bytes of code, {} of weights, {} of workspace; {distance:.1e} from plain loops in f64",
        time.as_secs_f64() * 1e3,
        mobilenet::CODE_BYTES,
        mobilenet::WEIGHT_BYTES,
        mobilenet::WORKSPACE_BYTES,
    );
    if distance.is_nan() { f64::INFINITY } else { distance }
}

/// A picture of nothing.
fn image() -> Box<Image> {
    let mut image = Box::new([[[[0.0; net::SIDE]; net::SIDE]; 3]; 1]);
    let mut random = Random::new(96);
    image.as_flattened_mut().as_flattened_mut().as_flattened_mut().fill_with(|| random.uniform());
    image
}

/// The shortest of several runs; the others met something else on the machine.
fn fastest(mut run: impl FnMut()) -> Duration {
    let runs = (0..10).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed()
    });
    runs.min().unwrap_or_default()
}
