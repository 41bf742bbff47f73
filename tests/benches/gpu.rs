//! How fast kernels run on a GPU of NVIDIA's, beside copies of its memory, and whether what they give is right.
//!
//! `cargo bench -p tenfold-tests --bench gpu -- NAME…`: bytes read and written by second for what goes through memory,
//! floating point operations by second for products and attention. Random data; the median of batches; results are compared
//! with f64 at places of every part of the result. `sh tests/gpu.sh` runs it behind the tests. `--vulkan` measures shaders on
//! the same GPU instead, `--extents=4096,16384` other sizes than those that the functions have.
#![allow(unsafe_code, reason = "runs code of the back end, and the driver's own copies")]

#[allow(dead_code, reason = "tests use more of it")]
#[path = "../gpu/functions.rs"]
mod functions;

use std::ffi::{c_int, c_void};
use std::process::ExitCode;
use std::time::Instant;

use functions::{FUNCTIONS, Function};
use libloading::Library;
use tenfold::{Cuda, Device, DeviceCode, DeviceTensor, Dyn, Operands, Tensor, Vulkan};
use tenfold_core::{Device as Chip, DeviceCode as Packed, Options, compile_device, pack_devices, pass::PassContext};
use tenfold_ir::{ConstBytes, ConstData, DType, Scalar};
use tenfold_llvm::{Env, LlvmBackend, find, load};

/// Batches, of which the median counts, and calls of a batch at least.
const BATCHES: usize = 7;
const CALLS: usize = 3;
/// How long a batch is at least, in seconds.
const BATCH: f64 = 0.05;
/// Places of a result that are compared.
const PLACES: usize = 257;

type Fault = Box<dyn std::error::Error>;
type Bytes<D> = DeviceTensor<D, u8, (Dyn,)>;

fn main() -> ExitCode {
    let gpu = match Cuda::new() {
        Ok(gpu) => gpu,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(2);
        }
    };
    let (options, wanted): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|arg| arg.starts_with("--"));
    let extents = options.iter().find_map(|option| option.strip_prefix("--extents="));
    let Ok(extents) = extents.map(|all| all.split(',').map(str::parse).collect()).transpose() else {
        eprintln!("expected numbers with commas between them, such as `--extents=4096,16384`");
        return ExitCode::from(2);
    };
    match report(&gpu, &wanted, options.iter().any(|option| option == "--vulkan"), extents) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn report(gpu: &Cuda, wanted: &[String], shaders: bool, extents: Option<Vec<usize>>) -> Result<bool, Fault> {
    let info = gpu.info();
    println!("{}, sm_{}{}", info.name, info.capability.0, info.capability.1);
    let copies = copies(1 << 30)?;
    println!("{:28} {:9.0} GB/s read and written", "copies of 1 GiB", copies / 1e9);
    let chip = if info.capability == (9, 0) { Chip::Sm90a } else { Chip::Sm80 };
    let vulkan = if shaders { Some(Vulkan::new()?) } else { None };
    if let Some(vulkan) = &vulkan {
        println!("by Vulkan: {}", vulkan.info().name);
    }
    let mut right = true;
    for function in FUNCTIONS {
        if wanted.is_empty() || wanted.iter().any(|name| function.name.contains(name.as_str())) {
            let extents = extents.as_deref().unwrap_or(function.large);
            let count = function.large.len();
            if extents.len() != count || extents.contains(&0) {
                return Err(format!("{} has {count} extents from 1 on, found {extents:?}", function.name).into());
            }
            right &= match &vulkan {
                Some(vulkan) => measured(vulkan, Chip::Spirv, function, extents, copies)?,
                None => measured(gpu, chip, function, extents, copies)?,
            };
        }
    }
    Ok(right)
}

/// Bytes that the driver's own copies read and write by second.
fn copies(bytes: usize) -> Result<f64, Fault> {
    // SAFETY: the driver is open already; its functions have the types of its documentation, and memory is given back.
    unsafe {
        let driver = Library::new("libcuda.so.1").or_else(|_| Library::new("libcuda.so"))?;
        let retain =
            driver.get::<unsafe extern "C" fn(*mut *mut c_void, c_int) -> c_int>(b"cuDevicePrimaryCtxRetain")?;
        let current = driver.get::<unsafe extern "C" fn(*mut c_void) -> c_int>(b"cuCtxSetCurrent")?;
        let allocate = driver.get::<unsafe extern "C" fn(*mut u64, usize) -> c_int>(b"cuMemAlloc_v2")?;
        let free = driver.get::<unsafe extern "C" fn(u64) -> c_int>(b"cuMemFree_v2")?;
        let copy = driver.get::<unsafe extern "C" fn(u64, u64, usize) -> c_int>(b"cuMemcpyDtoD_v2")?;
        let wait = driver.get::<unsafe extern "C" fn() -> c_int>(b"cuCtxSynchronize")?;
        let (mut context, mut from, mut to) = (std::ptr::null_mut(), 0, 0);
        told("cuDevicePrimaryCtxRetain", retain(&mut context, 0))?;
        told("cuCtxSetCurrent", current(context))?;
        told("cuMemAlloc", allocate(&mut from, bytes))?;
        told("cuMemAlloc", allocate(&mut to, bytes))?;
        let seconds = median(|calls| {
            (0..calls).try_for_each(|_| told("cuMemcpyDtoD", copy(to, from, bytes)))?;
            told("cuCtxSynchronize", wait())
        })?;
        told("cuMemFree", free(from))?;
        told("cuMemFree", free(to))?;
        Ok(2.0 * bytes as f64 / seconds)
    }
}

fn told(call: &str, code: c_int) -> Result<(), Fault> {
    if code == 0 { Ok(()) } else { Err(format!("{call} failed with {code}").into()) }
}

/// Seconds of one call: the median of batches that are long enough.
fn median(mut batch: impl FnMut(usize) -> Result<(), Fault>) -> Result<f64, Fault> {
    batch(1)?;
    let begin = Instant::now();
    batch(1)?;
    let calls = CALLS.max((BATCH / begin.elapsed().as_secs_f64()) as usize);
    let mut all = Vec::new();
    for _ in 0..BATCHES {
        let begin = Instant::now();
        batch(calls)?;
        all.push(begin.elapsed().as_secs_f64() / calls as f64);
    }
    all.sort_by(f64::total_cmp);
    Ok(all[BATCHES / 2])
}

/// Prints a line of a function, and gives whether its results are right.
fn measured<D: Device>(
    gpu: &D,
    chip: Chip,
    function: &Function,
    extents: &[usize],
    copies: f64,
) -> Result<bool, Fault> {
    let code = match compiled(chip, function, extents) {
        Ok(code) => code,
        Err(why) => {
            println!("{:28} refused: {why}", function.name);
            return Ok(true);
        }
    };
    let dtype = if function.dtype == "bf16" { DType::BF16 } else { DType::F32 };
    let (mut values, mut tensors) = (Vec::new(), Vec::new());
    for (n, elements) in function.inputs(extents).into_iter().enumerate() {
        let (all, bytes) = random(elements, n as u64 + 1, dtype);
        let here: Tensor<u8, (Dyn,)> = bytes.into();
        tensors.push(Bytes::<D>::upload(gpu, here.view())?);
        values.push(all);
    }
    let result = Bytes::<D>::zeros(gpu, [function.result(extents) * dtype.size_bytes()])?;
    let (params, results): (Vec<_>, Vec<_>) =
        (tensors.iter().filter_map(Bytes::<D>::memory).collect(), vec![result.memory()]);
    let results: Vec<_> = results.into_iter().flatten().collect();
    let operands = Operands { params: &params, results: &results, scalars: &[], dims: &[] };
    let stream = gpu.stream()?;
    let batch = |calls| -> Result<(), Fault> {
        for _ in 0..calls {
            // SAFETY: nobody else has the tensors.
            let status = unsafe { gpu.run(code, &operands) }?;
            if !status.is_ok() {
                return Err(format!("the status is {status}").into());
            }
        }
        Ok(stream.synchronize()?)
    };
    let begin = Instant::now();
    batch(1)?;
    let first = begin.elapsed().as_secs_f64();
    let seconds = median(batch)?;
    let far = distance(function, extents, &values, result.download(gpu)?.as_slice(), dtype);
    let right = far <= function.tolerance;
    let elements = function.inputs(extents).iter().sum::<usize>() + function.result(extents);
    let bytes = (elements * dtype.size_bytes()) as f64 / seconds;
    let gflop = function.gflop(extents);
    let speed = if gflop > 0.0 {
        format!("{:9.2} TFLOP/s", gflop / seconds / 1e3)
    } else {
        format!("{:9.0} GB/s, {:3.0} % of copies", bytes / 1e9, 100.0 * bytes / copies)
    };
    let said = if right { "right" } else { "WRONG" };
    let (first, seconds) = (first * 1e3, seconds * 1e3);
    println!("{:28} {speed}, {seconds:.3} ms, the first call {first:.0} ms, {said}: {far:.1e} off", function.name);
    Ok(right)
}

/// Its code for a chip.
fn compiled(device: Chip, function: &Function, extents: &[usize]) -> Result<DeviceCode, Fault> {
    let found = find(&Env::from_process());
    let backend = LlvmBackend::new(load(&found)?, &found);
    let context = PassContext::new(device.target());
    let made = compile_device(function.module(extents), device, &context, &Options::default(), &backend);
    let Packed { blob, constants } = made.and_then(|made| pack_devices(vec![made])).map_err(|why| why.message)?;
    let room: &'static mut [u8] = vec![0; blob.len() + 16].leak();
    let start = room.as_ptr().align_offset(16);
    room[start..start + blob.len()].copy_from_slice(&blob);
    let inline = |data: &ConstData| match &data.bytes {
        ConstBytes::Inline(bytes) => &*bytes.to_vec().leak(),
        ConstBytes::File { .. } => &[],
    };
    let constants: Vec<&'static [u8]> = constants.iter().map(inline).collect();
    // SAFETY: the verifier has proven what kernels access and write.
    Ok(unsafe { DeviceCode::new(&room[start..start + blob.len()], constants.leak()) })
}

/// Values from -1 to 1, as the dtype has them, and their bytes. Each thread of the processor makes a part.
fn random(count: usize, seed: u64, dtype: DType) -> (Vec<f64>, Vec<u8>) {
    let size = dtype.size_bytes();
    let (mut values, mut bytes) = (vec![0.0; count], vec![0; count * size]);
    let part = count.div_ceil(std::thread::available_parallelism().map_or(1, usize::from)).max(1);
    std::thread::scope(|scope| {
        for (n, (values, bytes)) in values.chunks_mut(part).zip(bytes.chunks_mut(part * size)).enumerate() {
            let mut state = ((seed << 32) | (n as u64 + 1)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            scope.spawn(move || {
                for (value, bytes) in values.iter_mut().zip(bytes.chunks_mut(size)) {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let scalar = Scalar::float(dtype, (state >> 40) as f64 / (1 << 23) as f64 - 1.0);
                    *value = scalar.to_f64();
                    bytes.copy_from_slice(&scalar.to_le_bytes());
                }
            });
        }
    });
    (values, bytes)
}

/// The largest difference from f64, relative to the largest value, at places all over the result.
fn distance(function: &Function, extents: &[usize], values: &[Vec<f64>], found: &[u8], dtype: DType) -> f64 {
    let count = function.result(extents);
    let mut pairs = Vec::new();
    for n in 0..PLACES {
        let at = (count - 1) / (PLACES - 1) * n;
        let bytes = &found[at * dtype.size_bytes()..][..dtype.size_bytes()];
        let (row, column) = (at / function.width(extents), at % function.width(extents));
        let expected = (function.reference)(values, extents, row, column..column + 1)[0];
        pairs.push((Scalar::from_le_bytes(dtype, bytes).to_f64(), expected));
    }
    let most = pairs.iter().fold(0.0_f64, |most, (_, expected)| most.max(expected.abs()));
    let far =
        pairs.iter().map(|(found, expected)| if found.is_nan() { f64::INFINITY } else { (found - expected).abs() });
    far.fold(0.0, f64::max) / most
}
