//! Rewrites expressions bottom-up, and statements by their parts.

use std::collections::HashMap;

use super::{Block, Builder, CallArg, Expr, ExprId, IterVar, Region, Stmt};

/// Replaces expressions: `f` sees each expression after its operands were replaced, and may give another.
pub struct ExprMap<F: FnMut(&mut Builder, ExprId) -> ExprId> {
    memo: HashMap<ExprId, ExprId>,
    f: F,
}

impl<F: FnMut(&mut Builder, ExprId) -> ExprId> ExprMap<F> {
    /// A map by `f`, which must depend on the expression alone: results are remembered.
    pub fn new(f: F) -> Self {
        ExprMap { memo: HashMap::new(), f }
    }

    /// The replacement of `id`.
    pub fn expr(&mut self, b: &mut Builder, id: ExprId) -> ExprId {
        if let Some(done) = self.memo.get(&id) {
            return *done;
        }
        let ty = b.ty(id);
        let rebuilt = match b.func().exprs.get(id).clone() {
            Expr::Const(_) | Expr::Index(_) | Expr::Var(_) => id,
            Expr::Unary(op, a) => {
                let a = self.expr(b, a);
                b.raw(Expr::Unary(op, a), ty)
            }
            Expr::Binary(op, x, y) => {
                let (x, y) = (self.expr(b, x), self.expr(b, y));
                b.raw(Expr::Binary(op, x, y), ty)
            }
            Expr::Compare(op, x, y) => {
                let (x, y) = (self.expr(b, x), self.expr(b, y));
                b.raw(Expr::Compare(op, x, y), ty)
            }
            Expr::If(c, x, y) => {
                let (c, x, y) = (self.expr(b, c), self.expr(b, x), self.expr(b, y));
                b.raw(Expr::If(c, x, y), ty)
            }
            Expr::Select(c, x, y) => {
                let (c, x, y) = (self.expr(b, c), self.expr(b, x), self.expr(b, y));
                b.raw(Expr::Select(c, x, y), ty)
            }
            Expr::Cast(to, a) => {
                let a = self.expr(b, a);
                b.raw(Expr::Cast(to, a), ty)
            }
            Expr::Load { buf, index, access } => {
                let index = self.exprs(b, &index);
                b.raw(Expr::Load { buf, index, access }, ty)
            }
            Expr::Call(g, args, to) => {
                let args = self.exprs(b, &args);
                b.raw(Expr::Call(g, args, to), ty)
            }
            Expr::Ramp(base, stride, lanes) => {
                let (base, stride) = (self.expr(b, base), self.expr(b, stride));
                b.raw(Expr::Ramp(base, stride, lanes), ty)
            }
            Expr::Broadcast(a, lanes) => {
                let a = self.expr(b, a);
                b.raw(Expr::Broadcast(a, lanes), ty)
            }
        };
        let new = (self.f)(b, rebuilt);
        self.memo.insert(id, new);
        new
    }

    /// The replacements of several.
    pub fn exprs(&mut self, b: &mut Builder, ids: &[ExprId]) -> Vec<ExprId> {
        ids.iter().map(|id| self.expr(b, *id)).collect()
    }

    /// Every expression of a statement replaced.
    pub fn stmt(&mut self, b: &mut Builder, stmt: Stmt) -> Stmt {
        match stmt {
            Stmt::Seq(all) => Stmt::Seq(all.into_iter().map(|s| self.stmt(b, s)).collect()),
            Stmt::For { var, min, extent, kind, body } => {
                let (min, extent) = (self.expr(b, min), self.expr(b, extent));
                Stmt::For { var, min, extent, kind, body: self.boxed(b, *body) }
            }
            Stmt::While { cond, body } => Stmt::While { cond: self.expr(b, cond), body: self.boxed(b, *body) },
            Stmt::If { cond, then, otherwise } => Stmt::If {
                cond: self.expr(b, cond),
                then: self.boxed(b, *then),
                otherwise: otherwise.map(|s| self.boxed(b, *s)),
            },
            Stmt::Let { var, value, body } => Stmt::Let { var, value: self.expr(b, value), body: self.boxed(b, *body) },
            Stmt::Alloc { buf, body } => Stmt::Alloc { buf, body: self.boxed(b, *body) },
            Stmt::Store { buf, index, value, access } => {
                let (index, value) = (self.exprs(b, &index), self.expr(b, value));
                Stmt::Store { buf, index, value, access }
            }
            Stmt::Block(block) => Stmt::Block(Box::new(self.block(b, *block))),
            Stmt::Evaluate(e) => Stmt::Evaluate(self.expr(b, e)),
            Stmt::Call { func, args } => Stmt::Call { func, args: args.into_iter().map(|a| self.arg(b, a)).collect() },
            Stmt::At(loc, body) => Stmt::At(loc, self.boxed(b, *body)),
        }
    }

    fn boxed(&mut self, b: &mut Builder, stmt: Stmt) -> Box<Stmt> {
        Box::new(self.stmt(b, stmt))
    }

    fn arg(&mut self, b: &mut Builder, arg: CallArg) -> CallArg {
        match arg {
            CallArg::Buffer(buf) => CallArg::Buffer(buf),
            CallArg::Value(e) => CallArg::Value(self.expr(b, e)),
        }
    }

    fn regions(&mut self, b: &mut Builder, regions: Vec<Region>) -> Vec<Region> {
        let mut region = |r: Region| Region {
            buf: r.buf,
            ranges: r.ranges.iter().map(|(x, y)| (self.expr(b, *x), self.expr(b, *y))).collect(),
        };
        regions.into_iter().map(&mut region).collect()
    }

    fn block(&mut self, b: &mut Builder, block: Block) -> Block {
        let iters = block
            .iters
            .into_iter()
            .map(|i| IterVar { extent: self.expr(b, i.extent), value: self.expr(b, i.value), ..i })
            .collect();
        Block {
            name: block.name,
            iters,
            reads: self.regions(b, block.reads),
            writes: self.regions(b, block.writes),
            init: block.init.map(|s| self.stmt(b, s)),
            predicate: block.predicate.map(|e| self.expr(b, e)),
            body: self.stmt(b, block.body),
        }
    }
}
