//! From the start of a program to the first result of MobileNetV2, what the program then holds in memory, and how large
//! what is linked is: a crate outside of the workspace with cargo's own release profile and every variant.
//!
//! `cargo bench -p tenfold-tests --bench start -- [RUNS]`. A run is a process of its own. The clock starts before the
//! process is asked for; weights come from the page cache, as a run before has left them there.

#[allow(dead_code, reason = "another bench builds the other models")]
#[path = "model_builds/nets.rs"]
mod nets;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use nets::NETS;
use tenfold_tests::outside;

const NAME: &str = "mobilenetv2";

/// Prints the nanoseconds since the epoch when it begins, when it has a first result and when it has a second, and its
/// sizes by name. What it holds is asked between the two calls.
const PROGRAM: &str = r#"use std::time::{SystemTime, UNIX_EPOCH};
use tenfold::prelude::*;

/// The model.
#[tensor_fn(onnx = "net.onnx")]
fn net(x: Tensor<f32, 1, 3, 224, 224>) -> Tensor<f32, 1, 1000>;

static IMAGE: [[[[f32; 224]; 224]; 3]; 1] = [[[[0.5; 224]; 224]; 3]; 1];

fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos())
}

fn main() {
    let begin = now();
    let first = net(&IMAGE);
    let done = now();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let again = now();
    let second = net(&IMAGE);
    let end = now();
    assert_eq!(first, second);
    println!("begin {begin}\nfirst {done}\nagain {again}\nsecond {end}");
    println!("weights {}\nworkspace {}\ncode {}", net::WEIGHT_BYTES, net::WORKSPACE_BYTES, net::CODE_BYTES);
    for line in status.lines().filter(|line| line.starts_with("Vm") || line.starts_with("Rss")) {
        let mut words = line.split_whitespace();
        if let (Some(name), Some(Ok(kilobytes))) = (words.next(), words.next().map(str::parse::<u64>)) {
            println!("{} {}", name.trim_end_matches(':'), kilobytes << 10);
        }
    }
}
"#;

fn main() {
    let runs = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(30);
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("start");
    let folder = scratch.join("crate");
    outside::write(&folder, "start").expect("the folder can be written to");
    let net = NETS.iter().find(|net| net.0 == NAME).expect("the model is there");
    fs::write(folder.join("net.onnx"), nets::file(net)).expect("the model can be written");
    fs::write(folder.join("src/main.rs"), PROGRAM).expect("the source can be written");
    let target = scratch.join("target");
    forget(&target);
    let output = outside::cargo(&folder, &target).args(["build", "--release"]).output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let program = target.join("release/start");
    run(&program);
    let all: Vec<Run> = (0..runs).map(|_| run(&program)).collect();
    report(&all, archives(&target));
}

/// What a run printed, and when it was asked for.
struct Run {
    asked: u128,
    text: String,
}

impl Run {
    fn number(&self, name: &str) -> u128 {
        let line = self.text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("no `{name}` in {}", self.text))
    }
}

fn run(program: &Path) -> Run {
    let asked = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    let output = Command::new(program).output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Run { asked, text: String::from_utf8_lossy(&output.stdout).into_owned() }
}

/// Where build scripts of the program have written.
fn outs(target: &Path) -> impl Iterator<Item = PathBuf> {
    let builds = fs::read_dir(target.join("release/build")).into_iter().flatten().flatten();
    let own = builds.filter(|build| build.file_name().to_string_lossy().starts_with("start-"));
    own.map(|build| build.path().join("out")).filter(|out| out.is_dir())
}

/// Removes what an earlier run has left there.
fn forget(target: &Path) {
    for out in outs(target) {
        fs::remove_dir_all(&out).expect("the folder can be removed");
        fs::create_dir(&out).expect("the folder can be made");
    }
}

/// The bytes of the archives that the program is linked with.
fn archives(target: &Path) -> u64 {
    let archives = outs(target).flat_map(|out| files(&out));
    let archives = archives.filter(|file| file.extension().is_some_and(|extension| extension == "a"));
    archives.filter_map(|file| Some(fs::metadata(file).ok()?.len())).sum()
}

/// Every file in a folder and those in it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// The middle of numbers, and the least of them.
fn middle_and_least(mut all: Vec<u128>) -> [u128; 2] {
    all.sort_unstable();
    [all[all.len() / 2], all[0]]
}

/// Prints medians beside their bars, and of times the least: other programs make them longer only.
fn report(runs: &[Run], archives: u64) {
    let time = |what: &str, from: &dyn Fn(&Run) -> u128, to: &str, bar: &str| {
        let spans = runs.iter().map(|run| run.number(to).saturating_sub(from(run))).collect();
        let [middle, least] = middle_and_least(spans).map(|nanoseconds| nanoseconds as f64 / 1e6);
        println!("{what:<22} {middle:>6.2} ms, least {least:.2}{bar}");
    };
    let size = |name: &str| middle_and_least(runs.iter().map(|run| run.number(name)).collect())[0];
    let print = |what: &str, bytes: u128, bar: &str| println!("{what:<22} {:>6.2} MB{bar}", bytes as f64 / 1e6);
    let bar = |bytes: u128| format!("   bar: {:.2}", bytes as f64 / 1e6);
    println!("{NAME}, medians of {} processes", runs.len());
    time("start to first result", &|run| run.asked, "first", "   bar: 10 and page-in of weights");
    time("  start to main", &|run| run.asked, "begin", "");
    time("  first call", &|run| run.number("begin"), "first", "");
    time("  second call", &|run| run.number("again"), "second", "   weights and code are paged in");
    let (weights, workspace) = (size("weights"), size("workspace"));
    print("weights", weights, "");
    print("workspace", workspace, "");
    print("code that is linked", size("code"), "");
    print("resident in the call", size("VmHWM"), &bar(weights + workspace + 4_000_000));
    print("  behind it", size("VmRSS"), "");
    print("    of files", size("RssFile"), "");
    print("    of the process", size("RssAnon"), "");
    print("archives", u128::from(archives), &bar(weights + 1_500_000));
}
