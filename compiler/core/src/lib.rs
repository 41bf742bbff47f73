//! Tenfold's compiler between the front end and the object file: targets, passes, lowering, memory plan, C.
//!
//! It takes a [`tenfold_ir::Module`] and knows neither Rust syntax nor LLVM: back ends come in as [`Backend`]s.

mod aliases;
pub mod backend;
pub mod blob;
mod budget;
pub mod c;
mod compile;
mod dlight;
pub mod elf;
pub mod error;
mod externs;
mod flops;
mod fuse;
mod homes;
pub mod kernel;
pub mod lower;
pub mod pass;
mod pipeline;
mod plan;
pub mod program;
mod relax_passes;
pub mod schedule;
pub mod show;
pub mod spirv;
pub mod target;
mod text;
mod timeline;
mod tir_passes;
pub mod tune;
mod without_vectors;
mod work;

pub use aliases::{Aliases, each_call};
pub use backend::{Artefact, Backend, BackendError, CodegenOptions, Fault, Stage, constant_symbol, with_context};
pub use budget::Budgets;
pub use compile::{
    Alone, Compiled, DeviceCode, DeviceModule, Jobs, Lent, Options, Variant, compile, compile_device, on_threads,
    pack_devices, variant_symbol,
};
pub use error::{CompileError, ErrorKind};
pub use externs::{ExternArg, ExternCall, extern_calls};
pub use pipeline::{PASSES, PIPELINE, device_pipeline};
pub use relax_passes::fuse_ops_by_pattern::{Accepts, ExternPattern, ExternTable, fuse_ops_by_pattern};
pub use target::{Arch, CPUS, Cpu, Device, Key, ObjectFormat, Target};
pub use without_vectors::without_vectors;
