//! Rust's targets in LLVM's words, as `rustc --print target-spec-json` gives them.

use inkwell::targets::{CodeModel, RelocMode};

/// One target.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// rustc's name.
    pub(super) rust: &'static str,
    /// LLVM's triple.
    pub(super) llvm: &'static str,
    /// The processor, unless the user names one.
    pub(super) cpu: &'static str,
    /// The features that every program for the target may use, in rustc's words.
    pub(super) features: &'static str,
    /// The calling convention, where the triple does not say it.
    pub(super) abi: &'static str,
    /// How code names its data.
    pub(super) reloc: RelocMode,
    /// How far data may lie.
    pub(super) code_model: CodeModel,
}

impl Row {
    /// A target that needs no words but its name.
    pub(super) const fn of_name() -> Row {
        row("", "", "generic", "", "", Pic, Default)
    }
}

use CodeModel::{Default, Medium};
use RelocMode::{PIC as Pic, Static};

const fn row(
    rust: &'static str,
    llvm: &'static str,
    cpu: &'static str,
    features: &'static str,
    abi: &'static str,
    reloc: RelocMode,
    code_model: CodeModel,
) -> Row {
    Row { rust, llvm, cpu, features, abi, reloc, code_model }
}

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("x86_64-unknown-linux-gnu",       "x86_64-unknown-linux-gnu",       "x86-64",       "",                                    "",       Pic, Default),
    row("x86_64-unknown-linux-musl",      "x86_64-unknown-linux-musl",      "x86-64",       "",                                    "",       Pic, Default),
    row("x86_64-unknown-freebsd",         "x86_64-unknown-freebsd",         "x86-64",       "",                                    "",       Pic, Default),
    row("x86_64-apple-darwin",            "x86_64-apple-macosx10.12.0",     "penryn",       "",                                    "",       Pic, Default),
    row("x86_64-pc-windows-gnu",          "x86_64-pc-windows-gnu",          "x86-64",       "+cmpxchg16b,+sse3,+lahfsahf",         "",       Pic, Default),
    row("x86_64-pc-windows-msvc",         "x86_64-pc-windows-msvc",         "x86-64",       "+cmpxchg16b,+sse3,+lahfsahf",         "",       Pic, Default),
    row("aarch64-unknown-linux-gnu",      "aarch64-unknown-linux-gnu",      "generic",      "+v8a,+outline-atomics",               "",       Pic, Default),
    row("aarch64-unknown-linux-musl",     "aarch64-unknown-linux-musl",     "generic",      "+v8a,+outline-atomics",               "",       Pic, Default),
    row("aarch64-linux-android",          "aarch64-linux-android",          "generic",      "+v8a,+neon",                          "",       Pic, Default),
    row("aarch64-apple-darwin",           "arm64-apple-macosx11.0.0",       "apple-m1",     "",                                    "",       Pic, Default),
    row("aarch64-apple-ios",              "arm64-apple-ios10.0.0",          "apple-a7",     "+neon,+apple-a7",                     "",       Pic, Default),
    row("aarch64-pc-windows-msvc",        "aarch64-pc-windows-msvc",        "generic",      "+v8a,+neon",                          "",       Pic, Default),
    row("aarch64-unknown-none",           "aarch64-unknown-none",           "generic",      "+v8a,+strict-align,+neon",            "",       Static, Default),
    row("armv7-unknown-linux-gnueabihf",  "armv7-unknown-linux-gnueabihf",  "generic",      "+v7,+vfp3d16,+thumb2,-neon",          "",       Pic, Default),
    row("armv7-unknown-linux-gnueabi",    "armv7-unknown-linux-gnueabi",    "generic",      "+v7,+thumb2,+soft-float,-neon",       "",       Pic, Default),
    row("arm-unknown-linux-gnueabihf",    "arm-unknown-linux-gnueabihf",    "generic",      "+strict-align,+v6,+vfp2",             "",       Pic, Default),
    row("armv7r-none-eabihf",             "armv7r-none-eabihf",             "generic",      "+vfp3d16",                            "",       Static, Default),
    row("thumbv6m-none-eabi",             "thumbv6m-none-eabi",             "generic",      "+strict-align,+atomics-32",           "",       Static, Default),
    row("thumbv7m-none-eabi",             "thumbv7m-none-eabi",             "generic",      "",                                    "",       Static, Default),
    row("thumbv7em-none-eabi",            "thumbv7em-none-eabi",            "generic",      "",                                    "",       Static, Default),
    row("thumbv7em-none-eabihf",          "thumbv7em-none-eabihf",          "generic",      "+vfp4d16sp",                          "",       Static, Default),
    row("thumbv8m.base-none-eabi",        "thumbv8m.base-none-eabi",        "generic",      "+strict-align",                       "",       Static, Default),
    row("thumbv8m.main-none-eabi",        "thumbv8m.main-none-eabi",        "generic",      "",                                    "",       Static, Default),
    row("thumbv8m.main-none-eabihf",      "thumbv8m.main-none-eabihf",      "generic",      "+fp-armv8d16sp",                      "",       Static, Default),
    row("riscv32i-unknown-none-elf",      "riscv32",                        "generic-rv32", "+forced-atomics",                     "ilp32",  Static, Default),
    row("riscv32im-unknown-none-elf",     "riscv32",                        "generic-rv32", "+m,+forced-atomics",                  "ilp32",  Static, Default),
    row("riscv32imc-unknown-none-elf",    "riscv32",                        "generic-rv32", "+m,+c,+forced-atomics",               "ilp32",  Static, Default),
    row("riscv32imac-unknown-none-elf",   "riscv32",                        "generic-rv32", "+m,+a,+c",                            "ilp32",  Static, Default),
    row("riscv32imafc-unknown-none-elf",  "riscv32",                        "generic-rv32", "+m,+a,+c,+f",                         "ilp32f", Static, Default),
    row("riscv64imac-unknown-none-elf",   "riscv64",                        "generic-rv64", "+m,+a,+c",                            "lp64",   Static, Medium),
    row("riscv64gc-unknown-none-elf",     "riscv64",                        "generic-rv64", "+m,+a,+f,+d,+c,+zicsr,+zifencei",     "lp64d",  Static, Medium),
    row("riscv64gc-unknown-linux-gnu",    "riscv64-unknown-linux-gnu",      "generic-rv64", "+m,+a,+f,+d,+c,+zicsr,+zifencei",     "lp64d",  Pic, Medium),
    row("wasm32-unknown-unknown",         "wasm32-unknown-unknown",         "generic",      "",                                    "",       Static, Default),
    row("wasm32-wasip1",                  "wasm32-wasip1",                  "generic",      "",                                    "",       Static, Default),
    row("wasm32v1-none",                  "wasm32-unknown-unknown",         "mvp",          "+mutable-globals",                    "",       Static, Default),
];
