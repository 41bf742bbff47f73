//! `cargo tenfold lib`: a library for programs in C, in the child.

use crate::{Outcome, errors, output};
use std::fs;
use std::path::Path;
use tenfold_build::look;

/// Writes archive and header into a folder.
pub(crate) fn run(folder: &Path) -> Outcome {
    let made = match look::system_lib() {
        Ok(Ok(made)) => made,
        Ok(Err(refused)) => {
            let texts: Vec<String> = refused.iter().map(errors::text).collect();
            eprint!("{}", texts.join("\n"));
            return Outcome::Bad;
        }
        Err(error) => {
            output::complain(&error);
            return Outcome::Bad;
        }
    };
    for file in [&made.archive, &made.header] {
        match copy(file, folder) {
            Ok(text) => output::say(&text),
            Err(error) => {
                output::complain(&format!("`{}` cannot be written to: {error}", folder.display()));
                return Outcome::Bad;
            }
        }
    }
    Outcome::Good
}

/// Copies a file; its new path on a line.
fn copy(file: &Path, folder: &Path) -> std::io::Result<String> {
    fs::create_dir_all(folder)?;
    let to = folder.join(file.file_name().unwrap_or_default());
    fs::copy(file, &to)?;
    Ok(format!("{}\n", to.display()))
}
