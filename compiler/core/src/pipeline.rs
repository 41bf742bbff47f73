//! The pipeline: a table that is read top to bottom. `compiler/docs/passes.md` is made from it.

use crate::dlight;
use crate::fuse::{
    annotate_tir_op_pattern, dataflow_use_inplace_calls, fuse_loops, fuse_ops, fuse_tir, rewrite_dataflow_reshape,
};
use crate::pass::{Pass, PassPhase, UserPass};
use crate::relax_passes as graph;
use crate::tir_passes as tir;
use crate::{lower, plan};

/// From the front end's module to flat prim-funcs.
pub static PIPELINE: &[Pass] = &[
    // First, so that every later pass sees one graph.
    graph::inline_calls::PASS,
    // What was inlined is called no more.
    graph::remove_unused_functions::PASS,
    graph::normalize::PASS,
    graph::dead_code::PASS,
    // Before anything looks at extents.
    graph::dynamic_to_static::PASS,
    // On fixed point as models are read, before rules make something else of it.
    graph::scale_in_floats::PASS,
    // One form first: rules match what is written in it.
    graph::canonicalize_cast::PASS,
    graph::canonicalize_ops::PASS,
    graph::simplify_expr::PASS,
    // While it is still one operator.
    graph::fold_batch_norm::PASS,
    graph::simplify_inference::PASS,
    // Siblings must be one value's readers, and they are joined before constants are: what is joined is folded then.
    graph::eliminate_common_subexpr::PASS,
    graph::combine_parallel_matmul::PASS,
    graph::combine_parallel_conv2d::PASS,
    graph::fold_scale_axis::PASS,
    graph::to_mixed_precision::PASS,
    graph::fast_math::PASS,
    // Behind passes that ask for the plain layout, before those that lay out constants.
    graph::convert_layout::PASS,
    // Once channels lie last, before constants are what they will be.
    graph::pad_channels::PASS,
    // After rules that bring constants together.
    graph::fold_constant::PASS,
    graph::lift_transform_params::PASS,
    graph::eliminate_common_subexpr::PASS,
    graph::pad_conv::PASS,
    // Before the operators become kernels: its copies are relax operators.
    graph::materialise::PASS,
    lower::PASS,
    // Literals that were written out inside their readers leave nothing behind.
    graph::dead_code::PASS.in_phase(PassPhase::Fusion),
    annotate_tir_op_pattern::PASS,
    fuse_ops::PASS,
    fuse_tir::PASS,
    // Copies that no kernel took up.
    rewrite_dataflow_reshape::PASS,
    // Kernels that are part of others now are called no more.
    graph::remove_unused_functions::PASS.in_phase(PassPhase::Fusion),
    // Before constants lie in groups: products of what is widened are found by how they are read.
    dlight::narrow_constants::PASS,
    // Before constants get their last layout: those of integers lie in groups of four then.
    dlight::tensorize_dots::PASS,
    // The rules of the next pass say how they will read constants.
    dlight::prepack_weights::PASS,
    // What a rule has scheduled has its loops, and `FuseLoops` leaves it alone.
    dlight::PASS,
    fuse_loops::PASS,
    // When kernels have the loops that they run in.
    dataflow_use_inplace_calls::PASS,
    // Behind what leaves nothing between an operand and a result.
    tir::reverse_loops::PASS,
    // When no loops are left to be shared: what is still allocated as a whole needs a place.
    plan::allocate_workspace::PASS,
    plan::PASS,
    lower::entry::PASS,
    // While indices still have axes.
    tir::verify_bounds::PASS,
    // Kernels are still those that the plan was made for.
    tir::verify_workspace::PASS,
    // Its condition names iterators, which the next pass takes away.
    tir::lower_init_block::PASS,
    tir::convert_blocks_to_opaque::PASS,
    tir::lower_match_buffer::PASS,
    // Where an allocation stands decides how much of it is used at once, so first its place, then its size. Blocks still
    // say what is to be aligned; views are gone, whose buffers could not shrink.
    tir::plan_and_update_buffer_allocation_location::PASS,
    tir::compact_buffer_allocation::PASS,
    tir::lower_opaque_block::PASS,
    // On plain loops, while an index has an axis to be proven by; what turns need for themselves is allocated in them.
    tir::parallelize_loops::PASS,
    // On plain loops, while an index has an axis to be compared with.
    tir::instrument_bound_checkers::PASS,
    tir::flatten_buffer::PASS,
    // Where a block has been cut into panels the quotients are gone, and a vector of neighbours can be seen.
    tir::simplify::PASS,
    // First on flat loops: conditions of loops are decided before they keep a vector from being made.
    tir::loop_partition::PASS,
    // On one index per access, where a vector of neighbours can be seen.
    tir::vectorize_loop::PASS,
    // Of vectors a line at a time, before loops are copied out.
    tir::inject_prefetch::PASS,
    // Before math is expanded, which would count as size.
    tir::unroll_loop::PASS,
    // Behind what makes copies and constants, whose indices it folds and whose conditions it decides.
    tir::simplify::PASS,
    // Behind `Simplify`, which leaves branches empty and variables unused.
    tir::remove_no_op::PASS,
    // Behind `RemoveNoOp`: a loop around a branch alone is seen once what stood beside it is gone.
    tir::hoist_if_then_else::PASS,
    // Behind what knows the turns of a loop as numbers, before memory is shared: turns on threads have their own.
    tir::lower_parallel_loops::PASS,
    // Behind what makes functions of the shares of threads, before memory is shared: each of several rows has its own.
    tir::unroll_and_jam::PASS,
    // Behind what makes one row of several, before memory is shared: rows hand something on to the next.
    tir::interleave_rows::PASS,
    // Behind what goes past the caches, which loops in parts would not.
    tir::align_stores::PASS,
    // Behind what makes copies of allocations and drops those without readers.
    tir::storage_rewrite::PASS,
    // Last of those that move expressions, and before math is expanded: what it has to look at is small.
    tir::rewrite_unsafe_select::PASS,
    // Once vectors of neighbours are loaded as such, and while indices have no width.
    tir::pack_nibbles::PASS,
    // Behind all that reason about indices: arithmetic of 32 bits is not known to be exact.
    tir::narrow_data_type::PASS,
    // Its conversions round, which `LowerMath` writes out where a target cannot.
    tir::fp8_compute_legalize::PASS,
    tir::lower_math::PASS,
    // Behind `LowerMath`, which makes chains of math.
    tir::loop_distribution::PASS,
    // Behind `LowerMath`, which makes arithmetic of math.
    tir::bf16_compute_legalize::PASS,
];

/// The pipeline for kernels of a device: [`PIPELINE`], and what makes device functions with launches of kernels.
pub fn device_pipeline() -> Vec<Pass> {
    let mut all = Vec::with_capacity(PIPELINE.len() + 3);
    for pass in PIPELINE {
        if pass.info.name == tir::instrument_bound_checkers::PASS.info.name {
            // On plain loops that still have an index per axis.
            all.extend([tir::bind_threads::PASS, tir::thread_sync::PASS.in_phase(PassPhase::Loops)]);
        }
        if pass.info.name == tir::rewrite_unsafe_select::PASS.info.name {
            // Once loops are what they will be, and while indices have no width.
            all.push(tir::split_host_device::PASS);
        }
        all.push(pass.clone());
    }
    all
}

/// Every pass once, whether the pipeline has it or not: the registry. In the order of the alphabet.
pub static PASSES: &[Pass] = &[
    tir::align_stores::PASS,
    plan::allocate_workspace::PASS,
    annotate_tir_op_pattern::PASS,
    dlight::PASS,
    tir::bf16_compute_legalize::PASS,
    tir::bind_threads::PASS,
    graph::canonicalize_cast::PASS,
    graph::canonicalize_ops::PASS,
    graph::combine_parallel_conv2d::PASS,
    graph::combine_parallel_matmul::PASS,
    tir::compact_buffer_allocation::PASS,
    tir::convert_blocks_to_opaque::PASS,
    graph::convert_layout::PASS,
    dataflow_use_inplace_calls::PASS,
    graph::dead_code::PASS,
    graph::dynamic_to_static::PASS,
    graph::eliminate_common_subexpr::PASS,
    tir::fp8_compute_legalize::PASS,
    graph::fast_math::PASS,
    tir::flatten_buffer::PASS,
    graph::fold_batch_norm::PASS,
    graph::fold_constant::PASS,
    graph::fold_scale_axis::PASS,
    fuse_loops::PASS,
    fuse_ops::PASS,
    fuse_tir::PASS,
    tir::hoist_if_then_else::PASS,
    tir::inject_double_buffer::PASS,
    tir::inject_prefetch::PASS,
    tir::inject_software_pipeline::PASS,
    tir::inject_virtual_thread::PASS,
    graph::inline_calls::PASS,
    tir::instrument_bound_checkers::PASS,
    tir::interleave_rows::PASS,
    lower::PASS,
    tir::lift_thread_binding::PASS,
    graph::lift_transform_params::PASS,
    tir::loop_distribution::PASS,
    tir::loop_partition::PASS,
    tir::lower_cross_thread_reduction::PASS,
    lower::entry::PASS,
    tir::lower_init_block::PASS,
    tir::lower_match_buffer::PASS,
    tir::lower_math::PASS,
    tir::lower_opaque_block::PASS,
    tir::lower_parallel_loops::PASS,
    graph::materialise::PASS,
    tir::merge_shared_memory_allocations::PASS,
    dlight::narrow_constants::PASS,
    tir::narrow_data_type::PASS,
    graph::normalize::PASS,
    tir::pack_nibbles::PASS,
    graph::pad_channels::PASS,
    graph::pad_conv::PASS,
    tir::parallelize_loops::PASS,
    tir::plan_and_update_buffer_allocation_location::PASS,
    plan::PASS,
    dlight::prepack_weights::PASS,
    tir::remove_no_op::PASS,
    graph::remove_unused_functions::PASS,
    tir::reverse_loops::PASS,
    rewrite_dataflow_reshape::PASS,
    tir::rewrite_unsafe_select::PASS,
    graph::scale_in_floats::PASS,
    tir::simplify::PASS,
    graph::simplify_expr::PASS,
    graph::simplify_inference::PASS,
    tir::split_host_device::PASS,
    tir::storage_rewrite::PASS,
    dlight::tensorize_dots::PASS,
    tir::thread_sync::PASS,
    graph::to_mixed_precision::PASS,
    tir::unify_thread_binding::PASS,
    tir::unroll_and_jam::PASS,
    tir::unroll_loop::PASS,
    tir::vectorize_loop::PASS,
    tir::verify_bounds::PASS,
    tir::verify_memory::PASS,
    tir::verify_workspace::PASS,
];

/// The passes that all variants of a function share, and those that each has for itself: behind the last one that lays
/// out constants, which are there once.
pub(crate) fn split_shared(passes: &[Pass]) -> (&[Pass], &[Pass]) {
    let last = passes.iter().position(|p| p.info.name == dlight::prepack_weights::PASS.info.name);
    passes.split_at(last.map_or(passes.len(), |n| n + 1))
}

/// The passes before the one of that name, and it with those after it.
pub(crate) fn split_before<'a>(name: &str, passes: &'a [Pass]) -> (&'a [Pass], &'a [Pass]) {
    passes.split_at(passes.iter().position(|p| p.info.name == name).unwrap_or(passes.len()))
}

/// The pipeline with the user's passes, each behind the last pass of its phase. Where one may have changed accesses
/// after they were proven, they are proven again.
pub(crate) fn with(user: &[UserPass]) -> Vec<Pass> {
    joined(PIPELINE, user)
}

/// The same of the pipeline for kernels of a device.
pub(crate) fn device_with(user: &[UserPass]) -> Vec<Pass> {
    joined(&device_pipeline(), user)
}

fn joined(passes: &[Pass], user: &[UserPass]) -> Vec<Pass> {
    let mut all: Vec<Pass> = Vec::with_capacity(passes.len() + user.len());
    let mut rest = passes.iter().peekable();
    for phase in PassPhase::ALL {
        while let Some(pass) = rest.next_if(|pass| pass.phase <= phase) {
            all.push(pass.clone());
        }
        let own = user.iter().filter(|u| u.phase() == phase);
        all.extend(own.clone().map(|u| u.pass.clone()));
        if own.count() > 0 && matches!(phase, PassPhase::Blocks | PassPhase::Loops) {
            all.push(tir::verify_bounds::PASS);
        }
    }
    all
}
