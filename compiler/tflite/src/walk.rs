//! The walk over a model: operator by operator, in the order of the file, which is that of their computation.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::ops::OpError;
use tenfold_ir::relax::{Builder, ParamKind, TensorType, ValueId};
use tenfold_ir::{ConstBytes, ConstData, DType, Function, Loc, Module, Scalar, content};
use tenfold_onnx::{About, Elem, Import, ImportError, Options, Parameter, Port, Problem, identifier};

use crate::flat::{FlatError, Table};
use crate::model::{Model, Operator, Tensor};
use crate::ops;

/// Problems that are told at most.
const MOST_PROBLEMS: usize = 50;
/// Elements that a tensor has at most.
const MOST_ELEMENTS: i64 = 1 << 31;
/// Axes that a tensor has at most.
const MOST_AXES: usize = 8;

/// Why an operator is not converted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fault {
    /// This is wrong with it.
    Message(String),
    /// An operand comes from an operator with an error.
    Poison,
}

pub(crate) type Outcome<T> = Result<T, Fault>;

/// A fault with a text.
pub(crate) fn fault<T>(text: impl Into<String>) -> Outcome<T> {
    Err(Fault::Message(text.into()))
}

impl From<OpError> for Fault {
    fn from(error: OpError) -> Self {
        Fault::Message(error.message)
    }
}

impl From<FlatError> for Fault {
    fn from(error: FlatError) -> Self {
        Fault::Message(error.0)
    }
}

/// What is known of a tensor of the file.
#[derive(Clone, Copy, Debug)]
enum Value {
    Node(ValueId),
    /// What an operator with an error gives: nothing more is said of it.
    Poison,
}

/// The walk.
pub(crate) struct Cx<'m> {
    pub(crate) b: Builder,
    module: Module,
    model: &'m Model<'m>,
    values: Vec<Option<Value>>,
    problems: Vec<Problem>,
    /// The operator that is being converted, by which the constants are named that it computes.
    here: String,
}

/// An operator that is being converted.
#[derive(Clone, Copy)]
pub(crate) struct Call<'m> {
    operator: &'m Operator<'m>,
    tensors: &'m [Tensor<'m>],
}

/// One scale and zero point for all elements.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Quant {
    pub(crate) scale: f32,
    pub(crate) zero: i32,
}

/// The type of elements with a number of the schema, if the language has it.
pub(crate) fn dtype(code: u8) -> Option<DType> {
    Some(match code {
        0 => DType::F32,
        1 => DType::F16,
        2 => DType::I32,
        3 => DType::U8,
        4 => DType::I64,
        6 => DType::Bool,
        7 => DType::I16,
        9 => DType::I8,
        10 => DType::F64,
        12 => DType::U64,
        15 => DType::U32,
        16 => DType::U16,
        _ => return None,
    })
}

/// Imports a model.
pub(crate) fn import<'m>(model: &'m Model<'m>, options: &Options) -> Result<Import, ImportError> {
    let name = if options.name.is_empty() { "model" } else { &options.name };
    let mut cx = Cx {
        b: Builder::new(name),
        module: Module { entry: name.to_string(), sources: vec![name.to_string()], ..Module::default() },
        model,
        values: vec![None; model.tensors.len()],
        problems: Vec::new(),
        here: String::new(),
    };
    let inputs = cx.inputs(options);
    for (at, operator) in model.operators.iter().enumerate() {
        cx.operator(at, operator);
    }
    let outputs = cx.outputs();
    cx.finish(inputs, outputs)
}

/// The type of a tensor that the walk may compute with.
fn typed(tensor: &Tensor<'_>) -> Result<(DType, Vec<i64>), String> {
    let dtype = dtype(tensor.code);
    let dtype =
        dtype.ok_or_else(|| format!("its elements have type {} of the schema, which is not supported", tensor.code))?;
    if tensor.shape.len() > MOST_AXES {
        return Err(format!("it has {} axes, and {MOST_AXES} are the most", tensor.shape.len()));
    }
    let negative = tensor.shape.iter().any(|n| *n < 0);
    let count = tensor.shape.iter().try_fold(1i64, |n, d| n.checked_mul(*d)).filter(|n| *n <= MOST_ELEMENTS);
    match count {
        Some(_) if !negative => Ok((dtype, tensor.shape.clone())),
        _ => Err(format!("its extents {:?} are below 0 or too large", tensor.shape)),
    }
}

impl<'m> Cx<'m> {
    fn report(&mut self, place: String, message: String, about: About) {
        let problem = Problem { place, message, about };
        if self.problems.len() < MOST_PROBLEMS && !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    fn inputs(&mut self, options: &Options) -> Vec<Port> {
        let model = self.model;
        if let Some(signature) = &options.signature {
            let (wanted, found) = (model.inputs.len(), signature.inputs.len());
            if found != wanted {
                let names: Vec<&str> = model.inputs.iter().map(|at| self.tensor(*at).name).collect();
                let message = format!("the model has {wanted} inputs ({}), found {found}", names.join(", "));
                self.report(String::new(), message, About::Inputs);
                model.inputs.iter().for_each(|at| self.define(*at, Value::Poison));
                return Vec::new();
            }
            signature.dims.iter().for_each(|dim| self.b.declare_sym(dim.clone()));
            signature.facts.iter().for_each(|fact| self.b.add_fact(fact.clone()));
        }
        let mut ports = Vec::new();
        for (position, at) in model.inputs.iter().enumerate() {
            let written = options.signature.as_ref().and_then(|signature| signature.inputs.get(position));
            let value = match self.input(*at, position, written) {
                Ok((port, value)) => {
                    ports.push(port);
                    Value::Node(value)
                }
                Err(message) => {
                    let place = format!("input `{}`", self.tensor(*at).name);
                    self.report(place, message, About::Input(position));
                    Value::Poison
                }
            };
            self.define(*at, value);
        }
        ports
    }

    fn input(&mut self, at: i32, position: usize, written: Option<&Parameter>) -> Result<(Port, ValueId), String> {
        let tensor = self.tensor(at);
        if self.values[at as usize].is_some() {
            return Err("it is an input twice".into());
        }
        let (dtype, extents) = typed(tensor)?;
        let shape: Vec<IntExpr> = extents.iter().map(|n| IntExpr::from(*n)).collect();
        let (mut name, mut loc, mut kind) = (identifier(tensor.name), Loc::default(), ParamKind::Input);
        if let Some(parameter) = written {
            if let Some(initializer) = &parameter.initializer {
                return Err(format!("weights such as `{initializer}` cannot be parameters of a TFLite model"));
            }
            if parameter.dtype != dtype {
                return Err(format!("its elements are `{dtype}` in the model, found `{}`", parameter.dtype));
            }
            if parameter.shape != shape {
                return Err(format!("its shape is {extents:?} in the model, found {:?}", parameter.shape));
            }
            (name, loc) = (parameter.name.clone(), parameter.loc);
            kind = if parameter.scalar { ParamKind::Scalar } else { ParamKind::Input };
        }
        let value = self.b.param(kind, TensorType { dtype, shape: shape.clone() }, &name, position, loc);
        Ok((Port { name: tensor.name.to_string(), elem: Elem::of(dtype), shape, lengths: Vec::new() }, value))
    }

    fn tensor(&self, at: i32) -> &'m Tensor<'m> {
        // every number of the file was checked when it was read
        &self.model.tensors[usize::try_from(at).unwrap_or(0)]
    }

    fn define(&mut self, at: i32, value: Value) {
        if let Some(slot) = usize::try_from(at).ok().and_then(|at| self.values.get_mut(at)) {
            *slot = Some(value);
        }
    }

    fn operator(&mut self, at: usize, operator: &'m Operator<'m>) {
        let call = Call { operator, tensors: &self.model.tensors };
        self.here = numbered(at, &call);
        let results = self.converted(&call).and_then(|results| self.checked(&call, &results).map(|()| results));
        let results = match results {
            Ok(results) => results,
            Err(why) => {
                if let Fault::Message(message) = why {
                    self.report(place(at, &call), message, About::Model);
                }
                operator.outputs.iter().for_each(|out| self.define(*out, Value::Poison));
                return;
            }
        };
        for (out, value) in operator.outputs.iter().zip(results) {
            self.define(*out, Value::Node(value));
        }
    }

    fn converted(&mut self, call: &Call<'m>) -> Outcome<Vec<ValueId>> {
        let operator = call.operator;
        let known = ops::of(operator.code);
        if !operator.custom.is_empty() {
            return fault(format!("the custom operator {} is not supported", operator.custom));
        }
        let Some(known) = known else {
            return fault(format!("the schema has no operator {}", operator.code));
        };
        let Some(convert) = known.convert else {
            return fault(format!("the operator {} is not supported", known.name));
        };
        if operator.outputs.iter().any(|out| self.values[*out as usize].is_some() || self.tensor(*out).data.is_some()) {
            return fault("it gives a tensor that is known already");
        }
        for input in operator.inputs.iter().filter(|at| **at >= 0) {
            let tensor = self.tensor(*input);
            if tensor.is_variable {
                return fault(format!("`{}` keeps its elements between runs, which is not supported", tensor.name));
            }
            match self.values[*input as usize] {
                Some(Value::Poison) => return Err(Fault::Poison),
                None if tensor.data.is_none() && !tensor.shape.contains(&0) => {
                    let name = tensor.name;
                    return fault(format!(
                        "it reads `{name}`, which nothing before it gives: the graph has a cycle or lacks an operator"
                    ));
                }
                Some(Value::Node(_)) | None => {}
            }
        }
        convert(self, call)
    }

    /// Whether results are what the model declares, and fit memory.
    fn checked(&self, call: &Call<'m>, results: &[ValueId]) -> Outcome<()> {
        if results.len() != call.operator.outputs.len() {
            return fault(format!("it gives {} results, found {}", results.len(), call.operator.outputs.len()));
        }
        for (value, out) in results.iter().zip(&call.operator.outputs) {
            let (own, declared) = (self.b.tensor(*value), self.tensor(*out));
            if dtype(declared.code) != Some(own.dtype) {
                let found =
                    dtype(declared.code).map_or(format!("type {} of the schema", declared.code), |d| d.to_string());
                return fault(format!("it gives elements of {}, found {found} declared", own.dtype));
            }
            let count = own.shape.iter().try_fold(1i64, |n, d| n.checked_mul(d.as_const()?));
            if own.shape.len() > MOST_AXES || count.is_none_or(|n| !(0..=MOST_ELEMENTS).contains(&n)) {
                return fault(format!("its result would have the extents {:?}", own.shape));
            }
        }
        Ok(())
    }

    fn outputs(&mut self) -> Vec<(Port, ValueId)> {
        let model = self.model;
        let mut out = Vec::new();
        for at in &model.outputs {
            let tensor = self.tensor(*at);
            match self.node(*at) {
                Ok(value) => {
                    let ty = self.b.tensor(value).clone();
                    let (name, elem) = (tensor.name.to_string(), Elem::of(ty.dtype));
                    out.push((Port { name, elem, shape: ty.shape, lengths: Vec::new() }, value));
                }
                Err(Fault::Poison) => {}
                Err(Fault::Message(message)) => {
                    self.report(format!("output `{}`", tensor.name), message, About::Model);
                }
            }
        }
        if model.outputs.is_empty() {
            self.report(String::new(), "it has no output".into(), About::Model);
        }
        out
    }

    /// A tensor of the file as a value of the function.
    fn node(&mut self, at: i32) -> Outcome<ValueId> {
        match self.values[at as usize] {
            Some(Value::Node(value)) => return Ok(value),
            Some(Value::Poison) => return Err(Fault::Poison),
            None => {}
        }
        let tensor = self.tensor(at);
        if tensor.data.is_none() && !tensor.shape.contains(&0) {
            // an operator that could not be read may be the one that is missing
            return if self.problems.is_empty() { fault("nothing gives it") } else { Err(Fault::Poison) };
        }
        let (dtype, shape, bytes) = known(tensor)?;
        let value = self.constant(tensor.name, dtype, &shape, bytes.to_vec());
        self.define(at, Value::Node(value));
        Ok(value)
    }

    /// Elements that an operator computes as a constant, which is named after it.
    pub(crate) fn computed(&mut self, dtype: DType, shape: &[i64], bytes: Vec<u8>) -> ValueId {
        let name = self.here.clone();
        self.constant(&name, dtype, shape, bytes)
    }

    /// Elements as a constant of this name; of no axes, as a literal.
    pub(crate) fn constant(&mut self, name: &str, dtype: DType, shape: &[i64], bytes: Vec<u8>) -> ValueId {
        if shape.is_empty() {
            return self.b.scalar(Scalar::from_le_bytes(dtype, &bytes));
        }
        let extents: Vec<u64> = shape.iter().map(|n| *n as u64).collect();
        let hash = content::of_bytes(dtype, &extents, &bytes);
        // TensorFlow names what it makes of several operators after all of them; a tensor need not have a name
        let name = name.split(';').next().filter(|name| !name.is_empty()).unwrap_or(&self.here).to_string();
        let bytes = ConstBytes::Inline(bytes.into());
        let id = self.module.add_constant(ConstData { hash, name, dtype, shape: extents, bytes });
        let shape = shape.iter().map(|n| IntExpr::from(*n)).collect();
        self.b.constant(id, TensorType { dtype, shape })
    }

    fn finish(mut self, inputs: Vec<Port>, outputs: Vec<(Port, ValueId)>) -> Result<Import, ImportError> {
        if !self.problems.is_empty() {
            return Err(ImportError { problems: self.problems, wanted: Vec::new() });
        }
        for kernel in self.b.take_kernels() {
            self.module.functions.insert(kernel.name.clone(), Function::Prim(kernel));
        }
        let results: Vec<ValueId> = outputs.iter().map(|(_, id)| *id).collect();
        let func = self.b.finish(&results);
        self.module.functions.insert(func.name.clone(), Function::Relax(func));
        let outputs = outputs.into_iter().map(|(port, _)| port).collect();
        Ok(Import { module: self.module, inputs, outputs, notes: Vec::new() })
    }
}

/// An operator by what it is and where it stands in the file.
fn numbered(at: usize, call: &Call<'_>) -> String {
    format!("{} {at}", ops::of(call.operator.code).map_or("operator", |op| op.name))
}

/// How an operator is named in texts.
fn place(at: usize, call: &Call<'_>) -> String {
    let name = numbered(at, call);
    match call.operator.outputs.first().and_then(|out| call.tensors.get(usize::try_from(*out).ok()?)) {
        Some(out) => format!("{name} that gives `{}`", out.name),
        None => name,
    }
}

/// The elements of a tensor that stand in the file.
fn known<'m>(tensor: &Tensor<'m>) -> Outcome<(DType, Vec<i64>, &'m [u8])> {
    let name = tensor.name;
    let (dtype, shape) = typed(tensor).map_err(|why| Fault::Message(format!("of `{name}`: {why}")))?;
    if tensor.is_sparse {
        return fault(format!("`{name}` is sparse, which is not supported"));
    }
    let expected = shape.iter().product::<i64>() as usize * dtype.size_bytes();
    match tensor.data.unwrap_or_default() {
        data if data.len() == expected => Ok((dtype, shape, data)),
        data => fault(format!("`{name}` has {} bytes where its extents {shape:?} ask for {expected}", data.len())),
    }
}

impl<'m> Call<'m> {
    /// Whether an operand is there.
    pub(crate) fn has(&self, i: usize) -> bool {
        self.operator.inputs.get(i).is_some_and(|at| *at >= 0)
    }

    /// How many operands there are.
    pub(crate) fn count(&self) -> usize {
        self.operator.inputs.len()
    }

    /// How many results it has in the model.
    pub(crate) fn results(&self) -> usize {
        self.operator.outputs.len()
    }

    fn number(&self, i: usize) -> Outcome<i32> {
        match self.operator.inputs.get(i) {
            Some(at) if *at >= 0 => Ok(*at),
            _ => fault(format!("operand {i} is missing")),
        }
    }

    /// An operand as the file has it.
    pub(crate) fn tensor(&self, i: usize) -> Outcome<&'m Tensor<'m>> {
        Ok(&self.tensors[self.number(i)? as usize])
    }

    /// A result as the file declares it.
    pub(crate) fn result(&self, i: usize) -> Outcome<&'m Tensor<'m>> {
        let at = self.operator.outputs.get(i).and_then(|at| self.tensors.get(usize::try_from(*at).ok()?));
        at.map_or_else(|| fault(format!("result {i} is missing")), Ok)
    }

    /// An operand as a value of the function.
    pub(crate) fn x(&self, cx: &mut Cx<'m>, i: usize) -> Outcome<ValueId> {
        cx.node(self.number(i)?)
    }

    /// The elements of an operand that stand in the file.
    pub(crate) fn known(&self, i: usize, what: &str) -> Outcome<(DType, Vec<i64>, &'m [u8])> {
        let tensor = self.tensor(i)?;
        match tensor.data {
            None if !tensor.shape.contains(&0) => fault(format!("{what} `{}` must stand in the file", tensor.name)),
            _ => known(tensor),
        }
    }

    /// Integers of an operand that stand in the file.
    pub(crate) fn known_ints(&self, i: usize, what: &str) -> Outcome<Vec<i64>> {
        let (dtype, _, bytes) = self.known(i, what)?;
        match dtype {
            DType::I32 => Ok(bytes.as_chunks::<4>().0.iter().map(|b| i64::from(i32::from_le_bytes(*b))).collect()),
            DType::I64 => Ok(bytes.as_chunks::<8>().0.iter().map(|b| i64::from_le_bytes(*b)).collect()),
            other => fault(format!("{what} must be integers, found {other}")),
        }
    }

    /// The scale and zero point of a quantised operand of 8 bits.
    pub(crate) fn quant(&self, i: usize) -> Outcome<Quant> {
        quant(self.tensor(i)?)
    }

    /// The scale and zero point of a quantised result of 8 bits.
    pub(crate) fn out_quant(&self) -> Outcome<Quant> {
        quant(self.result(0)?)
    }

    /// A table of options, if the file has one.
    pub(crate) fn options(&self) -> Option<Table<'m>> {
        self.operator.options
    }

    /// A number among the options.
    pub(crate) fn option(&self, field: usize, default: i32) -> Outcome<i32> {
        Ok(self.operator.options.map_or(Ok(default), |own| own.int(field, default))?)
    }

    /// A byte among the options.
    pub(crate) fn byte(&self, field: usize) -> Outcome<u8> {
        Ok(self.operator.options.map_or(Ok(0), |own| own.byte(field))?)
    }

    /// A float among the options.
    pub(crate) fn float(&self, field: usize) -> Outcome<f32> {
        Ok(self.operator.options.map_or(Ok(0.0), |own| own.float(field))?)
    }
}

fn quant(tensor: &Tensor<'_>) -> Outcome<Quant> {
    let name = tensor.name;
    let (scale, zero) = match (tensor.scales.as_slice(), tensor.zeros.as_slice()) {
        ([scale], [zero]) => (*scale, *zero),
        ([scale], []) => (*scale, 0),
        (scales, zeros) => {
            let (scales, zeros) = (scales.len(), zeros.len());
            return fault(format!("`{name}` must have one scale and one zero point, found {scales} and {zeros}"));
        }
    };
    if !(scale.is_finite() && scale > 0.0) {
        return fault(format!("`{name}` has the scale {scale}, and it must be a number above 0"));
    }
    match i32::try_from(zero) {
        Ok(zero) if tensor.code != 9 || (-128..=127).contains(&zero) => Ok(Quant { scale, zero }),
        _ => fault(format!("`{name}` has the zero point {zero}, which is no element of its type")),
    }
}
