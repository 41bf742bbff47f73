//! One library on small processors of several kinds, in QEMU: the integers of TFLite's reference, a workspace in two
//! memories, and arithmetic that the processor has no instructions for.

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
"#;

/// A machine of QEMU.
struct Machine {
    name: &'static str,
    target: &'static str,
    tools: Tools,
    flags: &'static [&'static str],
    /// Where code lies, where data do, and where the second memory begins, with the bytes of each.
    memory: [(&'static str, &'static str); 3],
}

/// The simulator and the compiler.
#[derive(Clone, Copy)]
struct Tools {
    qemu: &'static str,
    cc: &'static str,
    /// Where a program begins.
    entry: &'static str,
}

const ARM: Tools = Tools { qemu: "qemu-system-arm", cc: "arm-none-eabi-gcc", entry: "reset" };
const RISCV: Tools = Tools { qemu: "qemu-system-riscv32", cc: "riscv64-unknown-elf-gcc", entry: "start" };

/// The second memory of these boards is one of its own: SRAM beside PSRAM.
const MPS2: [(&str, &str); 3] = [("0x00000000", "4M"), ("0x20000000", "4M"), ("0x21000000", "16M")];

const MACHINES: [Machine; 5] = [
    Machine {
        name: "microbit",
        target: "bbc/microbit-v1",
        tools: ARM,
        flags: &["-mcpu=cortex-m0", "-mfloat-abi=soft", "-mthumb"],
        memory: [("0x00000000", "256K"), ("0x20000000", "8K"), ("0x20002000", "8K")],
    },
    Machine {
        name: "mps2-an385",
        target: "arm/mps2-an385",
        tools: ARM,
        flags: &["-mcpu=cortex-m3", "-mfloat-abi=soft", "-mthumb"],
        memory: MPS2,
    },
    Machine {
        name: "mps2-an500",
        target: "arm/mps2-an500",
        tools: ARM,
        flags: &["-mcpu=cortex-m7", "-mfloat-abi=hard", "-mthumb"],
        memory: [MPS2[0], MPS2[1], ("0x60000000", "16M")],
    },
    Machine {
        name: "mps2-an505",
        target: "nordic/nrf5340-dk",
        tools: ARM,
        flags: &["-mcpu=cortex-m33", "-mfloat-abi=hard", "-mthumb"],
        memory: [("0x10000000", "4M"), ("0x38000000", "2M"), ("0x30000000", "32K")],
    },
    Machine {
        name: "virt",
        target: "llvm -mtriple=riscv32imac-unknown-none-elf",
        tools: RISCV,
        flags: &["-march=rv32imac", "-mabi=ilp32", "-msmall-data-limit=0"],
        memory: [("0x80000000", "1M"), ("0x80100000", "1M"), ("0x80200000", "1M")],
    },
];

const RUNS: usize = 8;

/// What a call may take beyond the bound for functions that are left to the linker, `memset` and the compiler's
/// arithmetic, each with the frame that calls it.
const OUTSIDE: u32 = 160;

fn script(machine: &Machine) -> String {
    let [flash, ram, far] = machine.memory.map(|(origin, length)| format!("ORIGIN = {origin}, LENGTH = {length}"));
    let common = fs::read_to_string(root().join("tests/firmware/mps2.ld")).expect("the linker script");
    let (_, sections) = common.split_once("SECTIONS {").expect("it has sections");
    format!(
        "MEMORY {{\n FLASH (rx) : {flash}\n RAM (rw) : {ram}\n FAR (rw) : {far}\n}}\nENTRY({})\n\
         SECTIONS {{\n .far (NOLOAD) : {{ *(.far) }} > FAR\n{sections}",
        machine.tools.entry,
    )
}

/// What was printed: how much more stack the functions take than the header says.
fn run(machine: &Machine, folder: &Path) -> Vec<u32> {
    fs::write(folder.join("board.ld"), script(machine)).expect("a file");
    let mut cc = Command::new(machine.tools.cc);
    cc.current_dir(folder).args(machine.flags).args(["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O2"]);
    cc.args(["-ffreestanding", "-fno-tree-loop-distribute-patterns", "-nostdlib", "-I.", &format!("-DRUNS={RUNS}")]);
    cc.arg(root().join("tests/firmware/c/board.c"));
    cc.args(["-Wl,--gc-sections", "-L.", "-lboards", "-lgcc", "-o", "firmware", "-T", "board.ld"]);
    let output = cc.output().expect("GCC starts");
    assert!(output.status.success(), "{}: {}", machine.name, String::from_utf8_lossy(&output.stderr));
    // A processor that meets what it does not have may hang.
    let mut qemu = Command::new("timeout");
    qemu.current_dir(folder).args(["60", machine.tools.qemu, "-M", machine.name, "-nographic", "-monitor", "none"]);
    qemu.args(["-bios", "none", "-serial", "none", "-chardev", "stdio,id=console", "-kernel", "firmware"]);
    qemu.args(["-semihosting-config", "enable=on,target=native,chardev=console"]).stdin(Stdio::null());
    let output = qemu.output().expect("the simulator starts");
    assert!(output.status.success(), "{}: {output:?}", machine.name);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().map(|line| line.parse().expect("a number")).collect()
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
        let beyond = run(machine, &folder);
        println!("{}: {beyond:?} bytes of stack beyond the bound", machine.name);
        assert!(beyond.len() == 2 && beyond.iter().all(|bytes| *bytes <= OUTSIDE), "{}: {beyond:?}", machine.name);
    }
}
