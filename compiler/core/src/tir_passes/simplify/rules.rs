//! The rules of `Simplify` for expressions of tir, as data. `table` applies them, its tests check every row at all points
//! of a box, and `compiler/docs/simplifier-tir.md` is made from them.
//!
//! Names stand for any expression, the same wherever a name stands; nothing is computed more often behind a rule than
//! before it. `choose(c, x, y)` is an `if` or a `select`, and stays what it was. Integers wrap. Indices are brought to
//! their shortest form as polynomials behind this (`simplifier.md`).

/// Operands for which a rule holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum On {
    /// Every type.
    Any,
    /// Indices and integers.
    Int,
    /// Integers without a sign.
    Unsigned,
    /// `bool`.
    Bool,
    /// All but floats.
    Exact,
}

/// `from` becomes `to` where the first operand is of such a type.
pub(super) struct Rule {
    pub(super) from: &'static str,
    pub(super) to: &'static str,
    pub(super) on: On,
}

const fn rule(from: &'static str, to: &'static str, on: On) -> Rule {
    Rule { from, to, on }
}

use On::{Any, Bool, Exact, Int, Unsigned};

/// All rules, in the order in which they are tried.
pub(super) const RULES: &[Rule] = &[
    // Operands that change nothing.
    rule("add(x, 0)", "x", Int),
    rule("sub(x, 0)", "x", Int),
    rule("mul(x, 1)", "x", Int),
    rule("div(x, 1)", "x", Int),
    rule("div_euclid(x, 1)", "x", Int),
    rule("shl(x, 0)", "x", Int),
    rule("shr(x, 0)", "x", Int),
    rule("or(x, 0)", "x", Int),
    rule("xor(x, 0)", "x", Int),
    rule("and(x, true)", "x", Bool),
    rule("or(x, false)", "x", Bool),
    rule("xor(x, false)", "x", Bool),
    // Operands that decide.
    rule("mul(x, 0)", "0", Int),
    rule("and(x, 0)", "0", Int),
    rule("rem(x, 1)", "0", Int),
    rule("rem_euclid(x, 1)", "0", Int),
    rule("and(x, false)", "false", Bool),
    rule("or(x, true)", "true", Bool),
    // An operand with itself.
    rule("sub(x, x)", "0", Int),
    rule("xor(x, x)", "0", Int),
    rule("xor(x, x)", "false", Bool),
    rule("and(x, x)", "x", Exact),
    rule("or(x, x)", "x", Exact),
    rule("minimum(x, x)", "x", Int),
    rule("maximum(x, x)", "x", Int),
    rule("and(x, and(x, y))", "and(x, y)", Exact),
    rule("or(x, or(x, y))", "or(x, y)", Exact),
    rule("and(x, or(x, y))", "x", Exact),
    rule("or(x, and(x, y))", "x", Exact),
    rule("and(x, not(x))", "false", Bool),
    rule("or(x, not(x))", "true", Bool),
    rule("minimum(x, minimum(x, y))", "minimum(x, y)", Int),
    rule("maximum(x, maximum(x, y))", "maximum(x, y)", Int),
    rule("minimum(x, maximum(x, y))", "x", Int),
    rule("maximum(x, minimum(x, y))", "x", Int),
    // Signs.
    rule("neg(neg(x))", "x", Int),
    rule("add(x, neg(y))", "sub(x, y)", Int),
    rule("sub(x, neg(y))", "add(x, y)", Int),
    rule("mul(neg(x), neg(y))", "mul(x, y)", Int),
    rule("neg(sub(x, y))", "sub(y, x)", Int),
    rule("abs(abs(x))", "abs(x)", Int),
    rule("sub(add(x, y), y)", "x", Int),
    rule("add(sub(x, y), y)", "x", Int),
    // Comparisons.
    rule("eq(x, x)", "true", Exact),
    rule("le(x, x)", "true", Int),
    rule("ge(x, x)", "true", Int),
    rule("ne(x, x)", "false", Exact),
    rule("lt(x, x)", "false", Int),
    rule("gt(x, x)", "false", Int),
    rule("ge(x, 0)", "true", Unsigned),
    rule("lt(x, 0)", "false", Unsigned),
    rule("le(minimum(x, y), x)", "true", Int),
    rule("ge(maximum(x, y), x)", "true", Int),
    rule("lt(x, minimum(x, y))", "false", Int),
    rule("gt(x, maximum(x, y))", "false", Int),
    rule("eq(add(x, y), x)", "eq(y, 0)", Int),
    rule("ne(add(x, y), x)", "ne(y, 0)", Int),
    rule("eq(add(x, z), add(y, z))", "eq(x, y)", Int),
    rule("ne(add(x, z), add(y, z))", "ne(x, y)", Int),
    rule("eq(sub(x, y), 0)", "eq(x, y)", Int),
    rule("ne(sub(x, y), 0)", "ne(x, y)", Int),
    rule("eq(neg(x), neg(y))", "eq(x, y)", Int),
    rule("eq(x, true)", "x", Bool),
    rule("eq(x, false)", "not(x)", Bool),
    rule("ne(x, false)", "x", Bool),
    rule("ne(x, true)", "not(x)", Bool),
    // Negations. Of floats, NaN is neither below nor above.
    rule("not(not(x))", "x", Exact),
    rule("not(eq(x, y))", "ne(x, y)", Any),
    rule("not(ne(x, y))", "eq(x, y)", Any),
    rule("not(lt(x, y))", "ge(x, y)", Int),
    rule("not(le(x, y))", "gt(x, y)", Int),
    rule("not(gt(x, y))", "le(x, y)", Int),
    rule("not(ge(x, y))", "lt(x, y)", Int),
    // Choices.
    rule("choose(true, x, y)", "x", Any),
    rule("choose(false, x, y)", "y", Any),
    rule("choose(c, x, x)", "x", Any),
    rule("choose(c, true, false)", "c", Bool),
    rule("choose(c, false, true)", "not(c)", Bool),
    rule("choose(c, true, c)", "c", Bool),
    rule("choose(c, c, false)", "c", Bool),
    rule("choose(not(c), x, y)", "choose(c, y, x)", Any),
    rule("choose(c, choose(c, x, y), z)", "choose(c, x, z)", Any),
    rule("choose(c, x, choose(c, y, z))", "choose(c, x, z)", Any),
    rule("choose(lt(x, y), x, y)", "minimum(x, y)", Int),
    rule("choose(lt(x, y), y, x)", "maximum(x, y)", Int),
];
