//! The rules of `SimplifyExpr`. Each row is tested by itself: both sides are interpreted on ordinary and on special
//! values (see the tests beside the pass).

use tenfold_ir::Scalar;
use tenfold_ir::eval::{Bounded, bounded};
use tenfold_ir::op::CmpOp;

use super::pattern::Caught;
use super::rewrite::Rewriter;
use super::rules::{Math, On, Rule, rule};

use Math::{Exact, Fast, Reveals};
use On::{Any, Bits, Bool, Float, Int, Number, Signed};

/// The rows, tried from the top.
pub(crate) static RULES: &[Rule] = &[
    // Neutral operands.
    rule("add_zero", "add(x, 0)", "x", Int, Exact),
    // -0 + 0 is 0.
    rule("add_zero_float", "add(x, 0)", "x", Float, Fast),
    rule("add_minus_zero", "add(x, -0.0)", "x", Float, Reveals),
    rule("sub_zero", "sub(x, 0)", "x", Number, Reveals),
    rule("mul_one", "mul(x, 1)", "x", Number, Exact),
    rule("div_one", "div(x, 1)", "x", Number, Reveals),
    rule("div_euclid_one", "div_euclid(x, 1)", "x", Int, Exact),
    rule("power_one", "power(x, 1)", "x", Number, Reveals),
    rule("or_zero", "or(x, 0)", "x", Bits, Exact),
    rule("xor_zero", "xor(x, 0)", "x", Bits, Exact),
    rule("and_true", "and(x, 1)", "x", Bool, Exact),
    rule("shift_zero", "shl|shr(x, 0)", "x", Int, Exact),
    // Operands that decide.
    rule("mul_zero", "mul(x, 0)", "0", Int, Exact),
    rule("mul_zero_float", "mul(x, 0)", "0", Float, Fast),
    rule("and_zero", "and(x, 0)", "0", Bits, Exact),
    rule("or_true", "or(x, 1)", "1", Bool, Exact),
    rule("rem_one", "rem|rem_euclid(x, 1)", "0", Int, Exact),
    rule("power_zero", "power(x, 0)", "1", Number, Exact),
    // An operand with itself.
    rule("sub_self", "sub(x, x)", "0", Int, Exact),
    rule("sub_self_float", "sub(x, x)", "0", Float, Fast),
    rule("div_self_float", "div(x, x)", "1", Float, Fast),
    rule("xor_self", "xor(x, x)", "0", Bits, Exact),
    rule("extreme_self", "minimum|maximum(x, x)", "x", Number, Reveals),
    rule("bits_self", "and|or(x, x)", "x", Bits, Exact),
    rule("equal_self", "eq|le|ge(x, x)", "1", Bits, Exact),
    rule("unequal_self", "ne|lt|gt(x, x)", "0", Bits, Exact),
    // Signs.
    rule("neg_neg", "neg(neg(x))", "x", Number, Reveals),
    rule("mul_minus_one", "mul(x, -1)", "neg(x)", Number, Exact),
    rule("div_minus_one", "div(x, -1)", "neg(x)", Number, Exact),
    rule("zero_sub", "sub(0, x)", "neg(x)", Int, Exact),
    rule("zero_sub_float", "sub(0, x)", "neg(x)", Float, Fast),
    rule("minus_zero_sub", "sub(-0.0, x)", "neg(x)", Float, Exact),
    rule("add_neg", "add(x, neg(y))", "sub(x, y)", Number, Reveals),
    rule("sub_neg", "sub(x, neg(y))", "add(x, y)", Number, Reveals),
    rule("mul_neg_neg", "mul(neg(x), neg(y))", "mul(x, y)", Number, Exact),
    rule("div_neg_neg", "div(neg(x), neg(y))", "div(x, y)", Float, Exact),
    rule("neg_sub", "neg(sub(x, y))", "sub(y, x)", Int, Exact),
    rule("neg_sub_float", "neg(sub(x, y))", "sub(y, x)", Float, Fast),
    rule("abs_neg", "abs(neg(x))", "abs(x)", Signed, Exact),
    rule("abs_abs", "abs(w=abs(x))", "w", Number, Exact),
    rule("abs_positive", "abs(w=relu|relu6|exp|sigmoid(x))", "w", Float, Exact),
    rule("square_sign", "square(neg|abs(x))", "square(x)", Number, Exact),
    rule("relu_positive", "relu(w=relu|relu6|abs|exp|sigmoid(x))", "w", Float, Exact),
    rule("sign_sign", "sign(w=sign(x))", "w", Number, Exact),
    rule("round_round", "floor|ceil|round|trunc(w=floor|ceil|round|trunc(x))", "w", Float, Exact),
    rule("round_sign", "floor|ceil|round|trunc(w=sign(x))", "w", Float, Exact),
    // Bools and choices.
    rule("not_not", "not(not(x))", "x", Bits, Exact),
    rule("xor_true", "xor(x, 1)", "not(x)", Bool, Exact),
    rule("not_eq", "not(eq(x, y))", "ne(x, y)", Any, Exact),
    rule("not_ne", "not(ne(x, y))", "eq(x, y)", Any, Exact),
    // Of floats, NaN is neither below nor above.
    rule("not_lt", "not(lt(x, y))", "ge(x, y)", Bits, Exact),
    rule("not_le", "not(le(x, y))", "gt(x, y)", Bits, Exact),
    rule("not_gt", "not(gt(x, y))", "le(x, y)", Bits, Exact),
    rule("not_ge", "not(ge(x, y))", "lt(x, y)", Bits, Exact),
    rule("select_same", "select(c, x, x)", "x", Any, Exact),
    rule("select_not", "select(not(c), x, y)", "select(c, y, x)", Any, Exact),
    rule("select_true", "select(1, x, y)", "x", Any, Exact),
    rule("select_false", "select(0, y, x)", "x", Any, Exact),
    rule("select_then_select", "select(c, select(c, x, y), z)", "select(c, x, z)", Any, Exact),
    rule("select_else_select", "select(c, x, select(c, y, z))", "select(c, x, z)", Any, Exact),
    // Constants move together.
    rule("add_add", "add(add(x, c:const), d:const)", "add(x, add(c, d))", Int, Exact),
    rule("add_sub", "add(sub(x, c:const), d:const)", "add(x, sub(d, c))", Int, Exact),
    rule("sub_add", "sub(add(x, c:const), d:const)", "add(x, sub(c, d))", Int, Exact),
    rule("sub_sub", "sub(sub(x, c:const), d:const)", "sub(x, add(c, d))", Int, Exact),
    rule("mul_mul", "mul(mul(x, c:const), d:const)", "mul(x, mul(c, d))", Int, Exact),
    rule("and_and", "and(and(x, c:const), d:const)", "and(x, and(c, d))", Bits, Exact),
    rule("or_or", "or(or(x, c:const), d:const)", "or(x, or(c, d))", Bits, Exact),
    rule("xor_xor", "xor(xor(x, c:const), d:const)", "xor(x, xor(c, d))", Bits, Exact),
    rule("min_min", "minimum(minimum(x, c:const), d:const)", "minimum(x, minimum(c, d))", Number, Exact),
    rule("max_max", "maximum(maximum(x, c:const), d:const)", "maximum(x, maximum(c, d))", Number, Exact),
    rule("clip_clip", "clip(clip(x, a:const, b:const), c:const, d:const)", "clip(x, c, d)", Number, Exact)
        .when(inner_clip_is_wider),
    rule("neg_mul", "neg(mul(x, c:const):once)", "mul(x, neg(c))", Int, Exact),
    rule("mul_neg", "mul(neg(x), c:const)", "mul(x, neg(c))", Number, Exact),
    rule("add_add_float", "add(add(x, c:const), d:const)", "add(x, add(c, d))", Float, Fast),
    rule("mul_mul_float", "mul(mul(x, c:const), d:const)", "mul(x, mul(c, d))", Float, Fast),
    rule("div_const_float", "div(x, c:const)", "mul(x, reciprocal(c))", Float, Fast),
    // Powers: the bound of a power is wider than a rounding or two.
    rule("power_two", "power(x, 2)", "square(x)", Number, Exact),
    rule("power_minus_one", "power(x, -1)", "reciprocal(x)", Float, Exact),
    rule("power_half", "power(x, 0.5)", "sqrt(x)", Float, Fast),
    rule("power_minus_half", "power(x, -0.5)", "rsqrt(x)", Float, Fast),
    rule("reciprocal_div", "div(1, x)", "reciprocal(x)", Float, Exact),
    // Functions and their inverses.
    rule("exp_log", "exp(log(x))", "x", Float, Fast),
    rule("log_exp", "log(exp(x))", "x", Float, Fast),
    rule("sqrt_square", "sqrt(square(x))", "abs(x)", Float, Fast),
    rule("square_sqrt", "square(sqrt(x))", "x", Float, Fast),
    rule("reciprocal_twice", "reciprocal(reciprocal(x))", "x", Float, Fast),
    rule("reciprocal_sqrt", "reciprocal(sqrt(x))", "rsqrt(x)", Float, Fast),
    rule("div_sqrt", "div(x, sqrt(y))", "mul(x, rsqrt(y))", Float, Fast),
    rule("mul_exp", "mul(exp(x), exp(y))", "exp(add(x, y))", Float, Fast),
    rule("factor", "add(mul(x, z):once, mul(y, z):once)", "mul(add(x, y), z)", Float, Fast),
    rule("factor_int", "add(mul(x, z):once, mul(y, z):once)", "mul(add(x, y), z)", Int, Exact),
    rule("log_one_plus", "log(add(x, 1))", "log1p(x)", Float, Fast),
    rule("exp_minus_one", "sub(exp(x), 1)", "expm1(x)", Float, Fast),
];

/// `a <= c <= d <= b`: what the outer clip keeps, the inner one does not touch.
fn inner_clip_is_wider(cx: &mut Rewriter<'_>, caught: &Caught) -> bool {
    let bounds: Option<Vec<Scalar>> = ["a", "c", "d", "b"].iter().map(|name| cx.splat(*caught.get(*name)?)).collect();
    let at_most = |a: Scalar, b: Scalar| {
        bounded::compare(CmpOp::Le, Bounded::exact(a), Bounded::exact(b)).value == Scalar::bool(true)
    };
    bounds.is_some_and(|all| all.windows(2).all(|pair| at_most(pair[0], pair[1])))
}
