//! `&&` and `||`: the right side is evaluated only if it decides. Of elements, what the left side says is known in it;
//! of the graph, it must hold by itself.

use std::collections::BTreeSet;

use tenfold_ir::Scalar;
use tenfold_ir::op::{BinaryOp, ElementOp, UnaryOp};
use tenfold_ir::relax::{Binding, Op, TensorType, Type, bindings_of};
use tenfold_ir::tir::{self, Access, BufId, Builder, ExprId, Stmt, VarId};

use super::cx::Elaborator;
use super::number::{Truth, is_empty};
use super::value::{Cond, Value};
use crate::ast::{self, Expr, NodeId};

impl<'a> Elaborator<'a> {
    /// `a && b`, `a || b`.
    pub(super) fn logic(&mut self, node: NodeId, op: ast::BinaryOp, a: &'a Expr, b: &'a Expr) -> Value<'a> {
        let is_and = op == ast::BinaryOp::And;
        let x = self.expr(a, None);
        let cond = self.cond_of(&x);
        if let Value::Fixed(known) = &x
            && known.dtype.is_bool()
        {
            let y = self.expr(b, None);
            let Some(truth) = self.truth(b.node, &y) else { return Value::Unknown };
            let decides = (known.bits != 0) != is_and;
            let known = if decides { Some(!is_and) } else { None };
            return match (known, truth) {
                (Some(known), _) | (None, Truth::Known(known)) => Value::Fixed(Scalar::bool(known)),
                (None, Truth::Element(_) | Truth::Graph(_)) => y,
            };
        }
        if !self.inside {
            return self.graph_logic(node, is_and, (a, x, cond), b);
        }
        self.read_ahead(b);
        self.enter();
        let known = if is_and { cond.yes.clone() } else { cond.no.clone() };
        known.into_iter().for_each(|fact| self.assume(fact));
        self.kernel.branches += 1;
        let (stmt, y) = self.capture(|me| me.expr(b, None));
        self.kernel.branches -= 1;
        self.leave();
        let both = if is_and { cond.and(self.cond_of(&y)) } else { cond.or(self.cond_of(&y)) };
        let (Some(p), Some(q)) = (self.truth(a.node, &x), self.truth(b.node, &y)) else { return Value::Unknown };
        let result = match (p, q) {
            (Truth::Known(p), Truth::Known(q)) => Value::Fixed(Scalar::bool(if is_and { p && q } else { p || q })),
            (Truth::Known(_), _) => y,
            (_, Truth::Known(q)) if q == is_and => x,
            (Truth::Element(p), q) => {
                let q = self.truth_expr(q);
                Value::Scalar(self.short_circuit(is_and, (p, q), stmt, &both))
            }
            (Truth::Graph(_), _) => return Value::Unknown,
        };
        self.set_cond(&result, both);
        result
    }

    fn truth_expr(&mut self, truth: Truth) -> ExprId {
        match truth {
            Truth::Known(t) => self.kernel.scalar(Scalar::bool(t)),
            Truth::Element(e) => e,
            Truth::Graph(v) => {
                let buf = self.kernel.input(&self.graph, v);
                self.input_now(buf)
            }
        }
    }

    fn short_circuit(&mut self, is_and: bool, (p, q): (ExprId, ExprId), stmt: Stmt, known: &Cond) -> ExprId {
        if is_empty(&stmt) {
            return if is_and { self.kernel.b.and(p, q) } else { self.kernel.b.or(p, q) };
        }
        let hidden = bound_in(&stmt);
        let local = self.kernel.b.local("both", p);
        let store = Stmt::Store { buf: local, index: Vec::new(), value: q, access: Access::Proven };
        let cond = if is_and { p } else { self.kernel.b.unary(UnaryOp::Not, p) };
        let then = Box::new(super::compute::flat(vec![stmt, store]));
        self.push(Stmt::If { cond, then, otherwise: None });
        let both = self.kernel.b.read_local(local);
        // A local says nothing of index values, so what was known of them stands beside it.
        let enough = known.no.as_ref().and_then(|_| self.around_both(is_and, (p, q), false, &hidden));
        let needed = known.yes.as_ref().and_then(|_| self.around_both(is_and, (p, q), true, &hidden));
        let b = &mut self.kernel.b;
        let or_enough = |b: &mut Builder, both| enough.map_or(both, |enough| b.or(enough, both));
        let and_needed = |b: &mut Builder, both| needed.map_or(both, |needed| b.and(needed, both));
        // Of a conjunction that does not hold nothing is known, nor of a disjunction that does: the other one stands inside.
        if is_and {
            let both = or_enough(b, both);
            and_needed(b, both)
        } else {
            let both = and_needed(b, both);
            or_enough(b, both)
        }
    }

    /// An expression that may be read anywhere, without what `hidden` binds and without memory that changes: one that
    /// holds wherever the condition does if it is `needed`, else one that holds nowhere beside.
    fn around(&mut self, e: ExprId, needed: bool, hidden: &BTreeSet<VarId>) -> Option<ExprId> {
        if self.is_lasting(e, hidden) {
            return Some(e);
        }
        let constant = |me: &Self, e: ExprId| me.kernel.known_scalar(e).map(|s| s.bits != 0);
        match self.kernel.b.func().exprs.get(e).clone() {
            tir::Expr::Unary(UnaryOp::Not, a) => {
                let a = self.around(a, !needed, hidden)?;
                Some(self.kernel.b.unary(UnaryOp::Not, a))
            }
            tir::Expr::If(c, a, b) if constant(self, b) == Some(false) => {
                self.around_both(true, (c, a), needed, hidden)
            }
            tir::Expr::If(c, a, b) if constant(self, a) == Some(true) => {
                self.around_both(false, (c, b), needed, hidden)
            }
            _ => None,
        }
    }

    /// The same of `p && q` or `p || q`: one side alone says something where both have to hold, or not to.
    fn around_both(
        &mut self,
        is_and: bool,
        (p, q): (ExprId, ExprId),
        needed: bool,
        hidden: &BTreeSet<VarId>,
    ) -> Option<ExprId> {
        match (self.around(p, needed, hidden), self.around(q, needed, hidden)) {
            (Some(p), Some(q)) => Some(if is_and { self.kernel.b.and(p, q) } else { self.kernel.b.or(p, q) }),
            (one, other) => one.or(other).filter(|_| is_and == needed),
        }
    }

    /// Whether an expression reads no memory that changes, and nothing that `hidden` binds.
    pub(super) fn is_lasting(&self, e: ExprId, hidden: &BTreeSet<VarId>) -> bool {
        let func = self.kernel.b.func();
        let is_input = |buf: &BufId| {
            self.kernel.inputs.iter().any(|(_, input)| input == buf) && !self.kernel.updated.contains(buf)
        };
        func.reachable([e]).iter().all(|e| match func.exprs.get(*e) {
            tir::Expr::Load { buf, .. } => is_input(buf),
            tir::Expr::Var(var) => !hidden.contains(var),
            _ => true,
        })
    }

    /// Of the graph: a right side that only compares scalars is evaluated beside the left one, any other in a branch.
    fn graph_logic(
        &mut self,
        node: NodeId,
        is_and: bool,
        (a, x, cond): (&'a Expr, Value<'a>, Cond),
        b: &'a Expr,
    ) -> Value<'a> {
        let outer = self.graph.sym_count();
        let (blocks, y) = self.graph_side(|me| {
            me.enter();
            if me.checking > 0 {
                let known = if is_and { cond.yes.clone() } else { cond.no.clone() };
                known.into_iter().for_each(|fact| me.assume(fact));
            }
            let y = me.expr(b, None);
            me.leave();
            y
        });
        let both = if is_and { cond.and(self.cond_of(&y)) } else { cond.or(self.cond_of(&y)) };
        let (Some(p), Some(q)) = (self.truth(a.node, &x), self.truth(b.node, &y)) else { return Value::Unknown };
        let result = match (p, q) {
            (_, Truth::Known(q)) => {
                self.graph.forget_syms(outer);
                if q == is_and { x } else { Value::Fixed(Scalar::bool(q)) }
            }
            (Truth::Graph(p), Truth::Graph(q)) if bindings_of(&blocks).all(|binding| self.is_slight(binding)) => {
                self.graph.append_blocks(blocks);
                let op = ElementOp::Binary(if is_and { BinaryOp::And } else { BinaryOp::Or });
                self.emit(node, Op::Element(op), &[p, q], &[a.node, b.node]).map_or(Value::Unknown, Value::Tensor)
            }
            (Truth::Graph(p), Truth::Graph(_)) => {
                let (asked, settled) = ([y], [Value::Fixed(Scalar::bool(!is_and))]);
                let (asked, settled) = ((blocks, &asked[..]), (Vec::new(), &settled[..]));
                let (then, otherwise) = if is_and { (asked, settled) } else { (settled, asked) };
                let values = self.graph_if(node, p, then, otherwise, outer);
                values.and_then(|mut values| values.pop()).unwrap_or(Value::Unknown)
            }
            (Truth::Known(_) | Truth::Element(_), _) | (_, Truth::Element(_)) => return Value::Unknown,
        };
        self.set_cond(&result, both);
        result
    }

    /// Whether a binding costs less than the branch that would keep it from being evaluated, and is right whatever
    /// holds: operators on scalars alone.
    fn is_slight(&self, binding: &Binding) -> bool {
        let scalar = |ty: &Type| matches!(ty, Type::Tensor(TensorType { shape, .. }) if shape.is_empty());
        matches!(binding.op, Op::Element(_) | Op::Scalar(_) | Op::IndexValue { .. })
            && scalar(self.graph.ty(binding.out))
    }
}

/// The variables that a statement binds.
fn bound_in(stmt: &Stmt) -> BTreeSet<VarId> {
    let mut vars = BTreeSet::new();
    stmt.walk(&mut |stmt| {
        if let Stmt::Let { var, .. } | Stmt::For { var, .. } = stmt {
            vars.insert(*var);
        }
    });
    vars
}
