//! Firmware for a Cortex-M4 without a heap: the digits MLP, whose classes are those of the host, and the example that
//! spots words. For other processors a program is linked.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tenfold_tests::{outside, tools};

const TARGET: &str = "thumbv7em-none-eabihf";
/// Those that a library for C is tested on, too.
const OTHERS: [&str; 5] = [
    "thumbv6m-none-eabi",
    "thumbv7m-none-eabi",
    "thumbv8m.main-none-eabihf",
    "riscv32imac-unknown-none-elf",
    "wasm32-unknown-unknown",
];
const SETUP: &str = "run tests/firmware/setup.sh";
const IMAGES: usize = 20;

/// Where `core` for the target comes from.
enum Core {
    /// rustup's prebuilt target, or any other in the sysroot.
    Prebuilt,
    /// Sources in the sysroot.
    Sources,
    /// Another compiler with its sources, as `setup.sh` unpacks it.
    Compiler(PathBuf),
}

fn find_core(target: &str) -> Option<Core> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(["--print", "sysroot"]).output().ok()?;
    let rustlib = Path::new(String::from_utf8(output.stdout).ok()?.trim()).join("lib/rustlib");
    if rustlib.join(target).join("lib").is_dir() {
        return Some(Core::Prebuilt);
    }
    if rustlib.join("src/rust/library/core").is_dir() {
        return Some(Core::Sources);
    }
    let thumb = env::var_os("TENFOLD_THUMB").map(PathBuf::from).or_else(|| {
        let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let cache = cache.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")))?;
        Some(cache.join("tenfold/thumb"))
    })?;
    let compiler = thumb.join("rustc");
    tools::has(&compiler).then_some(Core::Compiler(compiler))
}

/// Builds a program of a package for a processor as for a release, with the size and the `lto` that releases for such processors
/// have, and returns its path.
fn build(package: &str, program: &str, triple: &str, core: &Core) -> PathBuf {
    let source = tools::root().join(package);
    // It is a workspace of its own; it is to build with the versions of this one.
    fs::copy(tools::root().join("Cargo.lock"), source.join("Cargo.lock")).expect("copies the lock file");
    // Where the end-to-end tests have built the compiler.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("e2e/target");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.arg("rustc").args(["--bin", program, "--target", triple, "--target-dir"]).arg(&target);
    let bitcode = format!("target.{triple}.rustflags=[\"-Cembed-bitcode=yes\"]");
    cargo.args(outside::PROOFS).args(outside::RELEASE);
    cargo.args(["--config", "profile.dev.opt-level=\"s\"", "--config", &bitcode]);
    cargo.current_dir(&source);
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("CARGO_PKG_") || name == "CARGO_MANIFEST_DIR" || name == "OUT_DIR" {
            cargo.env_remove(name);
        }
    }
    match core {
        Core::Prebuilt => {}
        Core::Sources => {
            cargo.arg("-Zbuild-std=core").env("RUSTC_BOOTSTRAP", "1");
        }
        Core::Compiler(rustc) => {
            cargo.arg("-Zbuild-std=core").env("RUSTC_BOOTSTRAP", "1").env("RUSTC", rustc);
        }
    }
    let output = cargo.args(["--", "-Clto=fat"]).output().expect("starts cargo");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`{package}` does not build for {triple}:\n{text}");
    target.join(triple).join("debug").join(program)
}

/// Runs a program in the simulator until it ends; what it wrote.
fn run(program: &Path) -> String {
    let output = Command::new("qemu-system-arm")
        .args(["-M", "mps2-an386", "-nographic", "-monitor", "none", "-serial", "none"])
        .args(["-chardev", "stdio,id=console"])
        .args(["-semihosting-config", "enable=on,target=native,chardev=console"])
        .arg("-kernel")
        .arg(program)
        .stdin(Stdio::null())
        .output()
        .expect("starts the simulator");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{} failed: {}\n{text}", program.display(), output.status);
    text
}

/// The classes of the first images by the host's reference.
fn expected() -> Vec<usize> {
    let file = tools::root().join("examples/digits/data/mlp_reference.npy");
    let bytes = fs::read(file).expect("reads the reference");
    let values: Vec<f32> = bytes[128..] // NumPy pads its header so that the data begins here
        .chunks_exact(4)
        .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    let class = |row: &[f32]| (0..10).fold(0, |best, d| if row[d] > row[best] { d } else { best });
    values.chunks_exact(10).take(IMAGES).map(class).collect()
}

/// What builds the firmware, if this machine has what it takes; else a line says what is missing.
fn has_tools() -> Option<Core> {
    // Without LLVM, the C back end needs a compiler for the target.
    let without_llvm = env::var_os("TENFOLD_LLVM").is_some_and(|choice| choice == "none");
    if without_llvm && !tools::has("arm-none-eabi-gcc") {
        println!("left out: `TENFOLD_LLVM=none`, and no arm-none-eabi-gcc");
        return None;
    }
    if !tools::has("qemu-system-arm") {
        tools::skip("qemu-system-arm", SETUP);
        return None;
    }
    let core = find_core(TARGET);
    if core.is_none() {
        tools::skip("`core` for thumbv7em-none-eabihf", SETUP);
    }
    core
}

#[test]
fn a_microcontroller_sees_the_same_digits() {
    let Some(core) = has_tools() else { return };
    let program = |name: &str| build("tests/firmware", name, TARGET, &core);
    let text = run(&program("firmware"));
    let classes: Vec<usize> = text.lines().map(|line| line.parse().expect("a class")).collect();
    assert_eq!(classes, expected());
    // Each call takes no more stack than its constant says, with what the linker adds from `compiler_builtins`.
    for line in run(&program("memories")).lines() {
        let (taken, said) = line.split_once(' ').expect("two numbers");
        let [taken, said]: [u32; 2] = [taken, said].map(|number| number.parse().expect("a number"));
        println!("{taken} of {said} bytes of stack");
        assert!(taken <= said, "{taken} of {said}");
    }
    // That it links says that a call has no way to a panic.
    assert_eq!(run(&program("cannot_panic")), "");
}

/// Where rustup has no `core`, to build it for each of them would take a minute.
#[test]
fn other_processors_have_programs_of_rust() {
    if env::var_os("TENFOLD_LLVM").is_some_and(|choice| choice == "none") {
        return println!("left out: `TENFOLD_LLVM=none`, and no C compiler for each processor");
    }
    for triple in OTHERS {
        if !matches!(find_core(triple), Some(Core::Prebuilt)) {
            println!("left out: {triple}, since rustup has no `core` for it; {SETUP}");
            continue;
        }
        let mut program = build("tests/processors", "processors", triple, &Core::Prebuilt);
        if triple.starts_with("wasm") {
            program.set_extension("wasm");
        }
        let bytes = fs::read(&program).expect("the program").len();
        println!("{triple}: {bytes} bytes");
    }
}

/// It ends with a status of its own unless it hears what was said.
#[test]
fn a_microcontroller_hears_the_words() {
    let Some(core) = has_tools() else { return };
    let program = build("examples/cortex-m", "cortex-m-keyword", TARGET, &core);
    let text = run(&program);
    assert!(text.contains("6 of 6 words heard"), "{text}");
    let mut cargos_runner = Command::new("./run.sh");
    cargos_runner.current_dir(tools::root().join("examples/cortex-m")).arg(&program).stdin(Stdio::null());
    let output = cargos_runner.output().expect("starts the runner");
    assert_eq!(String::from_utf8_lossy(&output.stdout), text);
}
