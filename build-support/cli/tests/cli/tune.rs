//! `cargo tenfold tune`. No time is compared with a number: what was measured decides what is written, so what is asked
//! is that a log and records are what they say they are.

use crate::onnx::{has_cc, support};
use crate::package::Package;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tenfold_abi::X86_64_LEVELS;
use tenfold_core::Target;
use tenfold_core::pass::PassContext;
use tenfold_core::tune::{Candidate, Decisions, Entry, How, Kernel, RECORDS, Records, kernels};

/// A product whose tiles leave something of both axes.
const LIBRARY: &str = "#[tensor_fn]\npub fn net(x: Tensor<f32, 24, 40>, w: Tensor<f32, 40, 50>) -> Tensor<f32, 24, 50> {\n    \
                       x.matmul(w).relu()\n}\n\
                       #[tensor_fn(dims(B <= 64))]\npub fn open(x: Tensor<f32, B, 32>) -> Tensor<f32, B, 32> {\n    x + 1.0\n}\n";

/// The logs of a package's searches.
fn logs(package: &Package) -> Vec<PathBuf> {
    let mut folders = vec![package.path("target/tenfold")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.path() {
                path if path.is_dir() => folders.push(path),
                path if path.extension().is_some_and(|end| end == "log") && path.to_string_lossy().contains("tune") => {
                    found.push(path);
                }
                _ => {}
            }
        }
    }
    found
}

fn lines(text: &str, word: &str) -> Vec<String> {
    text.lines().filter(|line| line.starts_with(word)).map(String::from).collect()
}

/// Decisions of the trials of a log.
fn tried(text: &str) -> Vec<String> {
    lines(text, "trial ").iter().filter_map(|line| Some(line.rsplit_once(": ")?.1.to_string())).collect()
}

#[cfg(unix)]
#[test]
fn a_search_that_is_killed_goes_on() {
    use std::os::unix::process::CommandExt as _;
    if !has_cc() {
        return;
    }
    let package = Package::new("tune-killed", LIBRARY);
    let line = "tune net --trials 12 --seed 3";
    let mut running = package.command(line).process_group(0).spawn().expect("the program starts");
    let begin = Instant::now();
    let log = loop {
        let found = logs(&package);
        let text = found.first().map(|path| fs::read_to_string(path).unwrap_or_default()).unwrap_or_default();
        if tried(&text).len() >= 3 {
            break found[0].clone();
        }
        assert!(running.try_wait().expect("it can be asked").is_none(), "it ended by itself: {text}");
        assert!(begin.elapsed() < Duration::from_secs(300), "nothing is tried");
        std::thread::sleep(Duration::from_millis(20));
    };
    let group = format!("-{}", running.id());
    let killed = std::process::Command::new("kill").args(["-9", "--", &group]).status();
    assert!(killed.is_ok_and(|status| status.success()));
    running.wait().expect("it ends");
    let before = fs::read_to_string(&log).expect("a text");
    let whole = &before[..before.rfind('\n').map_or(0, |at| at + 1)];
    let done = tried(whole);
    assert!((3..12).contains(&done.len()), "{before}");
    // A line that was cut off in the middle.
    fs::write(&log, format!("{whole}trial 12.5 1")).expect("it can be written");
    let outcome = package.run(line);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(outcome.stdout.starts_with("kernel "), "{outcome:?}");
    let after = fs::read_to_string(&log).expect("a text");
    assert!(after.starts_with(whole), "{before}\n{after}");
    let all = tried(&after);
    assert_eq!(all.len(), 12, "{after}");
    let different: BTreeSet<&String> = all.iter().collect();
    assert_eq!(different.len(), 12, "{after}");
    assert!(lines(&outcome.stderr, "crate").is_empty() && !outcome.stderr.contains(" 1/12"), "{outcome:?}");
    // Everything is known: nothing is tried again.
    let again = package.run(line);
    assert_eq!((again.code, again.stderr.as_str()), (Some(0), ""), "{again:?}");
    assert_eq!(fs::read_to_string(&log).expect("a text"), after);
    assert_eq!(again.stdout, outcome.stdout);
    let (records, wrong) = Records::parse(&package.read(RECORDS));
    assert_eq!(wrong, Vec::<String>::new());
    assert_eq!(records.is_empty(), outcome.stdout.contains("no schedule is faster"), "{outcome:?}");
}

#[test]
fn what_cannot_be_tuned_says_why() {
    if !has_cc() {
        return;
    }
    let package = Package::new("tune-refused", LIBRARY);
    for (line, text) in [
        ("tune nothing", "error: there is no function `nothing`"),
        (
            "tune net --target aarch64-unknown-linux-gnu",
            "error: schedules are measured where they run: this machine is ",
        ),
        ("tune net --kernel conv", "error: no kernel of `lib:tune_refused::net` has `conv` in its name; it has `net."),
        ("tune none.onnx", "error: `none.onnx` cannot be read: No such file or directory"),
    ] {
        let outcome = package.run(line);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (Some(1), ""), "{line}: {outcome:?}");
        assert!(outcome.stderr.starts_with(text), "{line}: {outcome:?}");
    }
    let outcome = package.run("tune open");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.stderr.contains("is not tuned: its extents are no numbers\n"), "{outcome:?}");
    assert!(
        outcome.stderr.ends_with("error: `lib:tune_refused::open` has no kernel that can be tuned\n"),
        "{outcome:?}"
    );
    package.write(RECORDS, "kernel 12\n");
    let outcome = package.run("tune net");
    assert!(
        outcome.stderr.contains("line 1: expected 32 hexadecimal digits, found `12`; mend the entry"),
        "{outcome:?}"
    );
    assert_eq!(package.read(RECORDS), "kernel 12\n");
}

#[test]
fn a_model_is_tuned() {
    if !has_cc() {
        return;
    }
    let package = Package::bare("tune-model");
    fs::write(package.path("net.onnx"), model()).expect("a file");
    let outcome = package.run("tune net.onnx --trials 3 --seed 1");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(outcome.stdout.starts_with("kernel "), "{outcome:?}");
    let text = fs::read_to_string(&logs(&package)[0]).expect("a text");
    assert_eq!(tried(&text).len(), 3, "{text}");
    assert!(!text.contains("refused"), "{text}");
}

/// A product with constant weights.
fn model() -> Vec<u8> {
    let weights = (0..16 * 48).map(|n| (n % 7).to_string()).collect::<Vec<_>>().join(", ");
    support::model(&format!(
        "input x: float[12, 16]\nconst w: float[16, 48] = {weights}\ny = MatMul(x, w)\nz = Relu(y)\noutput z"
    ))
}

/// The kernel of the model for the widest level of x86-64, and a record of it with other decisions.
fn record(path: &std::path::Path, decisions: &str) -> Entry {
    let imported = tenfold_onnx::read(path, &tenfold_onnx::Options::default()).expect("a model");
    let target = Target::from_triple(&Target::host().triple, X86_64_LEVELS[2].features);
    let context = PassContext::new(target);
    let (found, _) = kernels(imported.module, &context, &How::default()).expect("kernels");
    let kernel: &Kernel = found.iter().find(|kernel| kernel.name.contains("matmul")).expect("a product");
    let decisions = Decisions::parse(decisions).expect("decisions");
    let candidate = Candidate::of(kernel, &context, &decisions).expect("passes").expect("a rule");
    candidate.entry("test", None)
}

#[test]
fn builds_read_records_and_never_tune() {
    if !cfg!(target_arch = "x86_64") {
        return;
    }
    let library = "#[tensor_fn(onnx = \"net.onnx\")]\npub fn net(x: Tensor<f32, 12, 16>) -> Tensor<f32, 12, 48>;\n";
    let package = Package::new("tune-build", library);
    fs::write(package.path("net.onnx"), model()).expect("a file");
    let shown = || {
        let outcome = package.run("show net --remarks");
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        outcome.stdout
    };
    let plain = shown();
    assert!(plain.contains("; tile: ") && !plain.contains("decided by"), "{plain}");
    let entry = record(&package.path("net.onnx"), "rows=3 vectors=2");
    let mut records = Records::default();
    records.put(entry.clone());
    package.write(RECORDS, &records.print());
    let tuned = shown();
    assert!(tuned.contains("; tile: 3 x 32") && tuned.contains("decided by: a record"), "{tuned}");
    assert_eq!(package.read(RECORDS), records.print());
    // One for another target is silent, one that does not fit says so, and the default schedule holds.
    let other = Entry { target: "riscv64gc-unknown-linux-gnu vectors-16".into(), ..entry.clone() };
    let mut records = Records::default();
    records.put(other);
    package.write(RECORDS, &records.print());
    assert_eq!(shown(), plain);
    let mut wrong = entry.decisions.clone();
    wrong.set("unroll", "5");
    let mut records = Records::default();
    records.put(Entry { decisions: wrong, ..entry });
    package.write(RECORDS, &records.print());
    let refused = shown();
    let why = "its record is not used: expected `unroll` to be one of 1, 2, 4, 8, found `5`";
    assert!(refused.contains(why) && !refused.contains("decided by"), "{refused}");
}
