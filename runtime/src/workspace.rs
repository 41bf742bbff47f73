//! Memory for what a function computes on the way: aligned, not initialised, owned by the caller.

use crate::Error;
#[cfg(feature = "alloc")]
use alloc::vec::Vec;
use core::{fmt, mem::MaybeUninit};
use tenfold_abi::WORKSPACE_ALIGN;

/// `BYTES` of memory, aligned to 64, for the intermediates of a function.
///
/// It costs nothing to make, holds nothing between calls, and fits a `static`. Every function
/// names its own as `digits::Workspace`.
///
/// ```
/// use tenfold::{AsWorkspace, Workspace};
///
/// let mut workspace: Workspace<4096> = Workspace::new();
/// assert_eq!(workspace.bytes().len(), 4096);
/// assert_eq!(workspace.bytes().as_ptr() as usize % 64, 0);
/// ```
#[derive(Clone, Copy)]
#[repr(C, align(64))]
pub struct Workspace<const BYTES: usize>([MaybeUninit<u8>; BYTES]);

const _: () = assert!(align_of::<Workspace<1>>() == WORKSPACE_ALIGN);

impl<const BYTES: usize> Workspace<BYTES> {
    /// How many bytes there are.
    pub const BYTES: usize = BYTES;

    /// Memory that is not initialised.
    #[must_use]
    pub const fn new() -> Self {
        Self([MaybeUninit::uninit(); BYTES])
    }

    /// The first byte.
    #[doc(hidden)]
    pub const fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

impl<const BYTES: usize> Default for Workspace<BYTES> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const BYTES: usize> fmt::Debug for Workspace<BYTES> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Workspace<{BYTES}>")
    }
}

/// Memory of a size that is known when the program runs.
///
/// ```
/// use tenfold::{AsWorkspace, DynWorkspace};
///
/// let mut workspace = DynWorkspace::new(100)?;
/// assert!(workspace.bytes().len() >= 100);
/// # Ok::<(), tenfold::Error>(())
/// ```
#[cfg(feature = "alloc")]
#[derive(Default)]
pub struct DynWorkspace(Vec<u8>);

#[cfg(feature = "alloc")]
impl DynWorkspace {
    /// At least this many bytes that are not initialised.
    ///
    /// # Errors
    ///
    /// The allocator has no memory left.
    pub fn new(bytes: usize) -> Result<Self, Error> {
        let mut workspace = Self::default();
        workspace.grow(bytes)?;
        Ok(workspace)
    }

    /// Makes room for at least this many bytes; what is there already may be used on.
    ///
    /// # Errors
    ///
    /// The allocator has no memory left.
    pub fn grow(&mut self, bytes: usize) -> Result<(), Error> {
        let room = if bytes == 0 { 0 } else { bytes.saturating_add(WORKSPACE_ALIGN - 1) };
        // The vector stays empty, so that nothing is initialised or copied.
        self.0.try_reserve_exact(room).map_err(|_| Error::OutOfMemory { bytes })
    }
}

#[cfg(feature = "alloc")]
impl fmt::Debug for DynWorkspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DynWorkspace({})", self.0.capacity())
    }
}

/// Memory that a function may use as its workspace.
///
/// It holds for every [`Workspace`], for `DynWorkspace`, and for slices of `MaybeUninit<u8>`, of
/// which the part from the first aligned byte on is used.
///
/// ```
/// use core::mem::MaybeUninit;
/// use tenfold::{AsWorkspace, Workspace};
///
/// fn bytes(workspace: &mut (impl AsWorkspace + ?Sized)) -> usize {
///     workspace.bytes().len()
/// }
///
/// assert_eq!(bytes(&mut Workspace::<256>::new()), 256);
/// assert_eq!(bytes(&mut [MaybeUninit::uninit(); 100]), 100);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be used as a workspace",
    note = "a workspace is `tenfold::Workspace<BYTES>`, `tenfold::DynWorkspace` or `[MaybeUninit<u8>]`"
)]
pub trait AsWorkspace {
    /// The memory.
    fn bytes(&mut self) -> &mut [MaybeUninit<u8>];
}

impl<const BYTES: usize> AsWorkspace for Workspace<BYTES> {
    fn bytes(&mut self) -> &mut [MaybeUninit<u8>] {
        crate::dispatch::whole(self)
    }
}

#[cfg(feature = "alloc")]
impl AsWorkspace for DynWorkspace {
    fn bytes(&mut self) -> &mut [MaybeUninit<u8>] {
        self.0.spare_capacity_mut()
    }
}

impl AsWorkspace for [MaybeUninit<u8>] {
    fn bytes(&mut self) -> &mut [MaybeUninit<u8>] {
        self
    }
}

impl<const BYTES: usize> AsWorkspace for [MaybeUninit<u8>; BYTES] {
    fn bytes(&mut self) -> &mut [MaybeUninit<u8>] {
        self
    }
}

impl<W: AsWorkspace + ?Sized> AsWorkspace for &mut W {
    fn bytes(&mut self) -> &mut [MaybeUninit<u8>] {
        (**self).bytes()
    }
}

/// The part of a workspace from its first aligned byte on, if it has the bytes that are needed.
pub(crate) fn aligned(bytes: &mut [MaybeUninit<u8>], needed: usize) -> Result<&mut [MaybeUninit<u8>], Error> {
    if needed == 0 {
        return Ok(&mut []);
    }
    let skip = bytes.as_ptr().align_offset(WORKSPACE_ALIGN);
    let given = bytes.len().saturating_sub(skip);
    match bytes.get_mut(skip..) {
        Some(bytes) if given >= needed => Ok(bytes),
        Some(_) | None => Err(Error::WorkspaceTooSmall { needed, given }),
    }
}
