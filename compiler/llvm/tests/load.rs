//! LLVM is loaded and not linked, and a misuse explains itself.
#![allow(unsafe_code, reason = "a test calls LLVM-C without what makes it safe, to see it refuse")]

use std::{
    collections::BTreeSet,
    env, fs,
    path::Path,
    process::{Command, Output},
};

use inkwell::llvm_sys;
use tenfold_llvm::{Env, Found, LoadError, Rung, find, load};

/// The LLVM to test with; nothing, with a line that says so, where it is switched off.
fn found() -> Option<Found> {
    let found = find(&Env::from_process());
    let off = env::var_os("TENFOLD_LLVM").is_some_and(|value| value == "none");
    let must = env::var_os("TENFOLD_REQUIRE_TOOLS").is_some_and(|value| value == "1");
    if found.rung == Rung::None && (off || !must) {
        eprintln!("skipped: no LLVM; looked at {:?}", found.tried);
        return None;
    }
    Some(found)
}

/// Runs one test of this file again, in a process of its own.
fn again(test: &str, with: (&str, &str)) -> Output {
    Command::new(env::current_exe().expect("a test has a file"))
        .args(["--exact", test, "--nocapture"])
        .env(with.0, with.1)
        .output()
        .expect("a test can be started")
}

#[test]
fn it_loads() {
    let Some(found) = found() else { return };
    let llvm = load(&found).unwrap_or_else(|error| panic!("{error}"));
    assert!(llvm.version().major >= tenfold_llvm::OLDEST_MAJOR);
    assert_eq!(load(&found).map(|llvm| llvm.version()), Ok(llvm.version()));
}

#[test]
fn nothing_to_load_is_an_error() {
    let none = find(&Env { choice: Some("none".into()), ..Env::from_process() });
    assert_eq!(none.rung, Rung::None);
    let Err(error) = load(&none) else { panic!("nothing was loaded") };
    assert!(matches!(error, LoadError::NotFound { .. }));
    assert!(error.to_string().contains("TENFOLD_LLVM=none"), "{error}");
}

#[test]
fn a_library_that_is_not_llvm_is_refused() {
    let Some(libc) =
        ["/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6"].into_iter().find(|path| Path::new(path).exists())
    else {
        return;
    };
    let found = find(&Env { choice: Some(libc.into()), ..Env::from_process() });
    if found.rung == Rung::None {
        eprintln!("skipped: this program can load no library");
        return;
    }
    assert_eq!(found.rung, Rung::Path);
    assert!(matches!(load(&found), Err(LoadError::NotLlvm { .. })));
}

#[test]
fn a_call_before_load_says_so() {
    if env::var_os("TENFOLD_TEST_EARLY").is_some() {
        // SAFETY: never reached; the jump ends the process.
        unsafe { llvm_sys::core::LLVMContextCreate() };
        return;
    }
    let out = again("a_call_before_load_says_so", ("TENFOLD_TEST_EARLY", "1"));
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(!out.status.success());
    assert!(said.contains("`LLVMContextCreate` was called before LLVM was loaded"), "{said}");
}

#[test]
fn a_function_that_is_absent_says_so() {
    let Some(found) = found() else { return };
    if env::var_os("TENFOLD_TEST_ABSENT").is_some() {
        load(&found).unwrap_or_else(|error| panic!("{error}"));
        // SAFETY: takes no arguments; rustc's LLVM leaves this target out.
        unsafe { llvm_sys::target::LLVMInitializeLanaiTarget() };
        return;
    }
    let out = again("a_function_that_is_absent_says_so", ("TENFOLD_TEST_ABSENT", "1"));
    let said = String::from_utf8_lossy(&out.stderr);
    if found.rung == Rung::Rustc {
        assert!(said.contains("the loaded LLVM has no `LLVMInitializeLanaiTarget`"), "{said}");
    }
}

/// No artefact of ours names LLVM among the libraries it needs.
#[test]
#[cfg(target_os = "linux")]
fn nothing_is_linked() {
    let this = fs::read(env::current_exe().expect("a test has a file")).expect("it can be read");
    let needed = needed(&this);
    assert!(needed.iter().any(|name| name.starts_with("libc.so")), "{needed:?}");
    assert!(!needed.iter().any(|name| name.contains("LLVM")), "{needed:?}");
}

/// The committed names are those that llvm-sys declares.
#[test]
fn the_names_are_those_of_llvm_sys() {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--offline", "--filter-platform", &host()])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo starts");
    let text = String::from_utf8_lossy(&metadata.stdout);
    let Some(end) = text.find("/llvm-sys-221.").or_else(|| text.find("/llvm-sys/src/lib.rs")) else {
        panic!("llvm-sys 221 is a dependency: {}", String::from_utf8_lossy(&metadata.stderr));
    };
    let start = text[..end].rfind('"').map_or(0, |at| at + 1);
    let rest = &text[end + 1..];
    let folder = &text[start..end + 1 + rest.find(['/', '"']).unwrap_or(rest.len())];
    let mut declared = BTreeSet::new();
    collect(&Path::new(folder.trim_start_matches("path+file://")).join("src"), &mut declared);
    let committed: BTreeSet<String> = include_str!("../src/load/names.txt").lines().map(str::to_owned).collect();
    assert_eq!(declared, committed);
}

/// This machine's triple, without which Cargo asks for the sources of other machines' crates.
fn host() -> String {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let out = Command::new(rustc).arg("-vV").output().expect("rustc starts");
    let text = String::from_utf8_lossy(&out.stdout);
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    line.expect("rustc names its host").to_owned()
}

fn collect(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("the sources of llvm-sys can be read") {
        let path = entry.expect("an entry can be read").path();
        if path.is_dir() {
            collect(&path, names);
            continue;
        }
        let text = fs::read_to_string(&path).expect("a source can be read");
        for part in text.split("pub fn LLVM").skip(1).chain(text.split("unsafe fn LLVM").skip(1)) {
            let end = part.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(part.len());
            names.insert(format!("LLVM{}", &part[..end]));
        }
    }
}

/// The libraries that a 64-bit little-endian ELF file asks the loader for.
#[cfg(target_os = "linux")]
fn needed(elf: &[u8]) -> Vec<String> {
    let word = |at: usize, bytes: usize| {
        let mut all = [0; 8];
        all[..bytes].copy_from_slice(&elf[at..at + bytes]);
        u64::from_le_bytes(all) as usize
    };
    let (table, size, count) = (word(0x28, 8), word(0x3a, 2), word(0x3c, 2));
    let section = |n: usize| table + n * size;
    let dynamic = (0..count).map(section).find(|&at| word(at + 4, 4) == 6).expect("the program is linked dynamically");
    let strings = word(section(word(dynamic + 0x28, 4)) + 0x18, 8);
    let (start, length) = (word(dynamic + 0x18, 8), word(dynamic + 0x20, 8));
    (start..start + length)
        .step_by(16)
        .filter(|&at| word(at, 8) == 1)
        .map(|at| {
            let name = &elf[strings + word(at + 8, 8)..];
            let end = name.iter().position(|&byte| byte == 0).unwrap_or(0);
            String::from_utf8_lossy(&name[..end]).into_owned()
        })
        .collect()
}
