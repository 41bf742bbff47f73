//! `if`: of elements, only the branch taken; of whole tensors, a choice between two values.

use std::collections::BTreeSet;

use tenfold_ir::DType;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::ElementOp;
use tenfold_ir::ops::{Literal, show_type};
use tenfold_ir::relax::{BindingBlock, Op, Type, ValueId};
use tenfold_ir::tir::{Access, BufId, Elem, ExprId, Stmt, Ty, VarId};

use super::cx::Elaborator;
use super::number::{Truth, is_empty};
use super::value::{Cond, Value};
use crate::ast::{Block, Expr, NodeId};
use crate::code::Code;
use crate::diagnostic::Diagnostic;

impl<'a> Elaborator<'a> {
    /// `if c { a } else { b }`.
    pub(super) fn if_value(
        &mut self,
        node: NodeId,
        condition: &'a Expr,
        then: &'a Block,
        otherwise: Option<&'a Block>,
        hint: Option<&Type>,
    ) -> Value<'a> {
        let value = self.expr(condition, None);
        let cond = self.cond_of(&value);
        let truth = self.truth(condition.node, &self.decided(value));
        if let Some(Truth::Known(known)) = truth
            && !self.rehearsing
        {
            return match (known, otherwise) {
                (true, _) => self.block(then, hint),
                (false, Some(block)) => self.block(block, hint),
                (false, None) => Value::Unit,
            };
        }
        if let Some(Truth::Graph(c)) = truth {
            return self.graph_branches(node, (c, &cond), then, otherwise, hint);
        }
        let guarded = self.inside;
        let before: Vec<Value<'a>> = self.vars.iter().map(|v| v.value.clone()).collect();
        let (then_stmt, a) = self.branch(guarded.then(|| cond.yes.clone()).flatten(), Some(then), hint);
        let after_then = self.swap_values(&before);
        let (else_stmt, b) = self.branch(guarded.then(|| cond.no.clone()).flatten(), otherwise, hint);
        let after_else = self.swap_values(&before);
        if !self.has_value(node, otherwise, &a) {
            return Value::Unknown;
        }
        let nodes = (then.node, otherwise.map_or(node, |b| b.node));
        match truth {
            Some(Truth::Element(c)) => self.choose_elements(node, c, (then_stmt, a), (else_stmt, b), nodes),
            Some(Truth::Graph(_) | Truth::Known(_)) | None => {
                for var in 0..before.len() {
                    if !same(&after_then[var], &after_else[var]) {
                        self.vars[var].value = Value::Unknown;
                    }
                }
                Value::Unknown
            }
        }
    }

    /// Whether an `if` may have the value of its first branch.
    fn has_value(&mut self, node: NodeId, otherwise: Option<&'a Block>, a: &Value<'a>) -> bool {
        let fine = otherwise.is_some() || matches!(a, Value::Unit | Value::Unknown);
        if !fine {
            let message = format!("an `if` without `else` has no value, and this one gives {}", self.describe(a));
            self.fail(node, Code::TypeMismatch, message, "write `if c { a } else { b }`");
        }
        fine
    }

    /// An `if` over data of the graph: only the branch taken runs, so its condition is known in it.
    fn graph_branches(
        &mut self,
        node: NodeId,
        (c, cond): (ValueId, &Cond),
        then: &'a Block,
        otherwise: Option<&'a Block>,
        hint: Option<&Type>,
    ) -> Value<'a> {
        let before: Vec<Value<'a>> = self.vars.iter().map(|v| v.value.clone()).collect();
        let outer = self.graph.sym_count();
        let (then_blocks, (_, a)) = self.graph_side(|me| me.branch(cond.yes.clone(), Some(then), hint));
        let mut after_then = self.swap_values(&before);
        let (else_blocks, (_, b)) = self.graph_side(|me| me.branch(cond.no.clone(), otherwise, hint));
        let mut after_else = self.swap_values(&before);
        if !self.has_value(node, otherwise, &a) {
            return Value::Unknown;
        }
        let nodes = (then.node, otherwise.map_or(node, |b| b.node));
        // What is bound inside of a branch is gone behind it.
        after_then.truncate(before.len());
        after_else.truncate(before.len());
        let vars: Vec<usize> = (0..before.len()).filter(|var| !same(&after_then[*var], &after_else[*var])).collect();
        for (var, value) in after_then.iter().enumerate() {
            self.vars[var].value = value.clone();
        }
        let mut pairs: Vec<(Value<'a>, Value<'a>)> =
            vars.iter().map(|var| (after_then[*var].clone(), after_else[*var].clone())).collect();
        pairs.push((a, b));
        let simple = then_blocks.is_empty() && else_blocks.is_empty() && !pairs.iter().any(|(a, b)| has_index(a, b));
        let mut values = if simple {
            pairs.into_iter().map(|(a, b)| self.choose(node, c, a, b, nodes)).collect()
        } else {
            self.chosen(node, c, (then_blocks, else_blocks), pairs, (nodes, outer))
        };
        let result = values.pop().unwrap_or(Value::Unknown);
        for (var, value) in vars.into_iter().zip(values) {
            self.vars[var].value = value;
        }
        result
    }

    /// The values of an `if` that the graph branches for.
    fn chosen(
        &mut self,
        node: NodeId,
        c: ValueId,
        (then, otherwise): (Vec<BindingBlock>, Vec<BindingBlock>),
        pairs: Vec<(Value<'a>, Value<'a>)>,
        (nodes, outer): ((NodeId, NodeId), usize),
    ) -> Vec<Value<'a>> {
        let count = pairs.len();
        let (mut xs, mut ys) = (Vec::new(), Vec::new());
        for (a, b) in pairs {
            match self.meet(node, a, b, nodes) {
                Some((x, y)) if self.same_leaves(&x, &y, nodes) => {
                    xs.push(x);
                    ys.push(y);
                }
                Some(_) | None => return vec![Value::Unknown; count],
            }
        }
        let values = self.graph_if(node, c, (then, &xs), (otherwise, &ys), outer);
        values.unwrap_or_else(|| {
            self.unknown = true;
            vec![Value::Unknown; count]
        })
    }

    /// Whether both branches give the same types; reported if not.
    fn same_leaves(&mut self, a: &Value<'a>, b: &Value<'a>, nodes: (NodeId, NodeId)) -> bool {
        let same = match (a, b) {
            (Value::Tuple(x), Value::Tuple(y)) => {
                return x.len() == y.len() && x.iter().zip(y).all(|(x, y)| self.same_leaves(x, y, nodes));
            }
            (Value::Index(_), Value::Index(_)) | (Value::Unit, Value::Unit) => true,
            (a, b) => {
                let types = self.type_of(a).zip(self.type_of(b));
                types.is_some_and(|(x, y)| self.same_type(&x, &y))
            }
        };
        if !same {
            self.differ(a, b, nodes);
        }
        same
    }

    fn branch(
        &mut self,
        known: Option<tenfold_ir::arith::Fact>,
        block: Option<&'a Block>,
        hint: Option<&Type>,
    ) -> (Stmt, Value<'a>) {
        self.enter();
        known.into_iter().for_each(|fact| self.assume(fact));
        self.kernel.branches += 1;
        let result = self.capture(|me| match block {
            Some(block) => me.block(block, hint),
            None => Value::Unit,
        });
        self.kernel.branches -= 1;
        self.leave();
        result
    }

    /// Puts the values of outer variables back and gives what they were.
    fn swap_values(&mut self, before: &[Value<'a>]) -> Vec<Value<'a>> {
        let pairs = self.vars.iter_mut().zip(before);
        pairs.map(|(var, value)| std::mem::replace(&mut var.value, value.clone())).collect()
    }

    // Elements.

    fn choose_elements(
        &mut self,
        node: NodeId,
        c: ExprId,
        (then_stmt, a): (Stmt, Value<'a>),
        (else_stmt, b): (Stmt, Value<'a>),
        nodes: (NodeId, NodeId),
    ) -> Value<'a> {
        let Some((a, b)) = self.meet(node, a, b, nodes) else { return Value::Unknown };
        if is_empty(&then_stmt) && is_empty(&else_stmt) {
            return self.zip(a, b, &mut |me, x, y| {
                let chosen = me.kernel.b.if_(c, x, y);
                let index = me.kernel.b.ty(chosen).elem == Elem::Index;
                if index && !me.is_lasting(chosen, &BTreeSet::new()) { me.read_once(chosen) } else { chosen }
            });
        }
        let mut locals: Vec<(BufId, ExprId, ExprId)> = Vec::new();
        let mut indices: Vec<(VarId, BufId, ExprId)> = Vec::new();
        let result = self.zip(a, b, &mut |me, x, y| {
            let index = me.kernel.b.ty(x).elem == Elem::Index;
            let dtype = me.kernel.dtype(x).unwrap_or(DType::I64);
            let local = me.kernel.b.alloc("branch", dtype, Vec::new(), tenfold_ir::tir::Scope::Local);
            let (x, y) = (me.kernel.b.cast(dtype, x), me.kernel.b.cast(dtype, y));
            locals.push((local, x, y));
            if !index {
                return me.kernel.b.read_local(local);
            }
            // An index value is read once: whoever proves it again knows no two reads of a local to be one.
            let var = me.kernel.b.var("branch", Ty::scalar(dtype));
            let read = me.kernel.b.read(var);
            let chosen = me.kernel.b.to_index(read);
            indices.push((var, local, chosen));
            chosen
        });
        let side = |stmt: Stmt, pick: &dyn Fn(&(BufId, ExprId, ExprId)) -> ExprId| {
            let mut all = vec![stmt];
            all.extend(locals.iter().map(|local| Stmt::Store {
                buf: local.0,
                index: Vec::new(),
                value: pick(local),
                access: Access::Proven,
            }));
            Box::new(super::compute::flat(all))
        };
        let then = side(then_stmt, &|l| l.1);
        let otherwise = Some(side(else_stmt, &|l| l.2));
        self.push(Stmt::If { cond: c, then, otherwise });
        for (var, local, chosen) in indices {
            let named = |e: &IntExpr| e.vars().iter().all(|sym| self.syms.contains(sym.as_str()));
            let range = self.kernel.ranges.get(&chosen).filter(|(lo, hi)| named(lo) && named(hi)).cloned();
            self.kernel.b.buf_mut(local).range = range;
            let read = self.kernel.b.read_local(local);
            self.kernel.b.bind(var, read);
        }
        result
    }

    /// An index value that is read from memory which may change, bound: whoever proves it again knows no two reads to
    /// be one.
    fn read_once(&mut self, e: ExprId) -> ExprId {
        let var = self.kernel.b.let_("branch", e);
        self.kernel.b.read(var)
    }

    /// Both branches with one type: literals take the dtype of what they meet.
    fn meet(
        &mut self,
        node: NodeId,
        a: Value<'a>,
        b: Value<'a>,
        nodes: (NodeId, NodeId),
    ) -> Option<(Value<'a>, Value<'a>)> {
        match (a, b) {
            (Value::Unknown, _) | (_, Value::Unknown) => None,
            (Value::Unit, Value::Unit) => Some((Value::Unit, Value::Unit)),
            (Value::Tuple(x), Value::Tuple(y)) if x.len() == y.len() => {
                let mut both = (Vec::new(), Vec::new());
                for (x, y) in x.into_iter().zip(y) {
                    let (x, y) = self.meet(node, x, y, nodes)?;
                    both.0.push(x);
                    both.1.push(y);
                }
                Some((Value::Tuple(both.0), Value::Tuple(both.1)))
            }
            (a @ (Value::Index(_) | Value::Literal(_)), b @ (Value::Index(_) | Value::Literal(_))) => {
                self.meet_literals(node, a, b, nodes)
            }
            (a, b) => {
                let (x, y) = (self.type_of(&a), self.type_of(&b));
                let a = match (a, &y) {
                    (Value::Literal(literal), Some(Type::Tensor(t))) => self.literal_as(nodes.0, literal, t.dtype),
                    (a, _) => a,
                };
                let b = match (b, &x) {
                    (Value::Literal(literal), Some(Type::Tensor(t))) => self.literal_as(nodes.1, literal, t.dtype),
                    (b, _) => b,
                };
                if a.is_unknown() || b.is_unknown() {
                    return None;
                }
                let (x, y) = (self.type_of(&a), self.type_of(&b));
                if x.is_none() || y.is_none() || self.inside && x != y {
                    self.differ(&a, &b, nodes);
                    return None;
                }
                Some((a, b))
            }
        }
    }

    fn meet_literals(
        &mut self,
        node: NodeId,
        a: Value<'a>,
        b: Value<'a>,
        nodes: (NodeId, NodeId),
    ) -> Option<(Value<'a>, Value<'a>)> {
        let float = |v: &Value<'a>| matches!(v, Value::Literal(Literal::Float(_)));
        if float(&a) || float(&b) {
            let as_f32 = |me: &mut Self, v: Value<'a>, at: NodeId| match v {
                Value::Literal(literal) => me.literal_as(at, literal, DType::F32),
                v => v,
            };
            let (a, b) = (as_f32(self, a, nodes.0), as_f32(self, b, nodes.1));
            if matches!(a, Value::Index(_)) || matches!(b, Value::Index(_)) {
                self.differ(&a, &b, nodes);
                return None;
            }
            return (!a.is_unknown() && !b.is_unknown()).then_some((a, b));
        }
        let index = |v: Value<'a>| match v {
            Value::Literal(Literal::Int(n)) => {
                i64::try_from(n).map_or(Value::Unknown, |n| Value::Index(IntExpr::from(n)))
            }
            v => v,
        };
        let _ = node;
        Some((index(a), index(b)))
    }

    fn differ(&mut self, a: &Value<'a>, b: &Value<'a>, nodes: (NodeId, NodeId)) {
        let (x, y) = (self.describe(a), self.describe(b));
        let error = Diagnostic::new(nodes.1, Code::TypeMismatch, format!("the branches differ: {x} and {y}"))
            .label(nodes.0, format!("this branch gives {x}"))
            .help("let both give the same type; `as` converts");
        self.report(error);
    }

    /// Leaf by leaf.
    fn zip(&mut self, a: Value<'a>, b: Value<'a>, f: &mut dyn FnMut(&mut Self, ExprId, ExprId) -> ExprId) -> Value<'a> {
        match (a, b) {
            (Value::Tuple(x), Value::Tuple(y)) => {
                Value::Tuple(x.into_iter().zip(y).map(|(x, y)| self.zip(x, y, f)).collect())
            }
            (Value::Unit, _) => Value::Unit,
            (Value::Index(x), Value::Index(y)) if x == y => Value::Index(x),
            (Value::Index(x), Value::Index(y)) => {
                let (p, q) = (self.lower(&x), self.lower(&y));
                let chosen = f(self, p, q);
                let range = self.hull(&x, &y);
                if let Some(range) = range {
                    self.kernel.ranges.insert(chosen, range);
                }
                Value::Index(self.atom(chosen, "if"))
            }
            (x, y) => {
                let (Some(x), Some(y)) = (self.scalar(NodeId::FUNCTION, &x), self.scalar(NodeId::FUNCTION, &y)) else {
                    return Value::Unknown;
                };
                if x == y { Value::Scalar(x) } else { Value::Scalar(f(self, x, y)) }
            }
        }
    }

    /// A range, `lo..hi`, that holds two index values.
    pub(super) fn hull(&self, x: &IntExpr, y: &IntExpr) -> Option<(IntExpr, IntExpr)> {
        let ((a, b), (c, d)) = (self.prover().bounds(x), self.prover().bounds(y));
        Some((IntExpr::min(&a?, &c?), IntExpr::max(&b?, &d?) + 1))
    }

    // Whole tensors.

    /// One of two values of the graph; both are computed.
    pub(super) fn choose(
        &mut self,
        node: NodeId,
        c: ValueId,
        a: Value<'a>,
        b: Value<'a>,
        nodes: (NodeId, NodeId),
    ) -> Value<'a> {
        let Some((a, b)) = self.meet(node, a, b, nodes) else { return Value::Unknown };
        match (a, b) {
            (Value::Unit, _) => Value::Unit,
            (Value::Tuple(x), Value::Tuple(y)) => {
                let pairs: Vec<_> = x.into_iter().zip(y).collect();
                Value::Tuple(pairs.into_iter().map(|(x, y)| self.choose(node, c, x, y, nodes)).collect())
            }
            (Value::Index(x), Value::Index(y)) => {
                if x == y {
                    return Value::Index(x);
                }
                // Only where both branches are empty and agree; others are branches of the graph.
                Value::Unknown
            }
            (a, b) => self.select(node, c, &a, &b, nodes),
        }
    }

    fn select(&mut self, node: NodeId, c: ValueId, a: &Value<'a>, b: &Value<'a>, nodes: (NodeId, NodeId)) -> Value<'a> {
        let (Some(x), Some(y)) = (self.as_tensor(nodes.0, a), self.as_tensor(nodes.1, b)) else {
            return Value::Unknown;
        };
        let (p, q) = (self.graph.ty(x).clone(), self.graph.ty(y).clone());
        if !self.same_type(&p, &q) {
            self.differ(a, b, nodes);
            return Value::Unknown;
        }
        match self.emit(node, Op::Element(ElementOp::Select), &[c, x, y], &[node, nodes.0, nodes.1]) {
            Some(v) => Value::Tensor(v),
            None => Value::Unknown,
        }
    }

    /// Whether two types are provably the same.
    pub(super) fn same_type(&self, a: &Type, b: &Type) -> bool {
        match (a, b) {
            (Type::Tensor(a), Type::Tensor(b)) => {
                let dims = || a.shape.iter().zip(&b.shape).all(|(x, y)| self.prover().prove_eq(x, y));
                a.dtype == b.dtype && a.shape.len() == b.shape.len() && dims()
            }
            (Type::Tuple(a), Type::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(x, y)| self.same_type(x, y))
            }
            (Type::Shape(a), Type::Shape(b)) => a == b,
            (Type::Tensor(_) | Type::Tuple(_) | Type::Shape(_), _) => false,
        }
    }

    // What a value is to be.

    /// A literal with a dtype; anything else as it is.
    pub(super) fn coerce(&mut self, node: NodeId, value: Value<'a>, dtype: DType) -> Value<'a> {
        match value {
            Value::Literal(literal) => self.literal_as(node, literal, dtype),
            value => value,
        }
    }

    /// A scalar of the kernel of this dtype; anything else is reported.
    pub(super) fn scalar_of(&mut self, node: NodeId, value: &Value<'a>, dtype: DType) -> Option<ExprId> {
        let e = self.scalar(node, value)?;
        match self.kernel.dtype(e) {
            Some(found) if found == dtype => Some(e),
            found => {
                let found = found.map_or("an index value".to_string(), |d| format!("`{d}`"));
                let message = format!("expected `{dtype}`, found {found}");
                self.fail(node, Code::DtypeMismatch, message, format!("convert it: `… as {dtype}`"));
                None
            }
        }
    }

    /// The value with the type that is written for it; `what` names what it is, `at` where the type is written.
    pub(super) fn expect(&mut self, node: NodeId, value: Value<'a>, ty: &Type, what: &str, at: NodeId) -> Value<'a> {
        if let (Value::Tuple(items), Type::Tuple(types)) = (&value, ty)
            && items.len() == types.len()
        {
            let pairs = items.iter().zip(types);
            return Value::Tuple(pairs.map(|(v, t)| self.expect(node, v.clone(), t, what, at)).collect());
        }
        let value = match (value, ty) {
            (Value::Literal(literal), Type::Tensor(t)) => self.literal_as(node, literal, t.dtype),
            (value, _) => value,
        };
        if value.is_unknown() {
            return Value::Unknown;
        }
        let found = self.type_of(&value);
        if found.as_ref().is_some_and(|found| self.same_type(found, ty)) {
            return value;
        }
        self.unexpected(node, &value, found.as_ref(), ty, (what, at));
        Value::Unknown
    }

    fn unexpected(
        &mut self,
        node: NodeId,
        value: &Value<'a>,
        found: Option<&Type>,
        ty: &Type,
        (what, at): (&str, NodeId),
    ) {
        let (code, help) = match (found, ty) {
            (Some(Type::Tensor(f)), Type::Tensor(t)) if f.shape.len() != t.shape.len() => {
                (Code::Rank, "`reshape` changes the rank, a reduction removes axes".to_string())
            }
            (Some(Type::Tensor(f)), Type::Tensor(t)) if f.dtype != t.dtype => {
                (Code::DtypeMismatch, format!("convert it: `… as {}`", t.dtype))
            }
            (Some(Type::Tensor(f)), Type::Tensor(t)) => {
                let pairs = f.shape.iter().zip(&t.shape).enumerate();
                let axis =
                    pairs.filter(|(_, (a, b))| !self.prover().prove_eq(a, b)).map(|(axis, (a, b))| (axis, a, b)).next();
                let help = axis.map_or(String::new(), |(axis, a, b)| match a.as_const().zip(b.as_const()) {
                    Some(_) => format!("axis {axis} is `{a}`, expected `{b}`; reshape or slice it, or write the type that it has"),
                    None => format!("axis {axis} is `{a}`, expected `{b}`; if they are equal, state it: `dims({a} == {b})`, or check at run time with `match_shape`"),
                });
                (Code::DimMismatch, help)
            }
            _ => match value {
                Value::Index(_) => {
                    (Code::IndexValue, "an index value is no element; convert it: `… as i64`".to_string())
                }
                Value::Array(_) => {
                    (Code::TypeMismatch, "join a list to a tensor: `stack([x, y])`, or `concat([x, y])`".to_string())
                }
                _ => match ty {
                    Type::Tuple(items) => {
                        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
                        let some = names[..items.len().min(8)].join(", ");
                        (Code::TypeMismatch, format!("give a tuple of {}: `({some})`", items.len()))
                    }
                    Type::Tensor(_) | Type::Shape(_) => (Code::TypeMismatch, "let the two agree".to_string()),
                },
            },
        };
        let shown = found.map_or_else(|| self.describe(value), |found| format!("`{}`", show_type(found)));
        let message = format!("{what} is `{}`, found {shown}", show_type(ty));
        let error = Diagnostic::new(node, code, message).label(at, "the type is written here").help(help.clone());
        let error = if code == Code::DimMismatch { self.with_origins(error, &help) } else { error };
        self.report(error);
    }
}

/// Whether two values are one.
pub(super) fn same(a: &Value<'_>, b: &Value<'_>) -> bool {
    match (a, b) {
        (Value::Unknown, Value::Unknown) | (Value::Unit, Value::Unit) => true,
        (Value::Index(x), Value::Index(y)) => x == y,
        (Value::Literal(x), Value::Literal(y)) => x == y,
        (Value::Fixed(x), Value::Fixed(y)) => x == y,
        (Value::Text(x), Value::Text(y)) => x == y,
        (Value::Tensor(x), Value::Tensor(y)) => x == y,
        (Value::Scalar(x), Value::Scalar(y)) => x == y,
        (Value::Tuple(x), Value::Tuple(y)) | (Value::Array(x), Value::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y))
        }
        (Value::Closure(x), Value::Closure(y)) => std::rc::Rc::ptr_eq(x, y),
        _ => false,
    }
}

/// Whether two values differ in an index value.
fn has_index(a: &Value<'_>, b: &Value<'_>) -> bool {
    match (a, b) {
        (Value::Tuple(x), Value::Tuple(y)) => x.iter().zip(y).any(|(x, y)| has_index(x, y)),
        (Value::Index(x), Value::Index(y)) => x != y,
        (Value::Index(_), _) | (_, Value::Index(_)) => true,
        (Value::Literal(Literal::Int(x)), Value::Literal(Literal::Int(y))) => x != y,
        _ => false,
    }
}
