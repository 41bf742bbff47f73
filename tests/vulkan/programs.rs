//! Whole functions as programs: linked as a build links them, called by the runtime as a user's program calls them.
#![allow(unsafe_code, reason = "the code of a device is vouched for by who made it, here the back end under test")]

use std::path::PathBuf;

use tenfold::{Device, DeviceCode, DeviceTensor, Dyn, Operands, ScalarBits, Tensor, Vulkan};
use tenfold_core::blob;
use tenfold_core::c::CBackend;
use tenfold_core::pass::PassContext;
use tenfold_core::program::{Program, kernels, of_entry};
use tenfold_ir::tir::BufUse;
use tenfold_ir::{ConstBytes, DType, Module, Scalar};
use tenfold_tests::tools;

use crate::interpret::{self, Actual, Prepared};

/// Bytes on the device.
type Bytes = DeviceTensor<Vulkan, u8, (Dyn,)>;

/// What a program's binary would hold of it.
fn linked(program: &Program, module: &Module) -> Result<DeviceCode, String> {
    let payload = program.write().map_err(|why| why.message)?;
    let blob = blob::write(&[blob::Module { key: "spirv".into(), payload, imports: Vec::new() }]);
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

/// Where operands lie, and how many bytes each has.
fn memories(all: &[(usize, DType, Bytes)]) -> Vec<(&<Vulkan as Device>::Memory, usize)> {
    all.iter().filter_map(|(_, _, it)| it.memory()).collect()
}

fn fault(why: tenfold::Error) -> String {
    why.to_string()
}

/// Calls a function that went through the pipeline for devices, and compares what it writes. What is refused is given.
pub(crate) fn call(gpu: &Vulkan, case: &Prepared) -> Result<Option<String>, String> {
    // Shaders need no back end; it is there for PTX.
    let backend = CBackend { folder: PathBuf::new(), host: String::new() };
    let kernels = match kernels(&case.module, tenfold_core::Device::Spirv, &backend) {
        Ok((kernels, _)) => kernels,
        Err(refused) => return Ok(Some(refused.message)),
    };
    let program = match of_entry(&case.module, &kernels) {
        Ok(program) => program,
        Err(refused) => return Ok(Some(refused.message)),
    };
    let code = linked(&program, &case.module)?;
    let (mut params, mut results, mut scalars, mut dims) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (at, actual) in case.actual.iter().enumerate() {
        match actual {
            Actual::Buffer { dtype, cells, usage } => {
                let zero = Scalar::zero(*dtype);
                let bytes: Vec<u8> = cells.iter().flat_map(|cell| cell.unwrap_or(zero).to_le_bytes()).collect();
                let there: Tensor<u8, (Dyn,)> = bytes.into();
                let there = Bytes::upload(gpu, there.view()).map_err(fault)?;
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
    let (inputs, outputs) = (memories(&params), memories(&results));
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

#[test]
fn networks_are_called_by_the_runtime() {
    let gpu = match Vulkan::new() {
        Ok(gpu) => gpu,
        Err(why) => return tools::skip(&format!("a Vulkan device ({why})"), "tests/vulkan.sh installs one"),
    };
    let mut context = PassContext::new(tenfold_core::Device::Spirv.target());
    context.set_text("NarrowDataType.everywhere", "true").expect("a setting");
    let (mut ran, mut refused, mut errors) = (0, Vec::new(), Vec::new());
    // Some of each: the driver takes half a second to make what a case needs.
    for case in crate::nn::cases().into_iter().step_by(8) {
        let name = case.name.clone();
        match interpret::prepare_with(case, &context).and_then(|case| call(&gpu, &case)) {
            Ok(None) => ran += 1,
            Ok(Some(why)) => refused.push(format!("{name}: {why}")),
            Err(why) => errors.push(format!("{name}: {why}")),
        }
    }
    println!("{ran} ran, {} are refused: {refused:#?}", refused.len());
    assert!(errors.is_empty(), "{errors:#?}");
}
