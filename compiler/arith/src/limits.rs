//! The caps on work and size. Past a cap an expression becomes opaque and a query gives up; both are sound.

/// Terms of one polynomial; a longer sum or product is kept as an opaque atom.
pub(super) const TERMS: usize = 1024;
/// Factors of one monomial.
pub(super) const DEGREE: usize = 12;
/// Nesting of atoms; a deeper expression becomes a variable that is named after its text.
pub(super) const DEPTH: u32 = 40;
/// Nodes of an expression, counted as a tree; past it as with [`DEPTH`].
pub(super) const SIZE: u32 = 4000;
/// Work of one query, and again of the proof behind its simplification: cells of linear problems, and nodes of
/// expressions that are taken apart.
pub(super) const WORK: usize = 250_000;
/// Steps of the substitution of bounds, per query.
pub(super) const BOUND_STEPS: u32 = 160;
/// Steps that go into the question whether a quotient is one above what one path found.
pub(super) const ASKED: u32 = 8;
/// Rows (facts and products of facts) of one linear problem.
pub(super) const ROWS: usize = 72;
/// Monomials of one linear problem.
pub(super) const MONOMIALS: usize = 48;
/// Pivots of one linear problem.
pub(super) const PIVOTS: u32 = 160;
/// How often what equalities put in place of variables is looked at again.
pub(super) const EQUALITIES: u32 = 3;
/// Rules applied by one simplification.
pub(super) const REWRITES: u32 = 128;
/// Conditions of rules that one simplification asks for a proof of.
pub(super) const PROOFS: u32 = 256;
/// Ends of minima and maxima that are looked into, per query.
pub(super) const ENDS: u32 = 24;
/// Leaves of the tree of case splits, per query.
pub(super) const LEAVES: u32 = 8;
/// Values of a range that is split into its points.
pub(super) const SPLIT_RANGE: i64 = 4;
/// Points of a box that is enumerated.
pub(super) const POINTS: i64 = 4096;
/// Nesting of parentheses and calls in parsed text.
pub(super) const NESTING: u32 = 64;
/// Answers to one question that are remembered; with as many, all are forgotten.
pub(super) const REMEMBERED: usize = 1 << 14;
/// Steps from a fact to what follows from it and what it is remembered with.
pub(super) const RAISED: u32 = 4;
/// What only a bound of the range of a dtype is as far from zero as.
pub(super) const FAR: u64 = 1 << 62;
