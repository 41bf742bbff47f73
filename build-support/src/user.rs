//! Passes that the build script adds. They are closures, so they are in this process and in no message.
//!
//! Workers are this program again. One that needs the closures runs `main` up to [`crate::Build::compile`], where they
//! are known; all others never reach `main`.
//!
//! `cargo tenfold` is no build script: it borrows the program of one, which then does the work of its workers.

use crate::told::Told;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::PathBuf;
use std::sync::OnceLock;
use tenfold_core::pass::UserPass;
use tenfold_ir::content;

static PASSES: OnceLock<Vec<UserPass>> = OnceLock::new();

/// The build script whose program is borrowed.
static BORROWED: OnceLock<Told> = OnceLock::new();

/// Makes them known, once.
pub(crate) fn set(passes: &[UserPass]) {
    PASSES.get_or_init(|| passes.to_vec());
}

/// Has workers be the program of a build script, if that adds passes.
pub(crate) fn borrow(told: &Told) {
    if !told.passes.is_empty() {
        BORROWED.get_or_init(|| told.clone());
    }
}

/// What was made known.
pub(crate) fn passes() -> &'static [UserPass] {
    PASSES.get().map_or(&[], Vec::as_slice)
}

/// Whether workers need what the build script's `main` adds.
pub(crate) fn are_in_main() -> bool {
    BORROWED.get().is_some() || !passes().is_empty()
}

/// The program that workers are.
pub(crate) fn program() -> io::Result<PathBuf> {
    BORROWED.get().map_or_else(std::env::current_exe, |told| Ok(told.program.clone()))
}

/// What tells these passes from others: the program that they are part of, and how they are put together. Empty
/// without any.
pub(crate) fn identity() -> io::Result<String> {
    if let Some(told) = BORROWED.get() {
        return Ok(told.passes.clone());
    }
    if passes().is_empty() {
        return Ok(String::new());
    }
    let program = content::of_stream(&mut BufReader::new(File::open(std::env::current_exe()?)?))?;
    Ok(format!("{program} {:?}", passes()))
}
