//! Where the cases lie.

use std::path::{Path, PathBuf};

/// The folders of cases.
pub const TOPICS: [&str; 5] = ["syntax", "types", "shapes", "proofs", "off_by_one"];

/// The checkout.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
