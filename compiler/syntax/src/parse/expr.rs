//! Expressions.

use super::cx::{Cx, bare, ends, expr_ends, text_of};
use super::operator::binary_op;
use super::range::range_of;
use super::refused;
use crate::ast::{Block, Expr, ExprKind, Name, NodeId, UnaryOp};
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
            E::Binary(b) if is_power(b) => {
                self.refuse(
                    node,
                    Code::UnsupportedExpression,
                    "there is no operator `**`",
                    "a power is `power(x, y)`, a square `square(x)`",
                );
                ExprKind::Error
            }
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
            // a list of words is the value of an attribute too
            E::Array(a) if place == Place::Named => {
                ExprKind::Array(a.elems.iter().map(|e| self.expr_in(e, place)).collect())
            }
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
}

/// Whether a product of what is dereferenced is a power as other languages write it, `x ** 2`.
fn is_power(b: &syn::ExprBinary) -> bool {
    let dereferences = matches!(&*b.right, syn::Expr::Unary(u) if matches!(u.op, syn::UnOp::Deref(_)));
    matches!(b.op, syn::BinOp::Mul(_)) && dereferences
}
