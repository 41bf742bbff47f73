//! Passes over tir. One pass is one file.

pub(crate) mod align_stores;
pub(crate) mod bf16_compute_legalize;
pub(crate) mod bind_threads;
mod butterfly;
pub(crate) mod compact_buffer_allocation;
pub(crate) mod convert_blocks_to_opaque;
pub(crate) mod flatten_buffer;
pub(crate) mod fp8_compute_legalize;
pub(crate) mod hoist_if_then_else;
pub(crate) mod inject_double_buffer;
pub(crate) mod inject_prefetch;
pub(crate) mod inject_software_pipeline;
pub(crate) mod inject_virtual_thread;
pub(crate) mod instrument_bound_checkers;
pub(crate) mod interleave_rows;
pub(crate) mod kernel;
pub(crate) mod lift_thread_binding;
pub(crate) mod loop_distribution;
pub(crate) mod loop_partition;
pub(crate) mod lower_cross_thread_reduction;
pub(crate) mod lower_init_block;
pub(crate) mod lower_match_buffer;
pub(crate) mod lower_math;
pub(crate) mod lower_opaque_block;
pub(crate) mod lower_parallel_loops;
pub(crate) mod merge_shared_memory_allocations;
pub(crate) mod narrow_data_type;
mod outline;
pub(crate) mod pack_nibbles;
pub(crate) mod parallelize_loops;
pub(crate) mod plan_and_update_buffer_allocation_location;
pub(crate) mod remove_no_op;
pub(crate) mod reverse_loops;
pub(crate) mod rewrite_unsafe_select;
pub(crate) mod simplify;
pub(crate) mod split_host_device;
pub(crate) mod storage_rewrite;
mod thread_binding;
pub(crate) mod thread_sync;
pub(crate) mod unify_thread_binding;
pub(crate) mod unroll_and_jam;
pub(crate) mod unroll_loop;
pub(crate) mod vectorize_loop;
pub(crate) mod verify_bounds;
pub(crate) mod verify_memory;
pub(crate) mod verify_workspace;

use tenfold_ir::tir::{Builder, FuncKind, PrimFunc, Stmt};
use tenfold_ir::{Function, Module};

/// Runs `f` on every prim-func that a module defines.
fn each_prim(module: &mut Module, mut f: impl FnMut(PrimFunc) -> PrimFunc) {
    for function in module.functions.values_mut() {
        if let Function::Prim(prim) = function
            && prim.kind != FuncKind::Extern
        {
            *prim = f(prim.clone());
        }
    }
}

/// The function with another body.
fn rewrite_body(func: PrimFunc, mut f: impl FnMut(&mut Builder, Stmt) -> Stmt) -> PrimFunc {
    let mut b = Builder::resume(func);
    let body = std::mem::replace(&mut b.func_mut().body, Stmt::nop());
    let body = f(&mut b, body);
    b.push(body);
    b.finish()
}
