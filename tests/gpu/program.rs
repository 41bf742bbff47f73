//! Functions as programs: packed as a build packs them, called by the runtime as a user's program calls them.
#![allow(unsafe_code, reason = "the code of a device is vouched for by who made it, here the back end under test")]

use tenfold::{Device, DeviceCode, DeviceTensor, Dyn, Operands, ScalarBits, Tensor};
use tenfold_core::program::{Program, kernels, of_entry};
use tenfold_core::{Backend, blob};
use tenfold_ir::tir::BufUse;
use tenfold_ir::{ConstBytes, Module, Scalar};

use crate::interpret::{self, Actual, Prepared};

/// The code of a program, which a binary would hold.
fn linked(program: &Program, module: &Module, key: &str) -> Result<DeviceCode, String> {
    let payload = program.write().map_err(|why| why.message)?;
    let blob = blob::write(&[blob::Module { key: key.into(), payload, imports: Vec::new() }]);
    let blob = blob.map_err(|why| why.message)?;
    let room: &'static mut [u8] = vec![0; blob.len() + 16].leak();
    let start = room.as_ptr().align_offset(16);
    let bytes = &mut room[start..start + blob.len()];
    bytes.copy_from_slice(&blob);
    let constants = program.constants.iter().map(|constant| {
        let data = module.constants.iter().find(|data| data.hash == constant.hash).ok_or("no such constant")?;
        match &data.bytes {
            ConstBytes::Inline(bytes) => Ok(&*bytes.to_vec().leak()),
            ConstBytes::File { .. } => Err("a constant in a file"),
        }
    });
    let constants = constants.collect::<Result<Vec<&'static [u8]>, &str>>()?;
    // SAFETY: the verifier has proven what kernels access and write.
    Ok(unsafe { DeviceCode::new(bytes, constants.leak()) })
}

/// Calls a function that went through the pipeline for a device, and compares what it writes. What is refused is given.
pub(crate) fn call<D: Device>(
    gpu: &D,
    case: &Prepared,
    device: tenfold_core::Device,
    backend: &dyn Backend,
) -> Result<Option<String>, String> {
    let made = kernels(&case.module, device, backend).and_then(|(kernels, _)| of_entry(&case.module, &kernels));
    let program = match made {
        Ok(program) => program,
        Err(refused) => return Ok(Some(refused.message)),
    };
    let code = linked(&program, &case.module, device.key())?;
    let (mut params, mut results, mut scalars, mut dims) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let fault = |why: tenfold::Error| why.to_string();
    for (at, actual) in case.actual.iter().enumerate() {
        match actual {
            Actual::Buffer { dtype, cells, usage } => {
                let zero = Scalar::zero(*dtype);
                let bytes: Vec<u8> = cells.iter().flat_map(|cell| cell.unwrap_or(zero).to_le_bytes()).collect();
                let there: Tensor<u8, (Dyn,)> = bytes.into();
                let there = DeviceTensor::<D, u8, (Dyn,)>::upload(gpu, there.view()).map_err(fault)?;
                if *usage == BufUse::Out { &mut results } else { &mut params }.push((at, *dtype, there));
            }
            Actual::Scalar(value) => {
                let bits = if value.dtype.is_float() { value.bits } else { value.to_i128() as u64 };
                scalars.push(ScalarBits { dtype: value.dtype, bits });
            }
            Actual::Index(value) => dims.push(*value),
            Actual::Workspace(_) => {}
        }
    }
    let inputs: Vec<_> = params.iter().filter_map(|(_, _, tensor)| tensor.memory()).collect();
    let outputs: Vec<_> = results.iter().filter_map(|(_, _, tensor)| tensor.memory()).collect();
    let operands = Operands { params: &inputs, results: &outputs, scalars: &scalars, dims: &dims };
    // SAFETY: nobody else has the tensors.
    let status = unsafe { gpu.run(code, &operands) }.map_err(fault)?;
    if !status.is_ok() {
        return Err(format!("the status is {status}"));
    }
    for (at, dtype, there) in params.iter().chain(&results) {
        let Some(expected) = case.expected.get(at) else { continue };
        let found = there.download(gpu).map_err(fault)?;
        let found = found.as_slice().chunks(dtype.size_bytes()).map(|bytes| Scalar::from_le_bytes(*dtype, bytes));
        for (n, (expected, found)) in expected.iter().zip(found).enumerate() {
            interpret::check(*at, n, *expected, Some(found))?;
        }
    }
    Ok(None)
}
