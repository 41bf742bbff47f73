//! How loops walk through memory.

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::tir::{BufId, Expr, ExprId, PrimFunc, VarId, Viewer};

/// Elements of a buffer from one value of a symbol to the next, if they are as many everywhere. What an index reads from
/// memory is not looked into.
pub(super) fn step(viewer: &mut Viewer<'_>, buf: BufId, index: &[ExprId], sym: &Sym) -> Option<i64> {
    if index.iter().any(|i| viewer.func().loads(*i)) {
        return None;
    }
    moved(viewer, buf, index, sym)?.as_const()
}

/// The same as an expression, which may differ from value to value.
pub(super) fn moved(viewer: &mut Viewer<'_>, buf: BufId, index: &[ExprId], sym: &Sym) -> Option<IntExpr> {
    let own = IntExpr::var(sym.clone());
    let index: Vec<IntExpr> = index.iter().map(|i| viewer.int(*i)).collect();
    between(viewer, buf, &index, sym, (&own, &(&own + 1)))
}

/// Elements between those that an access touches at two values of a symbol.
pub(super) fn between(
    viewer: &Viewer<'_>,
    buf: BufId,
    index: &[IntExpr],
    sym: &Sym,
    (from, to): (&IntExpr, &IntExpr),
) -> Option<IntExpr> {
    let data = &viewer.func().buffers[buf.0 as usize];
    let mut distance = IntExpr::from(1);
    let mut moved = IntExpr::from(0);
    for (axis, at) in index.iter().enumerate().rev() {
        let apart = match &data.strides {
            Some(strides) => strides.get(axis)?.clone(),
            None => distance.clone(),
        };
        let here = at.substitute(&|s| (s == sym).then(|| from.clone()));
        let next = at.substitute(&|s| (s == sym).then(|| to.clone()));
        let by = viewer.prover.simplify(&(&next - &here));
        moved = &moved + &(&by * &apart);
        distance = &distance * data.shape.get(axis)?;
    }
    Some(viewer.prover.simplify(&moved))
}

/// Whether a value for neighbours along an iterator is made of neighbours, or of one element for all of them.
pub(super) fn straight(func: &PrimFunc, id: ExprId, along: VarId) -> bool {
    let viewer = &mut Viewer::new(func);
    let sym = viewer.sym(along);
    func.reachable([id]).into_iter().all(|e| match func.exprs.get(e) {
        Expr::If(_, a, b) => !func.loads(*a) && !func.loads(*b),
        Expr::Load { buf, index, .. } => matches!(step(viewer, *buf, index, &sym), Some(0 | 1)),
        _ => true,
    })
}
