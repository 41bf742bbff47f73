//! A device that is open: its context, which the program's other users of CUDA share, and one stream, of its own or
//! another library's.

use core::ffi::{c_char, c_int};
use std::{
    boxed::Box,
    string::String,
    sync::atomic::{AtomicBool, Ordering},
    vec::Vec,
};

use cudarc::driver::sys::CUdevice_attribute_enum as Attribute;

use super::{
    api::{Api, Handle, api, fault},
    pool::Pool,
    staging::Staging,
};
use crate::DeviceFault;

/// A device that CUDA knows.
///
/// ```
/// use tenfold::Cuda;
///
/// for device in Cuda::devices().unwrap_or_default() {
///     println!("{}: {}, sm_{}{}", device.index, device.name, device.capability.0, device.capability.1);
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CudaInfo {
    /// Its number.
    pub index: usize,
    /// What its driver calls it.
    pub name: String,
    /// Its compute capability: 9 and 0 of `sm_90`.
    pub capability: (i32, i32),
    /// How much memory it has.
    pub bytes: u64,
}

/// The devices that there are.
pub(super) fn devices() -> Result<Vec<CudaInfo>, DeviceFault> {
    let api = api()?;
    let mut count = 0;
    // SAFETY: the driver was started, and writes one number.
    check("cuDeviceGetCount", unsafe { (api.device_count)(&mut count) })?;
    let all: Vec<_> = (0..count).map(|device| info(api, device)).collect::<Result<_, _>>()?;
    if all.is_empty() { Err(DeviceFault::NoDevice) } else { Ok(all) }
}

fn info(api: &Api, device: c_int) -> Result<CudaInfo, DeviceFault> {
    let (mut name, mut bytes) = ([0; 128], 0_usize);
    let (major, minor) = (
        Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
        Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
    );
    // SAFETY: the driver writes no more than the 128 bytes that it is told of, and a number.
    unsafe {
        check("cuDeviceGetName", (api.device_name)(name.as_mut_ptr().cast::<c_char>(), 128, device))?;
        check("cuDeviceTotalMem", (api.device_memory)(&mut bytes, device))?;
    }
    let name: Vec<u8> = name.into_iter().take_while(|byte| *byte != 0).collect();
    Ok(CudaInfo {
        index: device as usize,
        name: String::from_utf8_lossy(&name).into_owned(),
        capability: (attribute(api, device, major)?, attribute(api, device, minor)?),
        bytes: bytes as u64,
    })
}

fn attribute(api: &Api, device: c_int, attribute: Attribute) -> Result<c_int, DeviceFault> {
    let mut value = 0;
    // SAFETY: the driver writes one number.
    check("cuDeviceGetAttribute", unsafe { (api.device_attribute)(&mut value, attribute as c_int, device) })?;
    Ok(value)
}

pub(super) fn check(call: &'static str, code: c_int) -> Result<(), DeviceFault> {
    if code == 0 { Ok(()) } else { Err(fault(call, code)) }
}

/// An open device.
pub(super) struct Context {
    pub(super) info: CudaInfo,
    pub(super) api: &'static Api,
    /// Groups along x, y and z, at most.
    pub(super) groups: [i64; 3],
    /// Bytes of shared memory of a group, at most.
    pub(super) shared: i64,
    pub(super) stream: Handle,
    pub(super) raw: Handle,
    pub(super) pool: Pool,
    pub(super) staging: Staging,
    lost: AtomicBool,
    held: Held,
}

/// Whoever keeps something alive for us until we drop it.
pub(super) type Owner = Box<dyn Send + Sync>;

/// What keeps a context, and who made its stream.
enum Held {
    /// The primary context of this device, with a stream of its own.
    Primary(c_int),
    /// Another library's, with its stream.
    Other { _owner: Owner },
}

// SAFETY: the driver's handles may be used by any thread, and by several at once, where the context is current.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    /// The context that a program's users of CUDA share, with a stream of its own.
    pub(super) fn open(info: CudaInfo) -> Result<Self, DeviceFault> {
        let (api, device, mut raw) = (api()?, info.index as c_int, core::ptr::null_mut());
        // SAFETY: the driver writes one handle, which is given back when this is dropped.
        check("cuDevicePrimaryCtxRetain", unsafe { (api.context_retain)(&mut raw, device) })?;
        let mut context = Self::new(api, info, raw, Held::Primary(device));
        context.look()?;
        let mut stream = core::ptr::null_mut();
        let own = |api: &Api| {
            // SAFETY: the driver writes one handle. The stream does not wait for the one that everybody shares.
            unsafe { (api.stream_create)(&mut stream, 1) }
        };
        let created = context.within("cuStreamCreate", own);
        context.stream = stream;
        created.map(|()| context)
    }

    /// The context of another library's stream.
    ///
    /// # Safety
    ///
    /// Both live as long as their owner.
    pub(super) unsafe fn share(stream: Handle, owner: Owner) -> Result<Self, DeviceFault> {
        let (api, mut raw, mut device) = (api()?, core::ptr::null_mut(), 0);
        // SAFETY: the driver writes one handle. Of no stream it gives the context that is current.
        check("cuStreamGetCtx", unsafe { (api.stream_context)(stream, &mut raw) })?;
        let nothing = CudaInfo { index: 0, name: String::new(), capability: (0, 0), bytes: 0 };
        let mut context = Self::new(api, nothing, raw, Held::Other { _owner: owner });
        context.stream = stream;
        // SAFETY: the driver writes one number.
        context.within("cuCtxGetDevice", |api| unsafe { (api.context_device)(&mut device) })?;
        context.info = info(api, device)?;
        context.look()?;
        Ok(context)
    }

    fn new(api: &'static Api, info: CudaInfo, raw: Handle, held: Held) -> Self {
        let (stream, lost) = (core::ptr::null_mut(), AtomicBool::new(false));
        let (pool, staging) = (Pool::NONE, Staging::default());
        Self { info, api, groups: [0; 3], shared: 0, stream, raw, pool, staging, lost, held }
    }

    /// Looks up how much the device allows, and makes the pool of its memory.
    fn look(&mut self) -> Result<(), DeviceFault> {
        let (api, device) = (self.api, self.info.index as c_int);
        let axes = [
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X,
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z,
        ];
        for (to, axis) in self.groups.iter_mut().zip(axes) {
            *to = i64::from(attribute(api, device, axis)?);
        }
        let shared = Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
        self.shared = i64::from(attribute(api, device, shared)?);
        self.pool = Pool::new(self);
        Ok(())
    }

    /// That the device is not lost.
    pub(super) fn alive(&self) -> Result<(), DeviceFault> {
        if self.lost.load(Ordering::Acquire) { Err(DeviceFault::Lost) } else { Ok(()) }
    }

    /// Calls the driver with this context, and leaves the thread with the one that it had.
    pub(super) fn within(&self, call: &'static str, f: impl FnOnce(&Api) -> c_int) -> Result<(), DeviceFault> {
        self.alive()?;
        let mut before = core::ptr::null_mut();
        // SAFETY: the context is held; what is pushed is taken away again.
        let code = unsafe {
            match (self.api.context_push)(self.raw) {
                0 => {
                    let code = f(self.api);
                    (self.api.context_pop)(&mut before);
                    code
                }
                code => code,
            }
        };
        check(call, code).inspect_err(|why| {
            if *why == DeviceFault::Lost {
                self.lost.store(true, Ordering::Release);
            }
        })
    }

    /// Waits until all that was submitted is done.
    pub(super) fn wait(&self) -> Result<(), DeviceFault> {
        // SAFETY: the stream lives as long as this.
        self.within("cuStreamSynchronize", |api| unsafe { (api.stream_synchronize)(self.stream) })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if matches!(self.held, Held::Primary(_)) || !self.staging.is_empty() {
            let _ = self.wait();
        }
        self.staging.free(self);
        // SAFETY: all memory holds this, so none is left.
        unsafe { self.pool.destroy(self) };
        let device = match &self.held {
            Held::Primary(device) => *device,
            Held::Other { .. } => return,
        };
        if !self.stream.is_null() {
            // SAFETY: nobody else has the stream.
            let _ = self.within("cuStreamDestroy", |api| unsafe { (api.stream_destroy)(self.stream) });
        }
        // SAFETY: it was retained once, when this was made.
        unsafe { (self.api.context_release)(device) };
    }
}
