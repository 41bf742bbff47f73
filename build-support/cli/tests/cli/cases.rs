//! TFLite models of one operator each, compiled into one library for this machine, by LLVM and by the C compiler, and for
//! boards whose schedules for integers differ, in QEMU. Every output is that of TFLite's reference kernels, which
//! `tests/tflite/generate.py` has written.

use std::fmt::Write;
use std::fs;
use std::process::{Command, Output, Stdio};

use tenfold_onnx::{Options, Port};

use crate::firmware::{has_tools, root};
use crate::integers;
use crate::library::{left, without_llvm};
use crate::onnx::has_cc;
use crate::package::{Package, manifest};

/// How often each is called.
const RUNS: usize = 6;

/// Where every input and result begins in memory.
const ALIGN: usize = 16;

/// What stands between results, as the program has it.
const UNTOUCHED: u8 = 0x55;

/// A model of one operator.
struct Case {
    name: String,
    inputs: Vec<Place>,
    results: Vec<Place>,
}

/// A tensor in the memory of its kind.
struct Place {
    /// As the language writes its type.
    ty: String,
    at: usize,
    bytes: usize,
}

impl Place {
    fn is_float(&self) -> bool {
        self.ty.starts_with("Tensor<f")
    }

    fn end(&self) -> usize {
        (self.at + self.bytes).next_multiple_of(ALIGN)
    }
}

/// Ports one behind the other.
fn places(ports: &[Port]) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for port in ports {
        let dtype = port.elem.storage().expect("a type of the language");
        let shape: Vec<usize> = port.shape.iter().map(|n| n.as_const().expect("a number") as usize).collect();
        let extents: String = shape.iter().map(|n| format!(", {n}")).collect();
        let bytes = shape.iter().product::<usize>() * dtype.size_bytes();
        let at = places.last().map_or(0, Place::end);
        places.push(Place { ty: format!("Tensor<{dtype}{extents}>"), at, bytes });
    }
    places
}

/// Bytes of tensors that follow one another.
fn size(places: &[Place]) -> usize {
    places.last().map_or(0, Place::end)
}

fn cases() -> Vec<Case> {
    let folder = root().join("tests/tflite/cases");
    let mut names: Vec<String> = fs::read_dir(&folder)
        .expect("the folder")
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().strip_suffix(".tflite")?.to_string()))
        .collect();
    names.sort();
    assert!(names.len() >= 100, "there are {}", names.len());
    let read = |name: String| {
        let model = tenfold_tflite::read(&folder.join(format!("{name}.tflite")), &Options::default());
        let model = model.unwrap_or_else(|error| panic!("{name}: {error}"));
        Case { inputs: places(&model.inputs), results: places(&model.outputs), name }
    };
    names.into_iter().map(read).collect()
}

/// A crate with a function per model.
fn package(cases: &[Case], name: &str) -> Package {
    let package = Package::new(name, "");
    package.write("Cargo.toml", &manifest("cases"));
    let mut text = String::from("use tenfold::prelude::*;\n");
    for Case { name, inputs, results } in cases {
        let file = format!("{name}.tflite");
        fs::copy(root().join("tests/tflite/cases").join(&file), package.path(&file)).expect("the model");
        let params: String = inputs.iter().enumerate().map(|(n, place)| format!("x{n}: {}, ", place.ty)).collect();
        let types: Vec<&str> = results.iter().map(|place| place.ty.as_str()).collect();
        let result = if let [one] = types.as_slice() { one.to_string() } else { format!("({})", types.join(", ")) };
        let _ = writeln!(text, "#[tensor_fn(tflite = \"{file}\")]\npub fn {name}({params}) -> {result};");
    }
    package.write("src/lib.rs", &text);
    package
}

/// A case's inputs and results of each run, laid out as the program reads them.
fn given(case: &Case) -> Vec<u8> {
    let bytes = fs::read(root().join(format!("tests/tflite/cases/{}.bin", case.name))).expect("inputs and outputs");
    let (mut rest, mut laid) = (bytes.as_slice(), Vec::new());
    for _ in 0..RUNS {
        for places in [&case.inputs, &case.results] {
            let begin = laid.len();
            laid.resize(begin + size(places), UNTOUCHED);
            for place in places {
                let (own, behind) = rest.split_at(place.bytes);
                laid[begin + place.at..][..place.bytes].copy_from_slice(own);
                rest = behind;
            }
        }
    }
    assert!(rest.is_empty(), "{}: more than {RUNS} runs", case.name);
    laid
}

/// A number that the header says of a function.
fn said(header: &str, name: &str, what: &str) -> Option<u64> {
    let head = format!("#define CASES_{}_{what} ", name.to_uppercase());
    header.lines().find_map(|line| line.strip_prefix(&head)?.trim().parse().ok())
}

/// The functions as the program calls them, and their data.
fn table(cases: &[Case], header: &str) -> String {
    let [mut text, mut rows] = [String::new(), String::new()];
    let workspace = cases.iter().filter_map(|case| said(header, &case.name, "WORKSPACE_BYTES")).max();
    let outputs = cases.iter().map(|case| size(&case.results)).max().unwrap_or_default();
    let _ = writeln!(text, "#define RUNS {RUNS}\n#define MOST_OUTPUTS {outputs}");
    let _ = writeln!(text, "static TENFOLD_WORKSPACE(memory, {});", workspace.expect("some take memory"));
    for case in cases {
        let Case { name, inputs, results } = case;
        let bytes: Vec<String> = given(case).iter().map(u8::to_string).collect();
        let (aligned, bytes) = (format!("__attribute__((aligned({ALIGN})))"), bytes.join(","));
        let _ = writeln!(text, "static const unsigned char given_{name}[] {aligned} = {{{bytes}}};");
        let tensor = |place: &Place| format!("{{{}, {}, {}}}", place.at, place.bytes, u8::from(place.is_float()));
        let tensors: Vec<String> = results.iter().map(tensor).collect();
        let _ = writeln!(text, "static const struct tensor results_{name}[] = {{{}}};", tensors.join(", "));
        let inputs_at = inputs.iter().map(|place| format!("(const void *)(inputs + {}), ", place.at));
        let results_at = results.iter().map(|place| format!("(void *)(outputs + {}), ", place.at));
        let places: String = inputs_at.chain(results_at).collect();
        let _ = write!(text, "static int32_t call_{name}");
        let _ = writeln!(text, "(const unsigned char *inputs, unsigned char *outputs, uint32_t *stack) {{");
        let _ = writeln!(text, "  CALL(cases_{name}({places}memory, NULL));\n}}");
        let stack = said(header, name, "STACK_BYTES").unwrap_or_default();
        let (inputs, outputs, count) = (size(inputs), size(results), results.len());
        let _ = write!(rows, "  {{\"{name}\", call_{name}, given_{name}, ");
        let _ = writeln!(rows, "{inputs}, {outputs}, {stack}, results_{name}, {count}}},");
    }
    text + "static const struct function functions[] = {\n" + &rows + "};\n"
}

/// Writes the library and what the program needs beside it.
fn library(cases: &[Case], package: &Package) {
    let outcome = package.run("lib --output made");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    package.write("made/cases.inc", &table(cases, &package.read("made/cases.h")));
}

/// Compiles and links the program.
fn link(package: &Package, compiler: &str, flags: &[&str], behind: &[&str]) {
    let mut cc = Command::new(compiler);
    cc.current_dir(package.path("made")).args(flags).args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-O1", "-I."]);
    cc.arg(root().join("tests/firmware/c/cases.c")).args(["-L.", "-lcases", "-o", "program"]).args(behind);
    let output = cc.output().expect("the compiler starts");
    assert!(output.status.success(), "{compiler}: {}", String::from_utf8_lossy(&output.stderr));
}

/// That the program names no function.
fn good(what: &str, output: Output) {
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.is_empty(),
        "{what}: {} are wrong:\n{text}{output:?}",
        text.lines().count()
    );
}

fn check_here(name: &str, llvm: Option<&str>) {
    if !has_cc() {
        return;
    }
    let cases = cases();
    let mut package = package(&cases, name);
    if let Some(choice) = llvm {
        package = package.env("TENFOLD_LLVM", choice);
    }
    library(&cases, &package);
    link(&package, "cc", &[], &["-lm"]);
    good(name, Command::new(package.path("made/program")).output().expect("the program starts"));
}

/// A board of QEMU, and how GCC is told of it.
struct Board {
    machine: &'static str,
    flags: &'static [&'static str],
    /// Where its memories begin, and how much of each is taken.
    memory: [&'static str; 2],
    bytes: &'static str,
}

fn check(board: &Board) {
    if !has_tools() {
        return;
    }
    if without_llvm() {
        return println!("left out: `TENFOLD_LLVM=none`, and boards are targets of LLVM");
    }
    let cases = cases();
    let target = format!("arm/{}", board.machine);
    let package = package(&cases, &format!("cases-{}", board.machine)).env("TENFOLD_TARGET", &target);
    library(&cases, &package);
    let functions = integers::disassembled(&package.path("made/libcases.a"));
    for case in cases.iter().filter(|case| case.inputs.iter().chain(&case.results).all(|place| !place.is_float())) {
        let (entry, kernels) = (format!("cases_{}", case.name), format!("{}.", case.name));
        assert!(functions.contains_key(&entry), "{entry}");
        integers::no_floats(board.machine, &functions, |name| name == entry || name.starts_with(&kernels));
    }
    let script = fs::read_to_string(root().join("tests/firmware/mps2.ld")).expect("the linker script");
    let script = script.replace("256K", board.bytes).replace("32K", board.bytes);
    let script = script.replace("0x00000000", board.memory[0]).replace("0x20000000", board.memory[1]);
    package.write("made/board.ld", &script);
    let bare = ["-mthumb", "-ffreestanding", "-fno-tree-loop-distribute-patterns", "-nostdlib"];
    link(&package, "arm-none-eabi-gcc", &[board.flags, &bare].concat(), &["-lgcc", "-Wl,--gc-sections", "-Tboard.ld"]);
    let mut qemu = Command::new("timeout");
    qemu.current_dir(package.path("made")).args(["60", "qemu-system-arm", "-M", board.machine, "-nographic"]);
    qemu.args(["-monitor", "none", "-serial", "none", "-chardev", "stdio,id=console", "-kernel", "program"]);
    qemu.args(["-semihosting-config", "enable=on,target=native,chardev=console"]).stdin(Stdio::null());
    good(board.machine, qemu.output().expect("the simulator starts"));
}

/// Processors of 32 bits divide by a number that is known in a few instructions, and by a function in 64 bits.
#[test]
fn no_pool_divides_in_64_bits() {
    if without_llvm() {
        return println!("left out: `TENFOLD_LLVM=none`, and boards are targets of LLVM");
    }
    let pools: Vec<Case> = cases().into_iter().filter(|case| case.name.starts_with("average_pool")).collect();
    assert!(pools.len() >= 4, "there are {}", pools.len());
    for machine in ["mps2-an386", "mps3-an547"] {
        let target = format!("arm/{machine}");
        let package = package(&pools, &format!("pools-{machine}")).env("TENFOLD_TARGET", &target);
        let outcome = package.run("lib --output made");
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
        let header = package.read("made/cases.h");
        let left = left(&header);
        assert!(left.iter().all(|name| !name.ends_with("ldivmod")), "{machine}: {left:?}");
    }
}

#[test]
fn operators_are_the_references_here() {
    check_here("cases-here", None);
}

#[test]
fn operators_are_the_references_through_c() {
    check_here("cases-c", Some("none"));
}

#[test]
fn operators_are_the_references_on_a_board() {
    check(&Board {
        machine: "mps2-an386",
        flags: &["-mcpu=cortex-m4", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"],
        memory: ["0x00000000", "0x20000000"],
        bytes: "4M",
    });
}

#[test]
fn operators_are_the_references_on_a_board_with_vectors() {
    check(&Board {
        machine: "mps3-an547",
        flags: &["-mcpu=cortex-m55", "-mfloat-abi=hard"],
        memory: ["0x10000000", "0x30000000"],
        bytes: "512K",
    });
}
