//! Constants from files: where their bytes lie, and what they are. The bytes themselves are streamed later.
//!
//! A reader trusts nothing that a file says: every length is checked against the file's before it is used.

mod json;
mod npy;
mod safetensors;
pub(crate) mod shards;
mod zip;

use crate::files::{self, Refusal};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use tenfold_abi::DType;
use tenfold_syntax::Code;

/// Bytes of a header at most.
const HEADER_LIMIT: u64 = 64 << 20;

/// A tensor in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The file.
    pub(crate) path: PathBuf,
    /// Type of an element.
    pub(crate) dtype: DType,
    /// Extents.
    pub(crate) shape: Vec<u64>,
    /// Where its bytes begin.
    pub(crate) offset: u64,
    /// How many there are.
    pub(crate) length: u64,
}

/// Why a tensor cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// What kind.
    pub(crate) code: Code,
    /// Expected and found.
    pub(crate) message: String,
    /// The next step.
    pub(crate) help: String,
}

impl Failure {
    /// Whether it is about a tensor in the file and not about the file.
    pub(crate) fn is_of_tensor(&self) -> bool {
        self.code == Code::TensorMissing
    }

    /// The file cannot be read.
    pub(crate) fn damaged(file: &str, why: impl std::fmt::Display) -> Self {
        Self {
            code: Code::FileDamaged,
            message: format!("`{file}` cannot be read: {why}"),
            help: "write the file anew".into(),
        }
    }
}

/// Which tensor is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted<'a> {
    /// The one in a `.npy` file.
    Npy,
    /// The one of this name in a `.npz` file.
    Npz(&'a str),
    /// The one of this name in a safetensors file, or in the index of several.
    Safetensors(&'a str),
}

/// The tensor of a file whose name starts at the package's root.
pub(crate) fn find(package: &Path, name: &str, wanted: Wanted<'_>) -> Result<Found, Failure> {
    match wanted {
        Wanted::Safetensors(tensor) if shards::is_index(name) => {
            let shard = shards::of_tensor(package, name, tensor)?;
            let found = find_in(package, &shard, wanted);
            found.map_err(|why| Failure { message: format!("{}; `{name}` names it", why.message), ..why })
        }
        Wanted::Safetensors(_) | Wanted::Npz(_) | Wanted::Npy => find_in(package, name, wanted),
    }
}

/// Likewise, in this very file.
fn find_in(package: &Path, name: &str, wanted: Wanted<'_>) -> Result<Found, Failure> {
    let path = files::locate(package, name).map_err(|refusal| refused(package, name, &refusal))?;
    let damaged = |error: io::Error| Failure::damaged(name, error);
    let mut file = File::open(&path).map_err(damaged)?;
    let length = file.metadata().map_err(damaged)?.len();
    let header = header(&mut file, length, wanted).map_err(|why| why.failure(name))?;
    match header.bytes() {
        Some(bytes) if header.lies_within(bytes, length) => {
            Ok(Found { path, dtype: header.dtype, shape: header.shape, offset: header.offset, length: bytes })
        }
        Some(bytes) => Err(Failure::damaged(name, header.too_few(bytes, length))),
        None => Err(Failure::damaged(name, "its extents are too large")),
    }
}

fn header(file: &mut (impl Read + Seek), length: u64, wanted: Wanted<'_>) -> Result<Header, Why> {
    match wanted {
        Wanted::Npy => npy::read(file),
        Wanted::Npz(array) => zip::read(file, length, array),
        Wanted::Safetensors(tensor) => safetensors::read(file, length, tensor),
    }
}

/// Whether bytes are a file that holds a tensor, of kinds with names the one called `w`; an index names its file. The
/// readers' fuzzers call this.
#[doc(hidden)]
pub fn holds_tensor(bytes: &[u8], extension: &str) -> bool {
    let wanted = match extension {
        "json" => return shards::place(bytes, "w").is_ok(),
        "npy" => Wanted::Npy,
        "npz" => Wanted::Npz("w"),
        _ => Wanted::Safetensors("w"),
    };
    let length = bytes.len() as u64;
    let header = header(&mut io::Cursor::new(bytes), length, wanted);
    header.is_ok_and(|it| it.bytes().is_some_and(|bytes| it.lies_within(bytes, length)))
}

/// What a header says.
struct Header {
    dtype: DType,
    shape: Vec<u64>,
    offset: u64,
    /// The bytes that the file sets aside for it, if it says so.
    length: Option<u64>,
}

impl Header {
    /// How many bytes the tensor has, if that is a number.
    fn bytes(&self) -> Option<u64> {
        self.shape.iter().try_fold(self.dtype.size_bytes() as u64, |n, extent| n.checked_mul(*extent))
    }

    /// That there are fewer bytes than the extents say, in a file of `length`.
    fn too_few(&self, bytes: u64, length: u64) -> String {
        let there = self.length.unwrap_or(u64::MAX).min(length.saturating_sub(self.offset));
        format!("{} with extents {:?} takes {bytes} bytes, and there are {there}", self.dtype, self.shape)
    }

    /// Whether so many bytes lie in a file of `length`, and are those that the file sets aside.
    fn lies_within(&self, bytes: u64, length: u64) -> bool {
        let end = self.offset.checked_add(bytes);
        end.is_some_and(|end| end <= length) && self.length.is_none_or(|n| n == bytes)
    }
}

/// Why a header is of no use.
enum Why {
    /// It is damaged, or of a kind that is not read.
    Damaged(String),
    /// There is no tensor of this name; these are the names there are.
    NoTensor(String, Vec<String>),
}

impl From<io::Error> for Why {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::Damaged("it is cut short".into()),
            _ => Self::Damaged(error.to_string()),
        }
    }
}

impl Why {
    fn failure(self, file: &str) -> Failure {
        match self {
            Self::Damaged(why) => Failure::damaged(file, why),
            Self::NoTensor(name, names) => Failure {
                code: Code::TensorMissing,
                message: format!("`{file}` has no tensor `{name}`"),
                help: suggestion(&name, &names),
            },
        }
    }
}

/// The nearest name, or some of those there are.
fn suggestion(name: &str, names: &[String]) -> String {
    if let Some(near) = tenfold_ir::ops::nearest(name, names.iter().map(String::as_str)) {
        return format!("did you mean `{near}`?");
    }
    let mut some: Vec<String> = names.iter().take(8).map(|name| format!("`{name}`")).collect();
    if names.len() > some.len() {
        some.push(format!("and {} more", names.len() - some.len()));
    }
    if some.is_empty() { "it holds no tensor at all".into() } else { format!("it holds {}", some.join(", ")) }
}

pub(crate) fn refused(package: &Path, name: &str, refusal: &Refusal) -> Failure {
    let root = "paths start at the package's root, where `Cargo.toml` lies".to_string();
    match refusal {
        Refusal::Outside => Failure {
            code: Code::FileOutside,
            message: format!("`{name}` lies outside of the package"),
            help: "copy the file into the package".into(),
        },
        Refusal::Link => Failure {
            code: Code::FileOutside,
            message: format!("`{name}` leads out of the package through a link"),
            help: "copy the file into the package".into(),
        },
        Refusal::Missing => Failure {
            code: Code::FileMissing,
            message: format!("there is no file `{name}`"),
            help: match name.starts_with(files::OUT_DIR) {
                true => "the build script writes it before it calls `tenfold_build::compile()`".into(),
                false => beside(package, name).map_or(root, |near| format!("did you mean `{near}`?")),
            },
        },
        Refusal::Unreadable(why) => Failure::damaged(name, why),
    }
}

/// The file of the nearest name in the same directory.
fn beside(package: &Path, name: &str) -> Option<String> {
    let directory = Path::new(name).parent()?;
    let wanted = Path::new(name).file_name()?.to_str()?;
    let entries = std::fs::read_dir(package.join(directory)).ok()?;
    let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    let near = tenfold_ir::ops::nearest(wanted, names.iter().map(String::as_str))?;
    Some(crate::walk::portable(&directory.join(near)))
}

/// Bytes of a range of a file.
pub(crate) fn range(path: &Path, offset: u64, length: u64) -> io::Result<impl Read> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset))?;
    Ok(io::BufReader::with_capacity(1 << 16, file).take(length))
}

#[cfg(test)]
mod tests;
