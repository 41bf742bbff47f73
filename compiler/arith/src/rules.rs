//! The rules of simplification, as data: a name, both sides, and what must hold.
//!
//! `c`, `c1`, … stand for constants and every other name for any expression, the same wherever it stands. What must
//! hold is proven from the facts: by linear arithmetic, constant bounds and residues. `rewrite` applies the rows, from
//! the top; the tests check every row at all points of a box and that it is applied; `compiler/docs/simplifier.md` is
//! made from them.
//!
//! What is true whatever the variables are, and what every expression is brought to as it is made (sums of products in
//! one order, multiples taken out of divisions by constants), is no rule: such forms are never seen here. Those that
//! readers of the code ask for are listed in `FORMS`, which the tests and the page read.

/// `from` becomes `to` where all of `when` hold.
pub(super) struct Rule {
    #[cfg_attr(not(test), expect(dead_code, reason = "tests name the row that does not hold"))]
    pub(super) name: &'static str,
    pub(super) from: &'static str,
    pub(super) to: &'static str,
    pub(super) when: &'static [&'static str],
    pub(super) find: Find,
    /// Whether it is applied only where the whole sum gets shorter.
    pub(super) shorter: bool,
}

/// A constant that no part of the pattern is, found from what is known of `x`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Find {
    /// None.
    Nothing,
    /// `k`: the quotient of the least value of `x` by `c`, which is that of the greatest too.
    Quotient,
    /// `r`: what `c` leaves of every value of `x`.
    Residue,
}

impl Find {
    /// What holds of the constant.
    #[cfg(test)]
    pub(super) fn when(self) -> &'static [&'static str] {
        match self {
            Find::Nothing => &[],
            Find::Quotient => &["c >= 1", "x >= c*k", "x < c*k + c"],
            Find::Residue => &["c >= 1", "r >= 0", "r < c", "floormod(x, c) == r"],
        }
    }
}

const fn rule(name: &'static str, from: &'static str, to: &'static str, when: &'static [&'static str]) -> Rule {
    Rule { name, from, to, when, find: Find::Nothing, shorter: false }
}

impl Rule {
    const fn with(self, find: Find) -> Rule {
        Rule { find, ..self }
    }

    const fn if_shorter(self) -> Rule {
        Rule { shorter: true, ..self }
    }
}

/// All rules, in the order in which they are tried.
pub(super) const RULES: &[Rule] = &[
    // Quotients.
    rule("quotient of less than the divisor", "floordiv(x, y)", "0", &["x >= 0", "x < y"]),
    rule("quotient known from the range", "floordiv(x, c)", "k", &[]).with(Find::Quotient),
    rule("quotient of a multiple and more", "floordiv(y*z + x, z)", "y + floordiv(x, z)", &["z != 0"]),
    rule(
        "low part below the common factor",
        "floordiv(c1*y + x, c2)",
        "floordiv(y, floordiv(c2, c1))",
        &["c1 >= 2", "c2 >= 1", "c2 % c1 == 0", "x >= 0", "x < c1"],
    ),
    rule(
        "quotient of a quotient and a constant",
        "floordiv(floordiv(x, c1) + c3, c2)",
        "floordiv(x + c1*c3, c1*c2)",
        &["c1 >= 1", "c2 >= 1"],
    ),
    rule(
        "quotient of a remainder",
        "floordiv(floormod(x, c1), c2)",
        "floormod(floordiv(x, c2), floordiv(c1, c2))",
        &["c1 >= 1", "c2 >= 2", "c1 % c2 == 0"],
    ),
    rule(
        "quotient of a minimum with a multiple",
        "floordiv(min(c1*x, y), c2)",
        "min(floordiv(c1, c2)*x, floordiv(y, c2))",
        &["c2 >= 1", "c1 % c2 == 0"],
    ),
    rule(
        "quotient of a maximum with a multiple",
        "floordiv(max(c1*x, y), c2)",
        "max(floordiv(c1, c2)*x, floordiv(y, c2))",
        &["c2 >= 1", "c1 % c2 == 0"],
    ),
    // Remainders.
    rule("remainder of less than the divisor", "floormod(x, y)", "x", &["x >= 0", "x < y"]),
    rule("remainder known from residues", "floormod(x, c)", "r", &[]).with(Find::Residue),
    rule("remainder known from the range", "floormod(x, c)", "x - c*k", &[]).with(Find::Quotient),
    rule("remainder of a multiple and more", "floormod(y*z + x, z)", "floormod(x, z)", &[]),
    rule("remainder of a multiple by a fact", "floormod(x, c)", "0", &["x % c == 0"]),
    rule(
        "remainder of a low part below the common factor",
        "floormod(c1*y + x, c2)",
        "c1*floormod(y, floordiv(c2, c1)) + x",
        &["c1 >= 2", "c2 >= 1", "c2 % c1 == 0", "x >= 0", "x < c1"],
    ),
    rule(
        "remainder of a remainder and more",
        "floormod(c3*floormod(x, c1) + y, c2)",
        "floormod(c3*x + y, c2)",
        &["c2 != 0", "c1*c3 % c2 == 0"],
    ),
    // Truncation.
    rule("truncation of what is not negative", "x / y", "floordiv(x, y)", &["x >= 0", "y >= 0"]),
    rule("truncation of what is not positive", "x / y", "-floordiv(-x, y)", &["x <= 0", "y >= 0"]),
    rule("truncation by what is not positive", "x / y", "-floordiv(x, -y)", &["x >= 0", "y <= 0"]),
    rule("truncation of a multiple", "x / c", "floordiv(x, c)", &["x % c == 0"]),
    rule("truncation of a truncation", "(x / c1) / c2", "x / (c1*c2)", &["c1 != 0", "c2 != 0"]),
    rule("dividend's sign when not negative", "x % y", "floormod(x, y)", &["x >= 0", "y >= 0"]),
    rule("dividend's sign when not positive", "x % y", "-floormod(-x, y)", &["x <= 0", "y >= 0"]),
    rule("dividend's sign by what is not positive", "x % y", "floormod(x, -y)", &["x >= 0", "y <= 0"]),
    rule("truncated remainder of a multiple", "x % c", "0", &["x % c == 0"]),
    // Minima.
    rule("minimum with a maximum of the same", "min(max(x, y), y)", "y", &[]),
    rule("minimum with a minimum of the same", "min(min(x, y), y)", "min(x, y)", &[]),
    rule("minimum decided", "min(x, y)", "x", &["x <= y"]),
    rule("minimum with two constants", "min(min(x, c1), c2)", "min(x, min(c1, c2))", &[]),
    rule("minimum of minima", "min(min(x, y), min(x, z))", "min(x, min(y, z))", &[]),
    rule("minimum of maxima", "min(max(x, y), max(x, z))", "max(x, min(y, z))", &[]),
    rule("minimum of sums", "min(x + y, x + z)", "x + min(y, z)", &[]),
    rule("minimum of multiples", "min(c*x, c*y)", "c*min(x, y)", &["c >= 2"]),
    rule("minimum of quotients", "min(floordiv(x, c), floordiv(y, c))", "floordiv(min(x, y), c)", &["c >= 1"]),
    rule("minimum with what is rounded up", "min(c1*floordiv(x + c2, c1), x)", "x", &["c1 >= 1", "c2 >= c1 - 1"]),
    // Maxima.
    rule("maximum with a minimum of the same", "max(min(x, y), y)", "y", &[]),
    rule("maximum with a maximum of the same", "max(max(x, y), y)", "max(x, y)", &[]),
    rule("maximum decided", "max(x, y)", "y", &["x <= y"]),
    rule("maximum with two constants", "max(max(x, c1), c2)", "max(x, max(c1, c2))", &[]),
    rule("maximum of maxima", "max(max(x, y), max(x, z))", "max(x, max(y, z))", &[]),
    rule("maximum of minima", "max(min(x, y), min(x, z))", "min(x, max(y, z))", &[]),
    rule("maximum of sums", "max(x + y, x + z)", "x + max(y, z)", &[]),
    rule("maximum of multiples", "max(c*x, c*y)", "c*max(x, y)", &["c >= 2"]),
    rule("maximum of quotients", "max(floordiv(x, c), floordiv(y, c))", "floordiv(max(x, y), c)", &["c >= 1"]),
    rule(
        "maximum with what is rounded up",
        "max(c1*floordiv(x + c2, c1), x)",
        "c1*floordiv(x + c2, c1)",
        &["c1 >= 1", "c2 >= c1 - 1"],
    ),
    rule("bounds in one order", "max(min(x, c1), c2)", "min(max(x, c2), c1)", &["c2 <= c1"]),
    // Sums.
    rule("quotient and remainder meet", "c*floordiv(x, c) + floormod(x, c)", "x", &[]),
    rule(
        "high and low remainders meet",
        "c1*floormod(floordiv(x, c1), c2) + floormod(x, c1)",
        "floormod(x, c1*c2)",
        &["c1 >= 1", "c2 >= 1"],
    ),
    rule("half and its rest", "floordiv(x, 2) + floormod(x, 2)", "floordiv(x + 1, 2)", &[]),
    rule("minimum and maximum meet", "min(x, y) + max(x, y)", "x + y", &[]),
    rule(
        "multiple of a quotient that is exact",
        "c2*floordiv(x, c1)",
        "floordiv(c2, c1)*x",
        &["c1 >= 1", "c2 % c1 == 0", "x % c1 == 0"],
    ),
    rule("remainder as a difference", "floormod(x, y)", "x - y*floordiv(x, y)", &[]).if_shorter(),
    rule("truncated remainder as a difference", "x % y", "x - y*(x / y)", &[]).if_shorter(),
    rule(
        "difference as a remainder",
        "c2*floordiv(x, c1)",
        "floordiv(c2, c1)*x - floordiv(c2, c1)*floormod(x, c1)",
        &["c1 >= 1", "c2 % c1 == 0"],
    )
    .if_shorter(),
    rule("minimum and what cancels in it", "min(x, y) + z", "min(x + z, y + z)", &[]).if_shorter(),
    rule("maximum and what cancels in it", "max(x, y) + z", "max(x + z, y + z)", &[]).if_shorter(),
    rule("minimum as a difference", "min(x + c, y)", "x + min(c, y - x)", &[]).if_shorter(),
    rule("maximum as a difference", "max(x + c, y)", "x + max(c, y - x)", &[]).if_shorter(),
];

/// What every expression is brought to as it is made: both sides are one value.
#[cfg(test)]
pub(super) const FORMS: &[(&str, &str, &str)] = &[
    ("sum in one order", "y + x + 2*y", "x + 3*y"),
    ("product multiplied out", "(x + 1)*(x - 1)", "x*x - 1"),
    ("quotient of a multiple by a constant", "floordiv(8*x + y, 4)", "2*x + floordiv(y, 4)"),
    ("quotient by the common factor", "floordiv(6*x + 5, 4)", "x + floordiv(x + 2, 2)"),
    ("quotient of a quotient", "floordiv(floordiv(x, 3), 2)", "floordiv(x, 6)"),
    ("quotient of a negative constant", "floordiv(x, -4)", "floordiv(-x, 4)"),
    ("quotients a period apart", "floordiv(x + 4, 4) - floordiv(x, 4)", "1"),
    ("quotient by zero", "floordiv(x, 0)", "0"),
    ("remainder of multiples and more", "floormod(8*x + y, 4)", "floormod(y, 4)"),
    ("remainder of a remainder", "floormod(floormod(x, 12), 4)", "floormod(x, 4)"),
    ("remainder by zero", "floormod(x, 0)", "x"),
    ("truncation where nothing is rounded", "(6*x + 3) / 3", "2*x + 1"),
    ("minimum in one order", "min(y, x)", "min(x, y)"),
    ("minimum a constant apart", "min(x + 3, x + 1)", "x + 1"),
    ("maximum a constant apart", "max(x + 3, x + 1)", "x + 3"),
];
