//! Calls of other tensor functions, written out where they stand.

use std::collections::BTreeMap;

use tenfold_ir::arith::{Fact, IntExpr, Sym};
use tenfold_ir::ops::show_tensor;
use tenfold_ir::relax::{TensorType, Type};

use super::Callee;
use super::cx::{Elaborator, Frame};
use super::value::{Value, VariableKind};
use crate::ast::{Call, Expr, ExprKind, NodeId, TensorFn};
use crate::code::Code;
use crate::diagnostic::Diagnostic;
use crate::signature::{self, Instance, SigKind, SigParam, Signature};

/// An argument: its value, and the caller's variable if it is state.
pub(super) struct Argument<'a> {
    pub(super) value: Value<'a>,
    state: Option<usize>,
    node: NodeId,
}

/// A function that is called: its tree, what names mean in it, its absolute path and which instance of it.
pub(super) struct Callable<'a> {
    pub(super) function: &'a TensorFn,
    pub(super) environment: &'a dyn super::Environment,
    pub(super) path: String,
    pub(super) instance: Instance,
}

impl<'a> Elaborator<'a> {
    /// `self::f(x, &mut s)`.
    pub(super) fn function_call(&mut self, e: &'a Expr, call: &'a Call) -> Value<'a> {
        let environment = self.frame.environment;
        match environment.callee(&call.callee) {
            Callee::Unknown => {
                self.unknown = true;
                self.call_arguments(call);
                Value::Unknown
            }
            Callee::NotFound { similar } => {
                self.call_arguments(call);
                let message = format!("there is no tensor function `{}`", call.callee);
                let help = match similar {
                    Some(similar) => format!("did you mean `{similar}`?"),
                    None => "a path names a function of this crate with `#[tensor_fn]` on it".to_string(),
                };
                self.fail(call.callee.node, Code::UnknownFunction, message, help)
            }
            Callee::Found { function, environment, path } => {
                if self.callers.contains(&path) || std::ptr::eq(function, self.entry) {
                    let message = format!("`{}` calls itself", call.callee);
                    return self.fail(
                        call.callee.node,
                        Code::Recursion,
                        message,
                        "there is no recursion; write a loop",
                    );
                }
                let args = self.call_arguments(call);
                if !function.generics.is_empty() && args.iter().any(|arg| arg.value.is_unknown()) {
                    return Value::Unknown;
                }
                let Some(instance) = self.instance_of(call, function, &args) else { return Value::Unknown };
                let (signature, _) = signature::signature_of(function, &instance);
                let Some(signature) = signature else { return self.error_value() };
                self.written_out(e.node, call, Callable { function, environment, path, instance }, &signature, args)
            }
        }
    }

    fn call_arguments(&mut self, call: &'a Call) -> Vec<Argument<'a>> {
        let mut args = Vec::new();
        for arg in &call.args {
            let node = arg.node;
            args.push(match &arg.kind {
                ExprKind::MutRef(name) => match self.find(&name.text) {
                    Some(var) if self.vars[var].kind != VariableKind::Fixed => {
                        Argument { value: self.vars[var].value.clone(), state: Some(var), node }
                    }
                    Some(var) => {
                        let error =
                            Diagnostic::new(node, Code::NotMutable, format!("`{}` cannot be updated", name.text))
                                .label(self.vars[var].node, "it is bound here without `mut`")
                                .help("pass state, or a variable bound with `let mut`");
                        self.report(error);
                        Argument { value: Value::Unknown, state: Some(var), node }
                    }
                    None => Argument { value: self.unknown_name(name.node, &name.text), state: None, node },
                },
                _ => Argument { value: self.expr(arg, None), state: None, node },
            });
        }
        for named in &call.named {
            let message = "a tensor function has no named attributes";
            self.fail(named.node, Code::Attribute, message, "give the parameters in order");
        }
        args
    }

    fn written_out(
        &mut self,
        node: NodeId,
        call: &'a Call,
        callee: Callable<'a>,
        signature: &Signature,
        args: Vec<Argument<'a>>,
    ) -> Value<'a> {
        if args.len() != signature.params.len() {
            let takes = super::show::count(signature.params.len(), "operand");
            let message = format!("`{}` takes {takes}, found {}", call.callee, args.len());
            let names: Vec<&str> = signature.params.iter().map(|p| p.name.as_str()).collect();
            return self.fail(
                node,
                Code::ArgumentCount,
                message,
                format!("write `{}({})`", call.callee, names.join(", ")),
            );
        }
        if args.iter().any(|arg| arg.value.is_unknown()) || !self.may_expand(node) {
            return Value::Unknown;
        }
        let mut dims = BTreeMap::new();
        let mut values = Vec::new();
        let mut fine = true;
        for (param, arg) in signature.params.iter().zip(&args) {
            match self.argument(call, param, arg, signature, &mut dims) {
                Some(value) => values.push(value),
                None => fine = false,
            }
        }
        if !fine
            || !self.extents_agree(call, signature, &args, &values, &dims)
            || !self.facts_hold(node, call, signature, &dims)
        {
            return Value::Unknown;
        }
        if callee.function.body.is_none() {
            return self.model_call(node, call, &callee, signature, (&dims, values));
        }
        let states: Vec<Option<usize>> = args.iter().map(|arg| arg.state).collect();
        self.body_of(node, call, callee, signature, (dims, values, states))
    }

    /// An argument as its parameter takes it; binds dims and index values.
    fn argument(
        &mut self,
        call: &Call,
        param: &SigParam,
        arg: &Argument<'a>,
        signature: &Signature,
        dims: &mut BTreeMap<Sym, IntExpr>,
    ) -> Option<Value<'a>> {
        let callee = &call.callee;
        if let SigKind::Index { unsigned } = param.kind {
            let at = Expr { node: arg.node, kind: ExprKind::Name(param.name.clone()) };
            let e = self.index_of(&at, &arg.value)?;
            if unsigned && !self.prover().prove_ge0(&e) {
                let message =
                    format!("`{}` of `{callee}` is `usize`, and `{e}` is not proven to be 0 or more", param.name);
                self.fail(arg.node, Code::CallFact, message, "state a fact in `dims(…)` or `assert!`");
                return None;
            }
            dims.insert(Sym::new(&param.name), e.clone());
            return Some(Value::Index(e));
        }
        if (param.kind == SigKind::State) != arg.state.is_some() {
            let (message, help) = if param.kind == SigKind::State {
                (format!("`{}` of `{callee}` is state", param.name), "pass it as `&mut s`")
            } else {
                (format!("`{}` of `{callee}` is an input, not state", param.name), "pass it without `&mut`")
            };
            self.fail(arg.node, Code::Operand, message, help);
            return None;
        }
        if self.inside && !param.dims.is_empty() {
            let message = format!("`{callee}` takes a tensor, and this closure holds scalars");
            self.fail(arg.node, Code::TensorInClosure, message, "call it outside of the closure");
            return None;
        }
        let value = self.coerce(arg.node, arg.value.clone(), param.dtype);
        let found = match self.type_of(&value) {
            Some(Type::Tensor(found)) => found,
            Some(Type::Tuple(_) | Type::Shape(_)) | None => {
                // Says what it is instead.
                if self.inside {
                    self.scalar(arg.node, &value)?;
                } else {
                    self.as_tensor(arg.node, &value)?;
                }
                return None;
            }
        };
        let expected = TensorType { dtype: param.dtype, shape: param.dims.clone() };
        let shown =
            format!("`{}` of `{callee}` is `{}`, found `{}`", param.name, show_tensor(&expected), show_tensor(&found));
        if found.dtype != param.dtype {
            self.fail(arg.node, Code::DtypeMismatch, shown, format!("convert it: `… as {}`", param.dtype));
            return None;
        }
        if found.shape.len() != param.dims.len() {
            self.fail(arg.node, Code::Rank, shown, "give a tensor of that rank");
            return None;
        }
        let position = signature.params.iter().position(|p| p.node == param.node).unwrap_or_default();
        for dim in signature.dims.iter().filter(|d| d.param == position) {
            dims.insert(dim.sym.clone(), found.shape[dim.axis].clone());
        }
        Some(value)
    }

    /// Later occurrences of dims, computed and fixed ones.
    fn extents_agree(
        &mut self,
        call: &Call,
        signature: &Signature,
        args: &[Argument<'a>],
        values: &[Value<'a>],
        dims: &BTreeMap<Sym, IntExpr>,
    ) -> bool {
        let mut fine = true;
        for check in &signature.checks {
            let Some(Type::Tensor(found)) = self.type_of(&values[check.param]) else { continue };
            let expected = check.extent.substitute(&|sym: &Sym| dims.get(sym).cloned());
            let extent = &found.shape[check.axis];
            if self.prover().prove_eq(&expected, extent) {
                continue;
            }
            fine = false;
            let param = &signature.params[check.param];
            let from = check.extent.as_var().and_then(|sym| signature.dims.iter().find(|d| d.sym == *sym));
            let written = if expected == check.extent {
                format!("`{expected}`")
            } else {
                format!("`{}`, here `{expected}`", check.extent)
            };
            let message =
                format!("axis {} of `{}` of `{}` is {written}, found `{extent}`", check.axis, param.name, call.callee);
            let help = match (expected.as_const(), extent.as_const()) {
                (Some(_), Some(_)) => "give tensors that agree".to_string(),
                _ => {
                    format!("give tensors that agree, or state that the dims are equal: `dims({expected} == {extent})`")
                }
            };
            let mut error = Diagnostic::new(args[check.param].node, Code::DimMismatch, message).help(help);
            if let Some(dim) = from {
                let text = format!(
                    "`{}` is `{expected}` at `{}`, axis {}",
                    dim.sym, signature.params[dim.param].name, dim.axis
                );
                error = error.label(args[dim.param].node, text);
            }
            self.report(error);
        }
        fine
    }

    /// What the callee checks at its call is proven here instead.
    fn facts_hold(&mut self, node: NodeId, call: &Call, signature: &Signature, dims: &BTreeMap<Sym, IntExpr>) -> bool {
        let mut fine = true;
        for fact in &signature.facts {
            let here: Fact = fact.fact.substitute(&|sym: &Sym| dims.get(sym).cloned());
            if self.prover().prove(&here) {
                continue;
            }
            fine = false;
            let (needed, here_text) = (fact.fact.to_string(), here.to_string());
            let message = if needed == here_text {
                format!("`{}` needs `{needed}`, which is not proven here", call.callee)
            } else {
                format!("`{}` needs `{needed}`, here `{here_text}`, which is not proven", call.callee)
            };
            let of_dims = here.vars().iter().all(|sym| sym.as_str().starts_with(char::is_uppercase));
            let help =
                if of_dims { format!("state it: `dims({here})`") } else { format!("state it: `assert!({here});`") };
            self.fail(node, Code::CallFact, message, help);
        }
        fine
    }

    /// Walks the body of the callee in a frame of its own.
    fn body_of(
        &mut self,
        node: NodeId,
        call: &Call,
        callee: Callable<'a>,
        signature: &Signature,
        (dims, values, states): (BTreeMap<Sym, IntExpr>, Vec<Value<'a>>, Vec<Option<usize>>),
    ) -> Value<'a> {
        let Callable { function, environment, path, instance } = callee;
        let Some(body) = &function.body else { return Value::Unknown };
        let source = self.source(&path);
        let mut named: BTreeMap<String, IntExpr> =
            signature.fixed.iter().map(|(name, n)| (name.clone(), IntExpr::from(*n))).collect();
        named.extend(signature.dims.iter().filter_map(|d| Some((d.sym.to_string(), dims.get(&d.sym)?.clone()))));
        let frame = Frame { function, environment, names: Vec::new(), dims: named, generics: instance, source };
        let outer = std::mem::replace(&mut self.frame, frame);
        let diagnostics = std::mem::take(&mut self.diagnostics);
        self.callers.push(path);
        let mut locals = Vec::new();
        for (param, value) in signature.params.iter().zip(values) {
            let kind = if param.kind == SigKind::State { VariableKind::State } else { VariableKind::Fixed };
            locals.push(self.bind(&param.name, param.node, kind, value));
        }
        let substitute = |e: &IntExpr| e.substitute(&|sym: &Sym| dims.get(sym).cloned());
        let results: Vec<Type> = signature
            .results
            .iter()
            .map(|r| Type::Tensor(TensorType { dtype: r.dtype, shape: r.dims.iter().map(substitute).collect() }))
            .collect();
        let whole = match (results.as_slice(), signature.result_is_tuple) {
            ([], false) => None,
            ([one], false) => Some(one.clone()),
            (several, _) => Some(Type::Tuple(several.to_vec())),
        };
        let outer_statements = std::mem::replace(&mut self.statements, true);
        if self.inside && crate::search::binds_mutable(body) {
            self.rehearse(|me| {
                me.block(body, whole.as_ref());
            });
        }
        let value = self.block(body, whole.as_ref());
        self.statements = outer_statements;
        let at = function.result.as_ref().map_or(NodeId::FUNCTION, |ty| ty.node);
        let value = self.result(body.node, value, whole.as_ref(), at);
        let after: Vec<Value<'a>> = locals.iter().map(|var| self.vars[*var].value.clone()).collect();
        self.callers.pop();
        self.frame = outer;
        let found = std::mem::replace(&mut self.diagnostics, diagnostics);
        if let Some(first) = found.iter().next() {
            let message = format!("`{}` does not compile for these operands: {}", call.callee, first.message);
            self.report(
                Diagnostic::new(node, Code::CalleeError, message)
                    .help("see the errors of that function, if it has any of its own"),
            );
            return Value::Unknown;
        }
        for (state, value) in states.into_iter().zip(after) {
            if let Some(var) = state {
                self.vars[var].value = value;
            }
        }
        value
    }

    /// The number of a callee among the module's sources.
    pub(super) fn source(&mut self, path: &str) -> u32 {
        let found = self.module.sources.iter().position(|s| s == path);
        let index = found.unwrap_or_else(|| {
            self.module.sources.push(path.to_string());
            self.module.sources.len() - 1
        });
        u32::try_from(index).unwrap_or(u32::MAX)
    }
}
