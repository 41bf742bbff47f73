//! The pipeline: a table that is read top to bottom. `compiler/docs/passes.md` is made from it.

use crate::pass::{Pass, PassPhase, UserPass};
use crate::relax_passes as graph;
use crate::tir_passes::{flatten, lower_blocks, lower_math, unroll_loop, vectorize_loop, verify_bounds};
use crate::{lower, plan};

/// From the front end's module to flat prim-funcs.
pub static PIPELINE: &[Pass] = &[
    // First, so that every later pass sees one graph.
    graph::inline_calls::PASS,
    // What was inlined is called no more.
    graph::remove_unused_functions::PASS,
    graph::dead_code::PASS,
    // One form first: rules match what is written in it.
    graph::canonicalize_cast::PASS,
    graph::canonicalize_ops::PASS,
    graph::simplify_expr::PASS,
    // After rules that bring constants together.
    graph::fold_constant::PASS,
    graph::lift_transform_params::PASS,
    graph::eliminate_common_subexpr::PASS,
    graph::pad_conv::PASS,
    // Before the operators become kernels: its copies are relax operators.
    graph::materialise::PASS,
    lower::PASS,
    // Operators that were written out inside their readers leave nothing behind.
    graph::dead_code::PASS.in_phase(PassPhase::Fusion),
    plan::PASS,
    lower::entry::PASS,
    // While indices still have axes.
    verify_bounds::PASS,
    lower_blocks::PASS,
    flatten::PASS,
    // On one index per access, where a vector of neighbours can be seen.
    vectorize_loop::PASS,
    // Before math is expanded, which would count as size.
    unroll_loop::PASS,
    lower_math::PASS,
];

/// Every pass once, whether the pipeline has it or not: the registry. In the order of the alphabet.
pub static PASSES: &[Pass] = &[
    graph::canonicalize_cast::PASS,
    graph::canonicalize_ops::PASS,
    graph::dead_code::PASS,
    graph::eliminate_common_subexpr::PASS,
    flatten::PASS,
    graph::fold_constant::PASS,
    graph::inline_calls::PASS,
    lower::PASS,
    graph::lift_transform_params::PASS,
    lower_blocks::PASS,
    lower::entry::PASS,
    lower_math::PASS,
    graph::materialise::PASS,
    graph::pad_conv::PASS,
    plan::PASS,
    graph::remove_unused_functions::PASS,
    graph::simplify_expr::PASS,
    unroll_loop::PASS,
    vectorize_loop::PASS,
    verify_bounds::PASS,
];

/// The pipeline with the user's passes, each behind the last pass of its phase. Where one may have changed accesses
/// after they were proven, they are proven again.
pub(crate) fn with(user: &[UserPass]) -> Vec<Pass> {
    let mut all: Vec<Pass> = Vec::with_capacity(PIPELINE.len() + user.len());
    let mut rest = PIPELINE.iter().peekable();
    for phase in PassPhase::ALL {
        while let Some(pass) = rest.next_if(|pass| pass.phase <= phase) {
            all.push(pass.clone());
        }
        let own = user.iter().filter(|u| u.phase() == phase);
        all.extend(own.clone().map(|u| u.pass.clone()));
        if own.count() > 0 && matches!(phase, PassPhase::Blocks | PassPhase::Loops) {
            all.push(verify_bounds::PASS);
        }
    }
    all
}
