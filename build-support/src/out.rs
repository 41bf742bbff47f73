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

/// An object file.
pub(crate) struct Object {
    /// Its name in an archive, without `.o`.
    pub(crate) name: String,
    /// What it defines if its format is not ELF.
    pub(crate) symbol: String,
    /// Its content.
    pub(crate) bytes: Vec<u8>,
}

/// Makes the archive of object files.
pub(crate) fn archive_objects(directory: &Path, name: &str, objects: &[Object]) -> io::Result<()> {
    let members: Vec<archive::Member> = objects.iter().map(member).collect();
    replace(&archive_path(directory, name), |out| {
        archive::write(out, &members, |out, number| out.write_all(&objects[number].bytes))
    })
}

fn member(object: &Object) -> archive::Member {
    let mut symbols = symbols::defined(&object.bytes);
    if symbols.is_empty() {
        symbols.push(object.symbol.clone());
    }
    archive::Member { name: format!("{}.o", object.name), symbols, length: object.bytes.len() as u64 }
}
