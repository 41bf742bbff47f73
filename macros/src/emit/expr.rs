//! Integer expressions and facts, as calls of the runtime's checked arithmetic.

use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;
use tenfold_ir::arith::{Fact, IntExpr, Sym, View};

/// What expressions are printed with.
pub(super) struct Scope<'a> {
    /// The runtime.
    pub(super) krate: &'a TokenStream,
    /// The names of dims and index values.
    pub(super) names: Vec<(Sym, Ident)>,
}

impl Scope<'_> {
    /// The value, as an `i64` or a result of the checked arithmetic.
    pub(super) fn value(&self, e: &IntExpr) -> TokenStream {
        match e.view() {
            View::Const(value) => {
                let literal = Literal::i64_suffixed(value);
                quote!(#literal)
            }
            View::Var(sym) => match self.names.iter().find(|(known, _)| *known == sym) {
                Some((_, name)) => quote!(#name),
                // an unbound dim is reported already
                None => quote!(0_i64),
            },
            View::Add(all) => self.nested("add", &all),
            View::Mul(all) => self.nested("mul", &all),
            View::FloorDiv(a, b) => self.binary("floor_div", &a, &b),
            View::FloorMod(a, b) => self.floor_mod(&a, &b),
            View::TruncDiv(a, b) => self.binary("trunc_div", &a, &b),
            View::TruncRem(a, b) => self.binary("rem", &a, &b),
            View::Min(a, b) => self.binary("min", &a, &b),
            View::Max(a, b) => self.binary("max", &a, &b),
        }
    }

    fn nested(&self, name: &str, all: &[IntExpr]) -> TokenStream {
        let krate = self.krate;
        let name = super::names::own(name);
        let mut values = all.iter().map(|e| self.value(e));
        let first = values.next().unwrap_or_else(|| quote!(0_i64));
        values.fold(first, |sum, value| quote!(#krate::rt::#name(#sum, #value)))
    }

    fn binary(&self, name: &str, a: &IntExpr, b: &IntExpr) -> TokenStream {
        let krate = self.krate;
        let name = super::names::own(name);
        let (a, b) = (self.value(a), self.value(b));
        quote!(#krate::rt::#name(#a, #b))
    }

    /// `a - (a floor_div b) * b`.
    fn floor_mod(&self, a: &IntExpr, b: &IntExpr) -> TokenStream {
        let krate = self.krate;
        let quotient = self.binary("floor_div", a, b);
        let (a, b) = (self.value(a), self.value(b));
        quote!(#krate::rt::sub(#a, #krate::rt::mul(#quotient, #b)))
    }

    /// Whether a fact holds, as an expression of type `bool` that may leave with an error.
    pub(super) fn holds(&self, fact: &Fact) -> TokenStream {
        match fact {
            Fact::NonNegative(e) => self.compare(e, &quote!(>= 0_i64)),
            Fact::Zero(e) => self.compare(e, &quote!(== 0_i64)),
            Fact::NonZero(e) => self.compare(e, &quote!(!= 0_i64)),
            Fact::Divisible(e, by) => {
                let krate = self.krate;
                let text = e.to_string();
                let (e, by) = (self.value(e), Literal::i64_suffixed(*by));
                quote!((#krate::rt::check(#text, #krate::rt::rem(#e, #by))? == 0_i64))
            }
            Fact::And(all) => self.joined(all, &quote!(&&), &quote!(true)),
            Fact::Or(any) => self.joined(any, &quote!(||), &quote!(false)),
        }
    }

    fn compare(&self, e: &IntExpr, with: &TokenStream) -> TokenStream {
        let krate = self.krate;
        let text = e.to_string();
        let e = self.value(e);
        quote!((#krate::rt::check(#text, #e)? #with))
    }

    fn joined(&self, facts: &[Fact], with: &TokenStream, empty: &TokenStream) -> TokenStream {
        let mut facts = facts.iter().map(|fact| self.holds(fact));
        match facts.next() {
            Some(first) => {
                let rest = facts.map(|fact| quote!(#with #fact));
                quote!((#first #(#rest)*))
            }
            None => quote!(#empty),
        }
    }
}
