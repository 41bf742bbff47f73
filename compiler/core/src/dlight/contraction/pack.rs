//! An operand laid out anew before the contraction, so that it has neighbours along the columns.

use std::collections::BTreeMap;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{Access, BufId, Builder, Expr, ExprId, ExprMap, IterKind, LoopKind, Scope, Stmt, Viewer};

use super::choice::{Choice, Packing};
use super::{Contraction, Staged};
use crate::dlight::cut::part;
use crate::dlight::kernel::{Operand, viewer};
use crate::fuse::stage::{Iter, Stage};

/// What is copied where, and how the contraction reads it there.
struct Packed {
    buf: BufId,
    iters: Vec<Iter>,
    /// The copy's index of the new buffer.
    at: Vec<ExprId>,
    /// What it copies.
    from: ExprId,
    /// The contraction's index of the new buffer.
    read: Vec<ExprId>,
}

/// Adds the copy, if the choice asks for one, and lets the contraction read it.
pub(super) fn pack(staged: &mut Staged, found: &Contraction, choice: &Choice) {
    let Some((n, packing)) = choice.packed else { return };
    let operand = &found.operands[n];
    let source = staged.stages[found.stage].clone();
    let packed = match packing {
        Packing::Iterators => Some(by_iterators(staged, &source, operand, choice)),
        Packing::Phases(step) => in_phases(staged, &source, operand, choice, step),
        Packing::Panels => None,
    };
    let Some(packed) = packed else { return };
    staged.allocs.push(packed.buf);
    read_instead(staged, found.stage, operand.load, (packed.buf, packed.read));
    let b = &mut staged.b;
    let body = Stmt::Store { buf: packed.buf, index: packed.at, value: packed.from, access: Access::Proven };
    let plain = |i: Iter| Iter { kind: IterKind::Spatial, order: LoopKind::Serial, ..i };
    let iters = packed.iters.into_iter().map(plain).collect();
    let copy = Stage { name: format!("{}_packed", source.name), iters, init: None, body, loc: source.loc };
    let fresh = part(b, &copy, &copy.name, &BTreeMap::new(), &BTreeMap::new());
    staged.stages.insert(found.stage, fresh);
}

/// Lets a stage read an element of another buffer, or of another place.
pub(super) fn read_instead(staged: &mut Staged, stage: usize, old: ExprId, (buf, index): (BufId, Vec<ExprId>)) {
    let new = staged.b.load(buf, index, Access::Proven);
    let body = std::mem::replace(&mut staged.stages[stage].body, Stmt::nop());
    let mut instead = ExprMap::new(move |_: &mut Builder, id| if id == old { new } else { id });
    staged.stages[stage].body = instead.stmt(&mut staged.b, body);
}

fn buffer(b: &mut Builder, like: BufId, shape: Vec<IntExpr>) -> BufId {
    let data = b.buf(like).clone();
    b.buffer(&format!("{}_packed", data.name), data.dtype, shape, Scope::Global)
}

/// An axis per iterator, the columns last.
fn by_iterators(staged: &mut Staged, source: &Stage, operand: &Operand, choice: &Choice) -> Packed {
    let mut iters: Vec<Iter> = source.iters.iter().filter(|i| !operand.ignores(i.var)).cloned().collect();
    iters.sort_by_key(|i| (i.var == choice.column, i.kind != IterKind::Spatial));
    let shape = iters.iter().map(|i| Viewer::new(staged.b.func()).int(i.extent)).collect();
    let buf = buffer(&mut staged.b, operand.buf, shape);
    let at: Vec<ExprId> = iters.iter().map(|i| staged.b.read(i.var)).collect();
    Packed { buf, iters, at: at.clone(), from: operand.load, read: at }
}

/// Element `x` of a row goes to phase `x mod step`, place `x / step`.
fn in_phases(staged: &mut Staged, source: &Stage, operand: &Operand, choice: &Choice, step: i64) -> Option<Packed> {
    let Expr::Load { index, .. } = staged.b.func().exprs.get(operand.load).clone() else { return None };
    let (last, outer) = index.split_last()?;
    let mut shape = staged.b.buf(operand.buf).shape.clone();
    let width = shape.pop()?.as_const()?;
    shape.extend([IntExpr::from(step), IntExpr::from((width + step - 1) / step)]);
    let buf = buffer(&mut staged.b, operand.buf, shape.clone());
    let column = IntExpr::var(staged.b.sym(choice.column).clone());
    let rest = &viewer(staged.b.func(), source).int(*last) - &(&column * step);
    let along = rest.floor_div(&IntExpr::from(step));
    let phase = &rest - &(&along * step);
    let mut read = outer.to_vec();
    read.extend([&phase, &(&column + &along)].map(|e| staged.b.int_expr(e)));
    let b = &mut staged.b;
    let iters: Vec<Iter> = shape.iter().map(|extent| whole(b, extent)).collect();
    let at: Vec<ExprId> = iters.iter().map(|i| b.read(i.var)).collect();
    let [front @ .., p, x] = &at[..] else { return None };
    let (by, most) = (b.index(step), b.index(width - 1));
    let first = b.mul(*x, by);
    let element = b.add(first, *p);
    // What the last place of a row has beyond the row is not read.
    let element = if width % step == 0 { element } else { b.binary(BinaryOp::Min, element, most) };
    let from = [front, &[element]].concat();
    let from = b.load(operand.buf, from, Access::Proven);
    Some(Packed { buf, iters, at, from, read })
}

fn whole(b: &mut Builder, extent: &IntExpr) -> Iter {
    let extent = b.int_expr(extent);
    Iter { var: b.index_var("p"), extent, kind: IterKind::Spatial, order: LoopKind::Serial }
}
