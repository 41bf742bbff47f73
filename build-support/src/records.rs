//! The package's records of tuned schedules, which decide code as sources do.

use crate::files::Hashes;
use std::fs;
use std::path::Path;
use tenfold_core::tune::{RECORDS, Records};

/// What the package has, and a line for each entry that cannot be read.
pub(crate) fn of(package: &Path) -> (Records, Vec<String>) {
    match fs::read_to_string(package.join(RECORDS)) {
        Ok(text) => Records::parse(&text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => (Records::default(), Vec::new()),
        Err(error) => (Records::default(), vec![error.to_string()]),
    }
}

/// The hash of the file, which is watched from now on. One that is not there is not watched: cargo would run the build
/// script in every build. `cargo tenfold tune`, which makes it, has the script run once.
pub(crate) fn hash(package: &Path, hashes: &mut Hashes) -> Option<String> {
    package.join(RECORDS).is_file().then(|| hashes.of(package, RECORDS))
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
