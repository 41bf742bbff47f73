//! What programs on microcontrollers rely on, looked up in the machine code for targets of each kind: no recursion, no
//! atomics, and no memory on the stack whose size is not constant.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use crate::firmware::has;
use crate::library::{LIBRARY, without_llvm};
use crate::package::{Package, manifest};

/// Loops of every kind, behind the functions that other tests call.
const MORE: &str = r#"
#[tensor_fn]
pub fn network(x: Tensor<f32, 1, 3, 12, 12>, w: Tensor<f32, 8, 3, 3, 3>) -> (Tensor<f32, 1, 8, 12, 12>, Tensor<i64, 1>) {
    let y = tanh(conv(x, w, pads = [1, 1, 1, 1]));
    (y, argmax(reshape(y, [1, 1152]), axis = 1))
}

#[tensor_fn]
pub fn sorted(x: Tensor<f32, N>) -> Tensor<f32, N> {
    sort(x)
}

#[tensor_fn]
pub fn remainders(x: Tensor<f64, N>, y: Tensor<f64, N>, n: Tensor<i64, N>) -> (Tensor<f64, N>, Tensor<i64, N>) {
    (sqrt(x) % y, n % 7)
}
"#;

/// A target, what shows its instructions, and what their names begin with that are atomic or order memory.
struct Target {
    text: &'static str,
    objdump: &'static str,
    atomics: &'static [&'static str],
}

const ARM: &[&str] = &["ldrex", "strex", "ldaex", "stlex", "lda", "stl", "swp", "clrex", "dmb", "dsb", "isb"];
const RISCV: &[&str] = &["lr.", "sc.", "amo", "fence"];

const fn arm(text: &'static str) -> Target {
    Target { text, objdump: "arm-none-eabi-objdump", atomics: ARM }
}

const fn riscv(text: &'static str) -> Target {
    Target { text, objdump: "riscv64-unknown-elf-objdump", atomics: RISCV }
}

const TARGETS: [Target; 7] = [
    arm("llvm -mtriple=thumbv6m-none-eabi"),
    arm("llvm -mtriple=thumbv7m-none-eabi"),
    arm("llvm -mtriple=thumbv7em-none-eabihf -mcpu=cortex-m7"),
    arm("llvm -mtriple=thumbv8m.main-none-eabihf -mcpu=cortex-m55"),
    riscv("llvm -mtriple=riscv32imac-unknown-none-elf"),
    riscv("llvm -mtriple=riscv64gc-unknown-none-elf"),
    riscv("llvm -mtriple=riscv64gc-unknown-none-elf -mattr=+v"),
];

/// A function of a disassembly.
#[derive(Default)]
pub(crate) struct Function {
    /// Its instructions.
    pub(crate) instructions: Vec<String>,
    /// The functions that they name.
    pub(crate) names: BTreeSet<String>,
}

/// `00000000 <name>:` begins a function, `  0: 4770  bx lr` is an instruction, and `  4: R_ARM_THM_CALL  name` says whom the
/// one before it names.
pub(crate) fn functions(text: &str) -> BTreeMap<String, Function> {
    let mut functions: BTreeMap<String, Function> = BTreeMap::new();
    let mut current = String::new();
    for line in text.lines() {
        let begin = line.strip_suffix(">:").and_then(|line| line.split_once(" <"));
        if let Some((_, name)) = begin.filter(|(_, name)| !name.starts_with('.')) {
            current = name.into();
            functions.entry(current.clone()).or_default();
            continue;
        }
        let Some(function) = functions.get_mut(&current) else { continue };
        if let Some((_, name)) = line.split_once(": R_").and_then(|(_, rest)| rest.split_once('\t')) {
            function.names.insert(name.split(['+', '-']).next().unwrap_or_default().into());
        } else if let Some((_, instruction)) = line.split_once(":\t") {
            function.instructions.push(instruction.trim().into());
        }
    }
    functions
}

/// The package, with the target in its environment, and the machine code of its library.
fn made(target: &Target, name: &str) -> Option<(Package, BTreeMap<String, Function>)> {
    if !has(&[target.objdump]) {
        return None;
    }
    let package = Package::new(name, &format!("{LIBRARY}{MORE}")).env("TENFOLD_TARGET", target.text);
    package.write("Cargo.toml", &manifest("made"));
    let outcome = package.run("lib --output c");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    let mut objdump = Command::new(target.objdump);
    let output = objdump.args(["-dr", "--no-show-raw-insn"]).arg(package.path("c/libmade.a")).output();
    let functions = functions(&String::from_utf8_lossy(&output.expect("objdump starts").stdout));
    assert!(functions.len() > 20 && functions.contains_key("made_network"), "{}", target.text);
    Some((package, functions))
}

/// Whether a function calls itself, at once or through others.
fn recurs(functions: &BTreeMap<String, Function>, name: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut next: Vec<&str> = vec![name];
    while let Some(function) = next.pop().and_then(|at| functions.get(at)) {
        for called in &function.names {
            if called == name {
                return true;
            }
            if seen.insert(called) {
                next.push(called);
            }
        }
    }
    false
}

#[test]
fn no_function_calls_itself() {
    if without_llvm() {
        return println!("left out: `TENFOLD_LLVM=none`, and no C compiler for each target");
    }
    for target in &TARGETS {
        let Some((_, functions)) = made(target, "promises-calls") else { continue };
        let calls =
            functions.values().flat_map(|function| &function.names).filter(|name| functions.contains_key(*name));
        assert!(calls.count() > 20, "{}: calls are not seen", target.text);
        for (name, function) in &functions {
            assert!(!recurs(&functions, name), "{}: `{name}` calls itself", target.text);
            let is_unknown = |text: &&String| {
                text.starts_with("blx\tr") || text.starts_with("jalr\t") && !text.starts_with("jalr\tra")
            };
            let unknown: Vec<&String> = function.instructions.iter().filter(is_unknown).collect();
            assert!(unknown.is_empty(), "{}: `{name}` calls whatever is in a register: {unknown:?}", target.text);
        }
    }
    let text =
        "0 <a>:\n   0:\tbl\t0 <a>\n\t\t\t0: R_ARM_THM_CALL\tb\n0 <b>:\n   0:\tbl\t0 <b>\n\t\t\t0: R_ARM_THM_CALL\ta\n";
    assert!(recurs(&functions(text), "a"), "what calls itself through another is not found");
}

#[test]
fn no_instruction_is_atomic() {
    if without_llvm() {
        return println!("left out: `TENFOLD_LLVM=none`, and no C compiler for each target");
    }
    for target in &TARGETS {
        let Some((_, functions)) = made(target, "promises-atomics") else { continue };
        for (name, function) in &functions {
            let is_atomic = |text: &&String| target.atomics.iter().any(|begin| text.starts_with(begin));
            let atomics: Vec<&String> = function.instructions.iter().filter(is_atomic).collect();
            assert!(atomics.is_empty(), "{}: `{name}`: {atomics:?}", target.text);
            // Nor is one left to a library.
            let wrong: Vec<&String> = function.names.iter().filter(|name| name.contains("atomic")).collect();
            assert!(wrong.is_empty(), "{}: `{name}`: {wrong:?}", target.text);
        }
    }
}

/// Memory on the stack is `alloca` of LLVM, in a function's first block and of a size that is a constant.
#[test]
fn no_stack_grows_with_the_data() {
    if without_llvm() {
        return println!("left out: `TENFOLD_LLVM=none`, which has no LLVM to show");
    }
    let mut seen = 0;
    for (target, triple) in TARGETS[2..4].iter().zip(["thumbv7em-none-eabihf", "thumbv8m.main-none-eabihf"]) {
        let Some((package, _)) = made(target, "promises-stack") else { continue };
        for name in ["dense", "powers", "push", "above", "split", "network", "sorted", "remainders"] {
            let outcome = package.run(&format!("show --target {triple} --stage llvm {name}"));
            assert_eq!(outcome.code, Some(0), "{outcome:?}");
            assert!(outcome.stdout.contains("target triple = \"thumb"), "{}", outcome.stdout);
            let mut is_first = false;
            for line in outcome.stdout.lines() {
                let is_label = !line.starts_with(' ') && line.split(' ').next().is_some_and(|word| word.ends_with(':'));
                is_first = line.starts_with("define ") || is_first && !is_label;
                let Some((_, what)) = line.split_once(" = alloca ") else { continue };
                seen += 1;
                let is_constant = !what.contains('%') && !what.contains(", i");
                assert!(is_first && is_constant, "{}: `{name}`: {line}", target.text);
            }
        }
    }
    assert!(seen > 0 || !has(&[TARGETS[2].objdump]), "no function has memory on the stack");
}
