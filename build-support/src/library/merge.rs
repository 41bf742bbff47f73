//! One archive out of those of functions and constants.

use crate::object::{archive, symbols};
use crate::out;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

/// An archive with one object.
pub(super) struct Part {
    /// The archive.
    pub(super) archive: PathBuf,
    /// The name of the object in the whole, without `.o`.
    pub(super) name: String,
    /// What it defines.
    pub(super) symbol: String,
}

/// Where the object of a part lies.
struct Object {
    file: File,
    at: u64,
    length: u64,
}

fn open(part: &Part) -> io::Result<Object> {
    let mut file = File::open(&part.archive)?;
    match archive::members(&mut file)?[..] {
        [(at, length)] => Ok(Object { file, at, length }),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "it does not hold one object")),
    }
}

/// Writes the objects of the parts into one archive. They are streamed, since constants may be large.
pub(super) fn merge(to: &Path, parts: &[Part]) -> io::Result<()> {
    let mut objects = parts.iter().map(open).collect::<io::Result<Vec<Object>>>()?;
    let member = |(part, object): (&Part, &Object)| archive::Member {
        name: format!("{}.o", part.name),
        symbols: vec![part.symbol.clone()],
        length: object.length,
    };
    let members: Vec<archive::Member> = parts.iter().zip(&objects).map(member).collect();
    out::replace(to, |file| {
        archive::write(file, &members, |file, number| {
            let Object { file: from, at, length } = &mut objects[number];
            from.seek(SeekFrom::Start(*at))?;
            io::copy(&mut from.take(*length), file).map(drop)
        })
    })
}

/// What the object of an archive leaves to the linker, if its format says it.
pub(super) fn asks_for(archive: &Path) -> io::Result<Option<Vec<String>>> {
    let part = Part { archive: archive.into(), name: String::new(), symbol: String::new() };
    let Object { mut file, at, length } = open(&part)?;
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(at))?;
    file.take(length).read_to_end(&mut bytes)?;
    Ok(symbols::undefined(&bytes))
}
