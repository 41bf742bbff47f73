//! Passes cost what the graph's size costs: ten times the operators take at most fourteen times as long.

use std::time::{Duration, Instant};

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, ElementOp, UnaryOp};
use tenfold_ir::relax::{Builder, ParamKind, TensorType};
use tenfold_ir::{DType, Loc, Module, Scalar};

use super::{context, module_of};
use crate::pass::{find, run_pass};

const PASSES: &[&str] = &[
    "CanonicalizeCast",
    "CanonicalizeOps",
    "CombineParallelConv2D",
    "CombineParallelMatmul",
    "DeadCodeElimination",
    "DynamicToStatic",
    "EliminateCommonSubexpr",
    "FoldConstant",
    "FoldScaleAxis",
    "LiftTransformParams",
    "Normalize",
    "RemoveUnusedFunctions",
    "SimplifyExpr",
    "SimplifyInference",
    "ToMixedPrecision",
];

/// A chain of `n` operators in which rules apply now and then.
fn chain(n: usize) -> Module {
    let mut b = Builder::new("f");
    let ty = TensorType { dtype: DType::F32, shape: vec![IntExpr::from(8)] };
    let mut x = b.param(ParamKind::Input, ty, "x", 0, Loc::default());
    let one = b.scalar(Scalar::one(DType::F32));
    let mut other = x;
    for i in 0..n {
        let op = match i % 5 {
            0 => ElementOp::Binary(BinaryOp::Mul),
            1 | 2 => ElementOp::Unary(UnaryOp::Neg),
            3 => ElementOp::Binary(BinaryOp::Add),
            _ => ElementOp::Unary(UnaryOp::Exp),
        };
        let args = match i % 5 {
            0 => vec![x, one],
            3 => vec![x, other],
            _ => vec![x],
        };
        other = x;
        x = b.element(op, &args).expect("the types fit");
    }
    module_of(b.finish(&[x]))
}

/// Time that this thread has had a processor: what else runs on the machine does not count, where that can be known.
fn processor() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// Time of one run, from many: the clock of a thread moves in steps of milliseconds.
fn time(pass: &str, module: &Module, runs: u32) -> Duration {
    let pass = find(pass).expect("a pass");
    let mut modules: Vec<Module> = (0..runs).map(|_| module.clone()).collect();
    let context = context();
    let (start, own) = (Instant::now(), processor());
    for module in &mut modules {
        match &pass.kind {
            crate::pass::Kind::Module(run) => run(module, &context),
            _ => run_pass(pass, module, &context),
        }
        .expect("the pass runs");
    }
    processor().zip(own).map_or_else(|| start.elapsed(), |(end, own)| end.saturating_sub(own)) / runs
}

#[test]
fn passes_are_linear() {
    let (small, large) = (chain(1000), chain(10_000));
    for pass in PASSES {
        let (mut a, mut b) = (Duration::ZERO, Duration::ZERO);
        // What else runs on the machine disturbs a measurement, never to the better: the best of a few counts.
        let fits = (0..3).any(|_| {
            (a, b) = (time(pass, &small, 50), time(pass, &large, 5));
            b <= a * 14 || b < Duration::from_millis(2)
        });
        assert!(fits, "{pass}: {a:?} for 1,000 operators, {b:?} for 10,000");
    }
}
