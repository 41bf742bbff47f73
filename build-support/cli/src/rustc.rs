//! The Rust compiler that a build would use.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiler by the name that a build would start it by.
#[derive(Clone, Debug)]
pub(crate) struct Rustc {
    /// A name or a path.
    pub(crate) program: OsString,
    /// `1.95.0 (59807616e 2026-04-14)`.
    pub(crate) version: String,
    /// `1.95.0`.
    pub(crate) release: String,
    /// `x86_64-unknown-linux-gnu`.
    pub(crate) host: String,
    /// The version of the LLVM inside it.
    pub(crate) llvm: String,
}

impl Rustc {
    /// Starts the compiler; says why it does not start.
    pub(crate) fn find() -> Result<Self, String> {
        let program = program();
        let text = run(&program, &["-vV"])?;
        let value = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
            line.unwrap_or_default().to_string()
        };
        let first = text.lines().next().unwrap_or_default();
        Ok(Self {
            version: first.strip_prefix("rustc ").unwrap_or(first).to_string(),
            release: value("release"),
            host: value("host"),
            llvm: value("LLVM version"),
            program,
        })
    }

    /// What it prints for `--print`.
    pub(crate) fn print(&self, what: &str, more: &[&str]) -> Result<String, String> {
        let mut arguments = vec!["--print", what];
        arguments.extend(more);
        run(&self.program, &arguments).map(|text| text.trim_end().to_string())
    }

    /// Major and minor.
    pub(crate) fn numbers(&self) -> (u32, u32) {
        let mut parts = self.release.split('.').map(|part| part.parse().unwrap_or(0));
        (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
    }
}

/// `RUSTC`, else the one beside the cargo that started this program, else the one in the path.
fn program() -> OsString {
    let beside = || -> Option<PathBuf> {
        let cargo = PathBuf::from(env::var_os("CARGO")?);
        let rustc = cargo.with_file_name(format!("rustc{}", env::consts::EXE_SUFFIX));
        (cargo.is_absolute() && rustc.is_file()).then_some(rustc)
    };
    env::var_os("RUSTC")
        .filter(|name| !name.is_empty())
        .or_else(|| beside().map(PathBuf::into_os_string))
        .unwrap_or_else(|| "rustc".into())
}

fn run(program: &OsString, arguments: &[&str]) -> Result<String, String> {
    let shown = Path::new(program).display();
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| format!("`{shown}` does not start: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().next().unwrap_or_default();
    Err(format!("`{shown} {}` failed: {said}", arguments.join(" ")))
}
