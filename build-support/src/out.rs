//! Files in `OUT_DIR`, the only place that is written to.

use crate::object::{archive, symbols};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// Writes a file unless it holds that already: cargo and rustc look at times.
pub(crate) fn write_if_changed(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    replace(path, |out| out.write_all(bytes))
}

/// Writes a file beside its place and moves it there, so that nobody sees a part of it.
pub(crate) fn replace(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    let mut out = BufWriter::new(File::create(&part)?);
    write(&mut out)?;
    out.into_inner()?;
    fs::rename(&part, path)
}

/// The file of an archive.
pub(crate) fn archive_path(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("lib{name}.a"))
}

/// Makes the archive of an object file; `symbol` is what it defines if its format is not ELF.
pub(crate) fn archive_object(directory: &Path, name: &str, object: &[u8], symbol: &str) -> io::Result<()> {
    let found = symbols::defined(object);
    let mut names: Vec<&str> = found.iter().map(String::as_str).collect();
    if names.is_empty() {
        names.push(symbol);
    }
    replace(&archive_path(directory, name), |out| {
        archive::write(out, &format!("{name}.o"), &names, object.len() as u64, |out| out.write_all(object))
    })
}
