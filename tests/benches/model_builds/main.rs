//! How long a user waits for a whole model, and how much memory that takes: a crate outside of the workspace, without
//! profiles of its own, so that the compiler runs as cargo builds a build script, unoptimised.
//!
//! `cargo bench -p tenfold-tests --bench model_builds -- [NAME…]`. It asserts that a model which has not changed is not
//! compiled again, and nothing of time.

mod nets;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nets::{NETS, Net};
use tenfold_tests::outside;

/// The stages of a report, in their order.
const STAGES: [&str; 4] = ["front end", "passes", "code", "constants"];

fn main() {
    let names: Vec<String> = std::env::args().skip(1).filter(|name| name != "--bench").collect();
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("model_builds");
    let _ = fs::remove_dir_all(&scratch);
    let target = scratch.join("target");
    let bare = scratch.join("bare");
    outside::write(&bare, "bare").expect("the folder can be written to");
    fs::write(bare.join("src/main.rs"), "fn main() {}\n").expect("the source can be written");
    println!("the compiler itself, once: {}", build(&bare, &target));
    println!(
        "{:<12} {:>17} {:>9} {:>9} {:>9} {:>9} {:>9} {:>10} {:>10} {:>10}",
        "model", "clean cache", STAGES[0], STAGES[1], STAGES[2], STAGES[3], "peak", "no change", "touched", "edited"
    );
    for net in NETS.iter().filter(|net| names.is_empty() || names.iter().any(|name| name == net.0)) {
        measure(net, &scratch, &target);
    }
    fs::remove_dir_all(&scratch).expect("the folder can be removed");
}

/// One model: from nothing, again, with a newer source, with another function edited.
fn measure(net: &Net, scratch: &Path, target: &Path) {
    let folder = scratch.join(net.0);
    outside::write(&folder, net.0).expect("the folder can be written to");
    fs::write(folder.join("net.onnx"), nets::file(net)).expect("the model can be written");
    let source = folder.join("src/main.rs");
    write(&source, net, "2.0");
    let first = build(&folder, target);
    let report = Report::of(net.0, target);
    let times: Vec<String> = STAGES.iter().map(|stage| format!("{:>6} ms", report.stage(stage))).collect();
    let peak = report.peak().map_or("?".into(), |bytes| format!("{} MB", bytes >> 20));
    let again = build(&folder, target);
    write(&source, net, "2.0");
    let touched = build(&folder, target);
    assert_eq!(Report::of(net.0, target).number("compiled"), Some(0), "nothing has changed");
    write(&source, net, "3.0");
    let edited = build(&folder, target);
    assert_eq!(Report::of(net.0, target).number("compiled"), Some(1), "the model has not changed");
    println!(
        "{:<12} {first:>17} {} {peak:>9} {:>8.2} s {:>8.2} s {:>8.2} s",
        net.0,
        times.join(" "),
        again.wall,
        touched.wall,
        edited.wall
    );
}

/// A program with the model and a function beside it.
fn write(source: &Path, (_, input, output, _): &Net, factor: &str) {
    let list = |dims: &[i64]| dims.iter().map(|n| format!(", {n}")).collect::<String>();
    let text = format!(
        "use tenfold::prelude::*;\n\n/// The model.\n#[tensor_fn(onnx = \"net.onnx\")]\n\
         pub fn net(x: Tensor<f32{}>) -> Tensor<f32{}>;\n\n/// Another function.\n#[tensor_fn]\n\
         pub fn scaled(x: Tensor<f32, N>) -> Tensor<f32, N> {{\n    x * {factor}\n}}\n\n\
         fn main() {{\n    println!(\"{{}} {{:?}}\", net::WEIGHT_BYTES, scaled(&[1.0, 2.0]));\n}}\n",
        list(input),
        list(output)
    );
    fs::write(source, text).expect("the source can be written");
}

/// What a command took.
struct Took {
    wall: f64,
    /// Seconds of processors, in all processes; 0 where the system does not say.
    processors: f64,
}

impl std::fmt::Display for Took {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&format!("{:.2} s ({:.2} cpu)", self.wall, self.processors))
    }
}

/// Runs `cargo build`.
fn build(folder: &Path, target: &Path) -> Took {
    let (begin, before) = (Instant::now(), of_children());
    let output = outside::cargo(folder, target).arg("build").output().expect("cargo starts");
    let wall = begin.elapsed().as_secs_f64();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {text}", folder.display());
    Took { wall, processors: (of_children() - before).as_secs_f64() }
}

/// Processor time of this process's children that have ended, on Linux.
fn of_children() -> Duration {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // the name may hold spaces; the times stand 14 and 15 fields behind it, in hundredths of a second
    let fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
    let ticks: u64 = fields.skip(13).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Duration::from_millis(10 * ticks)
}

/// What the build script's latest run wrote of the model.
struct Report(String);

impl Report {
    fn of(package: &str, target: &Path) -> Self {
        let prefix = format!("{package}-");
        let builds = fs::read_dir(target.join("debug/build")).into_iter().flatten().flatten();
        let own = builds.filter(|build| build.file_name().to_string_lossy().starts_with(&prefix));
        let file = |build: fs::DirEntry| -> Option<PathBuf> {
            Some(build.path().join("out/tenfold/report.json")).filter(|file| file.is_file())
        };
        let file = own.filter_map(file).next().expect("the build script ran");
        Self(fs::read_to_string(file).expect("the report can be read"))
    }

    /// The line of the model.
    fn line(&self) -> &str {
        self.0.lines().find(|line| line.contains("\"name\": \"net\"")).unwrap_or_default()
    }

    fn number(&self, key: &str) -> Option<u64> {
        number(&self.0, key)
    }

    fn stage(&self, stage: &str) -> u64 {
        let stages = self.line().split_once("\"stages\": ").map_or("", |(_, stages)| stages);
        number(stages, stage).expect("a stage of the report")
    }

    fn peak(&self) -> Option<u64> {
        number(self.line(), "peak")
    }
}

/// The number of a key.
fn number(text: &str, key: &str) -> Option<u64> {
    let (_, rest) = text.split_once(&format!("\"{key}\": "))?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}
