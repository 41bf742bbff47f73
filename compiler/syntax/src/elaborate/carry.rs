//! `reduce`, `fold` and `scan`: loops that carry scalars.

use std::rc::Rc;

use tenfold_ir::DType;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::ops::Literal;
use tenfold_ir::relax::{TensorType, Type, ValueId};
use tenfold_ir::tir::{BufId, ExprId, LoopKind, Stmt, VarId};

use super::compute::{Out, flat};
use super::cx::Elaborator;
use super::reduce::Span;
use super::value::{Closure, Value};
use crate::ast::{Call, Expr, NodeId};
use crate::code::Code;

/// A scalar that a loop carries.
#[derive(Clone, Copy)]
struct Carried {
    buf: BufId,
    index: bool,
}

impl<'a> Elaborator<'a> {
    /// `reduce(0..K, unit, |k| e, |a, b| c)` and `fold(0..K, init, |acc, k| next)`.
    pub(super) fn carrying(&mut self, e: &'a Expr, call: &'a Call, name: &str, hint: Option<&Type>) -> Value<'a> {
        let usage = match name {
            "reduce" => "reduce(0..K, unit, |k| e, |a, b| c)",
            "fold" => "fold(0..K, init, |acc, k| next)",
            _ => "scan(0..K, init, |acc, k| (next, out))",
        };
        let expected = if name == "reduce" { 4 } else { 3 };
        if call.args.len() != expected || !call.named.is_empty() {
            let message = format!("`{name}` takes {expected} operands, found {}", call.args.len());
            return self.fail(e.node, Code::ArgumentCount, message, format!("write `{usage}`"));
        }
        let init = self.expr(&call.args[1], None);
        let spans = self.spans(&call.args[..1]);
        let closures: Vec<Option<Rc<Closure<'a>>>> = call.args[2..].iter().map(|c| self.closure(c)).collect();
        let closures: Option<Vec<Rc<Closure<'a>>>> = closures.into_iter().collect();
        let (Some(mut spans), Some(closures)) = (spans, closures) else { return Value::Unknown };
        if init.is_unknown() {
            return Value::Unknown;
        }
        if self.holds_tensors(&init) {
            if self.inside {
                // Says that closures hold scalars.
                let _ = self.scalar(call.args[1].node, &init);
                return Value::Unknown;
            }
            let span = spans.remove(0);
            return match name {
                "scan" => self.graph_scan(e.node, &span, init, &closures[0]),
                _ => self.graph_fold(e.node, &span, init, &closures),
            };
        }
        let span = spans.remove(0);
        if name == "scan" {
            return self.scan(e.node, &span, init, &closures[0]);
        }
        let node = call.args[1].node;
        if self.inside {
            return self.carry(node, &span, init, &closures);
        }
        self.rank_zero(e.node, hint, |me| me.carry(node, &span, init, &closures))
    }

    pub(super) fn holds_tensors(&self, value: &Value<'a>) -> bool {
        match value {
            Value::Tensor(v) => !self.graph.tensor(*v).shape.is_empty(),
            Value::Tuple(items) => items.iter().any(|item| self.holds_tensors(item)),
            Value::Unknown
            | Value::Unit
            | Value::Index(_)
            | Value::Literal(_)
            | Value::Fixed(_)
            | Value::Text(_)
            | Value::Scalar(_)
            | Value::Array(_)
            | Value::Closure(_) => false,
        }
    }

    /// What the closures make of the carried value in one turn: one of `fold`, two of `reduce`.
    pub(super) fn turn(
        &mut self,
        span: &Span,
        r: &tenfold_ir::arith::Sym,
        acc: Value<'a>,
        closures: &[Rc<Closure<'a>>],
    ) -> Value<'a> {
        let k = Value::Index(self.know_span(span, r));
        match closures {
            [element, combine] => {
                let element = self.expand(element, vec![k]);
                self.expand(combine, vec![acc, element])
            }
            [next, ..] => self.expand(next, vec![acc, k]),
            [] => Value::Unknown,
        }
    }

    fn carry(&mut self, node: NodeId, span: &Span, init: Value<'a>, closures: &[Rc<Closure<'a>>]) -> Value<'a> {
        let Some(init) = self.typed_init(node, init, |me, acc, r| me.turn(span, r, acc, closures)) else {
            return Value::Unknown;
        };
        let mut carried = Vec::new();
        let Some(acc) = self.carried(node, &init, &mut carried) else { return Value::Unknown };
        let var = self.index_var("k");
        let r = self.kernel.b.sym(var).clone();
        self.enter();
        let (body, ok) = self.capture(|me| {
            let next = me.turn(span, &r, acc.clone(), closures);
            me.store_carried(node, next, &init, &carried)
        });
        self.leave();
        if !ok {
            return Value::Unknown;
        }
        self.push_loop(var, span, body);
        self.read_carried(&init, &mut carried.iter().copied())
    }

    fn push_loop(&mut self, var: VarId, span: &Span, body: Stmt) {
        let (min, extent) = (self.kernel.b.index(0), self.lower(&span.raw));
        self.push(Stmt::loop_(var, min, extent, LoopKind::Serial, body));
    }

    /// The initial value with the dtypes that the loop gives it: a literal takes that of what it meets in one turn.
    fn typed_init(
        &mut self,
        node: NodeId,
        init: Value<'a>,
        turn: impl Fn(&mut Self, Value<'a>, &tenfold_ir::arith::Sym) -> Value<'a>,
    ) -> Option<Value<'a>> {
        if !has_literal(&init) {
            return Some(init);
        }
        let kernel = self.kernel.clone();
        let (diagnostics, unknown) = (self.diagnostics.clone(), self.unknown);
        self.enter();
        let var = self.index_var("k");
        let r = self.kernel.b.sym(var).clone();
        let (_, next) = self.capture(|me| turn(me, init.clone(), &r));
        let met = self.type_leaves(&next);
        self.leave();
        self.kernel = kernel;
        (self.diagnostics, self.unknown) = (diagnostics, unknown);
        self.with_types(node, init, &met)
    }

    /// The dtype of each component, where it has one.
    pub(super) fn type_leaves(&self, value: &Value<'a>) -> Vec<Option<DType>> {
        match value {
            Value::Tuple(items) => items.iter().flat_map(|item| self.type_leaves(item)).collect(),
            other => vec![match self.type_of(other) {
                Some(Type::Tensor(TensorType { dtype, .. })) => Some(dtype),
                Some(Type::Tuple(_) | Type::Shape(_)) | None => None,
            }],
        }
    }

    fn with_types(&mut self, node: NodeId, init: Value<'a>, met: &[Option<DType>]) -> Option<Value<'a>> {
        let mut met = met.iter().copied();
        let typed = self.with_types_of(node, init, &mut met);
        (!typed.is_unknown()).then_some(typed)
    }

    pub(super) fn with_types_of(
        &mut self,
        node: NodeId,
        init: Value<'a>,
        met: &mut dyn Iterator<Item = Option<DType>>,
    ) -> Value<'a> {
        match init {
            Value::Tuple(items) => {
                Value::Tuple(items.into_iter().map(|item| self.with_types_of(node, item, met)).collect())
            }
            Value::Literal(literal) => match (met.next().flatten(), literal) {
                (Some(dtype), literal) => self.literal_as(node, literal, dtype),
                (None, Literal::Float(_)) => self.literal_as(node, literal, DType::F32),
                (None, Literal::Int(n)) => i64::try_from(n).map_or(Value::Unknown, |n| Value::Index(IntExpr::from(n))),
            },
            other => {
                met.next();
                other
            }
        }
    }

    /// Locals for the carried value, and the value that reads them.
    fn carried(&mut self, node: NodeId, init: &Value<'a>, all: &mut Vec<Carried>) -> Option<Value<'a>> {
        match init {
            Value::Tuple(items) => {
                let values: Vec<Option<Value<'a>>> = items.iter().map(|item| self.carried(node, item, all)).collect();
                values.into_iter().collect::<Option<Vec<_>>>().map(Value::Tuple)
            }
            Value::Index(e) => {
                let start = self.lower(e);
                let buf = self.kernel.b.local("acc", start);
                all.push(Carried { buf, index: true });
                let now = self.kernel.b.read_local(buf);
                Some(Value::Index(self.atom(now, "acc")))
            }
            other => {
                let start = self.scalar(node, other)?;
                let buf = self.kernel.b.local("acc", start);
                all.push(Carried { buf, index: false });
                Some(Value::Scalar(self.kernel.b.read_local(buf)))
            }
        }
    }

    fn read_carried(&mut self, like: &Value<'a>, all: &mut dyn Iterator<Item = Carried>) -> Value<'a> {
        match like {
            Value::Tuple(items) => Value::Tuple(items.iter().map(|item| self.read_carried(item, all)).collect()),
            _ => match all.next() {
                Some(one) => {
                    let now = self.kernel.b.read_local(one.buf);
                    if one.index { Value::Index(self.atom(now, "acc")) } else { Value::Scalar(now) }
                }
                None => Value::Unknown,
            },
        }
    }

    /// Stores the next value; all of it is computed before any of it is stored.
    fn store_carried(&mut self, node: NodeId, next: Value<'a>, like: &Value<'a>, all: &[Carried]) -> bool {
        let mut leaves = Vec::new();
        if !self.next_leaves(node, next, like, &mut leaves) {
            return false;
        }
        let several = leaves.len() > 1;
        for leaf in &mut leaves {
            if several {
                let var = self.kernel.b.let_("next", *leaf);
                *leaf = self.kernel.b.read(var);
            }
        }
        for (leaf, one) in leaves.into_iter().zip(all) {
            let value = if one.index { self.kernel.b.cast(DType::I64, leaf) } else { leaf };
            self.kernel.b.store(one.buf, Vec::new(), value);
        }
        true
    }

    fn next_leaves(&mut self, node: NodeId, next: Value<'a>, like: &Value<'a>, leaves: &mut Vec<ExprId>) -> bool {
        match (next, like) {
            (Value::Unknown, _) => false,
            (Value::Tuple(items), Value::Tuple(likes)) if items.len() == likes.len() => {
                items.into_iter().zip(likes).all(|(item, like)| self.next_leaves(node, item, like, leaves))
            }
            (Value::Index(e), Value::Index(_)) => {
                leaves.push(self.lower(&e));
                true
            }
            (Value::Literal(Literal::Int(n)), Value::Index(_)) => match i64::try_from(n) {
                Ok(n) => {
                    leaves.push(self.kernel.b.index(n));
                    true
                }
                Err(_) => false,
            },
            (next, like) => {
                let Some(Type::Tensor(t)) = self.type_of(like) else {
                    let (found, expected) = (self.describe(&next), self.describe(like));
                    let message = format!("the carried value is {expected}, and the closure gives {found}");
                    self.fail(node, Code::TypeMismatch, message, "let both have one type");
                    return false;
                };
                let next = self.coerce(node, next, t.dtype);
                match self.scalar_of(node, &next, t.dtype) {
                    Some(e) => {
                        leaves.push(e);
                        true
                    }
                    None => false,
                }
            }
        }
    }

    /// `scan(0..K, init, |acc, k| (next, out))`.
    fn scan(&mut self, node: NodeId, span: &Span, init: Value<'a>, closure: &Rc<Closure<'a>>) -> Value<'a> {
        if self.inside {
            let message = "a closure over elements holds scalars, and `scan` gives a tensor";
            return self.fail(node, Code::TensorInClosure, message, "take it out of the closure, or use `fold`");
        }
        self.in_kernel(node, |me| me.scan_kernel(node, span, init, closure))
    }

    fn scan_kernel(
        &mut self,
        node: NodeId,
        span: &Span,
        init: Value<'a>,
        closure: &Rc<Closure<'a>>,
    ) -> Option<(Vec<ValueId>, Value<'a>)> {
        if span.raw != span.count {
            let message =
                format!("the outputs of `scan` have `{}` elements, which is not proven to be 0 or more", span.raw);
            self.fail(span.node, Code::NegativeExtent, message, "state a fact in `dims(…)` or `assert!`");
            return None;
        }
        let turn = |me: &mut Self, acc: Value<'a>, r: &tenfold_ir::arith::Sym| {
            let k = Value::Index(me.know_span(span, r));
            me.expand(closure, vec![acc, k])
        };
        let next_of = |me: &mut Self, acc: Value<'a>, r: &tenfold_ir::arith::Sym| match turn(me, acc, r) {
            Value::Tuple(mut items) if items.len() == 2 => items.remove(0),
            _ => Value::Unknown,
        };
        let init = self.typed_init(node, init, next_of)?;
        let mut carried = Vec::new();
        let (start, acc) = self.capture(|me| me.carried(node, &init, &mut carried));
        let acc = acc?;
        let var = self.index_var("k");
        let r = self.kernel.b.sym(var).clone();
        let mut outs = None;
        let mut like = Value::Unknown;
        self.enter();
        let (body, ok) = self.capture(|me| {
            let (next, out) = match turn(me, acc.clone(), &r) {
                Value::Tuple(items) if items.len() == 2 => {
                    let mut items = items.into_iter();
                    (items.next().unwrap_or(Value::Unknown), items.next().unwrap_or(Value::Unknown))
                }
                Value::Unknown => return false,
                other => {
                    let message = format!("expected `(next, out)`, found {}", me.describe(&other));
                    me.fail(
                        closure.body.node,
                        Code::TypeMismatch,
                        message,
                        "the closure of `scan` gives the next value and an output",
                    );
                    return false;
                }
            };
            outs = me.outputs(closure.body.node, &out, std::slice::from_ref(&span.count), None);
            like = out;
            let at = me.kernel.b.read(var);
            for out in outs.iter().flatten() {
                me.kernel.b.store(out.buf, vec![at], out.element);
            }
            outs.is_some() && me.store_carried(node, next, &init, &carried)
        });
        self.leave();
        if !ok {
            return None;
        }
        let outs = outs?;
        let (min, extent) = (self.kernel.b.index(0), self.lower(&span.count));
        let ordered = Stmt::loop_(var, min, extent, LoopKind::Serial, body);
        let last = self.read_carried(&init, &mut carried.iter().copied());
        let lasts = self.outputs(node, &last, &[], None)?;
        let mut stmts = vec![start, ordered];
        stmts.extend(lasts.iter().map(|out| self.store_of(out, &[])));
        let block = self.block.clone();
        self.kernel.b.nest(&block, &[], None, flat(stmts));
        let all: Vec<Out> = lasts.into_iter().chain(outs).collect();
        let values = self.finish(node, &all)?;
        Some((values, Value::Tuple(vec![last, like])))
    }
}

/// Whether a component is a literal without a dtype.
pub(super) fn has_literal(value: &Value<'_>) -> bool {
    match value {
        Value::Literal(_) => true,
        Value::Tuple(items) => items.iter().any(has_literal),
        Value::Unknown
        | Value::Unit
        | Value::Index(_)
        | Value::Fixed(_)
        | Value::Text(_)
        | Value::Tensor(_)
        | Value::Scalar(_)
        | Value::Array(_)
        | Value::Closure(_) => false,
    }
}
