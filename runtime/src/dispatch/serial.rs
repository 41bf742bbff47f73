//! What an entry point gets besides its arguments where there are no threads: nothing.

use core::ffi::c_void;

/// What one call of a function passes on.
pub struct Context(());

impl Context {
    /// For one call.
    #[inline]
    #[must_use]
    pub const fn new() -> Self {
        Self(())
    }

    /// As an entry point takes it: without one, its loops run where they stand.
    #[inline]
    #[must_use]
    pub const fn as_ptr(&self) -> *const c_void {
        core::ptr::null()
    }
}

impl Default for Context {
    fn default() -> Self {
        Self::new()
    }
}
