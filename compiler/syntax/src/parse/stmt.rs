//! Statements, blocks, patterns and the left sides of assignments.

use super::cx::{Cx, bare, ends, expr_ends, text_of};
use super::expr::{Place, binary_op, range_of};
use super::refused;
use crate::ast::{
    BinaryOp, Block, ConstSource, Expr, ExprKind, NodeId, Pattern, PatternKind, Range, Stmt, StmtKind, Target,
    TargetKind, Text,
};
use crate::code::Code;

impl Cx {
    pub(super) fn block(&mut self, b: &syn::Block) -> Block {
        let node = self.node((b.brace_token.span.open(), b.brace_token.span.close()));
        self.block_stmts(node, &b.stmts, &mut false)
    }

    /// A block around one expression.
    pub(super) fn block_of(&mut self, node: NodeId, e: &syn::Expr) -> Block {
        let (mut stmts, mut value) = (Vec::new(), None);
        if has_value(e) {
            value = Some(Box::new(self.expr(e)));
        } else {
            stmts.push(self.expr_stmt(e, true));
        }
        Block { node, stmts, value }
    }

    pub(super) fn block_stmts(&mut self, node: NodeId, list: &[syn::Stmt], facts: &mut bool) -> Block {
        let (mut stmts, mut value) = (Vec::new(), None);
        for (i, stmt) in list.iter().enumerate() {
            let last = i + 1 == list.len();
            match stmt {
                syn::Stmt::Expr(e, None) if last && has_value(e) => {
                    value = Some(Box::new(self.expr(e)));
                }
                syn::Stmt::Macro(m) if last && m.semi_token.is_none() && is_extern(&m.mac) => {
                    let node = self.node(ends(&m.mac));
                    let kind = self.macro_value(node, &m.mac);
                    value = Some(Box::new(Expr { node, kind }));
                }
                _ => stmts.extend(self.stmt(stmt, facts)),
            }
        }
        Block { node, stmts, value }
    }

    fn stmt(&mut self, stmt: &syn::Stmt, facts: &mut bool) -> Option<Stmt> {
        match stmt {
            syn::Stmt::Macro(m) => self.macro_stmt(m, facts),
            syn::Stmt::Item(syn::Item::Const(c)) => Some(self.const_stmt(c)),
            syn::Stmt::Item(item) => {
                let node = self.node(ends(item));
                let (what, help) = refused::item(item);
                self.refuse(node, Code::UnsupportedStatement, what, help);
                Some(Stmt { node, kind: StmtKind::Error })
            }
            syn::Stmt::Local(l) => {
                *facts = false;
                Some(self.let_stmt(l))
            }
            syn::Stmt::Expr(e, semi) => {
                // A lone `;` parses as an empty expression.
                if matches!(e, syn::Expr::Verbatim(t) if t.is_empty()) {
                    return None;
                }
                *facts = false;
                Some(self.expr_stmt(e, semi.is_none()))
            }
        }
    }

    fn macro_stmt(&mut self, m: &syn::StmtMacro, facts: &mut bool) -> Option<Stmt> {
        let node = self.node(ends(&m.mac));
        self.attributes(&m.attrs);
        if m.mac.path.is_ident("assert") {
            if !*facts {
                self.refuse(
                    node,
                    Code::AssertPlace,
                    "`assert!` stands behind another statement",
                    "move it to the beginning of the function; it is checked once per call, before anything is written",
                );
            }
            return Some(self.assert_stmt(node, &m.mac));
        }
        *facts = false;
        let inner = self.node(ends(&m.mac));
        let kind = self.macro_value(inner, &m.mac);
        Some(Stmt { node, kind: StmtKind::Expr(Expr { node: inner, kind }) })
    }

    fn assert_stmt(&mut self, node: NodeId, mac: &syn::Macro) -> Stmt {
        let comma_list = syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
        let list = match mac.parse_body_with(comma_list) {
            Ok(list) => list,
            Err(error) => {
                self.syn_error(error);
                return Stmt { node, kind: StmtKind::Error };
            }
        };
        let Some(condition) = list.first() else {
            self.refuse(
                node,
                Code::UnsupportedStatement,
                "`assert!` needs a condition",
                "write `assert!(pos < S, \"text\");`",
            );
            return Stmt { node, kind: StmtKind::Error };
        };
        let condition = self.expr(condition);
        let text = list.get(1).and_then(|e| self.assert_text(e));
        if let Some(extra) = list.get(2) {
            self.refuse_at(
                expr_ends(extra),
                Code::UnsupportedStatement,
                "the text of `assert!` has no arguments",
                "write the text in full: `assert!(pos < S, \"the cache is full\");`",
            );
        }
        Stmt { node, kind: StmtKind::Assert { condition, text } }
    }

    fn assert_text(&mut self, e: &syn::Expr) -> Option<Text> {
        match string_of(e) {
            Some(literal) => Some(self.text(literal)),
            None => {
                self.refuse_at(
                    expr_ends(e),
                    Code::UnsupportedStatement,
                    "the second argument of `assert!` is a text",
                    "write `assert!(pos < S, \"text\");`",
                );
                None
            }
        }
    }

    fn const_stmt(&mut self, c: &syn::ItemConst) -> Stmt {
        let node = self.node((c.const_token.span, c.semi_token.span));
        self.attributes(&c.attrs);
        if !matches!(c.vis, syn::Visibility::Inherited) || !c.generics.params.is_empty() {
            self.refuse(
                node,
                Code::UnsupportedStatement,
                "a constant of a body has neither visibility nor generic parameters",
                "write `const W: Tensor<f32, 64, 32> = …;`",
            );
        }
        let name = self.name(&c.ident);
        let ty = self.ty(&c.ty);
        let source = self.const_source(&c.expr);
        Stmt { node, kind: StmtKind::Const { name, ty, source } }
    }

    fn const_source(&mut self, e: &syn::Expr) -> ConstSource {
        let syn::Expr::Macro(m) = bare(e) else {
            return ConstSource::Value(self.expr(e));
        };
        let name = m.mac.path.segments.last().map(|s| text_of(&s.ident)).unwrap_or_default();
        let comma_list = syn::punctuated::Punctuated::<syn::LitStr, syn::Token![,]>::parse_terminated;
        let texts = m.mac.parse_body_with(comma_list).map(|l| l.into_iter().collect::<Vec<_>>());
        match (name.as_str(), texts.as_deref()) {
            ("safetensors", Ok([file, tensor])) => {
                let file = self.text(file);
                ConstSource::Safetensors { file, tensor: self.text(tensor) }
            }
            ("npy", Ok([file])) => ConstSource::Npy { file: self.text(file) },
            _ => {
                let node = self.node(expr_ends(e));
                self.refuse(
                    node,
                    Code::ConstSource,
                    "this is not the value of a constant",
                    "write `safetensors!(\"file\", \"name\")`, `npy!(\"file\")`, an array or an expression",
                );
                ConstSource::Value(Expr { node, kind: ExprKind::Error })
            }
        }
    }

    fn let_stmt(&mut self, l: &syn::Local) -> Stmt {
        let node = self.node((l.let_token.span, l.semi_token.span));
        self.attributes(&l.attrs);
        let (pat, ty) = match &l.pat {
            syn::Pat::Type(t) => (&*t.pat, Some(&*t.ty)),
            pat => (pat, None),
        };
        let pattern = self.pattern(pat, true);
        let ty = ty.map(|t| self.ty(t));
        let value = match &l.init {
            Some(init) => {
                if let Some((_, e)) = &init.diverge {
                    self.refuse_at(
                        expr_ends(e),
                        Code::UnsupportedStatement,
                        "a `let` has no `else`",
                        "write `let x = if c { a } else { b };`",
                    );
                }
                self.expr_in(&init.expr, Place::Let)
            }
            None => {
                self.refuse(
                    node,
                    Code::UnsupportedStatement,
                    "a `let` gives a value",
                    "write `let mut x = zeros::<f32>([N]);`, or `let x = if c { a } else { b };`",
                );
                Expr { node, kind: ExprKind::Error }
            }
        };
        Stmt { node, kind: StmtKind::Let { pattern, ty, value } }
    }

    fn expr_stmt(&mut self, e: &syn::Expr, tail: bool) -> Stmt {
        let e = bare(e);
        let node = self.node(expr_ends(e));
        let kind = match e {
            syn::Expr::Assign(a) => self.assign(&a.left, None, &a.right),
            syn::Expr::Binary(b) => match binary_op(&b.op) {
                Some((op, true)) => self.assign(&b.left, Some(op), &b.right),
                _ => self.effect(node, e, tail),
            },
            syn::Expr::ForLoop(f) => self.for_stmt(f),
            syn::Expr::While(w) => self.while_stmt(w),
            _ => self.effect(node, e, tail),
        };
        Stmt { node, kind }
    }

    /// An expression as a statement.
    fn effect(&mut self, node: NodeId, e: &syn::Expr, tail: bool) -> StmtKind {
        use syn::Expr as E;
        let value = self.expr(e);
        let atom = matches!(e, E::Lit(_) | E::Path(_) | E::Tuple(_) | E::Array(_) | E::Index(_));
        let idle = atom || matches!(e, E::Unary(_) | E::Binary(_) | E::Cast(_));
        if idle && !matches!(value.kind, ExprKind::Error) {
            let help = if tail {
                "write `let y = …;`"
            } else {
                "leave out the `;` if this is the result, or write `let y = …;`"
            };
            self.refuse(node, Code::UnsupportedStatement, "this statement has no effect", help);
        }
        StmtKind::Expr(value)
    }

    fn assign(&mut self, left: &syn::Expr, op: Option<BinaryOp>, right: &syn::Expr) -> StmtKind {
        let target = self.target(left);
        if op.is_some() && matches!(target.kind, TargetKind::Tuple(_) | TargetKind::Ignore) {
            self.refuse(
                target.node,
                Code::UnsupportedTarget,
                "a tuple is assigned to as a whole",
                "write `(a, b) = (a + c, b + d);`",
            );
        }
        let value = self.expr(right);
        StmtKind::Assign { target, op, value }
    }

    fn target(&mut self, e: &syn::Expr) -> Target {
        let e = bare(e);
        let node = self.node(expr_ends(e));
        self.expr_attributes(e);
        let kind = match e {
            syn::Expr::Path(_) => match super::types::expr_ident(e) {
                Some(ident) => TargetKind::Name(text_of(ident)),
                None => self.bad_target(node),
            },
            syn::Expr::Infer(_) => TargetKind::Ignore,
            syn::Expr::Tuple(t) => TargetKind::Tuple(t.elems.iter().map(|e| self.target(e)).collect()),
            syn::Expr::Index(i) => match super::types::expr_ident(&i.expr) {
                Some(ident) => {
                    let tensor = self.name(ident);
                    match self.double_brackets(node, &i.index) {
                        Some(indices) => TargetKind::Element { tensor, indices },
                        None => TargetKind::Error,
                    }
                }
                None => self.bad_target(node),
            },
            _ => self.bad_target(node),
        };
        Target { node, kind }
    }

    fn bad_target(&mut self, node: NodeId) -> TargetKind {
        self.refuse(
            node,
            Code::UnsupportedTarget,
            "this cannot be assigned to",
            "write a name, `x[[i, j]]`, `x[[i, ..]]`, or a tuple of these on the left side",
        );
        TargetKind::Error
    }

    fn for_stmt(&mut self, f: &syn::ExprForLoop) -> StmtKind {
        let unroll = self.loop_attributes(&f.attrs);
        self.no_label(&f.label);
        let variable = self.loop_variable(&f.pat);
        let place = expr_ends(bare(&f.expr));
        let node = self.node(place);
        let range = if range_of(&f.expr).is_some() {
            self.range(node, &f.expr, true)
        } else {
            self.refuse(
                node,
                Code::EmptyRange,
                "a `for` runs over a range",
                "write `for i in 0..N { … }`, and read elements by `x[[i]]`",
            );
            Range { node, start: None, end: None, steps: Vec::new() }
        };
        let body = self.loop_body(&f.body);
        StmtKind::For { unroll, variable, range, body }
    }

    fn loop_variable(&mut self, pat: &syn::Pat) -> Pattern {
        let pattern = self.pattern(pat, false);
        if matches!(pattern.kind, PatternKind::Tuple(_)) {
            self.refuse(
                pattern.node,
                Code::UnsupportedPattern,
                "a `for` binds one name",
                "write `for i in 0..N { … }`",
            );
        }
        pattern
    }

    fn while_stmt(&mut self, w: &syn::ExprWhile) -> StmtKind {
        self.attributes(&w.attrs);
        self.no_label(&w.label);
        let condition = self.expr(&w.cond);
        let body = self.loop_body(&w.body);
        StmtKind::While { condition, body }
    }

    fn loop_body(&mut self, b: &syn::Block) -> Block {
        let body = self.block(b);
        if let Some(value) = &body.value {
            self.refuse(
                value.node,
                Code::UnsupportedStatement,
                "the body of a loop has no value",
                "write `;` behind it, or assign it to a variable",
            );
        }
        body
    }

    fn no_label(&mut self, label: &Option<syn::Label>) {
        if let Some(label) = label {
            self.refuse_at(
                ends(label),
                Code::UnsupportedStatement,
                "a loop has no label",
                "leave out the label; there is no `break` and no `continue`",
            );
        }
    }

    /// What a `let` (`mutable` allowed), a closure or a `for` binds.
    pub(super) fn pattern(&mut self, pat: &syn::Pat, mutable_allowed: bool) -> Pattern {
        let pat = bare_pattern(pat);
        let node = self.node(ends(pat));
        let kind = match pat {
            syn::Pat::Wild(_) => PatternKind::Ignore,
            syn::Pat::Tuple(t) => {
                PatternKind::Tuple(t.elems.iter().map(|p| self.pattern(p, mutable_allowed)).collect())
            }
            syn::Pat::Ident(i) if i.by_ref.is_none() && i.subpat.is_none() => {
                let mutable = i.mutability.is_some();
                if mutable && !mutable_allowed {
                    self.refuse(
                        node,
                        Code::UnsupportedPattern,
                        "the variable of a closure or a loop does not change",
                        "write `let mut v = …;` in the body",
                    );
                }
                PatternKind::Name { name: text_of(&i.ident), mutable: mutable && mutable_allowed }
            }
            syn::Pat::Type(_) => {
                self.refuse(
                    node,
                    Code::UnsupportedPattern,
                    "the variables of a closure have no written type",
                    "write `|i, j| e`; a type stands behind the whole pattern of a `let`",
                );
                PatternKind::Error
            }
            _ => {
                self.refuse(
                    node,
                    Code::UnsupportedPattern,
                    "this pattern is not part of the language",
                    "write a name, `_`, or a tuple of these",
                );
                PatternKind::Error
            }
        };
        Pattern { node, kind }
    }

    /// Attributes of a `for`; whether it is to be unrolled.
    fn loop_attributes(&mut self, attrs: &[syn::Attribute]) -> bool {
        let is_unroll = |a: &&syn::Attribute| a.path().is_ident("unroll") && matches!(a.meta, syn::Meta::Path(_));
        let unroll = attrs.iter().any(|a| is_unroll(&a));
        for attr in attrs.iter().filter(|a| !is_unroll(a)) {
            self.attribute(attr);
        }
        unroll
    }

    /// Attributes where none has a meaning.
    pub(super) fn attributes(&mut self, attrs: &[syn::Attribute]) {
        for attr in attrs {
            self.attribute(attr);
        }
    }

    fn attribute(&mut self, attr: &syn::Attribute) {
        let path = attr.path();
        let words: Vec<String> = path.segments.iter().map(|s| text_of(&s.ident)).collect();
        let name = words.join("::");
        let help = match name.as_str() {
            "doc" | "rustfmt::skip" => return,
            // Reported wherever it stands.
            "cfg" | "cfg_attr" => return,
            "unroll" => "it is written `#[unroll]` and stands on a `for`",
            _ => "leave it out; rustc does not see the body",
        };
        self.refuse_at(ends(attr), Code::UnsupportedAttribute, format!("`#[{name}]` has no meaning here"), help);
    }

    /// Attributes of an expression, where none has a meaning. Those of loops are read with the loop.
    pub(super) fn expr_attributes(&mut self, e: &syn::Expr) {
        use syn::Expr as E;
        let attrs = match e {
            E::Array(e) => &e.attrs,
            E::Assign(e) => &e.attrs,
            E::Binary(e) => &e.attrs,
            E::Block(e) => &e.attrs,
            E::Call(e) => &e.attrs,
            E::Cast(e) => &e.attrs,
            E::Closure(e) => &e.attrs,
            E::If(e) => &e.attrs,
            E::Index(e) => &e.attrs,
            E::Lit(e) => &e.attrs,
            E::Macro(e) => &e.attrs,
            E::MethodCall(e) => &e.attrs,
            E::Path(e) => &e.attrs,
            E::Tuple(e) => &e.attrs,
            E::Unary(e) => &e.attrs,
            E::Unsafe(e) => &e.attrs,
            E::Paren(e) => &e.attrs,
            E::Range(e) => &e.attrs,
            E::Reference(e) => &e.attrs,
            _ => return,
        };
        self.attributes(attrs);
    }
}

fn is_extern(mac: &syn::Macro) -> bool {
    mac.path.is_ident("extern_call")
}

/// The string literal, if the expression is one.
pub(super) fn string_of(e: &syn::Expr) -> Option<&syn::LitStr> {
    match bare(e) {
        syn::Expr::Lit(l) => match &l.lit {
            syn::Lit::Str(s) => Some(s),
            _ => None,
        },
        _ => None,
    }
}

fn bare_pattern(mut pat: &syn::Pat) -> &syn::Pat {
    while let syn::Pat::Paren(p) = pat {
        pat = &p.pat;
    }
    pat
}

/// Whether an expression without `;` at the end of a block is the block's value.
fn has_value(e: &syn::Expr) -> bool {
    use syn::Expr as E;
    match bare(e) {
        E::If(i) => match &i.else_branch {
            Some((_, other)) => block_has_value(&i.then_branch) || has_value(other),
            None => false,
        },
        E::Block(b) => block_has_value(&b.block),
        E::Unsafe(u) => block_has_value(&u.block),
        E::ForLoop(_) | E::While(_) | E::Loop(_) | E::Assign(_) => false,
        E::Binary(b) => !matches!(binary_op(&b.op), Some((_, true))),
        E::Return(_) | E::Break(_) | E::Continue(_) => false,
        _ => true,
    }
}

fn block_has_value(b: &syn::Block) -> bool {
    match b.stmts.last() {
        Some(syn::Stmt::Expr(e, None)) => has_value(e),
        Some(syn::Stmt::Macro(m)) => m.semi_token.is_none() && is_extern(&m.mac),
        _ => false,
    }
}
