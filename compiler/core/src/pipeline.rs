//! The pipeline: a table that is read top to bottom.

use crate::lower::{legalize_ops, lower_entry};
use crate::pass::Pass;
use crate::plan::plan_memory;
use crate::relax_passes::{dead_code_elimination, inline_calls, materialise, pad_conv};
use crate::tir_passes::{flatten_buffers, lower_blocks, lower_math, unroll_loop, vectorize_loop, verify_bounds};

/// From the front end's module to flat prim-funcs.
pub static PIPELINE: &[Pass] = &[
    // First, so that every later pass sees one graph.
    Pass::new("InlineCalls", inline_calls),
    Pass::new("DeadCodeElimination", dead_code_elimination),
    Pass::new("PadConv", pad_conv).at_level(1),
    // Before the operators become kernels: its copies are relax operators.
    Pass::new("Materialise", materialise),
    Pass::new("LegalizeOps", legalize_ops),
    // Operators that were written out inside their readers leave nothing behind.
    Pass::new("DeadCodeElimination", dead_code_elimination),
    Pass::new("PlanMemory", plan_memory),
    Pass::new("LowerEntry", lower_entry),
    // While indices still have axes.
    Pass::new("VerifyBounds", verify_bounds),
    Pass::new("LowerBlocks", lower_blocks),
    Pass::new("FlattenBuffers", flatten_buffers),
    // On one index per access, where a vector of neighbours can be seen.
    Pass::new("VectorizeLoop", vectorize_loop).at_level(1),
    // Before math is expanded, which would count as size.
    Pass::new("UnrollLoop", unroll_loop).at_level(1),
    Pass::new("LowerMath", lower_math),
];
