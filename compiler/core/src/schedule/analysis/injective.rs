//! Whether indices tell the turns of loops apart.

use std::collections::BTreeSet;

use tenfold_ir::arith::{IntExpr, Sym};

/// Loops as digits: each runs from its first value over its extent.
#[derive(Clone, Default, Debug)]
pub(in crate::schedule) struct Digits {
    loops: Vec<(Sym, IntExpr, IntExpr)>,
}

impl Digits {
    pub(in crate::schedule) fn push(&mut self, sym: Sym, min: IntExpr, extent: IntExpr) {
        self.loops.push((sym, min, extent));
    }
    pub(in crate::schedule) fn syms(&self) -> BTreeSet<Sym> {
        self.loops.iter().map(|(sym, _, _)| sym.clone()).collect()
    }
}
