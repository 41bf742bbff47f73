//! What the documents say of the repository is so.

use std::fs;
use tenfold_tests::tools;

fn read(path: &str) -> String {
    fs::read_to_string(tools::root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The README shows the crate that a user copies, and that crate is built by the workspace.
#[test]
fn the_readme_shows_saxpy_as_it_is() {
    let readme = read("README.md");
    for file in ["examples/saxpy/build.rs", "examples/saxpy/src/main.rs"] {
        let block = format!("```rust\n{}```", read(file));
        assert!(readme.contains(&block), "README.md does not show {file} as it is");
    }
}

#[test]
fn the_readme_names_files_that_exist() {
    let readme = read("README.md");
    for link in readme.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        if !link.starts_with("https://") {
            assert!(tools::root().join(link).exists(), "README.md names {link}, which is absent");
        }
    }
}

#[test]
fn every_dependency_has_its_row_and_every_row_a_dependency() {
    let manifest = read("Cargo.toml");
    let (_, table) = manifest.split_once("[workspace.dependencies]\n").expect("the table");
    let table = table.split("\n[").next().unwrap_or(table);
    let mut named: Vec<&str> = table
        .lines()
        .filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()))
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, _)| name)
        .filter(|name| !name.starts_with("tenfold"))
        .collect();
    let document = read("compiler/docs/dependencies.md");
    let rows = document.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let mut rows: Vec<&str> = rows.map(|(name, _)| name).collect();
    named.sort_unstable();
    rows.sort_unstable();
    assert_eq!(rows, named, "left: dependencies.md, right: Cargo.toml");
}
