//! A call of a program: its kernels are loaded once, its launches follow each other in the stream.

use core::ffi::c_void;
use std::{
    ffi::CString,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    vec::Vec,
};

use cudarc::driver::sys::CUfunction_attribute_enum as Attribute;
use tenfold_abi::program::Feature;

use super::{Cuda, api::Handle, context::Context, memory::Memory};
use crate::{
    DeviceCode, DeviceFault, Operands, Status,
    device::launch::{self, Bound, Room, Start},
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
struct Kernel {
    name: &'static str,
    block: [u32; 3],
    module: Handle,
    function: Handle,
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

/// Runs the program of a function, or submits it.
pub(super) fn run(
    device: &Cuda,
    code: DeviceCode,
    operands: &Operands<'_, Arc<Memory>>,
) -> Result<Status, DeviceFault> {
    device.context.alive()?;
    let loaded = load(device, code)?;
    let values = match launch::numbers(&loaded.program, operands.dims)? {
        Ok(values) => values,
        Err(status) => return Ok(status),
    };
    let room = Here { device, loaded: &loaded };
    let buffers = launch::bind(&room, &loaded.program, operands, &values)?;
    let starts = launch::starts(&loaded.program, operands.scalars, &values)?;
    for start in &starts {
        check(&device.context, &loaded, start)?;
    }
    starts.iter().try_for_each(|start| submit(&device.context, &loaded, &buffers, start))?;
    Ok(Status::OK)
}

/// Memory of this device for a call.
struct Here<'a> {
    device: &'a Cuda,
    loaded: &'a Loaded,
}

impl Room for Here<'_> {
    type Memory = Arc<Memory>;

    fn workspace(&self, bytes: u64) -> Result<Arc<Memory>, DeviceFault> {
        Ok(Arc::new(Memory::new(&self.device.context, bytes)?))
    }

    fn scalar(&self, bits: u64) -> Result<Arc<Memory>, DeviceFault> {
        let memory = Memory::new(&self.device.context, 8)?;
        memory.write(&bits.to_le_bytes())?;
        Ok(Arc::new(memory))
    }

    fn constant(&self, at: usize) -> Option<Arc<Memory>> {
        self.loaded.constants.get(at).cloned().flatten()
    }

    fn bytes(&self, memory: &Arc<Memory>) -> Option<u64> {
        Arc::ptr_eq(&memory.context, &self.device.context).then_some(memory.bytes)
    }
}

/// What a lock guards, also after a thread panicked while it held it: each change is one step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The modules of a blob that a device of this capability can run, the best first.
fn keys(capability: (i32, i32)) -> &'static [&'static str] {
    match capability {
        (9, 0) => &["nvptx:sm_90a", "nvptx:sm_80"],
        (8.., _) => &["nvptx:sm_80"],
        _ => &[],
    }
}

/// The program of a function, made ready once.
fn load(device: &Cuda, code: DeviceCode) -> Result<Arc<Loaded>, DeviceFault> {
    let mut programs = lock(&device.programs);
    if let Some(loaded) = programs.get(&code.key()) {
        return Ok(Arc::clone(loaded));
    }
    let mut why = DeviceFault::NoCode;
    for key in keys(device.context.info.capability) {
        let loaded = code.program(key).and_then(|program| ready(device, code, program));
        match loaded {
            Ok(loaded) => {
                let loaded = Arc::new(loaded);
                programs.insert(code.key(), Arc::clone(&loaded));
                return Ok(loaded);
            }
            // The driver may be too old for the one and know the other.
            Err(DeviceFault::NoCode) => {}
            Err(other @ DeviceFault::Kernel { .. }) => why = other,
            Err(other) => return Err(other),
        }
    }
    Err(why)
}

fn ready(device: &Cuda, code: DeviceCode, program: Program<'static>) -> Result<Loaded, DeviceFault> {
    let kernels = program.kernels().map(|kernel| compile(&device.context, &kernel)).collect::<Result<_, _>>()?;
    let constants = program
        .constants()
        .enumerate()
        .map(|(at, bytes)| launch::constant(code, at, bytes)?.map(|data| constant(device, data)).transpose());
    let constants = constants.collect::<Result<_, _>>()?;
    Ok(Loaded { program, kernels, constants })
}

/// A constant on the device, copied once.
fn constant(device: &Cuda, data: &'static [u8]) -> Result<Arc<Memory>, DeviceFault> {
    let mut constants = lock(&device.constants);
    let key = (data.as_ptr() as usize, data.len());
    if let Some(memory) = constants.get(&key) {
        return Ok(Arc::clone(memory));
    }
    let memory = Memory::new(&device.context, data.len() as u64)?;
    memory.write(data)?;
    let memory = Arc::new(memory);
    constants.insert(key, Arc::clone(&memory));
    Ok(memory)
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
    let refused = |why| match why {
        DeviceFault::Driver { code, .. } => DeviceFault::Kernel { kernel: kernel.name, block: kernel.local, code },
        why => why,
    };
    let garbage = DeviceFault::Kernel { kernel: kernel.name, block: kernel.local, code: -1 };
    let (text, name) = (CString::new(kernel.code), CString::new(kernel.name));
    let (Ok(text), Ok(name)) = (text, name) else { return Err(garbage) };
    let mut module = core::ptr::null_mut();
    // SAFETY: the text ends with a zero, and who made it has promised that it is right.
    let loaded = context
        .within("cuModuleLoadData", |api| unsafe { (api.module_load)(&mut module, text.as_ptr().cast::<c_void>()) });
    loaded.map_err(refused)?;
    let (context, function) = (Arc::clone(context), core::ptr::null_mut());
    let mut kernel = Kernel { name: kernel.name, block: kernel.local, module, function, context };
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

/// Puts a launch into the stream.
fn submit(
    context: &Context,
    loaded: &Loaded,
    buffers: &[Bound<Arc<Memory>>],
    start: &Start,
) -> Result<(), DeviceFault> {
    let kernel = loaded.kernels.get(start.kernel as usize).ok_or(DeviceFault::Operands)?;
    let bound = start.buffers.iter().filter_map(|at| buffers.get(*at as usize));
    // Each argument in 8 bytes, of which the driver takes as many as the kernel says, the lowest first.
    let mut words: Vec<u64> =
        bound.map(|bound| bound.memory.at + bound.offset).chain(start.values.iter().copied()).collect();
    let mut pointers: Vec<*mut c_void> = words.iter_mut().map(|word| core::ptr::from_mut(word).cast()).collect();
    let refused = |why| match why {
        DeviceFault::Driver { code, .. } => {
            DeviceFault::Start { kernel: kernel.name, grid: start.grid, block: kernel.block, code }
        }
        why => why,
    };
    if start.shared > SHARED {
        let attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as i32;
        // SAFETY: the function lives.
        let allowed = context.within("cuFuncSetAttribute", |api| unsafe {
            (api.function_attribute)(kernel.function, attribute, start.shared as i32)
        });
        allowed.map_err(refused)?;
    }
    let ([gx, gy, gz], [x, y, z]) = (start.grid.map(|n| n as u32), kernel.block);
    // SAFETY: the kernel takes these arguments, as who made it has promised; what it uses goes back behind it in the
    // stream.
    let started = context.within("cuLaunchKernel", |api| unsafe {
        let none = core::ptr::null_mut();
        (api.launch)(
            kernel.function,
            gx,
            gy,
            gz,
            x,
            y,
            z,
            start.shared as u32,
            context.stream,
            pointers.as_mut_ptr(),
            none,
        )
    });
    started.map_err(refused)
}
