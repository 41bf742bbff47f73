//! How fast kernels run on a GPU of NVIDIA's, beside copies of its memory, and whether what they give is right.
//!
//! `cargo bench -p tenfold-tests --bench gpu -- NAME…`: bytes read and written by second for what goes through memory,
//! floating point operations by second for products. Random data; the median of batches; results are compared with f64
//! at places of every part of the result. `sh tests/gpu.sh` runs it behind the tests.
#![allow(unsafe_code, reason = "runs code of the back end, and the driver's own copies")]

#[allow(dead_code, reason = "tests use more of it")]
#[path = "../gpu/functions.rs"]
mod functions;

use std::ffi::{c_int, c_void};
use std::process::ExitCode;
use std::time::Instant;

use functions::{FUNCTIONS, Function};
use libloading::Library;
use tenfold::{Cuda, Device, DeviceCode, DeviceTensor, Dyn, Operands, Tensor};
use tenfold_core::{DeviceCode as Packed, Options, compile_device, pack_devices, pass::PassContext};
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
type Bytes = DeviceTensor<Cuda, u8, (Dyn,)>;

fn main() -> ExitCode {
    let gpu = match Cuda::new() {
        Ok(gpu) => gpu,
        Err(why) => {
            eprintln!("{why}");
            return ExitCode::from(2);
        }
    };
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    match report(&gpu, &wanted) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}

fn report(gpu: &Cuda, wanted: &[String]) -> Result<bool, Fault> {
    let info = gpu.info();
    println!("{}, sm_{}{}", info.name, info.capability.0, info.capability.1);
    let copies = copies(1 << 30)?;
    println!("{:28} {:9.0} GB/s read and written", "copies of 1 GiB", copies / 1e9);
    let mut right = true;
    for function in FUNCTIONS {
        if wanted.is_empty() || wanted.iter().any(|name| function.name.contains(name.as_str())) {
            right &= measured(gpu, function, copies)?;
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
fn measured(gpu: &Cuda, function: &Function, copies: f64) -> Result<bool, Fault> {
    let code = compiled(gpu, function)?;
    let dtype = if function.dtype == "bf16" { DType::BF16 } else { DType::F32 };
    let (mut values, mut tensors) = (Vec::new(), Vec::new());
    for (n, elements) in function.inputs(function.large).into_iter().enumerate() {
        let all = random(elements, n as u64 + 1, dtype);
        let bytes: Vec<u8> = all.iter().flat_map(|x| Scalar::float(dtype, *x).to_le_bytes()).collect();
        let here: Tensor<u8, (Dyn,)> = bytes.into();
        tensors.push(Bytes::upload(gpu, here.view())?);
        values.push(all);
    }
    let result = Bytes::zeros(gpu, [function.result(function.large) * dtype.size_bytes()])?;
    let (params, results): (Vec<_>, Vec<_>) =
        (tensors.iter().filter_map(Bytes::memory).collect(), vec![result.memory()]);
    let results: Vec<_> = results.into_iter().flatten().collect();
    let operands = Operands { params: &params, results: &results, scalars: &[], dims: &[] };
    let stream = gpu.stream()?;
    let seconds = median(|calls| {
        for _ in 0..calls {
            // SAFETY: nobody else has the tensors.
            let status = unsafe { gpu.run(code, &operands) }?;
            if !status.is_ok() {
                return Err(format!("the status is {status}").into());
            }
        }
        Ok(stream.synchronize()?)
    })?;
    let far = distance(function, &values, result.download(gpu)?.as_slice(), dtype);
    let right = far <= function.tolerance;
    let elements = function.inputs(function.large).iter().sum::<usize>() + function.result(function.large);
    let bytes = (elements * dtype.size_bytes()) as f64 / seconds;
    let speed = if function.is_product {
        format!("{:9.2} TFLOP/s", function.gflop(function.large) / seconds / 1e3)
    } else {
        format!("{:9.0} GB/s, {:3.0} % of copies", bytes / 1e9, 100.0 * bytes / copies)
    };
    let said = if right { "right" } else { "WRONG" };
    println!("{:28} {speed}, {:.3} ms, {said}: {far:.1e} off", function.name, seconds * 1e3);
    Ok(right)
}

/// Its code for the best chip that the device has.
fn compiled(gpu: &Cuda, function: &Function) -> Result<DeviceCode, Fault> {
    let nine = gpu.info().capability == (9, 0);
    let device = if nine { tenfold_core::Device::Sm90a } else { tenfold_core::Device::Sm80 };
    let found = find(&Env::from_process());
    let backend = LlvmBackend::new(load(&found)?, &found);
    let context = PassContext::new(device.target());
    let made = compile_device(function.module(function.large), device, &context, &Options::default(), &backend);
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

/// Values from -1 to 1, as the dtype has them.
fn random(count: usize, seed: u64, dtype: DType) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Scalar::float(dtype, (state >> 40) as f64 / (1 << 23) as f64 - 1.0).to_f64()
    };
    (0..count).map(|_| next()).collect()
}

/// The largest difference from f64, relative to the largest value, at places all over the result.
fn distance(function: &Function, values: &[Vec<f64>], found: &[u8], dtype: DType) -> f64 {
    let count = function.result(function.large);
    let mut pairs = Vec::new();
    for n in 0..PLACES {
        let at = (count - 1) / (PLACES - 1) * n;
        let bytes = &found[at * dtype.size_bytes()..][..dtype.size_bytes()];
        pairs.push((Scalar::from_le_bytes(dtype, bytes).to_f64(), (function.reference)(values, function.large, at)));
    }
    let most = pairs.iter().fold(0.0_f64, |most, (_, expected)| most.max(expected.abs()));
    let far =
        pairs.iter().map(|(found, expected)| if found.is_nan() { f64::INFINITY } else { (found - expected).abs() });
    far.fold(0.0, f64::max) / most
}
