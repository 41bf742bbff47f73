//! Types and dims.

use super::cx::{Cx, bare, ends, text_of};
use crate::ast::{Expr, ExprKind, Layout, Name, TensorType, Type, TypeKind};
use crate::code::Code;

const FORMS: &str = "write `Tensor<f32, N, 4>`, `Strided<f32, N, 4>`, a dtype, `usize`, `isize`, or a tuple of these";

impl Cx {
    pub(super) fn ty(&mut self, ty: &syn::Type) -> Type {
        let ty = bare_type(ty);
        let node = self.node(ends(ty));
        let kind = match ty {
            syn::Type::Path(p) if p.qself.is_none() => match p.path.segments.last() {
                Some(last) => self.path_type(node, &p.path, last),
                None => TypeKind::Error,
            },
            syn::Type::Tuple(t) => TypeKind::Tuple(t.elems.iter().map(|t| self.ty(t)).collect()),
            other => {
                let (what, help) = refused_type(other);
                self.refuse(node, Code::UnsupportedType, what, help);
                match other {
                    // what it refers to binds dims all the same
                    syn::Type::Reference(r) if matches!(bare_type(&r.elem), syn::Type::Path(_)) => {
                        self.ty(&r.elem).kind
                    }
                    _ => TypeKind::Error,
                }
            }
        };
        Type { node, kind }
    }

    fn path_type(&mut self, node: crate::ast::NodeId, path: &syn::Path, last: &syn::PathSegment) -> TypeKind {
        let name = text_of(&last.ident);
        let layout = match name.as_str() {
            "Tensor" => Layout::Dense,
            "Strided" => Layout::Strided,
            _ if path.segments.len() == 1 && last.arguments.is_none() => {
                return TypeKind::Scalar(name);
            }
            _ => {
                self.refuse(node, Code::UnsupportedType, format!("`{name}` is not a type of the language"), FORMS);
                return TypeKind::Error;
            }
        };
        if path.segments.len() > 1 || path.leading_colon.is_some() {
            self.refuse(
                node,
                Code::UnsupportedType,
                format!("`{name}` has no path"),
                format!("write `{name}<f32, N, 4>`"),
            );
        }
        let syn::PathArguments::AngleBracketed(args) = &last.arguments else {
            self.refuse(
                node,
                Code::UnsupportedType,
                format!("`{name}` needs a dtype and dims"),
                format!("write `{name}<f32, N, 4>`"),
            );
            return TypeKind::Error;
        };
        self.tensor_type(node, layout, args)
    }

    fn tensor_type(
        &mut self,
        node: crate::ast::NodeId,
        layout: Layout,
        args: &syn::AngleBracketedGenericArguments,
    ) -> TypeKind {
        let mut args = args.args.iter();
        let dtype = match args.next() {
            Some(syn::GenericArgument::Type(ty)) => plain_ident(ty),
            _ => None,
        };
        let Some(dtype) = dtype else {
            self.refuse(
                node,
                Code::UnsupportedType,
                format!("the first argument of `{}` is a dtype", layout.name()),
                format!("write `{}<f32, N, 4>`", layout.name()),
            );
            return TypeKind::Error;
        };
        if let Some(syn::GenericArgument::Type(second)) = args.clone().next() {
            let is_dtype = |ident: &syn::Ident| tenfold_abi::DType::from_any_name(&text_of(ident)).is_some();
            if let Some(second) = plain_ident(second).filter(|second| is_dtype(second) && !is_dtype(dtype)) {
                self.refuse_at(
                    (second.span(), second.span()),
                    Code::UnsupportedType,
                    format!("the dtype stands first, found `{}` behind `{}`", text_of(second), text_of(dtype)),
                    format!("write `{}<{}, {}>`", layout.name(), text_of(second), text_of(dtype)),
                );
                let (first, dtype) = (self.named_dim(dtype), self.name(second));
                let rest = args.skip(1).map(|arg| self.dim(arg));
                let dims = std::iter::once(first).chain(rest).collect();
                return TypeKind::Tensor(TensorType { layout, dtype, dims });
            }
        }
        let dtype: Name = self.name(dtype);
        let dims = args.map(|arg| self.dim(arg)).collect();
        TypeKind::Tensor(TensorType { layout, dtype, dims })
    }

    fn dim(&mut self, arg: &syn::GenericArgument) -> Expr {
        match arg {
            syn::GenericArgument::Const(e) => return self.expr(unbrace(e)),
            syn::GenericArgument::Type(ty) => {
                if let Some(ident) = plain_ident(ty) {
                    return self.named_dim(ident);
                }
            }
            _ => {}
        }
        let node = self.node(ends(arg));
        self.refuse(
            node,
            Code::UnsupportedType,
            "a dim is an integer, a name or `{ e }`",
            "write `Tensor<f32, N, 4, { N - 2 }>`",
        );
        Expr { node, kind: ExprKind::Error }
    }

    fn named_dim(&mut self, ident: &syn::Ident) -> Expr {
        let mut name = text_of(ident);
        let node = self.node((ident.span(), ident.span()));
        if !name.starts_with(char::is_uppercase) {
            self.refuse(
                node,
                Code::UnsupportedType,
                format!("the name of a dim begins with an upper-case letter, found `{name}`"),
                format!("write `{}`, or `{{ {name} }}` if this is a scalar parameter", name.to_uppercase()),
            );
            // what was meant, so that no other error follows
            name = name.to_uppercase();
        }
        Expr { node, kind: ExprKind::Name(name) }
    }
}

fn refused_type(ty: &syn::Type) -> (&'static str, &'static str) {
    match ty {
        syn::Type::Reference(r) if r.mutability.is_some() => {
            ("`&mut` stands only at a state parameter", "write `s: &mut Tensor<f32, N>` as a parameter")
        }
        syn::Type::Reference(_) => {
            ("there are no references: tensors are values, and inputs are borrowed by the call", "leave out the `&`")
        }
        syn::Type::Array(_) | syn::Type::Slice(_) => ("there are no arrays and slices", "write `Tensor<f32, N>`"),
        syn::Type::ImplTrait(_) | syn::Type::TraitObject(_) => ("there are no traits", FORMS),
        syn::Type::Ptr(_) => ("there are no pointers", FORMS),
        syn::Type::Infer(_) => ("`_` is not a type here", "leave the annotation out, or write it in full"),
        _ => ("this type is not part of the language", FORMS),
    }
}

/// The type inside of parentheses and invisible groups.
pub(super) fn bare_type(mut ty: &syn::Type) -> &syn::Type {
    loop {
        match ty {
            syn::Type::Paren(p) => ty = &p.elem,
            syn::Type::Group(g) => ty = &g.elem,
            _ => return ty,
        }
    }
}

/// The name, if the type is one.
pub(super) fn plain_ident(ty: &syn::Type) -> Option<&syn::Ident> {
    match bare_type(ty) {
        syn::Type::Path(p) if p.qself.is_none() => p.path.get_ident(),
        _ => None,
    }
}

/// The name, if the expression is one.
pub(super) fn expr_ident(e: &syn::Expr) -> Option<&syn::Ident> {
    match bare(e) {
        syn::Expr::Path(p) if p.qself.is_none() => p.path.get_ident(),
        _ => None,
    }
}

/// The `e` of `{ e }`, where the braces belong to Rust's syntax of generic arguments, or to its formatting.
pub(super) fn unbrace(e: &syn::Expr) -> &syn::Expr {
    match bare(e) {
        syn::Expr::Block(b) if b.label.is_none() && b.attrs.is_empty() => match b.block.stmts.as_slice() {
            [syn::Stmt::Expr(inner, None)] => unbrace(inner),
            _ => e,
        },
        other => other,
    }
}
