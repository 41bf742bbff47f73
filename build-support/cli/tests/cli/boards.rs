//! TFLite models on processors of the Cortex-M family from C, in QEMU: the integers of the reference, and what a call
//! takes.

use std::fs;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

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

pub(crate) const MODELS: [Model; 6] = [
    Model { name: "kws", shapes: ["1, 49, 10, 1", "1, 12"], elements: [490, 12] },
    Model { name: "vww", shapes: ["1, 96, 96, 3", "1, 2"], elements: [27648, 2] },
    Model { name: "ic", shapes: ["1, 32, 32, 3", "1, 10"], elements: [3072, 10] },
    Model { name: "ad", shapes: ["1, 640", "1, 640"], elements: [640, 640] },
    Model { name: "speech", shapes: ["1, 1960", "1, 4"], elements: [1960, 4] },
    Model { name: "person_detect", shapes: ["1, 96, 96, 1", "1, 2"], elements: [9216, 2] },
];

/// The most code that a model may have beside its weights, wherever it runs.
const CODE: u64 = 15_000;

/// A board of QEMU, and the most that each model may take there.
struct Board {
    machine: &'static str,
    /// As a target.
    target: &'static str,
    flags: &'static [&'static str],
    /// Where its memories begin, and how much of each is taken.
    memory: [&'static str; 2],
    bytes: [&'static str; 2],
    /// Ticks of the timer in 125 instructions.
    ticks: u64,
    most: [Most; MODELS.len()],
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

/// The addresses in the linker script.
const MEMORY: [&str; 2] = ["0x00000000", "0x20000000"];

/// Without a float unit and without products of pairs.
const M3: Board = Board {
    machine: "mps2-an385",
    target: "arm/mps2-an385",
    flags: &["-mcpu=cortex-m3", "-mfloat-abi=soft"],
    memory: MEMORY,
    bytes: ["4M", "4M"],
    ticks: 800,
    most: [
        most(2, 21_410_000, 2_600, 13_000),
        most(2, 62_260_000, 7_800, 40_500),
        most(2, 95_860_000, 4_800, 36_300),
        most(2, 1_910_000, 1_500, 700),
        most(2, 2_850_000, 1_200, 4_700),
        most(2, 59_150_000, 7_700, 40_500),
    ],
};

/// A Cortex-M4 whose float unit is not used.
const M4: Board = Board {
    machine: "mps2-an386",
    target: "llvm -mtriple=thumbv7em-none-eabi -mcpu=cortex-m4",
    flags: &["-mcpu=cortex-m4", "-mfloat-abi=soft"],
    most: [
        most(2, 6_890_000, 5_300, 12_800),
        most(2, 20_640_000, 11_900, 39_500),
        most(2, 23_610_000, 9_200, 36_200),
        most(2, 499_000, 4_600, 400),
        most(2, 836_000, 1_800, 4_700),
        most(2, 19_530_000, 11_700, 39_500),
    ],
    ..M3
};

const M4F: Board = Board {
    machine: "mps2-an386",
    target: "arm/mps2-an386",
    flags: &["-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"],
    most: [
        most(100, 6_890_000, 5_300, 12_800),
        most(100, 20_640_000, 11_900, 39_500),
        most(100, 23_610_000, 9_200, 36_200),
        most(100, 499_000, 4_600, 400),
        most(100, 836_000, 1_800, 4_700),
        most(20, 19_530_000, 11_700, 39_500),
    ],
    ..M3
};

const M7: Board = Board {
    machine: "mps2-an500",
    target: "arm/mps2-an500",
    flags: &["-mcpu=cortex-m7", "-mfloat-abi=hard"],
    most: [
        most(2, 6_840_000, 5_400, 12_800),
        most(2, 20_530_000, 12_000, 39_500),
        most(2, 23_000_000, 9_400, 36_200),
        most(2, 530_000, 4_700, 400),
        most(2, 901_000, 1_800, 4_700),
        most(2, 19_430_000, 11_800, 39_500),
    ],
    ..M3
};

const M33: Board = Board {
    machine: "mps2-an505",
    target: "nordic/nrf5340-dk",
    flags: &["-mcpu=cortex-m33", "-mfloat-abi=hard"],
    memory: ["0x10000000", "0x38000000"],
    bytes: ["4M", "2M"],
    ticks: 640,
    most: [
        most(2, 6_890_000, 5_300, 12_800),
        most(2, 20_640_000, 11_900, 39_500),
        most(2, 23_610_000, 9_200, 36_200),
        most(2, 499_000, 4_600, 400),
        most(2, 836_000, 1_800, 4_700),
        most(2, 19_530_000, 11_700, 39_500),
    ],
};

/// With vectors; its memories are smaller.
const M55: Board = Board {
    machine: "mps3-an547",
    target: "arm/mps3-an547",
    flags: &["-mcpu=cortex-m55", "-mfloat-abi=hard"],
    memory: ["0x10000000", "0x30000000"],
    bytes: ["512K", "512K"],
    ticks: 1024,
    most: [
        most(100, 1_180_000, 7_300, 12_900),
        most(6, 3_490_000, 14_900, 39_700),
        most(100, 3_390_000, 9_900, 36_200),
        most(100, 61_000, 3_000, 400),
        most(100, 226_000, 2_400, 5_000),
        most(20, 3_260_000, 15_000, 39_700),
    ],
};

/// The library of a crate with a function for each of some models, for a board, with what a linker needs beside it.
fn library<'a>(name: &str, board: &Board, models: impl Iterator<Item = &'a Model>) -> Package {
    let mut text = String::from("use tenfold::prelude::*;\n");
    let package = Package::new(&format!("tiny-{name}"), "").env("TENFOLD_TARGET", board.target);
    package.write("Cargo.toml", &crate::package::manifest("tiny"));
    for Model { name, shapes: [input, result], .. } in models {
        let file = format!("tests/tflite/models/{name}.tflite");
        fs::copy(root().join(file), package.path(&format!("{name}.tflite"))).expect("the model");
        text += &format!("#[tensor_fn(tflite = \"{name}.tflite\")]\n");
        text += &format!("pub fn {name}(x: Tensor<i8, {input}>) -> Tensor<i8, {result}>;\n");
    }
    package.write("src/lib.rs", &text);
    let outcome = package.run("lib --output made");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    // more than this test's other firmware has, as the board does
    let mut script = fs::read_to_string(root().join("tests/firmware/mps2.ld")).expect("the linker script");
    for (at, bytes) in ["256K", "32K"].iter().enumerate() {
        script = script.replace(bytes, board.bytes[at]).replace(MEMORY[at], board.memory[at]);
    }
    package.write("made/board.ld", &script);
    package
}

/// Boards whose library has every model.
const WHOLE: [(&str, &Board); 3] = [("m4f", &M4F), ("m7", &M7), ("m55", &M55)];

/// The library of one of these, which is built once for all tests.
pub(crate) fn whole(name: &str) -> &'static Package {
    static LIBRARIES: [OnceLock<Package>; WHOLE.len()] = [const { OnceLock::new() }; WHOLE.len()];
    let (at, (name, board)) = WHOLE.iter().enumerate().find(|(_, board)| board.0 == name).expect("a board");
    LIBRARIES[at].get_or_init(|| library(name, board, MODELS.iter()))
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

/// Whether the tests can run; a line says why not.
pub(crate) fn can_run() -> bool {
    if without_llvm() {
        println!("left out: `TENFOLD_LLVM=none`, and boards are targets of LLVM");
        return false;
    }
    has_tools()
}

/// That models do on a board what their references say, and take no more than they may.
fn check<'a>((name, board): (&str, &'a Board), package: &Package, models: impl Iterator<Item = (&'a Model, &'a Most)>) {
    let header = package.read("made/tiny.h");
    for (model, most) in models {
        let [code, workspace, weights] =
            ["CODE_BYTES", "WORKSPACE_BYTES", "WEIGHT_BYTES"].map(|what| said(&header, model.name, what));
        let [instructions, stack, wrong] = measured(package, board, model, most.runs, workspace);
        println!(
            "{name} {}: {instructions} instructions, {code} bytes of code beside {weights} of weights, {workspace} of \
             workspace, {stack} of stack",
            model.name
        );
        assert_eq!(wrong, 0, "{name} {}", model.name);
        let (model, memory) = (model.name, workspace + stack);
        assert!(instructions <= most.instructions, "{name} {model}: {instructions} instructions");
        assert!(code <= most.code.min(CODE), "{name} {model}: {code} bytes of code");
        assert!(memory <= most.memory, "{name} {model}: {memory} bytes of memory");
    }
}

#[test]
fn models_run_on_boards() {
    if can_run() {
        for (name, board) in WHOLE {
            check((name, board), whole(name), MODELS.iter().zip(&board.most));
        }
    }
}

/// Two of the models each, so that every one is on some board; all with `TENFOLD_ALL=1`.
#[test]
fn models_run_on_other_boards_of_the_family() {
    let all = std::env::var_os("TENFOLD_ALL").is_some();
    for (at, (name, board)) in [("m3", &M3), ("m4", &M4), ("m33", &M33)].into_iter().enumerate() {
        if can_run() {
            let models = MODELS.iter().zip(&board.most).enumerate().filter(|(model, _)| all || model % 3 == at);
            let models = models.map(|(_, model)| model);
            check((name, board), &library(name, board, models.clone().map(|(model, _)| model)), models);
        }
    }
}
