//! `&&` and `||`: the right side is evaluated only if it decides. Of elements, what the left side says is known in it;
//! of the graph, it must hold by itself.

use tenfold_ir::Scalar;
use tenfold_ir::op::{self, BinaryOp, ElementOp};
use tenfold_ir::relax::{Binding, Op, TensorType, Type, bindings_of};
use tenfold_ir::tir::ExprId;

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
                Value::Scalar(self.short_circuit(is_and, p, q, stmt))
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

    fn short_circuit(&mut self, is_and: bool, p: ExprId, q: ExprId, stmt: tenfold_ir::tir::Stmt) -> ExprId {
        if is_empty(&stmt) {
            return if is_and { self.kernel.b.and(p, q) } else { self.kernel.b.or(p, q) };
        }
        let local = self.kernel.b.local("both", p);
        let store = tenfold_ir::tir::Stmt::Store {
            buf: local,
            index: Vec::new(),
            value: q,
            access: tenfold_ir::tir::Access::Proven,
        };
        let cond = if is_and { p } else { self.kernel.b.unary(op::UnaryOp::Not, p) };
        let then = Box::new(super::compute::flat(vec![stmt, store]));
        self.push(tenfold_ir::tir::Stmt::If { cond, then, otherwise: None });
        self.kernel.b.read_local(local)
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
