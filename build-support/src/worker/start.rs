//! The two places where the build script meets what Rust cannot check: running before `main`, and the descriptors
//! that cargo hands on.
//!
//! A worker is the build script's own binary, started again. Code of the user's `main` must not run a second time, so
//! a worker is served from a constructor and the process ends there. Only passes that `main` adds are an exception.
#![allow(unsafe_code, reason = "a constructor and inherited descriptors have no safe form")]

/// Runs before `main`.
#[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd", target_vendor = "apple", windows))]
#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(windows, unsafe(link_section = ".CRT$XCU"))]
#[cfg_attr(not(any(target_vendor = "apple", windows)), unsafe(link_section = ".init_array"))]
static BEFORE_MAIN: extern "C" fn() = {
    extern "C" fn before_main() {
        super::serve::serve_before_main();
    }
    before_main
};

/// Keeps the constructor in the program: a linker drops what nothing names.
pub(crate) fn keep() {
    #[cfg(any(target_os = "linux", target_os = "android", target_os = "freebsd", target_vendor = "apple", windows))]
    std::hint::black_box(&BEFORE_MAIN);
}

/// Cargo's job server, if cargo started this process.
pub(crate) fn job_server() -> Option<jobserver::Client> {
    // SAFETY: the process, a build script or a worker of one, has opened no file of its own under the descriptors that
    // cargo names, as it asks before anything else of this crate opens one. Cargo keeps them open for build scripts, and
    // workers inherit them.
    unsafe { jobserver::Client::from_env() }
}
