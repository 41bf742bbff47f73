//! The operators of the schema, each with how it is converted, by families.

mod arithmetic;
mod conv;
mod element;
mod names;
mod norm;
mod pool;
mod reduce;
mod resize;
mod shape;

use tenfold_ir::DType;
use tenfold_ir::op::BinaryOp;
use tenfold_ir::relax::ValueId;

use crate::walk::{Call, Cx, Outcome, Quant, fault};

/// The results of an operator.
pub(crate) type Results = Outcome<Vec<ValueId>>;
/// How an operator becomes operators of the language.
pub(crate) type Convert = for<'m> fn(&mut Cx<'m>, &Call<'m>) -> Results;

/// An operator of the schema.
#[derive(Clone, Copy)]
pub(crate) struct TfliteOp {
    pub(crate) name: &'static str,
    pub(crate) convert: Option<Convert>,
}

/// Names and converters of a family.
type Family = &'static [(&'static str, Convert)];

const FAMILIES: &[Family] = &[
    conv::FAMILY,
    pool::FAMILY,
    arithmetic::FAMILY,
    element::FAMILY,
    norm::FAMILY,
    reduce::FAMILY,
    resize::FAMILY,
    shape::FAMILY,
];

/// The operator of a number.
pub(crate) fn of(code: i32) -> Option<TfliteOp> {
    let name = names::NAMES.get(usize::try_from(code).ok()?)?;
    let known = FAMILIES.iter().copied().flatten().find(|(known, _)| known == name);
    Some(TfliteOp { name, convert: known.map(|(_, convert)| *convert) })
}

/// All of them.
pub(crate) fn all() -> impl Iterator<Item = TfliteOp> {
    (0..names::NAMES.len() as i32).filter_map(of)
}

/// What elements are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Of 32 bits.
    Float,
    /// Quantised, of 8 bits with a sign.
    Int8,
}

/// What the elements of an operand are, if they can be computed with.
fn kind(call: &Call<'_>, i: usize) -> Outcome<Kind> {
    let tensor = call.tensor(i)?;
    match crate::walk::dtype(tensor.code) {
        Some(DType::F32) => Ok(Kind::Float),
        Some(DType::I8) => Ok(Kind::Int8),
        other => {
            let found = other.map_or(format!("type {} of the schema", tensor.code), |dtype| dtype.to_string());
            fault(format!("the elements of `{}` must be f32 or i8 here, found {found}", tensor.name))
        }
    }
}

/// What elements are, if those of all these operands are the same.
fn common(call: &Call<'_>, operands: &[usize]) -> Outcome<Kind> {
    let first = kind(call, operands[0])?;
    for i in &operands[1..] {
        if kind(call, *i)? != first {
            let names = [call.tensor(operands[0])?.name, call.tensor(*i)?.name];
            return fault(format!("the elements of `{}` and `{}` must have one type", names[0], names[1]));
        }
    }
    Ok(first)
}

/// A function that an operator applies to its results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Activation {
    None,
    Relu,
    ReluN1To1,
    Relu6,
}

impl Activation {
    /// The one with a number of the schema.
    fn of(code: u8) -> Outcome<Activation> {
        match code {
            0 => Ok(Activation::None),
            1 => Ok(Activation::Relu),
            2 => Ok(Activation::ReluN1To1),
            3 => Ok(Activation::Relu6),
            4 => fault("its activation TANH is not supported; RELU, RELU_N1_TO_1 and RELU6 are"),
            other => fault(format!("its activation has the number {other}, which is none that is supported")),
        }
    }

    /// The least and the greatest value, where there are such.
    fn bounds(self) -> (Option<f32>, Option<f32>) {
        match self {
            Activation::None => (None, None),
            Activation::Relu => (Some(0.0), None),
            Activation::ReluN1To1 => (Some(-1.0), Some(1.0)),
            Activation::Relu6 => (Some(0.0), Some(6.0)),
        }
    }

    /// Floats within the bounds.
    fn floats(self, cx: &mut Cx<'_>, x: ValueId) -> Outcome<ValueId> {
        let (low, high) = self.bounds();
        let mut x = x;
        for (op, bound) in [(BinaryOp::Max, low), (BinaryOp::Min, high)] {
            if let Some(bound) = bound {
                let bound = cx.float(bound);
                x = cx.binary(op, x, bound)?;
            }
        }
        Ok(x)
    }

    /// The integers that the bounds are.
    fn integers(self, of: Quant) -> (i32, i32) {
        let (low, high) = self.bounds();
        let place = |bound: f32| of.zero.saturating_add((bound / of.scale).round() as i32);
        let least = low.map_or(-128, |low| place(low).clamp(-128, 127));
        (least, high.map_or(127, |high| place(high).clamp(-128, 127)))
    }
}

/// Axes counted from the front, sorted, each once.
fn axes(given: &[i64], rank: usize) -> Outcome<Vec<usize>> {
    let mut all = given.iter().map(|axis| axis_of(*axis, rank)).collect::<Outcome<Vec<_>>>()?;
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

/// An axis counted from the front.
fn axis_of(axis: i64, rank: usize) -> Outcome<usize> {
    let counted = if axis < 0 { axis.saturating_add(rank as i64) } else { axis };
    match usize::try_from(counted) {
        Ok(axis) if axis < rank => Ok(axis),
        _ => fault(format!("axis {axis} is outside of rank {rank}")),
    }
}
