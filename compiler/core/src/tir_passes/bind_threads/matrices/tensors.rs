//! Where the tiles of both factors are boxes of tensors: one thread has them copied, and whoever multiplies waits for the
//! phase of the stage's `mbarrier` in which they come.

use tenfold_ir::tir::tensor::{LINE, MAX_AXES};
use tenfold_ir::tir::{BufId, Expr, ExprId, Intrinsic, Mbarrier, PrimFunc, Scope, Stmt, Ty, expr_vars};
use tenfold_ir::{DType, arith::IntExpr};

use super::super::product::Product;
use super::super::sums::store;
use super::{Bind, Here, Loop, Narrow, Staged, Tiles};
use crate::tir_passes::kernel::constant;

/// Elements of a line of a box of halves: along the terms, or along rows or columns, which are more than one line's then.
const ACROSS: i64 = LINE / 2;

/// A factor as a tensor.
pub(super) struct Tensor {
    buf: BufId,
    rank: usize,
    /// The innermost axis first.
    axes: Vec<Axis>,
}

/// An axis of a factor.
struct Axis {
    follows: Follows,
    extent: i64,
    stride: i64,
}

/// What the index of an axis is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Follows {
    /// The terms.
    Terms,
    /// The factor's own rows or columns.
    Own,
    /// Neither: this value.
    Neither(ExprId),
}

/// Both factors as tensors, and what tells of their boxes: an element a stage.
pub(super) struct Boxes {
    tensors: [Tensor; 2],
    pub(super) full: BufId,
}

impl Tiles {
    /// Both factors as tensors, where each group has one tile: what tells of boxes is made ready once.
    pub(super) fn boxes(&self, bind: &mut Bind<'_>, groups: ExprId) -> Option<Boxes> {
        let once = constant(bind.b.func(), groups).is_some_and(|n| n <= bind.most);
        let of = |n: usize| tensor(bind.b.func(), &self.product, (n, self.narrow));
        let tensors = once.then(|| Some([of(0)?, of(1)?])).flatten()?;
        let stages = vec![IntExpr::from(self.tile.stages)];
        let full = bind.b.buffer("full", DType::U64, stages, Scope::SharedDyn);
        Some(Boxes { tensors, full })
    }

    /// The first thread makes the `mbarrier` of each stage ready, to be told once a phase.
    pub(super) fn ready(&self, bind: &mut Bind<'_>, here: &Here, boxes: &Boxes) -> Stmt {
        let all = (0..self.tile.stages).map(|n| {
            let (stage, one) = (bind.b.index(n), bind.b.index(1));
            tell(bind, boxes, stage, (Mbarrier::Init, one))
        });
        let all = Stmt::seq(all.collect::<Vec<_>>());
        bind.by_first(here.thread, all)
    }

    /// The first thread has the boxes of a step copied.
    pub(super) fn copies(
        &self,
        bind: &mut Bind<'_>,
        here: &Here,
        (staged, boxes): (&[Staged; 2], &Boxes),
        step: ExprId,
    ) -> Stmt {
        let stage = bind.rest(step, self.tile.stages);
        let elements: i64 = staged.iter().map(|staged| staged.width * staged.depth).sum();
        let bytes = bind.b.index(elements * self.narrow.dtypes[0].size_bytes() as i64);
        let mut all = vec![tell(bind, boxes, stage, (Mbarrier::Expect, bytes))];
        for (staged, tensor) in staged.iter().zip(&boxes.tensors) {
            let width = if staged.along_terms { staged.width } else { ACROSS };
            for n in 0..staged.width / width {
                let place = staged.stage(bind, step);
                let (more, own) = (bind.b.index(n * width * staged.depth), bind.b.index(n * width));
                let (place, own) = (bind.b.add(place, more), bind.b.add(staged.first, own));
                let term = bind.times(step, staged.depth);
                let told = bind.b.load(boxes.full, vec![stage], tenfold_ir::tir::Access::Proven);
                let lanes = width * staged.depth;
                let value = tensor.copy(bind, told, [(term, staged.depth), (own, width)], lanes);
                let to = bind.ramp(place, lanes);
                all.push(store(staged.shared, to, value));
            }
        }
        bind.by_first(here.thread, Stmt::seq(all))
    }

    /// Waits for the boxes of a step.
    pub(super) fn wait_for_boxes(&self, bind: &mut Bind<'_>, boxes: &Boxes, step: ExprId) -> Stmt {
        let (stage, phase) = (bind.rest(step, self.tile.stages), bind.quotient(step, self.tile.stages));
        let parity = bind.rest(phase, 2);
        tell(bind, boxes, stage, (Mbarrier::Wait, parity))
    }
}

/// Something is done with the `mbarrier` of a stage.
fn tell(bind: &mut Bind<'_>, boxes: &Boxes, stage: ExprId, (f, n): (Mbarrier, ExprId)) -> Stmt {
    let ty = Ty::scalar(DType::U64);
    let value = bind.b.raw(Expr::Call(Intrinsic::Mbarrier(f), vec![n], ty), ty);
    store(boxes.full, stage, value)
}

impl Tensor {
    /// The copy of a box of so many terms and own places, which begins there.
    fn copy(&self, bind: &mut Bind<'_>, told: ExprId, [terms, own]: [(ExprId, i64); 2], lanes: i64) -> ExprId {
        let zero = bind.b.index(0);
        let first = bind.b.load(self.buf, vec![zero; self.rank], tenfold_ir::tir::Access::Proven);
        let mut args = vec![told, first];
        for axis in &self.axes {
            let (at, width) = match axis.follows {
                Follows::Terms => terms,
                Follows::Own => own,
                Follows::Neither(at) => (at, 1),
            };
            args.push(at);
            args.extend([width, axis.extent, axis.stride].map(|n| bind.b.index(n)));
        }
        let ty = Ty { lanes: lanes as u16, ..bind.b.ty(first) };
        bind.b.raw(Expr::Call(Intrinsic::CopyTensor, args, ty), ty)
    }
}

/// A factor as a tensor: the element of a buffer whose axes are walked by the terms, by its own loops, and by neither, each
/// from its begin to its end; axes side by side that its own loops walk one after the other are one.
fn tensor(func: &PrimFunc, product: &Product, (n, narrow): (usize, Narrow)) -> Option<Tensor> {
    let own = if n == 0 { &product.rows } else { &product.cols };
    let Expr::Load { buf, index, .. } = func.exprs.get(narrow.factors[n]) else { return None };
    let data = func.buffers.get(buf.0 as usize).filter(|data| data.strides.is_none())?;
    let extents = data.shape.iter().map(|extent| extent.as_const()).collect::<Option<Vec<i64>>>()?;
    let mut axes: Vec<Axis> = Vec::new();
    let mut stride = 1i64;
    // How many of each are walked so far, the last one first.
    let (mut terms, mut places) = (0, 0);
    for (at, extent) in index.iter().zip(&extents).rev() {
        let walks = |loops: &[Loop], seen: usize| {
            let l = loops.len().checked_sub(seen + 1).and_then(|n| loops.get(n))?;
            let whole = *func.exprs.get(*at) == Expr::Var(l.var) && constant(func, l.extent) == Some(*extent);
            whole.then_some(())
        };
        let follows = if walks(&product.terms, terms).is_some() {
            terms += 1;
            Follows::Terms
        } else if walks(own, places).is_some() {
            places += 1;
            Follows::Own
        } else {
            let vars = expr_vars(func, *at);
            let apart = product.terms.iter().chain(own).all(|l| !vars.contains(&l.var));
            apart.then_some(Follows::Neither(*at))?
        };
        let neither = matches!(follows, Follows::Neither(_));
        match axes.last_mut() {
            Some(last) if last.follows == follows && !neither => last.extent = last.extent.checked_mul(*extent)?,
            _ if neither && *extent == 1 => {}
            _ => axes.push(Axis { follows, extent: *extent, stride }),
        }
        stride = stride.checked_mul(*extent)?;
    }
    let count = |of: Follows| axes.iter().filter(|axis| axis.follows == of).count();
    let once = count(Follows::Terms) == 1 && count(Follows::Own) == 1;
    let whole = terms == product.terms.len() && places == own.len() && once;
    let inner = axes.first().is_some_and(|axis| !matches!(axis.follows, Follows::Neither(_)));
    let size = data.dtype.size_bytes() as i64;
    let apart =
        axes.iter().skip(1).all(|axis| axis.stride.checked_mul(size).is_some_and(|n| n % 16 == 0 && n < 1 << 40));
    let fits = axes.len() <= MAX_AXES && axes.iter().all(|axis| (1..=1 << 31).contains(&axis.extent));
    (whole && inner && apart && fits).then_some(Tensor { buf: *buf, rank: index.len(), axes })
}
