//! Crate roots of a package, as cargo finds them.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Where a module tree starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Root {
    /// `lib:name`, `bin:name`, `example:name`, `test:name`, `bench:name`.
    pub(crate) name: String,
    /// Relative to the package.
    pub(crate) file: PathBuf,
    /// Whether the package cannot be built without it: its library, or else its binaries.
    pub(crate) main: bool,
}

/// A kind of target that a package may have several of.
struct Kind {
    key: &'static str,
    automatic: &'static str,
    directory: &'static str,
}

const KINDS: [Kind; 4] = [
    Kind { key: "bin", automatic: "autobins", directory: "src/bin" },
    Kind { key: "example", automatic: "autoexamples", directory: "examples" },
    Kind { key: "test", automatic: "autotests", directory: "tests" },
    Kind { key: "bench", automatic: "autobenches", directory: "benches" },
];

/// The roots of the package in a directory; the library comes first.
pub(crate) fn of(directory: &Path) -> Vec<Root> {
    let text = std::fs::read_to_string(directory.join("Cargo.toml")).unwrap_or_default();
    let manifest: Table = text.parse().unwrap_or_default();
    let mut roots = Vec::new();
    roots.extend(library(directory, &manifest));
    let has_library = !roots.is_empty();
    for kind in &KINDS {
        let mut targets = targets(directory, &manifest, kind);
        for target in &mut targets {
            target.main = kind.key == "bin" && !has_library;
        }
        roots.extend(targets);
    }
    roots
}

fn package<'a>(manifest: &'a Table, key: &str) -> Option<&'a Value> {
    manifest.get("package")?.get(key)
}

fn package_name(manifest: &Table) -> String {
    let name = package(manifest, "name").and_then(Value::as_str);
    name.map(String::from).or_else(|| env::var("CARGO_PKG_NAME").ok()).unwrap_or_default()
}

fn library(directory: &Path, manifest: &Table) -> Option<Root> {
    let section = manifest.get("lib");
    if section.is_none() && package(manifest, "autolib").and_then(Value::as_bool) == Some(false) {
        return None;
    }
    let text = |key| section?.get(key)?.as_str().map(String::from);
    let name = text("name").unwrap_or_else(|| package_name(manifest));
    let file = PathBuf::from(text("path").unwrap_or_else(|| "src/lib.rs".into()));
    directory.join(&file).is_file().then(|| Root { name: format!("lib:{}", name.replace('-', "_")), file, main: true })
}

fn targets(directory: &Path, manifest: &Table, kind: &Kind) -> Vec<Root> {
    let listed = manifest.get(kind.key).and_then(Value::as_array);
    let listed = listed.map(Vec::as_slice).unwrap_or_default();
    let mut names = BTreeSet::new();
    let mut files = BTreeSet::new();
    let mut roots = Vec::new();
    let root = |name: &str, file: PathBuf| Root { name: format!("{}:{name}", kind.key), file, main: false };
    for target in listed {
        let Some(name) = target.get("name").and_then(Value::as_str) else {
            continue;
        };
        let path = target.get("path").and_then(Value::as_str);
        let file = match path {
            Some(path) => Some(PathBuf::from(path)),
            None => by_name(directory, manifest, kind, name),
        };
        let Some(file) = file else { continue };
        names.insert(name.to_string());
        if files.insert(file.clone()) && is_enabled(target) {
            roots.push(root(name, file));
        }
    }
    if is_automatic(manifest, kind, !listed.is_empty()) {
        for (name, file) in automatic(directory, manifest, kind) {
            if !names.contains(&name) && files.insert(file.clone()) {
                roots.push(root(&name, file));
            }
        }
    }
    roots.retain(|root| directory.join(&root.file).is_file());
    roots
}

/// Whether cargo looks for files beside the targets that are listed.
fn is_automatic(manifest: &Table, kind: &Kind, any_listed: bool) -> bool {
    let edition = package(manifest, "edition").and_then(|v| Some(v.as_str()?.to_string()));
    let inherited = package(manifest, "edition").is_some_and(Value::is_table);
    let oldest = !inherited && edition.as_deref().unwrap_or("2015") == "2015";
    package(manifest, kind.automatic).and_then(Value::as_bool).unwrap_or(!(oldest && any_listed))
}

/// The file of a target that is listed without one.
fn by_name(directory: &Path, manifest: &Table, kind: &Kind, name: &str) -> Option<PathBuf> {
    let base = Path::new(kind.directory);
    let mut candidates = vec![base.join(format!("{name}.rs")), base.join(name).join("main.rs")];
    if kind.key == "bin" && name == package_name(manifest) {
        candidates.push("src/main.rs".into());
    }
    candidates.into_iter().find(|file| directory.join(file).is_file())
}

/// The targets that cargo finds by their files, in the order of their names.
fn automatic(directory: &Path, manifest: &Table, kind: &Kind) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    if kind.key == "bin" {
        found.push((package_name(manifest), PathBuf::from("src/main.rs")));
    }
    let base = Path::new(kind.directory);
    let entries = std::fs::read_dir(directory.join(base)).into_iter().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    for name in names {
        match name.strip_suffix(".rs") {
            Some(stem) => found.push((stem.to_string(), base.join(&name))),
            None => found.push((name.clone(), base.join(&name).join("main.rs"))),
        }
    }
    found
}

/// Whether the features that a target requires are on.
fn is_enabled(target: &Value) -> bool {
    let required = target.get("required-features").and_then(Value::as_array);
    required.into_iter().flatten().all(|feature| {
        let Some(feature) = feature.as_str() else {
            return true;
        };
        let own = !feature.contains('/');
        let name = feature.to_uppercase().replace('-', "_");
        !own || env::var_os(format!("CARGO_FEATURE_{name}")).is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A package in a directory of its own; each file is empty but for the manifest.
    fn package(name: &str, manifest: &str, files: &[&str]) -> PathBuf {
        let directory = env::temp_dir().join(format!("tenfold-roots-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&directory);
        for file in files {
            let path = directory.join(file);
            std::fs::create_dir_all(path.parent().unwrap_or(&directory)).unwrap();
            std::fs::write(path, "").unwrap();
        }
        std::fs::write(directory.join("Cargo.toml"), manifest).unwrap();
        directory
    }

    fn names(directory: &Path) -> Vec<String> {
        let mut out: Vec<_> = of(directory)
            .into_iter()
            .map(|r| format!("{}{} {}", r.name, if r.main { "!" } else { "" }, r.file.display()))
            .collect();
        std::fs::remove_dir_all(directory).unwrap();
        out.sort();
        out
    }

    #[test]
    fn what_cargo_finds() {
        let directory = package(
            "auto",
            "[package]\nname = \"a-b\"\nedition = \"2021\"\n",
            &[
                "src/lib.rs",
                "src/main.rs",
                "src/bin/x.rs",
                "src/bin/y/main.rs",
                "src/bin/y/z.rs",
                "tests/t.rs",
                "tests/common/mod.rs",
                "examples/e.rs",
                "benches/b.rs",
            ],
        );
        assert_eq!(
            names(&directory),
            [
                "bench:b benches/b.rs",
                "bin:a-b src/main.rs",
                "bin:x src/bin/x.rs",
                "bin:y src/bin/y/main.rs",
                "example:e examples/e.rs",
                "lib:a_b! src/lib.rs",
                "test:t tests/t.rs",
            ]
        );
    }

    #[test]
    fn what_the_manifest_says() {
        let directory = package(
            "listed",
            "[package]\nname = \"p\"\nedition = \"2021\"\nautotests = false\n\
             [[bin]]\nname = \"q\"\npath = \"q.rs\"\n\
             [[bin]]\nname = \"r\"\n\
             [[test]]\nname = \"s\"\npath = \"tests/s/s.rs\"\n\
             [[bin]]\nname = \"off\"\npath = \"src/bin/off.rs\"\nrequired-features = [\"never\"]\n",
            &["q.rs", "src/bin/r.rs", "src/bin/off.rs", "tests/s/s.rs", "tests/t.rs"],
        );
        assert_eq!(names(&directory), ["bin:q! q.rs", "bin:r! src/bin/r.rs", "test:s tests/s/s.rs"]);
    }

    #[test]
    fn the_oldest_edition_lists_everything() {
        let directory = package(
            "2015",
            "[package]\nname = \"p\"\n[[bin]]\nname = \"q\"\npath = \"q.rs\"\n",
            &["q.rs", "src/bin/r.rs"],
        );
        assert_eq!(names(&directory), ["bin:q! q.rs"]);
    }
}
