//! Weights that a program reads when it runs: safetensors, used where they lie.
//!
//! The format is the length of a header, the header as JSON, the elements. Nothing is copied and nothing allocated, so
//! a file that lies in flash is read like one that was loaded. The reader trusts nothing that a file says.

mod json;

use crate::{DType, Element, Error, Mismatch, Shape, TensorRef, dispatch, shape};
use core::fmt;
use json::Reader;
use tenfold_abi::MAX_RANK;

/// A file of named tensors.
///
/// ```
/// use tenfold::{Aligned, Dyn, Fixed, Safetensors, TensorRef};
///
/// // in a program: `Aligned(*include_bytes!("weights.safetensors"))`, or `AlignedBytes::read("weights.safetensors")?`
/// static FILE: &Aligned<[u8]> = &Aligned(
///     *b"\x38\0\0\0\0\0\0\0{\"w\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]}}\0\0\x80\x3f\0\0\0\x40",
/// );
/// let file = Safetensors::new(&FILE.0)?;
/// let w: TensorRef<'static, f32, (Dyn, Fixed<2>)> = file.tensor("w")?;
/// assert_eq!(w, [[1.0, 2.0]]);
/// let wrong = file.tensor::<f32, (Dyn, Fixed<3>)>("w").unwrap_err();
/// assert_eq!(wrong.to_string(), "`w`: axis 1 is 2, but the signature says 3");
/// # Ok::<(), tenfold::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Safetensors<'a> {
    header: &'a str,
    data: &'a [u8],
}

impl<'a> Safetensors<'a> {
    /// Takes the bytes of a file; the header is read through once.
    ///
    /// # Errors
    ///
    /// They are cut short, or the header is no JSON table.
    pub fn new(file: &'a [u8]) -> Result<Self, Error> {
        let (size, rest) = file.split_first_chunk().ok_or(SHORT)?;
        let size = usize::try_from(u64::from_le_bytes(*size)).map_err(|_| SHORT)?;
        let (header, data) = rest.split_at_checked(size).ok_or(SHORT)?;
        let header = core::str::from_utf8(header).map_err(|_| Error::File { why: "its header is no text" })?;
        if !json::is_table(header) {
            return Err(Error::File { why: "its header is no JSON table" });
        }
        Ok(Self { header, data })
    }

    /// Whether the file has a tensor of this name.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.entry(name).is_some()
    }

    /// A tensor, as it lies in the file.
    ///
    /// # Errors
    ///
    /// There is none of this name, it has another dtype or shape, or the file is not aligned in memory.
    pub fn tensor<T: Element, S: Shape>(&self, name: &'static str) -> Result<TensorRef<'a, T, S>, Error> {
        let entry = self.entry(name).ok_or(Error::NoTensor { name })?;
        let entry = Entry::read(entry)
            .ok_or(Error::File { why: "its header has a tensor of an unknown dtype, or says nonsense of it" })?;
        if entry.dtype != T::DTYPE {
            return Err(Mismatch::DType { expected: T::DTYPE, found: entry.dtype }.of(name));
        }
        let extents = S::check(entry.shape()).map_err(|why| why.of(name))?;
        let bytes = self.data.get(entry.begin..entry.end).ok_or(SHORT)?;
        if shape::elements(entry.shape()).and_then(|n| n.checked_mul(size_of::<T>())) != Some(bytes.len()) {
            return Err(Error::File { why: "its header has a tensor of an unknown dtype, or says nonsense of it" });
        }
        let elements = dispatch::elements(bytes).ok_or_else(|| Mismatch::Cast.of(name))?;
        TensorRef::new(elements, extents).map_err(|why| why.of(name))
    }

    /// What the header says of a name.
    fn entry(&self, name: &str) -> Option<&'a str> {
        json::fields(self.header).find(|(known, _)| json::is(known, name)).map(|(_, entry)| entry)
    }
}

const SHORT: Error = Error::File { why: "it is no safetensors file, or cut short" };

/// The names of the tensors, as the header writes them.
impl fmt::Debug for Safetensors<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Safetensors")?;
        let names = json::fields(self.header).map(|(name, _)| name);
        f.debug_list().entries(names.filter(|name| *name != "__metadata__")).finish()
    }
}

/// The tensor of a name in the first file that has one.
///
/// # Errors
///
/// Those of [`Safetensors::tensor`].
pub fn weight<'a, T: Element, S: Shape>(
    files: &[Safetensors<'a>],
    name: &'static str,
) -> Result<TensorRef<'a, T, S>, Error> {
    let file = files.iter().find(|file| file.contains(name)).ok_or(Error::NoTensor { name })?;
    file.tensor(name)
}

/// What a header says of a tensor.
struct Entry {
    dtype: DType,
    rank: usize,
    extents: [usize; MAX_RANK],
    begin: usize,
    end: usize,
}

impl Entry {
    fn read(entry: &str) -> Option<Self> {
        let field = |name| json::fields(entry).find(|(known, _)| *known == name).map(|(_, value)| value);
        let dtype = Reader::new(field("dtype")?).string()?;
        let dtype = DType::from_safetensors(dtype)?;
        let (mut rank, mut extents) = (0, [0; MAX_RANK]);
        for extent in json::numbers(field("shape")?) {
            *extents.get_mut(rank)? = extent?;
            rank += 1;
        }
        let mut offsets = json::numbers(field("data_offsets")?);
        let (begin, end) = (offsets.next()??, offsets.next()??);
        offsets.next().is_none().then_some(Self { dtype, rank, extents, begin, end })
    }

    fn shape(&self) -> &[usize] {
        &self.extents[..self.rank]
    }
}

#[cfg(test)]
mod tests;
