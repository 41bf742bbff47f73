//! TFLite models on a Cortex-M4 and, with vectors, on a Cortex-M55 from C, in QEMU: the integers of the reference, and
//! what a call takes.

use std::fs;
use std::process::{Command, Stdio};

use crate::firmware::{has_tools, root};
use crate::library::without_llvm;
use crate::package::Package;
use crate::tflite::bytes_of;

/// A model, and the elements that go in and out.
pub(crate) struct Model {
    pub(crate) name: &'static str,
    shapes: [&'static str; 2],
    elements: [usize; 2],
}

pub(crate) const MODELS: [Model; 4] = [
    Model { name: "kws", shapes: ["1, 49, 10, 1", "1, 12"], elements: [490, 12] },
    Model { name: "vww", shapes: ["1, 96, 96, 3", "1, 2"], elements: [27648, 2] },
    Model { name: "ic", shapes: ["1, 32, 32, 3", "1, 10"], elements: [3072, 10] },
    Model { name: "ad", shapes: ["1, 640", "1, 640"], elements: [640, 640] },
];

/// A board of QEMU, and the most that each model may take there.
struct Board {
    machine: &'static str,
    flags: &'static [&'static str],
    /// Where its memory begins, and how much of each is taken.
    memory: [&'static str; 2],
    bytes: &'static str,
    /// Ticks of the timer in 125 instructions.
    ticks: u64,
    most: [Most; 4],
}

/// How often a model is called with inputs of the reference; instructions, bytes of code, and bytes of workspace and stack
/// that a call may take.
struct Most {
    runs: usize,
    instructions: u64,
    code: u64,
    memory: u64,
}

const fn most(runs: usize, instructions: u64, code: u64, memory: u64) -> Most {
    Most { runs, instructions, code, memory }
}

const M4: Board = Board {
    machine: "mps2-an386",
    flags: &["-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"],
    memory: ["0x00000000", "0x20000000"],
    bytes: "4M",
    ticks: 800,
    most: [
        most(100, 6_900_000, 5_400, 13_000),
        most(100, 20_700_000, 12_400, 41_500),
        most(100, 23_600_000, 9_400, 36_000),
        most(100, 500_000, 4_700, 400),
    ],
};

/// With vectors; its memories are smaller.
const M55: Board = Board {
    machine: "mps3-an547",
    flags: &["-mcpu=cortex-m55", "-mfloat-abi=hard"],
    memory: ["0x10000000", "0x30000000"],
    bytes: "512K",
    ticks: 1024,
    most: [
        most(100, 1_190_000, 7_400, 13_000),
        most(6, 3_950_000, 17_000, 41_500),
        most(100, 3_420_000, 10_000, 36_000),
        most(100, 62_000, 3_000, 400),
    ],
};

/// The library of a crate with a function per model, for a board.
pub(crate) fn models(folder: &str, machine: &str) -> Package {
    let mut text = String::from("use tenfold::prelude::*;\n");
    let package = Package::new(folder, "").env("TENFOLD_TARGET", &format!("arm/{machine}"));
    package.write("Cargo.toml", &crate::package::manifest("tiny"));
    for Model { name, shapes: [input, result], .. } in &MODELS {
        let file = format!("tests/tflite/models/{name}.tflite");
        fs::copy(root().join(file), package.path(&format!("{name}.tflite"))).expect("the model");
        text += &format!("#[tensor_fn(tflite = \"{name}.tflite\")]\n");
        text += &format!("pub fn {name}(x: Tensor<i8, {input}>) -> Tensor<i8, {result}>;\n");
    }
    package.write("src/lib.rs", &text);
    let outcome = package.run("lib --output made");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    package
}

/// The library, with what a linker needs beside it.
fn library(board: &Board) -> Package {
    let package = models(&format!("tiny-{}", board.machine), board.machine);
    // more than this test's other firmware has, as the board does
    let script = fs::read_to_string(root().join("tests/firmware/mps2.ld")).expect("the linker script");
    let script = script.replace("256K", board.bytes).replace("32K", board.bytes);
    let script = script.replace(M4.memory[0], board.memory[0]).replace(M4.memory[1], board.memory[1]);
    package.write("made/board.ld", &script);
    package
}

/// A number that the header says of a model.
fn said(header: &str, model: &str, what: &str) -> u64 {
    let head = format!("#define TINY_{}_{what} ", model.to_uppercase());
    let line = header.lines().find_map(|line| line.strip_prefix(&head)).unwrap_or("0");
    line.trim().parse().expect("a number")
}

/// What the firmware prints: instructions of a call, bytes of its stack, and elements that are wrong.
fn measured(package: &Package, board: &Board, model: &Model, runs: usize, workspace: u64) -> [u64; 3] {
    let folder = package.path("made");
    let outputs = fs::read(root().join(format!("tests/tflite/models/{}.out", model.name))).expect("the outputs");
    let [count, results] = model.elements;
    let given = outputs.chunks_exact(results).take(runs).enumerate().flat_map(|(run, expected)| {
        let input = bytes_of(run, count).into_iter().map(|value| value as u8);
        input.chain(expected.iter().copied()).collect::<Vec<u8>>()
    });
    fs::write(folder.join("given.bin"), given.collect::<Vec<u8>>()).expect("a file");
    let defines = [
        format!("-DMODEL=tiny_{}", model.name),
        format!("-DWORKSPACE={workspace}"),
        format!("-DINPUT={count}"),
        format!("-DOUTPUT={results}"),
        format!("-DRUNS={runs}"),
        format!("-DTICKS={}", board.ticks),
    ];
    let mut cc = Command::new("arm-none-eabi-gcc");
    cc.current_dir(&folder).args(board.flags).args(["-mthumb", "-std=c99"]);
    cc.args(["-Wall", "-Wextra", "-Werror", "-O2", "-ffreestanding", "-fno-tree-loop-distribute-patterns"]);
    cc.args(&defines).args(["-nostdlib", "-I."]).arg(root().join("tests/firmware/c/model.c"));
    cc.args(["-Wl,--gc-sections", "-L.", "-ltiny", "-lgcc", "-o", "firmware", "-T", "board.ld"]);
    let output = cc.output().expect("GCC starts");
    assert!(output.status.success(), "{}: {}", model.name, String::from_utf8_lossy(&output.stderr));
    let mut qemu = Command::new("qemu-system-arm");
    qemu.current_dir(&folder).args(["-M", board.machine, "-icount", "shift=8", "-nographic", "-monitor", "none"]);
    qemu.args(["-serial", "none", "-chardev", "stdio,id=console", "-kernel", "firmware"]);
    qemu.args(["-semihosting-config", "enable=on,target=native,chardev=console"]).stdin(Stdio::null());
    let output = qemu.output().expect("the simulator starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let numbers: Vec<u64> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
    let numbers = numbers.try_into().unwrap_or_else(|_| panic!("{}: {output:?}", model.name));
    assert!(output.status.success(), "{}: {numbers:?}", model.name);
    numbers
}

fn check(board: &Board) {
    if !has_tools() {
        return;
    }
    if without_llvm() {
        return println!("left out: `TENFOLD_LLVM=none`, and boards are targets of LLVM");
    }
    let package = library(board);
    let header = package.read("made/tiny.h");
    for (model, most) in MODELS.iter().zip(&board.most) {
        let [code, workspace, weights] =
            ["CODE_BYTES", "WORKSPACE_BYTES", "WEIGHT_BYTES"].map(|what| said(&header, model.name, what));
        let [instructions, stack, wrong] = measured(&package, board, model, most.runs, workspace);
        println!(
            "{}: {instructions} instructions, {code} bytes of code beside {weights} of weights, {workspace} of \
             workspace, {stack} of stack",
            model.name
        );
        assert_eq!(wrong, 0, "{}", model.name);
        let (name, memory) = (model.name, workspace + stack);
        assert!(instructions <= most.instructions, "{name}: {instructions} instructions");
        assert!(code <= most.code, "{name}: {code} bytes of code");
        assert!(memory <= most.memory, "{name}: {memory} bytes of memory");
    }
}

#[test]
fn models_run_on_a_board() {
    check(&M4);
}

#[test]
fn models_run_on_a_board_with_vectors() {
    check(&M55);
}
