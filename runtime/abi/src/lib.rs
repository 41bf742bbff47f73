//! What Tenfold's compiler writes and its runtime reads.
//!
//! Everything here is a number or a name that stands in generated code, in the index of a build or
//! in a device blob. The crate has no dependency, needs no allocator and must not know how a
//! kernel is compiled or called.
//!
//! # What forces a new [`ABI_VERSION`]
//!
//! Macro, build script and runtime each carry the number; they refuse to work together when it
//! differs. It goes up by one with each change of
//!
//! 1. a code, a size or an alignment of [`DType`], or a new variant that an entry point may take;
//! 2. the order or the C type of an entry point's arguments: the parameters in the order of the
//!    signature (a tensor is a pointer, then one `ptrdiff_t` per axis in elements if it is
//!    `Strided`; an index value is a `ptrdiff_t`; a scalar goes by value,
//!    [`f16` and `bf16` as their bits](DType::is_half), `bool` and what is stored only as a byte), one pointer per result,
//!    one `ptrdiff_t` per named dim in the order in which the signature binds them, the workspace,
//!    the context; or its result, an `int32_t` [`Status`];
//! 3. what an entry point may assume: pointers aligned to their element, dangling only where an
//!    extent is 0, no two overlapping, a workspace aligned to [`WORKSPACE_ALIGN`];
//! 4. what a context is: null, where loops run as they stand, or a pointer to memory whose first
//!    word is the function `void split(context, void (*body)(const void *captures, ptrdiff_t begin,
//!    ptrdiff_t count), const void *captures, ptrdiff_t turns, ptrdiff_t work)`. It calls `body` for
//!    parts of `0..turns` that do not overlap, on any threads, until each turn has run, then returns;
//!    `work` is about how many cycles a turn takes;
//! 5. a code of [`Status`] or of [`DeviceKind`];
//! 6. [`MAX_RANK`], [`WORKSPACE_ALIGN`] or [`CONSTANT_ALIGN`];
//! 7. the layout of a [`blob`] or of a [`program`] in one, which also carry numbers of their own;
//! 8. the items of `tenfold::rt` that emitted tokens name: their names, parameters and meaning;
//! 9. the order of [`X86_64_LEVELS`] and [`AARCH64_LEVELS`]: emitted tokens name a level by its number in its family.
//!
//! A new function, a new error text and a faster kernel do not.
#![no_std]

pub mod blob;
mod device;
mod dtype;
mod level;
pub mod program;
mod status;
mod target;

pub use device::DeviceKind;
pub use dtype::DType;
pub use level::{AARCH64_LEVELS, BASELINE, FAMILIES, Level, X86_64_LEVELS, number_of_level};
pub use status::Status;
pub use target::{DEVICE_TARGETS, DeviceTarget};

/// The number on which macro, build script and runtime must agree.
pub const ABI_VERSION: u32 = 6;

/// The greatest rank of a tensor in a signature.
pub const MAX_RANK: usize = 8;

/// The alignment in bytes of a workspace, and of every tensor planned into it.
pub const WORKSPACE_ALIGN: usize = 64;

/// The alignment in bytes of a constant in an object file.
pub const CONSTANT_ALIGN: usize = 64;
