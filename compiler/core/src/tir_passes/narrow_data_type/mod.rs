//! `NarrowDataType`: indices are computed in 32 bits where they are proven to fit.
//!
//! An index value has 64 bits. Where addresses have fewer, or `NarrowDataType.everywhere` asks for it, every part of an
//! index that is proven to lie in the range of an `i32` becomes one: variables of loops and lets, arithmetic,
//! comparisons and conversions. What is not proven keeps its 64 bits, and so do parameters and arguments of calls,
//! which are widened or narrowed where the two meet. Runs on phase flat and later, last of those that reason about
//! indices. Changes no value: everything that is narrowed, and whatever it is made of, fits.

mod proof;

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::op::{BinaryOp, UnaryOp};
use tenfold_ir::tir::copy::stem;
use tenfold_ir::tir::{Builder, Elem, Expr, ExprId, Phase, PrimFunc, Stmt, Ty, VarId, map_operands};
use tenfold_ir::{DType, Module, Scalar};

use super::rewrite_body;
use crate::CompileError;
use crate::pass::{ConfigKey, FlagKey, Pass, PassContext, PassPhase};

/// Also on large machines.
const EVERYWHERE: FlagKey = FlagKey {
    name: "NarrowDataType.everywhere",
    default: false,
    doc: "whether indices are narrowed on targets whose addresses have 64 bits too",
};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("NarrowDataType", &run)
    .in_phase(PassPhase::Flat)
    .at_level(2)
    .reads(&[ConfigKey::Flag(&EVERYWHERE)])
    .about(
        "computes indices in 32 bits where they are proven to fit and addresses have no more, or a setting asks for it",
    );

fn run(func: PrimFunc, _: &Module, context: &PassContext) -> Result<PrimFunc, CompileError> {
    let bits = context.target.pointer_bits;
    if func.phase < Phase::Flat || bits > 32 && !context.flag(&EVERYWHERE) {
        return Ok(func);
    }
    let found = proof::find(&func, bits);
    Ok(rewrite_body(func, |b, body| {
        let vars = found.vars.iter().map(|var| (*var, narrow_var(b, *var))).collect();
        Narrow { fit: &found.fit, vars, narrow: BTreeMap::new(), same: BTreeMap::new() }.stmt(b, body)
    }))
}

const NARROW: Elem = Elem::Scalar(DType::I32);

fn narrow_var(b: &mut Builder, var: VarId) -> VarId {
    let name = stem(b.sym(var).as_str()).to_string();
    b.var(&name, Ty { elem: NARROW, lanes: 1 })
}

struct Narrow<'f> {
    /// Indices that fit wherever they are evaluated.
    fit: &'f BTreeSet<ExprId>,
    /// What takes the place of variables that fit.
    vars: BTreeMap<VarId, VarId>,
    /// Indices as an `i32`.
    narrow: BTreeMap<ExprId, ExprId>,
    /// Expressions in their own type.
    same: BTreeMap<ExprId, ExprId>,
}

impl Narrow<'_> {
    fn stmt(&mut self, b: &mut Builder, stmt: Stmt) -> Stmt {
        let stmt = stmt.map_children(&mut |s| self.stmt(b, s));
        match stmt {
            Stmt::For { var, min, extent, kind, annotations, body } => match self.vars.get(&var) {
                Some(own) => {
                    let (var, min, extent) = (*own, self.narrowed(b, min), self.narrowed(b, extent));
                    Stmt::For { var, min, extent, kind, annotations, body }
                }
                None => {
                    let (min, extent) = (self.value(b, min), self.value(b, extent));
                    Stmt::For { var, min, extent, kind, annotations, body }
                }
            },
            Stmt::Let { var, value, body } => match self.vars.get(&var) {
                Some(own) => Stmt::Let { var: *own, value: self.narrowed(b, value), body },
                None => Stmt::Let { var, value: self.value(b, value), body },
            },
            Stmt::Store { buf, index, value, access } => {
                let index = index.into_iter().map(|i| self.index(b, i)).collect();
                Stmt::Store { buf, index, value: self.value(b, value), access }
            }
            Stmt::Prefetch { buf, index } => {
                Stmt::Prefetch { buf, index: index.into_iter().map(|i| self.index(b, i)).collect() }
            }
            other => other.map_exprs(&mut |e| self.value(b, e)),
        }
    }

    fn fits(&self, id: ExprId) -> bool {
        self.fit.contains(&id)
    }

    /// An index of an access.
    fn index(&mut self, b: &mut Builder, id: ExprId) -> ExprId {
        if self.fits(id) { self.narrowed(b, id) } else { self.value(b, id) }
    }

    // In the expression's own type.

    fn value(&mut self, b: &mut Builder, id: ExprId) -> ExprId {
        if let Some(done) = self.same.get(&id) {
            return *done;
        }
        let new = self.make_value(b, id);
        self.same.insert(id, new);
        new
    }

    fn make_value(&mut self, b: &mut Builder, id: ExprId) -> ExprId {
        let ty = b.ty(id);
        match b.func().exprs.get(id).clone() {
            // Where a branch is never taken a variable that fits may not be proven to.
            Expr::Var(v) if self.vars.contains_key(&v) => {
                let narrow = self.narrowed(b, id);
                b.raw(Expr::Cast(ty, narrow), ty)
            }
            Expr::Binary(..) | Expr::Unary(..) | Expr::If(..) | Expr::Select(..) if self.fits(id) => {
                let narrow = self.narrowed(b, id);
                b.raw(Expr::Cast(ty, narrow), ty)
            }
            Expr::Load { buf, index, access } => {
                let index = index.into_iter().map(|i| self.index(b, i)).collect();
                b.raw(Expr::Load { buf, index, access }, ty)
            }
            Expr::Compare(op, x, y) if self.fits(x) && self.fits(y) => {
                let (x, y) = (self.narrowed(b, x), self.narrowed(b, y));
                b.raw(Expr::Compare(op, x, y), ty)
            }
            Expr::Cast(to, x) if self.fits(x) && to.elem != Elem::Index => {
                let x = self.narrowed(b, x);
                if to == b.ty(x) { x } else { b.raw(Expr::Cast(to, x), ty) }
            }
            _ => self.rebuilt(b, id),
        }
    }

    fn rebuilt(&mut self, b: &mut Builder, id: ExprId) -> ExprId {
        let ty = b.ty(id);
        let expr = map_operands(b.func().exprs.get(id).clone(), &mut |e| self.value(b, e));
        b.raw(expr, ty)
    }

    // As an `i32`.

    fn narrowed(&mut self, b: &mut Builder, id: ExprId) -> ExprId {
        if let Some(done) = self.narrow.get(&id) {
            return *done;
        }
        let new = self.make_narrow(b, id);
        self.narrow.insert(id, new);
        new
    }

    fn make_narrow(&mut self, b: &mut Builder, id: ExprId) -> ExprId {
        let ty = Ty { elem: NARROW, ..b.ty(id) };
        let all = |n: &Narrow<'_>, parts: &[ExprId]| parts.iter().all(|e| n.fits(*e));
        match b.func().exprs.get(id).clone() {
            Expr::Index(n) => b.scalar(Scalar::int(DType::I32, n.into())),
            Expr::Var(v) if self.vars.contains_key(&v) => b.read(self.vars[&v]),
            Expr::Cast(_, x) => {
                let x = self.value(b, x);
                if b.ty(x) == ty { x } else { b.raw(Expr::Cast(ty, x), ty) }
            }
            Expr::Binary(op, x, y) if all(self, &[x, y]) && binary(b, op, y) => {
                let (x, y) = (self.narrowed(b, x), self.narrowed(b, y));
                b.raw(Expr::Binary(op, x, y), ty)
            }
            Expr::Unary(op @ (UnaryOp::Neg | UnaryOp::Not | UnaryOp::Abs | UnaryOp::Sign), x) if self.fits(x) => {
                let x = self.narrowed(b, x);
                b.raw(Expr::Unary(op, x), ty)
            }
            Expr::If(c, x, y) if all(self, &[x, y]) => {
                let (c, x, y) = (self.value(b, c), self.narrowed(b, x), self.narrowed(b, y));
                b.raw(Expr::If(c, x, y), ty)
            }
            Expr::Select(c, x, y) if all(self, &[x, y]) => {
                let (c, x, y) = (self.value(b, c), self.narrowed(b, x), self.narrowed(b, y));
                b.raw(Expr::Select(c, x, y), ty)
            }
            Expr::Ramp(base, stride, lanes) if all(self, &[base, stride]) => {
                let (base, stride) = (self.narrowed(b, base), self.narrowed(b, stride));
                b.raw(Expr::Ramp(base, stride, lanes), ty)
            }
            Expr::Broadcast(x, lanes) if self.fits(x) => {
                let x = self.narrowed(b, x);
                b.raw(Expr::Broadcast(x, lanes), ty)
            }
            _ => {
                let wide = self.rebuilt(b, id);
                b.raw(Expr::Cast(ty, wide), ty)
            }
        }
    }
}

/// Whether an operator gives the same in 32 bits, where operands and result fit.
fn binary(b: &Builder, op: BinaryOp, by: ExprId) -> bool {
    match op {
        BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::Div
        | BinaryOp::Rem
        | BinaryOp::DivEuclid
        | BinaryOp::RemEuclid
        | BinaryOp::Min
        | BinaryOp::Max
        | BinaryOp::And
        | BinaryOp::Or
        | BinaryOp::Xor => true,
        // Places are counted by the width.
        BinaryOp::Shl | BinaryOp::Shr => b.func().literal(by).is_some_and(|n| (0..32).contains(&n)),
        BinaryOp::Pow | BinaryOp::Atan2 => false,
    }
}
