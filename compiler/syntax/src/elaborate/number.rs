//! Arithmetic, comparison, logic and conversion, of index values, literals, elements and tensors alike.

use tenfold_ir::arith::{IntExpr, View};
use tenfold_ir::float8::Float8;
use tenfold_ir::op::{self, BinaryOp, CmpOp, ElementOp};
use tenfold_ir::ops::Literal;
use tenfold_ir::relax::{Op, SymDecl, SymKind, ValueId, element_dtype};
use tenfold_ir::tir::ExprId;
use tenfold_ir::{DType, Scalar};

use super::cx::Elaborator;
use super::expr::integer_literal;
use super::operator::{comparison, element_of};
use super::value::{Cond, Value};
use crate::ast::{self, Expr, Name, NodeId};
use crate::code::Code;
use crate::extent;

impl<'a> Elaborator<'a> {
    // Operators.

    pub(super) fn unary(&mut self, node: NodeId, op: ast::UnaryOp, a: &'a Expr) -> Value<'a> {
        if let (ast::UnaryOp::Neg, Some((value, suffix))) = (op, integer_literal(a)) {
            return self.integer(node, -value, suffix);
        }
        let value = self.expr(a, None);
        match (op, value) {
            (_, Value::Unknown) => Value::Unknown,
            (ast::UnaryOp::Neg, Value::Index(e)) => Value::Index(-&e),
            (ast::UnaryOp::Neg, Value::Literal(Literal::Int(n))) => Value::Literal(Literal::Int(n.wrapping_neg())),
            (ast::UnaryOp::Neg, Value::Literal(Literal::Float(x))) => Value::Literal(Literal::Float(-x)),
            (ast::UnaryOp::Neg, Value::Fixed(s)) if s.dtype.is_float() => {
                Value::Fixed(Scalar::float(s.dtype, -s.to_f64()))
            }
            (ast::UnaryOp::Not, Value::Fixed(s)) if s.dtype.is_bool() => Value::Fixed(Scalar::bool(s.bits == 0)),
            (ast::UnaryOp::Not, value @ (Value::Index(_) | Value::Literal(_))) => {
                let message = format!("`!` takes bools and integers of a dtype, found {}", self.describe(&value));
                self.fail(node, Code::TypeMismatch, message, "convert first: `n as i32`")
            }
            (ast::UnaryOp::Neg, value) => {
                self.element_op(node, ElementOp::Unary(op::UnaryOp::Neg), vec![value], &[a.node])
            }
            (ast::UnaryOp::Not, value) => {
                let cond = self.cond_of(&value);
                let result = self.element_op(node, ElementOp::Unary(op::UnaryOp::Not), vec![value], &[a.node]);
                self.set_cond(&result, cond.not());
                result
            }
        }
    }

    pub(super) fn binary(&mut self, node: NodeId, op: ast::BinaryOp, a: &'a Expr, b: &'a Expr) -> Value<'a> {
        if matches!(op, ast::BinaryOp::And | ast::BinaryOp::Or) {
            return self.logic(node, op, a, b);
        }
        let x = self.expr(a, None);
        let y = self.expr(b, None);
        self.binary_values(node, op, (x, a.node), (y, b.node))
    }

    /// `x op y` of values, for `+=` too.
    pub(super) fn binary_values(
        &mut self,
        node: NodeId,
        op: ast::BinaryOp,
        (x, x_node): (Value<'a>, NodeId),
        (y, y_node): (Value<'a>, NodeId),
    ) -> Value<'a> {
        if x.is_unknown() || y.is_unknown() {
            return Value::Unknown;
        }
        match (&x, &y) {
            (Value::Literal(p), Value::Literal(q)) => self.literals(node, op, *p, *q),
            (Value::Index(p), Value::Index(q)) => self.index_op(node, op, p, q),
            (Value::Index(p), Value::Literal(Literal::Int(n))) => match self.small(y_node, *n) {
                Some(q) => self.index_op(node, op, p, &q),
                None => Value::Unknown,
            },
            (Value::Literal(Literal::Int(n)), Value::Index(q)) => match self.small(x_node, *n) {
                Some(p) => self.index_op(node, op, &p, q),
                None => Value::Unknown,
            },
            (Value::Index(_), other) => self.index_meets(x_node, other, y_node),
            (other, Value::Index(_)) => self.index_meets(y_node, other, x_node),
            _ => {
                let element = element_of(op);
                let cond = self.integer_cond(op, &x, &y);
                let result = self.element_op(node, element, vec![x, y], &[x_node, y_node]);
                if let Some(cond) = cond {
                    self.set_cond(&result, cond);
                }
                result
            }
        }
    }

    fn small(&mut self, node: NodeId, n: i128) -> Option<IntExpr> {
        if let Ok(n) = i64::try_from(n) {
            return Some(IntExpr::from(n));
        }
        let message = format!("{n} does not fit an index value, which has 64 bits and a sign");
        self.fail(node, Code::LiteralRange, message, "write a smaller number");
        None
    }

    fn index_meets(&mut self, node: NodeId, other: &Value<'a>, other_node: NodeId) -> Value<'a> {
        let found = self.describe(other);
        let dtype = match self.type_of(other) {
            Some(tenfold_ir::relax::Type::Tensor(t)) => t.dtype,
            Some(tenfold_ir::relax::Type::Tuple(_) | tenfold_ir::relax::Type::Shape(_)) | None => DType::F32,
        };
        let error =
            crate::Diagnostic::new(node, Code::IndexValue, format!("this is an index value, and it meets {found}"))
                .label(other_node, format!("this is {found}"))
                .help(format!("an index value is no element; convert it: `… as {dtype}`"));
        self.report(error);
        Value::Unknown
    }

    /// Two literals that have met nothing: one literal, or a bool.
    fn literals(&mut self, node: NodeId, op: ast::BinaryOp, p: Literal, q: Literal) -> Value<'a> {
        use ast::BinaryOp as B;
        if let (Literal::Int(a), Literal::Int(b)) = (p, q) {
            let sum = match op {
                B::Add => a.checked_add(b),
                B::Sub => a.checked_sub(b),
                B::Mul => a.checked_mul(b),
                _ => match (self.small(node, a), self.small(node, b)) {
                    (Some(a), Some(b)) => return self.index_op(node, op, &a, &b),
                    _ => return Value::Unknown,
                },
            };
            return match sum {
                Some(sum) => Value::Literal(Literal::Int(sum)),
                None => self.fail(node, Code::LiteralRange, "the number leaves 128 bits", "write smaller numbers"),
            };
        }
        let real = |l| match l {
            Literal::Int(n) => n as f64,
            Literal::Float(x) => x,
        };
        let (a, b) = (real(p), real(q));
        let number = |x| Value::Literal(Literal::Float(x));
        let truth = |t| Value::Fixed(Scalar::bool(t));
        match op {
            B::Add => number(a + b),
            B::Sub => number(a - b),
            B::Mul => number(a * b),
            B::Div => number(a / b),
            B::Rem => number(a % b),
            B::Eq => truth(a == b),
            B::Ne => truth(a != b),
            B::Lt => truth(a < b),
            B::Le => truth(a <= b),
            B::Gt => truth(a > b),
            B::Ge => truth(a >= b),
            B::BitAnd | B::BitOr | B::BitXor | B::Shl | B::Shr | B::And | B::Or => {
                let message = format!("`{}` takes integers or bools, found floats", op.symbol());
                self.fail(node, Code::DtypeMismatch, message, "convert first: `x as i32`")
            }
        }
    }

    /// Arithmetic and comparison of index values.
    pub(super) fn index_op(&mut self, node: NodeId, op: ast::BinaryOp, a: &IntExpr, b: &IntExpr) -> Value<'a> {
        if let Some(fact) = extent::fact(op, a, b) {
            if let Some(known) = extent::decided(op, a, b) {
                return Value::Fixed(Scalar::bool(known));
            }
            let result = self.compare_index(node, comparison(op), a, b);
            if !self.inside && (self.wraps(a) || self.wraps(b)) {
                self.says_nothing(node, &fact);
                return result;
            }
            self.doubt(&fact, [a, b]);
            self.set_cond(&result, Cond::exactly(fact));
            return result;
        }
        if let Some(value) = extent::binary(op, a, b, self.prover()) {
            return Value::Index(value);
        }
        let ElementOp::Binary(binary) = element_of(op) else { return Value::Unknown };
        if !self.inside {
            return self.index_bits(node, binary, a, b);
        }
        let (x, y) = (self.lower(a), self.lower(b));
        let e = self.kernel.b.binary(binary, x, y);
        Value::Index(self.atom(e, "bits"))
    }

    /// What integer expressions have no form for is computed as an `i64` of the graph and taken by its value.
    fn index_bits(&mut self, node: NodeId, op: op::BinaryOp, a: &IntExpr, b: &IntExpr) -> Value<'a> {
        let mut side = |e: &IntExpr| self.emit(node, Op::IndexValue { expr: e.clone(), dtype: DType::I64 }, &[], &[]);
        let (Some(x), Some(y)) = (side(a), side(b)) else { return Value::Unknown };
        let Some(bits) = self.emit(node, Op::Element(ElementOp::Binary(op)), &[x, y], &[]) else {
            return Value::Unknown;
        };
        self.bind_index(node, bits, "bits").map_or(Value::Unknown, Value::Index)
    }

    fn compare_index(&mut self, node: NodeId, op: CmpOp, a: &IntExpr, b: &IntExpr) -> Value<'a> {
        if self.inside {
            let (x, y) = (self.lower(a), self.lower(b));
            return Value::Scalar(self.kernel.b.compare(op, x, y));
        }
        let mut side = |e: &IntExpr| self.emit(node, Op::IndexValue { expr: e.clone(), dtype: DType::I64 }, &[], &[]);
        let (Some(x), Some(y)) = (side(a), side(b)) else { return Value::Unknown };
        match self.emit(node, Op::Element(ElementOp::Compare(op)), &[x, y], &[]) {
            Some(v) => Value::Tensor(v),
            None => Value::Unknown,
        }
    }

    /// A scalar bool; anything else is reported.
    pub(super) fn truth(&mut self, node: NodeId, value: &Value<'a>) -> Option<Truth> {
        match value {
            Value::Unknown => return None,
            Value::Fixed(s) if s.dtype.is_bool() => return Some(Truth::Known(s.bits != 0)),
            Value::Scalar(e) if self.kernel.dtype(*e) == Some(DType::Bool) => return Some(Truth::Element(*e)),
            Value::Tensor(v) if is_scalar_bool(&self.graph, *v) => {
                if !self.inside {
                    return Some(Truth::Graph(*v));
                }
                let buf = self.kernel.input(&self.graph, *v);
                return Some(Truth::Element(self.input_now(buf)));
            }
            _ => {}
        }
        let message = format!("expected a scalar `bool`, found {}", self.describe(value));
        let help = match value {
            Value::Tensor(_) => {
                "`select(c, x, y)`, `&` and `|` go element by element; `any(x)` and `all(x)` give a scalar"
            }
            _ => "compare: `x != 0`",
        };
        self.fail(node, Code::TypeMismatch, message, help);
        None
    }

    // Element operators.

    /// An element operator on values; literals take the dtype of what they meet.
    pub(super) fn element_op(
        &mut self,
        node: NodeId,
        op: ElementOp,
        args: Vec<Value<'a>>,
        nodes: &[NodeId],
    ) -> Value<'a> {
        if args.iter().any(Value::is_unknown) {
            return Value::Unknown;
        }
        let skip = usize::from(op == ElementOp::Select);
        let met = args.iter().skip(skip).find_map(|arg| match self.type_of(arg)? {
            tenfold_ir::relax::Type::Tensor(t) => Some(t.dtype),
            tenfold_ir::relax::Type::Tuple(_) | tenfold_ir::relax::Type::Shape(_) => None,
        });
        let mut typed = Vec::new();
        for (i, arg) in args.into_iter().enumerate() {
            let at = nodes.get(i).copied().unwrap_or(node);
            typed.push(match (arg, met) {
                (Value::Literal(literal), Some(dtype)) => self.literal_as(at, literal, dtype),
                (arg, _) => arg,
            });
        }
        if self.inside { self.kernel_op(node, op, &typed, nodes) } else { self.graph_op(node, op, &typed, nodes) }
    }

    fn graph_op(&mut self, node: NodeId, op: ElementOp, args: &[Value<'a>], nodes: &[NodeId]) -> Value<'a> {
        let mut values = Vec::new();
        for (i, arg) in args.iter().enumerate() {
            values.push(self.as_tensor(nodes.get(i).copied().unwrap_or(node), arg));
        }
        let Some(values) = values.into_iter().collect::<Option<Vec<ValueId>>>() else { return Value::Unknown };
        match self.emit(node, Op::Element(op), &values, nodes) {
            Some(v) => Value::Tensor(v),
            None => Value::Unknown,
        }
    }

    fn kernel_op(&mut self, node: NodeId, op: ElementOp, args: &[Value<'a>], nodes: &[NodeId]) -> Value<'a> {
        let mut scalars = Vec::new();
        for (i, arg) in args.iter().enumerate() {
            scalars.push(self.scalar(nodes.get(i).copied().unwrap_or(node), arg));
        }
        let Some(scalars) = scalars.into_iter().collect::<Option<Vec<ExprId>>>() else { return Value::Unknown };
        let dtypes: Option<Vec<DType>> = scalars.iter().map(|e| self.kernel.dtype(*e)).collect();
        let Some(dtypes) = dtypes else { return Value::Unknown };
        match element_dtype(op, &dtypes) {
            Ok(_) => Value::Scalar(self.kernel.b.element(op, &scalars)),
            Err(error) => {
                self.op_error(node, error, nodes, &[]);
                Value::Unknown
            }
        }
    }

    /// A scalar of the kernel; what is none is reported.
    pub(super) fn scalar(&mut self, node: NodeId, value: &Value<'a>) -> Option<ExprId> {
        match value {
            Value::Scalar(e) => Some(*e),
            Value::Fixed(s) => Some(self.kernel.scalar(*s)),
            Value::Literal(Literal::Float(x)) => Some(self.kernel.scalar(Scalar::float(DType::F32, *x))),
            Value::Tensor(v) if self.graph.tensor(*v).shape.is_empty() => {
                let buf = self.kernel.input(&self.graph, *v);
                Some(self.input_now(buf))
            }
            Value::Tensor(v) => {
                let rank = self.graph.tensor(*v).shape.len();
                let message = format!("a closure over elements holds scalars, found {}", self.describe(value));
                let indices = ["i", "j", "k", "l", "m", "n", "o", "p"][..rank.min(8)].join(", ");
                self.fail(node, Code::TensorInClosure, message, format!("read an element: `x[[{indices}]]`"));
                None
            }
            Value::Unknown
            | Value::Unit
            | Value::Index(_)
            | Value::Literal(Literal::Int(_))
            | Value::Text(_)
            | Value::Tuple(_)
            | Value::Array(_)
            | Value::Closure(_) => {
                // Says what is wrong; none of these is a tensor of the graph.
                let _ = self.as_tensor(node, value);
                None
            }
        }
    }

    // Conversion.

    pub(super) fn cast(&mut self, node: NodeId, a: &'a Expr, ty: &Name) -> Value<'a> {
        let value = self.expr(a, None);
        if ty.text == "_" {
            return self.error_value(); // no type of the language, which the parser says
        }
        if value.is_unknown() {
            return Value::Unknown;
        }
        if ty.text == "usize" || ty.text == "isize" {
            return self.cast_to_index(node, a, &value, ty.text == "usize");
        }
        let Some(dtype) = self.dtype(ty) else { return Value::Unknown };
        match Float8::of(dtype) {
            Some(format) => self.saturated(node, a.node, value, format.value(format.most), dtype),
            None => self.cast_value(node, a.node, value, dtype),
        }
    }

    fn cast_value(&mut self, node: NodeId, at: NodeId, value: Value<'a>, dtype: DType) -> Value<'a> {
        match value {
            Value::Index(e) => self.index_as(node, &e, dtype),
            Value::Literal(Literal::Int(n)) => Value::Fixed(Scalar::int(dtype, n)),
            Value::Literal(Literal::Float(x)) => Value::Fixed(Scalar::float(dtype, x)),
            value => self.element_op(node, ElementOp::Cast(dtype), vec![value], &[at]),
        }
    }

    /// As a float of 8 bits, up to `most`, as ONNX's conversion saturates; NaN stays. An integer goes by way of `f32`,
    /// which rounds none that is not too large.
    fn saturated(&mut self, node: NodeId, at: NodeId, value: Value<'a>, most: f64, dtype: DType) -> Value<'a> {
        let from = match self.type_of(&value) {
            Some(tenfold_ir::relax::Type::Tensor(t)) => Some(t.dtype),
            Some(tenfold_ir::relax::Type::Tuple(_) | tenfold_ir::relax::Type::Shape(_)) | None => None,
        };
        if from == Some(dtype) {
            return value;
        }
        let wide = from.filter(|from| from.is_float()).unwrap_or(DType::F32);
        let mut value = if from == Some(wide) { value } else { self.cast_value(node, at, value, wide) };
        if let Value::Fixed(s) = value {
            return Value::Fixed(Scalar::saturated(dtype, s.to_f64()));
        }
        for (op, end) in [(BinaryOp::Max, -most), (BinaryOp::Min, most)] {
            let end = Value::Fixed(Scalar::float(wide, end));
            value = self.element_op(node, ElementOp::Binary(op), vec![value, end], &[at, at]);
        }
        self.element_op(node, ElementOp::Cast(dtype), vec![value], &[at])
    }

    /// An index value as an element.
    fn index_as(&mut self, node: NodeId, e: &IntExpr, dtype: DType) -> Value<'a> {
        if let Some(n) = e.as_const() {
            return Value::Fixed(Scalar::int(dtype, i128::from(n)));
        }
        if self.inside {
            let value = self.lower(e);
            return Value::Scalar(self.kernel.b.cast(dtype, value));
        }
        match self.emit(node, Op::IndexValue { expr: e.clone(), dtype }, &[], &[]) {
            Some(v) => Value::Tensor(v),
            None => Value::Unknown,
        }
    }

    fn cast_to_index(&mut self, node: NodeId, a: &'a Expr, value: &Value<'a>, unsigned: bool) -> Value<'a> {
        if let Value::Literal(Literal::Float(x)) = value {
            let n = *x as i64;
            return Value::Index(IntExpr::from(if unsigned { n.max(0) } else { n }));
        }
        let float = match self.type_of(value) {
            Some(tenfold_ir::relax::Type::Tensor(t)) => t.dtype.is_float() || t.dtype.is_stored(),
            Some(tenfold_ir::relax::Type::Tuple(_) | tenfold_ir::relax::Type::Shape(_)) | None => false,
        };
        if !float {
            return match self.index_of(a, value) {
                Some(e) => Value::Index(e),
                None => Value::Unknown,
            };
        }
        // A float saturates, and 0 is the least `usize`.
        let text = format!("{} as {}", Self::text(a), if unsigned { "usize" } else { "isize" });
        let e = if self.inside {
            let Some(x) = self.scalar(a.node, value) else { return Value::Unknown };
            let i = self.kernel.b.to_index(x);
            self.atom(i, &text)
        } else {
            let as_i64 = self.element_op(node, ElementOp::Cast(DType::I64), vec![value.clone()], &[a.node]);
            let Value::Tensor(v) = as_i64 else { return Value::Unknown };
            match self.bind_index(node, v, &text) {
                Some(e) => e,
                None => return Value::Unknown,
            }
        };
        Value::Index(if unsigned { IntExpr::max(&e, &IntExpr::from(0)) } else { e })
    }

    /// An integer of any kind as an index value; what is none is reported.
    pub(super) fn index_of(&mut self, at: &Expr, value: &Value<'a>) -> Option<IntExpr> {
        match value {
            Value::Index(e) => return Some(e.clone()),
            Value::Literal(Literal::Int(n)) => return self.small(at.node, *n),
            Value::Fixed(s) if !s.dtype.is_float() && !s.dtype.is_stored() => return self.small(at.node, s.to_i128()),
            Value::Scalar(e) if self.kernel.dtype(*e).is_none_or(|d| !d.is_float() && !d.is_stored()) => {
                return Some(self.atom(*e, &Self::text(at)));
            }
            Value::Tensor(v) => {
                let ty = self.graph.tensor(*v);
                if ty.shape.is_empty() && !ty.dtype.is_float() && !ty.dtype.is_stored() {
                    if self.inside {
                        let buf = self.kernel.input(&self.graph, *v);
                        let e = self.input_now(buf);
                        return Some(self.atom(e, &Self::text(at)));
                    }
                    return self.bind_index(at.node, *v, &Self::text(at));
                }
            }
            Value::Unknown => return None,
            Value::Unit
            | Value::Literal(Literal::Float(_))
            | Value::Fixed(_)
            | Value::Text(_)
            | Value::Scalar(_)
            | Value::Tuple(_)
            | Value::Array(_)
            | Value::Closure(_) => {}
        }
        let message = format!("expected an index value or an integer, found {}", self.describe(value));
        self.fail(at.node, Code::TypeMismatch, message, "convert first: `x as isize`");
        None
    }

    /// The variable that stands for an integer expression of the kernel, its range known from now on.
    pub(super) fn atom(&mut self, e: ExprId, text: &str) -> IntExpr {
        if let Some(value) = self.kernel.known_scalar(e).and_then(|s| i64::try_from(s.to_i128()).ok()) {
            return IntExpr::from(value);
        }
        let (sym, new) = self.kernel.atom(e, text, &self.syms);
        let atom = IntExpr::var(sym);
        if new {
            let (lo, hi) = self.range_of(e);
            lo.into_iter().for_each(|lo| self.graph.prover.assume_ge(&atom, &lo));
            hi.into_iter().for_each(|hi| self.graph.prover.assume_le(&atom, &hi));
        }
        atom
    }

    /// The symbol that was bound to an integer, if its binding is seen here.
    fn bound_before(&self, v: ValueId) -> Option<IntExpr> {
        let sym = self.bound.get(&v)?;
        let binds = |op: &Op| matches!(op, Op::BindIndex(bound) if bound == sym);
        self.graph.visible().any(|binding| binds(&binding.op)).then(|| IntExpr::var(sym.clone()))
    }

    /// A symbol of the graph that stands for a scalar integer: one for all its uses.
    pub(super) fn bind_index(&mut self, node: NodeId, v: ValueId, text: &str) -> Option<IntExpr> {
        if let Some(known) = self.bound_before(v) {
            return Some(known);
        }
        let base: String = text.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).take(24).collect();
        let base = base.trim_matches('_').to_string();
        let sym = self.fresh_sym(if base.starts_with(char::is_alphabetic) { &base } else { "index" });
        let range = self.graph.range(v).cloned();
        let dtype = self.graph.tensor(v).dtype;
        let loc = self.loc(node);
        let bound_value = self.emit(node, Op::BindIndex(sym.clone()), &[v], &[node])?;
        self.graph.declare_sym(SymDecl { sym: sym.clone(), kind: SymKind::Bound(bound_value), loc });
        self.bound.insert(v, sym.clone());
        let atom = IntExpr::var(sym);
        match range {
            Some((lo, hi)) => {
                self.graph.prover.assume_ge(&atom, &lo);
                self.graph.prover.assume_lt(&atom, &hi);
            }
            None if !matches!(dtype, DType::I64 | DType::U64) => {
                let bound = |s: Scalar| IntExpr::from(i64::try_from(s.to_i128()).unwrap_or(i64::MAX));
                let (least, greatest) = (bound(Scalar::least(dtype)), bound(Scalar::greatest(dtype)));
                self.graph.prover.assume_ge(&atom, &least);
                self.graph.prover.assume_le(&atom, &greatest);
                self.graph.set_range(bound_value, least, greatest + 1);
            }
            None => {}
        }
        Some(atom)
    }

    // Conditions.

    /// What is known of index values if a bool is true or false.
    pub(super) fn cond_of(&self, value: &Value<'a>) -> Cond {
        match value {
            Value::Scalar(e) => self.kernel.conds.get(e).cloned().unwrap_or_default(),
            Value::Tensor(v) => self.conds.get(v).cloned().unwrap_or_default(),
            _ => Cond::default(),
        }
    }

    pub(super) fn set_cond(&mut self, value: &Value<'a>, cond: Cond) {
        match value {
            Value::Scalar(e) => {
                self.kernel.conds.insert(*e, cond);
            }
            Value::Tensor(v) => {
                self.conds.insert(*v, cond);
            }
            _ => {}
        }
    }

    /// What the comparison of two integers of a dtype says of the index values that they may become.
    fn integer_cond(&mut self, op: ast::BinaryOp, x: &Value<'a>, y: &Value<'a>) -> Option<Cond> {
        if !self.inside {
            return None;
        }
        extent::fact(op, &IntExpr::from(0), &IntExpr::from(0))?;
        let mut side = |value: &Value<'a>| match value {
            Value::Literal(Literal::Int(n)) => i64::try_from(*n).ok().map(IntExpr::from),
            Value::Fixed(s) if !s.dtype.is_float() => i64::try_from(s.to_i128()).ok().map(IntExpr::from),
            Value::Scalar(e) => match self.kernel.dtype(*e) {
                Some(d) if !d.is_float() && !d.is_bool() && d != DType::U64 => Some(self.atom(*e, "index")),
                Some(_) | None => None,
            },
            _ => None,
        };
        let (a, b) = (side(x)?, side(y)?);
        extent::fact(op, &a, &b).map(Cond::exactly)
    }

    /// An index value as an expression of the kernel.
    pub(super) fn lower(&mut self, e: &IntExpr) -> ExprId {
        let mut divisors = Vec::new();
        divisors_in(e, &mut divisors);
        for divisor in divisors {
            if extent::positive(self.prover(), &divisor) {
                self.kernel.b.know_positive(divisor);
            }
        }
        self.kernel.b.int_expr(e)
    }

    /// A statement in the current scope of the kernel.
    pub(super) fn push(&mut self, stmt: tenfold_ir::tir::Stmt) {
        if !is_empty(&stmt) {
            self.kernel.b.push(stmt);
        }
    }

    /// What `f` pushes to the kernel, as one statement.
    pub(super) fn capture<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> (tenfold_ir::tir::Stmt, R) {
        // The builder's scope takes a closure over the builder alone, so it is moved out and back.
        let mut b = std::mem::replace(&mut self.kernel.b, tenfold_ir::tir::Builder::new(""));
        let (snapshots, stores) = (self.kernel.snapshots.clone(), self.kernel.stores.clone());
        let (stmt, result) = b.scope(|inner| {
            std::mem::swap(inner, &mut self.kernel.b);
            let result = f(self);
            std::mem::swap(inner, &mut self.kernel.b);
            result
        });
        self.kernel.b = b;
        // What was bound inside is not bound behind it, and what was stored to holds something else.
        self.kernel.snapshots = snapshots;
        let now = &self.kernel.stores;
        self.kernel.snapshots.retain(|buf, _| stores.get(buf) == now.get(buf));
        (stmt, result)
    }
}

/// The divisors of floor divisions that are not constant.
fn divisors_in(e: &IntExpr, divisors: &mut Vec<IntExpr>) {
    match e.view() {
        View::Const(_) | View::Var(_) => {}
        View::Add(parts) | View::Mul(parts) => parts.iter().for_each(|part| divisors_in(part, divisors)),
        View::FloorDiv(a, b) | View::FloorMod(a, b) => {
            divisors_in(&a, divisors);
            divisors_in(&b, divisors);
            if b.as_const().is_none() {
                divisors.push(b);
            }
        }
        View::TruncDiv(a, b) | View::TruncRem(a, b) | View::Min(a, b) | View::Max(a, b) => {
            divisors_in(&a, divisors);
            divisors_in(&b, divisors);
        }
    }
}

/// A scalar bool.
#[derive(Clone, Copy, Debug)]
pub(super) enum Truth {
    /// Known when the program is built.
    Known(bool),
    /// Of the kernel.
    Element(ExprId),
    /// Of the graph.
    Graph(ValueId),
}

fn is_scalar_bool(graph: &tenfold_ir::relax::Builder, v: ValueId) -> bool {
    let ty = graph.tensor(v);
    ty.dtype.is_bool() && ty.shape.is_empty()
}

/// Whether a statement does nothing.
pub(super) fn is_empty(stmt: &tenfold_ir::tir::Stmt) -> bool {
    matches!(stmt, tenfold_ir::tir::Stmt::Seq(items) if items.is_empty())
}
