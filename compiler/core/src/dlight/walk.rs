//! How loops walk through memory.

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::tir::{BufId, ExprId, Viewer};

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
    let data = &viewer.func().buffers[buf.0 as usize];
    let mut distance = IntExpr::from(1);
    let mut moved = IntExpr::from(0);
    for (axis, at) in index.iter().enumerate().rev() {
        let apart = match &data.strides {
            Some(strides) => strides.get(axis)?.clone(),
            None => distance.clone(),
        };
        let here = viewer.int(*at);
        let next = here.substitute(&|s| (s == sym).then(|| &IntExpr::var(sym.clone()) + 1));
        let by = viewer.prover.simplify(&(&next - &here));
        moved = &moved + &(&by * &apart);
        distance = &distance * data.shape.get(axis)?;
    }
    Some(viewer.prover.simplify(&moved))
}
