//! The functions of CUDA's driver, found in it when a program asks for a device.
//!
//! `cudarc` opens the driver and says what its constants are. Its functions are not called: they panic where a driver
//! lacks one, and give errors as an enumeration that newer drivers know more of.

use core::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use cudarc::driver::sys;

use crate::DeviceFault;

/// A handle of the driver's.
pub(super) type Handle = *mut c_void;

macro_rules! api {
    ($(#[$doc:meta])* $api:ident: $($name:ident = $symbol:literal ($($of:ty),*);)*) => {
        $(#[$doc])*
        pub(super) struct $api {
            $(pub(super) $name: unsafe extern "C" fn($($of),*) -> c_int,)*
        }

        impl $api {
            fn find() -> Result<Self, DeviceFault> {
                // SAFETY: opening the driver runs its start-up code, as in every program that uses CUDA.
                if !unsafe { sys::is_culib_present() } {
                    return Err(DeviceFault::NoDriver { what: "CUDA's driver cannot be opened (on Linux libcuda.so.1)" });
                }
                // SAFETY: it is there, so this does not panic.
                let library = unsafe { sys::culib() };
                // SAFETY: the types are those of the driver's documentation.
                Ok(Self { $($name: *unsafe { library.get($symbol.as_bytes()) }
                    .map_err(|_| DeviceFault::OldDriver { lacks: $symbol })?,)* })
            }
        }
    };
}

api! {
    /// The functions that every device needs.
    Api:
    init = "cuInit" (c_uint);
    device_count = "cuDeviceGetCount" (*mut c_int);
    device_name = "cuDeviceGetName" (*mut c_char, c_int, c_int);
    device_memory = "cuDeviceTotalMem_v2" (*mut usize, c_int);
    device_attribute = "cuDeviceGetAttribute" (*mut c_int, c_int, c_int);
    context_retain = "cuDevicePrimaryCtxRetain" (*mut Handle, c_int);
    context_release = "cuDevicePrimaryCtxRelease_v2" (c_int);
    context_push = "cuCtxPushCurrent_v2" (Handle);
    context_pop = "cuCtxPopCurrent_v2" (*mut Handle);
    context_device = "cuCtxGetDevice" (*mut c_int);
    stream_context = "cuStreamGetCtx" (Handle, *mut Handle);
    event_create = "cuEventCreate" (*mut Handle, c_uint);
    event_destroy = "cuEventDestroy_v2" (Handle);
    event_record = "cuEventRecord" (Handle, Handle);
    event_query = "cuEventQuery" (Handle);
    event_synchronize = "cuEventSynchronize" (Handle);
    event_elapsed = "cuEventElapsedTime" (*mut f32, Handle, Handle);
    stream_create = "cuStreamCreate" (*mut Handle, c_uint);
    stream_destroy = "cuStreamDestroy_v2" (Handle);
    stream_synchronize = "cuStreamSynchronize" (Handle);
    allocate = "cuMemAllocAsync" (*mut u64, usize, Handle);
    allocate_from = "cuMemAllocFromPoolAsync" (*mut u64, usize, Handle, Handle);
    pool_create = "cuMemPoolCreate" (*mut Handle, *const sys::CUmemPoolProps);
    pool_destroy = "cuMemPoolDestroy" (Handle);
    pool_set = "cuMemPoolSetAttribute" (Handle, c_int, *mut c_void);
    pool_trim = "cuMemPoolTrimTo" (Handle, usize);
    host_allocate = "cuMemHostAlloc" (*mut *mut c_void, usize, c_uint);
    host_free = "cuMemFreeHost" (*mut c_void);
    free = "cuMemFreeAsync" (u64, Handle);
    copy_to_device = "cuMemcpyHtoDAsync_v2" (u64, *const c_void, usize, Handle);
    copy_to_host = "cuMemcpyDtoHAsync_v2" (*mut c_void, u64, usize, Handle);
    fill = "cuMemsetD8Async" (u64, u8, usize, Handle);
    module_load = "cuModuleLoadDataEx" (*mut Handle, *const c_void, c_uint, *mut c_int, *mut *mut c_void);
    module_unload = "cuModuleUnload" (Handle);
    module_function = "cuModuleGetFunction" (*mut Handle, Handle, *const c_char);
    function_attribute = "cuFuncSetAttribute" (Handle, c_int, c_int);
    launch = "cuLaunchKernel" (
        Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void
    );
}

api! {
    /// The functions of graphs, the last of which came with CUDA 11.4.
    GraphApi:
    create = "cuGraphCreate" (*mut Handle, c_uint);
    add_kernel = "cuGraphAddKernelNode" (*mut Handle, Handle, *const Handle, usize, *const KernelNode);
    destroy = "cuGraphDestroy" (Handle);
    launch = "cuGraphLaunch" (Handle, Handle);
    destroy_exec = "cuGraphExecDestroy" (Handle);
    instantiate = "cuGraphInstantiateWithFlags" (*mut Handle, Handle, u64);
}

api! {
    /// What describes tensors to kernels, of CUDA 12.0.
    TensorApi:
    encode = "cuTensorMapEncodeTiled" (
        *mut TensorMap, c_int, c_uint, *mut c_void, *const u64, *const u64, *const c_uint, *const c_uint, c_int, c_int, c_int,
        c_int
    );
}

/// `CUtensorMap`, which kernels take by value.
#[repr(C, align(64))]
pub(super) struct TensorMap(pub(super) [u64; 16]);

/// What describes tensors, looked up when the first kernel is started that takes one.
pub(super) fn tensor_api() -> Result<&'static TensorApi, DeviceFault> {
    static API: OnceLock<Result<TensorApi, DeviceFault>> = OnceLock::new();
    API.get_or_init(TensorApi::find).as_ref().map_err(|why| *why)
}

/// `CUDA_KERNEL_NODE_PARAMS_v1`.
#[repr(C)]
pub(super) struct KernelNode {
    pub(super) function: Handle,
    pub(super) grid: [c_uint; 3],
    pub(super) block: [c_uint; 3],
    pub(super) shared: c_uint,
    pub(super) arguments: *mut *mut c_void,
    pub(super) extra: *mut *mut c_void,
}

/// The functions of graphs, looked up when the first call is recorded.
pub(super) fn graph_api() -> Result<&'static GraphApi, DeviceFault> {
    static API: OnceLock<Result<GraphApi, DeviceFault>> = OnceLock::new();
    API.get_or_init(GraphApi::find).as_ref().map_err(|why| *why)
}

/// The driver, opened and started once.
pub(super) fn api() -> Result<&'static Api, DeviceFault> {
    static API: OnceLock<Result<Api, DeviceFault>> = OnceLock::new();
    let api = API.get_or_init(|| {
        let api = Api::find()?;
        // SAFETY: the function takes no memory.
        match unsafe { (api.init)(0) } {
            0 => Ok(api),
            code => Err(fault("cuInit", code)),
        }
    });
    api.as_ref().map_err(|why| *why)
}

/// A driver without a device.
const NO_DEVICE: c_int = 100;
const OUT_OF_MEMORY: c_int = 2;
/// What was asked for is not over yet.
pub(super) const NOT_READY: c_int = 600;
/// The driver is older than the system's part of it, or a stub.
const OLD: [c_int; 3] = [34, 803, 804];
/// After these a context is of no use: memory that is not there, errors of the hardware, launches that failed or took too
/// long, a device that is gone.
const LOST: [c_int; 13] = [4, 46, 214, 700, 702, 710, 713, 714, 715, 716, 717, 718, 719];

/// The fault of a call of the driver.
pub(super) fn fault(call: &'static str, code: c_int) -> DeviceFault {
    match code {
        NO_DEVICE => DeviceFault::NoDevice,
        OUT_OF_MEMORY => DeviceFault::OutOfMemory { bytes: 0 },
        code if OLD.contains(&code) => DeviceFault::OldDriver { lacks: "what the system's part of it needs" },
        code if LOST.contains(&code) => DeviceFault::Lost,
        code => DeviceFault::Driver { call, code },
    }
}
