//! Memory at the alignment that the code generators like best.

/// A value at a multiple of 64 bytes: `Aligned(*include_bytes!("weights.safetensors"))` in a static.
///
/// ```
/// use tenfold::Aligned;
///
/// static FILE: &Aligned<[u8]> = &Aligned(*b"bytes");
/// assert_eq!(FILE.0.as_ptr().align_offset(64), 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Aligned<T: ?Sized>(pub T);

/// Bytes on the heap, the first of them at a multiple of 64.
///
/// ```
/// use tenfold::AlignedBytes;
///
/// let bytes = AlignedBytes::from(&b"bytes"[..]);
/// assert_eq!(&*bytes, b"bytes");
/// assert_eq!(bytes.as_ptr().align_offset(64), 0);
/// ```
#[cfg(feature = "alloc")]
pub struct AlignedBytes {
    /// Never grows, so that it stays where it is.
    room: alloc::vec::Vec<u8>,
    start: usize,
    length: usize,
}

#[cfg(feature = "alloc")]
impl AlignedBytes {
    const ALIGN: usize = align_of::<Aligned<u8>>();

    fn zeros(length: usize) -> Self {
        let room = alloc::vec![0; length + Self::ALIGN - 1];
        let start = room.as_ptr().align_offset(Self::ALIGN);
        Self { room, start, length }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.room[self.start..][..self.length]
    }

    /// The content of a file.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    #[cfg(feature = "std")]
    pub fn read(path: impl AsRef<std::path::Path>) -> std::io::Result<Self> {
        use std::io::Read as _;
        let mut file = std::fs::File::open(path)?;
        let length = usize::try_from(file.metadata()?.len()).map_err(|_| std::io::ErrorKind::OutOfMemory)?;
        let mut bytes = Self::zeros(length);
        file.read_exact(bytes.bytes_mut())?;
        Ok(bytes)
    }
}

#[cfg(feature = "alloc")]
impl From<&[u8]> for AlignedBytes {
    fn from(bytes: &[u8]) -> Self {
        let mut aligned = Self::zeros(bytes.len());
        aligned.bytes_mut().copy_from_slice(bytes);
        aligned
    }
}

#[cfg(feature = "alloc")]
impl core::ops::Deref for AlignedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.room[self.start..][..self.length]
    }
}

#[cfg(feature = "alloc")]
impl core::fmt::Debug for AlignedBytes {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "AlignedBytes({})", self.length)
    }
}
