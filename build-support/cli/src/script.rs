//! `list` and `show` run in a child that looks like the package's build script to `tenfold-build`.
//!
//! The other way would be to run `cargo check`, take `OUT_DIR` from its messages and read the index there. It needs a
//! build script, every dependency compiled, and the standard library of the target; it shows nothing where one of them
//! fails, and the index holds neither signatures nor what the macro refuses by itself. The search and the compiler are
//! the same code here and there, so a child with cargo's variables sees the same functions with nothing built: for any
//! target that rustc knows, beside errors in the rest of the crate, and without a build script. What it cannot know is
//! what other code of the build script does: a `rustc-cfg` that it sets counts as undetermined, a file that it generates
//! is not there.
//!
//! It writes to a folder of its own in the target directory, where compiled functions are cached as in a build.

use crate::arguments::{self, Arguments, Features};
use crate::cargo::{self, Depth, Package};
use crate::config::Config;
use crate::rustc::Rustc;
use crate::{Outcome, build_script, doctor, output};
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use tenfold_build::look;

/// The variable that makes this program the child.
const VARIABLE: &str = "CARGO_TENFOLD_CHILD";

/// Whether this is the child.
pub(crate) fn is_child() -> bool {
    env::var_os(VARIABLE).is_some()
}

/// Runs the same command in the child.
pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match start(arguments) {
        Ok(outcome) => outcome,
        Err(error) => {
            output::complain(&error);
            Outcome::Bad
        }
    }
}

fn start(arguments: &Arguments) -> Result<Outcome, String> {
    let status = command(arguments)?.status();
    let status = status.map_err(|error| format!("this program cannot be started again: {error}"))?;
    match status.code() {
        Some(0) => Ok(Outcome::Good),
        Some(1) => Ok(Outcome::Bad),
        Some(_) | None => Err(format!("this is an error of Tenfold, please report it: {status}")),
    }
}

/// This program with the same arguments, as the child.
pub(crate) fn command(arguments: &Arguments) -> Result<Command, String> {
    let graph = cargo::metadata(arguments, Depth::Members)?;
    let package = cargo::choose(&graph, arguments)?;
    let features = active(package, &arguments.features)?;
    if package.asks_for.contains("tenfold")
        && let Err((text, next)) = doctor::check_build_script(package)
    {
        eprintln!("warning: build script: {text}\n  = help: {next}");
    }
    let rustc = Rustc::find()?;
    let config = Config::read();
    let target = config.target(arguments, &rustc.host);
    let out = graph.target_directory.join("tenfold").join(format!("{}-{}", package.name, package.version));
    let out = out.join(format!("{target}-{}", rustc.release));
    fs::create_dir_all(&out).map_err(|error| format!("`{}` cannot be made: {error}", out.display()))?;
    let mut child = child(&rustc, &config, &target, package, &features, &out)?;
    // what is measured here is what this very processor runs
    if matches!(arguments.command, arguments::Command::Explain { .. }) && target == rustc.host {
        child.env(FEATURES, features_here(&rustc)?);
    }
    if build_script::chooses(package) {
        let set = child.get_envs().map(|(name, value)| (name.into(), value.map(Into::into))).collect::<Vec<_>>();
        match build_script::ask(arguments, package, &set, &out) {
            Ok(file) => drop(child.env(build_script::VARIABLE, file)),
            Err(error) => eprintln!("warning: what the build script chooses is not seen: {error}"),
        }
    }
    Ok(child)
}

/// The variable with the features of the processor.
const FEATURES: &str = "CARGO_CFG_TARGET_FEATURE";

/// Every feature that this machine's processor has.
fn features_here(rustc: &Rustc) -> Result<String, String> {
    let printed = rustc.print("cfg", &["-C", "target-cpu=native"])?;
    let features = printed.lines().filter_map(|line| line.strip_prefix("target_feature=\"")?.strip_suffix('"'));
    Ok(features.collect::<Vec<_>>().join(","))
}

/// In the child: follows what the build script chose.
pub(crate) fn follow_build_script() {
    let Some(file) = env::var_os(build_script::VARIABLE) else { return };
    if let Err(error) = look::follow(Path::new(&file)) {
        eprintln!("warning: what the build script chooses is not seen: {error}");
    }
}

/// The child, with the variables that cargo gives to a build script.
pub(crate) fn child(
    rustc: &Rustc,
    config: &Config,
    target: &str,
    package: &Package,
    features: &BTreeSet<String>,
    out: &Path,
) -> Result<Command, String> {
    let mut variables = of_target(rustc, config, target)?;
    variables.extend(of_package(package, features));
    let jobs = thread::available_parallelism().map_or(1, usize::from);
    let text = |path: &Path| path.to_string_lossy().into_owned();
    for (name, value) in [
        ("OUT_DIR", text(out)),
        ("TARGET", target.into()),
        ("HOST", rustc.host.clone()),
        ("NUM_JOBS", jobs.to_string()),
        ("RUSTC", text(Path::new(&rustc.program))),
        (VARIABLE, "1".into()),
    ] {
        variables.insert(name.into(), value);
    }
    with_variables(&variables)
}

/// This program with the same arguments, these variables and no other of cargo's.
fn with_variables(variables: &BTreeMap<String, String>) -> Result<Command, String> {
    let program = env::current_exe().map_err(|error| format!("this program has no path: {error}"))?;
    let mut command = Command::new(program);
    for (name, _) in env::vars_os() {
        let shown = name.to_string_lossy();
        let of_package = ["CARGO_CFG_", "CARGO_FEATURE_", "CARGO_PKG_"].iter().any(|prefix| shown.starts_with(prefix));
        if of_package || matches!(&*shown, "MAKEFLAGS" | "MFLAGS" | "CARGO_MAKEFLAGS") {
            command.env_remove(&name);
        }
    }
    command.args(env::args_os().skip(1)).envs(variables);
    Ok(command)
}

/// `CARGO_CFG_*`, as rustc tells them.
fn of_target(rustc: &Rustc, config: &Config, target: &str) -> Result<BTreeMap<String, String>, String> {
    let flags = config.rustflags(target);
    let mut more = vec!["--target", target];
    more.extend(flags.iter().map(String::as_str));
    let printed = rustc.print("cfg", &more)?;
    let mut variables: BTreeMap<String, String> = BTreeMap::new();
    for line in printed.lines() {
        let (name, value) = line.split_once('=').unwrap_or((line, ""));
        let name = format!("CARGO_CFG_{}", name.to_uppercase().replace('-', "_"));
        let values = variables.entry(name).or_default();
        if !values.is_empty() {
            values.push(',');
        }
        values.push_str(value.trim_matches('"'));
    }
    Ok(variables)
}

fn of_package(package: &Package, features: &BTreeSet<String>) -> BTreeMap<String, String> {
    let directory: PathBuf = package.directory().into();
    let mut variables = BTreeMap::from([
        ("CARGO_MANIFEST_DIR".into(), directory.to_string_lossy().into_owned()),
        ("CARGO_PKG_NAME".into(), package.name.clone()),
        ("CARGO_PKG_VERSION".into(), package.version.clone()),
    ]);
    for feature in features {
        variables.insert(format!("CARGO_FEATURE_{}", feature.to_uppercase().replace('-', "_")), "1".into());
    }
    variables
}

/// The features that are active, with what they activate in the same package.
fn active(package: &Package, asked: &Features) -> Result<BTreeSet<String>, String> {
    let known = |name: &String| package.features.contains_key(name);
    if let Some(unknown) = asked.names.iter().find(|name| !known(name) && !name.contains('/')) {
        let names: Vec<String> = package.features.keys().map(|name| format!("`{name}`")).collect();
        let names = if names.is_empty() { "none".into() } else { names.join(", ") };
        return Err(format!("`{}` has no feature `{unknown}`; it has {names}", package.name));
    }
    let mut open = asked.names.clone();
    if asked.all {
        open.extend(package.features.keys().cloned());
    }
    if !asked.no_default {
        open.push("default".into());
    }
    let mut active = BTreeSet::new();
    while let Some(name) = open.pop() {
        // `name/feature` activates the optional dependency `name`, `name?/feature` does not
        let own = name.split('/').next().unwrap_or_default().to_string();
        if known(&own) && active.insert(own.clone()) {
            open.extend(package.features[&own].iter().cloned());
        }
    }
    Ok(active)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package() -> Package {
        let list = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        let features = [
            ("default", list(&["std"])),
            ("std", list(&["alloc", "log?/std"])),
            ("alloc", list(&[])),
            ("log", list(&["dep:log"])),
            ("rand", list(&["dep:rand"])),
            ("dice", list(&["rand/small"])),
        ];
        Package {
            id: String::new(),
            name: "p".into(),
            version: "1.0.0".into(),
            manifest: "/p/Cargo.toml".into(),
            build_script: None,
            asks_for: BTreeSet::new(),
            features: features.into_iter().map(|(name, list)| (name.to_string(), list)).collect(),
        }
    }

    #[test]
    fn features_activate_features() {
        let of = |names: &[&str], no_default| {
            let names = names.iter().map(|name| name.to_string()).collect();
            let active = active(&package(), &Features { names, all: false, no_default })?;
            Ok::<_, String>(active.into_iter().collect::<Vec<_>>().join(" "))
        };
        assert_eq!(of(&[], false).as_deref(), Ok("alloc default std"));
        assert_eq!(of(&[], true).as_deref(), Ok(""));
        assert_eq!(of(&["dice"], true).as_deref(), Ok("dice rand"));
        let error = of(&["dise"], true).expect_err("there is no such feature");
        assert_eq!(error, "`p` has no feature `dise`; it has `alloc`, `default`, `dice`, `log`, `rand`, `std`");
    }
}
