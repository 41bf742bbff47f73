//! Folders for what is made and used at once.

use std::path::{Path, PathBuf};
use std::{env, fs, process};

/// A folder that goes away with the value.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// An empty one.
    pub(crate) fn new() -> Result<Scratch, String> {
        let path = env::temp_dir().join(format!("tenfold-model-{}", process::id()));
        fs::create_dir_all(&path).map_err(|e| format!("`{}` cannot be made: {e}", path.display()))?;
        Ok(Scratch(path))
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What the system keeps of it does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}
