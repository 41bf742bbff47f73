//! Rewrites expressions bottom-up, and statements by their parts; collects what they read, write and name.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::{Access, BufId, Builder, Expr, ExprId, PrimFunc, Stmt, VarId};

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
        let old = b.func().exprs.get(id).clone();
        let new = map_operands(old.clone(), &mut |e| self.expr(b, e));
        let ty = b.ty(id);
        let rebuilt = if new == old { id } else { b.raw(new, ty) };
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
        let stmt = stmt.map_exprs(&mut |e| self.expr(b, e));
        stmt.map_children(&mut |s| self.stmt(b, s))
    }
}

/// A map that puts expressions in the place of variables. (TVM: Substitute.)
pub fn substitution(to: &BTreeMap<VarId, ExprId>) -> ExprMap<impl FnMut(&mut Builder, ExprId) -> ExprId + '_> {
    ExprMap::new(|b: &mut Builder, id| match b.func().exprs.get(id) {
        Expr::Var(v) => to.get(v).copied().unwrap_or(id),
        _ => id,
    })
}

/// An expression with its operands replaced.
pub fn map_operands(expr: Expr, f: &mut impl FnMut(ExprId) -> ExprId) -> Expr {
    match expr {
        Expr::Const(_) | Expr::Index(_) | Expr::Var(_) => expr,
        Expr::Unary(op, a) => Expr::Unary(op, f(a)),
        Expr::Binary(op, a, b) => {
            let (a, b) = (f(a), f(b));
            Expr::Binary(op, a, b)
        }
        Expr::Compare(op, a, b) => {
            let (a, b) = (f(a), f(b));
            Expr::Compare(op, a, b)
        }
        Expr::If(c, a, b) => {
            let (c, a, b) = (f(c), f(a), f(b));
            Expr::If(c, a, b)
        }
        Expr::Select(c, a, b) => {
            let (c, a, b) = (f(c), f(a), f(b));
            Expr::Select(c, a, b)
        }
        Expr::Cast(ty, a) => Expr::Cast(ty, f(a)),
        Expr::Load { buf, index, access } => Expr::Load { buf, index: index.into_iter().map(f).collect(), access },
        Expr::Call(g, args, ty) => Expr::Call(g, args.into_iter().map(f).collect(), ty),
        Expr::Ramp(a, b, lanes) => {
            let (a, b) = (f(a), f(b));
            Expr::Ramp(a, b, lanes)
        }
        Expr::Broadcast(a, lanes) => Expr::Broadcast(f(a), lanes),
        Expr::Shuffle(vectors, lanes) => Expr::Shuffle(vectors.into_iter().map(f).collect(), lanes),
    }
}

/// A read or a write of a buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BufAccess {
    /// Whose.
    pub buf: BufId,
    /// Where; `None` is anywhere, as in a call.
    pub index: Option<Vec<ExprId>>,
    /// Whether it writes.
    pub write: bool,
    /// Proven or vouched for.
    pub access: Access,
}

/// The loads and stores of a statement itself, without the statements inside of it.
pub fn own_accesses(func: &PrimFunc, stmt: &Stmt) -> Vec<BufAccess> {
    let mut all = Vec::new();
    for id in func.reachable(stmt.exprs()) {
        if let Expr::Load { buf, index, access } = func.exprs.get(id) {
            all.push(BufAccess { buf: *buf, index: Some(index.clone()), write: false, access: *access });
        }
    }
    match stmt {
        Stmt::Store { buf, index, access, .. } => {
            all.push(BufAccess { buf: *buf, index: Some(index.clone()), write: true, access: *access });
        }
        // What a callee does with a buffer is its own business: both.
        Stmt::Call { args, .. } => {
            for arg in args {
                if let super::CallArg::Buffer(buf) = arg {
                    let access = Access::Proven;
                    all.push(BufAccess { buf: *buf, index: None, write: false, access });
                    all.push(BufAccess { buf: *buf, index: None, write: true, access });
                }
            }
        }
        Stmt::Seq(_)
        | Stmt::For { .. }
        | Stmt::While { .. }
        | Stmt::If { .. }
        | Stmt::Let { .. }
        | Stmt::Alloc { .. }
        | Stmt::Block(_)
        | Stmt::Evaluate(_)
        | Stmt::Barrier(_)
        | Stmt::Assert { .. }
        | Stmt::Prefetch { .. }
        | Stmt::At(..) => {}
    }
    all
}

/// The loads and stores of a statement and of those inside of it.
pub fn accesses(func: &PrimFunc, stmt: &Stmt) -> Vec<BufAccess> {
    let mut all = Vec::new();
    stmt.walk(&mut |s| all.extend(own_accesses(func, s)));
    all
}

/// The buffers that a statement may write.
pub fn written(func: &PrimFunc, stmt: &Stmt) -> BTreeSet<BufId> {
    accesses(func, stmt).into_iter().filter(|a| a.write).map(|a| a.buf).collect()
}

/// The buffers that a statement may read.
pub fn read(func: &PrimFunc, stmt: &Stmt) -> BTreeSet<BufId> {
    accesses(func, stmt).into_iter().filter(|a| !a.write).map(|a| a.buf).collect()
}

/// The variables that an expression names.
pub fn expr_vars(func: &PrimFunc, e: ExprId) -> BTreeSet<VarId> {
    let var = |id: ExprId| match func.exprs.get(id) {
        Expr::Var(v) => Some(*v),
        _ => None,
    };
    func.reachable([e]).into_iter().filter_map(var).collect()
}

/// The variables that a statement names and does not bind.
pub fn free_vars(func: &PrimFunc, stmt: &Stmt) -> BTreeSet<VarId> {
    let (mut used, mut bound) = (BTreeSet::new(), BTreeSet::new());
    stmt.walk(&mut |s| {
        bound.extend(s.bound());
        s.exprs().into_iter().for_each(|e| used.extend(expr_vars(func, e)));
    });
    // Every variable is bound at one place, so what is bound inside is not free.
    used.difference(&bound).copied().collect()
}

impl PrimFunc {
    /// The texts of its [`Stmt::Assert`]s, each once, in order: the status of a check is its place here, from 1.
    pub fn checks(&self) -> Vec<String> {
        let mut texts: Vec<String> = Vec::new();
        self.body.walk(&mut |s| {
            if let Stmt::Assert { text, .. } = s
                && !texts.contains(text)
            {
                texts.push(text.clone());
            }
        });
        texts
    }
}
