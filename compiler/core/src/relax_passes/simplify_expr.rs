//! `SimplifyExpr`: algebra on elementwise operators, by the rows of [`super::simplify_rules`].
//!
//! Phase: before the operators become kernels. Without fast math no result changes beyond what the language allows;
//! with it, rules that only hold for real numbers apply too.

use std::sync::OnceLock;

use tenfold_ir::Module;

use super::rewrite::rewrite_until;
use super::rules::{Apply, Table};
use super::simplify_rules::RULES;
use crate::CompileError;
use crate::pass::{ConfigKey, FlagKey, Pass, PassContext, PassPhase};

/// Rules that do not keep floats.
const FAST_MATH: FlagKey = FlagKey {
    name: "SimplifyExpr.fast_math",
    default: false,
    doc: "whether rules apply that hold for real numbers, not for floats",
};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("SimplifyExpr", &simplify_expr)
    .in_phase(PassPhase::Graph)
    .at_level(1)
    .reads(&[ConfigKey::Flag(&FAST_MATH)])
    .about("rewrites elementwise operators by a table of algebraic rules");

static TABLE: OnceLock<Table> = OnceLock::new();

/// Rounds of the whole function: a replacement's operands may give rise to others.
const ROUNDS: usize = 4;

/// Runs on every relax function.
pub(crate) fn simplify_expr(module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    rewrite_until(module, ROUNDS, &mut Apply::new(&TABLE, RULES, context.flag(&FAST_MATH)));
    Ok(())
}
