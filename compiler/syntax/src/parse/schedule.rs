//! `#[schedule(target = "…", |s| { … })]`.

use super::cx::{Cx, bare, ends, expr_ends, text_of};
use super::types::expr_ident;
use crate::ast::{Name, NodeId, Schedule, ScheduleArg, ScheduleArgKind, ScheduleBind, ScheduleStep, Text};
use crate::code::Code;

const FORM: &str =
    "write `#[schedule(|s| { s.parallel(i); })]`, for one target `#[schedule(target = \"nvptx\", |s| …)]`";
const STEP: &str = "write `s.parallel(i);` or `let [jo, ji] = s.split(j, [_, 16]);`";

impl Cx {
    pub(super) fn schedule(&mut self, attr: &syn::Attribute) -> Option<Schedule> {
        let node = self.node(ends(attr));
        let comma_list = syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
        let list = match attr.parse_args_with(comma_list) {
            Ok(list) => list,
            Err(error) => {
                self.syn_error(error);
                return None;
            }
        };
        let list: Vec<&syn::Expr> = list.iter().map(bare).collect();
        let (target, closure) = match list.as_slice() {
            [syn::Expr::Closure(c)] => (None, c),
            [syn::Expr::Assign(a), syn::Expr::Closure(c)] if expr_ident(&a.left).is_some_and(|i| i == "target") => {
                (self.text_value(&a.right, Code::ScheduleSyntax, FORM), c)
            }
            _ => {
                self.refuse(node, Code::ScheduleSyntax, "this is not a schedule", FORM);
                return None;
            }
        };
        self.schedule_closure(node, target, closure)
    }

    fn schedule_closure(&mut self, node: NodeId, target: Option<Text>, c: &syn::ExprClosure) -> Option<Schedule> {
        let handle = match c.inputs.first() {
            Some(syn::Pat::Ident(i)) if c.inputs.len() == 1 && i.subpat.is_none() => self.name(&i.ident),
            _ => {
                self.refuse(node, Code::ScheduleSyntax, "the closure of a schedule has one parameter", FORM);
                return None;
            }
        };
        let steps = match bare(&c.body) {
            syn::Expr::Block(b) => {
                let stmts = b.block.stmts.iter();
                stmts.filter_map(|s| self.schedule_stmt(&handle, s)).collect()
            }
            e => self.schedule_step(&handle, None, e, expr_ends(e)).into_iter().collect(),
        };
        Some(Schedule { node, target, handle, steps })
    }

    fn schedule_stmt(&mut self, handle: &Name, stmt: &syn::Stmt) -> Option<ScheduleStep> {
        match stmt {
            syn::Stmt::Expr(syn::Expr::Verbatim(t), _) if t.is_empty() => None,
            syn::Stmt::Expr(e, _) => self.schedule_step(handle, None, e, expr_ends(e)),
            syn::Stmt::Local(l) => match &l.init {
                Some(init) if init.diverge.is_none() && l.attrs.is_empty() => {
                    let place = (l.let_token.span, l.semi_token.span);
                    self.schedule_step(handle, Some(&l.pat), &init.expr, place)
                }
                _ => self.not_a_step(ends(l)),
            },
            other => self.not_a_step(ends(other)),
        }
    }

    fn not_a_step(&mut self, place: super::cx::Ends) -> Option<ScheduleStep> {
        self.refuse_at(place, Code::ScheduleSyntax, "a schedule calls primitives, one a statement", STEP);
        None
    }

    fn schedule_step(
        &mut self,
        handle: &Name,
        pat: Option<&syn::Pat>,
        e: &syn::Expr,
        place: super::cx::Ends,
    ) -> Option<ScheduleStep> {
        let syn::Expr::MethodCall(m) = bare(e) else {
            return self.not_a_step(place);
        };
        let on_handle = expr_ident(&m.receiver).is_some_and(|i| text_of(i) == handle.text);
        if !on_handle || m.turbofish.is_some() {
            return self.not_a_step(place);
        }
        let node = self.node(place);
        let binds = match pat {
            Some(pat) => Some(self.schedule_bind(pat)?),
            None => None,
        };
        let primitive = self.name(&m.method);
        let args = m.args.iter().map(|e| self.schedule_arg(e)).collect();
        Some(ScheduleStep { node, binds, primitive, args })
    }

    fn schedule_bind(&mut self, pat: &syn::Pat) -> Option<ScheduleBind> {
        let several = match pat {
            syn::Pat::Ident(i) if is_plain(i) => {
                return Some(ScheduleBind::One(self.name(&i.ident)));
            }
            syn::Pat::Slice(s) => &s.elems,
            syn::Pat::Tuple(t) => &t.elems,
            _ => return self.bad_bind(pat),
        };
        let mut names = Vec::new();
        for pat in several {
            names.push(match pat {
                syn::Pat::Ident(i) if is_plain(i) => self.name(&i.ident),
                syn::Pat::Wild(w) => Name { node: self.node(ends(w)), text: String::from("_") },
                _ => return self.bad_bind(pat),
            });
        }
        Some(ScheduleBind::Several(names))
    }

    fn bad_bind(&mut self, pat: &syn::Pat) -> Option<ScheduleBind> {
        self.refuse_at(
            ends(pat),
            Code::ScheduleSyntax,
            "a step binds a name or a list of names",
            "write `let b = s.block(\"y\");` or `let [i, j] = s.loops(b);`",
        );
        None
    }

    fn schedule_arg(&mut self, e: &syn::Expr) -> ScheduleArg {
        let e = bare(e);
        let node = self.node(expr_ends(e));
        let kind = match e {
            syn::Expr::Infer(_) => ScheduleArgKind::Infer,
            syn::Expr::Array(a) => ScheduleArgKind::List(a.elems.iter().map(|e| self.schedule_arg(e)).collect()),
            syn::Expr::Closure(_) => ScheduleArgKind::Closure(self.expr_in(e, super::expr::Place::Argument)),
            syn::Expr::Assign(a) => match expr_ident(&a.left) {
                Some(ident) => {
                    let name = self.name(ident);
                    ScheduleArgKind::Named(name, Box::new(self.schedule_arg(&a.right)))
                }
                None => self.bad_arg(node),
            },
            _ => match (expr_ident(e), literal_arg(e)) {
                (Some(ident), _) => ScheduleArgKind::Name(text_of(ident)),
                (None, Some(kind)) => kind,
                (None, None) => self.bad_arg(node),
            },
        };
        ScheduleArg { node, kind }
    }

    fn bad_arg(&mut self, node: NodeId) -> ScheduleArgKind {
        self.refuse(
            node,
            Code::ScheduleSyntax,
            "this is not an argument of a schedule's primitive",
            "write a name that an earlier step bound, a number, a text, `_`, or a list of these: `[_, 16]`",
        );
        ScheduleArgKind::Error
    }
}

fn is_plain(i: &syn::PatIdent) -> bool {
    i.by_ref.is_none() && i.mutability.is_none() && i.subpat.is_none()
}

fn literal_arg(e: &syn::Expr) -> Option<ScheduleArgKind> {
    let (e, sign) = match e {
        syn::Expr::Unary(u) if matches!(u.op, syn::UnOp::Neg(_)) => (bare(&u.expr), "-"),
        e => (e, ""),
    };
    let syn::Expr::Lit(l) = e else { return None };
    match &l.lit {
        syn::Lit::Int(i) if i.suffix().is_empty() => {
            format!("{sign}{}", i.base10_digits()).parse().ok().map(ScheduleArgKind::Int)
        }
        syn::Lit::Bool(b) if sign.is_empty() => Some(ScheduleArgKind::Bool(b.value)),
        syn::Lit::Str(s) if sign.is_empty() => Some(ScheduleArgKind::Text(s.value())),
        _ => None,
    }
}
