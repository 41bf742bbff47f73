//! Firmwares in C with the digits MLP, as a library: its classes are those of the host, and it may be interrupted and
//! called in the interrupt.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tenfold_tests::tools;

use crate::package::Package;

const IMAGES: usize = 20;

/// A board of QEMU, with its name as a target, and how GCC is told of it.
struct Board {
    machine: &'static str,
    target: &'static str,
    /// Where its flash and its memory begin.
    memory: [&'static str; 2],
    flags: &'static [&'static str],
}

/// The addresses in the linker script.
const MEMORY: [&str; 2] = ["0x00000000", "0x20000000"];

const BOARDS: [Board; 3] = [
    Board {
        machine: "mps2-an386",
        target: "arm/mps2-an386",
        memory: MEMORY,
        flags: &["-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"],
    },
    // Without a float unit: arithmetic comes from libgcc.
    Board {
        machine: "mps2-an385",
        target: "arm/mps2-an385",
        memory: MEMORY,
        flags: &["-mcpu=cortex-m3", "-mfloat-abi=soft"],
    },
    // With vectors.
    Board {
        machine: "mps3-an547",
        target: "arm/mps3-an547",
        memory: ["0x10000000", "0x30000000"],
        flags: &["-mcpu=cortex-m55", "-mfloat-abi=hard"],
    },
];

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the checkout")
}

/// Whether the tools are there; a line says which one is not.
pub(crate) fn has(tools: &[&str]) -> bool {
    let absent = tools.iter().find(|tool| !tools::has(tool));
    if let Some(tool) = absent {
        tools::skip(tool, "tests/firmware/setup.sh installs it");
    }
    absent.is_none()
}

pub(crate) fn has_tools() -> bool {
    has(&["arm-none-eabi-gcc", "qemu-system-arm"])
}

/// The classes of the first images by the host's reference.
pub(crate) fn expected() -> String {
    let bytes = fs::read(root().join("examples/digits/data/mlp_reference.npy")).expect("the reference");
    let values: Vec<f32> = bytes[128..] // NumPy pads its header so that the data begins here
        .chunks_exact(4)
        .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    let class = |row: &[f32]| (0..10).fold(0, |best, d| if row[d] > row[best] { d } else { best });
    values.chunks_exact(10).take(IMAGES).map(|row| format!("{}\n", class(row))).collect()
}

/// A library for a board, with what a program needs beside it.
fn library(board: &Board, name: &str) -> PathBuf {
    let manifest = root().join("examples/digits/Cargo.toml");
    let package = Package::bare(&format!("{name}-{}", board.machine)).env("TENFOLD_TARGET", board.target);
    let folder = package.path("made");
    let outcome = package.run(&format!("lib --manifest-path {} --output made", manifest.display()));
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    fs::copy(root().join("examples/digits/data/test_images.npy"), folder.join("test_images.npy")).expect("the images");
    let mut script = fs::read_to_string(root().join("tests/firmware/mps2.ld")).expect("the linker script");
    for (from, to) in MEMORY.iter().zip(&board.memory) {
        script = script.replace(from, to);
    }
    fs::write(folder.join("board.ld"), script).expect("a file");
    folder
}

fn compiler(board: &Board, library: &Path, program: &str) -> Command {
    let mut cc = Command::new("arm-none-eabi-gcc");
    cc.current_dir(library).args(board.flags).args(["-mthumb", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]);
    cc.args(["-O2", "-ffreestanding", "-fno-tree-loop-distribute-patterns", "-nostdlib", "-I."]);
    cc.arg(root().join("tests/firmware/c").join(program));
    cc
}

/// Links the program and runs it until it ends.
fn run(board: &Board, library: &Path, mut cc: Command) -> Output {
    cc.args(["-Wl,--gc-sections", "-L.", "-ldigits", "-lgcc", "-o", "firmware", "-T", "board.ld"]);
    let output = cc.output().expect("GCC starts");
    assert!(output.status.success(), "{}: {}", board.target, String::from_utf8_lossy(&output.stderr));
    // An instruction takes the same time everywhere.
    Command::new("timeout")
        .current_dir(library)
        .args(["60", "qemu-system-arm", "-M", board.machine, "-icount", "shift=8", "-nographic", "-monitor", "none"])
        .args(["-serial", "none", "-chardev", "stdio,id=console"])
        .args(["-semihosting-config", "enable=on,target=native,chardev=console", "-kernel", "firmware"])
        .stdin(Stdio::null())
        .output()
        .expect("the simulator starts")
}

/// Whether the tests can run; a line says why not.
fn can_run() -> bool {
    if crate::library::without_llvm() {
        println!("left out: `TENFOLD_LLVM=none`, and boards are targets of LLVM");
        return false;
    }
    has_tools()
}

#[test]
fn a_firmware_in_c_sees_the_same_digits() {
    if !can_run() {
        return;
    }
    for board in &BOARDS {
        let (target, library) = (board.target, library(board, "lib"));
        let output = run(board, &library, compiler(board, &library, "main.c"));
        assert!(output.status.success(), "{target}: {output:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected(), "{target}");
        // The other board's convention for floats is refused before anything is linked.
        let is_hard = |board: &Board| board.flags.contains(&"-mfloat-abi=hard");
        let other = BOARDS.iter().find(|other| is_hard(other) != is_hard(board)).expect("there are both");
        let output = compiler(other, &library, "main.c").arg("-fsyntax-only").output().expect("GCC starts");
        assert!(!output.status.success(), "{target} is taken with {:?}", other.flags);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("#error \"this library passes floats in "), "{target}: {text}");
    }
}

/// Functions are re-entrant. Were one not, as with a workspace for both calls (`SHARED`), results would be wrong.
#[test]
fn an_interrupt_may_call_the_function_that_it_interrupts() {
    if !can_run() {
        return;
    }
    for board in &BOARDS {
        let library = library(board, "interrupt");
        let output = run(board, &library, compiler(board, &library, "interrupt.c"));
        assert!(output.status.success(), "{}: {output:?}", board.target);
        let nested: u32 = String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number");
        println!("{}: {nested} calls inside of calls", board.target);
        assert!(nested >= 50, "{}: {nested}", board.target);
        let mut cc = compiler(board, &library, "interrupt.c");
        cc.arg("-DSHARED");
        assert_eq!(run(board, &library, cc).status.code(), Some(4), "{}", board.target);
    }
}
