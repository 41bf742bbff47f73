//! dtypes of elementwise operators: which each takes and gives.

use super::{scalar, show};
use crate::DType;
use crate::arith::Prover;
use crate::op::{Activation, BinaryOp, ElementOp, UnaryOp};
use crate::ops::{At, OpError, OpErrorKind, count};
use crate::relax::TensorType;
use crate::relax::infer::shape::broadcast;

/// Sets of dtypes that an operator takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Any,
    Number,
    Float,
    Integer,
    BoolOrInteger,
}

impl Class {
    fn takes(self, dtype: DType) -> bool {
        match self {
            Class::Any => true,
            Class::Number => !dtype.is_bool(),
            Class::Float => dtype.is_float(),
            Class::Integer => dtype.is_int(),
            Class::BoolOrInteger => !dtype.is_float(),
        }
    }

    fn expected(self) -> &'static str {
        match self {
            Class::Any => "any dtype",
            Class::Number => "numbers",
            Class::Float => "floats",
            Class::Integer => "integers",
            Class::BoolOrInteger => "bools or integers",
        }
    }

    fn help(self) -> &'static str {
        match self {
            Class::Any => "",
            Class::Number => "convert first: `x as u8`",
            Class::Float => "convert first: `x as f32`",
            Class::Integer => "convert first: `x as i32`",
            Class::BoolOrInteger => "convert first: `x as i32`, or compare: `x != 0.0`",
        }
    }
}

/// Number of operands of an elementwise operator.
pub(crate) fn arity(op: ElementOp) -> usize {
    match op {
        ElementOp::Unary(_) | ElementOp::Activation(_) | ElementOp::Cast(_) => 1,
        ElementOp::Binary(_) | ElementOp::Compare(_) | ElementOp::Prelu => 2,
        ElementOp::Select | ElementOp::Clip | ElementOp::QMultiplyShift => 3,
    }
}

fn class(op: ElementOp) -> Class {
    match op {
        ElementOp::Unary(op) => unary_class(op),
        ElementOp::Binary(op) => match op {
            BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::Mul
            | BinaryOp::Div
            | BinaryOp::Rem
            | BinaryOp::DivEuclid
            | BinaryOp::RemEuclid
            | BinaryOp::Pow
            | BinaryOp::Min
            | BinaryOp::Max => Class::Number,
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => Class::BoolOrInteger,
            BinaryOp::Shl | BinaryOp::Shr => Class::Integer,
            BinaryOp::Atan2 => Class::Float,
        },
        ElementOp::Activation(Activation::Relu | Activation::Relu6) | ElementOp::Clip => Class::Number,
        ElementOp::Activation(_) | ElementOp::Prelu => Class::Float,
        ElementOp::Compare(_) | ElementOp::Cast(_) | ElementOp::Select => Class::Any,
        ElementOp::QMultiplyShift => Class::Integer,
    }
}

fn unary_class(op: UnaryOp) -> Class {
    use UnaryOp as U;
    match op {
        U::Neg | U::Abs | U::Sign | U::Square => Class::Number,
        U::Not => Class::BoolOrInteger,
        U::Floor | U::Ceil | U::Round | U::Trunc | U::Sqrt | U::Rsqrt | U::Reciprocal => Class::Float,
        U::Exp | U::Exp2 | U::Expm1 | U::Log | U::Log2 | U::Log10 | U::Log1p => Class::Float,
        U::Sin | U::Cos | U::Tan | U::Asin | U::Acos | U::Atan => Class::Float,
        U::Sinh | U::Cosh | U::Tanh | U::Asinh | U::Acosh | U::Atanh => Class::Float,
        U::Erf | U::Sigmoid | U::IsNan | U::IsInf | U::IsFinite => Class::Float,
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
    let first = if op == ElementOp::Select { check_condition(&args[0])? } else { 0 };
    let class = class(op);
    for (i, arg) in args.iter().enumerate().skip(first) {
        if !class.takes(arg.dtype) {
            let message = format!("expected {}, found `{}`", class.expected(), show(arg));
            return Err(OpError::new(At::Arg(i), OpErrorKind::DType, message).help(class.help()));
        }
        if op == ElementOp::QMultiplyShift && arg.dtype != DType::I32 {
            let message = format!("expected `i32`, found `{}`", show(arg));
            return Err(OpError::new(At::Arg(i), OpErrorKind::DType, message).help("convert first: `x as i32`"));
        }
        same_dtype(first, i, args)?;
    }
    let dtype = args[first].dtype;
    Ok(match op {
        ElementOp::Compare(_) | ElementOp::Unary(UnaryOp::IsNan | UnaryOp::IsInf | UnaryOp::IsFinite) => DType::Bool,
        ElementOp::Cast(to) => cast(dtype, to)?,
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
