//! What stands between a dequantisation and a quantisation and is no sum of products.
//!
//! Rounding to integers makes a whole quantum of the last bit of a float, and a deep network carries it to its end. So
//! what is computed from quantised tensors is known twice: as the float of 32 bits that the model says, and as what
//! that float is rounded from. A quantisation takes the latter, and where nothing else takes the former it is dead code.
//!
//! What works element by element on one tensor of 8 bits has 256 results, which are computed at build time. All else is
//! computed in floats of 64 bits.

use std::rc::Rc;

use tenfold_ir::DType;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::ops::AttrValue;
use tenfold_ir::relax::ValueId;

use crate::call::Call;
use crate::elem::Elem;
use crate::emit::int;
use crate::ops::{Convert, table};
use crate::qdq::Quantized;
use crate::value::{Outcome, Value};
use crate::walk::Cx;

/// What a float of 32 bits is rounded from.
#[derive(Clone)]
pub(crate) enum Exact {
    /// Integers times a scale.
    Quantized(Rc<Quantized>),
    /// The same tensor in floats of 64 bits.
    Wide(ValueId),
    /// What each integer of 8 bits becomes.
    Table(Table),
}

/// A function of the elements of a tensor of 8 bits.
#[derive(Clone)]
pub(crate) struct Table {
    /// The tensor.
    pub(crate) codes: ValueId,
    /// The results in floats of 64 bits, in the order of the integers without their sign.
    pub(crate) values: ValueId,
}

/// Operators of floats that work element by element and broadcast.
pub(crate) const ELEMENTS: &[&str] = &[
    "Abs",
    "Acos",
    "Acosh",
    "Add",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "Ceil",
    "Celu",
    "Clip",
    "Cos",
    "Cosh",
    "Div",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "Gelu",
    "HardSigmoid",
    "HardSwish",
    "LeakyRelu",
    "Log",
    "Max",
    "Mean",
    "Min",
    "Mish",
    "Mul",
    "Neg",
    "PRelu",
    "Pow",
    "Reciprocal",
    "Relu",
    "Round",
    "Selu",
    "Shrink",
    "Sigmoid",
    "Sign",
    "Sin",
    "Sinh",
    "Softplus",
    "Softsign",
    "Sqrt",
    "Sub",
    "Sum",
    "Swish",
    "Tan",
    "Tanh",
    "ThresholdedRelu",
];

/// Operators of floats that take rows to rows, or to one element.
pub(crate) const ROWS: &[&str] = &[
    "GroupNormalization",
    "InstanceNormalization",
    "LayerNormalization",
    "LogSoftmax",
    "LpNormalization",
    "RMSNormalization",
    "ReduceL2",
    "ReduceMean",
    "ReduceSum",
    "Softmax",
];

/// An operand of a node whose result is known exactly.
enum Operand {
    /// Left out, or no float.
    Asis(Value),
    /// The same in each run.
    Constant(ValueId),
    Varies(Exact),
}

/// Remembers what the first result of a node is rounded from, if that is computed from quantised tensors and constants.
pub(crate) fn remember<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, convert: Convert, results: &[Value]) -> Outcome<()> {
    let name = call.node.op_type;
    let elements = ELEMENTS.contains(&name);
    let Some(Value::Node(y, Elem::Float)) = results.first().filter(|_| elements || ROWS.contains(&name)) else {
        return Ok(());
    };
    if !of_quantised(cx, &call.inputs) {
        return Ok(());
    }
    let operands = call.inputs.iter().map(|input| operand(cx, input)).collect::<Outcome<Vec<Operand>>>()?;
    let codes = if elements { common(cx, &operands) } else { None };
    let inputs = operands.into_iter().map(|of| input(cx, of, codes.is_some())).collect::<Outcome<_>>()?;
    let results = convert(cx, &Call { inputs, ..call.clone() })?;
    let Some(Value::Node(values, Elem::Double)) = results.first() else { return Ok(()) };
    let exact = match codes {
        Some(codes) => Exact::Table(Table { codes, values: *values }),
        None => Exact::Wide(*values),
    };
    cx.quant.exact.insert(*y, exact);
    Ok(())
}

/// Whether every tensor among these is known exactly, and there is one.
fn of_quantised(cx: &Cx<'_>, inputs: &[Value]) -> bool {
    let mut tensors = inputs.iter().filter(|input| matches!(input, Value::Node(..))).peekable();
    tensors.peek().is_some() && tensors.all(|input| matches!(input, Value::Node(x, Elem::Float) if cx.quant.knows(*x)))
}

/// How an operand enters.
fn operand(cx: &mut Cx<'_>, input: &Value) -> Outcome<Operand> {
    Ok(match input {
        Value::Node(x, _) => match (cx.quantized(input).filter(|of| of.data.is_some()), cx.exact(*x)?) {
            (Some(of), _) => Operand::Constant(cx.numbers(&of, DType::F64)?),
            (None, Some(exact)) => Operand::Varies(exact),
            (None, None) => Operand::Asis(input.clone()),
        },
        Value::Known(data) if data.elem == Elem::Float => {
            let x = cx.constant(data)?;
            Operand::Constant(cx.cast(x, DType::F64)?)
        }
        Value::Known(_) | Value::Ints(_) | Value::None | Value::Poison => Operand::Asis(input.clone()),
    })
}

/// The tensor of 8 bits that all that varies is a function of, if the constants are single numbers.
fn common(cx: &Cx<'_>, operands: &[Operand]) -> Option<ValueId> {
    let mut all = None;
    for operand in operands {
        let codes = match operand {
            Operand::Asis(_) => continue,
            Operand::Constant(x) if cx.dims(*x).iter().all(|d| d.as_const() == Some(1)) => continue,
            Operand::Varies(Exact::Quantized(of)) if of.per_tensor() && cx.dtype(of.q).bits() == 8 => of.q,
            Operand::Varies(Exact::Table(table)) => table.codes,
            Operand::Constant(_) | Operand::Varies(Exact::Quantized(_) | Exact::Wide(_)) => return None,
        };
        if *all.get_or_insert(codes) != codes {
            return None;
        }
    }
    all
}

/// An operand as the node takes it, of one number for each integer of 8 bits or of all elements.
fn input(cx: &mut Cx<'_>, of: Operand, tables: bool) -> Outcome<Value> {
    let x = match of {
        Operand::Asis(value) => return Ok(value),
        Operand::Constant(x) if tables => cx.reshape(x, &[])?,
        Operand::Constant(x) => x,
        Operand::Varies(Exact::Quantized(of)) if tables => codes(cx, &of)?,
        Operand::Varies(Exact::Table(table)) if tables => table.values,
        Operand::Varies(exact) => cx.wide(&exact)?,
    };
    Ok(cx.plain(x))
}

impl Cx<'_> {
    /// What a float of 32 bits is rounded from, if it is computed from quantised tensors.
    pub(crate) fn exact(&mut self, x: ValueId) -> Outcome<Option<Exact>> {
        if let Some(known) = self.quant.exact.get(&x) {
            return Ok(Some(known.clone()));
        }
        if let Some(of) = self.quant.values.get(&x) {
            return Ok(Some(Exact::Quantized(of.clone())));
        }
        if let Some(both) = self.quant.added.get(&x).cloned() {
            let [a, b] = [self.numbers(&both[0], DType::F64)?, self.numbers(&both[1], DType::F64)?];
            return Ok(Some(Exact::Wide(self.binary(BinaryOp::Add, a, b)?)));
        }
        let Some(of) = self.quant.sums.get(&x).cloned() else { return Ok(None) };
        Ok(Some(Exact::Wide(self.scaled(&of, DType::F64)?)))
    }

    /// All elements in floats of 64 bits.
    pub(crate) fn wide(&mut self, exact: &Exact) -> Outcome<ValueId> {
        match exact {
            Exact::Quantized(of) => self.numbers(of, DType::F64),
            Exact::Wide(x) => Ok(*x),
            Exact::Table(table) => self.looked_up(table.values, table.codes),
        }
    }

    /// The element of a table for each integer of 8 bits.
    pub(crate) fn looked_up(&mut self, table: ValueId, codes: ValueId) -> Outcome<ValueId> {
        let unsigned = self.cast(codes, DType::U8)?;
        self.op("take", &[table, unsigned], &[("axis", AttrValue::Int(int(0)))])
    }
}

/// What each integer of 8 bits stands for.
fn codes(cx: &mut Cx<'_>, of: &Quantized) -> Outcome<ValueId> {
    let number = |code: u8| if of.elem == Elem::Int8 { i64::from(code as i8) } else { i64::from(code) };
    let values: Vec<f64> =
        (0..=u8::MAX).map(|code| (number(code) - of.zero[0]) as f64 * f64::from(of.scale[0])).collect();
    table(cx, DType::F64, &values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operator_that_is_listed_is_imported() {
        for name in ELEMENTS.iter().chain(ROWS) {
            assert!(crate::ops::lookup("", name).is_some(), "{name} is none of ONNX's operators here");
        }
    }
}
