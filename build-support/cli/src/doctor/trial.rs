//! One function, compiled in a folder of its own as a build would compile it: what all other checks lead to.

use super::{Level, Line, Report};
use crate::cargo::Package;
use crate::config::Config;
use crate::rustc::Rustc;
use crate::{Outcome, errors, output, script};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{env, fs, io, process};
use tenfold_build::look;

const FUNCTION: &str = "#[tensor_fn]\nfn trial(x: Tensor<f32, N>) -> Tensor<f32, N> {\n    exp(x) / 2.0\n}\n";

/// Compiles a function for the target.
pub(super) fn look(rustc: &Rustc, config: &Config, target: &str, report: &mut Report) {
    let folder = env::temp_dir().join(format!("cargo-tenfold-{}", process::id()));
    let line = match attempt(rustc, config, target, &folder) {
        Ok((true, said)) => Line::new(Level::Ok, "a function", said),
        Ok((false, said)) => Line::new(Level::Problem, "a function", "it does not compile").detail(said),
        Err(error) => Line::new(Level::Warn, "a function", format!("not tried: {error}")),
    };
    // what the system keeps of it does no harm
    let _ = fs::remove_dir_all(&folder);
    report.add(line);
}

fn attempt(rustc: &Rustc, config: &Config, target: &str, folder: &Path) -> Result<(bool, String), String> {
    let manifest = write(folder).map_err(|error| format!("`{}`: {error}", folder.display()))?;
    let package = Package {
        id: String::new(),
        name: "trial".into(),
        version: "0.0.0".into(),
        manifest,
        build_script: None,
        asks_for: BTreeSet::new(),
        features: BTreeMap::new(),
    };
    let mut child = script::child(rustc, config, target, &package, &BTreeSet::new(), &folder.join("out"))?;
    let output = child.output().map_err(|error| error.to_string())?;
    let said = [output.stdout, output.stderr].concat();
    Ok((output.status.success(), String::from_utf8_lossy(&said).trim_end().to_string()))
}

fn write(folder: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(folder.join("src"))?;
    fs::write(folder.join("src/lib.rs"), FUNCTION)?;
    let manifest = folder.join("Cargo.toml");
    fs::write(&manifest, "[package]\nname = \"trial\"\n")?;
    Ok(manifest)
}

/// The child's part.
pub(crate) fn run() -> Outcome {
    let found = match look::functions() {
        Ok(found) => found,
        Err(error) => {
            output::say(&error);
            return Outcome::Bad;
        }
    };
    let target = env::var("TARGET").unwrap_or_default();
    let by = if found.backend == "none" { "C" } else { "LLVM" };
    let mut good = false;
    for function in &found.functions {
        if let Some(artefact) = &function.artefact {
            output::say(&format!("compiled for `{target}` through {by}, {} bytes of code", artefact.code_bytes));
            good = true;
        }
        function.errors.iter().for_each(|error| output::say(&errors::text(error)));
    }
    if good { Outcome::Good } else { Outcome::Bad }
}
