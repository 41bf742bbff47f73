//! A call of a program: its kernels are loaded once, its launches follow each other in the stream.

use core::ffi::c_void;
use std::{
    ffi::CString,
    sync::{Arc, Mutex},
    vec::Vec,
};

use cudarc::driver::sys::CUfunction_attribute_enum as Attribute;
use tenfold_abi::program::Feature;

use super::{
    Cuda,
    api::{Handle, TensorMap},
    context::Context,
    load,
    maps::encode,
    memory::Memory,
};
use crate::{
    DeviceCode, DeviceFault, Operands, Status,
    device::launch::{self, Bound, Call, Room, Start},
    device::store::lock,
    program::{Program, ProgramKernel},
};

/// More shared memory than this a kernel must be allowed.
const SHARED: i64 = 48 << 10;

/// A program that is ready to run: read, its kernels loaded, its constants on the device.
pub(super) struct Loaded {
    program: Program<'static>,
    kernels: Vec<Kernel>,
    constants: Vec<Option<Arc<Memory>>>,
}

/// A kernel that the driver has compiled.
pub(super) struct Kernel {
    name: &'static str,
    block: [u32; 3],
    module: Handle,
    pub(super) function: Handle,
    /// Bytes of shared memory that it is allowed, which only grow: other threads may be about to start it.
    shared: Mutex<i64>,
    context: Arc<Context>,
}

// SAFETY: the driver's handles may be used by any thread, and by several at once, where the context is current.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

impl Drop for Kernel {
    fn drop(&mut self) {
        // Work that was submitted may still run the kernel.
        let _ = self.context.wait();
        // SAFETY: nobody else has the module.
        let _ = self.context.within("cuModuleUnload", |api| unsafe { (api.module_unload)(self.module) });
    }
}

/// A call that the device allows.
pub(super) struct Ready {
    pub(super) loaded: Arc<Loaded>,
    pub(super) call: Call<Arc<Memory>>,
}

/// Runs the program of a function, or submits it.
pub(super) fn run(
    device: &Cuda,
    code: DeviceCode,
    operands: &Operands<'_, Arc<Memory>>,
) -> Result<Status, DeviceFault> {
    let Ready { loaded, call } = match prepare(device, code, operands)? {
        Ok(ready) => ready,
        Err(status) => return Ok(status),
    };
    call.starts.iter().try_for_each(|start| submit(&device.context, &loaded, &call.buffers, start))?;
    Ok(Status::OK)
}

/// Checks a call and binds its memory; or gives the status of a check that does not hold.
pub(super) fn prepare(
    device: &Cuda,
    code: DeviceCode,
    operands: &Operands<'_, Arc<Memory>>,
) -> Result<Result<Ready, Status>, DeviceFault> {
    device.context.alive()?;
    let loaded = device.store.program(code, || best(device, code))?;
    let call = match launch::prepare(device, &loaded.program, &loaded.constants, operands)? {
        Ok(call) => call,
        Err(status) => return Ok(Err(status)),
    };
    call.starts.iter().try_for_each(|start| check(&device.context, &loaded, start))?;
    Ok(Ok(Ready { loaded, call }))
}

impl Room for Cuda {
    type Memory = Arc<Memory>;

    fn workspace(&self, bytes: u64) -> Result<Arc<Memory>, DeviceFault> {
        Ok(Arc::new(Memory::new(&self.context, bytes)?))
    }

    fn scalar(&self, bits: u64) -> Result<Arc<Memory>, DeviceFault> {
        let memory = Memory::new(&self.context, 8)?;
        memory.write(&bits.to_le_bytes())?;
        Ok(Arc::new(memory))
    }

    fn bytes(&self, memory: &Arc<Memory>) -> Option<u64> {
        Arc::ptr_eq(&memory.context, &self.context).then_some(memory.bytes)
    }
}

/// The modules of a blob that a device of this capability can run, the best first.
fn keys(capability: (i32, i32)) -> &'static [&'static str] {
    match capability {
        (9, 0) => &["nvptx:sm_90a", "nvptx:sm_80"],
        (8.., _) => &["nvptx:sm_80"],
        _ => &[],
    }
}

/// Makes a program ready: the best that the driver takes.
fn best(device: &Cuda, code: DeviceCode) -> Result<Loaded, DeviceFault> {
    let mut why = DeviceFault::NoCode;
    for key in keys(device.context.info.capability) {
        match code.program(key).and_then(|program| ready(device, code, program)) {
            // The driver may be too old for the one and know the other.
            Err(DeviceFault::NoCode) => {}
            Err(other @ DeviceFault::Kernel { .. }) => why = other,
            done => return done,
        }
    }
    Err(why)
}

fn ready(device: &Cuda, code: DeviceCode, program: Program<'static>) -> Result<Loaded, DeviceFault> {
    let context = &device.context;
    let kernels = program.kernels().map(|kernel| compile(context, &kernel)).collect::<Result<_, _>>()?;
    let constants = device.store.constants(code, &program, |data| {
        let memory = Memory::new(context, data.len() as u64)?;
        memory.write(data)?;
        Ok(Arc::new(memory))
    })?;
    Ok(Loaded { program, kernels, constants })
}

/// Has the driver compile a kernel.
fn compile(context: &Arc<Context>, kernel: &ProgramKernel<'static>) -> Result<Kernel, DeviceFault> {
    // What every device of these capabilities has is no feature here.
    let unknown = Feature::ALL.into_iter().fold(kernel.features, |bits, (feature, _)| bits & !feature.bit());
    if let Some(feature) = Feature::first_of(unknown) {
        return Err(DeviceFault::Unsupported { kernel: kernel.name, feature });
    }
    if kernel.subgroup != 0 && kernel.subgroup != 32 {
        return Err(DeviceFault::Unsupported { kernel: kernel.name, feature: "subgroups of another size" });
    }
    let fault = |code, said| DeviceFault::Kernel { kernel: kernel.name, block: kernel.local, code, said };
    let garbage = fault(-1, "");
    let (text, name) = (CString::new(kernel.code), CString::new(kernel.name));
    let (Ok(text), Ok(name)) = (text, name) else { return Err(garbage) };
    let (module, said) = load::module(context, &text);
    let refused = |why| match why {
        DeviceFault::Driver { code, .. } => fault(code, said),
        why => why,
    };
    let module = module.map_err(refused)?;
    let (context, function) = (Arc::clone(context), core::ptr::null_mut());
    let shared = Mutex::new(SHARED);
    let mut kernel = Kernel { name: kernel.name, block: kernel.local, module, function, shared, context };
    let (context, mut function) = (Arc::clone(&kernel.context), core::ptr::null_mut());
    // SAFETY: the module was loaded, and the name ends with a zero.
    let found = context
        .within("cuModuleGetFunction", |api| unsafe { (api.module_function)(&mut function, module, name.as_ptr()) });
    found.map_err(refused)?;
    kernel.function = function;
    Ok(kernel)
}

/// That the device can start a launch.
fn check(context: &Context, loaded: &Loaded, start: &Start) -> Result<(), DeviceFault> {
    let kernel = loaded.kernels.get(start.kernel as usize).ok_or(DeviceFault::Operands)?;
    let axes = ["groups along x", "groups along y", "groups along z"];
    let beyond = start.grid.iter().zip(context.groups).zip(axes).find(|((n, max), _)| **n > *max);
    let shared = (start.shared > context.shared || start.shared < 0).then_some("bytes of shared memory");
    match beyond.map(|(_, axis)| axis).or(shared) {
        Some(limit) => Err(DeviceFault::Launch { kernel: kernel.name, grid: start.grid, block: kernel.block, limit }),
        None => Ok(()),
    }
}

/// A launch as the driver takes it.
pub(super) struct Launch<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) start: &'a Start,
    /// Each argument in 8 bytes, of which the driver takes as many as the kernel says, the lowest first.
    words: Vec<u64>,
    /// The maps of tensors behind them.
    maps: Vec<TensorMap>,
}

impl<'a> Launch<'a> {
    /// A launch whose kernel is allowed the shared memory that it asks for.
    pub(super) fn new(
        loaded: &'a Loaded,
        buffers: &[Bound<Arc<Memory>>],
        start: &'a Start,
    ) -> Result<Self, DeviceFault> {
        let kernel = loaded.kernels.get(start.kernel as usize).ok_or(DeviceFault::Operands)?;
        let bound = start.buffers.iter().filter_map(|at| buffers.get(*at as usize));
        let words = bound.map(|bound| bound.memory.at + bound.offset).chain(start.values.iter().copied()).collect();
        let maps =
            start.maps.iter().map(|tensor| encode(&kernel.context, buffers, tensor)).collect::<Result<_, _>>()?;
        let launch = Self { kernel, start, words, maps };
        let mut allowed = lock(&kernel.shared);
        if start.shared > *allowed {
            let attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as i32;
            // SAFETY: the function lives.
            let set = kernel.context.within("cuFuncSetAttribute", |api| unsafe {
                (api.function_attribute)(kernel.function, attribute, start.shared as i32)
            });
            set.map_err(|why| launch.refused(why))?;
            *allowed = start.shared;
        }
        drop(allowed);
        Ok(launch)
    }

    /// Where its arguments lie.
    pub(super) fn arguments(&mut self) -> Vec<*mut c_void> {
        let words = self.words.iter_mut().map(|word| core::ptr::from_mut(word).cast());
        words.chain(self.maps.iter_mut().map(|map| core::ptr::from_mut(map).cast())).collect()
    }

    /// Groups, and threads of a group.
    pub(super) fn sizes(&self) -> ([u32; 3], [u32; 3]) {
        (self.start.grid.map(|n| n as u32), self.kernel.block)
    }

    /// The fault of a driver that does not start it.
    pub(super) fn refused(&self, why: DeviceFault) -> DeviceFault {
        match why {
            DeviceFault::Driver { code, .. } => {
                let (kernel, grid, block) = (self.kernel.name, self.start.grid, self.kernel.block);
                DeviceFault::Start { kernel, grid, block, code }
            }
            why => why,
        }
    }
}

/// Puts a launch into the stream.
fn submit(
    context: &Context,
    loaded: &Loaded,
    buffers: &[Bound<Arc<Memory>>],
    start: &Start,
) -> Result<(), DeviceFault> {
    let mut launch = Launch::new(loaded, buffers, start)?;
    let mut arguments = launch.arguments();
    let ([gx, gy, gz], [x, y, z]) = launch.sizes();
    let (function, shared, stream) = (launch.kernel.function, start.shared as u32, context.stream);
    let (given, none) = (arguments.as_mut_ptr(), core::ptr::null_mut());
    // SAFETY: the kernel takes these arguments, as who made it has promised; what it uses goes back behind it in the
    // stream.
    let started = context.within("cuLaunchKernel", |api| unsafe {
        (api.launch)(function, gx, gy, gz, x, y, z, shared, stream, given, none)
    });
    started.map_err(|why| launch.refused(why))
}
