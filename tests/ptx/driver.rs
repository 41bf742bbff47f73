//! The interpreter of PTX as the device of CUDA's driver: a library of this name that is in the process already is the one
//! that the runtime finds when it opens the driver.
#![allow(unsafe_code, reason = "a driver is called as its interface says, with addresses and lengths")]

use std::collections::BTreeSet;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use libloading::Library;
use ptx_interpreter::{Axis, Device, Kernel, Tensor};
use tenfold_tests::tools;

/// An address is not there, or a launch failed.
const FAULT: c_int = 719;

/// The device, and what its kernels did that they must not.
struct State {
    device: Device,
    faults: Vec<String>,
    /// The opcodes of all kernels that ran.
    opcodes: BTreeSet<String>,
}

fn state() -> MutexGuard<'static, State> {
    static STATE: OnceLock<Mutex<State>> = OnceLock::new();
    let state = STATE.get_or_init(|| {
        let seed = std::env::var("TENFOLD_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
        Mutex::new(State { device: Device::new(seed), faults: Vec::new(), opcodes: BTreeSet::new() })
    });
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What kernels did that they must not, since this was asked last.
pub(crate) fn faults() -> String {
    std::mem::take(&mut state().faults).join("\n")
}

/// Whether a kernel ran that has an instruction with this in its opcode.
pub(crate) fn ran(part: &str) -> bool {
    state().opcodes.iter().any(|known| known.contains(part))
}

/// The code for what went wrong.
fn code(done: Result<(), String>, state: &mut State) -> c_int {
    done.map_or_else(
        |what| {
            state.faults.push(what);
            FAULT
        },
        |()| 0,
    )
}

extern "C" fn allocate(bytes: usize) -> u64 {
    state().device.allocate(bytes)
}

extern "C" fn free(at: u64) -> c_int {
    c_int::from(!state().device.free(at))
}

unsafe extern "C" fn write(to: u64, from: *const c_void, bytes: usize) -> c_int {
    // SAFETY: the caller has so many bytes there.
    let data = if bytes == 0 { &[] } else { unsafe { std::slice::from_raw_parts(from.cast::<u8>(), bytes) } };
    let mut state = state();
    let done = state.device.write(to, data);
    code(done, &mut state)
}

unsafe extern "C" fn read(to: *mut c_void, from: u64, bytes: usize) -> c_int {
    let mut state = state();
    let done = state.device.read(from, bytes).map(|data| {
        // SAFETY: the caller has so much room there.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), to.cast::<u8>(), bytes) };
    });
    code(done, &mut state)
}

unsafe extern "C" fn load(text: *const c_char, log: *mut c_char, room: usize) -> *mut c_void {
    // SAFETY: the text ends with a zero.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    match ptx_interpreter::kernels(&text) {
        Ok(kernels) => Box::into_raw(Box::new(kernels)).cast(),
        Err(why) => {
            let said = why.to_string();
            let len = said.len().min(room.saturating_sub(1));
            // SAFETY: there is room for so many bytes, and they are zeros.
            unsafe { std::ptr::copy_nonoverlapping(said.as_ptr(), log.cast::<u8>(), len) };
            std::ptr::null_mut()
        }
    }
}

unsafe extern "C" fn unload(module: *mut c_void) {
    // SAFETY: the module is one that was loaded, and nobody else has it.
    drop(unsafe { Box::from_raw(module.cast::<Vec<Kernel>>()) });
}

unsafe extern "C" fn function(module: *mut c_void, name: *const c_char) -> *const c_void {
    // SAFETY: the module is one that was loaded, and the name ends with a zero.
    let (kernels, name) = unsafe { (&*module.cast::<Vec<Kernel>>(), CStr::from_ptr(name)) };
    let found = kernels.iter().find(|kernel| kernel.name().as_bytes() == name.to_bytes());
    found.map_or(std::ptr::null(), |kernel| std::ptr::from_ref(kernel).cast())
}

unsafe extern "C" fn launch(
    function: *const c_void,
    grid: *const [c_uint; 3],
    block: *const [c_uint; 3],
    shared: c_uint,
    given: *const *const u8,
) -> c_int {
    // SAFETY: the function is one of a module that is loaded.
    let kernel = unsafe { &*function.cast::<Kernel>() };
    let params: Vec<Vec<u8>> = kernel
        .params()
        .into_iter()
        .enumerate()
        // SAFETY: as many bytes as the kernel says lie where each parameter is given.
        .map(|(n, bytes)| unsafe { std::slice::from_raw_parts(*given.add(n), bytes) }.to_vec())
        .collect();
    // SAFETY: the driver gives three numbers each.
    let (grid, block) = unsafe { (*grid, *block) };
    let mut state = state();
    state.opcodes.extend(kernel.opcodes().map(str::to_string));
    let done = state.device.launch(kernel, grid, block, shared, &params).map_err(|fault| fault.to_string());
    code(done, &mut state)
}

unsafe extern "C" fn describe(
    map: *mut [u8; 128],
    at: u64,
    element: c_uint,
    rank: c_uint,
    extents: *const u64,
    strides: *const u64,
    widths: *const c_uint,
) -> c_int {
    let rank = rank as usize;
    // SAFETY: there is an extent and a width for each axis, and a stride for each but the innermost.
    let (extents, strides, widths) = unsafe {
        let strides = std::slice::from_raw_parts(strides, rank.saturating_sub(1));
        (std::slice::from_raw_parts(extents, rank), strides, std::slice::from_raw_parts(widths, rank))
    };
    let strides = std::iter::once(u64::from(element)).chain(strides.iter().copied());
    let axes = extents.iter().zip(strides).zip(widths);
    let axes = axes.map(|((extent, stride), width)| Axis { extent: *extent, stride, width: *width }).collect();
    let mut state = state();
    let done = state.device.describe(Tensor { at, element: element.into(), axes }).map(|made| {
        // SAFETY: the caller has room for a map.
        unsafe { *map = made };
    });
    match code(done, &mut state) {
        0 => 0,
        // The driver says that a value is none that it takes.
        _ => 1,
    }
}

/// The functions that the driver hands on to, as `driver.c` has them.
#[repr(C)]
struct Calls {
    allocate: extern "C" fn(usize) -> u64,
    free: extern "C" fn(u64) -> c_int,
    write: unsafe extern "C" fn(u64, *const c_void, usize) -> c_int,
    read: unsafe extern "C" fn(*mut c_void, u64, usize) -> c_int,
    load: unsafe extern "C" fn(*const c_char, *mut c_char, usize) -> *mut c_void,
    unload: unsafe extern "C" fn(*mut c_void),
    function: unsafe extern "C" fn(*mut c_void, *const c_char) -> *const c_void,
    launch:
        unsafe extern "C" fn(*const c_void, *const [c_uint; 3], *const [c_uint; 3], c_uint, *const *const u8) -> c_int,
    describe: unsafe extern "C" fn(*mut [u8; 128], u64, c_uint, c_uint, *const u64, *const u64, *const c_uint) -> c_int,
}

const CALLS: Calls = Calls { allocate, free, write, read, load, unload, function, launch, describe };

/// Makes the driver of the C text, and opens it for the rest of the process.
fn open() -> Library {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ptx");
    std::fs::create_dir_all(&folder).expect("a folder for the driver");
    let library = folder.join(format!("driver-{}.so", std::process::id()));
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-Wl,-soname,libcuda.so", "-o"]).arg(&library);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("ptx/driver.c");
    let made = compiler.arg(source).output().expect("the compiler starts");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    // SAFETY: the library has no code that runs when it is opened.
    let opened = unsafe { Library::new(&library) }.expect("the driver is a library");
    std::fs::remove_file(&library).expect("what is open can be removed");
    // SAFETY: the function takes a table of such functions, which live as long as the process.
    let give = unsafe { opened.get::<unsafe extern "C" fn(*const Calls)>(b"tenfold_interpreter") };
    // SAFETY: as above.
    unsafe { give.expect("the driver has the function")(&CALLS) };
    opened
}

/// Whether the driver of this process is the interpreter; says what is missing if not.
pub(crate) fn is_there() -> bool {
    static DRIVER: OnceLock<Library> = OnceLock::new();
    if !tools::has("cc") || !cfg!(target_os = "linux") {
        tools::skip("a C compiler on Linux", "install one, such as gcc");
        return false;
    }
    DRIVER.get_or_init(open);
    true
}
