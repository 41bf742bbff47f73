//! The package's records of tuned schedules, which decide code as sources do.

use crate::files::Hashes;
use std::fs;
use std::path::Path;
use tenfold_core::tune::{RECORDS, Records};
use tenfold_ir::content::Hasher;

/// What the package has, and a line for each entry that cannot be read.
pub(crate) fn of(package: &Path) -> (Records, Vec<String>) {
    match fs::read_to_string(package.join(RECORDS)) {
        Ok(text) => Records::parse(&text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => (Records::default(), Vec::new()),
        Err(error) => (Records::default(), vec![error.to_string()]),
    }
}

/// The hash of the file, which is watched from now on. One that is not there is not watched: cargo would run the build
/// script in every build. `cargo tenfold tune`, which makes it, has the script run once. Several packages may share one by
/// links that lead out of them.
pub(crate) fn hash(package: &Path, hashes: &mut Hashes) -> Option<String> {
    let path = package.join(RECORDS);
    path.is_file().then(|| {
        let text = fs::read(&path).unwrap_or_default();
        hashes.watch.insert(path);
        Hasher::new().field(&text).finish()
    })
}

/// What the user must act on: entries that cannot be read, and those that do not fit their kernels.
pub(crate) fn warnings<'a>(package: &Path, refused: impl Iterator<Item = &'a String>) -> Vec<String> {
    let (_, wrong) = of(package);
    let next = "`cargo tenfold tune` writes it anew, and the rest of the file holds";
    let mut all: Vec<String> = wrong.iter().map(|why| format!("`{RECORDS}`: {why}; {next}")).collect();
    let mut refused: Vec<String> = refused.map(|why| format!("`{RECORDS}`: {why}; {next}")).collect();
    refused.sort();
    refused.dedup();
    all.extend(refused);
    all
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn records_behind_a_link_are_read_again() {
        let directory = std::env::temp_dir().join(format!("tenfold-records-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(directory.join("package")).unwrap();
        fs::write(directory.join("shared"), "# One.").unwrap();
        std::os::unix::fs::symlink("../shared", directory.join("package").join(RECORDS)).unwrap();
        let mut hashes = Hashes::default();
        let mut hash = || hash(&directory.join("package"), &mut hashes);
        let before = hash();
        assert!(before.is_some() && before == hash());
        fs::write(directory.join("shared"), "# Two.").unwrap();
        assert_ne!(before, hash());
        fs::remove_dir_all(directory).unwrap();
    }
}
