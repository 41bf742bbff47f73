//! `Simplify`: indices and conditions in their shortest form, and no branch that a proof decides.
//!
//! Runs on any phase. What encloses a statement is known inside of it: ranges of loops and blocks, conditions, values of
//! variables, the function's facts. Index expressions become what `arith` makes of them where that has fewer nodes;
//! conditions that are proven, or whose opposite is, become constants and their branches go; loops of one turn and
//! variables that name a literal or another variable are written out. Floats are left as they are: no rule here rounds.

mod fold;
mod rules;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::arith::{IntExpr, Prover, Sym, View};
use tenfold_ir::op::BinaryOp;
use tenfold_ir::tir::{Block, Builder, Expr, ExprId, LoopKind, PrimFunc, Scope, Stmt, Ty, VarId, Viewer, map_operands};
use tenfold_ir::{DType, Module};

use super::rewrite_body;
use crate::CompileError;
use crate::pass::{Pass, PassContext, PassPhase};

/// The pass.
pub(crate) const PASS: Pass = Pass::on_prim_func("Simplify", &run)
    .at_level(2)
    .in_phase(PassPhase::Flat)
    .about("puts indices and conditions into their shortest form and drops branches that a proof decides");

fn run(func: PrimFunc, _: &Module, _: &PassContext) -> Result<PrimFunc, CompileError> {
    let before = func.clone();
    Ok(rewrite_body(func, |b, body| {
        let (v, extents) = (Viewer::new(&before), extent_symbols(&before));
        let (vars, memo) = (BTreeMap::new(), vec![BTreeMap::new()]);
        let mut work = Work { v, b, extents, vars, memo, bound: Vec::new(), inner: Inner::default() };
        work.stmt(body)
    }))
}

/// Nodes beyond which an expression is not given to the prover.
const LARGEST: usize = 48;
/// Nodes that an expression may have more for fewer variables in its quotients.
const MORE: usize = 4;
/// Divisions, minima and choices beyond which it is not.
const MOST_CASES: usize = 4;

struct Work<'f, 'b> {
    /// Reads expressions as they were.
    v: Viewer<'f>,
    b: &'b mut Builder,
    /// What extents of buffers name.
    extents: BTreeSet<Sym>,
    /// Variables that are written out.
    vars: BTreeMap<VarId, ExprId>,
    /// What the statement's expressions have become, a layer per branch.
    memo: Vec<BTreeMap<ExprId, ExprId>>,
    /// What loops and names around bind, the innermost last.
    bound: Vec<Sym>,
    inner: Inner,
}

/// What the innermost block says of names: it is moved without what is around it, and speaks of its iterators alone.
#[derive(Clone, Default)]
struct Inner {
    /// Iterators that stand for a variable of a loop.
    iters: BTreeMap<Sym, IntExpr>,
    /// How many names are bound around the block.
    outside: usize,
}

impl Work<'_, '_> {
    fn inside<R>(&mut self, assume: impl FnOnce(&mut Viewer<'_>), f: impl FnOnce(&mut Self) -> R) -> R {
        self.v.prover.push_scope();
        assume(&mut self.v);
        let result = f(self);
        self.v.prover.pop_scope();
        result
    }

    /// A statement in which a variable is bound.
    fn under_name(&mut self, var: VarId, assume: impl FnOnce(&mut Viewer<'_>), body: Stmt) -> Stmt {
        self.bound.push(self.v.sym(var));
        let body = self.inside(assume, |w| w.stmt(body));
        self.bound.pop();
        body
    }

    /// A part of a statement: nothing that an earlier one became holds any more.
    fn fresh(&mut self, id: ExprId) -> ExprId {
        self.memo = vec![BTreeMap::new()];
        self.expr(id)
    }

    fn stmt(&mut self, stmt: Stmt) -> Stmt {
        match stmt {
            Stmt::Seq(all) => Stmt::seq(all.into_iter().map(|s| self.stmt(s)).collect::<Vec<_>>()),
            Stmt::For { var, min, extent, kind, annotations, body } => {
                let (new_min, new_extent) = (self.fresh(min), self.fresh(extent));
                match self.few_turns(var, (min, new_min), new_extent, kind, &body) {
                    Some(stmt) => stmt,
                    None => {
                        let body = Box::new(self.under_name(var, |v| v.enter_loop(var, min, extent), *body));
                        Stmt::For { var, min: new_min, extent: new_extent, kind, annotations, body }
                    }
                }
            }
            Stmt::While { cond, body } => {
                let new = self.fresh(cond);
                let body = Box::new(self.inside(|v| v.assume_holds(cond), |w| w.stmt(*body)));
                Stmt::While { cond: new, body }
            }
            Stmt::If { cond, then, otherwise } => self.branch(cond, *then, otherwise.map(|s| *s)),
            Stmt::Let { var, value, body } => {
                let new = self.fresh(value);
                let cheap = matches!(self.b.func().exprs.get(new), Expr::Const(_) | Expr::Index(_) | Expr::Var(_));
                if cheap && !self.in_extents(var) {
                    self.vars.insert(var, new);
                    return self.inside(|v| v.bind(var, value), |w| w.stmt(*body));
                }
                let body = Box::new(self.under_name(var, |v| v.bind(var, value), *body));
                Stmt::Let { var, value: new, body }
            }
            Stmt::Block(block) => self.block(*block),
            Stmt::Assert { cond, text } => {
                let cond = self.fresh(cond);
                if self.known(cond) == Some(true) { Stmt::nop() } else { Stmt::Assert { cond, text } }
            }
            Stmt::Store { .. } | Stmt::Evaluate(_) | Stmt::Call { .. } | Stmt::Prefetch { .. } | Stmt::Barrier(_) => {
                self.memo = vec![BTreeMap::new()];
                stmt.map_exprs(&mut |e| self.expr(e))
            }
            Stmt::Alloc { .. } | Stmt::At(..) => stmt.map_children(&mut |s| self.stmt(s)),
        }
    }

    /// A loop of one turn or none without the loop.
    fn few_turns(
        &mut self,
        var: VarId,
        (min, new_min): (ExprId, ExprId),
        extent: ExprId,
        kind: LoopKind,
        body: &Stmt,
    ) -> Option<Stmt> {
        let Expr::Index(turns) = *self.b.func().exprs.get(extent) else { return None };
        let threads = matches!(kind, LoopKind::ThreadBound(_) | LoopKind::VThread);
        if turns > 1 || turns == 1 && threads {
            return None;
        }
        if turns <= 0 {
            return Some(Stmt::nop());
        }
        let body = body.clone();
        let cheap = matches!(self.b.func().exprs.get(new_min), Expr::Index(_) | Expr::Var(_));
        if cheap && !self.in_extents(var) {
            self.vars.insert(var, new_min);
            return Some(self.inside(|v| v.bind(var, min), |w| w.stmt(body)));
        }
        let body = Box::new(self.under_name(var, |v| v.bind(var, min), body));
        Some(Stmt::Let { var, value: new_min, body })
    }

    fn branch(&mut self, cond: ExprId, then: Stmt, otherwise: Option<Stmt>) -> Stmt {
        let new = self.fresh(cond);
        match self.known(new) {
            Some(true) => self.inside(|v| v.assume_holds(cond), |w| w.stmt(then)),
            Some(false) => match otherwise {
                Some(other) => self.inside(|v| v.assume_fails(cond), |w| w.stmt(other)),
                None => Stmt::nop(),
            },
            None => {
                let then = Box::new(self.inside(|v| v.assume_holds(cond), |w| w.stmt(then)));
                let otherwise = otherwise.map(|s| Box::new(self.inside(|v| v.assume_fails(cond), |w| w.stmt(s))));
                Stmt::If { cond: new, then, otherwise }
            }
        }
    }

    fn block(&mut self, block: Block) -> Stmt {
        let iters: Vec<_> = block.iters.iter().map(|i| (self.fresh(i.extent), self.fresh(i.value))).collect();
        let outer = self.inner.clone();
        self.inner.outside = self.bound.len();
        for iter in &block.iters {
            if let Expr::Var(var) = self.v.func().exprs.get(iter.value) {
                self.inner.iters.insert(self.v.sym(*var), IntExpr::var(self.v.sym(iter.var)));
            }
        }
        self.v.prover.push_scope();
        self.v.enter_block(&Block { iters: block.iters.clone(), ..Block::new("", Stmt::nop()) });
        let predicate = block.predicate.map(|p| (p, self.fresh(p)));
        if let Some((old, _)) = predicate {
            self.v.assume_holds(old);
        }
        let init = block.init.map(|s| self.stmt(s));
        let body = self.stmt(block.body);
        self.v.prover.pop_scope();
        self.inner = outer;
        let mut new = Block { init, body, predicate: predicate.map(|(_, p)| p), iters: block.iters, ..block };
        for (iter, (extent, value)) in new.iters.iter_mut().zip(iters) {
            (iter.extent, iter.value) = (extent, value);
        }
        if new.predicate.is_some_and(|p| self.known(p) == Some(true)) {
            new.predicate = None;
        }
        Stmt::Block(Box::new(new))
    }

    /// Whether an allocation's extents name a variable, which must then stay.
    fn in_extents(&self, var: VarId) -> bool {
        self.extents.contains(&self.v.sym(var))
    }

    /// What a condition always is.
    fn known(&self, cond: ExprId) -> Option<bool> {
        match self.b.func().exprs.get(cond) {
            Expr::Const(s) if s.dtype == DType::Bool => Some(s.bits != 0),
            _ => None,
        }
    }

    // Expressions.

    fn expr(&mut self, id: ExprId) -> ExprId {
        if let Some(done) = self.memo.iter().rev().find_map(|layer| layer.get(&id)) {
            return *done;
        }
        let new = self.shortest(id);
        if let Some(layer) = self.memo.last_mut() {
            layer.insert(id, new);
        }
        new
    }

    /// One branch of a choice, where its condition is known.
    fn under(&mut self, assume: impl FnOnce(&mut Viewer<'_>), id: ExprId) -> ExprId {
        self.memo.push(BTreeMap::new());
        let new = self.inside(assume, |w| w.expr(id));
        self.memo.pop();
        new
    }

    fn shortest(&mut self, id: ExprId) -> ExprId {
        let new = self.rebuilt(id);
        let ty = self.b.ty(new);
        if ty == Ty::index() && self.may_shrink(new) {
            return self.as_polynomial(id, new);
        }
        if ty == Ty::bool()
            && matches!(self.v.func().exprs.get(id), Expr::Compare(..))
            && let Some(holds) = self.decided(id, new)
        {
            return self.b.scalar(tenfold_ir::Scalar::bool(holds));
        }
        new
    }

    fn rebuilt(&mut self, id: ExprId) -> ExprId {
        let ty = self.b.ty(id);
        match self.v.func().exprs.get(id).clone() {
            Expr::Var(v) => self.vars.get(&v).copied().unwrap_or(id),
            Expr::If(c, x, y) => {
                let cond = self.expr(c);
                match self.known(cond) {
                    Some(true) => self.expr(x),
                    Some(false) => self.expr(y),
                    None => {
                        let x = self.under(|v| v.assume_holds(c), x);
                        let y = self.under(|v| v.assume_fails(c), y);
                        fold::expr(self.b, Expr::If(cond, x, y), ty)
                    }
                }
            }
            expr => {
                let expr = map_operands(expr, &mut |e| self.expr(e));
                fold::expr(self.b, expr, ty)
            }
        }
    }

    /// Whether a proof about an expression is cheap to look for: few cases to tell apart.
    fn easy(&self, id: ExprId) -> bool {
        let func = self.b.func();
        let nodes = func.reachable([id]);
        let cases = nodes.iter().filter(|e| match func.exprs.get(**e) {
            Expr::If(..) | Expr::Select(..) => true,
            Expr::Binary(op, ..) => !matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul),
            _ => false,
        });
        nodes.len() <= LARGEST && cases.count() <= MOST_CASES
    }

    /// Whether the prover may know more than the folding of constants does.
    fn may_shrink(&self, id: ExprId) -> bool {
        !matches!(self.b.func().exprs.get(id), Expr::Index(_) | Expr::Var(_) | Expr::Load { .. } | Expr::Cast(..))
            && self.easy(id)
    }

    /// The index as a polynomial of what it is made of, if that is shorter, or a little longer with fewer variables in
    /// its quotients: what the lanes of a vector are added to then is the same for all of them.
    fn as_polynomial(&mut self, old: ExprId, new: ExprId) -> ExprId {
        let value = self.v.int(old);
        // What is an atom as a whole has nothing to be taken apart.
        if value.as_var().is_some_and(|sym| atom(sym) == Some(old)) {
            return new;
        }
        let short = self.v.prover.simplify(&value).substitute(&|sym| self.inner.iters.get(sym).cloned());
        if short.vars().is_empty() {
            return short.as_const().map_or(new, |n| self.b.index(n));
        }
        let before = size(self.b.func(), new);
        if cost(&short) > before + MORE || !self.bind_atoms(&short, &value) {
            return new;
        }
        let made = self.b.int_expr(&short);
        let (func, after) = (self.b.func(), size(self.b.func(), made));
        let apart = || after <= before + MORE && divided(func, made) < divided(func, new);
        if after < before || apart() { made } else { new }
    }

    /// Tells the builder what each symbol stands for now; what it may divide by must be positive. An atom that `from`
    /// is not made of is no part of the expression, or what memory held at another time; a name that is bound outside of
    /// the block need not be there.
    fn bind_atoms(&mut self, e: &IntExpr, from: &IntExpr) -> bool {
        let own = from.vars();
        for sym in e.vars() {
            let of = match (atom(&sym), self.b.var_of(&sym)) {
                (Some(_), _) if !own.contains(&sym) => return false,
                (None, _) if !own.contains(&sym) && self.bound[..self.inner.outside].contains(&sym) => return false,
                (Some(id), _) => {
                    let id = self.expr(id);
                    self.b.to_index(id)
                }
                (None, Some(var)) => {
                    let read = self.b.read(var);
                    let read = self.vars.get(&var).copied().unwrap_or(read);
                    self.b.to_index(read)
                }
                (None, None) => return false,
            };
            self.b.bind_atom(sym, of);
        }
        positive_divisors(self.b, &self.v.prover, e)
    }

    /// What a comparison of integers always is here.
    fn decided(&mut self, old: ExprId, new: ExprId) -> Option<bool> {
        if let Some(known) = self.known(new) {
            return Some(known);
        }
        if !self.easy(new) {
            return None;
        }
        let fact = self.v.fact(old)?;
        if self.v.prover.prove(&fact) {
            return Some(true);
        }
        self.v.prover.prove(&fact.negate()).then_some(false)
    }
}

/// Symbols that extents of buffers are made of, parameters' apart.
fn extent_symbols(func: &PrimFunc) -> BTreeSet<Sym> {
    let own = func.buffers.iter().filter(|buffer| buffer.scope != Scope::Param);
    let exprs = own.flat_map(|buffer| {
        let ranges = buffer.range.iter().flat_map(|(lo, hi)| [lo, hi]);
        buffer.shape.iter().chain(buffer.strides.iter().flatten()).chain(&buffer.offset).chain(ranges)
    });
    exprs.flat_map(|e| e.vars()).collect()
}

/// The expression that an atom of a [`Viewer`] stands for: `%7`, or `%7.2` where it may differ each time it is read.
fn atom(sym: &Sym) -> Option<ExprId> {
    let number = sym.as_str().strip_prefix('%')?;
    let number = number.split('.').next().unwrap_or(number);
    number.parse().ok().map(ExprId)
}

/// Nodes of an expression, shared ones once.
fn size(func: &PrimFunc, id: ExprId) -> usize {
    func.reachable([id]).len()
}

/// Variables in what quotients and remainders of an expression are taken of.
fn divided(func: &PrimFunc, id: ExprId) -> usize {
    let dividend = |e: ExprId| match func.exprs.get(e) {
        Expr::Binary(op, a, _) if is_division(*op) => Some(*a),
        _ => None,
    };
    let dividends: Vec<ExprId> = func.reachable([id]).into_iter().filter_map(dividend).collect();
    let is_var = |e: &ExprId| matches!(func.exprs.get(*e), Expr::Var(_));
    func.reachable(dividends).into_iter().filter(is_var).count()
}

fn is_division(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Div | BinaryOp::Rem | BinaryOp::DivEuclid | BinaryOp::RemEuclid)
}

/// About how many nodes an integer expression has as one of tir.
fn cost(e: &IntExpr) -> usize {
    let pair = |a: &IntExpr, b: &IntExpr| 1 + cost(a) + cost(b);
    match e.view() {
        View::Const(_) | View::Var(_) => 1,
        View::Add(all) | View::Mul(all) => all.iter().map(cost).sum::<usize>() + all.len().saturating_sub(1),
        View::FloorDiv(a, b)
        | View::FloorMod(a, b)
        | View::TruncDiv(a, b)
        | View::TruncRem(a, b)
        | View::Min(a, b)
        | View::Max(a, b) => pair(&a, &b),
    }
}

/// Whether every floor division is by what is known to be positive; the builder is told so.
fn positive_divisors(b: &mut Builder, prover: &Prover, e: &IntExpr) -> bool {
    match e.view() {
        View::Const(_) | View::Var(_) => true,
        View::Add(all) | View::Mul(all) => all.iter().all(|e| positive_divisors(b, prover, e)),
        View::FloorDiv(x, y) | View::FloorMod(x, y) => {
            let positive = prover.prove_ge0(&(&y - 1));
            if positive {
                b.know_positive(y.clone());
            }
            positive && positive_divisors(b, prover, &x) && positive_divisors(b, prover, &y)
        }
        View::TruncDiv(x, y) | View::TruncRem(x, y) | View::Min(x, y) | View::Max(x, y) => {
            positive_divisors(b, prover, &x) && positive_divisors(b, prover, &y)
        }
    }
}
