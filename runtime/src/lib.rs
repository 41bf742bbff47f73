//! What a program that uses Tenfold links: tensors, the typed call, devices.
//!
//! A function marked `#[tensor_fn]` is compiled while `cargo build` runs. This crate holds the
//! types that its signature names once the attribute has rewritten it, and nothing of the compiler:
//!
//! - a shape is a tuple of [`Dyn`] and [`Fixed<N>`](Fixed), so a wrong static shape is an error of
//!   rustc's, at the call;
//! - arguments are anything that is a tensor without a copy: [`AsTensor`] and [`AsTensorMut`]
//!   hold for nested arrays, slices and vectors of arrays, [`view`]s, [`Tensor`]s, scalars and,
//!   by features, `ndarray`, `half` and `bytemuck`;
//! - results are a [`Tensor`] with feature `alloc`, or written in place by the function's `into`,
//!   which never allocates and takes its memory from a [`Workspace`];
//! - weights that a program loads when it runs are [`Safetensors`], used in place;
//! - what can go wrong in a call is an [`Error`] that names the parameter, the axis and the dim.
//!
//! ```
//! use tenfold::{Dyn, Fixed, Tensor, view};
//!
//! let x: Tensor<f32, (Dyn, Fixed<3>)> = vec![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]].into();
//! assert_eq!(x.shape(), [2, 3]);
//! assert_eq!(x[[1, 0]], 4.0);
//!
//! let flat = [1.0, 2.0, 3.0, 4.0];
//! let square = view(&flat, [2, 2])?;
//! assert_eq!(square, [[1.0, 2.0], [3.0, 4.0]]);
//! # Ok::<(), tenfold::Error>(())
//! ```
//!
//! # Features
//!
//! The core is `no_std`, needs no allocator and uses no atomics.
//!
//! | feature | brings |
//! |---|---|
//! | `std` (default) | `alloc`, `AlignedBytes::read`, [`threads`], [`variants`] |
//! | `alloc` | [`Tensor`], functions that return one, [`DynWorkspace`] |
//! | `half` | `half::f16` and `half::bf16` as elements |
//! | `ndarray` | `ndarray`'s arrays and views as arguments |
//! | `bytemuck` | slices of any `Pod` type as tensors |
//! | `cuda` | `Cuda`: NVIDIA's GPUs through the system's driver, which is opened when a program asks for it |
//! | `vulkan` | `Vulkan`: GPUs through the system's Vulkan, which is opened when a program asks for it |
#![no_std]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

mod aligned;
mod argument;
pub mod blob;
mod device;
mod dispatch;
mod dynamic;
mod element;
mod error;
mod float;
mod format;
mod module;
pub mod prelude;
pub mod program;
#[doc(hidden)]
pub mod rt;
mod safetensors;
mod shape;
mod signature;
mod stored;
#[cfg(feature = "alloc")]
mod tensor;
#[cfg(feature = "std")]
pub mod threads;
#[cfg(feature = "std")]
pub mod variants;
mod view;
mod workspace;

pub use aligned::Aligned;
#[cfg(feature = "alloc")]
pub use aligned::AlignedBytes;
pub use argument::{AsFixed, AsFixedMut, AsFixedStrided, AsStrided, AsTensor, AsTensorMut};
#[cfg(feature = "std")]
pub use device::Event;
pub use device::{Cpu, Device, DeviceFault, Stream};
#[cfg(feature = "cuda")]
pub use device::{Cuda, CudaInfo};
#[doc(hidden)]
pub use device::{DeviceCode, Operands, ScalarBits};
#[cfg(feature = "alloc")]
pub use device::{DeviceTensor, Download};
#[cfg(feature = "vulkan")]
pub use device::{Vulkan, VulkanInfo};
pub use dispatch::StridedRef;
pub use dynamic::{Arg, DynTensor, DynTensorMut, Scalar};
pub use element::{Element, Is};
pub use error::{Error, Mismatch};
pub use float::{bf16, f16};
pub use module::{Function, Module};
pub use safetensors::Safetensors;
pub use shape::{Admits, AdmitsAll, Dim, Dyn, Fixed, FixedShape, IntoDim, IntoShape, Shape};
pub use signature::{Kind, Param, Signature, Variant};
pub use stored::{f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, i4, u4};
pub use tenfold_abi::{DType, DeviceKind, Status};
#[allow(unused_imports, unreachable_pub, reason = "the attribute's crate may be without it in a build of parts")]
pub use tenfold_macros::*;
#[cfg(feature = "alloc")]
pub use tensor::Tensor;
pub use view::{TensorMut, TensorRef, view, view_mut};
#[cfg(feature = "alloc")]
pub use workspace::DynWorkspace;
pub use workspace::{AsWorkspace, Workspace};
