//! Passes over relax. One pass is one file.

mod byte_weights;
pub(crate) mod canonicalize_cast;
pub(crate) mod canonicalize_ops;
mod combine;
pub(crate) mod combine_parallel_conv2d;
pub(crate) mod combine_parallel_matmul;
pub(crate) mod const_data;
pub(crate) mod convert_layout;
pub(crate) mod dead_code;
pub(crate) mod dynamic_to_static;
pub(crate) mod eliminate_common_subexpr;
pub(crate) mod fast_math;
pub(crate) mod fold_batch_norm;
pub(crate) mod fold_constant;
pub(crate) mod fold_scale_axis;
pub(crate) mod fuse_ops_by_pattern;
pub(crate) mod inline_calls;
pub(crate) mod lift_transform_params;
pub(crate) mod materialise;
pub(crate) mod normalize;
mod one_axis;
mod one_transpose;
pub(crate) mod pad_channels;
pub(crate) mod pad_conv;
mod pattern;
pub(crate) mod remove_unused_functions;
pub(crate) mod rewrite;
mod rules;
pub(crate) mod scale_in_floats;
pub(crate) mod simplify_expr;
pub(crate) mod simplify_inference;
mod simplify_rules;
#[cfg(test)]
mod tests;
pub(crate) mod to_mixed_precision;
pub(crate) mod widened;
