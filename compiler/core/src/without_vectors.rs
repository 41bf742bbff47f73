//! Vectors as loops over their lanes, for back ends that have none: C has loops, and compilers make vectors of them.
//!
//! A statement evaluates all lanes before it writes one: where it reads what it writes, its value waits in an array.

use std::collections::BTreeMap;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{BinaryOp, CmpOp};
use tenfold_ir::tir::{Access, BufId, Builder, Elem, Expr, ExprId, LoopKind, PrimFunc, Scope, Stmt, Ty, VarId};
use tenfold_ir::{DType, Module};

/// The module without vectors.
pub fn without_vectors(module: &Module) -> Module {
    let mut module = module.clone();
    for function in module.functions.values_mut() {
        if let tenfold_ir::Function::Prim(func) = function
            && has_vectors(func)
        {
            *func = scalar(func.clone());
        }
    }
    module
}

/// The function without vectors.
pub(crate) fn without_vectors_of(func: &PrimFunc) -> PrimFunc {
    if has_vectors(func) { scalar(func.clone()) } else { func.clone() }
}

fn has_vectors(func: &PrimFunc) -> bool {
    func.exprs_in(&func.body).into_iter().any(|e| func.exprs.ty(e).lanes > 1)
}

fn scalar(func: PrimFunc) -> PrimFunc {
    let mut b = Builder::resume(func);
    let body = std::mem::replace(&mut b.func_mut().body, Stmt::nop());
    let mut work = Work { b: &mut b, lets: BTreeMap::new() };
    let body = work.stmt(body);
    b.push(body);
    b.finish()
}

struct Work<'b> {
    b: &'b mut Builder,
    /// Arrays in place of vector variables.
    lets: BTreeMap<VarId, BufId>,
}

impl Work<'_> {
    fn stmt(&mut self, stmt: Stmt) -> Stmt {
        match stmt {
            Stmt::Let { var, value, body } if self.b.ty(value).lanes > 1 => {
                let array = self.array(self.b.sym(var).as_str().to_string(), value);
                let fill = self.fill(array, value);
                self.lets.insert(var, array);
                let body = Stmt::seq([fill, self.stmt(*body)]);
                Stmt::Alloc { buf: array, body: Box::new(body) }
            }
            Stmt::Store { buf, index, value, access } if self.lanes(&index, value) > 1 => {
                self.store(buf, index[0], value, access)
            }
            Stmt::Evaluate(e) if self.b.ty(e).lanes > 1 => Stmt::nop(),
            other => {
                let other = other.map_exprs(&mut |e| self.scalar_expr(e));
                other.map_children(&mut |s| self.stmt(s))
            }
        }
    }

    /// An expression of one lane, whose parts may be picked from vectors.
    fn scalar_expr(&mut self, id: ExprId) -> ExprId {
        let number = self.b.index(0);
        if self.b.ty(id).lanes > 1 { id } else { Lane { work: self, number, memo: BTreeMap::new() }.expr(id) }
    }

    fn shuffles(&self, id: ExprId) -> bool {
        let func = self.b.func();
        func.reachable([id]).into_iter().any(|e| matches!(func.exprs.get(e), Expr::Shuffle(..)))
    }

    fn lanes(&self, index: &[ExprId], value: ExprId) -> u16 {
        index.iter().chain([&value]).map(|e| self.b.ty(*e).lanes).max().unwrap_or(1)
    }

    /// An array for the lanes of a value.
    fn array(&mut self, name: String, value: ExprId) -> BufId {
        let ty = self.b.ty(value);
        let dtype = match ty.elem {
            Elem::Scalar(dtype) => dtype,
            Elem::Index => DType::I64,
        };
        self.b.buffer(&name, dtype, vec![IntExpr::from(i64::from(ty.lanes))], Scope::Local)
    }

    fn fill(&mut self, array: BufId, value: ExprId) -> Stmt {
        let lanes = self.b.ty(value).lanes;
        self.each_lane(lanes, |lane| {
            let at = lane.number;
            let value = lane.expr(value);
            let value = lane.work.b.cast(lane.work.b.buf(array).dtype, value);
            Stmt::Store { buf: array, index: vec![at], value, access: Access::Proven }
        })
    }

    fn store(&mut self, buf: BufId, at: ExprId, value: ExprId, access: Access) -> Stmt {
        let lanes = self.lanes(&[at], value);
        if !self.reads_back(buf, at, value) {
            return self.each_lane(lanes, |lane| {
                let (at, value) = (lane.expr(at), lane.expr(value));
                Stmt::Store { buf, index: vec![at], value, access }
            });
        }
        let array = self.array("lanes".to_string(), value);
        let fill = self.fill(array, value);
        let write = self.each_lane(lanes, |lane| {
            let (number, at) = (lane.number, lane.expr(at));
            let value = lane.work.b.load(array, vec![number], Access::Proven);
            Stmt::Store { buf, index: vec![at], value, access }
        });
        Stmt::Alloc { buf: array, body: Box::new(Stmt::seq([fill, write])) }
    }

    /// Whether a lane may read what another one writes.
    fn reads_back(&self, buf: BufId, at: ExprId, value: ExprId) -> bool {
        let func = self.b.func();
        let distinct = matches!(func.exprs.get(at), Expr::Ramp(_, stride, _)
            if func.literal(*stride).is_some_and(|n| n != 0));
        let index = |e: &Expr| match e {
            Expr::Load { buf: from, index, .. } if *from == buf => Some(index.clone()),
            _ => None,
        };
        let mut reads = func.reachable([at, value]).into_iter().filter_map(|e| index(func.exprs.get(e)));
        // The index itself is evaluated where lanes are written.
        let moves = func.reachable([at]).into_iter().any(|e| index(func.exprs.get(e)).is_some());
        // A lane that is picked is read where another one is written.
        let own = distinct && !self.shuffles(value);
        moves || reads.any(|index| !(own && index == [at]))
    }

    fn each_lane(&mut self, lanes: u16, f: impl FnOnce(&mut Lane<'_, '_>) -> Stmt) -> Stmt {
        let var = self.b.index_var("lane");
        let (min, extent, number) = (self.b.index(0), self.b.index(i64::from(lanes)), self.b.read(var));
        let body = f(&mut Lane { work: self, number, memo: BTreeMap::new() });
        Stmt::loop_(var, min, extent, LoopKind::Serial, body)
    }
}

/// Expressions in one lane.
struct Lane<'w, 'b> {
    work: &'w mut Work<'b>,
    number: ExprId,
    memo: BTreeMap<ExprId, ExprId>,
}

impl Lane<'_, '_> {
    fn expr(&mut self, id: ExprId) -> ExprId {
        if self.work.b.ty(id).lanes == 1 && !self.work.shuffles(id) {
            return id;
        }
        if let Some(done) = self.memo.get(&id) {
            return *done;
        }
        let new = self.build(id);
        self.memo.insert(id, new);
        new
    }

    fn build(&mut self, id: ExprId) -> ExprId {
        let ty = Ty { lanes: 1, ..self.work.b.ty(id) };
        match self.work.b.func().exprs.get(id).clone() {
            Expr::Const(_) | Expr::Index(_) => id,
            Expr::Var(v) => self.element(v, ty).unwrap_or(id),
            Expr::Ramp(base, stride, _) => {
                let number = self.number;
                self.step(base, stride, number)
            }
            Expr::Broadcast(a, _) => self.expr(a),
            Expr::Shuffle(vectors, lanes) => self.shuffle(&vectors, &lanes),
            Expr::Unary(op, a) => {
                let a = self.expr(a);
                self.work.b.raw(Expr::Unary(op, a), ty)
            }
            Expr::Binary(op, x, y) => {
                let (x, y) = (self.expr(x), self.expr(y));
                self.work.b.raw(Expr::Binary(op, x, y), ty)
            }
            Expr::Compare(op, x, y) => {
                let (x, y) = (self.expr(x), self.expr(y));
                self.work.b.raw(Expr::Compare(op, x, y), ty)
            }
            Expr::If(c, x, y) => {
                let (x, y) = (self.expr(x), self.expr(y));
                self.work.b.raw(Expr::If(c, x, y), ty)
            }
            Expr::Select(c, x, y) => {
                let (c, x, y) = (self.expr(c), self.expr(x), self.expr(y));
                self.work.b.raw(Expr::Select(c, x, y), ty)
            }
            Expr::Cast(_, a) => {
                let a = self.expr(a);
                self.work.b.raw(Expr::Cast(ty, a), ty)
            }
            Expr::Load { buf, index, access } => {
                let index = index.into_iter().map(|i| self.expr(i)).collect();
                self.work.b.raw(Expr::Load { buf, index, access }, ty)
            }
            Expr::Call(f, args, _) => {
                let args = args.into_iter().map(|a| self.expr(a)).collect();
                self.work.b.raw(Expr::Call(f, args, ty), ty)
            }
        }
    }

    /// The lane picked, chosen by its number where that is not known.
    fn shuffle(&mut self, vectors: &[ExprId], lanes: &[u16]) -> ExprId {
        let picked: Vec<ExprId> = lanes.iter().filter_map(|lane| self.lane_of(vectors, *lane)).collect();
        let Some((last, others)) = picked.split_last() else { return self.number };
        others.iter().enumerate().rev().fold(*last, |rest, (lane, value)| {
            let at = self.work.b.index(lane as i64);
            let here = self.work.b.compare(CmpOp::Eq, self.number, at);
            self.work.b.if_(here, *value, rest)
        })
    }

    /// The lane of that number among those of all vectors.
    fn lane_of(&mut self, vectors: &[ExprId], mut lane: u16) -> Option<ExprId> {
        for vector in vectors {
            let lanes = self.work.b.ty(*vector).lanes;
            if lane < lanes {
                let number = self.work.b.index(i64::from(lane));
                return Some(Lane { work: self.work, number, memo: BTreeMap::new() }.expr(*vector));
            }
            lane -= lanes;
        }
        None
    }

    /// The lane of a vector variable.
    fn element(&mut self, var: VarId, ty: Ty) -> Option<ExprId> {
        let array = *self.work.lets.get(&var)?;
        let number = self.number;
        let value = self.work.b.load(array, vec![number], Access::Proven);
        Some(if ty.elem == Elem::Index { self.work.b.to_index(value) } else { value })
    }

    fn step(&mut self, base: ExprId, stride: ExprId, number: ExprId) -> ExprId {
        let b = &mut *self.work.b;
        let number = match b.ty(base).elem {
            Elem::Index => number,
            Elem::Scalar(dtype) => b.cast(dtype, number),
        };
        let steps = match b.func().literal(stride) {
            Some(1) => number,
            _ => b.mul(stride, number),
        };
        match b.func().literal(base) {
            Some(0) => steps,
            _ => b.binary(BinaryOp::Add, base, steps),
        }
    }
}
