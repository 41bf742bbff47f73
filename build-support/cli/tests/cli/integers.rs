//! Models of integers as machine code for Cortex-M: no float is computed, pairs of bytes are multiplied by the instructions
//! for that, nothing lies in memory that is written, and weights stay in flash.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::boards::{MODELS, can_run, whole};
use crate::firmware::root;
use crate::library::{allowed, left, undefined};
use crate::package::Package;
use crate::promises::{Function, functions};

/// What a tool of the binary utilities prints.
fn told(tool: &str, options: &[&str], file: &Path) -> String {
    let output = Command::new(format!("arm-none-eabi-{tool}")).args(options).arg(file).output().expect("it starts");
    assert!(output.status.success(), "{tool}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The functions of an archive.
pub(crate) fn disassembled(archive: &Path) -> BTreeMap<String, Function> {
    functions(&told("objdump", &["-dr", "--no-show-raw-insn"], archive))
}

/// Whether an instruction computes with floats. `vmov.f32` from a register to another one moves a lane of integers, too.
fn is_float(instruction: &str) -> bool {
    let (name, operands) = instruction.split_once('\t').unwrap_or((instruction, ""));
    let of_floats = [".f16", ".f32", ".f64"].iter().any(|part| name.contains(part));
    let moves = name == "vmov.f32" && !operands.contains('#');
    name.starts_with('v') && of_floats && !moves
}

/// That no function of those that are asked for computes with floats, by itself or by a function of the linker's.
pub(crate) fn no_floats(what: &str, functions: &BTreeMap<String, Function>, is_asked: impl Fn(&str) -> bool) {
    let by_library = |name: &&String| ["__aeabi_f", "__aeabi_d"].iter().any(|begin| name.starts_with(begin));
    for (name, function) in functions.iter().filter(|(name, _)| is_asked(name)) {
        let own: Vec<&String> = function.instructions.iter().filter(|text| is_float(text)).collect();
        assert!(own.is_empty(), "{what}: `{name}`: {own:?}");
        let called: Vec<&String> = function.names.iter().filter(by_library).collect();
        assert!(called.is_empty(), "{what}: `{name}` calls {called:?}");
    }
}

#[test]
fn floats_are_seen() {
    for text in ["vadd.f32\ts0, s0, s1", "vcvt.f32.s32\ts0, s0", "vmov.f32\ts0, #112", "vfma.f16\tq0, q1, q2"] {
        assert!(is_float(text), "{text}");
    }
    for text in ["vmov.f32\ts22, s21", "vadd.i32\tq0, q0, q1", "vldr\ts0, [r0]", "smlad\tr0, r1, r2, r0"] {
        assert!(!is_float(text), "{text}");
    }
}

/// The instructions of a model: of the function that is called, and of its kernels.
fn of_model(functions: &BTreeMap<String, Function>, model: &str) -> Vec<String> {
    let (entry, kernels) = (format!("tiny_{model}"), format!("{model}."));
    let own = functions.iter().filter(|(name, _)| **name == entry || name.starts_with(&kernels));
    own.flat_map(|(_, function)| function.instructions.clone()).collect()
}

/// The same as the compiler writes them, where there are vectors: some of their instructions the binary utilities do not
/// know.
fn assembly(package: &Package, machine: &str, model: &str) -> Vec<String> {
    if machine != "m55" {
        return Vec::new();
    }
    let outcome = package.run(&format!("show --target thumbv8m.main-none-eabihf --stage asm {model}"));
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let written: Vec<String> =
        outcome.stdout.lines().filter_map(|line| line.strip_prefix('\t')).map(String::from).collect();
    assert!(written.len() > 100, "{machine}: `{model}` has no kernels");
    written
}

/// Bytes of the sections of an archive whose names begin so.
fn bytes_of(sections: &str, begin: &str) -> u64 {
    let size = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [number, name, size, ..] = words[..] else { return None };
        (number.parse::<u32>().is_ok() && name.starts_with(begin)).then(|| u64::from_str_radix(size, 16).ok())?
    };
    sections.lines().filter_map(size).sum()
}

#[test]
fn models_compute_with_integers_alone() {
    if !can_run() {
        return;
    }
    for (machine, instructions) in
        [("m4f", &["sxtb16", "smlad"][..]), ("m7", &["sxtb16", "smlad"][..]), ("m55", &["vmlava.s8"][..])]
    {
        let package = whole(machine);
        let archive = package.path("made/libtiny.a");
        let functions = disassembled(&archive);
        no_floats(machine, &functions, |_| true);
        for model in &MODELS {
            let own = of_model(&functions, model.name);
            let written = assembly(package, machine, model.name);
            let all: Vec<&str> = own.iter().chain(&written).map(|text| text.as_str()).collect();
            assert!(own.len() > 100, "{machine}: `{}` has no kernels", model.name);
            let floats: Vec<&&str> = all.iter().filter(|text| is_float(text)).collect();
            assert!(floats.is_empty(), "{machine}: `{}`: {floats:?}", model.name);
            for wanted in instructions {
                assert!(
                    all.iter().any(|text| text.starts_with(wanted)),
                    "{machine}: `{}` has no `{wanted}`",
                    model.name
                );
            }
        }
        let sections = told("objdump", &["-h"], &archive);
        assert!(bytes_of(&sections, ".text") > 10_000 && bytes_of(&sections, ".rodata") > 100_000, "{sections}");
        assert_eq!([".data", ".bss"].map(|begin| bytes_of(&sections, begin)), [0, 0], "{machine}: {sections}");
        asks_for_little(machine, package, &archive);
        in_flash(machine, package);
    }
}

/// That the library leaves to the linker what its header says, and that a board has.
fn asks_for_little(machine: &str, package: &Package, archive: &Path) {
    let undefined = undefined("arm-none-eabi-nm", archive);
    let open: BTreeSet<&str> = undefined.iter().map(String::as_str).collect();
    let header = package.read("made/tiny.h");
    assert_eq!(open, left(&header), "{machine}");
    let wrong: Vec<&&str> = open.iter().filter(|name| !allowed(name, "thumbv7em")).collect();
    assert!(wrong.is_empty(), "{machine}: {wrong:?}");
}

/// That weights lie in flash, by the linker's own map of a firmware with every model.
fn in_flash(machine: &str, package: &Package) {
    let calls = MODELS.iter().map(|model| format!("(void *)tiny_{}", model.name)).collect::<Vec<_>>();
    let program = format!("#include \"tiny.h\"\nvoid *const reset[] = {{{}}};\n", calls.join(", "));
    package.write("made/all.c", &program);
    let script = fs::read_to_string(root().join("tests/firmware/mps2.ld")).expect("the linker script");
    package.write("made/all.ld", &script.replace("256K", "4M").replace("KEEP(*(.vectors))", "KEEP(*(.rodata.reset))"));
    let mut cc = Command::new("arm-none-eabi-gcc");
    cc.current_dir(package.path("made")).args(["-mthumb", "-mcpu=cortex-m55", "-mfloat-abi=hard", "-nostdlib"]);
    cc.args([
        "-ffreestanding",
        "-fdata-sections",
        "-I.",
        "all.c",
        "-L.",
        "-ltiny",
        "-lgcc",
        "-o",
        "all",
        "-T",
        "all.ld",
    ]);
    cc.args(["-Wl,--unresolved-symbols=ignore-all,--gc-sections,-Map=all.map"]);
    let output = cc.output().expect("GCC starts");
    assert!(output.status.success(), "{machine}: {}", String::from_utf8_lossy(&output.stderr));
    // `.rodata.name`, where it is long enough on a line of its own, then address, bytes and file.
    let map = package.read("made/all.map").replace("\n                0x", " 0x");
    let map = &map[map.find("Linker script and memory map").unwrap_or_default()..];
    let mut constants = 0;
    for line in map.lines().filter(|line| line.contains("libtiny.a")) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [section, at, bytes, _, ..] = words[..] else { continue };
        let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap_or_default();
        let (at, bytes) = (number(at), number(bytes));
        assert!(at < 0x2000_0000 || bytes == 0, "{machine}: {line}");
        constants += if section.starts_with(".rodata") { bytes } else { 0 };
    }
    let header = package.read("made/tiny.h");
    let line = header.lines().find_map(|line| line.strip_prefix("#define TINY_WEIGHT_BYTES "));
    let weights: u64 = line.and_then(|text| text.trim().parse().ok()).expect("a number");
    assert!(constants >= weights && weights > 100_000, "{machine}: {constants} bytes of {weights} are in flash");
}
