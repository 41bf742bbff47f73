//! Files that functions read at build time: weights and models.
//!
//! Their names start at the package's root, or in `$OUT_DIR`, and stay inside it, links resolved. A file's content is
//! hashed once and then known by its length and time.

use crate::uses::FileUse;
use crate::weights::shards;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;
use tenfold_ir::content;

/// Why a name leads to no file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It is absolute or goes above the root.
    Outside,
    /// A link in it leads out of the package.
    Link,
    /// There is no such file.
    Missing,
    /// It cannot be read.
    Unreadable(String),
}

/// How names of files begin that the package's build script makes: they lie in the directory that cargo gives it.
pub(crate) const OUT_DIR: &str = "$OUT_DIR/";

/// The file of a name in a package.
pub(crate) fn locate(package: &Path, name: &str) -> Result<PathBuf, Refusal> {
    match (name.strip_prefix(OUT_DIR), std::env::var_os("OUT_DIR")) {
        (Some(made), Some(out)) => inside(Path::new(&out), made),
        (Some(_), None) => Err(Refusal::Missing),
        (None, _) => inside(package, name),
    }
}

/// The file of a name in a directory.
fn inside(directory: &Path, name: &str) -> Result<PathBuf, Refusal> {
    let relative = Path::new(name);
    let mut depth = 0_usize;
    for component in relative.components() {
        match component {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(Refusal::Outside);
            }
        }
    }
    let path = directory.join(relative);
    let unreadable = |error: std::io::Error| Refusal::Unreadable(error.to_string());
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(Refusal::Missing),
        Err(error) => return Err(unreadable(error)),
    };
    let root = directory.canonicalize().map_err(unreadable)?;
    if !real.starts_with(&root) {
        return Err(Refusal::Link);
    }
    if !real.is_file() {
        return Err(Refusal::Unreadable("it is not a file".into()));
    }
    Ok(path)
}

/// The files that a file names in turn, by names that start at the package's root: the data of a model, the parts of
/// split weights.
pub(crate) fn named_by(package: &Path, used: &FileUse) -> Vec<String> {
    if used.model {
        beside_model(package, &used.file)
    } else if shards::is_index(&used.file) {
        shards::all(package, &used.file)
    } else {
        Vec::new()
    }
}

fn beside_model(package: &Path, model: &str) -> Vec<String> {
    let bytes = locate(package, model).ok().and_then(|path| fs::read(path).ok()).unwrap_or_default();
    let folder = Path::new(model).parent().unwrap_or(Path::new(""));
    let names = tenfold_onnx::external_files(&bytes).into_iter();
    names.map(|name| folder.join(name).to_string_lossy().replace('\\', "/")).collect()
}

/// What is known of files from the last run: length and time, then the hash.
#[derive(Default)]
pub(crate) struct Hashes {
    known: BTreeMap<String, (u64, u128, String)>,
    used: BTreeSet<String>,
    /// What cargo must watch for them.
    pub(crate) watch: BTreeSet<PathBuf>,
}

impl Hashes {
    /// From the file that the last run left.
    pub(crate) fn load(memo: &Path) -> Self {
        let text = fs::read_to_string(memo).unwrap_or_default();
        let known = text.lines().filter_map(|line| {
            let mut parts = line.splitn(4, ' ');
            let length = parts.next()?.parse().ok()?;
            let time = parts.next()?.parse().ok()?;
            let hash = parts.next()?.to_string();
            Some((parts.next()?.to_string(), (length, time, hash)))
        });
        Self { known: known.collect(), ..Self::default() }
    }

    /// For the next run.
    pub(crate) fn print(&self) -> String {
        let used = self.known.iter().filter(|(name, _)| self.used.contains(*name));
        used.map(|(name, (length, time, hash))| format!("{length} {time} {hash} {name}\n")).collect()
    }

    /// The hash of a file's content, or of why there is none; it is watched from now on. One that is refused is not: the
    /// build script runs again in any case while a function that reads it has errors.
    pub(crate) fn of(&mut self, package: &Path, name: &str) -> String {
        let path = match locate(package, name) {
            Ok(path) => path,
            Err(refusal) => return format!("{refusal:?}"),
        };
        self.watch(package, &path);
        self.used.insert(name.to_string());
        let stamp = stamp(&path);
        if let (Some((length, time)), Some(known)) = (stamp, self.known.get(name))
            && (known.0, known.1) == (length, time)
        {
            return known.2.clone();
        }
        let hash = File::open(&path).and_then(|file| content::of_stream(&mut BufReader::new(file)));
        match (hash, stamp) {
            (Ok(hash), Some((length, time))) => {
                self.known.insert(name.to_string(), (length, time, hash.clone()));
                hash
            }
            (Ok(hash), None) => hash,
            (Err(error), _) => error.to_string(),
        }
    }

    /// A file that another replaces by `mv` keeps an older time, and only its directory shows that. The package's
    /// own directory is not watched: everything changes in it.
    fn watch(&mut self, package: &Path, path: &Path) {
        self.watch.insert(path.to_path_buf());
        if let Some(parent) = path.parent() {
            let is_source = parent.starts_with(package.join("src"));
            let is_package = parent.canonicalize().ok() == package.canonicalize().ok();
            if !is_source && !is_package {
                self.watch.insert(parent.to_path_buf());
            }
        }
    }
}

/// Length and time of a file.
fn stamp(path: &Path) -> Option<(u64, u128)> {
    let data = fs::metadata(path).ok()?;
    let time = data.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some((data.len(), time.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str) -> PathBuf {
        let directory = std::env::temp_dir().join(format!("tenfold-files-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(directory.join("weights")).unwrap();
        fs::write(directory.join("weights/w.bin"), "abc").unwrap();
        directory
    }

    #[test]
    fn names_stay_inside() {
        let directory = package("inside");
        assert!(locate(&directory, "weights/w.bin").is_ok());
        assert!(locate(&directory, "weights/../weights/w.bin").is_ok());
        for name in ["../x", "weights/../../x", "/etc/passwd"] {
            assert_eq!(locate(&directory, name), Err(Refusal::Outside), "{name}");
        }
        assert_eq!(locate(&directory, "no"), Err(Refusal::Missing));
        assert!(matches!(locate(&directory, "weights"), Err(Refusal::Unreadable(_))));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("/etc", directory.join("out")).unwrap();
            assert_eq!(locate(&directory, "out/passwd"), Err(Refusal::Link));
        }
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn what_is_known_is_not_read_again() {
        let directory = package("memo");
        let memo = directory.join("memo");
        let mut hashes = Hashes::default();
        let hash = hashes.of(&directory, "weights/w.bin");
        fs::write(&memo, hashes.print().replace(&hash, "remembered")).unwrap();
        let mut again = Hashes::load(&memo);
        assert_eq!(again.of(&directory, "weights/w.bin"), "remembered");
        assert!(again.watch.contains(&directory.join("weights")));
        fs::write(directory.join("weights/w.bin"), "abcd").unwrap();
        let mut changed = Hashes::load(&memo);
        assert_ne!(changed.of(&directory, "weights/w.bin"), "remembered");
        fs::remove_dir_all(directory).unwrap();
    }
}
