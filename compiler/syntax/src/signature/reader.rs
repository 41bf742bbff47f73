//! Reads the signature of a function: what names bind, what is checked at the call.

use std::collections::BTreeMap;

use tenfold_abi::DType;
use tenfold_ir::arith::{Fact, IntExpr, Prover, Sym};
use tenfold_ir::ops::nearest;

use super::{
    DimBinding, DimCheck, Fixed, Instance, MAX_RANK, SigFact, SigKind, SigParam, SigResult, Signature, dtype,
    instances, pools,
};
use crate::ast::{
    self, BinaryOp, Expr, ExprKind, FactKind, Layout, Name, NodeId, Passing, StmtKind, TensorFn, TypeKind,
};
use crate::code::Code;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::extent::{self, DimName};
use crate::search;

/// Reads a signature.
pub(super) struct Reader<'a> {
    function: &'a TensorFn,
    generics: Instance,
    fixed: BTreeMap<String, Fixed>,
    /// First places of the named dims.
    bound: BTreeMap<String, (usize, usize, NodeId)>,
    /// Names that stand for something unknown: already reported.
    unknown: Vec<String>,
    /// Whether a parameter is unknown, and so any name may be a dim.
    open: bool,
    index: Vec<String>,
    prover: Prover,
    signature: Signature,
    diagnostics: Diagnostics,
    /// Whether a parameter or result is unknown, so that there is no signature.
    broken: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(function: &'a TensorFn, generics: &Instance) -> Self {
        let first = || instances(function).into_iter().next().unwrap_or_default();
        Reader {
            function,
            generics: if generics.is_empty() { first() } else { generics.clone() },
            fixed: BTreeMap::new(),
            bound: BTreeMap::new(),
            unknown: Vec::new(),
            open: false,
            index: Vec::new(),
            prover: Prover::default(),
            signature: Signature {
                name: function.name.text.clone(),
                params: Vec::new(),
                dims: Vec::new(),
                checks: Vec::new(),
                facts: Vec::new(),
                results: Vec::new(),
                result_is_tuple: false,
                fallible: false,
                bounds: Vec::new(),
                fixed: Vec::new(),
                loaded: Vec::new(),
                pools: Vec::new(),
            },
            diagnostics: Diagnostics::default(),
            broken: false,
        }
    }

    /// `dims(K = 8)`.
    pub(super) fn fixed_dims(&mut self) {
        for fact in &self.function.attributes.dims {
            let FactKind::Fixed(name, value) = &fact.kind else { continue };
            match self.extent(value).map(|v| v.and_then(|v| v.as_const())) {
                Ok(Some(n)) if n >= 0 => self.fix(name, fact.node, n),
                Ok(Some(n)) => self.report(
                    Diagnostic::new(value.node, Code::NegativeExtent, format!("the dim `{}` cannot be {n}", name.text))
                        .help("an extent is 0 or more"),
                ),
                Ok(None) => self.report(
                    Diagnostic::new(value.node, Code::DimExpression, format!("`{}` is fixed by a number", name.text))
                        .help("write an integer, or dims that are fixed before"),
                ),
                Err(error) => self.report(error),
            }
        }
        let fixed = self.fixed.iter().map(|(name, fixed)| (name.clone(), fixed.value));
        self.signature.fixed = fixed.collect();
    }

    fn fix(&mut self, name: &Name, node: NodeId, value: i64) {
        if let Some(before) = self.fixed.get(&name.text).filter(|f| f.value != value) {
            let message = format!("the dim `{}` is fixed to {value} and to {}", name.text, before.value);
            let error = Diagnostic::new(node, Code::DimConflict, message).label(before.node, "it is fixed here first");
            self.report(error.help("keep one of them"));
            return;
        }
        self.fixed.insert(name.text.clone(), Fixed { node, value });
    }

    /// Finds where each dim first stands alone, and the index parameters.
    pub(super) fn bind(&mut self) {
        let mut seen: BTreeMap<&str, NodeId> = BTreeMap::new();
        let mut dims = Vec::new();
        search::dim_names(self.function, &mut dims);
        for (position, param) in self.function.params.iter().enumerate() {
            if param.name.text.starts_with(char::is_uppercase) && dims.contains(&param.name.text) {
                let message = format!("`{}` is a parameter and a dim", param.name.text);
                let error = Diagnostic::new(param.name.node, Code::NameTwice, message);
                self.diagnostics
                    .report(error.help("rename one of them; names of dims begin with an upper-case letter"));
            }
            if let Some(first) = seen.insert(&param.name.text, param.name.node) {
                let message = format!("two parameters are called `{}`", param.name.text);
                let error = Diagnostic::new(param.name.node, Code::NameTwice, message).label(first, "the first one");
                self.diagnostics.report(error.help("rename one of them"));
            }
            match &param.ty.kind {
                TypeKind::Tensor(tensor) => self.bind_dims(position, &tensor.dims),
                TypeKind::Scalar(name) if name == "usize" || name == "isize" => {
                    self.index.push(param.name.text.clone());
                    if name == "usize" {
                        self.prover.assume(extent::at_least_zero(IntExpr::var(Sym::new(&param.name.text))));
                    }
                }
                TypeKind::Scalar(_) => {}
                // what it would have bound is not known
                TypeKind::Tuple(_) | TypeKind::Error => self.open = true,
            }
        }
    }

    fn bind_dims(&mut self, position: usize, dims: &[Expr]) {
        for (axis, dim) in dims.iter().enumerate() {
            let ExprKind::Name(name) = &dim.kind else { continue };
            let is_dim = name.starts_with(char::is_uppercase);
            if !is_dim || self.fixed.contains_key(name) || self.generics.get(name).is_some() {
                continue;
            }
            if !self.bound.contains_key(name) {
                self.bound.insert(name.clone(), (position, axis, dim.node));
                let sym = Sym::new(name);
                self.prover.assume(extent::at_least_zero(IntExpr::var(sym.clone())));
                self.signature.dims.push(DimBinding { sym, param: position, axis });
            }
        }
    }

    /// `dims(B <= 64)` and `assert!`.
    pub(super) fn facts(&mut self) {
        let function = self.function;
        for fact in &function.attributes.dims {
            match &fact.kind {
                FactKind::Fixed(name, _) => self.fixed_is_used(name),
                FactKind::Holds(condition) => self.fact(condition, None),
            }
        }
        for stmt in function.body.iter().flat_map(|b| &b.stmts) {
            if let StmtKind::Assert { condition, text } = &stmt.kind {
                self.fact(condition, text.as_ref().map(|t| t.value.clone()));
            }
        }
    }

    fn fixed_is_used(&mut self, name: &Name) {
        let mut names = Vec::new();
        search::dim_names(self.function, &mut names);
        if names.contains(&name.text) || !self.fixed.contains_key(&name.text) {
            return;
        }
        if search::uses_name(self.function, &name.text) {
            return;
        }
        let error = Diagnostic::new(name.node, Code::UnboundDim, format!("no dim is called `{}`", name.text));
        let near = nearest(&name.text, names.iter().map(String::as_str)).filter(|_| name.text.chars().count() > 1);
        self.report(match near {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.help("remove it"),
        });
    }

    fn fact(&mut self, condition: &Expr, text: Option<String>) {
        let ExprKind::Binary(op, a, b) = &condition.kind else {
            if !matches!(condition.kind, ExprKind::Error) {
                self.report(not_a_fact(condition.node));
            }
            return;
        };
        if *op == BinaryOp::And {
            self.fact(a, text.clone());
            return self.fact(b, text);
        }
        if extent::fact(*op, &IntExpr::from(0), &IntExpr::from(0)).is_none() {
            return self.report(not_a_fact(condition.node));
        }
        let (x, y) = match (self.extent(a), self.extent(b)) {
            (Ok(Some(x)), Ok(Some(y))) => (x, y),
            (x, y) => {
                for error in [x.err(), y.err()].into_iter().flatten() {
                    self.report(error);
                }
                return;
            }
        };
        if let Some(holds) = extent::decided(*op, &x, &y) {
            if !holds {
                let message = format!("`{x} {} {y}` never holds", op.symbol());
                self.report(
                    Diagnostic::new(condition.node, Code::DimConflict, message).help("change the fact or the dims"),
                );
            }
            return;
        }
        let Some(fact) = extent::fact(*op, &x, &y) else {
            return self.report(not_a_fact(condition.node));
        };
        self.bound_of(*op, &x, &y);
        let text = text.unwrap_or_else(|| match &fact {
            // The remainder is written as the source writes it.
            Fact::Divisible(..) => fact.to_string(),
            Fact::NonNegative(_) | Fact::Zero(_) | Fact::NonZero(_) | Fact::And(_) | Fact::Or(_) => {
                format!("{x} {} {y}", op.symbol())
            }
        });
        let known = self.prover.clone();
        self.prover.assume(fact.clone());
        if self.prover.contradictory() {
            self.prover = known;
            let why = match self.signature.facts.is_empty() {
                true => "extents and parameters of type `usize` are 0 or more",
                false => "the facts before it exclude that",
            };
            let message = format!("`{x} {} {y}` never holds: {why}", op.symbol());
            return self.report(
                Diagnostic::new(condition.node, Code::DimConflict, message).help("change the fact or the dims"),
            );
        }
        self.signature.facts.push(SigFact { fact, text, node: condition.node });
    }

    /// Notes `B <= 64`, `B < 65`, `64 >= B`.
    fn bound_of(&mut self, op: BinaryOp, a: &IntExpr, b: &IntExpr) {
        let (sym, limit) = match (op, a.as_var().cloned(), b.as_const(), b.as_var().cloned(), a.as_const()) {
            (BinaryOp::Le | BinaryOp::Eq, Some(sym), Some(n), ..) => (sym, n),
            (BinaryOp::Lt, Some(sym), Some(n), ..) => (sym, n - 1),
            (BinaryOp::Ge | BinaryOp::Eq, _, _, Some(sym), Some(n)) => (sym, n),
            (BinaryOp::Gt, _, _, Some(sym), Some(n)) => (sym, n - 1),
            _ => return,
        };
        match self.signature.bounds.iter_mut().find(|(s, _)| *s == sym) {
            Some((_, before)) => *before = limit.min(*before),
            None => self.signature.bounds.push((sym, limit)),
        }
    }

    pub(super) fn params(&mut self) {
        let function = self.function;
        for (position, param) in function.params.iter().enumerate() {
            match self.param(position, param) {
                Some(param) => self.signature.params.push(param),
                None => self.broken = true,
            }
        }
    }

    /// `params(w1, b1 = "fc1.bias")`.
    pub(super) fn loaded(&mut self) {
        for loaded in &self.function.attributes.params {
            match self.loaded_place(&loaded.name) {
                Ok(place) => {
                    let tensor = loaded.tensor.as_ref().map_or(&loaded.name.text, |tensor| &tensor.value);
                    self.signature.loaded.push((place, tensor.clone()));
                }
                // a parameter that is not known is reported
                Err(_) if self.broken => {}
                Err(error) => self.report(error),
            }
        }
    }

    /// The place of a parameter that may be read from a file.
    fn loaded_place(&self, name: &Name) -> Result<usize, Diagnostic> {
        let error = |text: String| Diagnostic::new(name.node, Code::LoadedParam, text);
        let params = &self.signature.params;
        let Some(place) = params.iter().position(|param| param.name == name.text) else {
            let near = nearest(&name.text, params.iter().map(|param| param.name.as_str()));
            let help = near.map_or("name parameters of the function".into(), |near| format!("did you mean `{near}`?"));
            return Err(error(format!("there is no parameter `{}`", name.text)).help(help));
        };
        let refused = |what: &str| {
            let message = format!("`{}` is {what}, and a file of weights holds tensors without gaps", name.text);
            Err(error(message).help("pass it at each call: take it out of `params(…)`"))
        };
        match params[place].kind {
            SigKind::Input if self.signature.loaded.iter().all(|(known, _)| *known != place) => Ok(place),
            SigKind::Input => Err(error(format!("`{}` is named twice", name.text)).help("leave one of them out")),
            SigKind::State => refused("state"),
            SigKind::Strided => refused("an input with strides"),
            SigKind::Scalar => refused("a scalar"),
            SigKind::Index { .. } => refused("an index value"),
        }
    }

    fn param(&mut self, position: usize, param: &ast::Param) -> Option<SigParam> {
        let (name, node) = (param.name.text.clone(), param.node);
        let (kind, dtype, dims) = match &param.ty.kind {
            TypeKind::Tensor(tensor) => {
                let kind = match (param.passing, tensor.layout) {
                    (Passing::State, Layout::Dense) => SigKind::State,
                    (Passing::Input, Layout::Dense) => SigKind::Input,
                    (Passing::Input, Layout::Strided) => SigKind::Strided,
                    (Passing::State, Layout::Strided) => {
                        let error = Diagnostic::new(param.ty.node, Code::TypeMismatch, "state has no strides");
                        self.report(error.help("write `&mut Tensor<…>`"));
                        return None;
                    }
                };
                (kind, self.dtype(&tensor.dtype)?, tensor.dims.as_slice())
            }
            TypeKind::Scalar(text) if text == "usize" || text == "isize" => {
                (SigKind::Index { unsigned: text == "usize" }, DType::I64, [].as_slice())
            }
            TypeKind::Scalar(text) => {
                let dtype = self.dtype(&Name { node: param.ty.node, text: text.clone() })?;
                let kind = if param.passing == Passing::State { SigKind::State } else { SigKind::Scalar };
                (kind, dtype, [].as_slice())
            }
            // the parser has refused both
            TypeKind::Tuple(_) | TypeKind::Error => return None,
        };
        let extents = self.dims(param.ty.node, dims);
        let dim_nodes = dims.iter().map(|d| d.node).collect();
        let extents = extents?;
        for (axis, extent) in extents.iter().enumerate() {
            let binds = self.signature.dims.iter().any(|d| d.param == position && d.axis == axis);
            if !binds {
                self.signature.checks.push(DimCheck { param: position, axis, extent: extent.clone() });
            }
        }
        Some(SigParam { name, node, kind, dtype, dims: extents, dim_nodes })
    }

    fn dims(&mut self, node: NodeId, dims: &[Expr]) -> Option<Vec<IntExpr>> {
        if dims.len() > MAX_RANK {
            let message = format!("a tensor has at most {MAX_RANK} axes, found {}", dims.len());
            self.report(Diagnostic::new(node, Code::Rank, message).help("merge axes"));
            return None;
        }
        let mut all = Some(Vec::new());
        for dim in dims {
            match self.extent(dim) {
                Ok(Some(value)) if value.as_const().is_some_and(|n| n < 0) => {
                    let message = format!("this extent is {value}");
                    self.report(
                        Diagnostic::new(dim.node, Code::NegativeExtent, message).help("an extent is 0 or more"),
                    );
                    all = None;
                }
                Ok(Some(value)) => {
                    if let Some(list) = &mut all {
                        list.push(value);
                    }
                }
                Ok(None) => all = None,
                Err(error) => {
                    self.report(error);
                    all = None;
                }
            }
        }
        all
    }

    pub(super) fn results(&mut self) {
        let function = self.function;
        // What computed extents of parameters say is known by now.
        self.prover = self.signature.prover();
        match &function.result {
            None => {}
            Some(ty) => match &ty.kind {
                TypeKind::Tuple(items) => {
                    self.signature.result_is_tuple = true;
                    for item in items {
                        self.result(item);
                    }
                }
                TypeKind::Tensor(_) | TypeKind::Scalar(_) => self.result(ty),
                TypeKind::Error => self.broken = true,
            },
        }
    }

    fn result(&mut self, ty: &ast::Type) {
        let found = match &ty.kind {
            TypeKind::Tensor(tensor) if tensor.layout == Layout::Strided => {
                let error = Diagnostic::new(ty.node, Code::TypeMismatch, "a result has no strides");
                self.report(error.help("write `Tensor<…>`"));
                None
            }
            TypeKind::Tensor(tensor) => self
                .dtype(&tensor.dtype)
                .and_then(|dtype| Some((dtype, self.dims(ty.node, &tensor.dims)?, &tensor.dims[..]))),
            TypeKind::Scalar(text) if text == "usize" || text == "isize" => {
                let error = Diagnostic::new(ty.node, Code::TypeMismatch, "an index value cannot be a result");
                self.report(error.help("return it as `i64`: `n as i64`"));
                None
            }
            TypeKind::Scalar(text) => {
                self.dtype(&Name { node: ty.node, text: text.clone() }).map(|dtype| (dtype, Vec::new(), [].as_slice()))
            }
            TypeKind::Tuple(_) => {
                let error = Diagnostic::new(ty.node, Code::TypeMismatch, "a tuple within a tuple cannot be a result");
                self.report(error.help("make it one tuple"));
                None
            }
            TypeKind::Error => None,
        };
        let Some((dtype, dims, written)) = found else {
            self.broken = true;
            return;
        };
        for (dim, e) in dims.iter().zip(written) {
            self.result_extent(dim, e.node);
        }
        self.signature.results.push(SigResult { dtype, dims, node: ty.node });
    }

    /// A computed extent that is not proven to be one is checked at the call.
    fn result_extent(&mut self, dim: &IntExpr, node: NodeId) {
        if extent::non_negative(&self.prover, dim) {
            return;
        }
        let fact = extent::at_least_zero(dim.clone());
        self.prover.assume(fact.clone());
        self.signature.facts.push(SigFact { fact, text: format!("{dim} >= 0"), node });
    }

    fn dtype(&mut self, name: &Name) -> Option<DType> {
        dtype(name, &self.generics).map_err(|error| self.report(error)).ok()
    }

    fn extent(&self, e: &Expr) -> Result<Option<IntExpr>, Diagnostic> {
        extent::extent(e, &self.prover, &|name| self.dim(name))
    }

    fn dim(&self, name: &str) -> DimName {
        if let Some(fixed) = self.fixed.get(name) {
            return DimName::Is(IntExpr::from(fixed.value));
        }
        if let Some(value) = self.generics.constant(name) {
            return DimName::Is(IntExpr::from(value));
        }
        if self.bound.contains_key(name) || self.index.iter().any(|n| n == name) {
            return DimName::Is(IntExpr::var(Sym::new(name)));
        }
        let is_scalar = |param: &ast::Param| param.name.text == name && !self.index.iter().any(|n| n == name);
        if self.function.params.iter().any(is_scalar) {
            return DimName::Other;
        }
        if self.open || self.unknown.iter().any(|n| n == name) {
            return DimName::Unknown;
        }
        let known = self.bound.keys().chain(self.fixed.keys()).chain(&self.index);
        DimName::Missing(known.cloned().collect())
    }

    fn report(&mut self, error: Diagnostic) {
        self.diagnostics.report(error);
    }

    pub(super) fn finish(mut self) -> (Option<Signature>, Diagnostics) {
        let s = &mut self.signature;
        let by_scalar = s.results.iter().flat_map(|r| &r.dims).any(|d| d.as_const().is_none());
        let asserts =
            self.function.body.iter().flat_map(|b| &b.stmts).any(|s| matches!(s.kind, StmtKind::Assert { .. }));
        let asks = self.function.body.as_ref().is_some_and(search::matches_shapes);
        s.fallible = !s.dims.is_empty() || !s.facts.is_empty() || by_scalar || asserts || asks;
        let pools = pools::read(&self.function.attributes.pools, s, &mut self.diagnostics);
        self.signature.pools = pools;
        let whole = (!self.broken).then_some(self.signature);
        (whole, self.diagnostics)
    }
}

fn not_a_fact(node: NodeId) -> Diagnostic {
    Diagnostic::new(node, Code::NotAFact, "this is no fact: a fact compares dims and index parameters")
        .help("write `B <= 64`, `N % 8 == 0`, `pos < S`, or several of these joined by `&&`")
}
