//! What LLVM says while it compiles: warnings, errors and the frames of functions.

use std::{
    ffi::{CStr, c_void},
    sync::{Mutex, PoisonError},
};

use inkwell::{
    context::Context,
    llvm_sys::{
        LLVMDiagnosticSeverity,
        core::{
            LLVMContextSetDiagnosticHandler, LLVMDisposeMessage, LLVMGetDiagInfoDescription, LLVMGetDiagInfoSeverity,
        },
        prelude::LLVMDiagnosticInfoRef,
    },
};

/// Collects what LLVM says in one context.
#[derive(Debug)]
pub(crate) struct Diagnostics {
    said: Box<Mutex<Vec<(bool, String)>>>,
}

impl Diagnostics {
    /// Listens to a context, which must not speak any more when this is dropped: keep it longer.
    pub(crate) fn listen(context: &Context) -> Diagnostics {
        let said = Box::new(Mutex::new(Vec::new()));
        let place: *const Mutex<Vec<(bool, String)>> = &*said;
        // SAFETY: the context is alive; `place` stays where it is, in its box, as long as
        // `Diagnostics` does, which its owner keeps longer than the context.
        unsafe {
            LLVMContextSetDiagnosticHandler(context.raw(), Some(hear), place.cast_mut().cast());
        }
        Diagnostics { said }
    }

    /// The errors that were said.
    pub(crate) fn errors(&self) -> Vec<String> {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.iter().filter(|(error, _)| *error).map(|(_, text)| text.clone()).collect()
    }

    /// The frame in bytes and the name of each function that has one.
    pub(crate) fn frames(&self) -> Vec<(String, u64)> {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        said.iter().filter_map(|(_, text)| frame(text)).collect()
    }
}

/// `stack frame size (24) exceeds limit (0) in function 'blur'`.
fn frame(text: &str) -> Option<(String, u64)> {
    let rest = text.split_once("stack frame size (")?.1;
    let (bytes, rest) = rest.split_once(')')?;
    let name = rest.split_once("in function '")?.1.strip_suffix('\'')?;
    Some((name.to_owned(), bytes.parse().ok()?))
}

extern "C" fn hear(info: LLVMDiagnosticInfoRef, place: *mut c_void) {
    // SAFETY: LLVM passes the place that `listen` gave it, whose owner is alive.
    let said = unsafe { &*place.cast_const().cast::<Mutex<Vec<(bool, String)>>>() };
    // SAFETY: LLVM passes a diagnostic that lives for this call; the text is ours to free.
    let (severity, text) = unsafe {
        let raw = LLVMGetDiagInfoDescription(info);
        let text = CStr::from_ptr(raw).to_string_lossy().into_owned();
        LLVMDisposeMessage(raw);
        (LLVMGetDiagInfoSeverity(info), text)
    };
    let error = matches!(severity, LLVMDiagnosticSeverity::LLVMDSError);
    said.lock().unwrap_or_else(PoisonError::into_inner).push((error, text));
}

#[cfg(test)]
mod tests {
    use super::frame;

    #[test]
    fn frames_are_read() {
        let text = "stack frame size (264) exceeds limit (0) in function 'digits.matmul'";
        assert_eq!(frame(text), Some(("digits.matmul".to_owned(), 264)));
        assert_eq!(frame("loop not vectorized"), None);
    }
}
