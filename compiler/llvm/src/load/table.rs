//! The table that stands between the callers of LLVM-C and the library.
//!
//! It knows addresses and names, not where libraries lie.

use std::{
    ffi::CString,
    process,
    sync::atomic::{AtomicPtr, Ordering},
};

use libloading::Library;

const NAMES: &[&str] = &include!(concat!(env!("OUT_DIR"), "/names.rs"));

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(include_str!(concat!(env!("OUT_DIR"), "/jumps.s")), options(att_syntax));
#[cfg(not(target_arch = "x86_64"))]
std::arch::global_asm!(include_str!(concat!(env!("OUT_DIR"), "/jumps.s")));

unsafe extern "C" {
    fn tenfold_llvm_unresolved();
}

/// Where each jump goes. The assembly reads it by name.
#[unsafe(no_mangle)]
static tenfold_llvm_jumps: [AtomicPtr<()>; NAMES.len()] =
    [const { AtomicPtr::new(tenfold_llvm_unresolved as *mut ()) }; NAMES.len()];

/// Called with the number of a function that was never filled in; says so and ends the process.
///
/// The caller expects a function of some other type, so there is nothing to return to.
#[unsafe(no_mangle)]
extern "C" fn tenfold_llvm_explain(number: u32) -> ! {
    let name = NAMES.get(number as usize).copied().unwrap_or("a function of LLVM-C");
    let filled =
        tenfold_llvm_jumps.iter().any(|slot| slot.load(Ordering::Relaxed) != tenfold_llvm_unresolved as *mut ());
    if filled {
        eprintln!("tenfold: the loaded LLVM has no `{name}`");
    } else {
        eprintln!("tenfold: `{name}` was called before LLVM was loaded");
    }
    process::abort()
}

/// Points every jump at the library's function of that name; gives the names it lacks.
pub(super) fn fill(library: &Library) -> Vec<&'static str> {
    let mut absent = Vec::new();
    for (slot, &name) in tenfold_llvm_jumps.iter().zip(NAMES) {
        let symbol = CString::new(name).expect("the names hold no zero byte");
        // SAFETY: only the address is taken; its type is what llvm-sys declares, whose callers
        // go through the jump of this name.
        match unsafe { library.get::<*mut ()>(symbol.as_bytes_with_nul()) } {
            Ok(found) => {
                // SAFETY: the library is never closed (`load` leaks it), so the address stays.
                slot.store(unsafe { found.into_raw() }.as_raw_ptr().cast(), Ordering::Release);
            }
            Err(_) => absent.push(name),
        }
    }
    absent
}

#[cfg(test)]
mod tests {
    use super::NAMES;

    #[test]
    fn the_names_are_sorted_and_single() {
        assert!(NAMES.is_sorted_by(|a, b| a < b));
    }
}
