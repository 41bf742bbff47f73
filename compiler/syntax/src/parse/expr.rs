//! Expressions.

use super::cx::{Cx, bare, ends, expr_ends, text_of};
use super::refused;
use crate::ast::{BinaryOp, Block, Expr, ExprKind, GetMode, Literal, Name, NodeId, Path, Range, RangeStep, UnaryOp};
use crate::code::Code;

/// Where an expression stands, which decides about the forms that are no values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A value.
    Value,
    /// An argument of a call: also a closure, a range, `&mut s`.
    Argument,
    /// Among the indices of an element: also a range, whose ends may be left out.
    Index,
    /// The right side of a `let`: also a closure.
    Let,
    /// The value of a named attribute: also a text.
    Named,
}

impl Cx {
    /// An expression that is a value.
    pub(super) fn expr(&mut self, e: &syn::Expr) -> Expr {
        self.expr_in(e, Place::Value)
    }

    /// An expression at some place.
    pub(super) fn expr_in(&mut self, e: &syn::Expr, place: Place) -> Expr {
        let e = bare(e);
        let node = self.node(expr_ends(e));
        self.expr_attributes(e);
        Expr { node, kind: self.expr_kind(node, e, place) }
    }

    fn expr_kind(&mut self, node: NodeId, e: &syn::Expr, place: Place) -> ExprKind {
        use syn::Expr as E;
        if range_of(e).is_some() {
            return self.range_value(node, e, place);
        }
        match e {
            E::Lit(l) => self.literal(node, &l.lit, place),
            E::Path(p) => self.path_value(node, p),
            E::Unary(u) => self.unary(node, u),
            E::Binary(b) => match binary_op(&b.op) {
                Some((op, false)) => ExprKind::Binary(op, Box::new(self.expr(&b.left)), Box::new(self.expr(&b.right))),
                Some((_, true)) | None => self.misplaced_assignment(node),
            },
            E::Assign(_) => self.misplaced_assignment(node),
            E::Cast(c) => {
                let value = Box::new(self.expr(&c.expr));
                ExprKind::Cast(value, self.cast_type(&c.ty))
            }
            E::Tuple(t) => ExprKind::Tuple(t.elems.iter().map(|e| self.expr(e)).collect()),
            E::Array(a) => ExprKind::Array(a.elems.iter().map(|e| self.expr(e)).collect()),
            E::Index(i) => self.element(node, i),
            E::Call(c) => self.call(node, c),
            E::MethodCall(m) => self.method(node, m),
            E::Macro(m) => self.macro_value(node, &m.mac),
            E::Reference(r) => self.reference(node, r, place),
            E::Closure(c) => self.closure(node, c, place),
            E::If(i) => self.if_value(i),
            E::Block(b) if b.label.is_none() => ExprKind::Block(self.block(&b.block)),
            E::Paren(p) => self.expr_in(&p.expr, place).kind,
            E::Unsafe(u) => ExprKind::Unsafe(self.block(&u.block)),
            other => {
                let (what, help) = refused::expression(other);
                self.refuse(node, Code::UnsupportedExpression, what, help);
                ExprKind::Error
            }
        }
    }

    fn misplaced_assignment(&mut self, node: NodeId) -> ExprKind {
        self.refuse(
            node,
            Code::NamedArgument,
            "an assignment is a statement and has no value",
            "write it as a statement of its own; a named attribute stands behind the arguments of a call, `softmax(x, axis = -1)`",
        );
        ExprKind::Error
    }

    fn literal(&mut self, node: NodeId, literal: &syn::Lit, place: Place) -> ExprKind {
        match (self.number(node, literal), literal) {
            (Some(number), _) => ExprKind::Literal(number),
            (None, syn::Lit::Str(s)) if place == Place::Named => ExprKind::Literal(Literal::Text(s.value())),
            (None, syn::Lit::Str(_)) => {
                self.refuse(
                    node,
                    Code::Literal,
                    "a text is not a value",
                    "a text stands only where a file, a message or a named attribute is expected",
                );
                ExprKind::Error
            }
            (None, syn::Lit::Int(_) | syn::Lit::Float(_)) => ExprKind::Error,
            (None, _) => {
                self.refuse(
                    node,
                    Code::Literal,
                    "this literal is not part of the language",
                    "write the number itself, with a dtype as suffix if it needs one: `97u8`",
                );
                ExprKind::Error
            }
        }
    }

    /// A number or a truth value; reports a number that cannot be read.
    fn number(&mut self, node: NodeId, literal: &syn::Lit) -> Option<Literal> {
        match literal {
            syn::Lit::Bool(b) => Some(Literal::Bool(b.value)),
            syn::Lit::Int(i) if FLOAT_SUFFIXES.contains(&i.suffix()) => {
                Some(Literal::Float { digits: i.base10_digits().to_owned(), suffix: Some(i.suffix().to_owned()) })
            }
            syn::Lit::Int(i) => match i.base10_digits().parse() {
                Ok(value) => Some(Literal::Int { value, suffix: self.suffix(node, i.suffix(), INTEGER_SUFFIXES) }),
                Err(_) => {
                    self.refuse(node, Code::Literal, "this integer does not fit into 128 bits", "no dtype holds it");
                    None
                }
            },
            syn::Lit::Float(f) => Some(Literal::Float {
                digits: float_digits(f.base10_digits()),
                suffix: self.suffix(node, f.suffix(), FLOAT_SUFFIXES),
            }),
            _ => None,
        }
    }

    fn suffix(&mut self, node: NodeId, suffix: &str, known: &[&str]) -> Option<String> {
        if suffix.is_empty() {
            return None;
        }
        if !known.contains(&suffix) {
            self.refuse(
                node,
                Code::Literal,
                format!("`{suffix}` is not a suffix of this literal"),
                format!("write one of {}, or none", list_of(known)),
            );
            return None;
        }
        Some(suffix.to_owned())
    }

    fn path_value(&mut self, node: NodeId, p: &syn::ExprPath) -> ExprKind {
        let plain = p.qself.is_none() && p.path.segments.iter().all(|s| s.arguments.is_none());
        if !plain {
            self.refuse(
                node,
                Code::UnsupportedExpression,
                "a path of a value has no type arguments",
                "write a name, or a constant of a dtype: `f32::INFINITY`",
            );
            return ExprKind::Error;
        }
        let mut segments: Vec<String> = p.path.segments.iter().map(|s| text_of(&s.ident)).collect();
        if segments.len() > 2 && matches!(segments[0].as_str(), "std" | "core") {
            segments.remove(0);
        }
        match segments.as_slice() {
            [one] if one == "self" => {
                self.refuse(
                    node,
                    Code::UnsupportedExpression,
                    "a tensor function has no `self`",
                    "give the value a parameter of its own",
                );
                ExprKind::Error
            }
            [_] => ExprKind::Name(segments.remove(0)),
            _ => ExprKind::Path(segments),
        }
    }

    fn unary(&mut self, node: NodeId, u: &syn::ExprUnary) -> ExprKind {
        let op = match u.op {
            syn::UnOp::Neg(_) => UnaryOp::Neg,
            syn::UnOp::Not(_) => UnaryOp::Not,
            _ => {
                self.refuse(
                    node,
                    Code::UnsupportedExpression,
                    "there are no references, so nothing is dereferenced",
                    "leave out the `*`",
                );
                return ExprKind::Error;
            }
        };
        ExprKind::Unary(op, Box::new(self.expr(&u.expr)))
    }

    fn cast_type(&mut self, ty: &syn::Type) -> Name {
        let node = self.node(ends(ty));
        if let Some(ident) = super::types::plain_ident(ty) {
            return Name { node, text: text_of(ident) };
        }
        self.refuse(
            node,
            Code::UnsupportedType,
            "`as` converts to a dtype, `usize` or `isize`",
            "write `x as f32`, also if `x` is a tensor",
        );
        Name { node, text: String::from("_") }
    }

    /// `x[[i, j]]`.
    fn element(&mut self, node: NodeId, i: &syn::ExprIndex) -> ExprKind {
        let tensor = Box::new(self.expr(&i.expr));
        match self.double_brackets(node, &i.index) {
            Some(indices) => ExprKind::Element { tensor, indices },
            None => ExprKind::Error,
        }
    }

    /// The indices of `x[[i, j]]`.
    pub(super) fn double_brackets(&mut self, node: NodeId, index: &syn::Expr) -> Option<Vec<Expr>> {
        match bare(index) {
            syn::Expr::Array(a) if !a.elems.is_empty() => {
                Some(a.elems.iter().map(|e| self.expr_in(e, Place::Index)).collect())
            }
            syn::Expr::Array(_) => {
                self.refuse(
                    node,
                    Code::UnsupportedExpression,
                    "an element needs an index for each axis",
                    "write `x[[i, j]]`; a scalar is written without brackets",
                );
                None
            }
            _ => {
                self.refuse(
                    node,
                    Code::UnsupportedExpression,
                    "an element is written with two brackets",
                    "write `x[[i]]` instead of `x[i]`, and `x[[i, j]]` for two axes",
                );
                None
            }
        }
    }

    fn range_value(&mut self, node: NodeId, e: &syn::Expr, place: Place) -> ExprKind {
        match place {
            Place::Argument | Place::Index => ExprKind::Range(self.range(node, e, place == Place::Argument)),
            Place::Value | Place::Let | Place::Named => {
                self.refuse(
                    node,
                    Code::UnsupportedExpression,
                    "a range is not a value",
                    "a range stands in a `for`, as the range of a reduction, `sum(0..N, |i| …)`, or among indices, `x[[1.., 0]]`",
                );
                ExprKind::Error
            }
        }
    }

    /// The range of an expression that [`range_of`] knows to be one.
    pub(super) fn range(&mut self, node: NodeId, e: &syn::Expr, closed: bool) -> Range {
        let mut steps = Vec::new();
        let (start, end) = self.range_parts(node, e, closed, &mut steps);
        Range { node, start, end, steps }
    }

    fn range_parts(
        &mut self,
        node: NodeId,
        e: &syn::Expr,
        closed: bool,
        steps: &mut Vec<RangeStep>,
    ) -> (Option<Box<Expr>>, Option<Box<Expr>>) {
        match bare(e) {
            syn::Expr::Range(r) => {
                if matches!(r.limits, syn::RangeLimits::Closed(_)) {
                    self.refuse(
                        node,
                        Code::EmptyRange,
                        "a range does not hold its end",
                        "write `a..b + 1` instead of `a..=b`",
                    );
                } else if closed && (r.start.is_none() || r.end.is_none()) {
                    self.refuse(
                        node,
                        Code::EmptyRange,
                        "this range needs both ends",
                        "write `0..N`; the ends may be left out only among indices, `x[[1..]]`",
                    );
                }
                let start = r.start.as_ref().map(|e| Box::new(self.expr(e)));
                (start, r.end.as_ref().map(|e| Box::new(self.expr(e))))
            }
            syn::Expr::MethodCall(m) => {
                let parts = self.range_parts(node, &m.receiver, closed, steps);
                self.range_step(m, steps);
                parts
            }
            _ => (None, None),
        }
    }

    fn range_step(&mut self, m: &syn::ExprMethodCall, steps: &mut Vec<RangeStep>) {
        match (text_of(&m.method).as_str(), m.args.len()) {
            ("rev", 0) => steps.push(RangeStep::Rev),
            ("step_by", 1) => {
                let step = self.expr(&m.args[0]);
                steps.push(RangeStep::StepBy(step));
            }
            _ => self.refuse_at(
                (m.method.span(), m.paren_token.span.close()),
                Code::EmptyRange,
                format!("a range has no `{}` of this form", text_of(&m.method)),
                "write `(a..b).rev()` or `(a..b).step_by(2)`",
            ),
        }
    }

    fn reference(&mut self, node: NodeId, r: &syn::ExprReference, place: Place) -> ExprKind {
        if r.mutability.is_none() {
            self.refuse(
                node,
                Code::UnsupportedExpression,
                "tensors are values, there are no references",
                "leave out the `&`",
            );
            return self.expr(&r.expr).kind;
        }
        match (place, super::types::expr_ident(&r.expr)) {
            (Place::Argument, Some(ident)) => ExprKind::MutRef(self.name(ident)),
            (Place::Argument, None) => {
                self.refuse(
                    node,
                    Code::UnsupportedExpression,
                    "`&mut` passes a whole state or variable on, by its name",
                    "write `&mut s`",
                );
                ExprKind::Error
            }
            _ => {
                self.refuse(
                    node,
                    Code::UnsupportedExpression,
                    "`&mut` stands only at an argument that is state",
                    "tensors are values: write `let mut y = x;`",
                );
                ExprKind::Error
            }
        }
    }

    fn closure(&mut self, node: NodeId, c: &syn::ExprClosure, place: Place) -> ExprKind {
        if !matches!(place, Place::Argument | Place::Let) {
            self.refuse(
                node,
                Code::UnsupportedExpression,
                "a closure is not a value",
                "give it to `compute` or a reduction, or name it: `let f = |a, b| a + b;`",
            );
            return ExprKind::Error;
        }
        let words = c.constness.is_some() || c.asyncness.is_some() || c.capture.is_some();
        if words || c.lifetimes.is_some() || !matches!(c.output, syn::ReturnType::Default) {
            self.refuse(
                node,
                Code::UnsupportedExpression,
                "a closure has neither `move`, `async`, `const` nor a result type",
                "write `|i, j| e`",
            );
        }
        let params = c.inputs.iter().map(|p| self.pattern(p, false)).collect();
        // rustfmt puts braces around a body and takes them away.
        let body = Box::new(self.expr(super::types::unbrace(&c.body)));
        ExprKind::Closure { params, body }
    }

    fn if_value(&mut self, i: &syn::ExprIf) -> ExprKind {
        let condition = Box::new(self.expr(&i.cond));
        let then = self.block(&i.then_branch);
        let otherwise = i.else_branch.as_ref().map(|(_, e)| self.else_block(e));
        ExprKind::If { condition, then, otherwise }
    }

    fn else_block(&mut self, e: &syn::Expr) -> Block {
        match e {
            syn::Expr::Block(b) => self.block(&b.block),
            other => {
                let node = self.node(expr_ends(other));
                self.block_of(node, other)
            }
        }
    }

    /// `extern_call!` and the macros that are refused.
    pub(super) fn macro_value(&mut self, node: NodeId, mac: &syn::Macro) -> ExprKind {
        let name = mac.path.segments.last().map(|s| text_of(&s.ident)).unwrap_or_default();
        if name == "extern_call" {
            return self.extern_call(node, mac);
        }
        let (what, help) = refused::macro_call(&name);
        self.refuse(node, Code::UnsupportedExpression, what, help);
        ExprKind::Error
    }

    fn extern_call(&mut self, node: NodeId, mac: &syn::Macro) -> ExprKind {
        let comma_list = syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
        let list = match mac.parse_body_with(comma_list) {
            Ok(list) => list,
            Err(error) => {
                self.syn_error(error);
                return ExprKind::Error;
            }
        };
        let mut list = list.iter();
        let path = match list.next().map(bare) {
            Some(syn::Expr::Path(p)) if p.qself.is_none() => {
                Path { node: self.node(ends(p)), segments: self.plain_segments(&p.path) }
            }
            _ => {
                self.refuse(
                    node,
                    Code::UnsupportedExpression,
                    "`extern_call!` begins with the path of a function",
                    "write `extern_call!(crate::dsp::smooth, x, 3)`",
                );
                return ExprKind::Error;
            }
        };
        let args = list.map(|e| self.expr_in(e, Place::Argument)).collect();
        ExprKind::ExternCall { path, args }
    }

    /// `x.get_or([i, j], 0.0)` and its like, from the operands in order.
    pub(super) fn get(&mut self, node: NodeId, mode: GetMode, operands: &[&syn::Expr]) -> ExprKind {
        let (tensor, list, default) = match (mode, operands) {
            (GetMode::Or, [tensor, list, default]) => (tensor, list, Some(default)),
            (GetMode::Or, _) => return self.get_form(node, mode),
            (_, [tensor, list]) => (tensor, list, None),
            _ => return self.get_form(node, mode),
        };
        let syn::Expr::Array(list) = bare(list) else {
            return self.get_form(node, mode);
        };
        let tensor = Box::new(self.expr(tensor));
        let indices = list.elems.iter().map(|e| self.expr(e)).collect();
        let default = default.map(|e| Box::new(self.expr(e)));
        ExprKind::Get { mode, tensor, indices, default }
    }

    fn get_form(&mut self, node: NodeId, mode: GetMode) -> ExprKind {
        let name = mode.name();
        let form = match mode {
            GetMode::Or => "x.get_or([i, j], 0.0)".to_owned(),
            GetMode::Unchecked => "unsafe { x.get_unchecked([i, j]) }".to_owned(),
            GetMode::Clamped | GetMode::Wrapped | GetMode::Reflected => format!("x.{name}([i, j])"),
        };
        self.refuse(
            node,
            Code::UnsupportedExpression,
            format!("`{name}` takes the indices in brackets"),
            format!("write `{form}`"),
        );
        ExprKind::Error
    }
}

const INTEGER_SUFFIXES: &[&str] = &["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "isize", "usize"];
const FLOAT_SUFFIXES: &[&str] = &["f16", "bf16", "f32", "f64"];

fn list_of(names: &[&str]) -> String {
    names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
}

/// `1.` is `1.0`.
fn float_digits(digits: &str) -> String {
    match digits.strip_suffix('.') {
        Some(whole) => format!("{whole}.0"),
        None => digits.to_owned(),
    }
}

/// Whether this is `a..b`, with `rev` and `step_by` behind it or not.
pub(super) fn range_of(e: &syn::Expr) -> Option<&syn::ExprRange> {
    match bare(e) {
        syn::Expr::Range(r) => Some(r),
        syn::Expr::MethodCall(m) => range_of(&m.receiver),
        _ => None,
    }
}

/// The operator, and whether it assigns.
pub(super) fn binary_op(op: &syn::BinOp) -> Option<(BinaryOp, bool)> {
    use syn::BinOp as B;
    Some(match op {
        B::Add(_) => (BinaryOp::Add, false),
        B::Sub(_) => (BinaryOp::Sub, false),
        B::Mul(_) => (BinaryOp::Mul, false),
        B::Div(_) => (BinaryOp::Div, false),
        B::Rem(_) => (BinaryOp::Rem, false),
        B::And(_) => (BinaryOp::And, false),
        B::Or(_) => (BinaryOp::Or, false),
        B::BitXor(_) => (BinaryOp::BitXor, false),
        B::BitAnd(_) => (BinaryOp::BitAnd, false),
        B::BitOr(_) => (BinaryOp::BitOr, false),
        B::Shl(_) => (BinaryOp::Shl, false),
        B::Shr(_) => (BinaryOp::Shr, false),
        B::Eq(_) => (BinaryOp::Eq, false),
        B::Lt(_) => (BinaryOp::Lt, false),
        B::Le(_) => (BinaryOp::Le, false),
        B::Ne(_) => (BinaryOp::Ne, false),
        B::Ge(_) => (BinaryOp::Ge, false),
        B::Gt(_) => (BinaryOp::Gt, false),
        B::AddAssign(_) => (BinaryOp::Add, true),
        B::SubAssign(_) => (BinaryOp::Sub, true),
        B::MulAssign(_) => (BinaryOp::Mul, true),
        B::DivAssign(_) => (BinaryOp::Div, true),
        B::RemAssign(_) => (BinaryOp::Rem, true),
        B::BitXorAssign(_) => (BinaryOp::BitXor, true),
        B::BitAndAssign(_) => (BinaryOp::BitAnd, true),
        B::BitOrAssign(_) => (BinaryOp::BitOr, true),
        B::ShlAssign(_) => (BinaryOp::Shl, true),
        B::ShrAssign(_) => (BinaryOp::Shr, true),
        _ => return None,
    })
}
