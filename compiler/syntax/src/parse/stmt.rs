//! Statements and blocks.

use super::cx::{Cx, bare, ends, expr_ends};
use super::expr::Place;
use super::operator::binary_op;
use super::refused;
use crate::ast::{BinaryOp, Block, Expr, ExprKind, NodeId, Stmt, StmtKind, TargetKind};
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
