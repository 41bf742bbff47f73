//! The arguments of `#[tensor_fn(…)]`.

use proc_macro2::TokenStream;

use super::cx::{Cx, Ends, bare, ends, expr_ends, text_of};
use super::recover::{chunks, closed};
use super::stmt::string_of;
use super::types::expr_ident;
use crate::ast::{
    Attributes, Budget, BudgetOf, Expr, Fact, FactKind, Instances, LoadedParam, Model, ModelFormat, NodeId, Path, Pool,
    Size, Text,
};
use crate::code::Code;

/// What factors of products may be rounded to.
const PRECISIONS: [&str; 3] = ["bf16", "f32", "tf32"];

impl Cx {
    pub(super) fn tensor_fn_arguments(&mut self, tokens: TokenStream) -> Attributes {
        let mut attributes = Attributes::default();
        for chunk in chunks(tokens, ',') {
            let parser = |input: syn::parse::ParseStream| {
                let e = input.parse::<syn::Expr>()?;
                input.parse::<Option<syn::Token![,]>>()?;
                Ok(e)
            };
            match closed(chunk, parser) {
                Ok(e) => self.argument(&e, &mut attributes),
                Err(error) => {
                    self.syn_error(error);
                }
            }
        }
        self.check_targets(&attributes.targets);
        attributes
    }

    fn argument(&mut self, e: &syn::Expr, attributes: &mut Attributes) {
        let e = bare(e);
        match e {
            syn::Expr::Call(c) => match expr_ident(&c.func).map(text_of).as_deref() {
                Some("dims") => {
                    let facts = c.args.iter().filter_map(|e| self.fact(e)).collect::<Vec<_>>();
                    attributes.dims.extend(facts);
                }
                Some("pool") => {
                    if c.args.is_empty() {
                        self.unknown_argument(expr_ends(e), &c.func);
                    }
                    let pools = c.args.iter().filter_map(|e| self.pool(e)).collect::<Vec<_>>();
                    attributes.pools.extend(pools);
                }
                Some("targets") => self.targets(c, attributes),
                Some("params") => {
                    let params = c.args.iter().filter_map(|e| self.loaded_param(e)).collect::<Vec<_>>();
                    attributes.params.extend(params);
                }
                Some("weights") => self.weights_section(c, attributes),
                _ => self.unknown_argument(expr_ends(e), &c.func),
            },
            syn::Expr::Binary(b) if matches!(b.op, syn::BinOp::Le(_)) => {
                let node = self.node(expr_ends(e));
                self.budget(node, b, attributes);
            }
            syn::Expr::Assign(a) => self.assigned_argument(expr_ends(e), a, attributes),
            other => self.unknown_argument(expr_ends(other), other),
        }
    }

    pub(super) fn unknown_argument(&mut self, place: Ends, e: &syn::Expr) {
        let words: String = quote::ToTokens::to_token_stream(e).to_string();
        let name = expr_ident(e).map(text_of);
        let (message, help) = match name.as_deref() {
            Some("dims" | "pool" | "params") => (
                format!("`{words}` needs arguments"),
                "write `dims(K = 8, B <= 64)`, `pool(dtcm = \"64K\")` or `params(w, b = \"fc.bias\")`",
            ),
            Some("target" | "targets") => (format!("`{words}` needs arguments"), "write `targets(\"cpu\", \"spirv\")`"),
            Some("workspace" | "weights" | "stack") => {
                (format!("`{words}` is a bound"), "write `workspace <= \"64K\"`")
            }
            _ => (
                format!("`{words}` is not an argument of `#[tensor_fn]`"),
                "write `dims(K = 8, B <= 64)` for facts about dims, `T = [f32, f16]` for generic parameters; the others are listed with this error's number",
            ),
        };
        self.refuse_at(place, Code::AttributeArgument, message, help);
    }

    fn fact(&mut self, e: &syn::Expr) -> Option<Fact> {
        let e = bare(e);
        let node = self.node(expr_ends(e));
        let kind = match e {
            syn::Expr::Assign(a) => match expr_ident(&a.left) {
                Some(ident) => {
                    let name = self.name(ident);
                    FactKind::Fixed(name, self.expr(&a.right))
                }
                None => return self.bad_fact(node),
            },
            syn::Expr::Binary(_) => FactKind::Holds(self.expr(e)),
            _ => return self.bad_fact(node),
        };
        Some(Fact { node, kind })
    }

    fn bad_fact(&mut self, node: NodeId) -> Option<Fact> {
        self.refuse(
            node,
            Code::AttributeArgument,
            "this is not a fact about dims",
            "write `dims(K = 8, B <= 64, N % 8 == 0)`",
        );
        None
    }

    fn pool(&mut self, e: &syn::Expr) -> Option<Pool> {
        let e = bare(e);
        let node = self.node(expr_ends(e));
        if let syn::Expr::Assign(a) = e
            && let Some(ident) = expr_ident(&a.left)
        {
            let name = self.name(ident);
            let size = self.size(&a.right)?;
            return Some(Pool { node, name, size });
        }
        self.refuse(
            node,
            Code::AttributeArgument,
            "this is not a memory",
            "write `pool(dtcm = \"64K\", psram = \"8M\")`",
        );
        None
    }

    fn loaded_param(&mut self, e: &syn::Expr) -> Option<LoadedParam> {
        let e = bare(e);
        let node = self.node(expr_ends(e));
        let help = "write `params(w, b = \"fc.bias\")`: parameters, with their names in the file where these differ";
        let (name, tensor) = match e {
            syn::Expr::Assign(a) => (expr_ident(&a.left), Some(&a.right)),
            _ => (expr_ident(e), None),
        };
        let Some(ident) = name else {
            self.refuse(node, Code::AttributeArgument, "this is not a parameter", help);
            return None;
        };
        let name = self.name(ident);
        let tensor = match tensor {
            Some(text) => Some(self.text_value(text, Code::AttributeArgument, help)?),
            None => None,
        };
        Some(LoadedParam { node, name, tensor })
    }

    fn weights_section(&mut self, c: &syn::ExprCall, attributes: &mut Attributes) {
        let section = match c.args.first().map(bare) {
            Some(syn::Expr::Assign(a)) if c.args.len() == 1 => {
                let named = expr_ident(&a.left).is_some_and(|i| i == "section");
                named.then(|| string_of(&a.right)).flatten()
            }
            _ => None,
        };
        match section {
            Some(literal) => {
                let text = self.text(literal);
                if text.value.is_empty() || !text.value.bytes().all(|b| b.is_ascii_graphic()) {
                    let message = format!("`{}` is no name of a section", text.value.escape_default());
                    let help = "write letters, digits and dots, as in the linker script: `section = \".qspi\"`";
                    self.refuse(text.node, Code::AttributeArgument, message, help);
                }
                self.once(text.node, "weights(section)", &mut attributes.weights_section, text);
            }
            None => self.refuse_at(
                (expr_ends(&c.func).0, c.paren_token.span.close()),
                Code::AttributeArgument,
                "`weights` takes the name of a section or a bound",
                "write `weights(section = \".qspi\")` or `weights <= \"256K\"`",
            ),
        }
    }

    fn budget(&mut self, node: NodeId, b: &syn::ExprBinary, attributes: &mut Attributes) {
        let name = expr_ident(&b.left).map(text_of);
        let of = [BudgetOf::Workspace, BudgetOf::Weights, BudgetOf::Stack];
        match of.into_iter().find(|of| name.as_deref() == Some(of.name())) {
            Some(of) => {
                let Some(limit) = self.size(&b.right) else { return };
                if attributes.budgets.iter().any(|b| b.of == of) {
                    self.twice(node, of.name());
                    return;
                }
                attributes.budgets.push(Budget { node, of, limit });
            }
            None => self.refuse(
                node,
                Code::AttributeArgument,
                "a bound is on `workspace`, `weights` or `stack`",
                "write `workspace <= \"64K\"`; a bound on a dim stands in `dims(B <= 64)`",
            ),
        }
    }

    fn size(&mut self, e: &syn::Expr) -> Option<Size> {
        let e = bare(e);
        let node = self.node(expr_ends(e));
        let bytes = match e {
            syn::Expr::Lit(l) => match &l.lit {
                syn::Lit::Str(s) => bytes_of(&s.value()),
                syn::Lit::Int(i) if i.suffix().is_empty() => i.base10_parse().ok(),
                _ => None,
            },
            _ => None,
        };
        match bytes {
            Some(bytes) => Some(Size { node, bytes }),
            None => {
                self.refuse(
                    node,
                    Code::Size,
                    "this is not a number of bytes",
                    "write digits with `K`, `M` or `G` behind them, `\"64K\"`, or an integer of bytes",
                );
                None
            }
        }
    }

    fn assigned_argument(&mut self, place: Ends, a: &syn::ExprAssign, attributes: &mut Attributes) {
        let name = expr_ident(&a.left).map(text_of).unwrap_or_default();
        match name.as_str() {
            "numerics" => {
                let help = "write `numerics = \"strict\"`, or leave it out";
                let text = self.text_value(&a.right, Code::AttributeArgument, help);
                if let Some(text) = text.iter().find(|t| t.value != "strict") {
                    let message = format!("`{}` is not a kind of numerics", text.value);
                    self.refuse(text.node, Code::AttributeArgument, message, help);
                }
                self.text_once(&name, &mut attributes.numerics, text);
            }
            "precision" => {
                let help = "write `precision = \"bf16\"` or `\"tf32\"`, or leave it out for f32";
                let text = self.text_value(&a.right, Code::AttributeArgument, help);
                if let Some(text) = text.iter().find(|t| !PRECISIONS.contains(&t.value.as_str())) {
                    let message = format!("`{}` is not a precision of products", text.value.escape_default());
                    self.refuse(text.node, Code::AttributeArgument, message, help);
                }
                self.text_once(&name, &mut attributes.precision, text);
            }
            "onnx" => self.model(place, ModelFormat::Onnx, &a.right, attributes),
            "tflite" => self.model(place, ModelFormat::Tflite, &a.right, attributes),
            "crate" => {
                if let Some(path) = self.argument_path(&a.right) {
                    self.once(path.node, &name, &mut attributes.krate, path);
                }
            }
            "module" => match expr_ident(&a.right) {
                Some(ident) => {
                    let module = self.name(ident);
                    self.once(module.node, &name, &mut attributes.module, module);
                }
                None => self.refuse_at(
                    place,
                    Code::AttributeArgument,
                    "`module` is the name of the emitted module",
                    "write `module = other`",
                ),
            },
            _ => match (expr_ident(&a.left), bare(&a.right)) {
                (Some(ident), syn::Expr::Array(list)) => self.instances(place, ident, list, attributes),
                (Some(ident), _) if text_of(ident).starts_with(char::is_uppercase) => self.refuse_at(
                    place,
                    Code::AttributeArgument,
                    format!("`{name}` is given one value outside of `dims(…)`"),
                    format!("write `dims({name} = …)` for a dim, `{name} = [f32, f16]` for a generic parameter"),
                ),
                _ => self.unknown_argument(place, &a.left),
            },
        }
    }

    fn instances(&mut self, place: Ends, ident: &syn::Ident, list: &syn::ExprArray, attributes: &mut Attributes) {
        let node = self.node(place);
        let name = self.name(ident);
        let values: Vec<Expr> = list.elems.iter().map(|e| self.expr(e)).collect();
        if attributes.instances.iter().any(|i| i.name.text == name.text) {
            self.twice(node, &name.text);
            return;
        }
        if values.is_empty() {
            self.refuse(
                node,
                Code::GenericInstances,
                format!("`{}` has no values", name.text),
                format!("write `{} = [f32, f16]` or `{} = [3, 5]`", name.text, name.text),
            );
        }
        attributes.instances.push(Instances { node, name, values });
    }

    fn model(&mut self, place: Ends, format: ModelFormat, e: &syn::Expr, attributes: &mut Attributes) {
        let node = self.node(place);
        let help = format!("write `{} = \"net.{}\"`", format.name(), format.name());
        let Some(file) = self.text_value(e, Code::AttributeArgument, &help) else {
            return;
        };
        self.once(node, format.name(), &mut attributes.model, Model { node, format, file });
    }

    fn argument_path(&mut self, e: &syn::Expr) -> Option<Path> {
        match bare(e) {
            syn::Expr::Path(p) if p.qself.is_none() => {
                Some(Path { node: self.node(ends(p)), segments: self.plain_segments(&p.path) })
            }
            _ => {
                self.refuse_at(
                    expr_ends(e),
                    Code::AttributeArgument,
                    "`crate` is the path of the runtime",
                    "write `crate = my_tenfold`",
                );
                None
            }
        }
    }

    fn text_once(&mut self, name: &str, slot: &mut Option<Text>, text: Option<Text>) {
        if let Some(text) = text {
            self.once(text.node, name, slot, text);
        }
    }

    fn once<T>(&mut self, node: NodeId, name: &str, slot: &mut Option<T>, value: T) {
        if slot.is_some() {
            self.twice(node, name);
        } else {
            *slot = Some(value);
        }
    }

    pub(super) fn twice(&mut self, node: NodeId, name: &str) {
        self.refuse(node, Code::AttributeTwice, format!("`{name}` is given twice"), "leave one of them out");
    }
}

/// Bytes of `64K`.
fn bytes_of(text: &str) -> Option<u64> {
    let (digits, unit) = match text.strip_suffix(['K', 'M', 'G']) {
        Some(digits) => (digits, &text[digits.len()..]),
        None => (text, ""),
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let factor = match unit {
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => 1,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}
