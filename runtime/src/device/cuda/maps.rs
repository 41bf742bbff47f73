//! Tensors as the driver describes them to kernels that copy boxes of them.

use core::ffi::{c_int, c_uint};
use std::{sync::Arc, vec, vec::Vec};

use cudarc::driver::sys::{
    CUtensorMapDataType_enum as DataType, CUtensorMapFloatOOBfill_enum as Outside,
    CUtensorMapInterleave_enum as Interleave, CUtensorMapL2promotion_enum as Promotion,
    CUtensorMapSwizzle_enum as Swizzle,
};
use tenfold_abi::DType;

use super::{
    api::{TensorMap, tensor_api},
    context::Context,
    memory::Memory,
};
use crate::{
    DeviceFault,
    device::launch::{Bound, Tensor},
};

/// The driver's description of a tensor, whose boxes have lines of 128 bytes in the order of the swizzle by so many.
pub(super) fn encode(
    context: &Context,
    buffers: &[Bound<Arc<Memory>>],
    tensor: &Tensor,
) -> Result<TensorMap, DeviceFault> {
    let bound = buffers.get(tensor.buffer as usize).ok_or(DeviceFault::Operands)?;
    let begin = core::ptr::with_exposed_provenance_mut((bound.memory.at + bound.offset) as usize);
    let extents: Vec<u64> = tensor.axes.iter().map(|axis| axis.extent).collect();
    let strides: Vec<u64> = tensor.axes.iter().skip(1).map(|axis| axis.stride).collect();
    let widths: Vec<c_uint> = tensor.axes.iter().map(|axis| axis.width).collect();
    let (steps, mut map) = (vec![1; widths.len()], TensorMap([0; 16]));
    let (rank, of) = (widths.len() as c_uint, data_type(tensor.dtype)? as c_int);
    let [interleave, swizzle, promotion, outside] = [
        Interleave::CU_TENSOR_MAP_INTERLEAVE_NONE as c_int,
        Swizzle::CU_TENSOR_MAP_SWIZZLE_128B as c_int,
        Promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B as c_int,
        Outside::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE as c_int,
    ];
    let api = tensor_api()?;
    // SAFETY: the driver writes the map and reads as many numbers as the tensor has axes; it does not look at the memory.
    context.within("cuTensorMapEncodeTiled", |_| unsafe {
        (api.encode)(
            &mut map,
            of,
            rank,
            begin,
            extents.as_ptr(),
            strides.as_ptr(),
            widths.as_ptr(),
            steps.as_ptr(),
            interleave,
            swizzle,
            promotion,
            outside,
        )
    })?;
    Ok(map)
}

/// What the driver calls elements.
fn data_type(dtype: DType) -> Result<DataType, DeviceFault> {
    Ok(match dtype {
        DType::F16 => DataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
        DType::BF16 => DataType::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
        DType::F32 => DataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
        DType::F64 => DataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
        DType::U16 => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT16,
        DType::I32 => DataType::CU_TENSOR_MAP_DATA_TYPE_INT32,
        DType::U32 => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT32,
        DType::I64 => DataType::CU_TENSOR_MAP_DATA_TYPE_INT64,
        DType::U64 => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT64,
        // Only bytes are copied, and what lies outside is 0 of either sign.
        DType::I8 | DType::U8 => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT8,
        _ => return Err(DeviceFault::Operands),
    })
}
