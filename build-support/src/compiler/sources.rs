//! What tells one compiler from another in keys.

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;
use tenfold_ir::content::Hasher;

/// A released version is known by its number. One that is built from a checkout changes without a new number, so the
/// state of its files counts too.
pub(crate) fn version() -> String {
    let number = concat!(env!("CARGO_PKG_VERSION"), "+1");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../compiler");
    if !sources.is_dir() {
        return number.into();
    }
    let mut state = Hasher::new();
    for folder in [sources, Path::new(env!("CARGO_MANIFEST_DIR")).join("src")] {
        add(&folder, &mut state);
    }
    format!("{number}+{}", state.finish())
}

/// Names, sizes and times of the Rust files below a folder, in order.
fn add(folder: &Path, state: &mut Hasher) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut entries: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            add(&path, state);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let Ok(data) = fs::metadata(&path) else { continue };
            let time = data.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            let time = time.map_or(0, |time| time.as_nanos());
            state.field(path.file_name().unwrap_or_default().as_encoded_bytes());
            state.field(&data.len().to_le_bytes()).field(&time.to_le_bytes());
        }
    }
}
