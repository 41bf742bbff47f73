//! The identity of a function: a hash of its canonical text.
//!
//! The macro and the build script compute it apart from each other and meet by it. It is the same on every machine and
//! in every release that reads functions the same way; `FORMAT` changes when they are read otherwise.

use xxhash_rust::xxh3::xxh3_128;

use crate::ast::TensorFn;

/// Goes up when the same source gives another tree or another text.
const FORMAT: &str = "tenfold-fn 1\n";

/// 128 bits as 32 hexadecimal digits. Formatting, parentheses, comments, doc comments, visibility and attributes that
/// are not ours do not matter.
pub fn fingerprint(f: &TensorFn) -> String {
    hash128(format!("{FORMAT}{}", crate::print::print(f)).as_bytes())
}

/// 128 bits of XXH3 as 32 hexadecimal digits: stable across machines and releases, not secure against forgery.
pub fn hash128(bytes: &[u8]) -> String {
    format!("{:032x}", xxh3_128(bytes))
}
