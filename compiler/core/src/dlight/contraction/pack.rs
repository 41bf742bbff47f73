//! Operands laid out anew before the contraction: so that one has neighbours along the columns, or lies in panels, and so
//! that rows do not share sets of a cache.

use std::collections::BTreeMap;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::relax::Part;
use tenfold_ir::tir::{Access, BufId, Builder, Expr, ExprId, ExprMap, IterKind, LoopKind, Scope, Stmt, Viewer};

use super::choice::{Choice, Packing};
use super::{Contraction, Staged, panels};
use crate::dlight::cut::part;
use crate::dlight::kernel::{Operand, contraction, viewer};
use crate::dlight::machine::Machine;
use crate::dlight::movement::{Tiles, in_tiles};
use crate::fuse::stage::{Iter, Stage};
use crate::tune::Asked;

/// What is copied where, and how the contraction reads it there.
struct Packed {
    buf: BufId,
    copies: Vec<Copy>,
    /// The contraction's index of the new buffer.
    read: Vec<ExprId>,
}

/// A part of what is copied.
struct Copy {
    iters: Vec<Iter>,
    /// Its index of the new buffer.
    at: Vec<ExprId>,
    /// What it copies.
    from: ExprId,
}

/// Adds the copies that the choice asks for, and lets the contraction read them. Those that go from rows to columns run in
/// tiles.
pub(super) fn pack(staged: &mut Staged, found: &Contraction, choice: &Choice, machine: &Machine) -> Vec<Tiles> {
    let tiles = along_columns(staged, found, choice, machine);
    if let (Some(buf), Some(found)) = (choice.padded, contraction(staged)) {
        let rows = found.operands.iter().find(|o| o.buf == buf);
        if let Some((operand, packed)) = rows.and_then(|o| Some((o, with_room(staged, o)?))) {
            insert(staged, found.stage, operand, packed, machine);
        }
    }
    tiles
}

fn along_columns(staged: &mut Staged, found: &Contraction, choice: &Choice, machine: &Machine) -> Vec<Tiles> {
    let Some((n, packing)) = choice.packed else { return Vec::new() };
    let operand = &found.operands[n];
    let source = staged.stages[found.stage].clone();
    let packed = match packing {
        Packing::Iterators => Some(by_iterators(staged, &source, operand, choice)),
        Packing::Phases(step) => in_phases(staged, &source, operand, choice, step),
        Packing::Panels => None,
        Packing::CopiedPanels => in_panels(staged, found, n, choice),
    };
    packed.map_or(Vec::new(), |packed| insert(staged, found.stage, operand, packed, machine))
}

/// Lets the contraction read what was copied of an operand, and the copy come first.
fn insert(staged: &mut Staged, stage: usize, operand: &Operand, packed: Packed, machine: &Machine) -> Vec<Tiles> {
    let source = staged.stages[stage].clone();
    let of = staged.b.buf(operand.buf).name.clone();
    staged.allocs.push(packed.buf);
    read_instead(staged, stage, operand.load, (packed.buf, packed.read));
    let (mut copies, mut tiles) = (Vec::new(), Vec::new());
    for (n, copy) in packed.copies.into_iter().enumerate() {
        let b = &mut staged.b;
        let body = Stmt::Store { buf: packed.buf, index: copy.at, value: copy.from, access: Access::Proven };
        let plain = |i: Iter| Iter { kind: IterKind::Spatial, order: LoopKind::Serial, ..i };
        let iters = copy.iters.into_iter().map(plain).collect();
        let name =
            if n == 0 { format!("{}_{of}_packed", source.name) } else { format!("{}_{of}_packed_{n}", source.name) };
        let copy = Stage { name, iters, init: None, body, loc: source.loc };
        let fresh = part(b, &copy, &copy.name, &BTreeMap::new(), &BTreeMap::new());
        match in_tiles(b, fresh.clone(), machine, &Asked::nobody()) {
            Some((parts, of)) => {
                copies.extend(parts);
                tiles.push(of);
            }
            None => copies.push(fresh),
        }
    }
    staged.stages.splice(stage..stage, copies);
    tiles
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
    Packed { buf, copies: vec![Copy { iters, at: at.clone(), from: operand.load }], read: at }
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
    Some(Packed { buf, copies: vec![Copy { iters, at, from }], read })
}

/// The same rows, a cache line apart.
fn with_room(staged: &mut Staged, operand: &Operand) -> Option<Packed> {
    const LINE: i64 = 64;
    let Expr::Load { buf: source, index, .. } = staged.b.func().exprs.get(operand.load).clone() else { return None };
    let data = staged.b.buf(source);
    let (plain, line) = (data.shape.clone(), LINE / data.dtype.size_bytes() as i64);
    let mut shape = plain.clone();
    let width = shape.pop()?.as_const()?;
    shape.push((width + line).into());
    let b = &mut staged.b;
    let buf = buffer(b, source, shape);
    let iters: Vec<Iter> = plain.iter().map(|extent| whole(b, extent)).collect();
    let at: Vec<ExprId> = iters.iter().map(|i| b.read(i.var)).collect();
    let from = b.load(source, at.clone(), Access::Proven);
    Some(Packed { buf, copies: vec![Copy { iters, at, from }], read: index })
}

/// Panels as wide as the tile, term by term. The last one is copied as far as the operand goes.
fn in_panels(staged: &mut Staged, found: &Contraction, n: usize, choice: &Choice) -> Option<Packed> {
    let parts = panels::laid(staged, found, n, choice)?;
    let operand = &found.operands[n];
    let Expr::Load { buf: source, index, .. } = staged.b.func().exprs.get(operand.load).clone() else { return None };
    let plain = staged.b.buf(source).shape.clone();
    let cut = parts.iter().find_map(|part| match *part {
        Part::Outer(axis, width) => Some((plain[axis].as_const(), width)),
        Part::Whole(_) | Part::Inner(..) => None,
    });
    // What is not cut is one panel.
    let (extent, width) = cut.unwrap_or((Some(1), 1));
    let extent = extent?;
    let whole = Panels { first: 0, count: extent / width, width };
    let rest = Panels { first: extent / width, count: 1, width: extent % width };
    let buf = buffer(&mut staged.b, source, panels::shape(&plain, &parts));
    let some = [whole, rest].into_iter().filter(|p| p.count > 0 && p.width > 0);
    let copies = some.map(|panels| copy(&mut staged.b, source, &plain, &parts, &panels)).collect();
    let read = panels::places(&mut staged.b, &index, &parts);
    Some(Packed { buf, copies, read })
}

/// Panels that are copied by one stage.
struct Panels {
    first: i64,
    count: i64,
    width: i64,
}

/// The copy of some panels.
fn copy(b: &mut Builder, source: BufId, plain: &[IntExpr], parts: &[Part], panels: &Panels) -> Copy {
    let extent = |part: &Part| match *part {
        Part::Whole(axis) => plain[axis].clone(),
        Part::Outer(..) => panels.count.into(),
        Part::Inner(..) => panels.width.into(),
    };
    let iters: Vec<Iter> = parts.iter().map(|part| whole(b, &extent(part))).collect();
    let mut at: Vec<ExprId> = iters.iter().map(|i| b.read(i.var)).collect();
    let mut from = vec![b.index(0); plain.len()];
    for (part, own) in parts.iter().zip(&mut at) {
        match *part {
            Part::Whole(axis) => from[axis] = *own,
            Part::Outer(axis, width) => {
                if panels.first > 0 {
                    let first = b.index(panels.first);
                    *own = b.add(first, *own);
                }
                let width = b.index(width);
                from[axis] = b.mul(*own, width);
            }
            Part::Inner(axis, _) => from[axis] = b.add(from[axis], *own),
        }
    }
    let from = b.load(source, from, Access::Proven);
    Copy { iters, at, from }
}

fn whole(b: &mut Builder, extent: &IntExpr) -> Iter {
    let extent = b.int_expr(extent);
    Iter { var: b.index_var("p"), extent, kind: IterKind::Spatial, order: LoopKind::Serial }
}
