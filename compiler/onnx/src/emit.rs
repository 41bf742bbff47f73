//! What converters build with: the operators of the language and of relax, on values of the walk.

use std::collections::BTreeMap;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, CmpOp, ElementOp, ReduceOp, UnaryOp};
use tenfold_ir::ops::{self, Arg, AttrValue, OpCall};
use tenfold_ir::relax::{Op, SliceAxis, TensorType, Type, ValueId};
use tenfold_ir::{DType, Scalar};

use crate::call::Call;
use crate::elem::Elem;
use crate::value::{Outcome, Value, fault};
use crate::walk::Cx;

/// A constant extent.
pub(crate) fn int(value: i64) -> IntExpr {
    IntExpr::from(value)
}

/// The product of extents as one extent.
pub(crate) fn product(dims: &[IntExpr]) -> IntExpr {
    dims.iter().fold(int(1), |all, d| &all * d)
}

impl Cx<'_> {
    /// An operator of the language, by name.
    pub(crate) fn operator(&mut self, name: &str, args: Vec<Arg>, attrs: &[(&str, AttrValue)]) -> Outcome<ValueId> {
        let Some(def) = ops::lookup(name) else { return fault(format!("the language has no operator `{name}`")) };
        let attrs: BTreeMap<String, AttrValue> = attrs.iter().map(|(n, v)| ((*n).to_string(), v.clone())).collect();
        Ok(ops::apply(&mut self.b, def, &OpCall { args, attrs, dtype: None })?)
    }

    /// A node as an operator of the language: its operands, and the attributes that both have.
    pub(crate) fn entry<'m>(&mut self, call: &Call<'_, 'm>, name: &str, args: Vec<Arg>) -> Outcome<Vec<ValueId>> {
        self.entry_with(call, name, args, &[])
    }

    /// The same with attributes that go before those of the node.
    pub(crate) fn entry_with<'m>(
        &mut self,
        call: &Call<'_, 'm>,
        name: &str,
        args: Vec<Arg>,
        own: &[(&str, AttrValue)],
    ) -> Outcome<Vec<ValueId>> {
        let Some(def) = ops::lookup(name) else { return fault(format!("the language has no operator `{name}`")) };
        let mut attrs: Vec<(&str, AttrValue)> = own.to_vec();
        for attr in def.attrs.iter().filter(|attr| own.iter().all(|(known, _)| *known != attr.name)) {
            attrs.extend(call.entry_attribute(attr)?.map(|value| (attr.name, value)));
        }
        // Automatic padding leaves no room for another.
        let automatic =
            |(name, value): &(&str, AttrValue)| *name == "auto_pad" && *value != AttrValue::Text("notset".into());
        if attrs.iter().any(automatic) {
            attrs.retain(|(name, _)| *name != "pads");
        }
        let y = self.operator(name, args, &attrs)?;
        self.components(y)
    }

    /// An operator of the language on tensors.
    pub(crate) fn op(&mut self, name: &str, args: &[ValueId], attrs: &[(&str, AttrValue)]) -> Outcome<ValueId> {
        self.operator(name, args.iter().map(|a| Arg::Value(*a)).collect(), attrs)
    }

    /// An operator of the language on one tensor, with a dtype in a turbofish.
    pub(crate) fn typed(&mut self, name: &str, dtype: DType, x: ValueId) -> Outcome<ValueId> {
        let Some(def) = ops::lookup(name) else { return fault(format!("the language has no operator `{name}`")) };
        let call = OpCall { args: vec![Arg::Value(x)], dtype: Some(dtype), ..OpCall::default() };
        Ok(ops::apply(&mut self.b, def, &call)?)
    }

    /// An op of relax.
    pub(crate) fn emit(&mut self, op: Op, args: &[ValueId]) -> Outcome<ValueId> {
        Ok(self.b.emit(op, args)?)
    }

    /// An elementwise op.
    pub(crate) fn element(&mut self, op: ElementOp, args: &[ValueId]) -> Outcome<ValueId> {
        Ok(self.b.element(op, args)?)
    }

    /// `op(x)`.
    pub(crate) fn unary(&mut self, op: UnaryOp, x: ValueId) -> Outcome<ValueId> {
        self.element(ElementOp::Unary(op), &[x])
    }

    /// `op(a, b)`.
    pub(crate) fn binary(&mut self, op: BinaryOp, a: ValueId, b: ValueId) -> Outcome<ValueId> {
        self.element(ElementOp::Binary(op), &[a, b])
    }

    /// `a op b` as bools.
    pub(crate) fn compare(&mut self, op: CmpOp, a: ValueId, b: ValueId) -> Outcome<ValueId> {
        self.element(ElementOp::Compare(op), &[a, b])
    }

    /// `condition ? a : b`.
    pub(crate) fn select(&mut self, condition: ValueId, a: ValueId, b: ValueId) -> Outcome<ValueId> {
        self.element(ElementOp::Select, &[condition, a, b])
    }

    /// `x as dtype`.
    pub(crate) fn cast(&mut self, x: ValueId, dtype: DType) -> Outcome<ValueId> {
        if self.dtype(x) == dtype { Ok(x) } else { self.element(ElementOp::Cast(dtype), &[x]) }
    }

    /// The type of a tensor.
    pub(crate) fn ty(&self, x: ValueId) -> TensorType {
        self.b.tensor(x).clone()
    }

    /// Type of an element.
    pub(crate) fn dtype(&self, x: ValueId) -> DType {
        self.b.tensor(x).dtype
    }

    /// Extents.
    pub(crate) fn dims(&self, x: ValueId) -> Vec<IntExpr> {
        self.b.tensor(x).shape.clone()
    }

    /// Number of axes.
    pub(crate) fn rank(&self, x: ValueId) -> usize {
        self.b.tensor(x).shape.len()
    }

    /// The extents, which must be constants.
    pub(crate) fn fixed(&self, x: ValueId) -> Outcome<Vec<i64>> {
        let dims = self.dims(x);
        let fixed: Option<Vec<i64>> = dims.iter().map(IntExpr::as_const).collect();
        match fixed {
            Some(fixed) => Ok(fixed),
            None if dims.iter().any(|dim| self.depends(dim)) => {
                fault(format!("its extents {dims:?} must be constants, and data decides them"))
            }
            None => fault(format!("its extents {dims:?} must be constants; bind the dims")),
        }
    }

    /// A scalar of the dtype of `x`.
    pub(crate) fn like(&mut self, x: ValueId, value: f64) -> ValueId {
        let scalar = Scalar::float(self.dtype(x), value);
        self.b.scalar(scalar)
    }

    /// A scalar.
    pub(crate) fn scalar(&mut self, dtype: DType, value: f64) -> ValueId {
        self.b.scalar(Scalar::float(dtype, value))
    }

    /// Another shape.
    pub(crate) fn reshape(&mut self, x: ValueId, shape: &[IntExpr]) -> Outcome<ValueId> {
        if self.dims(x) == shape {
            return Ok(x);
        }
        self.emit(Op::Reshape { shape: shape.to_vec() }, &[x])
    }

    /// Axes permuted.
    pub(crate) fn transpose(&mut self, x: ValueId, perm: &[usize]) -> Outcome<ValueId> {
        if perm.iter().enumerate().all(|(i, axis)| i == *axis) {
            return Ok(x);
        }
        self.emit(Op::Transpose { perm: perm.to_vec() }, &[x])
    }

    /// Repeated along axes.
    pub(crate) fn broadcast(&mut self, x: ValueId, shape: &[IntExpr]) -> Outcome<ValueId> {
        if self.dims(x) == shape {
            return Ok(x);
        }
        self.emit(Op::BroadcastTo { shape: shape.to_vec() }, &[x])
    }

    /// A reduction over axes.
    pub(crate) fn reduce(&mut self, op: ReduceOp, x: ValueId, axes: &[usize], keepdims: bool) -> Outcome<ValueId> {
        let mut axes = axes.to_vec();
        axes.sort_unstable();
        axes.dedup();
        self.emit(Op::Reduce { op, axes, keepdims }, &[x])
    }

    /// `begin..begin + extent` along one axis.
    pub(crate) fn part(&mut self, x: ValueId, axis: usize, begin: IntExpr, extent: IntExpr) -> Outcome<ValueId> {
        let mut axes = self.whole(x);
        axes[axis] = SliceAxis { begin, extent, step: 1 };
        self.emit(Op::Slice { axes, drop: Vec::new() }, &[x])
    }

    /// All of every axis.
    pub(crate) fn whole(&self, x: ValueId) -> Vec<SliceAxis> {
        self.dims(x).into_iter().map(|extent| SliceAxis { begin: int(0), extent, step: 1 }).collect()
    }

    /// One value all over.
    pub(crate) fn full(&mut self, shape: &[IntExpr], value: ValueId) -> Outcome<ValueId> {
        if shape.is_empty() {
            return Ok(value);
        }
        self.emit(Op::Full { shape: shape.to_vec() }, &[value])
    }

    /// A new axis of extent 1.
    pub(crate) fn expand_dims(&mut self, x: ValueId, axis: usize) -> Outcome<ValueId> {
        let mut shape = self.dims(x);
        shape.insert(axis, int(1));
        self.reshape(x, &shape)
    }

    /// A vector of one number per channel, shaped so that it broadcasts along axis 1 of a tensor of that rank.
    pub(crate) fn per_channel(&mut self, x: ValueId, rank: usize) -> Outcome<ValueId> {
        self.along(x, 0, rank.saturating_sub(1))
    }

    /// A vector along an axis of a tensor of that rank.
    pub(crate) fn along(&mut self, vector: ValueId, axis: usize, rank: usize) -> Outcome<ValueId> {
        let mut shape = vec![int(1); rank];
        if let (Some(slot), Some(extent)) = (shape.get_mut(axis), self.dims(vector).first()) {
            *slot = extent.clone();
        }
        self.reshape(vector, &shape)
    }

    /// A value of the function as a value of the walk.
    pub(crate) fn plain(&self, x: ValueId) -> Value {
        Value::Node(x, Elem::of(self.dtype(x)))
    }

    /// Several results.
    pub(crate) fn plains(&self, all: &[ValueId]) -> Outcome<Vec<Value>> {
        Ok(all.iter().map(|x| self.plain(*x)).collect())
    }

    /// The only result.
    pub(crate) fn one(&self, x: ValueId) -> Outcome<Vec<Value>> {
        Ok(vec![self.plain(x)])
    }

    /// The components of a tuple.
    pub(crate) fn components(&mut self, tuple: ValueId) -> Outcome<Vec<ValueId>> {
        let count = match self.b.ty(tuple) {
            Type::Tuple(items) => items.len(),
            Type::Tensor(_) | Type::Shape(_) => return Ok(vec![tuple]),
        };
        (0..count).map(|i| self.emit(Op::TupleGet(i), &[tuple])).collect()
    }
}
