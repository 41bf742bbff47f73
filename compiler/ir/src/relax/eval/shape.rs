//! Shapes as values, and checks of shapes.

use super::{Machine, Slot, operand};
use crate::DType;
use crate::arith::IntExpr;
use crate::eval::{Bounded, Value};
use crate::relax::{Binding, Op, SymKind, ValueId, op_name};

impl Machine<'_> {
    /// Operators that give or take a shape.
    pub(super) fn shape_op(&self, binding: &Binding) -> Result<Slot, String> {
        match &binding.op {
            Op::Shape { dims } => self.ints(dims).map(Slot::Shape),
            Op::ShapeOf => Ok(Slot::Shape(self.extents(operand(binding, 0)?)?)),
            Op::ShapeToTensor => {
                let dims = self.extents(operand(binding, 0)?)?;
                let data: Vec<Bounded> = dims.into_iter().map(Bounded::index).collect();
                Ok(Slot::Tensor(Value { dtype: DType::I64, shape: vec![data.len()], data }))
            }
            Op::TensorToShape => {
                let dims = self.tensor(operand(binding, 0)?)?.data.iter().map(|x| x.value.to_i128());
                let dims = dims.map(|n| i64::try_from(n).ok().filter(|n| *n >= 0).ok_or(n)).collect::<Result<_, _>>();
                dims.map(Slot::Shape).map_err(|n| format!("{n} is no extent"))
            }
            other => Err(format!("`{}` is no operator of shapes", op_name(other))),
        }
    }

    /// The extents of a tensor or shape.
    fn extents(&self, value: ValueId) -> Result<Vec<i64>, String> {
        match self.slot(value)? {
            Slot::Tensor(tensor) => Ok(tensor.shape.iter().map(|n| *n as i64).collect()),
            Slot::Shape(dims) => Ok(dims.clone()),
            Slot::Tuple(_) => Err(format!("v{} is a tuple", value.0)),
        }
    }

    /// Binds the symbols that are bound to this value, then checks every extent.
    pub(super) fn match_shape(&mut self, binding: &Binding, shape: &[IntExpr]) -> Result<Slot, String> {
        let x = operand(binding, 0)?;
        let found = self.extents(x)?;
        let bound: Vec<_> = self.func.syms.iter().filter(|decl| decl.kind == SymKind::Bound(binding.out)).collect();
        let bound: Vec<_> = bound.into_iter().map(|decl| decl.sym.clone()).collect();
        self.syms.retain(|sym, _| !bound.contains(sym));
        for (dim, extent) in shape.iter().zip(&found) {
            if let Some(sym) = dim.as_var().filter(|sym| bound.contains(sym)) {
                self.syms.entry(sym.clone()).or_insert(*extent);
            }
        }
        let expected = self.ints(shape)?;
        if expected == found {
            self.slot(x).cloned()
        } else {
            Err(format!("expected shape {expected:?}, found {found:?}"))
        }
    }
}
