//! The invariants of `compiler/docs/architecture.md` that can be read off the sources and the dependency graph.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().expect("the tests stand in the workspace").to_path_buf()
}

/// Names of all packages that `package` needs to be built, its development dependencies left out.
fn dependencies(package: &str, edges: &str) -> BTreeSet<String> {
    let out = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--locked", "-p", package, "-e", edges, "--prefix", "none", "-f", "{p}"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8(out.stdout).expect("cargo prints text");
    text.lines().filter_map(|l| l.split_whitespace().next()).map(str::to_string).collect()
}

/// Every Rust file of a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the folder can be read").flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if path.is_dir() && name != "target" && !name.to_string_lossy().starts_with('.') {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// Lines of code of every source file, without comments, by path from the root.
fn code() -> BTreeMap<String, Vec<String>> {
    let mut files = Vec::new();
    sources(&root(), &mut files);
    let mut all = BTreeMap::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a source file is text");
        let lines = text.lines().filter(|l| !l.trim_start().starts_with("//")).map(str::to_string).collect();
        let name = file.strip_prefix(root()).expect("it is in the workspace").to_string_lossy().replace('\\', "/");
        all.insert(name, lines);
    }
    all
}

/// How many lines each function of a file takes, from `fn` to the brace that closes it, which stands below the `fn`.
fn functions(lines: &[&str]) -> Vec<usize> {
    let mut all = Vec::new();
    for (first, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let words: Vec<&str> = code.split_whitespace().take_while(|word| *word != "fn").collect();
        let qualifiers = |word: &&str| {
            word.starts_with("pub") || ["const", "unsafe", "extern", "\"C\"", "in", "async"].contains(word)
        };
        if !code.contains("fn ") || !words.iter().all(|word| qualifiers(word) || word.ends_with(')')) {
            continue;
        }
        let indent = &line[..line.len() - code.len()];
        let head = lines[first..].iter().take_while(|l| !l.ends_with(['{', '}', ';'])).count();
        let opens = lines.get(first + head).is_some_and(|l| l.ends_with('{'));
        let close = format!("{indent}}}");
        let body = if opens { lines[first + head..].iter().position(|l| *l == close).unwrap_or(0) } else { 0 };
        all.push(head + body + 1);
    }
    all
}

#[test]
fn code_fits_a_screen() {
    let mut files = Vec::new();
    sources(&root(), &mut files);
    let mut all = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a source file is text");
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines.len() <= 700, "{} has {} lines, at most 700 are wanted", file.display(), lines.len());
        all.extend(functions(&lines));
    }
    all.sort_unstable();
    let (median, most) = (all[all.len() / 2], all[all.len() * 9 / 10]);
    println!("{} functions; median {median} lines, nine in ten at most {most}", all.len());
    assert!(median <= 12 && most <= 40, "the median function has {median} lines, nine in ten have at most {most}");
    assert_eq!(functions(&["fn a() {}", "    pub fn b(", "        x: u8,", "    ) {", "        c()", "    }"]), [1, 5]);
}

#[test]
fn no_llvm_under_the_macros() {
    let all = dependencies("tenfold-macros", "normal,build");
    let bad: Vec<_> = all.iter().filter(|n| n.contains("llvm") || n.contains("inkwell")).collect();
    assert!(bad.is_empty(), "`tenfold-macros` depends on {bad:?}");
}

#[test]
fn nothing_of_the_compiler_in_a_users_program() {
    let all = dependencies("tenfold", "normal,no-proc-macro");
    let compiler =
        ["arith", "ir", "syntax", "core", "llvm", "onnx", "tflite", "build"].map(|name| format!("tenfold-{name}"));
    let bad: Vec<_> = compiler.iter().filter(|n| all.contains(n.as_str())).collect();
    assert!(bad.is_empty(), "`tenfold` links {bad:?}");
}

#[test]
fn only_the_llvm_crate_names_inkwell() {
    for (file, lines) in code() {
        if file.starts_with("compiler/llvm/") || file.ends_with("tests/invariants.rs") {
            continue;
        }
        for line in lines {
            assert!(!line.contains("inkwell") && !line.contains("llvm_sys"), "{file} names inkwell: {line}");
        }
    }
}

/// A machine that has `llvm-config` of the right version, and no headers beside it, builds no less than one without it.
#[test]
fn no_build_script_looks_for_an_llvm() {
    let words = ["tree", "--offline", "-p", "tenfold-build", "-e", "features", "-i", "llvm-sys"];
    let output = Command::new(env!("CARGO")).current_dir(root()).args(words).output().expect("cargo runs");
    let text = String::from_utf8_lossy(&output.stdout);
    for feature in ["no-llvm-linking", "disable-alltargets-init"] {
        assert!(text.contains(&format!("llvm-sys feature \"{feature}\"")), "{feature}: {output:?}");
    }
}

#[test]
fn only_the_runtime_names_device_libraries() {
    for (file, lines) in code() {
        // The tests of shaders call them by themselves.
        let calls = file.starts_with("runtime/") || file == "tests/vulkan/device.rs";
        if calls || file.ends_with("tests/invariants.rs") {
            continue;
        }
        for line in lines {
            let names = ["cudarc", " ash::", "use ash"].iter().any(|n| line.contains(n));
            assert!(!names, "{file} names a device library: {line}");
        }
    }
}

/// Whether a line opens an unsafe block, function or implementation (attributes such as `#[unsafe(no_mangle)]` and
/// quoted tokens aside).
fn has_unsafe(line: &str) -> bool {
    ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"].iter().any(|w| line.contains(w))
}

#[test]
fn unsafe_stands_where_the_design_says() {
    // The worker's start is the one place that the design does not name: taking over the jobserver that cargo hands
    // down is an unsafe function of `jobserver`.
    let allowed = [
        "compiler/llvm/",
        "runtime/src/dispatch/",
        "runtime/src/device/",
        "build-support/src/worker/start.rs",
        // `cargo tenfold bench` calls what it has compiled, in a process of its own.
        "build-support/cli/src/onnx/measured.rs",
        "macros/",
        "runtime/tests/emitted/",
        "tests/conformance/native.rs",
        "examples/cortex-m/src/",
        "tests/firmware/",
        // `unsafe { extern_call!(…) }` is the language's: the attribute takes it.
        "tests/programs/src/outside.rs",
    ];
    for (file, lines) in code() {
        if allowed.iter().any(|a| file.starts_with(a)) {
            continue;
        }
        // A test that calls what it has compiled allows it at its head, with the reason. What stands in quotes or in
        // other crates' sources that a test writes is text.
        let says_so =
            lines.iter().any(|l| l.contains("allow(unsafe_code, reason") || l.contains("allow(\n    unsafe_code"));
        let is_test = file.contains("/tests/") || file.starts_with("tests/") || file.contains("/benches/");
        let written = file.starts_with("tests/ui/") || file.starts_with("tests/e2e/");
        let is_text = written || file.ends_with("tests/invariants.rs");
        if (says_so && is_test) || is_text {
            continue;
        }
        for line in &lines {
            let code = line.split('"').step_by(2).collect::<String>();
            assert!(!has_unsafe(&code), "{file} is not a place for unsafe code: {line}");
        }
    }
}

#[test]
fn the_top_level_is_as_fixed() {
    let out = Command::new("git").args(["ls-tree", "--name-only", "HEAD"]).current_dir(root()).output();
    let Ok(out) = out else { return println!("skipped: no git here") };
    if !out.status.success() {
        return println!("skipped: not a git checkout");
    }
    let expected: BTreeSet<&str> = [
        ".cargo",
        ".ci",
        ".gitignore",
        "CHANGELOG.md",
        "Cargo.lock",
        "Cargo.toml",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "README.md",
        "build-support",
        "compiler",
        "examples",
        "macros",
        "runtime",
        "rust-toolchain.toml",
        "clippy.toml",
        "rustfmt.toml",
        "tests",
    ]
    .into();
    let text = String::from_utf8(out.stdout).expect("names are text");
    let extra: Vec<&str> = text.lines().filter(|n| !expected.contains(n)).collect();
    assert!(extra.is_empty(), "new at the top level: {extra:?}");
}
