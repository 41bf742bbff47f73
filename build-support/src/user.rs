//! Passes that the build script adds. They are closures, so they are in this process and in no message.
//!
//! Workers are this program again. One that needs the closures runs `main` up to [`crate::Build::compile`], where they
//! are known; all others never reach `main`.

use crate::hash;
use std::fs::File;
use std::io::{self, BufReader};
use std::sync::OnceLock;
use tenfold_core::pass::UserPass;

static PASSES: OnceLock<Vec<UserPass>> = OnceLock::new();

/// Makes them known, once.
pub(crate) fn set(passes: &[UserPass]) {
    PASSES.get_or_init(|| passes.to_vec());
}

/// What was made known.
pub(crate) fn passes() -> &'static [UserPass] {
    PASSES.get().map_or(&[], Vec::as_slice)
}

/// What tells these passes from others: the program that they are part of, and how they are put together. Empty
/// without any.
pub(crate) fn identity() -> io::Result<String> {
    if passes().is_empty() {
        return Ok(String::new());
    }
    let program = hash::of_stream(&mut BufReader::new(File::open(std::env::current_exe()?)?))?;
    Ok(format!("{program} {:?}", passes()))
}
