//! Fusion: which kernels become one, and how one kernel's loops are shared.

pub(crate) mod access;
pub(crate) mod annotate_tir_op_pattern;
pub(crate) mod dataflow_use_inplace_calls;
pub(crate) mod fuse_loops;
pub(crate) mod fuse_ops;
pub(crate) mod fuse_tir;
pub(crate) mod import;
pub(crate) mod loops;
mod merge;
mod ops;
pub(crate) mod pattern;
pub(crate) mod rewrite_dataflow_reshape;
pub(crate) mod stage;
pub(crate) mod weights;
