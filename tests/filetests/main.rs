//! Texts of IR with what is expected of them. A file begins with its command and ends with what it must give:
//!
//! ```text
//! ; test pass LowerMath
//! prim @f(…) … { … }
//! ; expect
//! ; prim @f(…) … { … }
//! ```
//!
//! Commands:
//!
//! - `test roundtrip`: the text reads back as it prints;
//! - `test parse`: the text does not parse; why, and where;
//! - `test verify`: the laws that the module breaks;
//! - `test pass NAME,NAME…`: the module after the passes, with `; config KEY = VALUE`, `; opt LEVEL` and
//!   `; target TRIPLE`, or a device. If the file has inputs and its entry is a prim-func, the interpreter must give the same before
//!   and after;
//! - `test schedule`: a trace applied to a prim-func, its steps behind `; step`;
//! - `test run`: what the entry gives, by the interpreters and every back end;
//! - `test eval`: what the entry, a prim-func of any phase, gives by the interpreter, or its error;
//! - `test race`: the same, and it must be a race;
//! - `test spirv`: the shader of each device function, which two validators accept, or why there is none; features of the
//!   target may follow;
//! - `test ptx`: the PTX of each device function, which ptxas accepts, or why there is none.
//!
//! `; const HASH f32[2] = 1 2` adds a constant, `; sym N = 3` and `; input f32[2] = 1 2` are what a function is called
//! with. The expected text stands behind `; ` line by line; `TENFOLD_BLESS=1` writes it anew.
#![allow(unsafe_code, reason = "calls what the back ends compiled")]

#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/case.rs"]
mod case;
mod command;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/data.rs"]
mod data;
mod file;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/interpret.rs"]
mod interpret;
mod meaning;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/native.rs"]
mod native;
mod ptx;
mod refusals;
mod schedule;
mod spirv;
mod validators;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Every file below a folder of one topic: `relax/<topic>/*.relax`, `tir/<topic>/*.tir`, `schedule/<primitive>/*.tir`.
fn files() -> Vec<PathBuf> {
    let root = tenfold_tests::tools::root().join("tests/filetests");
    let mut all = Vec::new();
    for kind in ["relax", "tir", "schedule"] {
        for topic in sorted(&root.join(kind)).into_iter().filter(|p| p.is_dir()) {
            all.extend(
                sorted(&topic).into_iter().filter(|p| p.extension().is_some_and(|e| e == "relax" || e == "tir")),
            );
        }
    }
    all
}

fn sorted(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).map(|all| all.flatten().map(|e| e.path()).collect());
    let mut all: Vec<PathBuf> = entries.unwrap_or_default();
    all.sort();
    all
}

/// What is wrong with a file; `folder` is for what back ends make of it.
fn wrong(path: &Path, bless: bool, folder: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).expect("the file can be read");
    let name = path.strip_prefix(tenfold_tests::tools::root()).unwrap_or(path).display().to_string();
    match file::File::read(&text).and_then(|file| command::run(&file, folder).map(|found| (file, found))) {
        Err(e) => Some(format!("{name}: {e}")),
        Ok((file, found)) if found == file.expected => None,
        Ok((file, found)) if bless => {
            std::fs::write(path, file.blessed(&found)).expect("the file can be written");
            None
        }
        Ok((file, found)) => Some(format!("{name}: {}", file::difference(&file.expected, &found))),
    }
}

/// Each file, on as many threads as there are processors, which have a folder each.
#[test]
fn every_file() {
    let bless = std::env::var_os("TENFOLD_BLESS").is_some_and(|v| v == "1");
    let (files, next) = (files(), AtomicUsize::new(0));
    let worker = |n: usize| {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("filetests/{n}"));
        let mut errors = Vec::new();
        while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            errors.extend(wrong(path, bless, &folder));
        }
        errors
    };
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let mut errors: Vec<String> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|n| {
                scope.spawn({
                    let worker = &worker;
                    move || worker(n)
                })
            })
            .collect();
        handles.into_iter().flat_map(|handle| handle.join().expect("no file panics")).collect()
    });
    errors.sort();
    assert!(errors.is_empty(), "{} of {} files\n{}", errors.len(), files.len(), errors.join("\n"));
    assert!(files.len() >= 400, "only {} files were found", files.len());
}

/// One pass, one folder; of each something that it changes, something that it leaves alone, and both with another pass.
#[test]
fn every_pass_has_three_files() {
    let known = ["roundtrip", "parse", "verify", "run", "eval", "race", "spirv", "ptx"];
    for path in files().iter().filter(|p| !p.to_string_lossy().contains("/schedule/")) {
        let topic = path.parent().and_then(|p| p.file_name()).map(|n| n.to_string_lossy().into_owned());
        let topic = topic.unwrap_or_default();
        let is_pass = tenfold_core::PASSES.iter().any(|p| p.info.name == topic);
        assert!(is_pass || known.contains(&topic.as_str()), "`{topic}` is the name of no pass and of no command");
    }
    for pass in tenfold_core::PASSES {
        let name = pass.info.name;
        let of: Vec<PathBuf> = files().into_iter().filter(|p| p.parent().is_some_and(|p| p.ends_with(name))).collect();
        assert!(of.len() >= 3, "`{name}` has {} files", of.len());
        let leaves = of.iter().any(|p| p.file_stem().is_some_and(|stem| stem.to_string_lossy().contains("leaves")));
        assert!(leaves, "no file of `{name}` says what it leaves alone");
        assert!(of.iter().any(|p| composes(p)), "no file of `{name}` runs it with another pass");
    }
}

/// Whether a file runs several passes.
fn composes(path: &Path) -> bool {
    let text = std::fs::read_to_string(path).expect("the file can be read");
    let command = text.lines().next().and_then(|line| line.strip_prefix("; test pass "));
    command.is_some_and(|passes| passes.split([',', ' ']).count() > 1)
}

/// Every rule of the verifier of tir is broken by the file of its name.
#[test]
fn every_rule_of_tir_has_a_file() {
    let folder = tenfold_tests::tools::root().join("tests/filetests/tir/verify");
    for rule in tenfold_ir::tir::RULES.iter().filter(|r| !tenfold_ir::tir::UNWRITABLE.contains(&r.name)) {
        let path = folder.join(format!("{}.tir", rule.name));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let file = file::File::read(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let broken: Vec<&str> = file
            .module
            .prims()
            .flat_map(|f| tenfold_ir::tir::violations(&file.module, f))
            .map(|v| v.rule.name)
            .collect();
        assert!(broken.contains(&rule.name), "`{}` is not broken, but {broken:?}", rule.name);
    }
}

/// Every rule of the relax verifier has a file of its name that breaks it, but for those that no text can break.
#[test]
fn every_rule_of_relax_is_broken_by_a_file() {
    // The parser refuses them; a test beside the verifier breaks them.
    let unwritable = ["bound_once", "value_entry"];
    let folder = tenfold_tests::tools::root().join("tests/filetests/relax/verify");
    for rule in tenfold_ir::relax::RULES.iter().filter(|rule| !unwritable.contains(&rule.name)) {
        let text = std::fs::read_to_string(folder.join(format!("{}.relax", rule.name)));
        let text = text.unwrap_or_else(|e| panic!("no file breaks the rule `{}`: {e}", rule.name));
        let module = file::File::read(&text).expect("the file reads").module;
        let broken = module.functions.values().any(|function| match function {
            tenfold_ir::Function::Relax(f) => {
                tenfold_ir::relax::violations(&module, f).iter().any(|violation| violation.rule == *rule)
            }
            tenfold_ir::Function::Prim(_) => false,
        });
        assert!(broken, "`{}.relax` does not break its rule: {}", rule.name, rule.doc);
    }
}
