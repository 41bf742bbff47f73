//! What the values and symbols of the function being copied are in the new function.

use std::collections::BTreeMap;

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::relax::{Op, ValueData, ValueId};

/// What a value of the function being copied stands for.
#[derive(Clone, Debug)]
pub(super) enum Slot {
    /// A value.
    Value(ValueId),
    /// Several, taken apart.
    Tuple(Vec<Slot>),
    /// A shape of these extents.
    Shape(Vec<IntExpr>),
}

/// The copy of one function: its values and symbols in terms of the new function's.
#[derive(Default)]
pub(super) struct Frame {
    pub(super) values: BTreeMap<ValueId, Slot>,
    pub(super) syms: BTreeMap<Sym, IntExpr>,
}

impl Frame {
    pub(super) fn slot(&self, v: ValueId) -> Slot {
        self.values.get(&v).cloned().unwrap_or(Slot::Value(v))
    }

    pub(super) fn value(&self, v: ValueId) -> ValueId {
        fn first(slot: &Slot, default: ValueId) -> ValueId {
            match slot {
                Slot::Value(v) => *v,
                Slot::Tuple(parts) => parts.first().map_or(default, |p| first(p, default)),
                Slot::Shape(_) => default,
            }
        }
        first(&self.slot(v), v)
    }

    pub(super) fn int(&self, e: &IntExpr) -> IntExpr {
        if self.syms.is_empty() { e.clone() } else { e.substitute(&|s| self.syms.get(s).cloned()) }
    }

    pub(super) fn ints(&self, all: &[IntExpr]) -> Vec<IntExpr> {
        all.iter().map(|e| self.int(e)).collect()
    }

    pub(super) fn data(&self, data: &ValueData) -> ValueData {
        data.map_exprs(&mut |e| self.int(e))
    }

    /// An operator with its integer expressions in the new function's symbols.
    pub(super) fn op(&self, op: &Op) -> Op {
        op.map_exprs(&mut |e| self.int(e))
    }
}
