//! The digits MLP in a WebAssembly module without Rust or C: its classes are those of the host.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tenfold_tests::tools;

use crate::firmware::{expected, root};
use crate::library::without_llvm;
use crate::package::Package;

/// rustc's own linker, if Node is there too; a line says what is not.
fn linker() -> Option<PathBuf> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(["--print", "target-libdir"]).output().ok()?;
    let libraries = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    let linker = libraries.parent()?.join("bin/rust-lld");
    if !tools::has("node") {
        tools::skip("node", "tests/browser.sh installs it");
        return None;
    }
    if !linker.is_file() {
        tools::skip("rust-lld", "rustup's toolchains have it beside rustc");
        return None;
    }
    Some(linker)
}

/// Classifies the images in the module's memory, a batch at a time.
const SCRIPT: &str = r#"
const fs = require("fs");
const [file, images, size, batch] = process.argv.slice(2);
let memory;
// What a C library has, and the module may ask for.
const env = {
  memset: (to, value, count) => (new Uint8Array(memory.buffer).fill(value, to, to + count), to),
  memcpy: (to, from, count) => (new Uint8Array(memory.buffer).copyWithin(to, from, from + count), to),
  memmove: (to, from, count) => (new Uint8Array(memory.buffer).copyWithin(to, from, from + count), to),
};
const made = new WebAssembly.Instance(new WebAssembly.Module(fs.readFileSync(file)), { env }).exports;
memory = made.memory;
const align = (at) => (at + 63) & -64;
const workspace = align(made.__heap_base.value), x = align(workspace + Number(size)), y = x + batch * 256;
memory.grow(Math.ceil((y + batch * 40) / 65536));
const bytes = fs.readFileSync(images).subarray(128);
for (let at = 0; at < 20; at += Number(batch)) {
  const count = Math.min(20 - at, batch);
  new Uint8Array(memory.buffer).set(bytes.subarray(at * 256, (at + count) * 256), x);
  if (made.digits_mlp(x, y, count, workspace, 0) !== 0) process.exit(2);
  for (let i = 0; i < count; i++) {
    const row = Array.from(new Float32Array(memory.buffer, y + i * 40, 10));
    console.log(row.indexOf(Math.max(...row)));
  }
}
"#;

#[test]
fn a_module_sees_the_same_digits() {
    if without_llvm() {
        return println!("left out: `TENFOLD_LLVM=none`, and no C compiler for WebAssembly");
    }
    let Some(linker) = linker() else { return };
    let mut package = Package::bare("lib-wasm");
    let manifest = root().join("examples/digits/Cargo.toml");
    let images = root().join("examples/digits/data/test_images.npy");
    for target in ["llvm -mtriple=wasm32-unknown-unknown", "llvm -mtriple=wasm32-unknown-unknown -mattr=+simd128"] {
        package = package.env("TENFOLD_TARGET", target);
        let outcome = package.run(&format!("lib --manifest-path {} --output made", manifest.display()));
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
        let mut link = Command::new(&linker);
        link.current_dir(package.path("made")).args(["-flavor", "wasm", "--no-entry", "--allow-undefined"]);
        link.args(["--export=digits_mlp", "--export=__heap_base", "libdigits.a", "-o", "digits.wasm"]);
        let output = link.output().expect("the linker starts");
        assert!(output.status.success(), "{target}: {}", String::from_utf8_lossy(&output.stderr));
        let header = package.read("made/digits.h");
        let size = header.lines().find_map(|line| line.strip_prefix("#define DIGITS_MLP_WORKSPACE_BYTES "));
        fs::write(package.path("made/run.cjs"), SCRIPT).expect("a file");
        let mut node = Command::new("node");
        node.current_dir(package.path("made")).args(["run.cjs", "digits.wasm"]).arg(&images);
        let output = node.args([size.expect("it is a constant"), "16"]).output().expect("node starts");
        assert!(output.status.success(), "{target}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected(), "{target}");
        let module = fs::read(package.path("made/digits.wasm")).expect("the module");
        // `v128.load` and its offset's alignment, which only the second module has.
        let vectors = module.windows(3).any(|bytes| bytes[..2] == [0xfd, 0x00] && bytes[2] <= 4);
        assert_eq!(vectors, target.ends_with("simd128"), "{target}");
    }
}
