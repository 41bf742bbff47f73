//! What the package's build script chooses: its settings of passes, passes of its own, and files in `OUT_DIR`.
//!
//! A script that only calls `tenfold_build::compile()` chooses nothing. Of any other, cargo tells the program, which it
//! compiles if need be; the program is started with cargo's variables and writes down what it chose. The package itself
//! may have errors: what cargo says of it is not looked at.

use crate::arguments::Arguments;
use crate::cargo::Package;
use serde_json::Value;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tenfold_build::look;

/// The variable that names, to the child, the file in which the script wrote.
pub(crate) const VARIABLE: &str = "CARGO_TENFOLD_TOLD";

/// Whether the build script may choose something: it says `Build` outside of comments, or `OUT_DIR`, where it may write
/// weights and models.
pub(crate) fn chooses(package: &Package) -> bool {
    let text = package.build_script.as_ref().and_then(|script| fs::read_to_string(script).ok()).unwrap_or_default();
    text.lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .any(|line| line.contains("Build") || line.contains("OUT_DIR"))
}

/// Has the script write down what it chose. `variables` are those that cargo would give it.
pub(crate) fn ask(
    arguments: &Arguments,
    package: &Package,
    variables: &[(OsString, Option<OsString>)],
    out: &Path,
) -> Result<PathBuf, String> {
    let program = program(arguments, package, out)?;
    let file = out.join("told");
    let _ = fs::remove_file(&file);
    let mut script = Command::new(&program);
    for (name, value) in variables {
        match value {
            Some(value) => script.env(name, value),
            None => script.env_remove(name),
        };
    }
    script.env(look::TELL, &file).current_dir(package.directory()).stdin(Stdio::null()).stdout(Stdio::null());
    let output = script.output().map_err(|error| format!("`{}` does not start: {error}", program.display()))?;
    if file.is_file() {
        return Ok(file);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("nothing was said");
    Err(format!("it ended before it called `compile` ({}): {last}", output.status))
}

/// The script's program, compiled if need be.
fn program(arguments: &Arguments, package: &Package, out: &Path) -> Result<PathBuf, String> {
    let mut child = check(arguments, package, out).spawn().map_err(|error| format!("cargo does not start: {error}"))?;
    let progress = progress(&mut child);
    let lines = child.stdout.take().map(BufReader::new).into_iter().flat_map(BufReader::lines).map_while(Result::ok);
    let found = lines.filter_map(|line| executable(&line, package)).last();
    // whether the package itself is right does not matter here
    let _ = child.wait();
    let said = progress.and_then(|thread| thread.join().ok()).unwrap_or_default();
    found.ok_or_else(|| {
        let error = said.lines().find(|line| line.starts_with("error")).unwrap_or("cargo named no program");
        format!("it cannot be compiled: {error}")
    })
}

fn check(arguments: &Arguments, package: &Package, out: &Path) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["check", "--keep-going", "--message-format=json", "--color=never", "--package", &package.name]);
    command.arg("--manifest-path").arg(&package.manifest);
    let features = &arguments.features;
    if !features.names.is_empty() {
        command.arg("--features").arg(features.names.join(","));
    }
    command.args(features.all.then_some("--all-features"));
    command.args(features.no_default.then_some("--no-default-features"));
    // Where cargo itself has to run the script, it compiles no kernel for this.
    command.env(look::TELL, out.join("told-to-cargo"));
    for variable in tenfold_core::pass::VARIABLES {
        command.env_remove(variable.name);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Passes on what cargo compiles, which takes a while, and keeps all that it says.
fn progress(child: &mut Child) -> Option<std::thread::JoinHandle<String>> {
    let stderr = child.stderr.take()?;
    Some(std::thread::spawn(move || {
        let mut all = String::new();
        for line in BufReader::new(stderr.take(1 << 20)).lines().map_while(Result::ok) {
            if line.trim_start().starts_with("Compiling ") {
                eprintln!("{line}");
            }
            all += &line;
            all.push('\n');
        }
        all
    }))
}

/// The program that a message of cargo names, if it is the package's build script.
fn executable(line: &str, package: &Package) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(line).ok()?;
    let is_script = message["target"]["kind"].as_array()?.iter().any(|kind| kind == "custom-build");
    if message["reason"] != "compiler-artifact" || message["package_id"] != *package.id || !is_script {
        return None;
    }
    let program = message["executable"].as_str().or_else(|| message["filenames"][0].as_str())?;
    Some(program.into())
}
