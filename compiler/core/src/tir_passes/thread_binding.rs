//! Loops over one thread axis brought together: what `LiftThreadBinding` and `UnifyThreadBinding` share.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::op::CmpOp;
use tenfold_ir::tir::copy::substitute;
use tenfold_ir::tir::{Annotation, Builder, ExprId, LoopKind, Stmt, ThreadAxis, VarId, expr_vars};

use super::kernel::{Made, constant, is_bound, refuse};
use crate::CompileError;

/// Every axis, in the order in which loops over them stand inside of one another.
pub(super) const AXES: [ThreadAxis; 6] = [
    ThreadAxis::Block(0),
    ThreadAxis::Block(1),
    ThreadAxis::Block(2),
    ThreadAxis::Thread(0),
    ThreadAxis::Thread(1),
    ThreadAxis::Thread(2),
];

/// Whether a loop over the axis stands in a statement.
pub(super) fn has_axis(stmt: &Stmt, axis: ThreadAxis) -> bool {
    stmt.any(&mut |s| matches!(s, Stmt::For { kind: LoopKind::ThreadBound(a), .. } if *a == axis))
}

/// The loops over an axis inside a statement taken away, and one around it.
pub(super) fn gather(b: &mut Builder, stmt: Stmt, axis: ThreadAxis) -> Made {
    let count = threads(b, &stmt, axis)?;
    let var = b.index_var(match axis {
        ThreadAxis::Block(_) => "block",
        ThreadAxis::Thread(_) => "thread",
    });
    let mut one = Gather { b, axis, var, count, annotations: Vec::new() };
    let body = one.stmt(stmt)?;
    let annotations = one.annotations;
    let (min, kind) = (b.index(0), LoopKind::ThreadBound(axis));
    Ok(Stmt::For { var, min, extent: count, kind, annotations, body: Box::new(body) })
}

/// The number of threads along an axis: that of all loops, or the greatest if they are constants.
fn threads(b: &mut Builder, stmt: &Stmt, axis: ThreadAxis) -> Result<ExprId, CompileError> {
    let (mut extents, mut inside, mut from_zero) = (BTreeSet::new(), BTreeSet::new(), true);
    stmt.walk(&mut |s| {
        inside.extend(s.bound());
        if let Stmt::For { kind: LoopKind::ThreadBound(a), min, extent, .. } = s
            && *a == axis
        {
            extents.insert(*extent);
            from_zero &= constant(b.func(), *min) == Some(0);
        }
    });
    let name = || format!("loops over {axis:?}");
    let help = "bind loops that begin at 0 and whose number of threads is known before the kernel";
    if !from_zero {
        return Err(refuse(b.func(), format!("{} do not begin at 0", name()), help));
    }
    if extents.iter().any(|e| !expr_vars(b.func(), *e).is_disjoint(&inside)) {
        return Err(refuse(b.func(), format!("{} depend on loops inside of the kernel", name()), help));
    }
    let all: Vec<ExprId> = extents.into_iter().collect();
    if let [one] = all[..] {
        return Ok(one);
    }
    let greatest = all.iter().map(|e| constant(b.func(), *e)).try_fold(0, |n, e| Some(n.max(e?)));
    let greatest = greatest.ok_or_else(|| refuse(b.func(), format!("{} have different extents", name()), help))?;
    Ok(b.index(greatest))
}

struct Gather<'b> {
    b: &'b mut Builder,
    axis: ThreadAxis,
    var: VarId,
    count: ExprId,
    annotations: Vec<Annotation>,
}

impl Gather<'_> {
    fn stmt(&mut self, stmt: Stmt) -> Made {
        match stmt {
            Stmt::For { var, extent, kind: LoopKind::ThreadBound(axis), annotations, body, .. }
                if axis == self.axis =>
            {
                self.annotations.extend(annotations);
                let me = self.b.read(self.var);
                let body = substitute(self.b, *body, &BTreeMap::from([(var, me)]));
                if extent == self.count {
                    return Ok(body);
                }
                self.guard(CmpOp::Lt, extent, body)
            }
            // What no thread of this axis stood around is done by the first one.
            other if !has_axis(&other, self.axis) => self.once(other),
            other => super::kernel::try_children(other, &mut |s| self.stmt(s)),
        }
    }

    fn once(&mut self, stmt: Stmt) -> Made {
        let effect = |s: &Stmt| matches!(s, Stmt::Store { .. } | Stmt::Call { .. } | Stmt::Assert { .. });
        match stmt {
            Stmt::Barrier(_) => Ok(stmt),
            Stmt::Seq(_) | Stmt::Alloc { .. } | Stmt::At(..) | Stmt::Let { .. } => {
                super::kernel::try_children(stmt, &mut |s| self.once(s))
            }
            Stmt::For { kind, .. } if is_bound(kind) => super::kernel::try_children(stmt, &mut |s| self.once(s)),
            other if !other.any(&mut |s| effect(s)) => Ok(other),
            other => {
                let zero = self.b.index(0);
                self.guard(CmpOp::Eq, zero, other)
            }
        }
    }

    fn guard(&mut self, op: CmpOp, limit: ExprId, body: Stmt) -> Made {
        if body.any(&mut |s| matches!(s, Stmt::Barrier(_))) {
            let help = "give all loops over an axis the same number of threads";
            return Err(refuse(self.b.func(), "a barrier would not be reached by all threads", help));
        }
        let me = self.b.read(self.var);
        let cond = self.b.compare(op, me, limit);
        Ok(Stmt::If { cond, then: Box::new(body), otherwise: None })
    }
}
