//! One library on small processors of several kinds, in QEMU: the integers of TFLite's reference, a workspace in two
//! memories, and arithmetic that the processor has no instructions for. No call takes more stack than the header says.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::firmware::{has, root};
use crate::library::without_llvm;
use crate::package::Package;
use crate::tflite::bytes_of;

const LIBRARY: &str = r#"
use tenfold::prelude::*;

/// Small values in one memory, the others in another.
#[tensor_fn(tflite = "speech.tflite", pool(near = "1K", far = "7K"))]
pub fn speech(x: Tensor<i8, 1, 1960>) -> Tensor<i8, 1, 4>;

/// Floats, doubles and words of 64 bits.
#[tensor_fn(stack <= "512")]
pub fn mix(x: Tensor<f32, 4, 8>, n: Tensor<i64, 4>, by: i64) -> (Tensor<f32, 4>, Tensor<f64, 4>, Tensor<i64, 4>) {
    let total = sum(x, axis = 1);
    (relu(total) * 0.125, (total as f64) * 0.5 + 1.0, n / by * 3)
}

/// What is computed with `f32`.
#[tensor_fn]
pub fn singles(x: Tensor<f32, 8>, y: Tensor<f32, 8>)
    -> (Tensor<f32, 8>, Tensor<f32, 8>, Tensor<f32, 8>, Tensor<f32, 8>, Tensor<bool, 8>) {
    (x / y, x * y, x + y, x - y, x < y)
}

/// The same with `f64`.
#[tensor_fn]
pub fn doubles(x: Tensor<f64, 8>, y: Tensor<f64, 8>)
    -> (Tensor<f64, 8>, Tensor<f64, 8>, Tensor<f64, 8>, Tensor<f64, 8>, Tensor<bool, 8>) {
    (x / y, x * y, x + y, x - y, x < y)
}

/// Integers of 64 bits.
#[tensor_fn]
pub fn longs(n: Tensor<i64, 8>, m: Tensor<i64, 8>, u: Tensor<u64, 8>, v: Tensor<u64, 8>)
    -> (Tensor<i64, 8>, Tensor<i64, 8>, Tensor<i64, 8>, Tensor<u64, 8>) {
    (n / m, n % m, n * m, u / v)
}

/// From one type to another.
#[tensor_fn]
pub fn casts(x: Tensor<f32, 8>, z: Tensor<f64, 8>, n: Tensor<i64, 8>)
    -> (Tensor<i64, 8>, Tensor<i64, 8>, Tensor<f32, 8>, Tensor<f64, 8>, Tensor<f32, 8>, Tensor<f64, 8>) {
    (x as i64, z as i64, n as f32, n as f64, z as f32, x as f64)
}

#[tensor_fn]
pub fn product(x: Tensor<f32, 5, 11>, y: Tensor<f32, 11, 13>) -> Tensor<f32, 5, 13> {
    matmul(x, y)
}
"#;

/// A machine of QEMU.
struct Machine {
    name: &'static str,
    target: &'static str,
    tools: Tools,
    flags: &'static [&'static str],
    /// Where code lies, where data do, and where the second memory begins, with the bytes of each; Linux decides that.
    memory: Option<[(&'static str, &'static str); 3]>,
}

/// The simulator and the compiler.
#[derive(Clone, Copy)]
struct Tools {
    qemu: &'static str,
    cc: &'static str,
    /// Where a program begins.
    entry: &'static str,
    /// What the simulator is told besides the machine's name.
    options: &'static str,
}

/// No operating system.
const BARE: &str = "-nographic -monitor none -bios none -serial none -chardev stdio,id=console \
                    -semihosting-config enable=on,target=native,chardev=console -kernel";

const ARM: Tools = Tools { qemu: "qemu-system-arm", cc: "arm-none-eabi-gcc", entry: "reset", options: BARE };
const RISCV: Tools =
    Tools { qemu: "qemu-system-riscv32", cc: "riscv64-unknown-elf-gcc", entry: "start", options: BARE };
/// Programs of Linux, as which QEMU runs them on a processor of 64 bits.
const LINUX: Tools = Tools { qemu: "qemu-riscv64", cc: "riscv64-unknown-elf-gcc", entry: "start", options: "" };
const FLAGS64: &[&str] =
    &["-march=rv64gc", "-mabi=lp64d", "-mcmodel=medany", "-static", "-Wl,-estart", "-Wl,--no-relax"];

/// The second memory of these boards is one of its own: SRAM beside PSRAM.
const MPS2: [(&str, &str); 3] = [("0x00000000", "4M"), ("0x20000000", "4M"), ("0x21000000", "16M")];

const MACHINES: [Machine; 8] = [
    Machine {
        name: "microbit",
        target: "bbc/microbit-v1",
        tools: ARM,
        flags: &["-mcpu=cortex-m0", "-mfloat-abi=soft", "-mthumb"],
        memory: Some([("0x00000000", "256K"), ("0x20000000", "8K"), ("0x20002000", "8K")]),
    },
    Machine {
        name: "mps2-an385",
        target: "arm/mps2-an385",
        tools: ARM,
        flags: &["-mcpu=cortex-m3", "-mfloat-abi=soft", "-mthumb"],
        memory: Some(MPS2),
    },
    Machine {
        name: "mps2-an500",
        target: "arm/mps2-an500",
        tools: ARM,
        flags: &["-mcpu=cortex-m7", "-mfloat-abi=hard", "-mthumb"],
        memory: Some([MPS2[0], MPS2[1], ("0x60000000", "16M")]),
    },
    Machine {
        name: "mps2-an505",
        target: "nordic/nrf5340-dk",
        tools: ARM,
        flags: &["-mcpu=cortex-m33", "-mfloat-abi=hard", "-mthumb"],
        memory: Some([("0x10000000", "4M"), ("0x38000000", "2M"), ("0x30000000", "32K")]),
    },
    Machine {
        name: "virt",
        target: "llvm -mtriple=riscv32imac-unknown-none-elf",
        tools: RISCV,
        flags: &["-march=rv32imac", "-mabi=ilp32", "-msmall-data-limit=0"],
        memory: Some([("0x80000000", "1M"), ("0x80100000", "1M"), ("0x80200000", "1M")]),
    },
    Machine {
        name: "rv64,v=false",
        target: "llvm -mtriple=riscv64gc-unknown-none-elf",
        tools: LINUX,
        flags: FLAGS64,
        memory: None,
    },
    // Vectors of 128 bits, which are those that every processor with `v` has, and of 512.
    Machine {
        name: "rv64,v=true,vext_spec=v1.0,vlen=128",
        target: "llvm -mtriple=riscv64gc-unknown-none-elf -mattr=+v",
        tools: LINUX,
        flags: FLAGS64,
        memory: None,
    },
    Machine {
        name: "rv64,v=true,vext_spec=v1.0,vlen=512",
        target: "llvm -mtriple=riscv64gc-unknown-none-elf -mattr=+v",
        tools: LINUX,
        flags: FLAGS64,
        memory: None,
    },
];

const RUNS: usize = 8;

fn script(memory: [(&str, &str); 3], entry: &str) -> String {
    let [flash, ram, far] = memory.map(|(origin, length)| format!("ORIGIN = {origin}, LENGTH = {length}"));
    let common = fs::read_to_string(root().join("tests/firmware/mps2.ld")).expect("the linker script");
    let (_, sections) = common.split_once("SECTIONS {").expect("it has sections");
    format!(
        "MEMORY {{\n FLASH (rx) : {flash}\n RAM (rw) : {ram}\n FAR (rw) : {far}\n}}\nENTRY({entry})\n\
         SECTIONS {{{sections}"
    )
}

/// What was printed: for each call the stack that it takes, and what the header says.
fn run(machine: &Machine, folder: &Path) -> Vec<u32> {
    let mut cc = Command::new(machine.tools.cc);
    cc.current_dir(folder).args(machine.flags).args(["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O2"]);
    cc.args(["-ffreestanding", "-fno-tree-loop-distribute-patterns", "-nostdlib", "-I.", &format!("-DRUNS={RUNS}")]);
    cc.arg(root().join("tests/firmware/c/board.c"));
    cc.args(["-Wl,--gc-sections", "-L.", "-lboards", "-lgcc", "-o", "firmware"]);
    if let Some(memory) = machine.memory {
        fs::write(folder.join("board.ld"), script(memory, machine.tools.entry)).expect("a file");
        cc.args(["-T", "board.ld"]);
    }
    let output = cc.output().expect("GCC starts");
    assert!(output.status.success(), "{}: {}", machine.name, String::from_utf8_lossy(&output.stderr));
    // A processor that meets what it does not have may hang.
    let mut qemu = Command::new("timeout");
    let of_name = if machine.tools.options.is_empty() { "-cpu" } else { "-M" };
    qemu.current_dir(folder)
        .args(["60", machine.tools.qemu, of_name, machine.name])
        .args(machine.tools.options.split_whitespace());
    qemu.arg("./firmware").stdin(Stdio::null());
    let output = qemu.output().expect("the simulator starts");
    assert!(output.status.success(), "{}: {output:?}", machine.name);
    // A program of Linux prints on the simulator's standard error.
    let said = if output.stdout.is_empty() { &output.stderr } else { &output.stdout };
    String::from_utf8_lossy(said).lines().map(|line| line.parse().expect("a number")).collect()
}

/// Inputs of the reference, each with its outputs behind it.
fn given(folder: &Path) {
    let outputs = fs::read(root().join("tests/tflite/models/speech.out")).expect("the outputs");
    let runs = outputs.chunks_exact(4).take(RUNS).enumerate();
    let bytes = runs.flat_map(|(run, expected)| {
        let input = bytes_of(run, 1960).into_iter().map(|value| value as u8);
        input.chain(expected.iter().copied()).collect::<Vec<u8>>()
    });
    fs::write(folder.join("given.bin"), bytes.collect::<Vec<u8>>()).expect("a file");
}

#[test]
fn one_library_runs_on_processors_of_every_kind() {
    if without_llvm() {
        return println!("left out: `TENFOLD_LLVM=none`, and no C compiler for each target");
    }
    let mut package = Package::new("boards", LIBRARY);
    fs::copy(root().join("tests/tflite/models/speech.tflite"), package.path("speech.tflite")).expect("the model");
    for machine in &MACHINES {
        if !has(&[machine.tools.qemu, machine.tools.cc]) {
            continue;
        }
        package = package.env("TENFOLD_TARGET", machine.target);
        let outcome = package.run("lib --output made");
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
        let folder = package.path("made");
        given(&folder);
        let stacks = run(machine, &folder);
        let (pairs, rest) = stacks.as_chunks::<2>();
        println!("{}: stacks taken, and said by the header: {pairs:?}", machine.name);
        assert!(pairs.len() == RUNS + 6 && rest.is_empty(), "{}: {stacks:?}", machine.name);
        assert!(pairs.iter().all(|[taken, said]| 0 < *said && taken <= said), "{}: {pairs:?}", machine.name);
    }
}
