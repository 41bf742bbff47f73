//! What a build script says of its build, for `cargo tenfold`.
//!
//! `cargo tenfold` starts the script's program itself. The script runs up to [`crate::Build::compile`], writes down what
//! it chose there and ends. Passes are closures and cannot be written down: workers that need them are the script's
//! program too.

use crate::user;
use crate::worker::wire::{Put, Take};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The variable that names the file to write.
pub(crate) const VARIABLE: &str = "TENFOLD_TELL";

/// What tells a file of this version from others.
const HEAD: &str = concat!("tenfold-build ", env!("CARGO_PKG_VERSION"));

/// What a build script chose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// Its program.
    pub(crate) program: PathBuf,
    /// What tells its passes from others; empty if it adds none.
    pub(crate) passes: String,
    /// The most seconds for one function.
    pub(crate) seconds: Option<u64>,
    /// Its settings of passes, as the environment would say them.
    pub(crate) settings: Vec<(String, String)>,
}

/// Writes down what was chosen and ends the process, if that is all that is asked of it.
pub(crate) fn tell_if_asked(time_limit: Option<Duration>, settings: &[(String, String)]) {
    let Some(file) = env::var_os(VARIABLE) else { return };
    let told = Told {
        program: env::current_exe().unwrap_or_default(),
        passes: user::identity().unwrap_or_else(|error| error.to_string()),
        seconds: time_limit.map(|limit| limit.as_secs()),
        settings: settings.to_vec(),
    };
    if let Err(error) = fs::write(&file, told.to_bytes()) {
        eprintln!("tenfold: `{}` cannot be written: {error}", Path::new(&file).display());
    }
    // nothing was compiled: cargo, if it waits, must not take this for a build
    std::process::exit(1)
}

impl Told {
    /// Reads what was written.
    pub(crate) fn read(file: &Path) -> Option<Self> {
        Self::from_bytes(&fs::read(file).ok()?)
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut put = Put::default();
        put.text(HEAD);
        put.text(&self.program.to_string_lossy());
        put.text(&self.passes);
        put.option(self.seconds, Put::number);
        put.list(&self.settings, |put, (variable, value)| {
            put.text(variable);
            put.text(value);
        });
        put.finish()
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut take = Take::new(bytes);
        if take.text()? != HEAD {
            return None;
        }
        let told = Self {
            program: take.text()?.into(),
            passes: take.text()?,
            seconds: take.option(Take::number)?,
            settings: take.list(|take| Some((take.text()?, take.text()?)))?,
        };
        take.end()?;
        Some(told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips() {
        let told = Told {
            program: "/p/build-script-build".into(),
            passes: "1 [Count in Fusion]".into(),
            seconds: Some(9),
            settings: vec![("TENFOLD_DISABLE".into(), "PadConv".into())],
        };
        let bytes = told.to_bytes();
        assert_eq!(Told::from_bytes(&bytes).as_ref(), Some(&told));
        for end in 0..bytes.len() {
            assert_eq!(Told::from_bytes(&bytes[..end]), None);
        }
    }
}
