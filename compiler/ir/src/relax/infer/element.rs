//! dtypes of elementwise operators: which each takes and gives.

use super::{scalar, show};
use crate::DType;
use crate::arith::Prover;
use crate::op::{Activation, ElementOp, Takes, UnaryOp};
use crate::ops::{At, OpError, OpErrorKind, computed, count};
use crate::relax::TensorType;
use crate::relax::infer::shape::broadcast;

fn expected(takes: Takes) -> &'static str {
    match takes {
        Takes::Number => "numbers",
        Takes::Float => "floats",
        Takes::Integer => "integers",
        Takes::BoolOrInteger => "bools or integers",
    }
}

fn help(takes: Takes) -> &'static str {
    match takes {
        Takes::Number => "convert first: `x as u8`",
        Takes::Float => "convert first: `x as f32`",
        Takes::Integer => "convert first: `x as i32`",
        Takes::BoolOrInteger => "convert first: `x as i32`, or compare: `x != 0.0`",
    }
}

/// Number of operands of an elementwise operator.
pub(crate) fn arity(op: ElementOp) -> usize {
    match op {
        ElementOp::Unary(_) | ElementOp::Activation(_) | ElementOp::Cast(_) | ElementOp::NearestInt => 1,
        ElementOp::Binary(_) | ElementOp::Compare(_) | ElementOp::Prelu => 2,
        ElementOp::Select | ElementOp::Clip | ElementOp::QMultiplyShift => 3,
    }
}

/// The dtypes that an operator takes; none if it takes all.
fn takes(op: ElementOp) -> Option<Takes> {
    match op {
        ElementOp::Unary(op) => Some(op.takes()),
        ElementOp::Binary(op) => Some(op.takes()),
        ElementOp::Activation(Activation::Relu | Activation::Relu6) | ElementOp::Clip => Some(Takes::Number),
        ElementOp::Activation(_) | ElementOp::Prelu | ElementOp::NearestInt => Some(Takes::Float),
        ElementOp::Compare(_) | ElementOp::Cast(_) | ElementOp::Select => None,
        ElementOp::QMultiplyShift => Some(Takes::Integer),
    }
}

/// The dtype that an elementwise operator gives for scalars of these dtypes: the rule that closures use.
pub fn element_dtype(op: ElementOp, args: &[DType]) -> Result<DType, OpError> {
    let args: Vec<TensorType> = args.iter().map(|dtype| scalar(*dtype)).collect();
    result_dtype(op, &args)
}

/// dtype of the result, with every operand's dtype checked.
fn result_dtype(op: ElementOp, args: &[TensorType]) -> Result<DType, OpError> {
    if args.len() != arity(op) {
        let message = format!("expected {}, found {}", count(arity(op), "operand"), args.len());
        return Err(OpError::new(At::Call, OpErrorKind::Arity, message));
    }
    if !matches!(op, ElementOp::Cast(_) | ElementOp::Select) {
        args.iter().enumerate().try_for_each(|(i, arg)| computed(i, arg))?;
    }
    let first = if op == ElementOp::Select { check_condition(&args[0])? } else { 0 };
    let takes = takes(op);
    for (i, arg) in args.iter().enumerate().skip(first) {
        if let Some(takes) = takes.filter(|takes| !takes.holds(arg.dtype)) {
            let message = format!("expected {}, found `{}`", expected(takes), show(arg));
            let other = args[first..].iter().map(|arg| arg.dtype).find(|dtype| takes.holds(*dtype) && !dtype.is_bool());
            let help = other.map_or(help(takes).to_string(), |other| format!("convert first: `x as {other}`"));
            return Err(OpError::new(At::Arg(i), OpErrorKind::DType, message).help(help));
        }
        if op == ElementOp::QMultiplyShift && arg.dtype != DType::I32 {
            let message = format!("expected `i32`, found `{}`", show(arg));
            return Err(OpError::new(At::Arg(i), OpErrorKind::DType, message).help("convert first: `x as i32`"));
        }
        if op == ElementOp::NearestInt && !matches!(arg.dtype, DType::F32 | DType::F64) {
            let message = format!("expected `f32` or `f64`, found `{}`", show(arg));
            return Err(OpError::new(At::Arg(i), OpErrorKind::DType, message).help("convert first: `x as f32`"));
        }
        same_dtype(first, i, args)?;
    }
    let dtype = args[first].dtype;
    Ok(match op {
        ElementOp::Compare(_) | ElementOp::Unary(UnaryOp::IsNan | UnaryOp::IsInf | UnaryOp::IsFinite) => DType::Bool,
        ElementOp::Cast(to) => cast(dtype, to)?,
        ElementOp::NearestInt => DType::I32,
        ElementOp::Unary(_)
        | ElementOp::Binary(_)
        | ElementOp::Activation(_)
        | ElementOp::Select
        | ElementOp::Clip
        | ElementOp::Prelu
        | ElementOp::QMultiplyShift => dtype,
    })
}

/// The first operand of `select` is a bool; the rest starts at 1.
fn check_condition(condition: &TensorType) -> Result<usize, OpError> {
    if condition.dtype.is_bool() {
        return Ok(1);
    }
    let message = format!("expected a bool, found `{}`", show(condition));
    Err(OpError::new(At::Arg(0), OpErrorKind::DType, message).help("compare first: `x != 0`"))
}

/// An error if operand `i` has another dtype than operand `first`.
pub(super) fn same_dtype(first: usize, i: usize, args: &[TensorType]) -> Result<(), OpError> {
    let (a, b) = (&args[first], &args[i]);
    if a.dtype == b.dtype {
        return Ok(());
    }
    let found = if b.shape.is_empty() { String::new() } else { format!(" in `{}`", show(b)) };
    let message = format!("expected `{}`, found `{}`{found}", a.dtype, b.dtype);
    Err(OpError::new(At::Arg(i), OpErrorKind::DType, message)
        .also(At::Arg(first), format!("this is `{}`", show(a)))
        .help(format!("convert it: `as {}`; nothing converts by itself", a.dtype)))
}

/// A cast to bool is none in Rust either.
fn cast(from: DType, to: DType) -> Result<DType, OpError> {
    if to.is_bool() && !from.is_bool() {
        let message = format!("`{from}` does not convert to `bool`");
        return Err(OpError::new(At::Arg(0), OpErrorKind::DType, message).help("compare instead: `x != 0`"));
    }
    Ok(to)
}

/// Type of an elementwise operator's result.
pub(super) fn result(prover: &Prover, op: ElementOp, args: &[TensorType]) -> Result<TensorType, OpError> {
    let dtype = result_dtype(op, args)?;
    let shapes: Vec<_> = args.iter().map(|arg| arg.shape.as_slice()).collect();
    Ok(TensorType { dtype, shape: broadcast(prover, &shapes)? })
}
