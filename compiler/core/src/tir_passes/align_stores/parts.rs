//! A part of what a loop writes: other neighbours of one turn.

use std::collections::BTreeMap;

use tenfold_ir::tir::{Builder, Expr, ExprId, Ty, VarId, map_operands, substitution};

use crate::tir_passes::kernel::plus;

/// So many lanes of a turn, from one of its elements on.
pub(super) struct Part {
    /// The loop's variable.
    pub var: VarId,
    /// The turn.
    pub at: ExprId,
    /// The first of the elements.
    pub offset: ExprId,
    pub lanes: i64,
}

impl Part {
    /// Where the part begins, of an index where the turn's elements begin.
    pub(super) fn index(&self, b: &mut Builder, begin: ExprId) -> ExprId {
        let begin = substitution(&BTreeMap::from([(self.var, self.at)])).expr(b, begin);
        plus(b, begin, self.offset)
    }

    /// The value of the part, of the value of a turn.
    pub(super) fn value(&self, b: &mut Builder, of: ExprId) -> ExprId {
        self.built(b, of, &mut BTreeMap::new())
    }

    fn built(&self, b: &mut Builder, id: ExprId, known: &mut BTreeMap<ExprId, ExprId>) -> ExprId {
        let ty = b.ty(id);
        if ty.lanes == 1 {
            return id;
        }
        if let Some(done) = known.get(&id) {
            return *done;
        }
        let lanes = self.lanes as u16;
        let new = match b.func().exprs.get(id).clone() {
            Expr::Ramp(base, stride, _) => {
                let base = self.index(b, base);
                Expr::Ramp(base, stride, lanes)
            }
            Expr::Broadcast(x, _) => Expr::Broadcast(x, lanes),
            Expr::Cast(to, x) => Expr::Cast(Ty { lanes, ..to }, self.built(b, x, known)),
            Expr::Call(f, args, to) => {
                let args = args.into_iter().map(|x| self.built(b, x, known)).collect();
                Expr::Call(f, args, Ty { lanes, ..to })
            }
            other => map_operands(other, &mut |x| self.built(b, x, known)),
        };
        let new = b.raw(new, Ty { lanes, ..ty });
        known.insert(id, new);
        new
    }
}

/// A difference of what need not be written out.
pub(super) fn minus(b: &mut Builder, one: ExprId, other: ExprId) -> ExprId {
    match [one, other].map(|e| b.func().literal(e)) {
        [Some(x), Some(y)] => b.index(x - y),
        _ => b.sub(one, other),
    }
}
