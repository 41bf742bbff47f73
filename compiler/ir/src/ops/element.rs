//! Elementwise operators. They broadcast as in NumPy and may also be called on scalars inside `compute`. Those of one
//! value that are compositions stand in `op/activation.rs`.

use super::call::word_attr;
use super::{AttrDef, OpDef};
use crate::op::{Activation, BinaryOp, ElementOp, UnaryOp};

/// A row of the table.
macro_rules! unary {
    ($name:literal, $onnx:literal, $op:ident, $doc:literal) => {
        element!($name, $onnx, "x", 1, &[], |_| Ok(ElementOp::Unary(UnaryOp::$op)), $doc)
    };
}

macro_rules! binary {
    ($name:literal, $onnx:literal, $signature:literal, $op:ident, $doc:literal) => {
        element!($name, $onnx, $signature, 2, &[], |_| Ok(ElementOp::Binary(BinaryOp::$op)), $doc)
    };
}

pub(super) static TABLE: &[OpDef] = &[
    unary!("abs", "Abs", Abs, "Absolute value: y = |x|. The least integer wraps to itself."),
    unary!("sign", "Sign", Sign, "y = -1, 0 or 1 as x is below, at or above 0; NaN stays NaN."),
    unary!("floor", "Floor", Floor, "The greatest whole number y <= x."),
    unary!("ceil", "Ceil", Ceil, "The least whole number y >= x."),
    unary!("round", "Round", Round, "The nearest whole number; of two, the even one."),
    unary!("trunc", "", Trunc, "x without its fraction: towards 0."),
    unary!("sqrt", "Sqrt", Sqrt, "y = √x; NaN below 0."),
    unary!("rsqrt", "", Rsqrt, "y = 1 / √x."),
    unary!("reciprocal", "Reciprocal", Reciprocal, "y = 1 / x."),
    unary!("square", "", Square, "y = x · x."),
    unary!("exp", "Exp", Exp, "y = e^x."),
    unary!("exp2", "", Exp2, "y = 2^x."),
    unary!("expm1", "", Expm1, "y = e^x - 1, without cancellation near 0."),
    unary!("log", "Log", Log, "y = ln x; -∞ at 0, NaN below."),
    unary!("log2", "", Log2, "y = log₂ x."),
    unary!("log10", "", Log10, "y = log₁₀ x."),
    unary!("log1p", "", Log1p, "y = ln(1 + x), without cancellation near 0."),
    unary!("sin", "Sin", Sin, "y = sin x, in radians."),
    unary!("cos", "Cos", Cos, "y = cos x, in radians."),
    unary!("tan", "Tan", Tan, "y = tan x, in radians."),
    unary!("asin", "Asin", Asin, "y = arcsin x; NaN outside -1..=1."),
    unary!("acos", "Acos", Acos, "y = arccos x; NaN outside -1..=1."),
    unary!("atan", "Atan", Atan, "y = arctan x."),
    unary!("sinh", "Sinh", Sinh, "y = sinh x."),
    unary!("cosh", "Cosh", Cosh, "y = cosh x."),
    unary!("tanh", "Tanh", Tanh, "y = tanh x."),
    unary!("asinh", "Asinh", Asinh, "y = arsinh x."),
    unary!("acosh", "Acosh", Acosh, "y = arcosh x; NaN below 1."),
    unary!("atanh", "Atanh", Atanh, "y = artanh x; NaN outside -1..=1."),
    unary!("erf", "Erf", Erf, "Error function: y = 2/√π ∫₀ˣ e^(-t²) dt."),
    unary!("isnan", "IsNaN", IsNan, "Whether x is NaN, as bool."),
    unary!("isinf", "IsInf", IsInf, "Whether x is infinite, as bool."),
    unary!("isfinite", "", IsFinite, "Whether x is neither NaN nor infinite, as bool."),
    binary!(
        "power",
        "Pow",
        "x, y",
        Pow,
        "z = x^y. Of integers wrapping; a negative exponent gives 1 divided by x^|y|, which is 0 unless x is 1 or -1."
    ),
    binary!("maximum", "Max", "x, y", Max, "The larger of two elements; NaN if either is."),
    binary!("minimum", "Min", "x, y", Min, "The smaller of two elements; NaN if either is."),
    binary!("atan2", "", "y, x", Atan2, "The angle of the point (x, y): arctan(y / x) in the right quadrant."),
    binary!(
        "div_euclid",
        "",
        "x, y",
        DivEuclid,
        "Quotient whose remainder is not negative; x / 0 = 0 of integers. Of floats x / y is rounded first, as by Rust's."
    ),
    binary!("rem_euclid", "", "x, y", RemEuclid, "Remainder in 0..|y|; x % 0 = x of integers."),
    element!(
        "select",
        "Where",
        "condition, x, y",
        3,
        &[],
        |_| Ok(ElementOp::Select),
        "z = x where the condition holds, else y. Both are evaluated."
    ),
    element!("clip", "Clip", "x, min, max", 3, &[], |_| Ok(ElementOp::Clip), "y = min(max(x, lo), hi); NaN stays NaN."),
    element!(
        "q_multiply_shift",
        "",
        "x, multiplier, shift",
        3,
        &[],
        |_| Ok(ElementOp::QMultiplyShift),
        "y = x · multiplier · 2^(shift - 31) of i32, computed exactly, rounded to nearest with ties up, saturating."
    ),
    element!("prelu", "PRelu", "x, slope", 2, &[], |_| Ok(ElementOp::Prelu), "y = x if x >= 0, else slope · x."),
    element!(
        "gelu",
        "Gelu",
        "x",
        1,
        &[AttrDef { name: "approximate", ty: "\"none\" | \"tanh\" = \"none\"", doc: "which equation" },],
        |call| {
            let op = match word_attr(call, "approximate", &["none", "tanh"])? {
                0 => Activation::Gelu,
                _ => Activation::GeluTanh,
            };
            Ok(ElementOp::Activation(op))
        },
        "y = x/2 · (1 + erf(x / √2)); approximate: x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))."
    ),
    unary!("sigmoid", "Sigmoid", Sigmoid, "y = 1 / (1 + e^-x)."),
];
