//! What a sum of floats starts at: nothing, or what is added to it element by element. A bias comes behind.
//!
//! A sum that starts at its bias rounds every term beside it; added behind, the bias is rounded once, and blocks of a
//! long sum stay as small as they are. Where blocks are added up one by one anyway, the total may as well start at the
//! other operand of a residual connection, which is then read before the sum instead of behind it.

use tenfold_ir::Scalar;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{Access, BufId, Builder, Expr, ExprId, ExprMap, Stmt, operands, substitution};

use super::blocks::is_long;
use super::choice::Choice;
use super::group::OnTile;
use crate::fuse::access::names;
use crate::fuse::stage::Stage;

/// Takes what a sum of floats starts at out of its init, which is 0 then, if tiles have rows: a single row is added to
/// its bias block by block.
pub(super) fn bias(b: &mut Builder, source: &mut Stage, choice: &Choice) -> Option<ExprId> {
    let Some(Stmt::Store { buf, index, value, access }) = source.init.clone() else { return None };
    let floats = b.buf(buf).dtype.is_float() && !b.func().strict;
    if !floats || choice.row.is_none() || choice.matrix || matches!(b.func().exprs.get(value), Expr::Const(_)) {
        return None;
    }
    let zero = b.scalar(Scalar::zero(b.buf(buf).dtype));
    source.init = Some(Stmt::Store { buf, index, value: zero, access });
    Some(value)
}

/// Adds a bias to what a stage on the tile reads of the accumulators, and before it what the stage adds to them, at
/// which a long sum starts.
pub(super) fn behind(
    b: &mut Builder,
    source: &mut Stage,
    on: &mut OnTile,
    (acc, bias): (BufId, Option<ExprId>),
    choice: &Choice,
) {
    let Some(sum) = accumulator(b, &on.stage, acc) else { return };
    let mut to = on.links.iter().map(|(of, own)| (*of, b.read(*own))).collect();
    let bias = bias.map(|bias| substitution(&to).expr(b, bias));
    let (mut from, mut value) = (sum, sum);
    // What all rows have in common is a bias, however it is written.
    let row = choice.row.and_then(|row| on.links.get(&row).copied());
    let residual =
        residual(b, &on.stage, (sum, acc)).filter(|(_, other)| row.is_none_or(|r| names(b.func(), *other, r)));
    if let Some((both, other)) = residual.filter(|_| source.init.is_some() && !choice.matrix) {
        from = both;
        if is_long(b, source, choice.terms) && starts_at_zero(b, source) {
            to = on.links.iter().map(|(of, own)| (*own, b.read(*of))).collect();
            let start = substitution(&to).expr(b, other);
            start_at(source, start);
        } else {
            value = b.add(sum, other);
        }
    }
    if let Some(bias) = bias {
        value = b.add(value, bias);
    }
    let mut instead = ExprMap::new(move |_: &mut Builder, id| if id == from { value } else { id });
    on.stage.body = instead.stmt(b, on.stage.body.clone());
}

/// The one element of the accumulators that a stage reads.
fn accumulator(b: &Builder, stage: &Stage, acc: BufId) -> Option<ExprId> {
    let Stmt::Store { value, .. } = &stage.body else { return None };
    let all = b.func().reachable([*value]).into_iter();
    let mut reads = all.filter(|e| matches!(b.func().exprs.get(*e), Expr::Load { buf, .. } if *buf == acc));
    reads.next().filter(|_| reads.next().is_none())
}

/// The sum of an element and of an element of another buffer, and the latter, where nothing else is made of the former.
fn residual(b: &Builder, stage: &Stage, (sum, acc): (ExprId, BufId)) -> Option<(ExprId, ExprId)> {
    let Stmt::Store { value, .. } = &stage.body else { return None };
    let func = b.func();
    let floats = !func.strict && b.buf(acc).dtype.is_float();
    let all = func.reachable([*value]).into_iter().filter(|_| floats);
    let mut users = all.filter(|e| operands(func.exprs.get(*e)).contains(&sum));
    let (both, more) = (users.next()?, users.next());
    let Expr::Binary(BinaryOp::Add, x, y) = func.exprs.get(both) else { return None };
    let other = if *x == sum { *y } else { *x };
    let element = matches!(func.exprs.get(other), Expr::Load { access: Access::Proven, .. });
    (more.is_none() && element && other != sum).then_some((both, other))
}

fn starts_at_zero(b: &Builder, source: &Stage) -> bool {
    let Some(Stmt::Store { buf, value, .. }) = &source.init else { return false };
    *b.func().exprs.get(*value) == Expr::Const(Scalar::zero(b.buf(*buf).dtype))
}

fn start_at(source: &mut Stage, start: ExprId) {
    if let Some(Stmt::Store { value, .. }) = &mut source.init {
        *value = start;
    }
}
