//! `FastMath`: `tanh`, `sigmoid` and `erf` of `f32` by short quotients of polynomials.
//!
//! Opt-in: `FastMath.approximate`. The operand is clipped to where the function still changes, and an odd quotient of
//! polynomials in its square stands for the function. Errors are absolute and hold for every `f32`, infinities
//! included; NaN stays NaN: `tanh` 2e-6, `sigmoid` 2e-6, `erf` 1e-5. `exp` stays as it is: what `LowerMath` makes of it
//! is as short as an approximation on the level of the graph, which has no access to a float's exponent. Phase: before
//! the operators become kernels.

use tenfold_ir::op::{BinaryOp, ElementOp, UnaryOp};
use tenfold_ir::relax::{Binding, Op, ValueId};
use tenfold_ir::{DType, Module, Scalar};

use super::rewrite::{Rewriter, rewrite};
use super::simplify_inference::{binary, unary};
use crate::CompileError;
use crate::pass::{ConfigKey, FlagKey, Pass, PassContext, PassPhase};

/// Whether to approximate.
const APPROXIMATE: FlagKey = FlagKey {
    name: "FastMath.approximate",
    default: false,
    doc: "whether `tanh`, `sigmoid` and `erf` of `f32` are approximated, to 2e-6, 2e-6 and 1e-5",
};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_module("FastMath", &fast_math)
    .in_phase(PassPhase::Graph)
    .at_level(1)
    .reads(&[ConfigKey::Flag(&APPROXIMATE)])
    .about("approximates `tanh`, `sigmoid` and `erf`, where a setting asks for it");

/// `x P(x²) / Q(x²)` for `|x|` up to `end`, where the function has come to its limit.
struct Quotient {
    end: f64,
    above: [f64; 5],
    below: [f64; 4],
}

/// Least absolute error on the interval, by reweighted least squares: 2e-7, and the roundings.
const TANH: Quotient = Quotient {
    end: 8.0,
    above: [
        0.999_999_072_246_165_5,
        0.126_998_426_612_507,
        0.002_684_548_859_607_111,
        7.083_758_646_131_152e-6,
        -6.020_381_219_033_510_5e-9,
    ],
    below: [1.0, 0.460_328_372_774_514_5, 0.022_797_639_928_378_657, 0.000_195_305_192_450_484_78],
};

/// As [`TANH`]: 3.5e-6, and the roundings.
const ERF: Quotient = Quotient {
    end: 4.0,
    above: [
        1.128_404_853_166_982,
        0.161_849_072_414_664_8,
        0.047_810_810_292_195_66,
        0.001_120_918_928_343_495_9,
        -4.956_097_553_737_488_5e-6,
    ],
    below: [1.0, 0.476_974_624_895_731_6, 0.100_832_216_069_174_65, 0.011_340_634_434_848_793],
};

/// Runs on every relax function.
pub(crate) fn fast_math(module: &mut Module, context: &PassContext) -> Result<(), CompileError> {
    if context.flag(&APPROXIMATE) {
        rewrite(module, &mut binding);
    }
    Ok(())
}

fn binding(cx: &mut Rewriter<'_>, binding: &Binding) -> Option<ValueId> {
    let Op::Element(ElementOp::Unary(op)) = binding.op else { return None };
    let x = binding.args[0];
    if cx.dtype(x)? != DType::F32 {
        return None;
    }
    match op {
        UnaryOp::Tanh => quotient(cx, x, &TANH),
        UnaryOp::Erf => quotient(cx, x, &ERF),
        UnaryOp::Sigmoid => {
            let half = number(cx, 0.5);
            let scaled = binary(cx, BinaryOp::Mul, x, half)?;
            let tanh = quotient(cx, scaled, &TANH)?;
            let low = binary(cx, BinaryOp::Mul, tanh, half)?;
            binary(cx, BinaryOp::Add, low, half)
        }
        _ => None,
    }
}

fn number(cx: &mut Rewriter<'_>, value: f64) -> ValueId {
    cx.scalar(Scalar::float(DType::F32, value))
}

fn quotient(cx: &mut Rewriter<'_>, x: ValueId, q: &Quotient) -> Option<ValueId> {
    let (low, high) = (number(cx, -q.end), number(cx, q.end));
    let x = cx.emit(Op::Element(ElementOp::Clip), &[x, low, high])?;
    let square = unary(cx, UnaryOp::Square, x)?;
    let (above, below) = (polynomial(cx, square, &q.above)?, polynomial(cx, square, &q.below)?);
    let odd = binary(cx, BinaryOp::Mul, x, above)?;
    binary(cx, BinaryOp::Div, odd, below)
}

/// By Horner's rule; the first coefficient is the constant one.
fn polynomial(cx: &mut Rewriter<'_>, x: ValueId, coefficients: &[f64]) -> Option<ValueId> {
    let (last, rest) = coefficients.split_last()?;
    let mut sum = number(cx, *last);
    for coefficient in rest.iter().rev() {
        let product = binary(cx, BinaryOp::Mul, sum, x)?;
        let coefficient = number(cx, *coefficient);
        sum = binary(cx, BinaryOp::Add, product, coefficient)?;
    }
    Some(sum)
}
