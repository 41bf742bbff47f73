//! Libraries for C beside C libraries for small machines: what they leave to the linker, picolibc and newlib have, and a
//! program of picolibc's calls them in QEMU.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::firmware::has;
use crate::library::without_llvm;
use crate::package::Package;
use tenfold_tests::tools;

/// Functions that ask for all that a library may ask for.
const LIBRARY: &str = r#"
use tenfold::prelude::*;

#[tensor_fn]
pub fn singles(x: Tensor<f32, 8>) -> (Tensor<f32, 8>, Tensor<f32, 8>, Tensor<f32, 8>, Tensor<i64>) {
    (exp(x) / sqrt(x) + floor(x), minimum(tanh(x), 0.5) - log(x), sin(x) * power(x, 1.5) + round(x), argmax(x, axis = 0))
}

#[tensor_fn]
pub fn doubles(z: Tensor<f64, 8>, h: Tensor<f16, 8>) -> (Tensor<f64, 8>, Tensor<f64, 8>, Tensor<f16, 8>, Tensor<bool, 8>) {
    (sqrt(z) + exp(z) / 3.0, maximum(z, 1.0) - ceil(z), h * 2.0, z < 0.5)
}

#[tensor_fn]
pub fn integers(n: Tensor<i64, 8>, u: Tensor<u64, 8>, x: Tensor<f32, 8>, z: Tensor<f64, 8>)
    -> (Tensor<i64, 8>, Tensor<u64, 8>, Tensor<f32, 8>, Tensor<f64, 8>, Tensor<i64, 8>, Tensor<i64, 8>) {
    (n / 7 + n % 3, u / (u + 1), n as f32, n as f64, x as i64, z as i64)
}

#[tensor_fn]
pub fn moves(x: Tensor<f32, 40, 50>) -> (Tensor<f32, 60, 60>, Tensor<f32, 80, 50>) {
    (pad(x, pad_width = [[10, 10], [5, 5]]), concat([x, x], axis = 0))
}

#[tensor_fn]
pub fn product(x: Tensor<f32, 5, 11>, y: Tensor<f32, 11, 13>) -> Tensor<f32, 5, 13> {
    relu(matmul(x, y))
}
"#;

/// Prints a product of ones in whole numbers.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include "small.h"

static TENFOLD_WORKSPACE(memory, SMALL_PRODUCT_WORKSPACE_BYTES);

int main(void) {
  float x[SMALL_PRODUCT_X_SIZE], y[SMALL_PRODUCT_Y_SIZE], z[SMALL_PRODUCT_RESULT_SIZE];
  int32_t status;
  for (int i = 0; i < SMALL_PRODUCT_X_SIZE; i++) x[i] = 1.0f;
  for (int i = 0; i < SMALL_PRODUCT_Y_SIZE; i++) y[i] = 2.0f;
  status = small_product(x, y, z, memory, NULL);
  printf("%ld %d\n", (long)status, (int)z[SMALL_PRODUCT_RESULT_SIZE - 1]);
  exit(status == TENFOLD_OK ? 0 : 3);
}
"#;

/// A machine of QEMU's.
struct Machine {
    target: &'static str,
    cc: &'static str,
    flags: &'static str,
    qemu: &'static str,
    /// Where its flash and its memory begin.
    memory: [&'static str; 2],
}

const ARM: &str = "arm-none-eabi-gcc";
const RISCV: &str = "riscv64-unknown-elf-gcc";
const FLAT: [&str; 2] = ["0", "0x20000000"];
const VIRT: [&str; 2] = ["0x80000000", "0x80400000"];

const MACHINES: [Machine; 6] = [
    Machine {
        target: "llvm -mtriple=thumbv6m-none-eabi",
        cc: ARM,
        flags: "-mcpu=cortex-m0 -mthumb -mfloat-abi=soft",
        qemu: "qemu-system-arm -M mps2-an385",
        memory: FLAT,
    },
    Machine {
        target: "arm/mps2-an385",
        cc: ARM,
        flags: "-mcpu=cortex-m3 -mthumb -mfloat-abi=soft",
        qemu: "qemu-system-arm -M mps2-an385",
        memory: FLAT,
    },
    Machine {
        target: "arm/mps2-an386",
        cc: ARM,
        flags: "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16",
        qemu: "qemu-system-arm -M mps2-an386",
        memory: FLAT,
    },
    Machine {
        target: "arm/mps3-an547",
        cc: ARM,
        flags: "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard",
        qemu: "qemu-system-arm -M mps3-an547",
        memory: ["0x10000000", "0x30000000"],
    },
    Machine {
        target: "llvm -mtriple=riscv32imac-unknown-none-elf",
        cc: RISCV,
        flags: "-march=rv32imac -mabi=ilp32",
        qemu: "qemu-system-riscv32 -M virt -bios none",
        memory: VIRT,
    },
    Machine {
        target: "llvm -mtriple=riscv64gc-unknown-none-elf",
        cc: RISCV,
        flags: "-march=rv64gc -mabi=lp64d -mcmodel=medany",
        qemu: "qemu-system-riscv64 -M virt -bios none",
        memory: VIRT,
    },
];

/// Whether a compiler has the C library of these specs.
fn has_specs(cc: &str, specs: &str) -> bool {
    let output = Command::new(cc).arg(format!("-print-file-name={specs}")).output().expect("GCC starts");
    let found = Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_absolute();
    if !found {
        tools::skip(&format!("{specs} of {cc}"), "tests/firmware/setup.sh installs it");
    }
    found
}

/// Links the program with every member of the library, so that a name that nothing has is an error.
fn linked(machine: &Machine, folder: &Path, options: &[String]) {
    let mut cc = Command::new(machine.cc);
    cc.current_dir(folder).args(machine.flags.split(' '));
    cc.args(["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-Os"]).args(options).args(["-I.", "main.c"]);
    cc.args(["-Wl,--whole-archive", "libsmall.a", "-Wl,--no-whole-archive", "-o", "program"]);
    let output = cc.output().expect("GCC starts");
    assert!(output.status.success(), "{} {options:?}: {}", machine.target, String::from_utf8_lossy(&output.stderr));
}

/// Bytes of each memory, more than the program takes.
fn of_picolibc(machine: &Machine) -> Vec<String> {
    let [flash, ram] = machine.memory;
    let symbols = [("__flash", flash), ("__flash_size", "256K"), ("__ram", ram), ("__ram_size", "128K")];
    let symbols = symbols.iter().map(|(name, value)| format!("-Wl,--defsym={name}={value}"));
    ["--specs=picolibc.specs".into(), "--oslib=semihost".into()].into_iter().chain(symbols).collect()
}

#[test]
fn c_libraries_have_what_a_library_asks_for() {
    if without_llvm() {
        return println!("left out: `TENFOLD_LLVM=none`, and no C compiler for each target");
    }
    let mut package = Package::new("small", LIBRARY);
    for machine in &MACHINES {
        let qemu: Vec<&str> = machine.qemu.split(' ').collect();
        if !has(&[machine.cc, qemu[0]]) {
            continue;
        }
        package = package.env("TENFOLD_TARGET", machine.target);
        let outcome = package.run("lib --output made");
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
        let folder = package.path("made");
        fs::write(folder.join("main.c"), PROGRAM).expect("a file");
        if machine.cc == ARM && has_specs(ARM, "nano.specs") {
            linked(machine, &folder, &["--specs=nano.specs".into(), "--specs=nosys.specs".into()]);
            linked(machine, &folder, &["--specs=nosys.specs".into()]);
        }
        if !has_specs(machine.cc, "picolibc.specs") {
            continue;
        }
        linked(machine, &folder, &of_picolibc(machine));
        let mut run = Command::new("timeout");
        run.current_dir(&folder).arg("60").args(&qemu).args(["-nographic", "-monitor", "none", "-serial", "none"]);
        run.args(["-chardev", "stdio,id=console", "-kernel", "program"]);
        run.args(["-semihosting-config", "enable=on,target=native,chardev=console"]).stdin(Stdio::null());
        let output = run.output().expect("the simulator starts");
        assert!(output.status.success(), "{}: {output:?}", machine.target);
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "0 22", "{}", machine.target);
    }
}
