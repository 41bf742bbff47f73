//! Expressions, buffers and variables of a kernel.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::Kernel;
use crate::DType;
use crate::Scalar;
use crate::arith::IntExpr;
use crate::op::{BinaryOp, CmpOp, UnaryOp};
use crate::tir::{Access, BufId, Elem, Expr, ExprId, Intrinsic, Stmt, Ty};

/// An expression: an element or an index.
#[derive(Clone, Copy)]
pub(in crate::ops) struct Ex<'k> {
    pub(super) k: &'k Kernel,
    pub(super) id: ExprId,
}

/// What may stand on the right of an operator: an expression, or a number, which becomes a literal of the left's type.
pub(in crate::ops) trait Operand<'k> {
    /// As an expression of `like`'s type.
    fn beside(self, like: Ex<'k>) -> Ex<'k>;
}

impl<'k> Operand<'k> for Ex<'k> {
    fn beside(self, _: Ex<'k>) -> Ex<'k> {
        self
    }
}

impl<'k> Operand<'k> for i64 {
    fn beside(self, like: Ex<'k>) -> Ex<'k> {
        match like.dtype() {
            None => like.k.int(self),
            Some(dtype) if dtype.is_float() => like.k.lit(dtype, self as f64),
            Some(dtype) => like.k.scalar(Scalar::int(dtype, i128::from(self))),
        }
    }
}

impl<'k> Operand<'k> for f64 {
    fn beside(self, like: Ex<'k>) -> Ex<'k> {
        match like.dtype() {
            None => like.k.int(self as i64),
            Some(dtype) => like.k.lit(dtype, self),
        }
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, $op:ident) => {
        impl<'k, R: Operand<'k>> $trait<R> for Ex<'k> {
            type Output = Ex<'k>;
            fn $method(self, other: R) -> Ex<'k> {
                self.binary(BinaryOp::$op, other)
            }
        }
    };
}

operator!(Add, add, Add);
operator!(Sub, sub, Sub);
operator!(Mul, mul, Mul);
operator!(Div, div, Div);

impl<'k> Neg for Ex<'k> {
    type Output = Ex<'k>;
    fn neg(self) -> Ex<'k> {
        match self.dtype() {
            None => self.k.int(0) - self,
            Some(_) => self.unary(UnaryOp::Neg),
        }
    }
}

macro_rules! comparison {
    ($($method:ident $op:ident),*) => {
        $(
            /// A comparison.
            pub(in crate::ops) fn $method(self, other: impl Operand<'k>) -> Ex<'k> {
                let other = other.beside(self);
                self.make(|b| b.compare(CmpOp::$op, self.id, other.id))
            }
        )*
    };
}

macro_rules! pair {
    ($($method:ident $op:ident),*) => {
        $(
            /// The operator of that name.
            pub(in crate::ops) fn $method(self, other: impl Operand<'k>) -> Ex<'k> {
                self.binary(BinaryOp::$op, other)
            }
        )*
    };
}

impl<'k> Ex<'k> {
    fn make(self, f: impl FnOnce(&mut crate::tir::Builder) -> ExprId) -> Ex<'k> {
        let id = f(&mut self.k.b.borrow_mut());
        Ex { k: self.k, id }
    }

    /// Its dtype; none for an index.
    pub(in crate::ops) fn dtype(self) -> Option<DType> {
        match self.k.b.borrow().ty(self.id).elem {
            Elem::Scalar(dtype) => Some(dtype),
            Elem::Index => None,
        }
    }

    /// Whether it is that literal index.
    pub(super) fn is_int(self, value: i64) -> bool {
        *self.k.b.borrow().func().exprs.get(self.id) == Expr::Index(value)
    }

    /// One operand.
    pub(in crate::ops) fn unary(self, op: UnaryOp) -> Ex<'k> {
        self.make(|b| b.unary(op, self.id))
    }

    /// Two operands of one type.
    pub(in crate::ops) fn binary(self, op: BinaryOp, other: impl Operand<'k>) -> Ex<'k> {
        let other = other.beside(self);
        self.make(|b| b.binary(op, self.id, other.id))
    }

    comparison!(lt Lt, le Le, gt Gt, ge Ge, equals Eq, differs Ne);
    pair!(min Min, max Max, euclid DivEuclid, modulo RemEuclid);

    /// Both hold; the second is asked only if the first does.
    pub(in crate::ops) fn and(self, other: Ex<'k>) -> Ex<'k> {
        self.make(|b| b.and(self.id, other.id))
    }

    /// One of them holds; the second is asked only if the first does not.
    pub(in crate::ops) fn or(self, other: Ex<'k>) -> Ex<'k> {
        self.make(|b| b.or(self.id, other.id))
    }

    /// It does not hold.
    pub(in crate::ops) fn not(self) -> Ex<'k> {
        self.unary(UnaryOp::Not)
    }

    /// One of two if this holds, both being evaluated.
    pub(in crate::ops) fn select(self, yes: Ex<'k>, no: impl Operand<'k>) -> Ex<'k> {
        let no = no.beside(yes);
        self.make(|b| b.select(self.id, yes.id, no.id))
    }

    /// One of two if this holds, that one alone being evaluated.
    pub(in crate::ops) fn choose(self, yes: Ex<'k>, no: impl Operand<'k>) -> Ex<'k> {
        let no = no.beside(yes);
        self.make(|b| b.if_(self.id, yes.id, no.id))
    }

    /// Conversion as Rust's `as`.
    pub(in crate::ops) fn cast(self, dtype: DType) -> Ex<'k> {
        self.make(|b| b.cast(dtype, self.id))
    }

    /// Its bits as another dtype of its width.
    pub(in crate::ops) fn bits_as(self, dtype: DType) -> Ex<'k> {
        self.make(|b| b.call(Intrinsic::Bitcast, vec![self.id], Ty::scalar(dtype)))
    }

    /// An integer's value as an index.
    pub(in crate::ops) fn index(self) -> Ex<'k> {
        self.make(|b| b.to_index(self.id))
    }

    /// Whether it is NaN; no integer is.
    pub(in crate::ops) fn is_nan(self) -> Ex<'k> {
        match self.dtype() {
            Some(dtype) if dtype.is_float() => self.unary(UnaryOp::IsNan),
            Some(_) | None => self.k.bool(false),
        }
    }

    /// Its value now, for the rest of the scope.
    pub(in crate::ops) fn bound(self, name: &str) -> Ex<'k> {
        let mut b = self.k.b.borrow_mut();
        let var = b.let_(name, self.id);
        let id = b.read(var);
        drop(b);
        Ex { k: self.k, id }
    }
}

/// A buffer of a kernel.
#[derive(Clone, Copy)]
pub(in crate::ops) struct Buf<'k> {
    pub(super) k: &'k Kernel,
    pub(super) id: BufId,
}

impl<'k> Buf<'k> {
    /// The kernel.
    pub(in crate::ops) fn k(self) -> &'k Kernel {
        self.k
    }

    /// Its extents.
    pub(in crate::ops) fn shape(self) -> Vec<IntExpr> {
        self.k.b.borrow().buf(self.id).shape.clone()
    }

    /// An extent of it.
    pub(in crate::ops) fn dim(self, axis: usize) -> Ex<'k> {
        let extent = self.shape()[axis].clone();
        self.k.dim(&extent)
    }

    /// Its dtype.
    pub(in crate::ops) fn dtype(self) -> DType {
        self.k.b.borrow().buf(self.id).dtype
    }

    /// An element.
    pub(in crate::ops) fn at(self, index: &[Ex<'k>]) -> Ex<'k> {
        let index = index.iter().map(|i| i.id).collect();
        let id = self.k.b.borrow_mut().load(self.id, index, Access::Proven);
        Ex { k: self.k, id }
    }

    /// 0 of its dtype.
    pub(in crate::ops) fn zero(self) -> Ex<'k> {
        self.k.scalar(Scalar::zero(self.dtype()))
    }

    /// Writes an element.
    pub(in crate::ops) fn put(self, index: &[Ex<'k>], value: Ex<'k>) {
        let index = index.iter().map(|i| i.id).collect();
        self.k.push(Stmt::Store { buf: self.id, index, value: value.id, access: Access::Proven });
    }
}

/// A variable of a kernel.
#[derive(Clone, Copy)]
pub(in crate::ops) struct Cell<'k> {
    pub(super) k: &'k Kernel,
    pub(super) id: BufId,
    pub(super) index: bool,
}

impl<'k> Cell<'k> {
    /// What it holds wherever the expression is evaluated: for conditions of loops.
    pub(in crate::ops) fn now(self) -> Ex<'k> {
        let id = self.k.b.borrow_mut().read_local(self.id);
        let ex = Ex { k: self.k, id };
        if self.index { ex.index() } else { ex }
    }

    /// What it holds here.
    pub(in crate::ops) fn get(self) -> Ex<'k> {
        self.now().bound("now")
    }

    /// Gives it a value.
    pub(in crate::ops) fn set(self, value: impl Operand<'k>) {
        let value = value.beside(self.now());
        let dtype = self.k.b.borrow().buf(self.id).dtype;
        let value = if self.index { value.cast(dtype) } else { value };
        Buf { k: self.k, id: self.id }.put(&[], value);
    }
}
