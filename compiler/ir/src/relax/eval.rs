//! The reference interpreter: each op straight from its definition, in naive loops.
//!
//! It knows nothing of tir, of passes or of targets, so that what they compute can be checked against it. Calls of
//! prim-funcs and of functions outside the module are handed to the caller ([`Callees`]).

mod region;
mod shape;

use std::collections::BTreeMap;

use super::{Binding, BindingBlock, Function, Op, ParamKind, SymKind, TensorType, Type, ValueId, op_name};
use super::{eval_layout, eval_ops};
use crate::arith::{IntExpr, Sym};
use crate::eval::{Bounded, ROUNDED, Value};
use crate::{ConstBytes, ConstData, Module, Scalar};

/// What a function is called with.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// Tensors and scalars, one per entry of [`Function::params`]; state with its value at entry.
    pub values: Vec<Value>,
    /// Index parameters by symbol.
    pub indices: BTreeMap<Sym, i64>,
}

/// What a function leaves.
#[derive(Clone, Debug)]
pub struct Outputs {
    /// Its results.
    pub results: Vec<Value>,
    /// State parameters' values after the call, by index into [`Function::params`].
    pub states: BTreeMap<usize, Value>,
}

/// Runs a prim-func: its name, index arguments, inputs, and the types of its results with the operand that a result
/// updates in place.
pub type CallPrim<'c> = dyn Fn(&str, &[i64], &[Value], &[(Value, Option<usize>)]) -> Result<Vec<Value>, String> + 'c;

/// Runs a function outside the module: its path, its operands, and for each value that it gives one of that type and
/// shape, which holds nothing yet (a result) or the operand that it updates.
pub type CallExternal<'c> = dyn Fn(&str, &[Value], &[Value]) -> Result<Vec<Value>, String> + 'c;

/// What an interpreted function calls and the interpreter has not.
#[derive(Clone, Copy)]
pub struct Callees<'c> {
    /// Prim-funcs.
    pub prim: &'c CallPrim<'c>,
    /// Functions outside the module.
    pub external: &'c CallExternal<'c>,
}

impl std::fmt::Debug for Callees<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Callees")
    }
}

/// Evaluates a function. An error is a mismatch of inputs, a fact or check that does not hold, an index that depends on
/// rounding, or an op that the interpreter lacks.
pub fn eval(module: &Module, func: &Function, inputs: &Inputs) -> Result<Outputs, String> {
    let prim = |name: &str, _: &[i64], _: &[Value], _: &[(Value, Option<usize>)]| {
        Err(format!("`@{name}` needs the loop-level interpreter"))
    };
    let external = |path: &str, _: &[Value], _: &[Value]| Err(format!("`{path}` stands outside the module"));
    eval_with(module, func, inputs, Callees { prim: &prim, external: &external })
}

/// Evaluates a function whose callees `callees` runs.
pub fn eval_with(module: &Module, func: &Function, inputs: &Inputs, callees: Callees<'_>) -> Result<Outputs, String> {
    let depth = 0;
    eval_nested(module, func, inputs, callees, depth)
}

/// Calls in calls stop here: a function that calls itself is the verifier's to refuse, and no reason to crash.
const DEEPEST_CALL: usize = 64;

fn eval_nested(
    module: &Module,
    func: &Function,
    inputs: &Inputs,
    callees: Callees<'_>,
    depth: usize,
) -> Result<Outputs, String> {
    if depth > DEEPEST_CALL {
        return Err(format!("`@{}` is called {depth} calls deep", func.name));
    }
    let mut machine = Machine {
        module,
        func,
        callees,
        depth,
        syms: inputs.indices.clone(),
        values: BTreeMap::new(),
        states: BTreeMap::new(),
    };
    machine.bind_params(inputs)?;
    machine.blocks(&func.blocks)?;
    let results = func.results.iter().map(|v| machine.tensor(*v).cloned()).collect::<Result<_, _>>()?;
    Ok(Outputs { results, states: machine.states })
}

/// What a value number stands for.
#[derive(Clone, Debug)]
enum Slot {
    Tensor(Value),
    Tuple(Vec<Slot>),
    Shape(Vec<i64>),
}

struct Machine<'m> {
    module: &'m Module,
    func: &'m Function,
    callees: Callees<'m>,
    depth: usize,
    syms: BTreeMap<Sym, i64>,
    values: BTreeMap<ValueId, Slot>,
    states: BTreeMap<usize, Value>,
}

impl Machine<'_> {
    fn bind_params(&mut self, inputs: &Inputs) -> Result<(), String> {
        let func = self.func;
        if inputs.values.len() != func.params.len() {
            return Err(format!("expected {} inputs, found {}", func.params.len(), inputs.values.len()));
        }
        for decl in &func.syms {
            match &decl.kind {
                SymKind::Dim { param, axis } => {
                    let index = func.params.iter().position(|p| p.position == *param);
                    let extent = index.and_then(|i| inputs.values[i].shape.get(*axis));
                    let extent = extent.ok_or_else(|| format!("no axis binds `{}`", decl.sym))?;
                    self.syms.insert(decl.sym.clone(), *extent as i64);
                }
                SymKind::IndexParam { unsigned, .. } => match self.syms.get(&decl.sym) {
                    Some(value) if *unsigned && *value < 0 => return Err(format!("`{}` is negative", decl.sym)),
                    Some(_) => {}
                    None => return Err(format!("no value for `{}`", decl.sym)),
                },
                // The interpreter has no strides: its inputs are without gaps.
                SymKind::Stride { .. } | SymKind::Bound(_) | SymKind::Loop(_) => {}
            }
        }
        for (index, (param, value)) in func.params.iter().zip(&inputs.values).enumerate() {
            let Type::Tensor(ty) = &func.values[param.value.0 as usize].ty else {
                return Err(format!("parameter {index} is a tuple"));
            };
            let shape = self.shape(&ty.shape)?;
            if value.dtype != ty.dtype || value.shape != shape {
                let found = format!("{}{:?}", value.dtype, value.shape);
                return Err(format!("parameter {index}: expected {}{shape:?}, found {found}", ty.dtype));
            }
            self.values.insert(param.value, Slot::Tensor(value.clone()));
            if param.kind == ParamKind::State {
                self.states.insert(index, value.clone());
            }
        }
        for decl in &func.facts {
            let held = decl.fact.eval(&|sym: &Sym| self.syms.get(sym).copied());
            if held != Some(true) {
                return Err(format!(
                    "does not hold: {}",
                    if decl.text.is_empty() { decl.fact.to_string() } else { decl.text.clone() }
                ));
            }
        }
        Ok(())
    }

    /// Index values have 64 bits, and arithmetic on them wraps.
    fn int(&self, expr: &IntExpr) -> Result<i64, String> {
        let value = expr.eval_wrapped(&|sym: &Sym| self.syms.get(sym).copied());
        value.ok_or_else(|| format!("`{expr}` has no value"))
    }

    fn ints(&self, exprs: &[IntExpr]) -> Result<Vec<i64>, String> {
        exprs.iter().map(|expr| self.int(expr)).collect()
    }

    /// Extents, each 0 or more, of a tensor that fits into memory.
    fn shape(&self, dims: &[IntExpr]) -> Result<Vec<usize>, String> {
        let mut count = 1usize;
        let mut shape = Vec::new();
        for dim in dims {
            let extent = self.int(dim)?;
            let extent = usize::try_from(extent).map_err(|_| format!("extent `{dim}` is {extent}"))?;
            count = count.checked_mul(extent.max(1)).filter(|n| *n <= 1 << 30).ok_or("the tensor is too large")?;
            shape.push(extent);
        }
        Ok(shape)
    }

    fn slot(&self, value: ValueId) -> Result<&Slot, String> {
        self.values.get(&value).ok_or_else(|| format!("v{} has no value", value.0))
    }

    fn tensor(&self, value: ValueId) -> Result<&Value, String> {
        match self.slot(value)? {
            Slot::Tensor(tensor) => Ok(tensor),
            Slot::Tuple(_) => Err(format!("v{} is a tuple", value.0)),
            Slot::Shape(_) => Err(format!("v{} is a shape", value.0)),
        }
    }

    fn blocks(&mut self, blocks: &[BindingBlock]) -> Result<(), String> {
        for binding in blocks.iter().flat_map(|block| &block.bindings) {
            self.binding(binding).map_err(|error| format!("v{}: {error}", binding.out.0))?;
        }
        Ok(())
    }

    fn binding(&mut self, binding: &Binding) -> Result<(), String> {
        let slot = match &binding.op {
            Op::Tuple => Slot::Tuple(binding.args.iter().map(|v| self.slot(*v).cloned()).collect::<Result<_, _>>()?),
            Op::TupleGet(index) => match self.slot(operand(binding, 0)?)? {
                Slot::Tuple(items) => items.get(*index).cloned().ok_or("no such component")?,
                Slot::Tensor(_) | Slot::Shape(_) => return Err("expected a tuple".to_string()),
            },
            Op::CallFn { func, syms, .. } => self.call_fn(func, syms, &binding.args)?,
            Op::CallTir { func, syms, results, in_place } => {
                self.call_tir(func, syms, &binding.args, results, in_place)?
            }
            Op::CallDps { callee, results } => self.call_dps(&callee.path, &binding.args, results)?,
            Op::CallPacked { callee, updates } => self.call_packed(&callee.path, &binding.args, updates)?,
            Op::If => self.branch(binding)?,
            Op::For { var, begin, extent, step } => self.counted(binding, var, begin, extent, *step)?,
            Op::While => self.repeated(binding)?,
            Op::StoreState { param } => {
                let value = self.tensor(operand(binding, 0)?)?.clone();
                self.states.insert(*param, value);
                Slot::Tuple(Vec::new())
            }
            Op::Assert { fact, text } => match fact.eval(&|sym: &Sym| self.syms.get(sym).copied()) {
                Some(true) => Slot::Tuple(Vec::new()),
                Some(false) | None => return Err(format!("does not hold: {text}")),
            },
            Op::MatchShape { shape } => self.match_shape(binding, shape)?,
            Op::ShapeOf | Op::Shape { .. } | Op::ShapeToTensor | Op::TensorToShape => self.shape_op(binding)?,
            op => {
                let args = binding.args.iter().map(|v| self.tensor(*v)).collect::<Result<Vec<_>, _>>()?;
                Slot::Tensor(self.op(binding.out, op, &args)?)
            }
        };
        if let (Op::BindIndex(sym), Slot::Tensor(value)) = (&binding.op, &slot) {
            if !value.data[0].is_exact() {
                return Err(format!("an index {ROUNDED}"));
            }
            let index = i64::try_from(value.data[0].value.to_i128()).map_err(|_| "does not fit an index")?;
            self.syms.insert(sym.clone(), index);
        }
        self.values.insert(binding.out, slot);
        Ok(())
    }

    fn op(&self, out: ValueId, op: &Op, args: &[&Value]) -> Result<Value, String> {
        Ok(match op {
            Op::Const(id) => constant(self.module.constant(*id))?,
            Op::Scalar(value) => Value::scalar(*value),
            Op::IndexValue { expr, dtype } => Value::scalar(from_index(self.int(expr)?, *dtype)),
            Op::Element(element) => eval_ops::element(*element, args),
            Op::Reduce { op, axes, keepdims } => eval_ops::reduce(*op, axes, *keepdims, args[0]),
            Op::ArgReduce { op, axis, keepdims } => eval_ops::arg_reduce(*op, *axis, *keepdims, args[0])?,
            Op::MatMul => eval_ops::matmul(args[0], args[1]),
            Op::Softmax { axis, log } => eval_ops::softmax(*axis, *log, args[0]),
            Op::BatchNorm { axis, epsilon } => eval_ops::batch_norm(*axis, epsilon.get(), args),
            Op::LayerNorm { axis, epsilon } => eval_ops::layer_norm(*axis, epsilon.get(), args),
            Op::Reshape { shape } => Value { shape: self.shape(shape)?, ..args[0].clone() },
            Op::Transpose { perm } => eval_ops::transpose(perm, args[0]),
            Op::BroadcastTo { shape } => eval_ops::broadcast_to(&self.shape(shape)?, args[0]),
            Op::Concat { axis } => eval_ops::concat(*axis, args),
            Op::Slice { axes, drop } => {
                let parts = self.parts(axes)?;
                eval_ops::slice(&parts, drop, args[0])?
            }
            Op::SliceUpdate { axes, drop } => {
                let parts = self.parts(axes)?;
                eval_ops::slice_update(&parts, drop, args[0], args[1])?
            }
            Op::Pad { mode, before, after } => {
                let (before, after) = (self.ints(before)?, self.ints(after)?);
                eval_ops::pad(*mode, &before, &after, args)
            }
            Op::Conv { window, group, layout } => eval_layout::conv(window, *group, *layout, args),
            Op::Pool { op, window, layout, .. } => {
                let shape = self.result_shape(out)?;
                eval_layout::pool(*op, window, *layout, &shape, args[0])
            }
            Op::Full { shape } => Value::filled(&self.shape(shape)?, args[0].data[0]),
            Op::Arange { start, step, extent, dtype } => {
                let (start, step) = (self.int(start)?, self.int(step)?);
                let shape = self.shape(std::slice::from_ref(extent))?;
                let at = |i: usize| Bounded::exact(from_index(start + i as i64 * step, *dtype));
                Value { dtype: *dtype, data: (0..shape[0]).map(at).collect(), shape }
            }
            Op::BindIndex(_) => args[0].clone(),
            Op::MatchShape { .. }
            | Op::Later { .. }
            | Op::Tuple
            | Op::TupleGet(_)
            | Op::CallFn { .. }
            | Op::CallTir { .. }
            | Op::CallDps { .. }
            | Op::CallPacked { .. }
            | Op::If
            | Op::For { .. }
            | Op::While
            | Op::ShapeOf
            | Op::Shape { .. }
            | Op::ShapeToTensor
            | Op::TensorToShape
            | Op::Assert { .. }
            | Op::StoreState { .. } => return Err(format!("`{}` is not interpreted", op_name(op))),
        })
    }

    fn parts(&self, axes: &[super::SliceAxis]) -> Result<Vec<(i64, usize, i64)>, String> {
        let part = |axis: &super::SliceAxis| {
            let extent = self.shape(std::slice::from_ref(&axis.extent))?[0];
            Ok((self.int(&axis.begin)?, extent, axis.step))
        };
        axes.iter().map(part).collect()
    }

    fn result_shape(&self, out: ValueId) -> Result<Vec<usize>, String> {
        match &self.func.values[out.0 as usize].ty {
            Type::Tensor(ty) => self.shape(&ty.shape),
            Type::Tuple(_) | Type::Shape(_) => Err("expected a tensor".to_string()),
        }
    }

    fn call_fn(&mut self, name: &str, syms: &[IntExpr], args: &[ValueId]) -> Result<Slot, String> {
        let callee = self.module.relax(name).ok_or_else(|| format!("`@{name}` is not in the module"))?;
        let params = callee.syms.iter().filter(|decl| matches!(decl.kind, SymKind::IndexParam { .. }));
        let indices = params.map(|decl| decl.sym.clone()).zip(self.ints(syms)?).collect();
        let values = args.iter().map(|v| self.tensor(*v).cloned()).collect::<Result<_, _>>()?;
        let outputs = eval_nested(self.module, callee, &Inputs { values, indices }, self.callees, self.depth + 1)?;
        Ok(one_or_tuple(outputs.results.into_iter().chain(outputs.states.into_values()).map(Slot::Tensor).collect()))
    }

    fn call_tir(
        &self,
        name: &str,
        syms: &[IntExpr],
        args: &[ValueId],
        results: &[TensorType],
        in_place: &[Option<usize>],
    ) -> Result<Slot, String> {
        let args = args.iter().map(|v| self.tensor(*v).cloned()).collect::<Result<Vec<_>, _>>()?;
        let mut outs = Vec::new();
        for (i, ty) in results.iter().enumerate() {
            outs.push((self.nothing(ty)?, in_place.get(i).copied().flatten()));
        }
        let values = (self.callees.prim)(name, &self.ints(syms)?, &args, &outs)?;
        Ok(one_or_tuple(values.into_iter().map(Slot::Tensor).collect()))
    }

    fn call_dps(&self, path: &str, args: &[ValueId], results: &[TensorType]) -> Result<Slot, String> {
        let args = args.iter().map(|v| self.tensor(*v).cloned()).collect::<Result<Vec<_>, _>>()?;
        let outs = results.iter().map(|ty| self.nothing(ty)).collect::<Result<Vec<_>, _>>()?;
        self.external(path, &args, &outs)
    }

    fn call_packed(&self, path: &str, args: &[ValueId], updates: &[usize]) -> Result<Slot, String> {
        let args = args.iter().map(|v| self.tensor(*v).cloned()).collect::<Result<Vec<_>, _>>()?;
        let updated = updates.iter().map(|i| args.get(*i).cloned().ok_or("no such operand"));
        let updated = updated.collect::<Result<Vec<_>, _>>()?;
        self.external(path, &args, &updated)
    }

    fn external(&self, path: &str, args: &[Value], outs: &[Value]) -> Result<Slot, String> {
        let values = (self.callees.external)(path, args, outs)?;
        let fits = values.len() == outs.len()
            && values.iter().zip(outs).all(|(a, b)| a.dtype == b.dtype && a.shape == b.shape);
        if !fits {
            return Err(format!("`{path}` gives values of other types"));
        }
        Ok(one_or_tuple(values.into_iter().map(Slot::Tensor).collect()))
    }

    /// A tensor of that type of which nothing is known.
    fn nothing(&self, ty: &TensorType) -> Result<Value, String> {
        Ok(Value::filled(&self.shape(&ty.shape)?, Bounded::exact(Scalar::zero(ty.dtype)).unknown()))
    }
}

/// One as itself, several or none as a tuple.
fn one_or_tuple(mut slots: Vec<Slot>) -> Slot {
    if slots.len() == 1 { slots.remove(0) } else { Slot::Tuple(slots) }
}

/// An operand that a verified binding has.
fn operand(binding: &Binding, index: usize) -> Result<ValueId, String> {
    binding.args.get(index).copied().ok_or_else(|| format!("operand {index} is missing"))
}

/// An index value as an element: integers wrap, floats round once.
fn from_index(value: i64, dtype: crate::DType) -> Scalar {
    crate::eval::scalar_ops::cast(dtype, Scalar::int(crate::DType::I64, i128::from(value)))
}

/// A constant's elements.
fn constant(data: &ConstData) -> Result<Value, String> {
    let shape: Vec<usize> = data.shape.iter().map(|n| *n as usize).collect();
    let bytes = match &data.bytes {
        ConstBytes::Inline(bytes) => bytes.to_vec(),
        ConstBytes::File { path, offset, len } => {
            let all = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
            let end = offset.saturating_add(*len) as usize;
            all.get(*offset as usize..end).ok_or_else(|| format!("{} is too short", path.display()))?.to_vec()
        }
    };
    Value::from_bytes(data.dtype, &shape, &bytes).ok_or_else(|| format!("constant `{}` has too few bytes", data.name))
}
