//! Constants: tensors whose values are known when the program is built.

use std::path::PathBuf;
use std::sync::Arc;

use crate::DType;

/// A constant of a [`crate::Module`], printed as `c3`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConstId(pub u32);

/// Where a constant's bytes are: little-endian, row-major, without gaps.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ConstBytes {
    /// In memory.
    Inline(Arc<[u8]>),
    /// A range of a file, read when the object is written.
    File {
        /// The file.
        path: PathBuf,
        /// First byte.
        offset: u64,
        /// Number of bytes.
        len: u64,
    },
}

/// One constant.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ConstData {
    /// 128-bit hash of dtype, shape and bytes, in hex: the constant's identity in text, symbols and caches.
    pub hash: String,
    /// The name in the user's source, for reports.
    pub name: String,
    /// Type of an element.
    pub dtype: DType,
    /// Extents.
    pub shape: Vec<u64>,
    /// The bytes.
    pub bytes: ConstBytes,
}
