//! Integer expressions and the prover: what every shape rule, index proof and legality check rests on.
//!
//! An [`IntExpr`] is a polynomial over atoms, canonical by construction; a [`Fact`] states something about
//! expressions; a [`Prover`] holds facts and answers questions. Values are mathematical integers: that extents fit
//! their machine type is checked elsewhere.
//!
//! This crate must not know what a dim, a loop, a tensor or a dtype is, nor anything of relax or tir. It does no
//! I/O, keeps no global state and never panics on what it is given.
//!
//! **Sound, not complete.** The prover never answers yes to what can be false. It says no where its bounded work
//! (constants in `limits`) ends without a proof. The steps of one query, cheapest first:
//!
//! 1. `simplify`: the rules of `rules`, applied by `rewrite` under the facts;
//! 2. `bounds`: puts the bounds of variables in place of variables, along known signs;
//! 3. `linear`: linear arithmetic over monomials, an exact simplex over facts and products of facts;
//! 4. `split`: cases of minimum, maximum, alternatives and small ranges;
//! 5. `enumerate`: small constant boxes, point by point.

mod atom;
mod bounds;
mod congruence;
mod const_int_bound;
mod divide;
mod dividend;
mod domain;
mod ends;
mod enumerate;
mod eval;
mod expr;
mod fact;
mod interval_set;
mod iter_map;
mod limits;
mod linear;
mod memory;
mod meter;
mod modular_set;
mod ops;
mod parse;
mod points;
mod print;
mod prover;
mod rational;
mod region;
mod relax;
mod rewrite;
mod rows;
mod rules;
mod simplify;
mod split;
mod sym;
#[cfg(test)]
mod tests;
mod view;

pub use const_int_bound::ConstIntBound;
pub use domain::{Domain, Range};
pub use expr::IntExpr;
pub use fact::Fact;
pub use interval_set::IntervalSet;
pub use iter_map::{
    IterMap, IterMapError, IterMapLevel, IterMark, IterSource, IterSplit, IterSum, Subspace, detect_iter_map,
    iter_map_simplify, subspace_divide,
};
pub use memory::remembering;
pub use modular_set::ModularSet;
pub use prover::Prover;
pub use region::{Rectangle, touched};
pub use sym::Sym;
pub use view::View;
