//! Which entry of the build script's index is this item?
//!
//! By name and fingerprint first; by crate, file and line only while that leaves entries that differ.

use proc_macro::Span;
use std::env;
use std::path::{Path, PathBuf};
use tenfold_syntax::ast::NodeId;
use tenfold_syntax::index::{Entry, Index, Owner, PATH, ReadError, Root, SkipReason, Skipped};
use tenfold_syntax::{Code, Diagnostic};

/// What the index says of an item.
pub(crate) enum Outcome {
    /// The build script saw exactly this.
    Fresh(Box<Entry>),
    /// It did not, and says or shows why.
    Missing(Diagnostic),
    /// There is no index of this package.
    NoBuildScript(Diagnostic),
}

/// Where the index lies.
pub(crate) fn path() -> Option<PathBuf> {
    Some(Path::new(&env::var_os("OUT_DIR")?).join(PATH))
}

/// Looks for an item by its name and fingerprint; `at` is its name's place.
pub(crate) fn find(name: &str, fingerprint: &str, at: Span) -> Outcome {
    let Some(text) = path().and_then(|path| std::fs::read_to_string(path).ok()) else {
        return no_build_script(name);
    };
    let index = match Index::parse(&text) {
        Ok(index) => index,
        Err(ReadError::Version) => return other_version(name, None),
        Err(ReadError::Damaged) => {
            return missing(
                Code::Stale,
                format!("`{name}` was not compiled: the build script's index is damaged"),
                "`cargo clean -p` this package, and build again",
            );
        }
    };
    // `OUT_DIR` is inherited: `cargo test` hands this package's to the crates that trybuild compiles
    if index.owner != Owner::of_environment() {
        return no_build_script(name);
    }
    if index.abi != tenfold_abi::ABI_VERSION || index.compiler != env!("CARGO_PKG_VERSION") {
        return other_version(name, Some(&index.compiler));
    }
    if let Some(fault) = index.faults.first() {
        return missing(
            Code::Environment,
            format!("`{name}` was not compiled: {fault}"),
            "`cargo tenfold doctor` says what was looked for",
        );
    }
    let here = Here { file: at.local_file(), line: at.line() };
    match narrow(&index, name, fingerprint, &here) {
        Some(Ok(entry)) => Outcome::Fresh(Box::new(entry.clone())),
        Some(Err(())) => missing(
            Code::Indistinct,
            format!("two functions `{name}` of the same text mean different things here"),
            "rename one of them",
        ),
        None => explain(&index, name, &here),
    }
}

/// Where the item stands. In an editor nothing is known of it.
struct Here {
    file: Option<PathBuf>,
    line: usize,
}

impl Here {
    fn is_in(&self, file: &str) -> bool {
        let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
        // relative to rustc's working directory, which for members is the workspace's root
        let ours = self.file.as_ref().and_then(|file| file.canonicalize().ok());
        ours.is_some() && ours == package.join(file).canonicalize().ok()
    }
}

/// The entry, or that several remain which differ, or none.
fn narrow<'a>(index: &'a Index, name: &str, fingerprint: &str, here: &Here) -> Option<Result<&'a Entry, ()>> {
    let same_text = |entry: &&Entry| entry.name == name && entry.fingerprint == fingerprint;
    let mut found: Vec<&Entry> = index.entries.iter().filter(same_text).collect();
    let steps: [&dyn Fn(&Entry) -> bool; 4] =
        [&|_| true, &|entry| is_this_crate(&entry.root), &|entry| here.is_in(&entry.file), &|entry| {
            entry.line as usize == here.line
        }];
    for step in steps {
        let closer: Vec<&Entry> = found.iter().copied().filter(|entry| step(entry)).collect();
        if !closer.is_empty() {
            found = closer;
        }
        let first = *found.first()?;
        // entries that say the same are one answer
        if found.iter().all(|entry| entry.same_outcome(first)) {
            return Some(Ok(first));
        }
    }
    Some(Err(()))
}

/// Whether a root's name is that of the crate that rustc compiles now.
fn is_this_crate(root: &str) -> bool {
    let krate = env::var("CARGO_CRATE_NAME").unwrap_or_default();
    let binary = env::var("CARGO_BIN_NAME").ok();
    match (root.split_once(':'), binary) {
        (Some(("bin" | "example", name)), Some(binary)) => name == binary,
        (Some(("lib" | "test" | "bench" | "example" | "bin", name)), None) => name.replace('-', "_") == krate,
        _ => false,
    }
}

fn no_build_script(name: &str) -> Outcome {
    let dependency = env!("CARGO_PKG_VERSION");
    Outcome::NoBuildScript(
        Diagnostic::new(
            NodeId::FUNCTION,
            Code::NoBuildScript,
            format!("`{name}` was not compiled: this package has no build script that compiles it"),
        )
        .help(format!(
            "create `build.rs` with `fn main() {{ tenfold_build::compile() }}` and add `tenfold-build = \"{dependency}\"` to `[build-dependencies]`"
        )),
    )
}

fn missing(code: Code, text: String, help: impl Into<String>) -> Outcome {
    Outcome::Missing(Diagnostic::new(NodeId::FUNCTION, code, text).help(help))
}

fn other_version(name: &str, theirs: Option<&str>) -> Outcome {
    let ours = env!("CARGO_PKG_VERSION");
    let theirs =
        theirs.map_or("another version of `tenfold-build`".into(), |theirs| format!("`tenfold-build` {theirs}"));
    missing(
        Code::Versions,
        format!(
            "`{name}` was compiled by {theirs}, and this is `tenfold-macros` {ours}, with ABI {}",
            tenfold_abi::ABI_VERSION
        ),
        "run `cargo update -p tenfold -p tenfold-macros -p tenfold-build`",
    )
}

/// Why there is no entry.
fn explain(index: &Index, name: &str, here: &Here) -> Outcome {
    let of_name = |entry: &&Entry| entry.name == name && is_this_crate(&entry.root);
    if let Some(entry) = index.entries.iter().find(of_name) {
        return missing(
            Code::Stale,
            format!("`{name}` changed after the build script ran, which saw another text of it in `{}`", entry.file),
            format!("its file is older than the build: `touch {}` and build again", entry.file),
        );
    }
    let unwatched = |root: &&Root| !root.watched && is_this_crate(&root.name);
    if let Some(root) = index.roots.iter().find(unwatched) {
        return missing(
            Code::Stale,
            format!(
                "`{name}` is the first tensor function of `{}`, and the build script has not seen it yet",
                root.file
            ),
            "run `touch build.rs` once",
        );
    }
    if let Some(skip) = index.skipped.iter().find(|skip| skip.name == name) {
        return skipped(name, skip);
    }
    let by_rules = |skip: &&Skipped| skip.reason == SkipReason::MacroRules;
    if let Some(skip) = index.skipped.iter().find(by_rules) {
        return by_macro(name, &skip.file, skip.line);
    }
    if !index.files.iter().any(|file| here.is_in(file)) {
        let file = here.file.as_ref().map_or_else(String::new, |file| format!(" `{}`", file.display()));
        return missing(
            Code::NotFound,
            format!("`{name}` was not compiled: the build script did not reach its file{file}"),
            "the file must be reached by `mod`, `#[path]` or `include!`, and name the attribute `tensor_fn`; a new target is seen after `touch build.rs`",
        );
    }
    missing(
        Code::NotFound,
        format!("`{name}` was not compiled: the build script did not find it in its file"),
        "a function that a macro writes is not found, nor one under a renamed attribute: write it out, under the name `tensor_fn`",
    )
}

fn skipped(name: &str, skip: &Skipped) -> Outcome {
    let (file, line) = (&skip.file, skip.line);
    match skip.reason {
        SkipReason::Cfg => missing(
            Code::NotFound,
            format!("`{name}` was not compiled: a `cfg` at {file}:{line} was off for the build script"),
            "name the `cfg` in the manifest's features or the target's; the build script sees only these",
        ),
        SkipReason::MacroRules => by_macro(name, file, line),
        SkipReason::Unreadable => missing(
            Code::NotFound,
            format!("`{name}` was not compiled: the build script could not read it at {file}:{line}"),
            "write it as a plain function",
        ),
    }
}

fn by_macro(name: &str, file: &str, line: u32) -> Outcome {
    missing(
        Code::NotFound,
        format!(
            "`{name}` was not compiled: a `macro_rules!` makes it, near {file}:{line}, and the build script sees only what stands in the source"
        ),
        "write the function out; `#[tensor_fn(T = [f32, f16])] fn f<T>(…)` makes several from one text",
    )
}
