//! Constants from files: where their bytes lie, and what they are. The bytes themselves are streamed later.
//!
//! A reader trusts nothing that a file says: every length is checked against the file's before it is used.

mod json;
mod npy;
mod safetensors;

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
    /// The one of this name in a safetensors file.
    Safetensors(&'a str),
}

/// The tensor of a file whose name starts at the package's root.
pub(crate) fn find(package: &Path, name: &str, wanted: Wanted<'_>) -> Result<Found, Failure> {
    let path = files::locate(package, name).map_err(|refusal| refused(package, name, &refusal))?;
    let damaged = |error: io::Error| Failure::damaged(name, error);
    let mut file = File::open(&path).map_err(damaged)?;
    let length = file.metadata().map_err(damaged)?.len();
    let header = header(&mut file, length, wanted).map_err(|why| why.failure(name))?;
    let bytes = header.bytes();
    match bytes {
        Some(bytes) if header.lies_within(bytes, length) => {
            Ok(Found { path, dtype: header.dtype, shape: header.shape, offset: header.offset, length: bytes })
        }
        Some(bytes) => Err(Failure::damaged(
            name,
            format!(
                "{} with extents {:?} takes {bytes} bytes, and there are {}",
                header.dtype,
                header.shape,
                header.length.unwrap_or(u64::MAX).min(length.saturating_sub(header.offset))
            ),
        )),
        None => Err(Failure::damaged(name, "its extents are too large")),
    }
}

fn header(file: &mut impl Read, length: u64, wanted: Wanted<'_>) -> Result<Header, Why> {
    match wanted {
        Wanted::Npy => npy::read(file),
        Wanted::Safetensors(tensor) => safetensors::read(file, length, tensor),
    }
}

/// Whether bytes are a file that holds a tensor, of safetensors the one of this name. The readers' fuzzers call this.
#[doc(hidden)]
pub fn holds_tensor(mut bytes: &[u8], tensor: Option<&str>) -> bool {
    let length = bytes.len() as u64;
    let header = header(&mut bytes, length, tensor.map_or(Wanted::Npy, Wanted::Safetensors));
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
            help: beside(package, name).map_or(root, |near| format!("did you mean `{near}`?")),
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
mod tests {
    use super::*;
    use std::fs;

    fn package(name: &str, files: &[(&str, &[u8])]) -> PathBuf {
        let directory = std::env::temp_dir().join(format!("tenfold-weights-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir_all(&directory).unwrap();
        for (file, bytes) in files {
            fs::write(directory.join(file), bytes).unwrap();
        }
        directory
    }

    fn safetensors(header: &str, data: usize) -> Vec<u8> {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.resize(bytes.len() + data, 0);
        bytes
    }

    const GOOD: &str = r#"{"__metadata__":{"a":"b"},"fc1.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"é\"\u00e9":{"dtype":"BF16","shape":[],"data_offsets":[24,26]}}"#;

    #[test]
    fn tensors_by_name() {
        let file = safetensors(GOOD, 26);
        let directory = package("safetensors", &[("w.safetensors", &file)]);
        let find = |name| find(&directory, "w.safetensors", Wanted::Safetensors(name));
        let weight = find("fc1.weight").unwrap();
        assert_eq!((weight.dtype, weight.shape, weight.length), (DType::F32, vec![2, 3], 24));
        assert_eq!(weight.offset, 8 + GOOD.len() as u64);
        assert_eq!(find("é\"é").unwrap().shape, [0; 0]);
        let failure = find("fc1.wieght").unwrap_err();
        assert_eq!(failure.code, Code::TensorMissing);
        assert_eq!(failure.help, "did you mean `fc1.weight`?");
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn damaged_files_are_errors() {
        let good = safetensors(GOOD, 26);
        let directory = package("damaged", &[]);
        let path = directory.join("w.safetensors");
        let find = || find(&directory, "w.safetensors", Wanted::Safetensors("fc1.weight"));
        for end in (0..8 + GOOD.len() + 24).step_by(3) {
            fs::write(&path, &good[..end]).unwrap();
            assert!(find().is_err(), "{end}");
        }
        for (from, to) in [
            ("[2,3]", "[2,4]"),
            ("[2,3]", "[18446744073709551615,3]"),
            ("[0,24]", "[24,0]"),
            ("[0,24]", "[99999999999,99999999999]"),
            ("F32", "F33"),
            ("{", "["),
        ] {
            fs::write(&path, safetensors(&GOOD.replacen(from, to, 9), 26)).unwrap();
            assert!(find().is_err(), "{from} {to}");
        }
        fs::write(&path, u64::MAX.to_le_bytes()).unwrap();
        assert!(find().is_err());
        fs::remove_dir_all(directory).unwrap();
    }

    fn npy(header: &str, data: usize) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.resize(bytes.len() + data, 0);
        bytes
    }

    #[test]
    fn npy_files() {
        let directory = package("npy", &[]);
        let path = directory.join("a.npy");
        let find = |header: &str, data| {
            fs::write(&path, npy(header, data)).unwrap();
            find(&directory, "a.npy", Wanted::Npy)
        };
        let good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n";
        assert_eq!(find(good, 24).unwrap().shape, [2, 3]);
        assert_eq!(find(&good.replace("(2, 3)", "(6,)"), 24).unwrap().shape, [6]);
        assert_eq!(find(&good.replace("(2, 3)", "()"), 4).unwrap().shape, [0; 0]);
        assert_eq!(find(&good.replace("<f4", "|u1"), 6).unwrap().dtype, DType::U8);
        for (from, to) in [
            ("<f4", ">f4"),
            ("<f4", "<c8"),
            ("False", "True"),
            ("(2, 3)", "(2, -3)"),
            ("(2, 3)", "(99999999999, 99999999999)"),
            ("'shape'", "'shap'"),
        ] {
            let failure = find(&good.replace(from, to), 24).unwrap_err();
            assert_eq!(failure.code, Code::FileDamaged, "{from} {to}");
        }
        assert!(find(good, 23).is_err());
        fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn names_that_lead_nowhere() {
        let directory = package("names", &[("weights.npy", b"")]);
        let code = |name| find(&directory, name, Wanted::Npy).unwrap_err();
        assert_eq!(code("../w.npy").code, Code::FileOutside);
        let missing = code("wieghts.npy");
        assert_eq!(missing.code, Code::FileMissing);
        assert_eq!(missing.help, "did you mean `weights.npy`?");
        fs::remove_dir_all(directory).unwrap();
    }
}
