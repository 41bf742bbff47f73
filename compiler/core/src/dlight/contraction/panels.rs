//! Constant operands in panels: for each term of the sum, as many neighbours as a tile has columns.
//!
//! `w[k, j]` lies as `w[j / width, k, j % width]`, so that a tile reads one piece of memory from its beginning to its
//! end. What the last panel has beyond the operand is 0, and read by nobody.

use std::collections::BTreeMap;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::relax::Part;
use tenfold_ir::tir::{BufId, Builder, Expr, ExprId, IterKind, Stmt, VarId};

use super::choice::{Choice, extent};
use super::pack::read_instead;
use super::{Contraction, Staged};
use crate::fuse::access::{Axis, accesses, axes};

/// The axis of an operand for each iterator that walks through it, if each axis is walked by one, from end to end, and
/// nobody else reads the operand.
pub(super) fn in_panels(
    staged: &Staged,
    found: &Contraction,
    n: usize,
    column: VarId,
) -> Option<BTreeMap<VarId, usize>> {
    let (func, operand) = (staged.b.func(), &found.operands[n]);
    let Expr::Load { buf, index, .. } = func.exprs.get(operand.load) else { return None };
    let stage = &staged.stages[found.stage];
    let data = staged.b.buf(*buf);
    let mut walked = BTreeMap::new();
    let elements = elements(found);
    for (axis, at) in axes(func, index).into_iter().enumerate().take(index.len() - usize::from(elements > 1)) {
        let whole = data.shape[axis].as_const()?;
        match at {
            Axis::Iter(v, 0) if extent(staged, stage, v) == Some(whole) && walked.insert(v, axis).is_none() => {}
            Axis::Fixed(0) if whole == 1 => {}
            Axis::Iter(..) | Axis::Fixed(_) | Axis::Other => return None,
        }
    }
    let reads = staged.stages.iter().flat_map(|s| accesses(func, s)).filter(|a| a.buf == *buf).count();
    (data.strides.is_none() && reads == elements && walked.contains_key(&column)).then_some(walked)
}

/// Elements of a vector of terms, which are the last axis of an operand; one where terms are elements.
fn elements(found: &Contraction) -> usize {
    found.dot.filter(|dot| dot.is_wide()).map_or(1, |dot| dot.terms() as usize)
}

/// How the operand lies in panels that are as wide as the tile; nothing where it lies so already.
pub(super) fn laid(staged: &Staged, found: &Contraction, n: usize, choice: &Choice) -> Option<Vec<Part>> {
    let walked = in_panels(staged, found, n, choice.column)?;
    let stage = &staged.stages[found.stage];
    let column = *walked.get(&choice.column)?;
    let width = choice.tile.width();
    let of = |kind: IterKind| {
        let own = stage.iters.iter().filter(move |i| i.kind == kind && i.var != choice.column);
        own.filter_map(|i| walked.get(&i.var)).map(|axis| Part::Whole(*axis))
    };
    let mut parts: Vec<Part> = of(IterKind::Spatial).collect();
    let cut = extent(staged, stage, choice.column)? > width;
    if cut {
        parts.push(Part::Outer(column, width));
    }
    parts.extend(of(IterKind::Reduce));
    parts.push(if cut { Part::Inner(column, width) } else { Part::Whole(column) });
    if elements(found) > 1 {
        parts.push(Part::Whole(staged.b.buf(found.operands[n].buf).shape.len() - 1));
    }
    (cut || !parts.iter().map(|p| p.axis()).is_sorted()).then_some(parts)
}

/// Lets the contraction read the operand as it lies.
pub(super) fn read(staged: &mut Staged, found: &Contraction, n: usize, parts: &[Part]) {
    let operand = &found.operands[n];
    let buf = operand.buf;
    let shape = shape(&staged.b.buf(buf).shape, parts);
    staged.b.buf_mut(buf).shape = shape;
    for load in loads(staged, found.stage, buf) {
        let Expr::Load { index, .. } = staged.b.func().exprs.get(load).clone() else { continue };
        let at = places(&mut staged.b, &index, parts);
        read_instead(staged, found.stage, load, (buf, at));
    }
}

/// What loads elements of a buffer.
fn loads(staged: &Staged, stage: usize, buf: BufId) -> Vec<ExprId> {
    let func = staged.b.func();
    let Stmt::Store { value, .. } = &staged.stages[stage].body else { return Vec::new() };
    let of = |e: &ExprId| matches!(func.exprs.get(*e), Expr::Load { buf: found, .. } if *found == buf);
    func.reachable([*value]).into_iter().filter(of).collect()
}

/// Where an element lies in parts.
pub(super) fn places(b: &mut Builder, index: &[ExprId], parts: &[Part]) -> Vec<ExprId> {
    let at = |part: &Part| match *part {
        Part::Whole(axis) => index[axis],
        Part::Outer(axis, width) => divided(b, BinaryOp::DivEuclid, index[axis], width),
        Part::Inner(axis, width) => divided(b, BinaryOp::RemEuclid, index[axis], width),
    };
    parts.iter().map(at).collect()
}

fn divided(b: &mut Builder, op: BinaryOp, index: ExprId, by: i64) -> ExprId {
    let by = b.index(by);
    b.binary(op, index, by)
}

/// Extents of parts; the last panel counts as whole.
pub(super) fn shape(plain: &[IntExpr], parts: &[Part]) -> Vec<IntExpr> {
    let of = |part: &Part| match *part {
        Part::Whole(axis) => plain[axis].clone(),
        Part::Outer(axis, width) => (&plain[axis] + (width - 1)).floor_div(&IntExpr::from(width)),
        Part::Inner(_, width) => IntExpr::from(width),
    };
    parts.iter().map(of).collect()
}
