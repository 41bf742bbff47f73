//! `cargo tenfold lib`: a library that programs in C call.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::firmware::has;
use crate::onnx::has_cc;
use crate::package::{DOUBLE, Package};

/// Every kind of parameter and result.
pub(crate) const LIBRARY: &str = r#"
use tenfold::prelude::*;

/// A bounded dim, constants, memory on the way.
#[tensor_fn(dims(B <= 16), weights(section = ".qspi"), stack <= "2K")]
pub fn dense(x: Tensor<f32, B, 3>) -> Tensor<f32, B, 2> {
    const W: Tensor<f32, 3, 2> = [[1.0, -2.0], [3.0, 4.0], [5.0, 6.0]];
    const I: Tensor<f32, 2, 2> = [[1.0, 0.0], [0.0, 1.0]];
    softmax(matmul(relu(matmul(x, W)), I), axis = -1)
}

pub mod nn {
    use tenfold::prelude::*;

    /// Memory by dims, strides, an index value, a keyword of C as a name.
    #[tensor_fn]
    pub fn powers(register: Strided<f32, N, N>, n: usize) -> (Tensor<f32, N, N>, f32) {
        let x = match_shape(register, [N, N]);
        let square = matmul(x, x);
        let cube = matmul(square, x);
        (cube, sum(cube) + (n as f32))
    }
}

/// State, a fact.
#[tensor_fn(dims(S = 4))]
pub fn push(x: Tensor<f32, 2>, pos: usize, keys: &mut Tensor<f32, S, 2>) -> Tensor<f32, S> {
    assert!(pos < S, "it is full");
    keys[[pos, ..]] = x;
    sum(keys, axis = 1)
}

/// Types of each kind.
#[tensor_fn]
pub fn above(x: Tensor<u8, 4>, than: u8, by: f16, z: Tensor<f64, 2>) -> (Tensor<bool, 4>, f16, Tensor<i64>) {
    (x > than, by * 2.0, argmax(z, axis = 0))
}

/// Memory in two places.
#[tensor_fn(pool(dtcm = 128, psram = "4K"))]
pub fn split(x: Tensor<f32, 4, 4>, w: Tensor<f32, 4, 16>) -> Tensor<f32, 4, 4> {
    let wide = matmul(x, w);
    let square = matmul(wide, transpose(wide));
    let fourth = matmul(square, square);
    matmul(fourth, square)
}

/// Two instances.
#[tensor_fn(T = [f32, i16])]
pub fn twice<T>(x: Tensor<T, 4>) -> Tensor<T, 4> {
    x + x
}

#[tensor_fn]
fn hidden(x: Tensor<f32, 4>) -> Tensor<f32, 4> {
    x
}
"#;

const PROGRAM: &str = r#"
#include "made.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(what) do { if (!(what)) { printf("%d: %s\n", __LINE__, #what); return 1; } } while (0)

static TENFOLD_WORKSPACE(memory, MADE_DENSE_WORKSPACE_BYTES);

static int dense(void) {
  const float x[2][MADE_DENSE_X_DIM1] = {{1, 0, -1}, {0.5f, 0.25f, 0}};
  float y[2][MADE_DENSE_RESULT_DIM1];
  const float z[2][2] = {{0, 0}, {1.25f, 0}};
  CHECK(((uintptr_t)memory & (TENFOLD_WORKSPACE_ALIGN - 1)) == 0);
  CHECK(MADE_DENSE_B_MAX == 16 && MADE_WEIGHT_BYTES >= MADE_DENSE_WEIGHT_BYTES && MADE_DENSE_WEIGHT_BYTES >= 24);
  CHECK(made_dense(&x[0][0], &y[0][0], 2, memory, NULL) == TENFOLD_OK);
  for (int i = 0; i < 2; i++) {
    float sum = expf(z[i][0]) + expf(z[i][1]);
    for (int j = 0; j < 2; j++) CHECK(fabsf(y[i][j] - expf(z[i][j]) / sum) < 1e-6f);
  }
  return 0;
}

/* Columns of a matrix that is stored by rows. */
static int powers(void) {
  const float x[4] = {1, 2, 3, 4}, cube[4] = {37, 81, 54, 118};
  float y[4], total;
  size_t bytes = made_powers_workspace_bytes(2, 7);
  void *place = malloc(bytes + TENFOLD_WORKSPACE_ALIGN);
  unsigned char *aligned = (unsigned char *)(((uintptr_t)place + 63) / 64 * 64);
  CHECK(place && bytes % 64 == 0 && bytes >= 16);
  CHECK(made_powers(x, 1, 2, 7, y, &total, 2, aligned, NULL) == TENFOLD_OK);
  for (int i = 0; i < 4; i++) CHECK(y[i] == cube[i]);
  CHECK(total == 37 + 81 + 54 + 118 + 7);
  free(place);
  return 0;
}

static TENFOLD_WORKSPACE(fast, MADE_SPLIT_DTCM_BYTES);
static TENFOLD_WORKSPACE(slow, MADE_SPLIT_PSRAM_BYTES);

/* The third power of 16 E, since the rows of `w` have one element other than 0. */
static int split(void) {
  float x[16] = {0}, w[64] = {0}, y[16];
  for (int i = 0; i < 4; i++) {
    x[5 * i] = 2;
    w[17 * i] = 2;
  }
  CHECK(MADE_SPLIT_DTCM_BYTES > 0 && MADE_SPLIT_DTCM_BYTES <= 128 && MADE_SPLIT_PSRAM_BYTES > 0);
  CHECK(MADE_SPLIT_WORKSPACE_BYTES == MADE_SPLIT_DTCM_BYTES + MADE_SPLIT_PSRAM_BYTES);
  CHECK(made_split(x, w, y, fast, slow, NULL) == TENFOLD_OK);
  for (int i = 0; i < 16; i++) CHECK(y[i] == (i % 5 ? 0.0f : 4096.0f));
  return 0;
}

static int others(void) {
  float keys[MADE_PUSH_KEYS_SIZE] = {1, 1}, x[2] = {2, 3}, sums[4], doubled[4] = {1, 2, 3, 4}, again[4];
  int16_t words[4] = {1, 2, 3, -4}, double_words[4];
  uint8_t bytes[4] = {1, 7, 8, 255}, flags[4];
  uint16_t half[1];
  double z[2] = {1, 2};
  int64_t place;
  CHECK(made_push(x, 2, keys, sums, NULL, NULL) == TENFOLD_OK);
  CHECK(sums[0] == 2 && sums[2] == 5 && keys[4] == 2 && keys[5] == 3);
  CHECK(made_above(bytes, 7, 0x3e00, z, flags, half, &place, NULL, NULL) == TENFOLD_OK);
  CHECK(!flags[0] && !flags[1] && flags[2] == 1 && flags[3] == 1 && half[0] == 0x4200 && place == 1);
  CHECK(made_twice_of_f32(doubled, again, NULL, NULL) == 0 && again[3] == 8);
  CHECK(made_twice_of_i16(words, double_words, NULL, NULL) == 0 && double_words[3] == -8);
  return 0;
}

int main(void) { return dense() || powers() || split() || others(); }
"#;

/// Every target of the list in `compiler/docs/embedded.md`.
const TARGETS: [&str; 12] = [
    "llvm -mtriple=thumbv6m-none-eabi",
    "llvm -mtriple=thumbv7m-none-eabi -mcpu=cortex-m3",
    "llvm -mtriple=thumbv7em-none-eabi -mcpu=cortex-m4",
    "llvm -mtriple=thumbv7em-none-eabihf -mcpu=cortex-m7",
    "llvm -mtriple=thumbv8m.main-none-eabihf -mcpu=cortex-m33",
    "arm/mps3-an547",
    "llvm -mtriple=riscv32imac-unknown-none-elf",
    "llvm -mtriple=riscv64gc-unknown-none-elf",
    "llvm -mtriple=riscv64gc-unknown-none-elf -mattr=+v",
    "llvm -mtriple=aarch64-unknown-linux-gnu -mcpu=cortex-a53",
    "llvm -mtriple=wasm32-unknown-unknown",
    "llvm -mtriple=wasm32-unknown-unknown -mattr=+simd128",
];

/// A product, which a target with vectors has in vectors.
const PRODUCT: &str = "#[tensor_fn]\npub fn product(x: Tensor<f32, 8, 16>, y: Tensor<f32, 16, 32>) -> Tensor<f32, 8, 32> {\n    \
                       matmul(x, y)\n}\n";

fn good(output: Output) -> String {
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}{errors}");
    format!("{said}{errors}")
}

/// A C compiler with every warning as an error.
fn strict(compiler: &str, folder: &Path) -> Command {
    let mut cc = Command::new(compiler);
    cc.current_dir(folder).args(["-Wall", "-Wextra", "-pedantic", "-Werror"]);
    cc
}

/// Warnings that projects for small machines ask for, of C and C++ and of C++ alone.
const WARNINGS: [&str; 7] =
    ["-Wconversion", "-Wsign-conversion", "-Wshadow", "-Wundef", "-Wcast-align", "-Wcast-qual", "-Wdouble-promotion"];
const WARNINGS_OF_CPP: [&str; 2] = ["-Wold-style-cast", "-Wzero-as-null-pointer-constant"];

/// The header alone, by each standard that it is for.
fn header_is_clean(folder: &Path) {
    let program = "#include \"made.h\"\n#include \"made.h\"\nstatic TENFOLD_WORKSPACE(memory, MADE_DENSE_WORKSPACE_BYTES);\n\
                   void *place(void);\nvoid *place(void) { return memory; }\n\
                   size_t size(ptrdiff_t n);\nsize_t size(ptrdiff_t n) { return made_powers_workspace_bytes(n, 1); }\n";
    for name in ["header.c", "header.cpp"] {
        fs::write(folder.join(name), program).expect("a file");
    }
    for standard in ["c99", "c11", "c17", "gnu11"] {
        let mut cc = strict("cc", folder);
        cc.args(WARNINGS).args(["-Wstrict-prototypes", "-Wmissing-prototypes", "-Wbad-function-cast"]);
        good(cc.args([&format!("-std={standard}"), "-fsyntax-only", "header.c"]).output().expect("cc"));
    }
    for standard in ["c++11", "c++17", "c++20"] {
        let mut cc = strict("cc", folder);
        cc.args(WARNINGS).args(WARNINGS_OF_CPP).args(["-x", "c++", &format!("-std={standard}")]);
        good(cc.args(["-fsyntax-only", "header.cpp"]).output().expect("cc"));
    }
}

fn made(name: &str) -> (Package, PathBuf) {
    // Of what a C compiler makes the stack is not known.
    let library = if without_llvm() { LIBRARY.replace(", stack <= \"2K\"", "") } else { LIBRARY.into() };
    let package = Package::new(name, &library);
    let manifest = package.read("Cargo.toml").replace(&format!("name = \"{name}\""), "name = \"made\"");
    package.write("Cargo.toml", &manifest);
    let folder = package.path("c");
    (package, folder)
}

#[test]
fn a_program_in_c_calls_every_kind_of_function() {
    if !has_cc() {
        return;
    }
    let (package, folder) = made("lib-host");
    let outcome = package.run("lib --output c");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    assert_eq!(outcome.stdout, "c/libmade.a\nc/made.h\n");
    let header = package.read("c/made.h");
    assert!(!header.contains("hidden"), "{header}");
    fs::write(folder.join("main.c"), PROGRAM).expect("a file");
    header_is_clean(&folder);
    good(
        strict("cc", &folder).args(["-std=c99", "main.c", "-L.", "-lmade", "-lm", "-o", "main"]).output().expect("cc"),
    );
    good(strict("cc", &folder).args(["-std=c11", "-fsyntax-only", "main.c"]).output().expect("cc"));
    good(Command::new(folder.join("main")).output().expect("the program"));
    let before = fs::read(folder.join("libmade.a")).expect("the archive");
    let again = package.run("lib --output again");
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(before == fs::read(package.path("again/libmade.a")).expect("the archive"));
    assert!(before.windows(7).any(|bytes| bytes == b"\0.qspi\0"), "its constants have no section of their own");
}

/// What a library may leave to the linker: memory functions, and arithmetic that the target has no instructions for.
pub(crate) fn allowed(name: &str, target: &str) -> bool {
    let memory = ["memcpy", "memmove", "memset"].contains(&name);
    let arm = target.starts_with("thumb") && name.starts_with("__aeabi_") && !name.starts_with("__aeabi_unwind");
    let riscv = target.starts_with("riscv") && name.starts_with("__") && name.len() <= 16;
    let suffixes = ["sf2", "sf3", "df2", "df3", "sfsi", "sisf", "sidf", "disf", "didf", "dfsi", "dfdi", "sfdi", "di3"];
    memory || arm || riscv && suffixes.iter().any(|suffix| name.ends_with(suffix) || name.ends_with("sfdf2"))
}

/// What the names of the binary utilities of a target begin with, if they read its archives.
fn binary_utilities(target: &str) -> Option<&'static str> {
    let known = [("thumb", "arm-none-eabi-"), ("riscv", "riscv64-unknown-elf-"), ("aarch64", "aarch64-linux-gnu-")];
    known.into_iter().find(|(begin, _)| target.starts_with(begin)).map(|(_, prefix)| prefix)
}

/// The names that an archive leaves to the linker, as `nm` finds them.
pub(crate) fn undefined(nm: &str, archive: &Path) -> BTreeSet<String> {
    let names = |option: &str| -> BTreeSet<String> {
        let output = Command::new(nm).args(["-P", option]).arg(archive).output().expect("it starts");
        let text = good(output);
        text.lines().filter_map(|line| Some(line.split_once(' ')?.0.to_string())).collect()
    };
    names("--undefined-only").difference(&names("--defined-only")).cloned().collect()
}

/// What a header says that the library leaves to the linker.
pub(crate) fn left(header: &str) -> BTreeSet<&str> {
    let line = header.lines().find_map(|line| line.strip_prefix("/* What it leaves to the linker: "));
    let line = line.and_then(|line| line.strip_suffix(". */")).expect("the line");
    line.split(", ").filter(|name| *name != "nothing").collect()
}

#[test]
fn every_target_has_a_library_and_asks_for_little() {
    let (mut package, _) = made("lib-targets");
    if without_llvm() {
        return println!("left out: `TENFOLD_LLVM=none`, and no C compiler for each target");
    }
    for text in TARGETS {
        package = package.env("TENFOLD_TARGET", text);
        let outcome = package.run("lib --output c");
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{text}: {outcome:?}");
        let header = package.read("c/made.h");
        let target = header.lines().next().and_then(|line| line.split_whitespace().nth(4)).expect("its name");
        let target = target.trim_end_matches('.');
        let wrong: Vec<&str> = left(&header).into_iter().filter(|name| !allowed(name, target)).collect();
        assert!(wrong.is_empty(), "{target}: {wrong:?}");
        // The header says what the binary utilities of the target find.
        if let Some(nm) = binary_utilities(target).map(|prefix| format!("{prefix}nm")).filter(|nm| has(&[nm.as_str()]))
        {
            let open = undefined(&nm, &package.path("c/libmade.a"));
            assert_eq!(open.iter().map(String::as_str).collect::<BTreeSet<_>>(), left(&header), "{target}");
        }
        // Each function says how much stack it takes, and no frame is large.
        let stack: Vec<u32> =
            header.lines().filter_map(|line| line.split("_STACK_BYTES ").nth(1)?.parse().ok()).collect();
        assert_eq!(stack.len(), 7, "{target}: {header}");
        assert!(stack.iter().all(|bytes| *bytes <= 2048), "{target}: {stack:?}");
        let hard = header.contains("#if defined(__arm__) && !defined(__ARM_PCS_VFP)\n#error");
        assert_eq!(hard, target.ends_with("hf"), "{target}");
        // A compiler for this machine says first that it is for another one.
        if has_cc() && cfg!(target_arch = "x86_64") {
            let mut cc = Command::new("cc");
            let output = cc.current_dir(package.path("c")).args(["-fsyntax-only", "made.h"]).output().expect("cc");
            let text = String::from_utf8_lossy(&output.stderr);
            let first = text.lines().find(|line| line.contains("error")).unwrap_or_default();
            assert!(first.contains("#error \"this library is for "), "{target}: {text}");
        }
    }
}

/// The stack that a function takes is the least that its budget may be.
#[test]
fn a_budget_of_stack_is_held_to_the_byte() {
    if without_llvm() {
        return println!("left out: `TENFOLD_LLVM=none`, which does not know the stack");
    }
    let written = |budget: &str| {
        format!(
            "#[tensor_fn{budget}]\npub fn attention(q: Tensor<f32, 64, 32>, k: Tensor<f32, 32, 64>, v: Tensor<f32, 64, 32>) \
             -> Tensor<f32, 64, 32> {{\n    matmul(softmax(matmul(q, k), axis = 1), v)\n}}\n"
        )
    };
    let mut package = Package::new("lib-stack", "");
    for target in ["llvm -mtriple=thumbv7em-none-eabihf -mcpu=cortex-m4", "llvm -mtriple=aarch64-unknown-linux-gnu"] {
        package = package.env("TENFOLD_TARGET", target);
        let run = |budget: &str| {
            package.write("src/lib.rs", &format!("use tenfold::prelude::*;\n{}", written(budget)));
            package.run("lib --output c")
        };
        assert_eq!(run("").code, Some(0), "{target}");
        let header = package.read("c/lib_stack.h");
        let bytes: u32 = header
            .lines()
            .find_map(|line| line.strip_prefix("#define LIB_STACK_ATTENTION_STACK_BYTES ")?.trim().parse().ok())
            .unwrap_or_else(|| panic!("{target}: {header}"));
        assert!(bytes > 128, "{target}: {bytes}");
        let enough = run(&format!("(stack <= {bytes})"));
        assert_eq!((enough.code, enough.stderr.as_str()), (Some(0), ""), "{target}");
        let refused = run(&format!("(stack <= {})", bytes - 1));
        assert_eq!(refused.code, Some(1), "{refused:?}");
        let text = format!("error[T0603]: the stack must be at most {} bytes, but it is ", bytes - 1);
        assert!(refused.stderr.starts_with(&text), "{refused:?}");
        // frames along the deepest chain, which are all of it
        let (_, table) = refused.stderr.split_once("along the deepest chain of calls:\n").expect("the table");
        let rows = table.lines().map_while(|line| line.trim_start().split_once(" bytes  "));
        let rows: Vec<(u32, &str)> = rows.map(|(bytes, name)| (bytes.parse().expect("a number"), name)).collect();
        assert_eq!(rows.iter().map(|(bytes, _)| bytes).sum::<u32>(), bytes, "{refused:?}");
        assert!(rows.iter().any(|(_, name)| name.starts_with("`attention.")), "{refused:?}");
    }
}

pub(crate) fn without_llvm() -> bool {
    std::env::var_os("TENFOLD_LLVM").is_some_and(|choice| choice == "none")
}

/// What a text adds to cargo's target steers schedules and code.
#[test]
fn a_target_with_vectors_has_them() {
    if without_llvm() {
        return println!("left out: `TENFOLD_LLVM=none`, which makes no assembly");
    }
    let mut package = Package::new("lib-vectors", PRODUCT);
    let cases = [
        ("thumbv8m.main-none-eabihf", "llvm -mcpu=cortex-m33", "llvm -mcpu=cortex-m55", "vfma.f32\tq"),
        ("riscv64gc-unknown-none-elf", "llvm", "llvm -mattr=+v", "vsetvli"),
        ("x86_64-unknown-linux-gnu", "llvm -mcpu=x86-64-v2", "llvm -mcpu=x86-64-v3", "ymm"),
    ];
    for (target, without, with, part) in cases {
        let mut has = |text: &str| {
            package = std::mem::take(&mut package).env("TENFOLD_TARGET", text);
            let outcome = package.run(&format!("show --target {target} --variant baseline --stage asm product"));
            assert_eq!(outcome.code, Some(0), "{text}: {outcome:?}");
            outcome.stdout.contains(part)
        };
        assert_eq!((has(without), has(with)), (false, true), "{target}");
    }
    // A float unit that not every chip with the processor has is not used where the convention does not.
    let package = package.env("TENFOLD_TARGET", "llvm -mcpu=cortex-m4");
    for (target, part) in [("thumbv7em-none-eabi", "__aeabi_fmul"), ("thumbv7em-none-eabihf", "\ts0, ")] {
        let asm = package.run(&format!("show --target {target} --stage asm product")).stdout;
        assert!(asm.contains(part) && asm.contains("\ts0, ") == target.ends_with("hf"), "{target}: {asm}");
    }
    let package = package.env("TENFOLD_TARGET", "llvm -mcpu=cortex-m5");
    let outcome = package.run("lib -o c");
    let text = "error: `TENFOLD_TARGET=llvm -mcpu=cortex-m5`: there is no processor `cortex-m5`; a similar name is \
                `cortex-m0`\n";
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(1), text));
}

#[test]
fn what_c_cannot_call_is_told() {
    let twice = format!("mod a {{\n{DOUBLE}}}\nmod b {{\n{DOUBLE}}}\n");
    let rust = "#[tensor_fn]\npub fn calls(x: Tensor<f32, 4>) -> Tensor<f32, 4> {\n    \
                let y: Tensor<f32, 4> = extern_call!(crate::plain, x);\n    y\n}\n";
    let constants = "#[tensor_fn]\npub fn f(x: Tensor<f32, 4>, x_dim0: Tensor<f32, 4>) -> Tensor<f32, 4> {\n    x + x_dim0\n}\n\
                     #[tensor_fn]\npub fn f_x(dim0: Tensor<f32, 2>) -> Tensor<f32, 2> {\n    dim0\n}\n";
    let private = DOUBLE.replace("pub fn", "pub(crate) fn");
    // an extent that is an expression has braces around it
    let unreadable = format!(
        "{DOUBLE}#[tensor_fn]\npub fn triple(x: Tensor<f32, N>) -> Tensor<f32, N + 1 - 1> {{\n    x * 3.0\n}}\n"
    );
    let cases = [
        (
            twice.as_str(),
            "error: `crate::a::double` and `crate::b::double` would both be `lib_told_double` in C; rename one, or make it \
             private\n",
        ),
        (private.as_str(), "error: the package's library has no `pub` function with `#[tensor_fn]`; make one `pub`\n"),
        (
            unreadable.as_str(),
            "error: `triple` at src/lib.rs:6 is no function that can be read; `cargo check` says why\n",
        ),
        (
            rust,
            "error: `crate::calls` calls `crate::plain`, a function of Rust, which a program in C does not have; call one of \
             C, or make `crate::calls` private\n",
        ),
        (
            constants,
            "error: two constants of the header would be `LIB_TOLD_F_X_DIM0_DIM0`; rename a function or one of its \
             parameters\n",
        ),
    ];
    for (library, text) in cases {
        let package = Package::new("lib-told", library);
        let outcome = package.run("lib -o c");
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        assert_eq!(outcome.stderr, text);
        assert!(!package.path("c").exists());
    }
    let package = Package::new("lib-error", &DOUBLE.replace("x * 2.0", "x * nope"));
    let outcome = package.run("lib -o c");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.stderr.starts_with("error[T0201]: "), "{outcome:?}");
}
