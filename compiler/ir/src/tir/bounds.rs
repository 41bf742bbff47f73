//! Redoes the proof of every access: each index lies inside its axis.

use crate::arith::{Fact, IntExpr};
use crate::tir::{Access, Block, BufId, Elem, Expr, ExprId, PrimFunc, Region, Stmt, VarId, Viewer, operands};

/// An access that cannot be proven.
#[derive(Clone, Debug)]
pub struct Unproven {
    /// What is not proven.
    pub text: String,
    /// Whether the index, or a condition around it, is made of a value that may be anything, so that arithmetic on it may
    /// wrap.
    pub may_wrap: bool,
}

/// The accesses that cannot be proven, one text each. `func` has not been flattened.
pub fn verify_bounds(func: &PrimFunc) -> Vec<String> {
    unproven(func).into_iter().map(|it| it.text).collect()
}

/// The accesses that cannot be proven. `func` has not been flattened.
pub fn unproven(func: &PrimFunc) -> Vec<Unproven> {
    let mut check = Check { func, viewer: Viewer::new(func), wrapped: false, errors: Vec::new() };
    check.stmt(&func.body);
    check.errors
}

struct Check<'f> {
    func: &'f PrimFunc,
    viewer: Viewer<'f>,
    /// Whether a condition that holds here is about a value that may have wrapped.
    wrapped: bool,
    errors: Vec<Unproven>,
}

impl Check<'_> {
    fn scope(&mut self, f: impl FnOnce(&mut Self)) {
        let wrapped = self.wrapped;
        self.viewer.prover.push_scope();
        f(self);
        self.viewer.prover.pop_scope();
        self.wrapped = wrapped;
    }

    fn sym(&self, var: VarId) -> crate::arith::Sym {
        self.func.vars[var.0 as usize].sym.clone()
    }

    fn var(&self, var: VarId) -> IntExpr {
        IntExpr::var(self.sym(var))
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Seq(all) => all.iter().for_each(|s| self.stmt(s)),
            Stmt::For { var, min, extent, body, .. } => {
                self.expr(*min);
                self.expr(*extent);
                if self.is_empty(*extent) {
                    return;
                }
                self.scope(|c| {
                    let (start, count) = (c.viewer.int(*min), c.viewer.int(*extent));
                    let end = &start + &count;
                    // A loop to nowhere counts up to what no arithmetic on it survives.
                    if c.viewer.is_wild(&end) {
                        c.viewer.set_wild(c.sym(*var));
                    }
                    if c.viewer.fits(&end) || start.as_const() == Some(0) {
                        c.range(*var, &start, &end);
                    }
                    c.stmt(body);
                });
            }
            Stmt::While { cond, body } => {
                self.expr(*cond);
                self.scope(|c| {
                    c.assume_holds(*cond);
                    c.stmt(body);
                });
            }
            Stmt::If { cond, then, otherwise } => {
                self.expr(*cond);
                self.scope(|c| {
                    c.assume_holds(*cond);
                    c.stmt(then);
                });
                if let Some(other) = otherwise {
                    self.scope(|c| {
                        c.assume_fails(*cond);
                        c.stmt(other);
                    });
                }
            }
            Stmt::Let { var, value, body } => {
                self.expr(*value);
                self.scope(|c| {
                    c.bind(*var, *value);
                    c.stmt(body);
                });
            }
            Stmt::Assert { cond, .. } => self.expr(*cond),
            // What is asked for need not be there.
            Stmt::Prefetch { index, .. } => index.iter().for_each(|i| self.expr(*i)),
            Stmt::Barrier(_) => {}
            Stmt::Alloc { body, .. } | Stmt::At(_, body) => self.stmt(body),
            Stmt::Store { buf, index, value, access } => {
                index.iter().for_each(|i| self.expr(*i));
                self.expr(*value);
                self.access(*buf, index, *access);
            }
            Stmt::Block(block) => self.block(block),
            Stmt::Evaluate(e) => self.expr(*e),
            // Values passed are checked against the callee's facts where the callee is made.
            Stmt::Call { .. } => {}
        }
    }

    /// Whether what an extent counts never happens: there every index is as good as another, and whoever made it may
    /// have concluded anything.
    fn is_empty(&mut self, extent: ExprId) -> bool {
        self.viewer.int(extent).as_const().is_some_and(|count| count <= 0)
    }

    fn block(&mut self, block: &Block) {
        if block.iters.iter().any(|iter| self.is_empty(iter.extent)) {
            return;
        }
        self.scope(|c| {
            for iter in &block.iters {
                c.expr(iter.value);
                let extent = c.viewer.int(iter.extent);
                c.bind(iter.var, iter.value);
                c.range(iter.var, &IntExpr::from(0), &extent);
            }
            if let Some(p) = block.predicate {
                c.expr(p);
                c.assume_holds(p);
            }
            block.matches.iter().for_each(|m| c.region(&m.region));
            block.init.iter().for_each(|s| c.stmt(s));
            c.stmt(&block.body);
        });
    }

    /// What a view shows lies inside; inside the view its own axes are what counts.
    fn region(&mut self, region: &Region) {
        let data = &self.func.buffers[region.buf.0 as usize];
        for (axis, ((begin, extent), whole)) in region.ranges.iter().zip(&data.shape).enumerate() {
            let (begin, extent) = (self.viewer.int(*begin), self.viewer.int(*extent));
            let end = &begin + &extent;
            if !(self.viewer.prover.prove_ge0(&begin) && self.viewer.prover.prove_le(&end, whole)) {
                let (name, func) = (&data.name, &self.func.name);
                let text = format!("`{func}`: the view of `{name}` ends at `{end}`, axis {axis} at {whole}");
                self.errors.push(Unproven { text, may_wrap: self.wrapped || self.viewer.is_wild(&end) });
            }
        }
    }

    fn range(&mut self, var: VarId, lo: &IntExpr, hi: &IntExpr) {
        let sym = self.sym(var);
        self.viewer.prover.assume_range(&sym, lo, hi);
    }

    fn bind(&mut self, var: VarId, value: ExprId) {
        let float = matches!(self.func.vars[var.0 as usize].ty.elem, Elem::Scalar(d) if d.is_float());
        if !float {
            let value = self.viewer.int(value);
            if self.viewer.is_wild(&value) {
                self.viewer.set_wild(self.sym(var));
            }
            let var = self.var(var);
            self.viewer.prover.assume_eq(&var, &value);
        }
    }

    fn assume_holds(&mut self, cond: ExprId) {
        let facts = self.viewer.holds(cond);
        self.assume(facts);
    }

    fn assume_fails(&mut self, cond: ExprId) {
        let facts = self.viewer.fails(cond);
        self.assume(facts);
    }

    fn assume(&mut self, facts: Vec<Fact>) {
        for fact in facts {
            self.wrapped |= self.viewer.is_wrapped(&fact);
            self.viewer.prover.assume(fact);
        }
    }

    fn expr(&mut self, id: ExprId) {
        match self.func.exprs.get(id) {
            Expr::If(c, a, b) => {
                self.expr(*c);
                self.scope(|s| {
                    s.assume_holds(*c);
                    s.expr(*a);
                });
                self.scope(|s| {
                    s.assume_fails(*c);
                    s.expr(*b);
                });
            }
            Expr::Load { buf, index, access } => {
                index.iter().for_each(|i| self.expr(*i));
                self.access(*buf, index, *access);
            }
            expr => operands(expr).into_iter().for_each(|o| self.expr(o)),
        }
    }

    /// The least and the greatest value that an index has in its lanes.
    fn ends(&mut self, id: ExprId) -> Vec<IntExpr> {
        match self.func.exprs.get(id) {
            Expr::Broadcast(a, _) => self.ends(*a),
            Expr::Ramp(base, stride, lanes) => {
                let (base, stride) = (self.viewer.int(*base), self.viewer.int(*stride));
                let last = &base + &(&stride * &IntExpr::from(i64::from(*lanes) - 1));
                vec![base, last]
            }
            _ => vec![self.viewer.int(id)],
        }
    }

    fn inside(&self, index: &IntExpr, extent: &IntExpr) -> bool {
        self.viewer.prover.prove_ge0(index) && self.viewer.prover.prove_lt(index, extent)
    }

    /// Whether an index that is one of two values lies inside as each of them, where its condition chooses that one: a
    /// proof looks into few alternatives of a value without a name.
    fn either_inside(&mut self, id: ExprId, extent: &IntExpr) -> bool {
        let (Expr::If(cond, a, b) | Expr::Select(cond, a, b)) = self.func.exprs.get(id) else { return false };
        [(*a, true), (*b, false)].into_iter().all(|(value, holds)| {
            let mut lies = false;
            self.scope(|c| {
                if holds {
                    c.assume_holds(*cond)
                } else {
                    c.assume_fails(*cond)
                }
                let index = c.viewer.int(value);
                lies = c.inside(&index, extent) || c.viewer.prover.contradictory() || c.either_inside(value, extent);
            });
            lies
        })
    }

    fn access(&mut self, buf: BufId, index: &[ExprId], access: Access) {
        if access == Access::Unchecked {
            return;
        }
        let data = &self.func.buffers[buf.0 as usize];
        for (axis, (id, extent)) in index.iter().zip(&data.shape).enumerate() {
            for i in self.ends(*id) {
                // Where conditions exclude each other nothing runs, whatever they are about.
                if self.inside(&i, extent) || self.viewer.prover.contradictory() || self.either_inside(*id, extent) {
                    continue;
                }
                let (name, func) = (&data.name, &self.func.name);
                let text =
                    format!("`{func}`: index `{i}` of axis {axis} of `{name}` is not proven to lie in 0..{extent}");
                let may_wrap = self.wrapped || self.viewer.is_wild(&i);
                self.errors.push(Unproven { text, may_wrap });
            }
        }
        if index.len() != data.shape.len() {
            let (n, rank, name) = (index.len(), data.shape.len(), &data.name);
            let text = format!("{n} indices for `{name}` of rank {rank}");
            self.errors.push(Unproven { text, may_wrap: false });
        }
    }
}
