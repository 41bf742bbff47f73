//! Tuples, states, and functions that functions call.

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::op::{BinaryOp, ElementOp, UnaryOp};
use tenfold_ir::relax::{Builder, Function, Op, ParamKind, SymDecl, SymKind, TensorType, Type, ValueId};
use tenfold_ir::{DType, Function as Any, Loc};

use super::Grow;

impl Grow {
    pub(super) fn tuple(&mut self) {
        let (x, y) = (self.any(), self.any());
        let Ok(pair) = self.b.emit(Op::Tuple, &[x, y]) else { return };
        let Ok(nested) = self.b.emit(Op::Tuple, &[pair, x]) else { return };
        let from = if self.chance(2) { self.b.emit(Op::TupleGet(0), &[nested]).unwrap_or(pair) } else { pair };
        let n = self.random.below(2);
        self.push(Op::TupleGet(n), &[from]);
    }

    /// A state takes a value of its type; the old one may be read later all the same.
    pub(super) fn store(&mut self) {
        if self.held.is_empty() || self.depth > 0 {
            return self.element();
        }
        let n = self.random.below(self.held.len());
        let (param, now) = self.held[n];
        let ty = self.b.ty(now).clone();
        let Some(value) = self.any_with(|g, v| *g.b.ty(v) == ty) else { return };
        if self.b.emit(Op::StoreState { param }, &[value]).is_ok() {
            self.held[n].1 = value;
        }
    }

    /// A call of a function that updates its state and gives that and another value.
    pub(super) fn call(&mut self) {
        if self.depth > 0 {
            return self.element();
        }
        let Some(x) = self.any_with(|g, v| {
            let shape = g.shape(v);
            !g.dtype(v).is_bool() && (1..=3).contains(&shape.len())
        }) else {
            return;
        };
        let (dtype, shape) = (self.dtype(x), self.shape(x));
        let y = self.any_with(|g, v| g.dtype(v) == dtype && g.shape(v) == shape).unwrap_or(x);
        let callee = callee(&format!("{}_callee{}", self.b.function().name, self.fresh), dtype, shape.len());
        self.fresh += 1;
        let ty = Type::Tensor(TensorType { dtype, shape });
        let result = Type::Tuple(vec![ty.clone(), ty]);
        let op = Op::CallFn { func: callee.name.clone(), syms: Vec::new(), result };
        self.module.functions.insert(callee.name.clone(), Any::Relax(callee));
        let Ok(out) = self.b.emit(op, &[x, y]) else { return };
        self.keep(out);
    }
}

/// `f(s: &mut Tensor<T, A, …>, x: Tensor<T, A, …>) -> Tensor<T, A, …>`: `s` takes `s + x`, `-s` comes back.
fn callee(name: &str, dtype: DType, rank: usize) -> Function {
    let mut b = Builder::new(name);
    let shape: Vec<IntExpr> = (0..rank).map(|axis| IntExpr::var(Sym::new(format!("A{axis}")))).collect();
    for (axis, dim) in shape.iter().enumerate() {
        let sym = dim.as_var().cloned().expect("an extent is a name");
        b.declare_sym(SymDecl { sym, kind: SymKind::Dim { param: 0, axis }, loc: Loc::default() });
    }
    let ty = TensorType { dtype, shape };
    let state = b.param(ParamKind::State, ty.clone(), "s", 0, Loc::default());
    let x = b.param(ParamKind::Input, ty, "x", 1, Loc::default());
    let body = |b: &mut Builder| -> Option<ValueId> {
        let new = b.element(ElementOp::Binary(BinaryOp::Add), &[state, x]).ok()?;
        let old = b.element(ElementOp::Unary(UnaryOp::Neg), &[state]).ok()?;
        b.emit(Op::StoreState { param: 0 }, &[new]).ok()?;
        Some(old)
    };
    let old = body(&mut b).expect("numbers add up");
    b.finish(&[old])
}
