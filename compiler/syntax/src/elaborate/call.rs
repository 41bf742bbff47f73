//! Calls by name: closures, `compute`, reductions, operators.

use std::collections::BTreeMap;
use std::rc::Rc;

use tenfold_ir::DType;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::ops::{self, Arg, AttrValue, Literal, OpCall, OpDef, OpKind};
use tenfold_ir::relax::{Op, Type, ValueId};

use super::cx::{Elaborator, MAX_EXPANSIONS};
use super::reduce::{REDUCTIONS, over_ranges};
use super::value::{Closure, Value};
use crate::ast::{Call, Expr, ExprKind, Name, NamedArg, NodeId, Path};
use crate::code::Code;
use crate::extent;

/// Methods of Rust that are looked for here, and what stands in their place.
const OF_RUST: [(&str, &str); 15] = [
    ("as_ref", "tensors are values: leave it out"),
    ("as_slice", "tensors are values: leave it out"),
    ("borrow", "tensors are values: leave it out"),
    ("clone", "tensors are values: leave it out"),
    ("collect", "there are no iterators: write `compute(|i| …)`, or an operator on the whole tensor"),
    ("into", "nothing converts by itself: `x as f32`"),
    ("into_iter", "there are no iterators: write `compute(|i| …)`, or an operator on the whole tensor"),
    ("iter", "there are no iterators: write `compute(|i| …)`, or an operator on the whole tensor"),
    ("iter_mut", "there are no iterators: write `compute(|i| …)`, or an operator on the whole tensor"),
    ("len", "an extent is a dim: name it in the type, `x: Tensor<f32, N>`, and write `N`"),
    ("map", "there are no iterators: write `compute(|i| …)`, or an operator on the whole tensor"),
    ("shape", "an extent is a dim: name it in the type, `x: Tensor<f32, N>`, and write `N`"),
    ("to_vec", "tensors are values: leave it out"),
    ("unwrap", "nothing fails inside of a tensor function: leave it out"),
    ("zip", "there are no iterators: write `compute(|i| …)`, or an operator on the whole tensor"),
];

impl<'a> Elaborator<'a> {
    /// A call of anything.
    pub(super) fn call(&mut self, e: &'a Expr, call: &'a Call, hint: Option<&Type>) -> Value<'a> {
        let Some(name) = call.callee.name() else { return self.function_call(e, call) };
        if let Some(var) = self.find(name) {
            return match self.vars[var].value.clone() {
                Value::Closure(closure) => self.closure_call(e.node, call, &closure),
                Value::Unknown => {
                    self.arguments(call);
                    Value::Unknown
                }
                other => {
                    let message = format!("`{name}` is {}, and cannot be called", self.describe(&other));
                    let help = match ops::lookup(name) {
                        Some(_) => format!("the variable hides the operator `{name}`; rename it"),
                        None => "only closures, operators and tensor functions are called".to_string(),
                    };
                    self.fail(e.node, Code::TypeMismatch, message, help)
                }
            };
        }
        match name {
            "compute" => self.compute(e, call, hint),
            "fold" | "scan" => self.carrying(e, call, name, hint),
            "reduce" => self.carrying(e, call, name, hint),
            _ if REDUCTIONS.contains(&name) && over_ranges(call) => self.reduction(e, call, name, hint),
            _ => self.operator(e.node, call, name),
        }
    }

    /// Walks the arguments of a call that is not known, for their errors.
    fn arguments(&mut self, call: &'a Call) {
        for arg in &call.args {
            if !matches!(arg.kind, ExprKind::MutRef(_) | ExprKind::Range(_)) {
                self.expr(arg, None);
            }
        }
        for named in &call.named {
            self.expr(&named.value, None);
        }
    }

    // Closures.

    fn closure_call(&mut self, node: NodeId, call: &'a Call, closure: &Rc<Closure<'a>>) -> Value<'a> {
        let args: Vec<Value<'a>> = call.args.iter().map(|arg| self.expr(arg, None)).collect();
        if args.len() != closure.params.len() || !call.named.is_empty() {
            let takes = super::show::count(closure.params.len(), "operand");
            let message = format!("`{}` takes {takes}, found {}", call.callee, args.len());
            return self.fail(node, Code::ArgumentCount, message, "give one operand per parameter of the closure");
        }
        self.expand(closure, args)
    }

    /// A closure written out for these arguments.
    pub(super) fn expand(&mut self, closure: &Rc<Closure<'a>>, args: Vec<Value<'a>>) -> Value<'a> {
        if closure.params.len() != args.len() {
            let expected = super::show::count(args.len(), "parameter");
            let message = format!("expected a closure of {expected}, found {}", closure.params.len());
            return self.fail(closure.node, Code::ArgumentCount, message, "take as many as the call gives");
        }
        if !self.may_expand(closure.node) {
            return Value::Unknown;
        }
        let outer = std::mem::replace(&mut self.frame.names, closure.names.clone());
        let value = self.in_closure(|me| {
            for (param, arg) in closure.params.iter().zip(args) {
                me.bind_pattern(param, arg);
            }
            me.expr(closure.body, None)
        });
        self.frame.names = outer;
        value
    }

    /// Walks what stands in a closure, where nothing is assigned to.
    pub(super) fn in_closure<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        let outer = std::mem::replace(&mut self.statements, false);
        let result = f(self);
        self.statements = outer;
        result
    }

    /// Whether there is room for another expansion; if not, that is reported.
    pub(super) fn may_expand(&mut self, node: NodeId) -> bool {
        self.expansions += 1;
        if self.expansions <= MAX_EXPANSIONS {
            return true;
        }
        if self.expansions > MAX_EXPANSIONS + 1 {
            return false; // said once
        }
        let message = format!("more than {MAX_EXPANSIONS} closures, copies of loops and calls are written out");
        self.fail(node, Code::TooLarge, message, "let a loop stand for the copies");
        false
    }

    // Operators.

    fn operator(&mut self, node: NodeId, call: &'a Call, name: &str) -> Value<'a> {
        let Some(def) = ops::lookup(name) else {
            self.arguments(call);
            return self.unknown_operator(&call.callee, name);
        };
        let args: Vec<Value<'a>> = call.args.iter().map(|arg| self.expr(arg, None)).collect();
        let nodes: Vec<NodeId> = call.args.iter().map(|arg| arg.node).collect();
        let attrs = self.attributes(&call.named);
        let dtype = self.turbofish(call);
        let (Some(attrs), Some(dtype)) = (attrs, dtype) else { return Value::Unknown };
        if args.iter().any(Value::is_unknown) {
            return Value::Unknown;
        }
        if let Some(value) = self.on_indices(def, &args) {
            return Value::Index(value);
        }
        let named: Vec<(String, NodeId)> = call.named.iter().map(|n| (n.name.text.clone(), n.node)).collect();
        let made = OpCall { args: Vec::new(), attrs, dtype };
        match def.kind {
            OpKind::Element(make) if self.inside => self.element_call(node, (def, make), made, args, (&nodes, &named)),
            OpKind::Element(_) | OpKind::Graph(_) if !self.inside => {
                self.graph_call(node, def, made, &args, (&nodes, &named))
            }
            OpKind::Element(_) | OpKind::Graph(_) => self.fail(
                node,
                Code::TensorInClosure,
                format!("`{name}` works on whole tensors, and this closure holds scalars"),
                "call it outside of the closure and read its elements",
            ),
        }
    }

    fn unknown_operator(&mut self, callee: &Path, name: &str) -> Value<'a> {
        let callables = ["compute", "fold", "scan", "reduce", "mean", "argmax", "argmin", "match_shape"];
        let own = ops::nearest(name, callables);
        let closures = self.frame.names.iter().filter(|(_, v)| matches!(self.vars[*v].value, Value::Closure(_)));
        let local = ops::nearest(name, closures.map(|(n, _)| n.as_str())).map(str::to_string);
        let near = local.or_else(|| ops::suggest(name).or(own).map(str::to_string));
        let message = format!("there is no operator `{name}`");
        let of_rust = OF_RUST.iter().find(|(method, _)| *method == name).map(|(_, help)| (*help).to_string());
        let help = match near {
            _ if of_rust.is_some() => of_rust.unwrap_or_default(),
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("a tensor function is called by a path: `self::{name}(…)`"),
        };
        self.fail(callee.node, Code::UnknownOperator, message, help)
    }

    /// `zeros::<u32>`: `Some(None)` without one, `None` if it is wrong.
    fn turbofish(&mut self, call: &'a Call) -> Option<Option<DType>> {
        match call.turbofish.as_slice() {
            [] => Some(None),
            [one] => match &one.kind {
                ExprKind::Name(name) => self.dtype(&Name { node: one.node, text: name.clone() }).map(Some),
                _ => {
                    let message = "expected a dtype in the turbofish";
                    self.fail(one.node, Code::Attribute, message, "write `zeros::<u32>([256])`");
                    None
                }
            },
            [_, second, ..] => {
                self.fail(
                    second.node,
                    Code::Attribute,
                    "a turbofish of an operator holds one dtype",
                    "remove the rest",
                );
                None
            }
        }
    }

    fn attributes(&mut self, named: &'a [NamedArg]) -> Option<BTreeMap<String, AttrValue>> {
        let mut all = Some(BTreeMap::new());
        for arg in named {
            let value = self.expr(&arg.value, None);
            match (self.attribute(arg.value.node, &value), &mut all) {
                (Some(value), Some(map)) => {
                    map.insert(arg.name.text.clone(), value);
                }
                (Some(_), None) => {}
                (None, _) => all = None,
            }
        }
        all
    }

    fn attribute(&mut self, node: NodeId, value: &Value<'a>) -> Option<AttrValue> {
        match value {
            Value::Literal(Literal::Int(n)) => i64::try_from(*n).ok().map(|n| AttrValue::Int(IntExpr::from(n))),
            Value::Literal(Literal::Float(x)) => Some(AttrValue::Float(*x)),
            Value::Index(e) => Some(AttrValue::Int(e.clone())),
            Value::Fixed(s) if s.dtype.is_bool() => Some(AttrValue::Bool(s.bits != 0)),
            Value::Fixed(s) => Some(AttrValue::Scalar(*s)),
            Value::Text(text) => Some(AttrValue::Text(text.clone())),
            Value::Array(items) => {
                let items: Option<Vec<AttrValue>> = items.iter().map(|item| self.attribute(node, item)).collect();
                items.map(AttrValue::List)
            }
            Value::Unknown => None,
            Value::Unit | Value::Tensor(_) | Value::Scalar(_) | Value::Tuple(_) | Value::Closure(_) => {
                let message = format!("an attribute is a constant, found {}", self.describe(value));
                self.fail(
                    node,
                    Code::Attribute,
                    message,
                    "tensors come first, as operands; attributes are known when the program is built",
                );
                None
            }
        }
    }

    /// Operators that index values have.
    fn on_indices(&mut self, def: &OpDef, args: &[Value<'a>]) -> Option<IntExpr> {
        if !args.iter().any(|arg| matches!(arg, Value::Index(_))) {
            return None;
        }
        let index = |value: &Value<'a>| match value {
            Value::Index(e) => Some(e.clone()),
            Value::Literal(Literal::Int(n)) => i64::try_from(*n).ok().map(IntExpr::from),
            _ => None,
        };
        let args: Vec<IntExpr> = args.iter().map(index).collect::<Option<_>>()?;
        match (def.name, args.as_slice()) {
            ("abs", [a]) => Some(a.max(&-a)),
            ("clip", [a, lo, hi]) => Some(IntExpr::min(&a.max(lo), hi)),
            (name, [a, b]) => extent::function(name, a, b, self.prover()),
            _ => None,
        }
    }

    fn element_call(
        &mut self,
        node: NodeId,
        (def, make): (&OpDef, ops::ElementFn),
        mut made: OpCall,
        args: Vec<Value<'a>>,
        (nodes, named): (&[NodeId], &[(String, NodeId)]),
    ) -> Value<'a> {
        // The table counts operands; their values are ours.
        made.args = args.iter().map(|_| Arg::Literal(Literal::Int(0))).collect();
        let op = ops::check_call(def, &made).and_then(|()| make(&made));
        match op {
            Ok(op) => self.element_op(node, op, args, nodes),
            Err(error) => {
                self.op_error(node, error, nodes, named);
                Value::Unknown
            }
        }
    }

    fn graph_call(
        &mut self,
        node: NodeId,
        def: &OpDef,
        mut made: OpCall,
        args: &[Value<'a>],
        (nodes, named): (&[NodeId], &[(String, NodeId)]),
    ) -> Value<'a> {
        for (arg, at) in args.iter().zip(nodes) {
            match self.operand(*at, arg) {
                Some(arg) => made.args.push(arg),
                None => return Value::Unknown,
            }
        }
        self.graph.set_loc(self.loc(node));
        match ops::apply(&mut self.graph, def, &made) {
            Ok(v) => self.unpacked(node, v),
            Err(error) => {
                self.op_error(node, error, nodes, named);
                Value::Unknown
            }
        }
    }

    fn operand(&mut self, node: NodeId, value: &Value<'a>) -> Option<Arg> {
        match value {
            Value::Tensor(v) => Some(Arg::Value(*v)),
            Value::Fixed(s) => Some(Arg::Value(self.graph.scalar(*s))),
            Value::Index(e) => Some(Arg::Index(e.clone())),
            Value::Literal(literal) => Some(Arg::Literal(*literal)),
            Value::Array(items) => self.list(node, items),
            Value::Unknown => None,
            Value::Unit | Value::Text(_) | Value::Scalar(_) | Value::Tuple(_) | Value::Closure(_) => {
                let message =
                    format!("expected a tensor, a shape or a list of tensors, found {}", self.describe(value));
                let help = match value {
                    Value::Tuple(_) => "take the tuple apart: `let (a, b) = …;`",
                    Value::Unit => "an effect has no value; write the type: `let y: Tensor<f32, N> = extern_call!(…);`",
                    _ => "attributes are named: `axis = -1`",
                };
                self.fail(node, Code::Operand, message, help);
                None
            }
        }
    }

    /// A shape or a list of tensors.
    fn list(&mut self, node: NodeId, items: &[Value<'a>]) -> Option<Arg> {
        let tensors = items.iter().any(|item| match item {
            Value::Tensor(v) => !self.graph.tensor(*v).dtype.is_int() || !self.graph.tensor(*v).shape.is_empty(),
            _ => false,
        });
        if tensors {
            let values: Vec<Option<ValueId>> = items.iter().map(|item| self.as_tensor(node, item)).collect();
            return values.into_iter().collect::<Option<Vec<_>>>().map(Arg::List);
        }
        let at = Expr { node, kind: ExprKind::Name("extent".to_string()) };
        let extents: Vec<Option<IntExpr>> = items.iter().map(|item| self.index_of(&at, item)).collect();
        extents.into_iter().collect::<Option<Vec<_>>>().map(Arg::Shape)
    }

    /// A tuple of the graph as its components.
    pub(super) fn unpacked(&mut self, node: NodeId, v: ValueId) -> Value<'a> {
        let count = match self.graph.ty(v) {
            Type::Tensor(_) | Type::Shape(_) => return Value::Tensor(v),
            Type::Tuple(items) => items.len(),
        };
        if count == 0 {
            return Value::Unit;
        }
        let parts: Vec<Option<ValueId>> = (0..count).map(|i| self.emit(node, Op::TupleGet(i), &[v], &[])).collect();
        match parts.into_iter().collect::<Option<Vec<_>>>() {
            Some(parts) => Value::Tuple(parts.into_iter().map(Value::Tensor).collect()),
            None => Value::Unknown,
        }
    }
}
