//! A turn whose first part makes elements of memory of its own that the rest reads where data says, as `resize` does along
//! an axis behind another one. No register is found by a number, so such memory would not be registers, and a turn is all
//! that a thread has: each element is made where it is read, and the turns of the rest are turns of the nest.

use std::collections::BTreeMap;

use tenfold_ir::tir::{
    BufId, Builder, Expr, ExprId, ExprMap, LoopKind, PrimFunc, Scope, Stmt, VarId, accesses, expr_vars, read,
    substitution, written,
};

use super::{Bind, Loop};

/// Reads of an element's makers that the rest may have.
const READS: usize = 16;

/// The kernel, if a turn is of this kind.
pub(super) fn kernel(bind: &mut Bind<'_>, loops: &[Loop], body: &Stmt) -> Option<Stmt> {
    let Stmt::Alloc { buf, body } = body.bare() else { return None };
    let Stmt::Seq(parts) = body.bare() else { return None };
    let (first, rest) = parts.split_first()?;
    let own = matches!(bind.b.buf(*buf).scope, Scope::Local | Scope::Global);
    let made = Made::of(bind.b.func(), first, *buf).filter(|_| own && !loops.is_empty())?;
    let rest = Stmt::seq(rest.to_vec());
    made.is_gathered(bind.b.func(), &rest).then_some(())?;
    let rest = made.in_place(bind.b, rest);
    let nest = loops.iter().rev();
    let nest = nest.fold(rest, |body, l| Stmt::loop_(l.var, l.min, l.extent, LoopKind::Serial, body));
    Some(bind.kernel(nest))
}

/// What each element of a buffer is made of.
struct Made {
    buf: BufId,
    /// The variables that are its index.
    index: Vec<VarId>,
    value: ExprId,
}

impl Made {
    /// Of a nest of loops that does nothing but store them.
    fn of(func: &PrimFunc, stmt: &Stmt, buf: BufId) -> Option<Made> {
        let (mut loops, mut inner) = (Vec::new(), stmt.bare());
        while let Stmt::For { var, min, kind: LoopKind::Serial, body, .. } = inner {
            (func.literal(*min) == Some(0)).then_some(())?;
            loops.push(*var);
            inner = body.bare();
        }
        let Stmt::Store { buf: to, index, value, .. } = inner else { return None };
        let var = |at: &ExprId| match func.exprs.get(*at) {
            Expr::Var(var) => Some(*var).filter(|var| loops.contains(var)),
            _ => None,
        };
        let index = index.iter().map(var).collect::<Option<Vec<_>>>()?;
        let each = loops.iter().all(|l| index.iter().filter(|var| *var == l).count() == 1);
        let alone = *to == buf && each && index.len() == loops.len() && !read(func, stmt).contains(&buf);
        (alone && !loops.is_empty()).then_some(Made { buf, index, value: *value })
    }

    /// Whether the rest reads elements where data says, a few at a time, and writes nothing that they are made of.
    fn is_gathered(&self, func: &PrimFunc, rest: &Stmt) -> bool {
        let mut told = Vec::new();
        rest.walk(&mut |s| {
            if let Stmt::Let { var, value, .. } = s
                && func.loads(*value)
            {
                told.push(*var);
            }
        });
        let by_data = |at: &ExprId| func.loads(*at) || expr_vars(func, *at).iter().any(|var| told.contains(var));
        let reads: Vec<_> = accesses(func, rest).into_iter().filter(|a| a.buf == self.buf && !a.write).collect();
        let gathered = reads.iter().any(|a| a.index.as_ref().is_some_and(|index| index.iter().any(by_data)));
        let known = reads.iter().all(|a| a.index.is_some()) && reads.len() <= READS;
        let of = func.reachable([self.value]).into_iter().filter_map(|e| match func.exprs.get(e) {
            Expr::Load { buf, .. } => Some(*buf),
            _ => None,
        });
        let writes = written(func, rest);
        gathered && known && !writes.contains(&self.buf) && of.into_iter().all(|buf| !writes.contains(&buf))
    }

    /// The rest with each element made where it is read.
    fn in_place(&self, b: &mut Builder, rest: Stmt) -> Stmt {
        let mut reads = ExprMap::new(|b: &mut Builder, id: ExprId| match b.func().exprs.get(id).clone() {
            Expr::Load { buf, index, .. } if buf == self.buf => {
                let places: BTreeMap<VarId, ExprId> =
                    self.index.iter().zip(index).map(|(var, at)| (*var, b.to_index(at))).collect();
                substitution(&places).expr(b, self.value)
            }
            _ => id,
        });
        reads.stmt(b, rest)
    }
}
