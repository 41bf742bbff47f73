//! How long a user waits for cargo: first builds of `digits` and of a copy of `saxpy`, and a check after an edit.
//!
//! `cargo bench -p tenfold-tests --bench build_time`; it prints and asserts nothing of time.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use tenfold_tests::{outside, tools};

fn main() {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("build_time");
    let _ = fs::remove_dir_all(&scratch);
    fs::create_dir_all(&scratch).expect("makes a folder");

    let target = scratch.join("digits-target");
    let mut build = outside::cargo(tools::root(), &target);
    build.args(["build", "--release", "-p", "digits"]);
    report("digits, first release build", build, &target);

    let saxpy = copy_saxpy(&scratch);
    let target = scratch.join("saxpy-target");
    let mut build = outside::cargo(&saxpy, &target);
    build.arg("build");
    report("saxpy outside the workspace, first build", build, &target);

    let mut check = outside::cargo(&saxpy, &target);
    check.arg("check");
    report("saxpy, first check after it", check, &target);
    let main = saxpy.join("src/main.rs");
    let text = fs::read_to_string(&main).expect("reads the source");
    fs::write(&main, text.replace("a * x + y", "a * x - y")).expect("writes the source");
    let mut check = outside::cargo(&saxpy, &target);
    check.arg("check");
    report("saxpy, check after an edit of its function", check, &target);
    fs::remove_dir_all(&scratch).expect("removes the folder");
}

/// A crate as the README tells a user to write it, beside a clone of the repository.
fn copy_saxpy(scratch: &Path) -> PathBuf {
    let to = scratch.join("saxpy");
    outside::write(&to, "saxpy").expect("writes a crate");
    fs::copy(tools::root().join("examples/saxpy/src/main.rs"), to.join("src/main.rs")).expect("copies a file");
    to
}

/// Runs a command of cargo and prints what it took.
fn report(what: &str, mut command: Command, target: &Path) {
    let start = Instant::now();
    let output = command.output().expect("starts cargo");
    let wall = start.elapsed();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what} failed:\n{text}");
    let crates = text.lines().filter(|line| line.trim_start().starts_with("Compiling")).count();
    let ours = build_scripts(target);
    println!(
        "{what}: {:.2} s; {crates} crates compiled; the last run of tenfold-build took {:.3} s, {:.1} % of that",
        wall.as_secs_f64(),
        ours.as_secs_f64(),
        100.0 * ours.as_secs_f64() / wall.as_secs_f64()
    );
}

/// The time of the build scripts' latest runs, from their reports.
fn build_scripts(target: &Path) -> Duration {
    let profiles = fs::read_dir(target).into_iter().flatten().flatten();
    let builds =
        profiles.flat_map(|profile| fs::read_dir(profile.path().join("build")).into_iter().flatten().flatten());
    let reports = builds.filter_map(|build| fs::read_to_string(build.path().join("out/tenfold/report.json")).ok());
    let millis = reports.filter_map(|report| {
        let (_, rest) = report.split_once("\"total_ms\": ")?;
        rest.split([',', '\n']).next()?.parse::<f64>().ok()
    });
    Duration::from_secs_f64(millis.sum::<f64>() / 1e3)
}
