//! Expressions, by form.

use std::rc::Rc;

use tenfold_ir::arith::IntExpr;
use tenfold_ir::eval::{float_format, largest};
use tenfold_ir::ops::{self, Literal, nearest};
use tenfold_ir::relax::{Type, ValueId};
use tenfold_ir::{DType, Scalar};

use super::cx::Elaborator;
use super::show;
use super::value::{Closure, Value};
use crate::ast::{self, Block, Expr, ExprKind, Name, NodeId};
use crate::code::Code;
use crate::diagnostic::Diagnostic;

impl<'a> Elaborator<'a> {
    /// The value of an expression. `hint` is the type that it is to have, where that is written somewhere.
    pub(super) fn expr(&mut self, e: &'a Expr, hint: Option<&Type>) -> Value<'a> {
        self.graph.set_loc(self.loc(e.node));
        match &e.kind {
            ExprKind::Literal(literal) => self.literal(e.node, literal),
            ExprKind::Name(name) => self.name(e.node, name),
            ExprKind::Path(segments) => self.path(e.node, segments),
            ExprKind::Unary(op, a) => self.unary(e.node, *op, a),
            ExprKind::Binary(op, a, b) => self.binary(e.node, *op, a, b),
            ExprKind::Cast(a, ty) => self.cast(e.node, a, ty),
            ExprKind::Tuple(items) => self.tuple(items, hint),
            ExprKind::Array(items) => Value::Array(items.iter().map(|item| self.expr(item, None)).collect()),
            ExprKind::Range(_) => self.fail(
                e.node,
                Code::Operand,
                "a range is no value",
                "it stands among the indices of a slice, `x[[1..N]]`, and in a reduction, `sum(0..N, |i| …)`",
            ),
            ExprKind::Element { tensor, indices } => self.element_access(e, tensor, indices),
            ExprKind::Get { mode, tensor, indices, default } => {
                self.get(e, *mode, tensor, indices, default.as_deref(), hint)
            }
            ExprKind::Call(call) => self.call(e, call, hint),
            ExprKind::MatchShape { value, dims } => self.match_shape(e.node, value, dims, hint),
            ExprKind::ExternCall { path, args } => self.extern_call(e.node, path, args, hint),
            ExprKind::MutRef(name) => self.fail(
                e.node,
                Code::Operand,
                format!("`&mut {}` is no value", name.text),
                "it passes state to another tensor function: `self::f(x, &mut s)`",
            ),
            ExprKind::Closure { params, body } => {
                let names = self.frame.names.clone();
                Value::Closure(Rc::new(Closure { node: e.node, params, body, names }))
            }
            ExprKind::If { condition, then, otherwise } => {
                self.if_value(e.node, condition, then, otherwise.as_ref(), hint)
            }
            ExprKind::Block(block) => self.block(block, hint),
            ExprKind::Unsafe(block) => {
                let before = std::mem::replace(&mut self.vouched, true);
                let value = self.block(block, hint);
                self.vouched = before;
                value
            }
            ExprKind::Error => self.error_value(),
        }
    }

    /// An unknown value whose error the parser has reported.
    pub(super) fn error_value(&mut self) -> Value<'a> {
        self.unknown = true;
        Value::Unknown
    }

    /// A block in a scope of its own.
    pub(super) fn block(&mut self, block: &'a Block, hint: Option<&Type>) -> Value<'a> {
        let scope = self.frame.names.len();
        self.consts(block);
        let (tail, stmts) = match (&block.value, block.stmts.split_last()) {
            (None, Some((last, stmts))) => (branching(last), stmts),
            _ => (None, block.stmts.as_slice()),
        };
        let stmts = if tail.is_some() { stmts } else { block.stmts.as_slice() };
        for stmt in stmts {
            self.stmt(stmt);
        }
        let value = match (&block.value, tail) {
            (Some(value), _) => self.expr(value, hint),
            // one without `else` gives nothing, or is wrong and said to be
            (None, Some(tail)) => match self.expr(tail, None) {
                Value::Unknown => Value::Unknown,
                _ => Value::Unit,
            },
            (None, None) => Value::Unit,
        };
        self.frame.names.truncate(scope);
        value
    }

    fn tuple(&mut self, items: &'a [Expr], hint: Option<&Type>) -> Value<'a> {
        if items.is_empty() {
            return Value::Unit;
        }
        let hints: &[Type] = match hint {
            Some(Type::Tuple(hints)) => hints,
            Some(Type::Tensor(_) | Type::Shape(_)) | None => &[],
        };
        Value::Tuple(items.iter().enumerate().map(|(i, item)| self.expr(item, hints.get(i))).collect())
    }

    // Literals and names.

    fn literal(&mut self, node: NodeId, literal: &ast::Literal) -> Value<'a> {
        match literal {
            ast::Literal::Bool(value) => Value::Fixed(Scalar::bool(*value)),
            ast::Literal::Text(text) => Value::Text(text.clone()),
            ast::Literal::Int { value, suffix } => match i128::try_from(*value) {
                Ok(value) => self.integer(node, value, suffix.as_deref()),
                Err(_) => {
                    self.fail(node, Code::LiteralRange, format!("no dtype holds {value}"), "write a smaller number")
                }
            },
            ast::Literal::Float { digits, suffix } => self.float(node, digits, suffix.as_deref()),
        }
    }

    /// An integer with its sign.
    pub(super) fn integer(&mut self, node: NodeId, value: i128, suffix: Option<&str>) -> Value<'a> {
        match suffix {
            None => Value::Literal(Literal::Int(value)),
            Some("usize" | "isize") => match i64::try_from(value) {
                Ok(value) => Value::Index(IntExpr::from(value)),
                Err(_) => self.fail(
                    node,
                    Code::LiteralRange,
                    format!("{value} does not fit an index value, which has 64 bits and a sign"),
                    "write a smaller number",
                ),
            },
            Some(name) => {
                let name = Name { node, text: name.to_string() };
                let Some(dtype) = self.dtype(&name) else { return Value::Unknown };
                self.literal_as(node, Literal::Int(value), dtype)
            }
        }
    }

    fn float(&mut self, node: NodeId, digits: &str, suffix: Option<&str>) -> Value<'a> {
        let Ok(value) = digits.parse::<f64>() else {
            return self.fail(
                node,
                Code::LiteralRange,
                format!("`{digits}` is no float"),
                "write digits, a point and digits",
            );
        };
        match suffix {
            None => Value::Literal(Literal::Float(value)),
            Some(name) => {
                let name = Name { node, text: name.to_string() };
                let Some(dtype) = self.dtype(&name) else { return Value::Unknown };
                self.literal_as(node, Literal::Float(value), dtype)
            }
        }
    }

    /// A literal with the dtype that it meets.
    pub(super) fn literal_as(&mut self, node: NodeId, literal: Literal, dtype: DType) -> Value<'a> {
        match tenfold_ir::relax::literal_scalar(literal, dtype) {
            Ok(scalar) => Value::Fixed(scalar),
            Err(error) => {
                let mut diagnostic = Diagnostic::new(node, Code::LiteralRange, error.message);
                diagnostic.help = error.help;
                self.report(diagnostic);
                Value::Unknown
            }
        }
    }

    fn name(&mut self, node: NodeId, name: &str) -> Value<'a> {
        if let Some(var) = self.find(name) {
            return self.variable(var);
        }
        if let Some(dim) = self.frame.dims.get(name) {
            return Value::Index(dim.clone());
        }
        if let Some(value) = self.frame.generics.constant(name) {
            return Value::Index(IntExpr::from(value));
        }
        self.unknown_name(node, name)
    }

    /// Reports a name that means nothing here.
    pub(super) fn unknown_name(&mut self, node: NodeId, name: &str) -> Value<'a> {
        if ops::lookup(name).is_some() {
            let message = format!("`{name}` is an operator, not a value");
            return self.fail(node, Code::UnknownName, message, format!("call it: `{name}(x)`"));
        }
        let names = self.frame.names.iter().map(|(n, _)| n.as_str());
        let near = nearest(name, names.chain(self.frame.dims.keys().map(String::as_str)));
        // Any single letter is near to any other.
        let near = near.filter(|_| name.chars().count() > 1).map(str::to_string);
        let message = format!("there is no `{name}` here");
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None if matches!(name, "None" | "newaxis") => "a new axis is `expand_dims(x, axis = -1)`".to_string(),
            None if name.starts_with(char::is_uppercase) => {
                format!(
                    "a dim is bound by a parameter; a Rust constant of this name is not seen: `const {name}: f32 = …;` inside, or `dims({name} = 8)`"
                )
            }
            None => "bind it with `let`, or take it as a parameter".to_string(),
        };
        self.fail(node, Code::UnknownName, message, help)
    }

    /// `f32::INFINITY`, `i8::MAX`, `f32::consts::PI`.
    fn path(&mut self, node: NodeId, segments: &[String]) -> Value<'a> {
        let text = segments.join("::");
        let Some(first) = segments.first() else { return Value::Unknown };
        if first == "usize" || first == "isize" {
            let limit = match (first.as_str(), segments.get(1).map(String::as_str)) {
                (_, Some("MAX")) => Some(i64::MAX),
                ("usize", Some("MIN")) => Some(0),
                ("isize", Some("MIN")) => Some(i64::MIN),
                _ => None,
            };
            return match limit {
                Some(limit) => Value::Index(IntExpr::from(limit)),
                None => self.unknown_path(node, &text),
            };
        }
        let dtype = crate::signature::dtype(&Name { node, text: first.clone() }, &self.frame.generics);
        let Ok(dtype) = dtype else { return self.unknown_path(node, &text) };
        let rest: Vec<&str> = segments[1..].iter().map(String::as_str).collect();
        match dtype_constant(dtype, &rest) {
            Some(value) => Value::Fixed(value),
            None => self.unknown_path(node, &text),
        }
    }

    fn unknown_path(&mut self, node: NodeId, text: &str) -> Value<'a> {
        let message = format!("there is no constant `{text}`");
        self.fail(node, Code::UnknownName, message, "`f32::INFINITY`, `i8::MAX`, `f32::consts::PI` and the like exist")
    }

    /// The value as a value of the graph; `None` if it has none, which is reported.
    pub(super) fn as_tensor(&mut self, node: NodeId, value: &Value<'a>) -> Option<ValueId> {
        match value {
            Value::Tensor(v) => Some(*v),
            Value::Fixed(s) => {
                self.graph.set_loc(self.loc(node));
                Some(self.graph.scalar(*s))
            }
            Value::Literal(Literal::Float(x)) => {
                self.graph.set_loc(self.loc(node));
                Some(self.graph.scalar(Scalar::float(DType::F32, *x)))
            }
            Value::Unknown => None,
            Value::Literal(Literal::Int(n)) => {
                let message = "expected a tensor or scalar, found an index value";
                let help = format!("an integer that meets nothing is an index value; write `{n}.0` or `{n}i32`");
                self.fail(node, Code::IndexValue, message, help);
                None
            }
            Value::Index(e) => {
                let text = if self.inside { "i".to_string() } else { e.to_string() };
                let message = "expected a tensor or scalar, found an index value";
                self.fail(
                    node,
                    Code::IndexValue,
                    message,
                    format!("an index value is no element; convert it: `{text} as f32`"),
                );
                None
            }
            Value::Unit | Value::Text(_) | Value::Scalar(_) | Value::Tuple(_) | Value::Array(_) | Value::Closure(_) => {
                let message = format!("expected a tensor or scalar, found {}", self.describe(value));
                let help = match value {
                    Value::Unit => "an effect has no value; write the type: `let y: Tensor<f32, N> = extern_call!(…);`",
                    _ => "give one tensor or scalar",
                };
                self.fail(node, Code::TypeMismatch, message, help);
                None
            }
        }
    }

    /// The text of an expression.
    pub(super) fn text(e: &Expr) -> String {
        show::expr(e)
    }
}

/// The integer that an expression is, so that `-128i8` is one number and not the negation of one that `i8` lacks.
pub(super) fn integer_literal(e: &Expr) -> Option<(i128, Option<&str>)> {
    match &e.kind {
        ExprKind::Literal(ast::Literal::Int { value, suffix }) => {
            i128::try_from(*value).ok().map(|v| (v, suffix.as_deref()))
        }
        _ => None, // any other operand is negated as a value
    }
}

fn dtype_constant(dtype: DType, rest: &[&str]) -> Option<Scalar> {
    use std::f64::consts as c;
    let float = |value: f64| dtype.is_float().then(|| Scalar::float(dtype, value));
    match rest {
        ["MAX"] if dtype.is_float8() => Some(Scalar::saturated(dtype, f64::INFINITY)),
        ["MIN"] if dtype.is_float8() => Some(Scalar::saturated(dtype, f64::NEG_INFINITY)),
        ["MAX"] if !dtype.is_float() => Some(Scalar::greatest(dtype)),
        ["MIN"] if !dtype.is_float() => Some(Scalar::least(dtype)),
        ["MAX"] => float(largest(dtype)),
        ["MIN"] => float(-largest(dtype)),
        ["BITS"] => None,
        ["INFINITY"] => float(f64::INFINITY),
        ["NEG_INFINITY"] => float(f64::NEG_INFINITY),
        ["NAN"] => float(f64::NAN),
        ["EPSILON"] => float(2f64.powi(1 - float_format(dtype)?.0)),
        ["MIN_POSITIVE"] => float(2f64.powi(float_format(dtype)?.1)),
        ["consts", name] => float(match *name {
            "PI" => c::PI,
            "TAU" => c::TAU,
            "E" => c::E,
            "SQRT_2" => c::SQRT_2,
            "FRAC_1_SQRT_2" => c::FRAC_1_SQRT_2,
            "FRAC_PI_2" => c::FRAC_PI_2,
            "FRAC_PI_3" => c::FRAC_PI_3,
            "FRAC_PI_4" => c::FRAC_PI_4,
            "FRAC_PI_6" => c::FRAC_PI_6,
            "FRAC_PI_8" => c::FRAC_PI_8,
            "FRAC_1_PI" => c::FRAC_1_PI,
            "FRAC_2_PI" => c::FRAC_2_PI,
            "FRAC_2_SQRT_PI" => c::FRAC_2_SQRT_PI,
            "LN_2" => c::LN_2,
            "LN_10" => c::LN_10,
            "LOG2_E" => c::LOG2_E,
            "LOG10_E" => c::LOG10_E,
            "LOG2_10" => c::LOG2_10,
            "LOG10_2" => c::LOG10_2,
            _ => return None,
        }),
        _ => None,
    }
}

/// The `if` that a statement is.
fn branching(stmt: &ast::Stmt) -> Option<&Expr> {
    match &stmt.kind {
        ast::StmtKind::Expr(e) if matches!(e.kind, ExprKind::If { .. }) => Some(e),
        _ => None,
    }
}
