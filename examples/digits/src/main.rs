//! Classifies the held-out digits with both networks, or the images of a file.

mod npy;
mod report;

use digits::{BATCH, cnn, mlp};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// An image as the networks take it: 64 values from 0 to 16.
type Image = [f32; 64];
/// The probability of each digit.
type Row = [f32; 10];

const HELP: &str = "\
Reads handwritten digits with an MLP and a CNN that cargo build compiled.

usage: digits                     show a few held-out digits and how both networks do on all of them
       digits --check             the same figures; exit status 1 unless they are as they should be
       digits --predict FILE.npy  print the digit that the CNN sees in each row of FILE.npy
       digits --help              print this

FILE.npy holds float32 of shape [N, 64]: images of 8 by 8, values from 0 to 16.";

/// The least accuracy that `--check` accepts, and the largest distance from the NumPy reference.
const FLOORS: [f64; 2] = [0.97, 0.98];
const TOLERANCE: f32 = 1e-5;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args[..] {
        [] => evaluate().map(|networks| print(&report::whole(&networks))),
        ["--check"] => evaluate().and_then(|networks| check(&networks)),
        ["--predict", file] => predict(Path::new(file)),
        ["--help" | "-h"] => {
            println!("{HELP}");
            Ok(())
        }
        _ => {
            eprintln!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Check(text)) => {
            eprintln!("digits: {text}");
            ExitCode::from(1)
        }
        Err(Failure::Input(text)) => {
            eprintln!("digits: {text}");
            ExitCode::from(2)
        }
    }
}

/// Why the program ends with a status other than 0.
enum Failure {
    /// The networks do not do what they should: status 1.
    Check(String),
    /// A file cannot be read or holds something else: status 2.
    Input(String),
}

/// What a network did with the held-out images.
struct Evaluation {
    name: &'static str,
    images: Vec<Image>,
    labels: Vec<u8>,
    rows: Vec<Row>,
    /// The largest distance from the probabilities that NumPy computed.
    distance: f32,
    nanoseconds_per_image: f64,
    sizes: report::Sizes,
}

impl Evaluation {
    fn right(&self) -> usize {
        let classes = self.rows.iter().map(class);
        classes.zip(&self.labels).filter(|(class, label)| class == *label).count()
    }

    fn accuracy(&self) -> f64 {
        self.right() as f64 / self.labels.len() as f64
    }
}

/// The digit with the largest probability.
fn class(row: &Row) -> u8 {
    let best = (1..10).fold(0, |best, d| if row[d] > row[best] { d } else { best });
    best as u8
}

/// Runs the MLP on any number of images, `BATCH` at a time and without allocating.
fn run_mlp(images: &[Image], rows: &mut [Row], workspace: &mut mlp::Workspace) {
    for (x, y) in images.chunks(BATCH).zip(rows.chunks_mut(BATCH)) {
        mlp::into(x, y, workspace).expect("chunks have equal lengths of at most BATCH");
    }
}

/// Likewise the CNN.
fn run_cnn(images: &[Image], rows: &mut [Row], workspace: &mut cnn::Workspace) {
    for (x, y) in images.chunks(BATCH).zip(rows.chunks_mut(BATCH)) {
        cnn::into(x, y, workspace).expect("chunks have equal lengths of at most BATCH");
    }
}

/// Runs both networks on the held-out images. The data stands beside the package's source.
fn evaluate() -> Result<[Evaluation; 2], Failure> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let images: Vec<Image> = npy::read_rows(&data.join("test_images.npy"))?;
    let labels = npy::read_bytes(&data.join("test_labels.npy"))?;
    if labels.len() != images.len() {
        return Err(Failure::Input("the held-out images and labels differ in number".into()));
    }
    let mut mlp_workspace = Box::new(mlp::Workspace::new());
    let mut cnn_workspace = Box::new(cnn::Workspace::new());
    let one = |name, sizes, run: &mut dyn FnMut(&[Image], &mut [Row])| {
        let reference: Vec<Row> = npy::read_rows(&data.join(format!("{name}_reference.npy")))?;
        if reference.len() != images.len() {
            return Err(Failure::Input(format!("{name}_reference.npy has another length")));
        }
        let mut rows = vec![[0.0; 10]; images.len()];
        let nanoseconds_per_image = time(|| run(&images, &mut rows)) / images.len() as f64;
        Ok(Evaluation {
            name,
            distance: distance(&rows, &reference),
            images: images.clone(),
            labels: labels.clone(),
            rows,
            nanoseconds_per_image,
            sizes,
        })
    };
    Ok([
        one("mlp", report::Sizes::MLP, &mut |x, y| run_mlp(x, y, &mut mlp_workspace))?,
        one("cnn", report::Sizes::CNN, &mut |x, y| run_cnn(x, y, &mut cnn_workspace))?,
    ])
}

/// The nanoseconds of the fastest of several runs; the others met something else on the machine.
fn time(mut run: impl FnMut()) -> f64 {
    let mut least = f64::INFINITY;
    for _ in 0..20 {
        let start = Instant::now();
        run();
        least = least.min(start.elapsed().as_nanos() as f64);
    }
    least
}

/// The largest difference of two values at the same place; infinite if one is not a number.
fn distance(a: &[Row], b: &[Row]) -> f32 {
    let pairs = a.as_flattened().iter().zip(b.as_flattened());
    pairs.fold(0.0, |worst, (a, b)| {
        let apart = (a - b).abs();
        if apart.is_nan() { f32::INFINITY } else { worst.max(apart) }
    })
}

/// Prints the figures, and fails where one is out of bounds.
fn check(networks: &[Evaluation; 2]) -> Result<(), Failure> {
    let mut bad = Vec::new();
    for (network, floor) in networks.iter().zip(FLOORS) {
        print(&report::line(network));
        if network.accuracy() < floor {
            bad.push(format!("the {}'s accuracy is under {floor}", network.name));
        }
        if network.distance > TOLERANCE {
            bad.push(format!("the {} is more than {TOLERANCE:e} from NumPy", network.name));
        }
    }
    if bad.is_empty() { Ok(()) } else { Err(Failure::Check(bad.join("; "))) }
}

/// Prints one digit per row of the file.
fn predict(file: &Path) -> Result<(), Failure> {
    let images: Vec<Image> = npy::read_rows(file)?;
    if let Some(at) = images.as_flattened().iter().position(|v| !(0.0..=16.0).contains(v)) {
        let (row, column) = (at / 64, at % 64);
        let value = images[row][column];
        return Err(Failure::Input(format!(
            "`{}`: row {row}, column {column} is {value}, expected a value from 0 to 16",
            file.display()
        )));
    }
    let mut rows = vec![[0.0; 10]; images.len()];
    run_cnn(&images, &mut rows, &mut Box::new(cnn::Workspace::new()));
    let lines: String = rows.iter().map(|row| format!("{}\n", class(row))).collect();
    print(&lines);
    Ok(())
}

/// Writes to standard output. A reader that has seen enough, such as `head`, closes the pipe: that is no failure.
fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}
