//! A copy of `crate` under cargo.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tenfold_tests::outside;
use tenfold_tests::tools::root;

/// The copy.
pub(crate) struct Workspace {
    /// Where it lies.
    pub(crate) directory: PathBuf,
}

impl Workspace {
    /// Copies, with the checkout's path in the manifest and its lock file beside it, so that nothing is fetched.
    pub(crate) fn new() -> Self {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("diagnostics");
        let _ = fs::remove_dir_all(&directory);
        forget();
        copy(&root().join("tests/diagnostics/crate"), &directory);
        let manifest = directory.join("Cargo.toml");
        let text = fs::read_to_string(&manifest).expect("there is a manifest");
        let text = text.replace("CHECKOUT", &root().display().to_string());
        fs::write(manifest, text).expect("the manifest can be written");
        fs::copy(root().join("Cargo.lock"), directory.join("Cargo.lock")).expect("there is a lock file");
        Self { directory }
    }

    /// Every error that stands at a place in the sources, in the order of the places.
    pub(crate) fn errors(&self) -> String {
        let printed = self.check();
        let mut blocks: Vec<(Place, String)> =
            printed.split("\n\n").filter_map(|block| Some((place(block)?, portable(block)))).collect();
        blocks.sort();
        // the same error is printed once per crate that holds the file
        blocks.dedup();
        blocks.iter().map(|(_, block)| format!("{block}\n\n")).collect()
    }

    /// What `cargo check` prints.
    fn check(&self) -> String {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        // what this test's own cargo says is not meant for another package; which back end is, is
        for (key, _) in std::env::vars_os() {
            let key = key.to_string_lossy().into_owned();
            let cargos = key.starts_with("CARGO_") && !matches!(key.as_str(), "CARGO_HOME" | "CARGO_NET_OFFLINE");
            let ours = key.starts_with("TENFOLD_") && key != "TENFOLD_LLVM";
            if cargos || ours || matches!(key.as_str(), "OUT_DIR" | "RUSTFLAGS") {
                command.env_remove(key);
            }
        }
        let output = command
            .arg("check")
            .args(outside::PROOFS)
            .args(["--quiet", "--workspace", "--keep-going", "--color=never"])
            .current_dir(&self.directory)
            // the end-to-end tests' directory: dependencies are built once for both
            .env("CARGO_TARGET_DIR", target())
            .env("CARGO_NET_OFFLINE", "true")
            .env("CARGO_INCREMENTAL", "0")
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .output()
            .expect("cargo can be started");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success(), "broken packages were built\n{text}");
        assert!(!text.contains("custom build command"), "a build script failed\n{text}");
        text
    }
}

/// File, line and column.
type Place = (String, u32, u32);

fn place(block: &str) -> Option<Place> {
    let line = block.lines().find_map(|line| line.trim_start().strip_prefix("--> "))?;
    let mut parts = line.rsplitn(3, ':');
    let (column, line) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    Some((parts.next()?.to_string(), line, column))
}

/// Without what depends on the machine, the back end and the run.
fn portable(block: &str) -> String {
    let mut lines: Vec<String> = block.lines().map(str::to_string).collect();
    // cargo's own lines may stand before rustc's
    let place = lines.iter().position(|line| line.trim_start().starts_with("--> ")).unwrap_or(0);
    let is_head = |line: &String| line.starts_with("error") || line.starts_with("warning");
    let head = lines[..place].iter().rposition(is_head).unwrap_or(0);
    lines.drain(..head);
    if lines[0].contains("[T0603]") {
        // how deep a stack is, only LLVM says, and each version its own
        let end = lines[0].find(", but").unwrap_or(lines[0].len());
        lines[0].truncate(end);
        let place = lines.iter().position(|line| line.trim_start().starts_with("--> ")).unwrap_or(1);
        lines.drain(1..place);
    }
    if lines[0].starts_with("error[E0277]") {
        // behind our own words rustc lists what it knows, each version in its own way
        let is_aside =
            |line: &String| ["= help", "= note", "help:", "note:"].iter().any(|w| line.trim_start().starts_with(w));
        let aside = lines.iter().position(is_aside).unwrap_or(lines.len());
        let is_ours = |line: &&String| line.trim_start().starts_with("= note") && !line.contains("required ");
        let ours = lines[aside..].iter().find(is_ours).cloned();
        lines.truncate(aside);
        lines.extend(ours);
    }
    let text = lines.join("\n");
    without(&without(&text, " (signal: ", ")"), " (os error ", ")")
}

/// The text without what stands between two texts, and without these.
fn without(text: &str, from: &str, to: &str) -> String {
    let Some((before, rest)) = text.split_once(from) else {
        return text.to_string();
    };
    let (_, after) = rest.split_once('\n').map_or((rest, ""), |(line, _)| {
        let end = line.rfind(to).map_or(line.len(), |at| at + to.len());
        rest.split_at(end)
    });
    format!("{before}{after}")
}

/// The target directory.
fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("e2e/target")
}

/// Removes what earlier runs have found, which another compiler of the same version may have found.
fn forget() {
    for entry in fs::read_dir(target().join("debug/build")).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with("diagnostics-") {
            let _ = fs::remove_dir_all(entry.path().join("out/tenfold"));
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory can be made");
    for entry in fs::read_dir(from).expect("the packages are there").flatten() {
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, &to).expect("a file can be copied");
        }
    }
}
