//! Memory for a call that allocates: results that a kernel initialises, and its workspace.

use crate::{AsWorkspace, DynWorkspace, Element, Error, FixedShape, Shape, Tensor, Workspace, shape::elements};
use alloc::{alloc::handle_alloc_error, vec::Vec};
use core::alloc::Layout;
use tenfold_abi::WORKSPACE_ALIGN;

/// A result that is not written yet.
pub struct Owned<T: Element, S: Shape> {
    data: Vec<T>,
    len: usize,
    extents: S::Extents,
}

impl<T: Element, S: FixedShape> Owned<T, S> {
    /// Room for a result whose shape the type says.
    #[inline]
    #[must_use]
    pub fn fixed() -> Self {
        // The compiler has refused a shape that does not fit, so this reserves or does not return.
        Self { data: Vec::with_capacity(S::ELEMENTS), len: S::ELEMENTS, extents: S::FIXED }
    }
}

impl<T: Element, S: Shape> Owned<T, S> {
    /// Room for a result of these extents.
    ///
    /// # Errors
    ///
    /// The allocator has no memory left, or no machine has.
    pub fn new(name: &'static str, extents: S::Extents) -> Result<Self, Error> {
        let size = elements(extents.as_ref()).and_then(|n| Some((n, n.checked_mul(size_of::<T>())?)));
        let (len, bytes) = size.ok_or(Error::Overflow { what: name })?;
        let mut data = Vec::new();
        data.try_reserve_exact(len).map_err(|_| Error::OutOfMemory { bytes })?;
        Ok(Self { data, len, extents })
    }

    /// Where a kernel writes.
    #[inline]
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.data.as_mut_ptr()
    }

    /// The result.
    ///
    /// # Safety
    ///
    /// A kernel has written every element.
    #[inline]
    #[must_use]
    pub unsafe fn written(mut self) -> Tensor<T, S> {
        // SAFETY: there is room for `len` elements, and the caller says that they are written.
        unsafe { self.data.set_len(self.len) };
        Tensor::trusted(self.data, self.extents)
    }
}

/// Workspaces up to this size stand on the stack.
const ON_STACK: usize = 1024;

/// The workspace of a call that allocates.
pub struct Scratch {
    near: Workspace<ON_STACK>,
    far: DynWorkspace,
    bytes: usize,
}

impl Scratch {
    /// A workspace for a function that cannot fail: `handle_alloc_error` where there is no memory.
    #[inline]
    #[must_use]
    pub fn fixed(bytes: usize) -> Self {
        match Self::new(bytes) {
            Ok(scratch) => scratch,
            Err(_) => handle_alloc_error(Layout::new::<Workspace<ON_STACK>>()),
        }
    }

    /// A workspace of this many bytes.
    ///
    /// # Errors
    ///
    /// The allocator has no memory left.
    #[inline]
    pub fn new(bytes: usize) -> Result<Self, Error> {
        let far = DynWorkspace::new(if bytes > ON_STACK { bytes } else { 0 })?;
        Ok(Self { near: Workspace::new(), far, bytes })
    }

    /// Its first byte.
    #[inline]
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        if self.bytes <= ON_STACK {
            return self.near.bytes().as_mut_ptr().cast();
        }
        let bytes = self.far.bytes();
        let skip = bytes.as_ptr().align_offset(WORKSPACE_ALIGN);
        bytes.as_mut_ptr().wrapping_add(skip).cast()
    }
}
