//! Slices of types that are stored alike.

use crate::{DType, Element, Error, Is, Workspace, workspace::aligned};
use core::{
    mem::MaybeUninit,
    slice::{from_raw_parts, from_raw_parts_mut},
};

/// The same elements.
#[inline]
pub(crate) fn cast<T: Element, U: Is<T>>(slice: &[U]) -> &[T] {
    const { assert!(size_of::<T>() == size_of::<U>() && align_of::<T>() == align_of::<U>()) }
    // SAFETY: `Is` is sealed and holds only for types whose values are stored alike.
    unsafe { from_raw_parts(slice.as_ptr().cast(), slice.len()) }
}

/// The same elements.
#[inline]
pub(crate) fn cast_mut<T: Element, U: Is<T>>(slice: &mut [U]) -> &mut [T] {
    const { assert!(size_of::<T>() == size_of::<U>() && align_of::<T>() == align_of::<U>()) }
    // SAFETY: `Is` is sealed and holds only for types whose values are stored alike.
    unsafe { from_raw_parts_mut(slice.as_mut_ptr().cast(), slice.len()) }
}

/// Bytes as the elements that lie there. None if they are not aligned, no whole number of elements, or not elements:
/// bools are 0 and 1, integers of 4 bits have no more, and what a file holds has its lowest byte first.
pub(crate) fn elements<T: Element>(bytes: &[u8]) -> Option<&[T]> {
    let turned = cfg!(target_endian = "big") && size_of::<T>() > 1;
    let fits = |byte: &u8| match T::DTYPE {
        DType::Bool => *byte <= 1,
        DType::U4 => *byte <= 15,
        DType::I4 => (-8..8).contains(&(*byte as i8)),
        _ => true,
    };
    if turned || T::DTYPE.bits() < 8 && !bytes.iter().all(fits) {
        return None;
    }
    // SAFETY: any bits are an integer or a float, and those of bools and of integers of 4 bits are checked.
    let (before, elements, after) = unsafe { bytes.align_to() };
    (before.is_empty() && after.is_empty()).then_some(elements)
}

/// All bytes of a workspace, those that fill it up to its alignment as well.
pub(crate) fn whole<const BYTES: usize>(workspace: &mut Workspace<BYTES>) -> &mut [MaybeUninit<u8>] {
    let bytes = size_of_val(workspace);
    // SAFETY: the memory is the workspace's own, and need not be initialised on either side.
    unsafe { from_raw_parts_mut(core::ptr::from_mut(workspace).cast(), bytes) }
}

/// The bytes as the workspace of a function that names its size.
///
/// # Errors
///
/// There are fewer.
pub(crate) fn sized<const BYTES: usize>(bytes: &mut [MaybeUninit<u8>]) -> Result<&mut Workspace<BYTES>, Error> {
    let needed = size_of::<Workspace<BYTES>>();
    let bytes = match needed {
        // A workspace of no bytes is aligned all the same.
        0 => return Ok(empty()),
        _ => aligned(bytes, needed)?,
    };
    // SAFETY: `aligned` gives at least `needed` bytes from an aligned one on, and any bytes are a
    // `Workspace`.
    Ok(unsafe { &mut *bytes.as_mut_ptr().cast() })
}

/// A workspace without bytes, for as long as anyone wants.
fn empty<'a, const BYTES: usize>() -> &'a mut Workspace<BYTES> {
    const { assert!(BYTES == 0 || size_of::<Workspace<BYTES>>() > 0) }
    let empty: &mut [Workspace<BYTES>] = &mut [];
    // SAFETY: a type of size 0 lies at every aligned address, and an empty slice's is aligned.
    unsafe { &mut *empty.as_mut_ptr() }
}

#[cfg(test)]
mod tests {
    use super::{sized, whole};
    use crate::Workspace;

    #[test]
    fn a_workspace_serves_as_its_own_whatever_its_size() {
        assert!(sized::<100>(whole(&mut Workspace::<100>::new())).is_ok());
        assert!(sized::<64>(whole(&mut Workspace::<100>::new())).is_ok());
        assert!(sized::<0>(&mut []).is_ok());
        assert!(sized::<129>(whole(&mut Workspace::<100>::new())).is_err());
    }
}
