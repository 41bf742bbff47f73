//! The rules of simplification under facts, as data: name, both sides, and what must hold.
//!
//! Simplification applies them as code; the tests check that each is true at all points of a box and that it fires.

/// `from` becomes `to` where all of `when` hold.
pub(super) struct Rule {
    pub(super) name: &'static str,
    pub(super) from: &'static str,
    pub(super) to: &'static str,
    pub(super) when: &'static [&'static str],
}

const fn rule(name: &'static str, from: &'static str, to: &'static str, when: &'static [&'static str]) -> Rule {
    Rule { name, from, to, when }
}

/// All rules.
pub(super) const RULES: &[Rule] = &[
    rule("quotient of less than the divisor", "floordiv(x, c)", "0", &["x >= 0", "x < c"]),
    rule("remainder of less than the divisor", "floormod(x, c)", "x", &["x >= 0", "x < c"]),
    rule("quotient of a multiple and a rest", "floordiv(y*c + x, c)", "y", &["x >= 0", "x < c"]),
    rule("remainder of a multiple and a rest", "floormod(y*c + x, c)", "x", &["x >= 0", "x < c"]),
    rule("quotient known from the range", "floordiv(x, 8)", "-1", &["x >= -8", "x < 0"]),
    rule("low part below the common factor", "floordiv(4*y + x, 16)", "floordiv(y, 4)", &["x >= 0", "x < 4"]),
    rule("quotient and remainder meet", "floordiv(x, 8)*8 + floormod(x, 8)", "x", &[]),
    rule("quotient of a multiple", "4*floordiv(x, 4)", "x", &["x % 4 == 0"]),
    rule("remainder of a multiple", "floormod(x, 4)", "0", &["x % 8 == 0"]),
    rule("truncation of what is not negative", "x / c", "floordiv(x, c)", &["x >= 0", "c >= 0"]),
    rule("truncation of what is not positive", "x / c", "-floordiv(-x, c)", &["x <= 0", "c >= 0"]),
    rule("dividend's sign when not negative", "x % c", "floormod(x, c)", &["x >= 0", "c >= 0"]),
    rule("dividend's sign when not positive", "x % c", "-floormod(-x, c)", &["x <= 0", "c >= 0"]),
    rule("minimum decided", "min(x, y)", "x", &["x <= y"]),
    rule("maximum decided", "max(x, y)", "y", &["x <= y"]),
    rule("equal by a fact", "x*c", "3*c", &["x == 3"]),
    rule("minimum of a minimum", "min(min(x, y), y)", "min(x, y)", &[]),
    rule("maximum of a maximum", "max(max(x, y), x)", "max(x, y)", &[]),
    rule("minimum and maximum of the same", "min(max(x, y), y)", "y", &[]),
    rule("bounds of what lies within", "max(min(x, 9), 0)", "x", &["x >= 0", "x <= 9"]),
    rule("quotient of a quotient", "floordiv(floordiv(x, 3), 2)", "floordiv(x, 6)", &[]),
    rule("quotient of a remainder", "floordiv(floormod(x, 12), 12)", "0", &[]),
    rule("remainder of a remainder", "floormod(floormod(x, 12), 4)", "floormod(x, 4)", &[]),
    rule("remainder of multiples and more", "floormod(8*x + y, 4)", "floormod(y, 4)", &[]),
    rule("quotients a period apart", "floordiv(x + 4, 4) - floordiv(x, 4)", "1", &[]),
    rule("remainder known from a residue", "floormod(x, 2)", "1", &["x % 4 == 3"]),
    rule("remainder of a sum of residues", "floormod(x + y, 2)", "1", &["x % 2 == 1", "y % 4 == 0"]),
];
