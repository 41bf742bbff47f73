//! Contractions in groups: an iterator of which an index has the quotient becomes two, one over groups and one within them.
//!
//! The channels of a convolution in groups read the data of their own group: how far that is from one channel to the next is
//! no number, and no rule could tile them. Groups are an axis as images are, and within one there is nothing special.

use std::collections::BTreeMap;

use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{Access, BufId, Builder, Expr, ExprId, ExprMap, IterKind, PrimFunc, Scope, Stmt, VarId, Viewer};

use super::cut::{buffer_like, part};
use super::emit::{plus, times};
use super::kernel::{Contraction, contraction, epilogue};
use super::machine::Machine;
use crate::fuse::access::{Axis, axes};
use crate::fuse::loops::redirected;
use crate::fuse::stage::{Iter, Stage, Staged};

/// The kernel with groups on an axis of their own, if it has some. Not where neighbours of a group are fewer than a vector
/// has: vectors go over several groups then.
pub(super) fn apart(staged: Staged, machine: &Machine) -> Staged {
    let groups = contraction(&staged).and_then(|found| Some((of_result(&staged, &found)?, found)));
    let Some(((var, of_group), found)) = groups else { return staged };
    let lanes = machine.vector_bytes / staged.b.buf(found.acc).dtype.size_bytes() as i64;
    if found.result.along(var) && of_group < lanes {
        return staged;
    }
    let mut split = staged.clone();
    let found = if split.b.buf(found.acc).scope == Scope::Param {
        copied(&mut split, &found);
        contraction(&split)
    } else {
        Some(found)
    };
    found.and_then(|found| in_two(&mut split, &found, var, of_group)).map_or(staged, |()| split)
}

/// The iterator of the result that groups are made of, and how many values of it are one.
fn of_result(staged: &Staged, found: &Contraction) -> Option<(VarId, i64)> {
    let func = staged.b.func();
    let stage = &staged.stages[found.stage];
    let all = func.reachable(stage.body.exprs());
    // What has the remainder, too, lies in panels.
    let remainders: Vec<_> =
        all.iter().filter_map(|id| divided(func, *id, &[BinaryOp::Rem, BinaryOp::RemEuclid])).collect();
    let quotients = all.iter().filter_map(|id| divided(func, *id, &[BinaryOp::Div, BinaryOp::DivEuclid]));
    let mut groups = quotients.filter(|(var, n)| {
        let iter = stage.iters.iter().find(|i| i.var == *var && i.kind == IterKind::Spatial);
        let extent = iter.and_then(|i| Viewer::new(func).int(i.extent).as_const());
        let whole = extent.is_some_and(|extent| *n > 1 && extent > *n && extent % n == 0);
        whole && !remainders.contains(&(*var, *n))
    });
    let first = groups.next()?;
    groups.all(|other| other == first).then_some(first)
}

/// A variable and what it is divided by, by one of these operations.
fn divided(func: &PrimFunc, id: ExprId, by: &[BinaryOp]) -> Option<(VarId, i64)> {
    let Expr::Binary(op, x, n) = func.exprs.get(id) else { return None };
    let Expr::Var(var) = func.exprs.get(*x) else { return None };
    by.contains(op).then_some((*var, func.literal(*n)?))
}

/// Sums are made in memory of their own, and copied to where they are wanted.
fn copied(staged: &mut Staged, found: &Contraction) {
    let stage = staged.stages[found.stage].clone();
    let Stmt::Store { buf, index, .. } = stage.body.clone() else { return };
    let own = buffer_like(&mut staged.b, buf);
    staged.b.buf_mut(own).scope = Scope::Global;
    let mut moved = |stmt: &Stmt| {
        redirected(&mut staged.b, stmt.clone(), &|_, of, index| (of == buf).then(|| (own, index.to_vec())))
    };
    let (init, body) = (stage.init.as_ref().map(&mut moved), moved(&stage.body));
    let value = staged.b.load(own, index.clone(), Access::Proven);
    let copy = Stage {
        name: staged.b.fresh_name(&format!("{}_copy", stage.name)),
        iters: stage.iters.iter().filter(|i| i.kind == IterKind::Spatial).cloned().collect(),
        init: None,
        body: Stmt::Store { buf, index, value, access: Access::Proven },
        loc: stage.loc,
    };
    let copy = part(&mut staged.b, &copy, &copy.name, &BTreeMap::new(), &BTreeMap::new());
    staged.allocs.push(own);
    staged.stages[found.stage] = Stage { init, body, ..stage };
    staged.stages.insert(found.stage + 1, copy);
}

/// The iterator as two in the sum and in what follows it element by element, and the axis of what lies between.
fn in_two(staged: &mut Staged, found: &Contraction, var: VarId, of_group: i64) -> Option<()> {
    let (next, links) = epilogue(staged, found)?;
    let Stmt::Store { index, .. } = &staged.stages[found.stage].body else { return None };
    let axis = axes(staged.b.func(), index).iter().position(|axis| *axis == Axis::Iter(var, 0))?;
    let mut data = staged.b.buf(found.acc).clone();
    let groups = data.shape[axis].floor_div(&of_group.into());
    data.shape.splice(axis..=axis, [groups, of_group.into()]);
    let split = staged.b.buffer(&data.name, data.dtype, data.shape, data.scope);
    for (n, var) in [(found.stage, var), (next, *links.get(&var)?)] {
        let stage = staged.stages[n].clone();
        staged.stages[n] = Split { var, of_group, from: found.acc, to: split, axis }.stage(&mut staged.b, stage);
    }
    staged.allocs.iter_mut().filter(|buf| **buf == found.acc).for_each(|buf| *buf = split);
    Some(())
}

/// How an iterator becomes two.
struct Split {
    var: VarId,
    of_group: i64,
    /// A buffer, the other that stands for it, and which axis has become two.
    from: BufId,
    to: BufId,
    axis: usize,
}

impl Split {
    fn stage(&self, b: &mut Builder, stage: Stage) -> Stage {
        let name = b.sym(self.var).to_string();
        let [group, own] = [format!("{name}_group"), name].map(|name| b.index_var(&name));
        let (group_at, own_at) = (b.read(group), b.read(own));
        let first = times(b, group_at, self.of_group);
        let whole = plus(b, first, own_at);
        let mut places = ExprMap::new(|b: &mut Builder, id: ExprId| match b.func().exprs.get(id) {
            Expr::Var(v) if *v == self.var => whole,
            Expr::Binary(op, x, n) if *x == whole && b.func().literal(*n) == Some(self.of_group) => match op {
                BinaryOp::Div | BinaryOp::DivEuclid => group_at,
                BinaryOp::Rem | BinaryOp::RemEuclid => own_at,
                _ => id,
            },
            _ => id,
        });
        let mut moved = |stmt: &Stmt| {
            let stmt = places.stmt(b, stmt.clone());
            redirected(b, stmt, &|_, of, index| {
                (of == self.from).then(|| {
                    let mut index = index.to_vec();
                    index.splice(self.axis..=self.axis, [group_at, own_at]);
                    (self.to, index)
                })
            })
        };
        let (init, body) = (stage.init.as_ref().map(&mut moved), moved(&stage.body));
        let extent = |iter: &Iter| Viewer::new(b.func()).int(iter.extent).as_const().unwrap_or(1);
        let extents = stage.iters.iter().find(|i| i.var == self.var).map(extent).unwrap_or(1);
        let extents = [b.index(extents / self.of_group), b.index(self.of_group)];
        let iters = stage.iters.iter().flat_map(|iter| match iter.var == self.var {
            true => [group, own]
                .into_iter()
                .zip(extents)
                .map(|(var, extent)| Iter { var, extent, ..iter.clone() })
                .collect(),
            false => vec![iter.clone()],
        });
        Stage { iters: iters.collect(), init, body, ..stage.clone() }
    }
}
