//! The state of the walk: names, what is known, what has been built, what has been reported.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::arith::{IntExpr, Prover, Sym};
use tenfold_ir::ops::{At, OpError, OpErrorKind, show_tensor};
use tenfold_ir::relax::{self, Builder, Op, ParamKind, SymDecl, SymKind, TensorType, Type, ValueId};
use tenfold_ir::{DType, Loc, Module};

use super::Environment;
use super::kernel::Kernel;
use super::value::{Cond, Names, Value, Variable, VariableKind};
use super::wrap::Doubts;
use crate::ast::{Expr, Name, NodeId, TensorFn, TypeKind};
use crate::code::Code;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::extent::{self, DimName};
use crate::signature::{self, Instance, SigKind, Signature};

/// The function whose body is being walked: the one compiled, or a callee written out in it.
pub(super) struct Frame<'a> {
    pub(super) function: &'a TensorFn,
    pub(super) environment: &'a dyn Environment,
    pub(super) names: Names,
    pub(super) dims: BTreeMap<String, IntExpr>,
    pub(super) generics: Instance,
    /// Index into [`Module::sources`].
    pub(super) source: u32,
}

/// The walk.
pub(super) struct Elaborator<'a> {
    pub(super) frame: Frame<'a>,
    pub(super) vars: Vec<Variable<'a>>,
    pub(super) graph: Builder,
    /// The prim-func being built, if `inside` is set.
    pub(super) kernel: Kernel,
    /// Whether the walk is inside of a closure over elements.
    pub(super) inside: bool,
    pub(super) module: Module,
    pub(super) diagnostics: Diagnostics,
    /// Whether something was unknown without an error, so that there is no module.
    pub(super) unknown: bool,
    /// How many constructs that are only checked surround the walk.
    pub(super) checking: u32,
    /// Symbols of the graph, so that variables of kernels take other names.
    pub(super) syms: BTreeSet<String>,
    /// The function that is compiled.
    pub(super) entry: &'a TensorFn,
    /// Paths of the functions being written out.
    pub(super) callers: Vec<String>,
    /// The name for the next kernel.
    pub(super) block: String,
    /// Where symbols come from, for texts.
    pub(super) origins: BTreeMap<Sym, (NodeId, String)>,
    /// What conditions of the graph say.
    pub(super) conds: BTreeMap<ValueId, Cond>,
    /// Symbols that were bound to integers of the graph.
    pub(super) bound: BTreeMap<ValueId, Sym>,
    /// Values that have a name of the source; the first `let` names a value.
    pub(super) named_values: BTreeSet<ValueId>,
    /// How many closures and callees have been written out.
    pub(super) expansions: usize,
    /// Whether the walk of a kernel is at statements, which may assign and loop, and not in a closure.
    pub(super) statements: bool,
    /// Whether the walk is one that only learns what literals meet.
    pub(super) rehearsing: bool,
    /// The dtypes that the literals of variables meet, by source and place of the variable.
    pub(super) literals: BTreeMap<(u32, NodeId), DType>,
    /// Whether `get_unchecked` is allowed.
    pub(super) vouched: bool,
    /// The state parameters: position in the list, variable, value at entry.
    states: Vec<(usize, usize, ValueId)>,
    /// How many facts the prover has of the signature.
    pub(super) given: usize,
    /// Which of what it knows holds only if nothing has wrapped.
    pub(super) doubts: Doubts,
}

/// A function that expands to more closures and calls than this is refused.
pub(super) const MAX_EXPANSIONS: usize = 20_000;

impl<'a> Elaborator<'a> {
    pub(super) fn new(
        function: &'a TensorFn,
        environment: &'a dyn Environment,
        signature: &Signature,
        generics: Instance,
    ) -> Self {
        let name = &function.name.text;
        let mut me = Elaborator {
            frame: Frame { function, environment, names: Vec::new(), dims: BTreeMap::new(), generics, source: 0 },
            vars: Vec::new(),
            graph: Builder::new(name),
            kernel: Kernel::new(""),
            inside: false,
            module: Module { entry: name.clone(), sources: vec![name.clone()], ..Module::default() },
            diagnostics: Diagnostics::default(),
            unknown: false,
            checking: 0,
            syms: BTreeSet::new(),
            entry: function,
            callers: Vec::new(),
            block: name.clone(),
            origins: BTreeMap::new(),
            conds: BTreeMap::new(),
            bound: BTreeMap::new(),
            named_values: BTreeSet::new(),
            expansions: 0,
            vouched: false,
            statements: false,
            rehearsing: false,
            literals: BTreeMap::new(),
            states: Vec::new(),
            given: 0,
            doubts: Doubts::default(),
        };
        me.declare(signature);
        me
    }

    /// Symbols, facts and parameters.
    fn declare(&mut self, signature: &Signature) {
        self.graph.set_loc(self.loc(NodeId::FUNCTION));
        for (name, value) in &signature.fixed {
            self.frame.dims.insert(name.clone(), IntExpr::from(*value));
        }
        for dim in &signature.dims {
            let param = &signature.params[dim.param];
            let loc = self.loc(param.dim_nodes[dim.axis]);
            let kind = SymKind::Dim { param: dim.param, axis: dim.axis };
            self.graph.declare_sym(SymDecl { sym: dim.sym.clone(), kind, loc });
            self.graph.prover.assume(extent::at_least_zero(IntExpr::var(dim.sym.clone())));
            self.frame.dims.insert(dim.sym.to_string(), IntExpr::var(dim.sym.clone()));
            self.syms.insert(dim.sym.to_string());
            if let Some(origin) = signature.origin(&dim.sym) {
                self.origins.insert(dim.sym.clone(), origin);
            }
        }
        for (position, param) in signature.params.iter().enumerate() {
            self.param(position, param);
        }
        for fact in &signature.facts {
            let loc = self.loc(fact.node);
            let decl = relax::FactDecl { fact: fact.fact.clone(), text: fact.text.clone(), loc };
            self.graph.add_fact(decl);
        }
        self.declare_computed_extents(signature);
        self.given = self.prover().facts().len();
    }

    /// The call checks that no computed extent is negative, so the body may rely on it.
    fn declare_computed_extents(&mut self, signature: &Signature) {
        let params = signature.params.iter().flat_map(|param| &param.dims);
        let dims = params.chain(signature.results.iter().flat_map(|result| &result.dims));
        let computed: BTreeSet<&IntExpr> =
            dims.filter(|dim| dim.as_const().is_none() && dim.as_var().is_none()).collect();
        for dim in computed {
            let loc = self.loc(NodeId::FUNCTION);
            let decl = relax::FactDecl { fact: extent::at_least_zero(dim.clone()), text: format!("{dim} >= 0"), loc };
            self.graph.add_fact(decl);
        }
    }

    fn param(&mut self, position: usize, param: &signature::SigParam) {
        let loc = self.loc(param.node);
        let kind = match param.kind {
            SigKind::Index { unsigned } => {
                let sym = Sym::new(&param.name);
                self.graph.declare_sym(SymDecl {
                    sym: sym.clone(),
                    kind: SymKind::IndexParam { param: position, unsigned },
                    loc,
                });
                if unsigned {
                    self.graph.prover.assume(extent::at_least_zero(IntExpr::var(sym.clone())));
                }
                self.syms.insert(param.name.clone());
                self.origins.insert(sym.clone(), (param.node, format!("`{sym}` is a parameter")));
                self.bind(&param.name, param.node, VariableKind::Fixed, Value::Index(IntExpr::var(sym)));
                return;
            }
            SigKind::Input => ParamKind::Input,
            SigKind::Strided => ParamKind::Strided,
            SigKind::State => ParamKind::State,
            SigKind::Scalar => ParamKind::Scalar,
        };
        for dim in param.dims.iter().filter(|d| d.as_const().is_none()) {
            self.graph.prover.assume(extent::at_least_zero(dim.clone()));
        }
        let ty = TensorType { dtype: param.dtype, shape: param.dims.clone() };
        let value = self.graph.param(kind, ty, &param.name, position, loc);
        let state = param.kind == SigKind::State;
        let variable = if state { VariableKind::State } else { VariableKind::Fixed };
        let var = self.bind(&param.name, param.node, variable, Value::Tensor(value));
        if state {
            self.states.push((self.graph.function().params.len() - 1, var, value));
        }
    }

    /// Walks the body.
    pub(super) fn run(mut self, signature: &Signature) -> (Option<Module>, Diagnostics) {
        let function = self.frame.function;
        let Some(body) = &function.body else { return (None, self.diagnostics) };
        let results = self.function_body(body, signature);
        self.store_states();
        if !self.diagnostics.is_empty() || self.unknown {
            return (None, self.diagnostics);
        }
        let Some(results) = results else { return (None, self.diagnostics) };
        for mut kernel in self.graph.take_kernels() {
            kernel.strict = self.strict();
            self.module.functions.insert(kernel.name.clone(), tenfold_ir::Function::Prim(kernel));
        }
        let mut graph = self.graph.finish(&results);
        graph.name.clone_from(&function.name.text);
        self.module.functions.insert(graph.name.clone(), tenfold_ir::Function::Relax(graph));
        (Some(self.module), self.diagnostics)
    }

    /// One effect per state that changed.
    fn store_states(&mut self) {
        for (param, var, before) in std::mem::take(&mut self.states) {
            let Value::Tensor(now) = self.vars[var].value.clone() else { continue };
            if now != before {
                self.emit(NodeId::FUNCTION, Op::StoreState { param }, &[now], &[]);
            }
        }
    }

    // Names.

    /// Binds a name for the rest of the scope.
    pub(super) fn bind(&mut self, name: &str, node: NodeId, kind: VariableKind, value: Value<'a>) -> usize {
        let var = self.vars.len();
        self.vars.push(Variable { name: name.to_string(), node, kind, value, cell: None });
        self.frame.names.push((name.to_string(), var));
        var
    }

    /// The variable of that name.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.frame.names.iter().rev().find(|(n, _)| n == name).map(|(_, var)| *var)
    }

    /// What a name means in a dim.
    pub(super) fn dim_name(&self, name: &str) -> DimName {
        if let Some(var) = self.find(name) {
            return match &self.vars[var].value {
                Value::Index(e) => DimName::Is(e.clone()),
                Value::Literal(tenfold_ir::ops::Literal::Int(n)) => match i64::try_from(*n) {
                    Ok(n) => DimName::Is(IntExpr::from(n)),
                    Err(_) => DimName::Missing(Vec::new()),
                },
                Value::Unknown => DimName::Unknown,
                _ => DimName::Missing(Vec::new()),
            };
        }
        if let Some(dim) = self.frame.dims.get(name) {
            return DimName::Is(dim.clone());
        }
        if let Some(value) = self.frame.generics.constant(name) {
            return DimName::Is(IntExpr::from(value));
        }
        DimName::Missing(self.frame.dims.keys().cloned().collect())
    }

    /// A symbol of the graph that no other has.
    pub(super) fn fresh_sym(&mut self, base: &str) -> Sym {
        let base = if base.is_empty() || base == "_" { "t" } else { base };
        let mut name = base.to_string();
        let mut n = 1;
        while self.syms.contains(&name) || self.kernel.is_symbol(&Sym::new(&name)) {
            name = format!("{base}_{n}");
            n += 1;
        }
        self.syms.insert(name.clone());
        Sym::new(name)
    }

    // Types.

    /// A dtype as the user names it; a generic parameter stands for its value.
    pub(super) fn dtype(&mut self, name: &Name) -> Option<DType> {
        signature::dtype(name, &self.frame.generics).map_err(|error| self.report(error)).ok()
    }

    /// A written type; `None` if it is unknown. `usize` and `isize` are no element types and give `None` too.
    pub(super) fn written_type(&mut self, ty: &crate::ast::Type) -> Option<Type> {
        match &ty.kind {
            TypeKind::Tensor(tensor) => {
                let dtype = self.dtype(&tensor.dtype);
                let shape: Vec<Option<IntExpr>> = tensor.dims.iter().map(|dim| self.written_extent(dim)).collect();
                let shape: Option<Vec<IntExpr>> = shape.into_iter().collect();
                Some(Type::Tensor(TensorType { dtype: dtype?, shape: shape? }))
            }
            TypeKind::Scalar(text) => {
                let dtype = self.dtype(&Name { node: ty.node, text: text.clone() })?;
                Some(Type::Tensor(TensorType { dtype, shape: Vec::new() }))
            }
            TypeKind::Tuple(items) => {
                let items: Vec<Option<Type>> = items.iter().map(|item| self.written_type(item)).collect();
                items.into_iter().collect::<Option<Vec<_>>>().map(Type::Tuple)
            }
            TypeKind::Error => None,
        }
    }

    /// A written extent.
    pub(super) fn written_extent(&mut self, dim: &Expr) -> Option<IntExpr> {
        let found = extent::extent(dim, &self.graph.prover, &|name| self.dim_name(name));
        found.unwrap_or_else(|error| {
            self.report(error);
            None
        })
    }

    /// The type of a value, where it has one.
    pub(super) fn type_of(&self, value: &Value<'a>) -> Option<Type> {
        let scalar = |dtype| Some(Type::Tensor(TensorType { dtype, shape: Vec::new() }));
        match value {
            Value::Fixed(s) => scalar(s.dtype),
            Value::Tensor(v) => Some(self.graph.ty(*v).clone()),
            Value::Scalar(e) => scalar(self.kernel.dtype(*e)?),
            Value::Tuple(items) => {
                items.iter().map(|item| self.type_of(item)).collect::<Option<Vec<_>>>().map(Type::Tuple)
            }
            Value::Unknown
            | Value::Unit
            | Value::Index(_)
            | Value::Literal(_)
            | Value::Text(_)
            | Value::Array(_)
            | Value::Closure(_) => None,
        }
    }

    /// A value in words: "`Tensor<f32, N>`", "an index value".
    pub(super) fn describe(&self, value: &Value<'a>) -> String {
        match value {
            Value::Unknown => "an unknown value".to_string(),
            Value::Unit => "`()`".to_string(),
            Value::Index(e) if e.as_const().is_some() || !self.inside => format!("the index value `{e}`"),
            Value::Index(_) => "an index value".to_string(),
            Value::Literal(tenfold_ir::ops::Literal::Int(n)) => format!("the integer `{n}`"),
            Value::Literal(tenfold_ir::ops::Literal::Float(x)) => format!("the float `{x:?}`"),
            Value::Text(text) => format!("the text {text:?}"),
            Value::Fixed(s) => format!("`{}`", s.dtype),
            Value::Tensor(v) => format!("`{}`", show_tensor(self.graph.tensor(*v))),
            Value::Scalar(e) => match self.kernel.dtype(*e) {
                Some(dtype) => format!("`{dtype}`"),
                None => "an index value".to_string(),
            },
            Value::Tuple(items) => {
                let items: Vec<String> = items.iter().map(|item| self.describe(item)).collect();
                format!("a tuple of {}", items.join(", "))
            }
            Value::Array(_) => "a list".to_string(),
            Value::Closure(_) => "a closure".to_string(),
        }
    }

    // Reports.

    /// The place of a node of the function being walked.
    pub(super) fn loc(&self, node: NodeId) -> Loc {
        Loc { function: self.frame.source, node: node.0 }
    }

    /// Adds an error.
    pub(super) fn report(&mut self, error: Diagnostic) {
        self.diagnostics.report(error);
    }

    /// Adds an error; the value is unknown.
    pub(super) fn fail(
        &mut self,
        node: NodeId,
        code: Code,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Value<'a> {
        self.report(Diagnostic::new(node, code, message).help(help));
        Value::Unknown
    }

    /// Emits a binding of the graph.
    pub(super) fn emit(&mut self, node: NodeId, op: Op, args: &[ValueId], arg_nodes: &[NodeId]) -> Option<ValueId> {
        self.graph.set_loc(self.loc(node));
        match self.graph.emit(op, args) {
            Ok(value) => Some(value),
            Err(error) => {
                self.op_error(node, error, arg_nodes, &[]);
                None
            }
        }
    }

    /// Reports what an operator says, at the operand or attribute it says it of.
    pub(super) fn op_error(&mut self, node: NodeId, error: OpError, args: &[NodeId], named: &[(String, NodeId)]) {
        let place = |at: &At| match at {
            At::Call => node,
            At::Arg(i) => args.get(*i).copied().unwrap_or(node),
            At::Attr(name) => named.iter().find(|(n, _)| n == name).map_or(node, |(_, node)| *node),
        };
        let code = match error.kind {
            OpErrorKind::Arity => Code::ArgumentCount,
            OpErrorKind::Operand => Code::Operand,
            OpErrorKind::DType => Code::DtypeMismatch,
            OpErrorKind::Literal => Code::LiteralRange,
            OpErrorKind::Rank => Code::Rank,
            OpErrorKind::Broadcast => Code::Broadcast,
            OpErrorKind::Dims => Code::DimMismatch,
            OpErrorKind::Attribute => Code::Attribute,
            OpErrorKind::Axis => Code::Axis,
            OpErrorKind::Range => Code::MaybeEmpty,
        };
        let mut diagnostic = Diagnostic::new(place(&error.at), code, error.message.clone());
        diagnostic.help = error.help;
        if let Some((at, text)) = error.also {
            diagnostic = diagnostic.label(place(&at), text);
        }
        let shapes = matches!(code, Code::Broadcast | Code::DimMismatch);
        // The help names the dims that should be equal, the message all of them.
        let text = diagnostic.help.clone().filter(|help| help.contains("==")).unwrap_or(error.message);
        let diagnostic = if shapes { self.with_origins(diagnostic, &text) } else { diagnostic };
        self.report(diagnostic);
    }

    /// Labels saying where the dims that a text names come from.
    pub(super) fn with_origins(&self, mut diagnostic: Diagnostic, text: &str) -> Diagnostic {
        if self.frame.source != 0 {
            return diagnostic;
        }
        let words: BTreeSet<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        for (sym, (node, origin)) in &self.origins {
            if words.contains(sym.as_str()) {
                diagnostic = diagnostic.label(*node, origin.clone());
            }
        }
        diagnostic
    }

    // Knowledge.

    /// What is known now, to come back to.
    pub(super) fn enter(&mut self) {
        self.graph.prover.push_scope();
    }

    /// Forgets what became known since the matching `enter`.
    pub(super) fn leave(&mut self) {
        self.graph.prover.pop_scope();
        self.forget_doubts();
        self.kernel.forget_atoms();
    }

    /// The prover.
    pub(super) fn prover(&self) -> &Prover {
        &self.graph.prover
    }
}
