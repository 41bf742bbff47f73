//! Integer expressions in types and operators: to read all of them, and to replace each.

use super::{Op, SliceAxis, TensorType, Type, ValueData};
use crate::arith::IntExpr;

impl TensorType {
    /// The type with each extent replaced.
    pub fn map_exprs(&self, f: &mut impl FnMut(&IntExpr) -> IntExpr) -> TensorType {
        TensorType { dtype: self.dtype, shape: mapped(&self.shape, f) }
    }
}

impl Type {
    /// The type with each extent replaced.
    pub fn map_exprs(&self, f: &mut impl FnMut(&IntExpr) -> IntExpr) -> Type {
        match self {
            Type::Tensor(tensor) => Type::Tensor(tensor.map_exprs(f)),
            Type::Tuple(items) => Type::Tuple(items.iter().map(|item| item.map_exprs(f)).collect()),
            Type::Shape(rank) => Type::Shape(*rank),
        }
    }

    /// The tensor type; `None` of a tuple or shape.
    pub fn tensor(&self) -> Option<&TensorType> {
        match self {
            Type::Tensor(tensor) => Some(tensor),
            Type::Tuple(_) | Type::Shape(_) => None,
        }
    }
}

impl ValueData {
    /// The value with each extent and the ends of its range replaced.
    pub fn map_exprs(&self, f: &mut impl FnMut(&IntExpr) -> IntExpr) -> ValueData {
        let range = self.range.as_ref().map(|(lo, hi)| (f(lo), f(hi)));
        ValueData { ty: self.ty.map_exprs(f), range, ..self.clone() }
    }
}

fn mapped(exprs: &[IntExpr], f: &mut impl FnMut(&IntExpr) -> IntExpr) -> Vec<IntExpr> {
    exprs.iter().map(f).collect()
}

fn axes(axes: &[SliceAxis], f: &mut impl FnMut(&IntExpr) -> IntExpr) -> Vec<SliceAxis> {
    axes.iter().map(|a| SliceAxis { begin: f(&a.begin), extent: f(&a.extent), step: a.step }).collect()
}

impl Op {
    /// The operator with each integer expression of its attributes replaced.
    pub fn map_exprs(&self, f: &mut impl FnMut(&IntExpr) -> IntExpr) -> Op {
        let mut op = self.clone();
        match &mut op {
            Op::IndexValue { expr, .. } => *expr = f(expr),
            Op::Reshape { shape } | Op::BroadcastTo { shape } | Op::Full { shape } | Op::MatchShape { shape } => {
                *shape = mapped(shape, f);
            }
            Op::Shape { dims } => *dims = mapped(dims, f),
            Op::Slice { axes: parts, .. } | Op::SliceUpdate { axes: parts, .. } => *parts = axes(parts, f),
            Op::Pad { before, after, .. } => (*before, *after) = (mapped(before, f), mapped(after, f)),
            Op::Arange { start, step, extent, .. } => (*start, *step, *extent) = (f(start), f(step), f(extent)),
            Op::For { begin, extent, .. } => (*begin, *extent) = (f(begin), f(extent)),
            Op::CallTir { syms, results, .. } => {
                *syms = mapped(syms, f);
                *results = results.iter().map(|ty| ty.map_exprs(f)).collect();
            }
            Op::CallDps { results, .. } => *results = results.iter().map(|ty| ty.map_exprs(f)).collect(),
            Op::CallFn { syms, result, .. } => (*syms, *result) = (mapped(syms, f), result.map_exprs(f)),
            Op::Later { result, .. } => *result = result.map_exprs(f),
            Op::Assert { fact, .. } => *fact = fact.map(f),
            Op::Const(_)
            | Op::Scalar(_)
            | Op::Element(_)
            | Op::Reduce { .. }
            | Op::ArgReduce { .. }
            | Op::MatMul
            | Op::Softmax { .. }
            | Op::LayerNorm { .. }
            | Op::BatchNorm { .. }
            | Op::Transpose { .. }
            | Op::Concat { .. }
            | Op::Conv { .. }
            | Op::Pool { .. }
            | Op::CallPacked { .. }
            | Op::If
            | Op::While
            | Op::ShapeOf
            | Op::ShapeToTensor
            | Op::TensorToShape
            | Op::Tuple
            | Op::TupleGet(_)
            | Op::BindIndex(_)
            | Op::StoreState { .. } => {}
        }
        op
    }

    /// The integer expressions of its attributes, extents of the results of calls included.
    pub fn exprs(&self) -> Vec<IntExpr> {
        let mut all = Vec::new();
        self.map_exprs(&mut |expr| {
            all.push(expr.clone());
            expr.clone()
        });
        all
    }
}
