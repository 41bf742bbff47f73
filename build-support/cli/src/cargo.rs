//! What cargo says of packages, through `cargo metadata`.

use crate::arguments::Arguments;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::rustc::Rustc;

/// A package in a graph.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    /// Cargo's name for it, of which nothing is assumed.
    pub(crate) id: String,
    /// `CARGO_PKG_NAME`.
    pub(crate) name: String,
    /// `CARGO_PKG_VERSION`.
    pub(crate) version: String,
    /// The path of its `Cargo.toml`.
    pub(crate) manifest: PathBuf,
    /// The build script, if it has one.
    pub(crate) build_script: Option<PathBuf>,
    /// The names of the packages that it asks for.
    pub(crate) asks_for: BTreeSet<String>,
    /// Its features, each with what it activates.
    pub(crate) features: BTreeMap<String, Vec<String>>,
}

impl Package {
    /// The directory of its manifest.
    pub(crate) fn directory(&self) -> &Path {
        self.manifest.parent().unwrap_or(Path::new(""))
    }
}

/// Packages and what they depend on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Graph {
    /// By id.
    pub(crate) packages: BTreeMap<String, Package>,
    /// The packages of the workspace.
    pub(crate) members: Vec<String>,
    /// The package of the manifest that the search started from.
    pub(crate) root: Option<String>,
    /// What each depends on, unless only members were asked for.
    pub(crate) edges: BTreeMap<String, Vec<String>>,
    /// Where builds write to.
    pub(crate) target_directory: PathBuf,
}

/// How much of the graph is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// The workspace alone: needs no lock file and no registry.
    Members,
    /// Everything, without the network and without a change of the lock file.
    Locked,
}

/// Asks cargo.
pub(crate) fn metadata(arguments: &Arguments, depth: Depth) -> Result<Graph, String> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(cargo);
    command.args(["metadata", "--format-version", "1", "--color", "never"]);
    if let Some(manifest) = &arguments.manifest {
        command.arg("--manifest-path").arg(manifest);
    }
    match depth {
        Depth::Members => command.arg("--no-deps"),
        Depth::Locked => {
            // What other platforms need may never have been downloaded.
            if let Ok(rustc) = Rustc::find() {
                command.args(["--filter-platform", &rustc.host]);
            }
            command.args(["--locked", "--offline"])
        }
    };
    let output = command.output().map_err(|error| format!("cargo does not start: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim();
        return Err(said.strip_prefix("error: ").unwrap_or(said).to_string());
    }
    let value: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("`cargo metadata` printed what cannot be read: {error}"))?;
    Ok(graph(&value, arguments))
}

/// The package that the command line means.
pub(crate) fn choose<'a>(graph: &'a Graph, arguments: &Arguments) -> Result<&'a Package, String> {
    let members = || graph.members.iter().filter_map(|id| graph.packages.get(id));
    let names = || members().map(|p| format!("`{}`", p.name)).collect::<Vec<_>>().join(", ");
    if let Some(name) = &arguments.package {
        let found = members().find(|package| package.name == *name);
        return found.ok_or_else(|| format!("the workspace has no package `{name}`; it has {}", names()));
    }
    if let Some(package) = graph.root.as_ref().and_then(|root| graph.packages.get(root)) {
        return Ok(package);
    }
    let mut all = members();
    match (all.next(), all.next()) {
        (Some(only), None) => Ok(only),
        (None, _) => Err("the workspace has no package".into()),
        (Some(_), Some(_)) => {
            Err(format!("this workspace has several packages; add `--package` with one of {}", names()))
        }
    }
}

fn graph(value: &Value, arguments: &Arguments) -> Graph {
    let packages = array(value, "packages").iter().filter_map(package);
    let resolve = &value["resolve"];
    let mut graph = Graph {
        packages: packages.map(|package| (package.id.clone(), package)).collect(),
        members: texts(value, "workspace_members"),
        root: resolve["root"].as_str().map(String::from),
        target_directory: value["target_directory"].as_str().unwrap_or_default().into(),
        ..Graph::default()
    };
    for node in array(resolve, "nodes") {
        let id = node["id"].as_str().unwrap_or_default().to_string();
        graph.edges.insert(id, texts(node, "dependencies"));
    }
    if graph.root.is_none() {
        graph.root = root(&graph, value, arguments);
    }
    graph
}

/// `--no-deps` leaves the root out. It is the member of the manifest named, or whose directory is the nearest above.
fn root(graph: &Graph, value: &Value, arguments: &Arguments) -> Option<String> {
    let defaults = texts(value, "workspace_default_members");
    if let Some(manifest) = &arguments.manifest {
        let real = manifest.canonicalize().ok()?;
        let named = graph.packages.values().find(|package| package.manifest.canonicalize().ok() == Some(real.clone()));
        return named.map(|package| package.id.clone());
    }
    let here = env::current_dir().ok()?;
    let above = graph.packages.values().filter(|package| here.starts_with(package.directory()));
    let nearest = above.max_by_key(|package| package.directory().as_os_str().len());
    let only = (defaults.len() == 1).then(|| defaults[0].clone());
    only.or_else(|| nearest.map(|package| package.id.clone()))
}

fn package(value: &Value) -> Option<Package> {
    let text = |key: &str| value[key].as_str().map(String::from);
    let is_script = |target: &&Value| texts(target, "kind").iter().any(|kind| kind == "custom-build");
    let script = array(value, "targets").iter().find(is_script);
    let asks_for = array(value, "dependencies").iter().filter_map(|d| Some(d["name"].as_str()?.to_string()));
    let features = value["features"].as_object().into_iter().flatten();
    Some(Package {
        id: text("id")?,
        name: text("name")?,
        version: text("version")?,
        manifest: text("manifest_path")?.into(),
        build_script: script.and_then(|script| Some(script["src_path"].as_str()?.into())),
        asks_for: asks_for.collect(),
        features: features.map(|(name, _)| (name.clone(), texts(&value["features"], name))).collect(),
    })
}

fn array<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map(Vec::as_slice).unwrap_or_default()
}

fn texts(value: &Value, key: &str) -> Vec<String> {
    array(value, key).iter().filter_map(|text| Some(text.as_str()?.to_string())).collect()
}
