//! Modules that the driver compiles, and what it says of one that it refuses.

use core::ffi::{CStr, c_int, c_uint, c_void};
use std::{borrow::ToOwned, boxed::Box, collections::BTreeSet, string::String, sync::Mutex, vec::Vec};

use cudarc::driver::sys::CUjit_option_enum as Jit;

use super::{api::Handle, context::Context};
use crate::{DeviceFault, device::store::lock};

/// How much of what the driver says is kept.
const LOG: usize = 1024;

/// Has the driver compile a text; and what it says if it does not.
pub(super) fn module(context: &Context, text: &CStr) -> (Result<Handle, DeviceFault>, &'static str) {
    let (mut module, mut log) = (core::ptr::null_mut(), [0_u8; LOG]);
    let mut options = [Jit::CU_JIT_ERROR_LOG_BUFFER as c_int, Jit::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES as c_int];
    // A number goes in the place of the pointer to it.
    let mut values = [log.as_mut_ptr().cast::<c_void>(), core::ptr::without_provenance_mut(LOG)];
    let (count, text) = (options.len() as c_uint, text.as_ptr().cast::<c_void>());
    // SAFETY: the text ends with a zero, and who made it has promised that it is right. The driver writes no more into the
    // log than it is told of.
    let loaded = context.within("cuModuleLoadDataEx", |api| unsafe {
        (api.module_load)(&mut module, text, count, options.as_mut_ptr(), values.as_mut_ptr())
    });
    match loaded {
        Ok(()) => (Ok(module), ""),
        Err(why) => (Err(why), kept(&line(&log))),
    }
}

/// A log up to its zero, in one line.
fn line(log: &[u8]) -> String {
    let text: Vec<u8> = log.iter().copied().take_while(|byte| *byte != 0).collect();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join("; ")
}

/// The same text for the rest of the program, since faults are copied. Each is there once: a kernel that is refused again is
/// refused in the same words.
fn kept(text: &str) -> &'static str {
    static KEPT: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut all = lock(&KEPT);
    if let Some(known) = all.get(text) {
        return known;
    }
    let text: &'static str = Box::leak(text.to_owned().into_boxed_str());
    all.insert(text);
    text
}
