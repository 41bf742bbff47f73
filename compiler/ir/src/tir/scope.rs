//! What is known inside of a statement: loops bound their variables, conditions hold in their branches.

use super::{Block, Elem, ExprId, Stmt, VarId, Viewer};
use crate::arith::IntExpr;

impl Viewer<'_> {
    /// Runs `f`; what it assumes is forgotten after.
    pub fn scope<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        self.prover.push_scope();
        let result = f(self);
        self.prover.pop_scope();
        result
    }

    /// Inside of a loop.
    pub fn enter_loop(&mut self, var: VarId, min: ExprId, extent: ExprId) {
        let (start, count) = (self.int(min), self.int(extent));
        let end = &start + &count;
        // A loop to nowhere counts up to what no arithmetic on it survives.
        if self.is_wild(&end) {
            self.set_wild(self.sym(var));
        }
        if self.fits(&end) || start.as_const() == Some(0) {
            self.range(var, &start, &end);
        }
    }

    /// Inside of a block: its iterators lie in their extents and are what they are bound to.
    pub fn enter_block(&mut self, block: &Block) {
        for iter in &block.iters {
            let extent = self.int(iter.extent);
            self.bind(iter.var, iter.value);
            self.range(iter.var, &IntExpr::from(0), &extent);
        }
        if let Some(cond) = block.predicate {
            self.assume_holds(cond);
        }
    }

    /// A variable has a value.
    pub fn bind(&mut self, var: VarId, value: ExprId) {
        let ty = self.func().vars[var.0 as usize].ty;
        let float = matches!(ty.elem, Elem::Scalar(d) if d.is_float());
        if float || ty.lanes != 1 {
            return;
        }
        let value = self.int(value);
        if self.is_wild(&value) {
            self.set_wild(self.sym(var));
        }
        let var = IntExpr::var(self.sym(var));
        self.prover.assume_eq(&var, &value);
    }

    /// A condition holds.
    pub fn assume_holds(&mut self, cond: ExprId) {
        for fact in self.holds(cond) {
            self.prover.assume(fact);
        }
    }

    /// A condition does not hold.
    pub fn assume_fails(&mut self, cond: ExprId) {
        for fact in self.fails(cond) {
            self.prover.assume(fact);
        }
    }

    /// Calls `f` on every statement inside `stmt` and on itself, outer ones first, each with what is known before it.
    pub fn walk<'s>(&mut self, stmt: &'s Stmt, f: &mut impl FnMut(&mut Self, &'s Stmt)) {
        f(self, stmt);
        match stmt {
            Stmt::For { var, min, extent, body, .. } => self.scope(|v| {
                v.enter_loop(*var, *min, *extent);
                v.walk(body, f);
            }),
            Stmt::While { cond, body } => self.scope(|v| {
                v.assume_holds(*cond);
                v.walk(body, f);
            }),
            Stmt::If { cond, then, otherwise } => {
                self.scope(|v| {
                    v.assume_holds(*cond);
                    v.walk(then, f);
                });
                otherwise.iter().for_each(|other| {
                    self.scope(|v| {
                        v.assume_fails(*cond);
                        v.walk(other, f);
                    });
                });
            }
            Stmt::Let { var, value, body } => self.scope(|v| {
                v.bind(*var, *value);
                v.walk(body, f);
            }),
            Stmt::Block(block) => self.scope(|v| {
                v.enter_block(block);
                block.init.iter().chain([&block.body]).for_each(|s| v.walk(s, f));
            }),
            Stmt::Seq(_)
            | Stmt::Alloc { .. }
            | Stmt::At(..)
            | Stmt::Store { .. }
            | Stmt::Evaluate(_)
            | Stmt::Call { .. }
            | Stmt::Barrier(_)
            | Stmt::Assert { .. }
            | Stmt::Prefetch { .. } => {
                stmt.children().into_iter().for_each(|s| self.walk(s, f));
            }
        }
    }

    fn range(&mut self, var: VarId, lo: &IntExpr, hi: &IntExpr) {
        let sym = self.sym(var);
        self.prover.assume_range(&sym, lo, hi);
    }
}
