//! What a convolution by windows of 3 by 3 is, wherever its axes stand.

use std::collections::BTreeMap;

use tenfold_ir::DType;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{BufId, Builder, Expr, ExprId, IterKind, LoopKind, PrimFunc, Stmt, VarId, Viewer, substitution};

use crate::dlight::emit::{Places, at};
use crate::dlight::kernel::{Contraction, Operand, contraction, epilogue};
use crate::dlight::walk::{step, straight};
use crate::fuse::access::accesses;
use crate::fuse::stage::{Iter, Stage, Staged};

/// Elements of a window along each side.
pub(super) const TAPS: i64 = 3;

/// An iterator and its extent.
#[derive(Clone, Copy, Debug)]
pub(in crate::dlight) struct Axis {
    pub var: VarId,
    pub extent: i64,
}

/// An axis that windows move along, one element at a time.
#[derive(Clone, Copy)]
pub(super) struct Slide {
    /// Over results.
    pub results: Axis,
    /// Over the elements of a window.
    pub tap: VarId,
}

/// A convolution, over the iterators of its results.
pub(super) struct Convolution {
    pub dtype: DType,
    /// Images.
    pub outer: Vec<Axis>,
    /// Along the rows of an image, and within one.
    pub slides: [Slide; 2],
    /// Channels of the results.
    pub channel: Axis,
    /// Channels of the data, the last of which are neighbours.
    pub terms: Vec<Axis>,
    /// An element of the data.
    pub data: ExprId,
    /// A weight.
    pub weight: ExprId,
    /// What its sums begin and end with.
    pub ends: Ends,
}

impl Convolution {
    /// How many images there are.
    pub(super) fn images(&self) -> i64 {
        self.outer.iter().map(|a| a.extent).product()
    }

    /// Channels of the data in a turn of the first of their axes.
    pub(super) fn unit(&self) -> i64 {
        self.terms.iter().skip(1).map(|t| t.extent).product()
    }
}

/// What sums of products begin and end with, and what runs around them.
pub(in crate::dlight) struct Ends {
    /// What is added to the sum.
    pub start: ExprId,
    /// What sums are stored into where nothing follows them element by element: loads of it stand for the sum.
    pub sum: BufId,
    /// Where results are written, at which index, and what, made of the sum.
    pub out: (BufId, Vec<ExprId>, ExprId),
    /// What runs before, and after.
    pub around: [Vec<Stage>; 2],
}

impl Ends {
    /// Those of a kernel's sums; nothing where neighbours along an iterator are not made and written side by side.
    pub(in crate::dlight) fn of(staged: &mut Staged, found: &Contraction, along: VarId) -> Option<Ends> {
        let (start, sum) = start(staged.b.func(), &staged.stages[found.stage])?;
        let (out, end) = followed(staged, found, sum)?;
        let func = staged.b.func();
        let vectors = [start, out.2].into_iter().all(|id| straight(func, id, along));
        let around = around(staged, found, end, out.0)?;
        let neighbours = side_by_side(staged, &out, along);
        (vectors && neighbours).then_some(Ends { start, sum: found.acc, out, around })
    }

    /// Writes a result, made of its sum.
    pub(in crate::dlight) fn write(&self, b: &mut Builder, places: &Places, sum: ExprId) {
        let start = at(b, self.start, places, None);
        let sum = b.add(sum, start);
        let (out, index, value) = &self.out;
        let value = at(b, *value, places, Some((self.sum, sum)));
        let index = index.iter().map(|i| at(b, *i, places, None)).collect();
        b.store(*out, index, value);
    }
}

/// The convolution that a kernel is, if it is no other one.
pub(super) fn convolution(staged: &mut Staged) -> Option<Convolution> {
    if staged.b.func().strict {
        return None;
    }
    let found = contraction(staged)?;
    let stage = staged.stages[found.stage].clone();
    let func = staged.b.func();
    let dtype = func.buffers[found.acc.0 as usize].dtype;
    let [data, weight] = operands(staged, &found, &stage)?;
    let of_kind = |kind: IterKind| axes_of_kind(func, &stage, kind);
    let (mut spatial, mut terms) = (of_kind(IterKind::Spatial)?, of_kind(IterKind::Reduce)?);
    let slides = slides(&mut spatial, &mut terms, &data, &weight)?;
    let at = spatial.iter().position(|a| data.ignores(a.var) && weight.along(a.var))?;
    let channel = spatial.remove(at);
    let images = spatial.iter().all(|a| weight.ignores(a.var));
    let summed = terms.iter().all(|a| !data.ignores(a.var) && !weight.ignores(a.var));
    if dtype != DType::F32 || !images || !summed || !terms.last().is_some_and(|last| data.along(last.var)) {
        return None;
    }
    let ends = Ends::of(staged, &found, channel.var)?;
    Some(Convolution { dtype, outer: spatial, slides, channel, terms, data: data.load, weight: weight.load, ends })
}

/// The axes of a kind, if their extents are numbers.
pub(in crate::dlight) fn axes_of_kind(func: &PrimFunc, stage: &Stage, kind: IterKind) -> Option<Vec<Axis>> {
    let axis = |iter: &Iter| {
        let extent = Viewer::new(func).int(iter.extent).as_const().filter(|n| *n > 0)?;
        Some(Axis { var: iter.var, extent })
    };
    stage.iters.iter().filter(|i| i.kind == kind).map(axis).collect()
}

/// The data and the weights, if their product is added as it is.
pub(in crate::dlight) fn operands(staged: &Staged, found: &Contraction, stage: &Stage) -> Option<[Operand; 2]> {
    let func = staged.b.func();
    let Stmt::Store { value, .. } = &stage.body else { return None };
    let Expr::Binary(BinaryOp::Add, _, term) = func.exprs.get(*value) else { return None };
    let Expr::Binary(BinaryOp::Mul, x, y) = func.exprs.get(*term) else { return None };
    let operand = |id: ExprId| found.operands.iter().find(|o| o.load == id).cloned();
    let (x, y) = (operand(*x)?, operand(*y)?);
    // Images move the data alone.
    let moves = |o: &Operand| stage.iters.iter().filter(|i| i.kind == IterKind::Spatial && !o.ignores(i.var)).count();
    Some(if moves(&x) >= moves(&y) { [x, y] } else { [y, x] })
}

/// The axes that windows move along, which are taken out of those of results and terms: the one with more elements
/// between neighbours first.
fn slides(spatial: &mut Vec<Axis>, terms: &mut Vec<Axis>, data: &Operand, weight: &Operand) -> Option<[Slide; 2]> {
    let mut all = Vec::new();
    for results in spatial.clone() {
        let step = data.step(results.var).filter(|step| *step > 0);
        let mut taps = terms.iter().filter(|t| t.extent == TAPS && step.is_some() && data.step(t.var) == step);
        let Some(tap) = taps.next().map(|t| t.var).filter(|_| weight.ignores(results.var)) else { continue };
        if taps.next().is_some() || weight.ignores(tap) {
            return None;
        }
        all.push((step, Slide { results, tap }));
    }
    all.sort_by_key(|(step, _)| std::cmp::Reverse(*step));
    let [(_, rows), (_, columns)] = <[_; 2]>::try_from(all).ok()?;
    let slides = [rows, columns];
    spatial.retain(|a| slides.iter().all(|s| s.results.var != a.var));
    terms.retain(|a| slides.iter().all(|s| s.tap != a.var));
    Some(slides)
}

/// What the sum of a stage starts at, and its own element.
fn start(func: &PrimFunc, stage: &Stage) -> Option<(ExprId, ExprId)> {
    let (Some(Stmt::Store { value: start, .. }), Stmt::Store { value, .. }) = (&stage.init, &stage.body) else {
        return None;
    };
    let Expr::Binary(BinaryOp::Add, old, _) = func.exprs.get(*value) else { return None };
    Some((*start, *old))
}

/// Where results are written.
type Written = (BufId, Vec<ExprId>, ExprId);

/// Where results are written at last, and behind which stage: that of the sum, or one that follows it.
fn followed(staged: &mut Staged, found: &Contraction, sum: ExprId) -> Option<(Written, usize)> {
    let next = epilogue(staged, found).filter(|(n, _)| *n == found.stage + 1);
    let Some((n, links)) = next else {
        let Stmt::Store { buf, index, .. } = &staged.stages[found.stage].body else { return None };
        return Some(((*buf, index.clone(), sum), found.stage));
    };
    let Stmt::Store { buf, index, value, .. } = staged.stages[n].body.clone() else { return None };
    let b = &mut staged.b;
    let to: BTreeMap<VarId, ExprId> = links.into_iter().map(|(own, theirs)| (theirs, b.read(own))).collect();
    let mut map = substitution(&to);
    let index = index.into_iter().map(|i| map.expr(b, i)).collect();
    let value = map.expr(b, value);
    Some(((buf, index, value), n))
}

/// The stages before and after, if each of those before makes one element at a time, and none has to do with the sum but
/// by what results are written into.
fn around(staged: &Staged, found: &Contraction, end: usize, out: BufId) -> Option<[Vec<Stage>; 2]> {
    let func = staged.b.func();
    let (before, after) = (&staged.stages[..found.stage], &staged.stages[end + 1..]);
    let other = |s: &Stage| accesses(func, s).iter().all(|a| a.buf != found.acc);
    let fit = before.iter().all(is_plain) && before.iter().all(other) && (out == found.acc || after.iter().all(other));
    fit.then(|| [before.to_vec(), after.to_vec()])
}

/// Whether a stage makes one element at a time.
pub(super) fn is_plain(stage: &Stage) -> bool {
    let spatial = stage.iters.iter().all(|i| i.kind == IterKind::Spatial && i.order == LoopKind::Serial);
    stage.init.is_none() && spatial && matches!(stage.body, Stmt::Store { .. })
}

/// Whether neighbours along an iterator are written side by side.
fn side_by_side(staged: &Staged, (buf, index, _): &Written, along: VarId) -> bool {
    let viewer = &mut Viewer::new(staged.b.func());
    let sym = viewer.sym(along);
    step(viewer, *buf, index, &sym) == Some(1)
}
