//! What memory says of dims that a function counts to and has no axis of.

use std::collections::BTreeSet;

use super::{Expr, Param, PrimFunc};
use crate::arith::{Fact, IntExpr, Sym};

/// No address space holds more elements.
const MOST: i64 = 1 << 56;

impl PrimFunc {
    /// States how large those of the index parameters are that axes of a caller's buffers are called after, `dims`. A
    /// buffer with such an axis says it by itself.
    pub fn state_dims(&mut self, dims: &BTreeSet<Sym>) {
        let shapes = self.buffers.iter().flat_map(|buf| buf.shape.iter().chain(buf.strides.iter().flatten()));
        let axes: BTreeSet<Sym> = shapes.flat_map(IntExpr::vars).collect();
        let param = |param: &Param| match param {
            Param::Value(var) => Some(*var),
            Param::Buffer(..) | Param::Workspace => None,
        };
        let sym = |var| &self.vars[var as usize].sym;
        let mut open: Vec<_> = self.params.iter().filter_map(param).collect();
        open.retain(|var| dims.contains(sym(var.0)) && !axes.contains(sym(var.0)));
        if open.is_empty() {
            return;
        }
        let used = self.exprs_in(&self.body);
        let most = |var| Fact::le(&IntExpr::var(sym(var).clone()), &IntExpr::from(MOST));
        let counted = open.into_iter().filter(|var| used.iter().any(|id| *self.exprs.get(*id) == Expr::Var(*var)));
        let facts: Vec<Fact> = counted.map(|var| most(var.0)).collect();
        self.facts.extend(facts);
    }
}
