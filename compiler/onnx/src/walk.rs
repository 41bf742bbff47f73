//! The walk over a model: names, scopes, functions, and what is wrong.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::relax::{Builder, Op, ParamKind, SymDecl, SymKind, TensorType, ValueId};
use tenfold_ir::{ConstBytes, ConstData, DType, Function, Loc, Module, Scalar};

use crate::call::Call;
use crate::elem::Elem;
use crate::emit::int;
use crate::error::{About, ImportError, Problem};
use crate::exact::remember;
use crate::lengths::Lengths;
use crate::proto::{self, AttributeValue, Dim, Graph, MOST_NODES, Node, TypeProto};
use crate::qdq::{Quantization, on_integers};
use crate::tensor::{self, Elements, Home, TensorData};
use crate::value::{Fault, Ints, Outcome, Value, fault};
use crate::{Import, NEWEST_OPSET, OLDEST_OPSET, Options, Parameter, Port, ints, ops};

/// How deep functions call functions.
const DEEPEST_CALL: usize = 32;
/// Problems that are told at most.
const MOST_PROBLEMS: usize = 50;
/// Integers that are followed as expressions at most.
const MOST_INTS: usize = 1024;
/// Elements that a result has at most.
const MOST_ELEMENTS: i64 = 1 << 40;
/// Axes that a tensor has at most.
const MOST_AXES: usize = 32;

/// Names of a graph or of a function's body.
#[derive(Default)]
struct Scope<'m> {
    values: BTreeMap<&'m str, Value>,
    /// Whether names that it lacks are those of the scope around it.
    open: bool,
    opsets: BTreeMap<&'m str, i64>,
    attributes: BTreeMap<&'m str, AttributeValue<'m>>,
}

/// The walk.
pub(crate) struct Cx<'m> {
    pub(crate) b: Builder,
    pub(crate) module: Module,
    /// Names of the inputs that are parameters.
    pub(crate) params: BTreeMap<ValueId, String>,
    /// What is known of quantised tensors.
    pub(crate) quant: Quantization,
    /// Extents that depend on data.
    pub(crate) lengths: Lengths,
    home: Home<'m>,
    pub(crate) options: &'m Options,
    functions: BTreeMap<(&'m str, &'m str, &'m str), &'m proto::Function<'m>>,
    scopes: Vec<Scope<'m>>,
    problems: Vec<Problem>,
    wanted: BTreeSet<String>,
    nodes: usize,
    calls: usize,
    syms: BTreeMap<String, IntExpr>,
}

/// Imports a model.
pub(crate) fn import<'m>(
    model: &'m proto::Model<'m>,
    home: Home<'m>,
    options: &'m Options,
) -> Result<Import, ImportError> {
    let graph = model.graph.as_ref().ok_or_else(|| ImportError::of("it is no ONNX model: it has no graph"))?;
    let opsets = opsets(&model.opsets)?;
    let functions = model.functions.iter().map(|f| ((f.domain, f.name, f.overload), f)).collect();
    let name = if options.name.is_empty() { "model" } else { &options.name };
    let mut cx = Cx {
        b: Builder::new(name),
        module: Module { entry: name.to_string(), sources: vec![name.to_string()], ..Module::default() },
        params: BTreeMap::new(),
        quant: Quantization::default(),
        lengths: Lengths::default(),
        home,
        options,
        functions,
        scopes: vec![Scope { opsets, ..Scope::default() }],
        problems: Vec::new(),
        wanted: BTreeSet::new(),
        nodes: 0,
        calls: 0,
        syms: BTreeMap::new(),
    };
    let inputs = cx.inputs(graph);
    cx.initializers(graph);
    cx.graph_nodes(graph);
    let outputs = cx.outputs(graph);
    cx.finish(inputs, outputs)
}

/// The versions of the operator sets, checked.
fn opsets<'m>(imports: &[(&'m str, i64)]) -> Result<BTreeMap<&'m str, i64>, ImportError> {
    let opsets: BTreeMap<&str, i64> =
        imports.iter().map(|(domain, v)| (if *domain == "ai.onnx" { "" } else { *domain }, *v)).collect();
    match opsets.get("") {
        Some(version) if !(OLDEST_OPSET..=NEWEST_OPSET).contains(version) => Err(ImportError::of(format!(
            "it uses operator set {version}; those from {OLDEST_OPSET} to {NEWEST_OPSET} are read"
        ))),
        Some(_) | None => Ok(opsets),
    }
}

impl<'m> Cx<'m> {
    fn problem(&mut self, place: impl Into<String>, message: impl Into<String>) {
        self.report(Problem { place: place.into(), message: message.into(), about: About::Model });
    }

    pub(crate) fn report(&mut self, problem: Problem) {
        if self.problems.len() < MOST_PROBLEMS && !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    fn inputs(&mut self, graph: &'m Graph<'m>) -> Vec<Port> {
        let initialised: BTreeSet<&str> = graph.initializers.iter().map(|t| t.name).collect();
        let inputs: Vec<_> = graph.inputs.iter().filter(|input| !initialised.contains(input.name)).collect();
        if let Some(signature) = &self.options.signature {
            let wanted = inputs.iter().filter(|i| !self.options.values.contains_key(i.name)).count();
            let found = signature.inputs.iter().filter(|parameter| parameter.initializer.is_none()).count();
            if found != wanted {
                let names: Vec<&str> = inputs.iter().map(|i| i.name).collect();
                let message = format!("the model has {wanted} inputs ({}), found {found}", names.join(", "));
                self.report(Problem { place: String::new(), message, about: About::Inputs });
                inputs.iter().for_each(|input| self.define(input.name, Value::Poison));
                return Vec::new();
            }
            signature.dims.iter().for_each(|dim| self.b.declare_sym(dim.clone()));
            signature.facts.iter().for_each(|fact| self.b.add_fact(fact.clone()));
        }
        let mut ports = Vec::new();
        for input in inputs {
            self.loaded_up_to_input(graph, &mut ports);
            let value = match self.options.values.get(input.name) {
                Some(data) => Value::from(data.clone()),
                None => {
                    let position = ports.len();
                    self.input(input, &mut ports).unwrap_or_else(|message| {
                        let place = format!("input `{}`", input.name);
                        self.report(Problem { place, message, about: About::Input(position) });
                        Value::Poison
                    })
                }
            };
            self.define(input.name, value);
        }
        self.loaded_up_to_input(graph, &mut ports);
        self.loaded_behind_inputs(graph, &mut ports);
        ports
    }

    /// What is written for an input, if it fits what the model declares.
    pub(crate) fn written(
        &mut self,
        parameter: &Parameter,
        elem: Elem,
        dims: Option<&[Dim<'m>]>,
    ) -> Result<Vec<IntExpr>, String> {
        if elem.storage() != Some(parameter.dtype) {
            return Err(format!("its elements are {elem} in the model, found `{}`", parameter.dtype));
        }
        let Some(dims) = dims else { return Ok(parameter.shape.clone()) };
        if dims.len() != parameter.shape.len() {
            return Err(format!("it has rank {} in the model, found {}", dims.len(), parameter.shape.len()));
        }
        for (axis, (dim, extent)) in dims.iter().zip(&parameter.shape).enumerate() {
            let fits = match dim {
                Dim::Unknown => true,
                Dim::Value(n) => extent.as_const() == Some(*n),
                Dim::Name(name) => *self.syms.entry((*name).to_string()).or_insert_with(|| extent.clone()) == *extent,
            };
            if !fits {
                let expected = match dim {
                    Dim::Value(n) => n.to_string(),
                    Dim::Name(name) => format!("`{name}`, which is {}", self.syms[*name]),
                    Dim::Unknown => String::new(),
                };
                return Err(format!("axis {axis} is {expected} in the model, found `{extent}`"));
            }
        }
        Ok(parameter.shape.clone())
    }

    fn input(&mut self, input: &proto::ValueInfo<'m>, ports: &mut Vec<Port>) -> Result<Value, String> {
        let (data_type, shape) = match &input.ty {
            TypeProto::Tensor { data_type, shape } => (*data_type, shape),
            TypeProto::Other(what) => return Err(format!("it is {what}; only tensors are supported")),
            TypeProto::Unknown => return Err("it has no type".into()),
        };
        let elem = Elem::from_code(data_type).ok_or_else(|| format!("its type has the unknown code {data_type}"))?;
        let dtype = elem.storage().ok_or_else(|| format!("elements of type {elem} are not supported"))?;
        let position = ports.len();
        let written = self.options.signature.as_ref().and_then(|s| s.inputs.get(position));
        if let Some(parameter) = written {
            let shape = self.written(parameter, elem, shape.as_deref())?;
            let kind = if parameter.scalar { ParamKind::Scalar } else { ParamKind::Input };
            let ty = TensorType { dtype, shape: shape.clone() };
            let value = self.b.param(kind, ty, &parameter.name, position, parameter.loc);
            ports.push(Port { name: input.name.to_string(), elem, shape, lengths: Vec::new() });
            self.params.insert(value, input.name.to_string());
            return Ok(Value::Node(value, elem));
        }
        let shape = match (self.options.shapes.get(input.name), shape) {
            (Some(shape), _) => shape.iter().map(|n| int(*n as i64)).collect(),
            (None, Some(dims)) => self.extents(dims, position)?,
            (None, None) => return Err("it has no shape".into()),
        };
        if shape.len() > MOST_AXES {
            return Err(format!("it has {} axes", shape.len()));
        }
        let ty = TensorType { dtype, shape: shape.clone() };
        let value = self.b.param(ParamKind::Input, ty, &identifier(input.name), position, Loc::default());
        self.params.insert(value, input.name.to_string());
        ports.push(Port { name: input.name.to_string(), elem, shape, lengths: Vec::new() });
        Ok(Value::Node(value, elem))
    }

    /// The extents of an input: numbers, bound dims, and symbols that its axes bind.
    fn extents(&mut self, dims: &[Dim<'m>], param: usize) -> Result<Vec<IntExpr>, String> {
        let mut out = Vec::new();
        for (axis, dim) in dims.iter().enumerate() {
            let name = match dim {
                Dim::Value(n) if *n >= 0 => {
                    out.push(int(*n));
                    continue;
                }
                Dim::Value(n) => return Err(format!("the extent {n} of axis {axis} is below 0")),
                Dim::Name(name) => (*name).to_string(),
                Dim::Unknown => format!("D{param}_{axis}"),
            };
            let extent = match (self.options.dims.get(&name), self.syms.get(&name)) {
                (Some(bound), _) => int(*bound),
                (None, Some(known)) => known.clone(),
                (None, None) => self.new_dim(&name, param, axis),
            };
            self.syms.insert(name, extent.clone());
            out.push(extent);
        }
        Ok(out)
    }

    fn new_dim(&mut self, name: &str, param: usize, axis: usize) -> IntExpr {
        let mut text = identifier(name);
        if !text.starts_with(|c: char| c.is_ascii_uppercase()) {
            text = format!("D_{text}");
        }
        while self.b.function().syms.iter().any(|decl| decl.sym.as_str() == text) {
            text.push('_');
        }
        let sym = Sym::new(&text);
        self.b.declare_sym(SymDecl { sym: sym.clone(), kind: SymKind::Dim { param, axis }, loc: Loc::default() });
        IntExpr::var(sym)
    }

    fn initializers(&mut self, graph: &Graph<'m>) {
        for name in &graph.sparse {
            self.problem(format!("initializer `{name}`"), "sparse tensors are not supported");
            self.define(name, Value::Poison);
        }
        // those of a graph inside of it are its own
        let loaded = if self.scopes.len() == 1 { self.loaded_names() } else { BTreeSet::new() };
        for tensor in graph.initializers.iter().filter(|tensor| !loaded.contains(tensor.name)) {
            let value = self.tensor(tensor).unwrap_or_else(|e| {
                self.problem(format!("initializer `{}`", tensor.name), e);
                Value::Poison
            });
            self.define(tensor.name, value);
        }
    }

    /// A tensor of the file.
    pub(crate) fn tensor(&self, tensor: &proto::Tensor<'_>) -> Result<Value, String> {
        tensor::read(tensor, self.home).map(Value::from)
    }

    fn graph_nodes(&mut self, graph: &Graph<'m>) {
        self.nodes(&graph.nodes);
    }

    fn nodes(&mut self, nodes: &[Node<'m>]) {
        for node in nodes {
            self.nodes += 1;
            if self.nodes > MOST_NODES {
                self.problem("", format!("it has more than {MOST_NODES} nodes"));
                return;
            }
            let results = match self.node_results(node).and_then(|results| self.of_fair_size(results)) {
                Ok(results) => results,
                Err(fault) => {
                    self.blame(node, fault);
                    Vec::new()
                }
            };
            let mut results = results.into_iter();
            for name in &node.outputs {
                let value = results.next().unwrap_or(Value::Poison);
                if !name.is_empty() {
                    self.define(name, value);
                }
            }
        }
    }

    /// Results, unless one of them has more elements than memory can hold, or fewer than none.
    fn of_fair_size(&self, results: Vec<Value>) -> Outcome<Vec<Value>> {
        for value in &results {
            let Value::Node(id, _) = value else { continue };
            let dims: Vec<IntExpr> =
                self.dims(*id).iter().map(|e| self.greatest(e).unwrap_or_else(|_| e.clone())).collect();
            let known = dims.iter().filter_map(IntExpr::as_const);
            let count = known.clone().try_fold(1i64, i64::checked_mul);
            // What depends on no dim and is no number has overflowed.
            let overflows = dims.iter().any(|d| d.as_const().is_none() && d.vars().is_empty());
            if overflows || known.clone().any(|n| n < 0) || count.is_none_or(|n| n > MOST_ELEMENTS) {
                return fault(format!("its result would have the extents {dims:?}"));
            }
        }
        Ok(results)
    }

    fn blame(&mut self, node: &Node<'m>, fault: Fault) {
        match fault {
            Fault::Poison => {}
            Fault::Message(message) => {
                self.problem(place(node), message);
                let deciding = self.deciding(&self.extents_of(node));
                self.wanted.extend(deciding);
            }
            Fault::Wanted(names) => {
                let list: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
                let loaded = self.loaded_names();
                let is_loaded = names.iter().any(|name| loaded.contains(name.as_str()));
                let next = if is_loaded { "take it out of `params(…)`" } else { "give it when the model is read" };
                let text = format!("the value of {} decides a shape; {next}", list.join(", "));
                self.problem(place(node), text);
                self.wanted.extend(names);
            }
        }
    }

    /// The extents that a node reads.
    fn extents_of(&self, node: &Node<'m>) -> Vec<IntExpr> {
        let operands = node.inputs.iter().filter_map(|name| self.lookup(name).ok());
        let extents = operands.flat_map(|value| match value {
            Value::Node(id, _) => self.dims(id),
            Value::Ints(ints) => ints.values.clone(),
            Value::Known(_) | Value::None | Value::Poison => Vec::new(),
        });
        extents.collect()
    }

    fn node_results(&mut self, node: &Node<'m>) -> Outcome<Vec<Value>> {
        let domain = if node.domain == "ai.onnx" { "" } else { node.domain };
        let function = self.functions.get(&(node.domain, node.op_type, node.overload)).copied();
        let entry = ops::lookup(domain, node.op_type);
        if function.is_none() && entry.is_none() {
            let domain = if domain.is_empty() { String::new() } else { format!("{domain}.") };
            return fault(format!("the operator {domain}{} is not supported", node.op_type));
        }
        let inputs = node.inputs.iter().map(|name| self.lookup(name)).collect::<Outcome<Vec<_>>>()?;
        let attributes = self.attributes(node);
        if let Some(function) = function {
            return self.function(function, inputs, attributes);
        }
        if inputs.iter().any(|value| matches!(value, Value::Poison)) {
            return Err(Fault::Poison);
        }
        let version = self.version(domain);
        let call = Call { node, version, inputs, attributes };
        if let Some(results) = ints::follow(self, &call)? {
            return Ok(results);
        }
        match entry {
            Some(entry) if version >= entry.since => match on_integers(self, &call, entry.convert)? {
                Some(results) => Ok(results),
                None => {
                    let results = (entry.convert)(self, &call)?;
                    remember(self, &call, entry.convert, &results)?;
                    Ok(results)
                }
            },
            Some(entry) => fault(format!("it is of operator set {}, and the model imports {version}", entry.since)),
            None => Ok(Vec::new()),
        }
    }

    /// The version of an operator set in the innermost scope that imports it; that of a domain nobody imports is 1.
    fn version(&self, domain: &str) -> i64 {
        let versions = self.scopes.iter().rev().filter_map(|s| s.opsets.get(domain));
        versions.copied().next().unwrap_or(if domain.is_empty() { NEWEST_OPSET } else { 1 })
    }

    fn attributes(&self, node: &Node<'m>) -> BTreeMap<&'m str, AttributeValue<'m>> {
        let around = self.scopes.iter().rev().find(|s| !s.open).map(|s| &s.attributes);
        let mut out = BTreeMap::new();
        for attribute in &node.attributes {
            let value = match attribute.reference {
                "" => Some(attribute.value.clone()),
                name => around.and_then(|all| all.get(name)).cloned(),
            };
            out.extend(value.map(|value| (attribute.name, value)));
        }
        out
    }

    /// A call of a function of the model: its body, with its own names.
    fn function(
        &mut self,
        function: &'m proto::Function<'m>,
        inputs: Vec<Value>,
        mut attributes: BTreeMap<&'m str, AttributeValue<'m>>,
    ) -> Outcome<Vec<Value>> {
        if self.calls >= DEEPEST_CALL {
            return fault(format!("functions call functions more than {DEEPEST_CALL} deep"));
        }
        for default in &function.defaults {
            attributes.entry(default.name).or_insert_with(|| default.value.clone());
        }
        let given = inputs.into_iter().chain(std::iter::repeat(Value::None));
        let values = function.inputs.iter().copied().zip(given).collect();
        let opsets = opsets(&function.opsets).map_err(|e| Fault::Message(e.to_string()))?;
        self.calls += 1;
        self.scopes.push(Scope { values, open: false, opsets, attributes });
        self.nodes(&function.nodes);
        let results = function.outputs.iter().map(|name| self.lookup(name)).collect();
        self.scopes.pop();
        self.calls -= 1;
        results
    }

    /// The results of a graph in an attribute, which sees the names around it.
    pub(crate) fn subgraph(&mut self, graph: &Graph<'m>, inputs: Vec<Value>) -> Outcome<Vec<Value>> {
        let values = graph.inputs.iter().map(|i| i.name).zip(inputs).collect();
        self.scopes.push(Scope { values, open: true, ..Scope::default() });
        self.initializers(graph);
        let before = self.problems.len();
        self.graph_nodes(graph);
        let results = graph.outputs.iter().map(|out| self.lookup(out.name)).collect();
        self.scopes.pop();
        if self.problems.len() > before { Err(Fault::Poison) } else { results }
    }

    pub(crate) fn define(&mut self, name: &'m str, value: Value) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.values.insert(name, value);
        }
    }

    fn lookup(&self, name: &str) -> Outcome<Value> {
        if name.is_empty() {
            return Ok(Value::None);
        }
        for scope in self.scopes.iter().rev() {
            if let Some(value) = scope.values.get(name) {
                return Ok(value.clone());
            }
            if !scope.open {
                break;
            }
        }
        fault(format!("it reads `{name}`, which nothing before it gives: the graph has a cycle or lacks a node"))
    }

    fn outputs(&mut self, graph: &Graph<'m>) -> Vec<(Port, ValueId)> {
        let mut out = Vec::new();
        for output in &graph.outputs {
            match self.lookup(output.name).and_then(|value| self.output(output.name, &value, out.len())) {
                Ok(ports) => out.extend(ports),
                Err(Fault::Poison) => {}
                Err(Fault::Message(message)) => self.problem(format!("output `{}`", output.name), message),
                Err(Fault::Wanted(names)) => self.wanted.extend(names),
            }
        }
        if graph.outputs.is_empty() {
            self.problem("", "it has no output");
        }
        out
    }

    /// A result, as large as it can be, and behind it the lengths of the axes that depend on data; `at` is its place
    /// among all results.
    fn output(&mut self, name: &str, value: &Value, at: usize) -> Outcome<Vec<(Port, ValueId)>> {
        let (id, elem) = (self.node(value)?, self.elem(value)?);
        let own = self.dims(id);
        let shape = own.iter().map(|e| self.greatest(e)).collect::<Outcome<Vec<_>>>()?;
        let id = self.padded(id, &shape)?;
        self.of_fair_size(vec![Value::Node(id, elem)])?;
        let open: Vec<usize> = (0..own.len()).filter(|axis| self.depends(&own[*axis])).collect();
        let lengths = open.iter().copied().zip(at + 1..).collect();
        let mut ports = vec![(Port { name: name.to_string(), elem, shape, lengths }, id)];
        for axis in open {
            let name = format!("length of axis {axis} of {name}");
            let port = Port { name, elem: Elem::Int64, shape: Vec::new(), lengths: Vec::new() };
            ports.push((port, self.told(&own[axis])?));
        }
        Ok(ports)
    }

    /// Puts the kernels that operators made into the module.
    pub(crate) fn keep_kernels(&mut self) {
        for kernel in self.b.take_kernels() {
            self.module.functions.insert(kernel.name.clone(), Function::Prim(kernel));
        }
    }

    fn finish(mut self, inputs: Vec<Port>, outputs: Vec<(Port, ValueId)>) -> Result<Import, ImportError> {
        if !self.problems.is_empty() || !self.wanted.is_empty() {
            return Err(ImportError { problems: self.problems, wanted: self.wanted.into_iter().collect() });
        }
        self.keep_kernels();
        let results: Vec<ValueId> = outputs.iter().map(|(_, id)| *id).collect();
        let func = self.b.finish(&results);
        self.module.functions.insert(func.name.clone(), Function::Relax(func));
        let outputs = outputs.into_iter().map(|(port, _)| port).collect();
        Ok(Import { module: self.module, inputs, outputs, notes: self.quant.notes })
    }
}

/// How a node is named in texts.
pub(crate) fn place(node: &Node<'_>) -> String {
    let name = match (node.name, node.outputs.first()) {
        ("", Some(output)) => format!("that gives `{output}`"),
        ("", None) => String::new(),
        (name, _) => format!("`{name}`"),
    };
    format!("node {} {name}", node.op_type).trim_end().to_string()
}

/// A name of a model as an identifier.
pub fn identifier(name: &str) -> String {
    let mut out: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).take(60).collect();
    if out.is_empty() || out.starts_with(|c: char| c.is_ascii_digit()) {
        out.insert(0, 'x');
    }
    out
}

/// What values of the walk are.
impl Cx<'_> {
    /// Type of the elements.
    pub(crate) fn elem(&self, value: &Value) -> Outcome<Elem> {
        match value {
            Value::Node(_, elem) => Ok(*elem),
            Value::Known(data) => Ok(data.elem),
            Value::Ints(ints) => Ok(ints.elem),
            Value::Poison => Err(Fault::Poison),
            Value::None => fault("expected a tensor, found nothing"),
        }
    }

    /// Extents.
    pub(crate) fn shape(&self, value: &Value) -> Outcome<Vec<IntExpr>> {
        match value {
            Value::Node(id, _) => Ok(self.dims(*id)),
            Value::Known(data) => Ok(data.shape.iter().map(|n| int(*n as i64)).collect()),
            Value::Ints(ints) => Ok(ints.shape.iter().map(|n| int(*n as i64)).collect()),
            Value::Poison | Value::None => self.elem(value).map(|_| Vec::new()),
        }
    }

    /// The value as a tensor of the function.
    pub(crate) fn node(&mut self, value: &Value) -> Outcome<ValueId> {
        match value {
            Value::Node(id, _) => Ok(*id),
            Value::Known(data) => self.constant(data),
            Value::Ints(ints) => self.ints_node(ints),
            Value::Poison | Value::None => self.elem(value).map(|_| ValueId(0)),
        }
    }

    /// A known tensor as a constant; a scalar as a literal.
    pub(crate) fn constant(&mut self, data: &TensorData) -> Outcome<ValueId> {
        let Elements::Bytes(bytes) = &data.data else { return fault("strings are not supported") };
        let Some(dtype) = data.elem.storage() else { return fault(format!("{} is not supported", data.elem)) };
        if data.shape.is_empty() {
            let scalar = Scalar::from_le_bytes(dtype, &tensor::load(bytes)?);
            return Ok(self.b.scalar(scalar));
        }
        let hash = tensor::identity(dtype, &data.shape, bytes, self.home)?;
        let name = "constant".to_string();
        let shape = data.shape.clone();
        let constant = ConstData { hash, name, dtype, shape, bytes: bytes.clone() };
        let id = self.module.add_constant(constant);
        let shape = data.shape.iter().map(|n| int(*n as i64)).collect();
        Ok(self.b.constant(id, TensorType { dtype, shape }))
    }

    fn ints_node(&mut self, ints: &Ints) -> Outcome<ValueId> {
        let dtype = ints.elem.storage().unwrap_or(DType::I64);
        let known: Option<Vec<i64>> = ints.values.iter().map(IntExpr::as_const).collect();
        if let Some(known) = known {
            return self.constant(&integers(ints.elem, ints.shape.iter().map(|n| *n as u64).collect(), &known));
        }
        let mut parts = Vec::new();
        for value in &ints.values {
            let scalar = self.emit(Op::IndexValue { expr: value.clone(), dtype }, &[])?;
            parts.push(self.reshape(scalar, &[int(1)])?);
        }
        let flat = if parts.len() == 1 { parts[0] } else { self.emit(Op::Concat { axis: 0 }, &parts)? };
        let shape: Vec<IntExpr> = ints.shape.iter().map(|n| int(*n as i64)).collect();
        self.reshape(flat, &shape)
    }

    /// The integers of a value, if they are known without computing and few.
    pub(crate) fn known_ints(&self, value: &Value) -> Option<Ints> {
        match value {
            Value::Ints(ints) => Some((**ints).clone()),
            Value::Known(data) if matches!(data.elem, Elem::Int64 | Elem::Int32) => {
                let scalars = data.scalars(MOST_INTS)?;
                let values = scalars.iter().map(|s| int(s.to_i128() as i64)).collect();
                Some(Ints { elem: data.elem, shape: data.shape.iter().map(|n| *n as usize).collect(), values })
            }
            Value::Known(_) | Value::Node(..) | Value::None | Value::Poison => None,
        }
    }

    /// The integers of a value that decides a shape: known, computed now, or bound when the function runs if their range
    /// is known.
    pub(crate) fn exprs(&mut self, value: &Value) -> Outcome<Vec<IntExpr>> {
        if let Some(ints) = self.known_ints(value) {
            return Ok(ints.values);
        }
        let wanted = match self.data(value) {
            Ok(data) => return few_integers(&data),
            Err(Fault::Poison) => return Err(Fault::Poison),
            Err(fault) => fault,
        };
        let Value::Node(id, _) = value else { return Err(wanted) };
        self.bound_elements(*id)?.ok_or(wanted)
    }

    /// The same as numbers.
    pub(crate) fn i64s(&mut self, value: &Value) -> Outcome<Vec<i64>> {
        let exprs = match self.known_ints(value) {
            Some(ints) => ints.values,
            None => few_integers(&self.data(value)?)?,
        };
        let known: Option<Vec<i64>> = exprs.iter().map(IntExpr::as_const).collect();
        known.map_or_else(|| fault(format!("expected constants, found {exprs:?}; bind the dims")), Ok)
    }

    /// The elements of a value: known, or computed now.
    pub(crate) fn data(&mut self, value: &Value) -> Outcome<TensorData> {
        match value {
            Value::Known(data) => Ok((**data).clone()),
            Value::Node(id, elem) => self.compute(*id, *elem),
            Value::Ints(ints) => {
                let known: Option<Vec<i64>> = ints.values.iter().map(IntExpr::as_const).collect();
                let shape = ints.shape.iter().map(|n| *n as u64).collect();
                match known {
                    Some(known) => Ok(integers(ints.elem, shape, &known)),
                    None => fault("expected constants, found dims; bind the dims"),
                }
            }
            Value::Poison | Value::None => self.elem(value).and_then(|_| fault("no tensor")),
        }
    }

    /// The floats of a value that must be known.
    pub(crate) fn f64s(&mut self, value: &Value) -> Outcome<Vec<f64>> {
        let data = self.data(value)?;
        match data.scalars(1 << 16) {
            Some(scalars) => Ok(scalars.iter().map(|s| s.to_f64()).collect()),
            None => fault("expected a few numbers"),
        }
    }
}

/// The elements of a known tensor of integers.
fn few_integers(data: &TensorData) -> Outcome<Vec<IntExpr>> {
    match data.scalars(MOST_INTS) {
        Some(scalars) => Ok(scalars.iter().map(|s| int(i64::try_from(s.to_i128()).unwrap_or(i64::MAX))).collect()),
        None => fault("expected a few integers"),
    }
}

/// Integers as a known tensor.
pub(crate) fn integers(elem: Elem, shape: Vec<u64>, values: &[i64]) -> TensorData {
    let dtype = elem.storage().unwrap_or(DType::I64);
    let bytes: Vec<u8> = values.iter().flat_map(|v| Scalar::int(dtype, i128::from(*v)).to_le_bytes()).collect();
    TensorData { elem, shape, data: Elements::Bytes(ConstBytes::Inline(bytes.into())) }
}
