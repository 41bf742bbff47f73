//! What cargo's configuration says of targets and flags, since both decide what code is generated.
//!
//! Of tables under `target`, those that go by a triple are read, and not those that go by a `cfg`.

use crate::arguments::Arguments;
use std::env;
use std::fs;
use std::path::PathBuf;
use toml::{Table, Value};

/// The configuration files that count in this directory, the nearest first.
pub(crate) struct Config {
    files: Vec<Table>,
}

impl Config {
    /// `.cargo/config.toml` here and above, then the one in cargo's home.
    pub(crate) fn read() -> Self {
        let here = env::current_dir().unwrap_or_default();
        let mut folders: Vec<PathBuf> = here.ancestors().map(|folder| folder.join(".cargo")).collect();
        let home = env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
        folders.extend(home.filter(|home| !folders.contains(home)));
        let read = |folder: &PathBuf| {
            let text = ["config", "config.toml"].iter().find_map(|name| fs::read_to_string(folder.join(name)).ok());
            text?.parse().ok()
        };
        Self { files: folders.iter().filter_map(read).collect() }
    }

    /// The target of a build: the command line, the environment, the configuration, the host.
    pub(crate) fn target(&self, arguments: &Arguments, host: &str) -> String {
        let of_environment = || env::var("CARGO_BUILD_TARGET").ok().filter(|target| !target.is_empty());
        let of_files = || self.files.iter().find_map(|file| Some(file.get("build")?.get("target")?.as_str()?.into()));
        let found = arguments.target.clone().or_else(of_environment).or_else(of_files);
        found.unwrap_or_else(|| host.into())
    }

    /// The flags of rustc: of the first that has any of the environment, the target's table and the build's.
    pub(crate) fn rustflags(&self, target: &str) -> Vec<String> {
        if let Ok(flags) = env::var("CARGO_ENCODED_RUSTFLAGS") {
            return flags.split('\u{1f}').filter(|flag| !flag.is_empty()).map(String::from).collect();
        }
        if let Ok(flags) = env::var("RUSTFLAGS") {
            return flags.split_whitespace().map(String::from).collect();
        }
        let of_target = self.joined(|file| file.get("target")?.get(target)?.get("rustflags"));
        if !of_target.is_empty() {
            return of_target;
        }
        self.joined(|file| file.get("build")?.get("rustflags"))
    }

    /// Lists add up, those of the nearest file last.
    fn joined(&self, get: impl Fn(&Table) -> Option<&Value>) -> Vec<String> {
        self.files.iter().rev().filter_map(|file| Some(flags(get(file)?))).flatten().collect()
    }
}

fn flags(value: &Value) -> Vec<String> {
    match value {
        Value::Array(list) => list.iter().filter_map(|flag| Some(flag.as_str()?.to_string())).collect(),
        Value::String(text) => text.split_whitespace().map(String::from).collect(),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) | Value::Table(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_file_has_the_last_word() {
        let near = "[build]\nrustflags = [\"-Ctarget-cpu=native\"]\ntarget = \"near\"\n";
        let far = "[build]\nrustflags = \"-Copt-level=3 -g\"\ntarget = \"far\"\n[target.t]\nrustflags = [\"-Cx\"]\n";
        let config = Config { files: [near, far].iter().map(|text| text.parse().expect("TOML")).collect() };
        let build = config.joined(|file| file.get("build")?.get("rustflags"));
        assert_eq!(build, ["-Copt-level=3", "-g", "-Ctarget-cpu=native"]);
        let target = config.joined(|file| file.get("target")?.get("t")?.get("rustflags"));
        assert_eq!(target, ["-Cx"]);
    }
}
