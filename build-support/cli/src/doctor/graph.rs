//! Whether the parts of Tenfold that a package builds with belong together.
//!
//! The number that macro, build script and runtime must share is a constant of the `tenfold-abi` that each depends on;
//! it is read from that package's source.

use super::{Level, Line, Report};
use crate::arguments::Arguments;
use crate::cargo::{self, Depth, Graph, Package};
use std::collections::BTreeSet;
use std::fs;

/// The packages that must agree.
const PARTS: [&str; 3] = ["tenfold", "tenfold-build", "tenfold-macros"];

/// The versions in the graph of a package.
pub(super) fn look(arguments: &Arguments, package: &Package, report: &mut Report) {
    let graph = match cargo::metadata(arguments, Depth::Locked) {
        Ok(graph) => graph,
        Err(error) => {
            let first = error.lines().next().unwrap_or_default();
            let line = Line::new(Level::Warn, "versions", "not known before the package was built once").detail(first);
            return report.add(line.next("run `cargo build`, then this again"));
        }
    };
    let mut versions = BTreeSet::new();
    let mut numbers = BTreeSet::new();
    let mut details = Vec::new();
    for part in reached(&graph, &package.id).into_iter().filter(|part| PARTS.contains(&part.name.as_str())) {
        let number = abi_number(&graph, part);
        let shown = number.map_or("unknown".into(), |number| number.to_string());
        details.push(format!("{} {}, ABI {shown}", part.name, part.version));
        versions.insert(part.version.clone());
        numbers.insert(number);
    }
    let line = if numbers.len() > 1 {
        let line = Line::new(Level::Problem, "versions", "the ABI numbers differ, so calls do not compile");
        line.next("give `tenfold` and `tenfold-build` the same version in Cargo.toml, then run `cargo update`")
    } else if versions.len() > 1 {
        let line = Line::new(Level::Warn, "versions", "the ABI numbers agree, the versions differ");
        line.next("give `tenfold` and `tenfold-build` the same version in Cargo.toml")
    } else {
        Line::new(Level::Ok, "versions", "they agree")
    };
    report.add(details.into_iter().fold(line, Line::detail));
    own(&versions, report);
}

/// This program holds a compiler of its own, which is what `list` and `show` run.
fn own(versions: &BTreeSet<String>, report: &mut Report) {
    let own = env!("CARGO_PKG_VERSION");
    if versions.iter().any(|version| version != own) {
        let line =
            Line::new(Level::Warn, "cargo-tenfold", format!("{own}: what it shows may differ from what is built"));
        report.add(line.next("install the `cargo-tenfold` of the version that the package depends on"));
    }
}

/// Everything that a package depends on, in the order of ids.
fn reached<'a>(graph: &'a Graph, from: &str) -> Vec<&'a Package> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from.to_string()];
    while let Some(next) = open.pop() {
        if seen.insert(next.clone()) {
            open.extend(graph.edges.get(&next).into_iter().flatten().cloned());
        }
    }
    seen.iter().filter_map(|id| graph.packages.get(id)).collect()
}

fn abi_number(graph: &Graph, part: &Package) -> Option<u32> {
    let abi = reached(graph, &part.id).into_iter().find(|package| package.name == "tenfold-abi")?;
    let text = fs::read_to_string(abi.directory().join("src/lib.rs")).ok()?;
    let (_, rest) = text.split_once("pub const ABI_VERSION: u32 = ")?;
    rest.split(';').next()?.trim().parse().ok()
}
