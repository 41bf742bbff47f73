//! Shapes as values, checks of shapes, and extents that data decides.

use tenfold_ir::arith::{Fact, IntExpr};
use tenfold_ir::op::{BinaryOp, ElementOp, ReduceOp};
use tenfold_ir::relax::{Op, SliceAxis, SymKind, ValueId};
use tenfold_ir::{DType, Scalar};

use super::Grow;

impl Grow {
    pub(super) fn shape_step(&mut self) {
        let x = self.any();
        match self.random.below(4) {
            0 => self.extents_as_values(x),
            1 => self.match_shape(x),
            2 => self.shape_from_tensor(x),
            _ => self.assert(),
        }
    }

    fn extents_as_values(&mut self, x: ValueId) {
        let dims = self.new_shape(None);
        let op = if self.chance(2) { Op::ShapeOf } else { Op::Shape { dims } };
        let args = if op == Op::ShapeOf { vec![x] } else { Vec::new() };
        if let Ok(shape) = self.b.emit(op, &args) {
            self.push(Op::ShapeToTensor, &[shape]);
        }
    }

    /// Names the extents of a tensor anew; the others are checked.
    fn match_shape(&mut self, x: ValueId) {
        let extents = self.shape(x);
        let mut named = Vec::new();
        let mut shape = Vec::new();
        for extent in extents {
            if self.chance(2) {
                let most = self.most(std::slice::from_ref(&extent)).unwrap_or(1);
                let sym = self.sym("m", most);
                shape.push(IntExpr::var(sym.clone()));
                named.push(sym);
            } else {
                shape.push(extent);
            }
        }
        let Ok(out) = self.b.emit(Op::MatchShape { shape }, &[x]) else { return };
        for sym in named {
            self.declare(sym.clone(), SymKind::Bound(out));
            self.b.prover.assume_ge(&IntExpr::var(sym), &IntExpr::from(0));
        }
        self.keep(out);
    }

    /// A tensor of extents as a shape, which is matched.
    fn shape_from_tensor(&mut self, x: ValueId) {
        let Ok(shape) = self.b.emit(Op::ShapeOf, &[x]) else { return };
        let Ok(tensor) = self.b.emit(Op::ShapeToTensor, &[shape]) else { return };
        let Ok(again) = self.b.emit(Op::TensorToShape, &[tensor]) else { return };
        let shape = self.shape(x);
        if self.b.emit(Op::MatchShape { shape }, &[again]).is_ok() {
            self.keep(tensor);
        }
    }

    /// A check that holds.
    fn assert(&mut self) {
        let Some(dim) = self.dims.first().cloned() else { return };
        let most = self.most(std::slice::from_ref(&dim)).unwrap_or(0);
        let fact = Fact::le(&dim, &IntExpr::from(most + self.random.below(2) as i64));
        let text = "it is small".to_string();
        let _ = self.b.emit(Op::Assert { fact, text }, &[]);
    }

    /// An extent that a number in memory decides, and a value of that extent, which is reduced.
    pub(super) fn extent_of_data(&mut self) {
        let Some(count) = self.bounded_number() else { return };
        let sym = self.sym("k", 3);
        let Ok(out) = self.b.emit(Op::BindIndex(sym.clone()), &[count]) else { return };
        self.declare(sym.clone(), SymKind::Bound(out));
        let k = IntExpr::var(sym);
        self.b.prover.assume_ge(&k, &IntExpr::from(0));
        self.b.prover.assume_lt(&k, &IntExpr::from(4));
        let dtype = self.dtypes[0];
        match self.random.below(3) {
            0 => {
                self.push(Op::Arange { start: 1.into(), step: 1.into(), extent: k, dtype }, &[]);
            }
            1 => self.first_rows(&k),
            _ => {
                let Some(value) = self.any_with(|g, v| g.shape(v).is_empty()) else { return };
                self.push(Op::Full { shape: vec![k, 2.into()] }, &[value]);
            }
        }
        self.total();
    }

    /// The first `k` of an axis that has as many.
    fn first_rows(&mut self, k: &IntExpr) {
        let long = |g: &Self, v: ValueId| g.shape(v).first().and_then(IntExpr::as_const).is_some_and(|n| n >= 3);
        let Some(x) = self.any_with(long) else { return };
        let whole = |d: &IntExpr| SliceAxis { begin: IntExpr::from(0), extent: d.clone(), step: 1 };
        let mut axes: Vec<SliceAxis> = self.shape(x).iter().map(whole).collect();
        axes[0].extent = k.clone();
        self.push(Op::Slice { axes, drop: Vec::new() }, &[x]);
    }

    /// A scalar from 0 to 3.
    fn bounded_number(&mut self) -> Option<ValueId> {
        let numbers = |g: &Self, v: ValueId| g.dtype(v).is_int() && g.shape(v).is_empty();
        let x = match self.any_with(numbers) {
            Some(x) => x,
            None => {
                let x = self.any_with(|g, v| g.dtype(v).is_int())?;
                let axes = (0..self.shape(x).len()).collect();
                self.b.emit(Op::Reduce { op: ReduceOp::Max, axes, keepdims: false }, &[x]).ok()?
            }
        };
        let wide = self.b.element(ElementOp::Cast(DType::I64), &[x]).ok()?;
        let four = self.b.scalar(Scalar::int(DType::I64, 4));
        self.b.element(ElementOp::Binary(BinaryOp::RemEuclid), &[wide, four]).ok()
    }

    /// The newest value without its first axis, so that its extent does not show.
    fn total(&mut self) {
        let Some(x) = self.pool.last().copied().filter(|v| !self.shape(*v).is_empty()) else { return };
        if !self.dtype(x).is_bool() {
            self.push(Op::Reduce { op: ReduceOp::Sum, axes: vec![0], keepdims: false }, &[x]);
        }
    }
}
