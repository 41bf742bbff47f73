//! Shape rules: the type of a binding's result from its op and the types of its operands.
//!
//! The builder asks them at emission and the verifier asks them again. They know nothing of names in the user's call:
//! operands are counted as the op counts them.

mod element;
mod layout;
mod linear;
mod shape;
mod window;

use crate::DType;
use crate::arith::{IntExpr, Prover};
use crate::op::ReduceOp;
use crate::ops::{At, OpError, OpErrorKind, computed, count, non_negative, show_type};
use crate::relax::{Op, TensorType, Type, dim};

pub use element::element_dtype;
pub use shape::broadcast;

/// The result type of `op` on operands of types `args`; `None` where the op does not determine it (a constant, or what
/// the regions of an `if` hand back).
pub fn infer(prover: &Prover, op: &Op, args: &[Type]) -> Result<Option<Type>, OpError> {
    refuse_stored(op, args)?;
    let tensors = || tensors(args);
    let one = || tensors().and_then(|t| exactly::<1>(&t).map(|[x]| x.clone()));
    let ty = match op {
        Op::Const(_) => {
            exactly::<0>(&tensors()?)?;
            return Ok(None);
        }
        Op::Scalar(value) => scalar(value.dtype),
        Op::IndexValue { dtype, .. } => scalar(*dtype),
        Op::Element(element) => element::result(prover, *element, &tensors()?)?,
        Op::Reduce { op, axes, keepdims } => reduce(*op, axes, *keepdims, &one()?)?,
        Op::ArgReduce { axis, keepdims, .. } => arg_reduce(prover, *axis, *keepdims, &one()?)?,
        Op::MatMul => linear::matmul(prover, exactly::<2>(&tensors()?)?)?,
        Op::Softmax { axis, .. } => linear::softmax(*axis, one()?)?,
        Op::BatchNorm { axis, .. } => linear::batch_norm(prover, *axis, &tensors()?)?,
        Op::LayerNorm { axis, .. } => linear::layer_norm(prover, *axis, &tensors()?)?,
        Op::Reshape { shape } => shape::reshape(prover, shape, &one()?)?,
        Op::Transpose { perm } => shape::transpose(perm, &one()?)?,
        Op::BroadcastTo { shape } => shape::broadcast_to(prover, shape, &one()?)?,
        Op::Concat { axis } => shape::concat(prover, *axis, &tensors()?)?,
        Op::Slice { axes, drop } => shape::slice(prover, axes, drop, &one()?)?,
        Op::SliceUpdate { axes, drop } => shape::slice_update(prover, axes, drop, exactly::<2>(&tensors()?)?)?,
        Op::Pad { mode, before, after } => shape::pad(prover, *mode, before, after, &tensors()?)?,
        Op::Conv { window, group, layout } => layout::conv(prover, window, *group, *layout, &tensors()?)?,
        Op::Pool { window, ceil_mode, layout, .. } => layout::pool(prover, window, *ceil_mode, *layout, &one()?)?,
        Op::Full { shape } => full(prover, shape, &one()?)?,
        Op::Arange { extent, dtype, .. } => {
            non_negative(prover, extent, At::Call)?;
            TensorType { dtype: *dtype, shape: vec![extent.clone()] }
        }
        Op::CallTir { results, .. } => return Ok(Some(one_or_tuple(results))),
        Op::CallFn { result, .. } => return Ok(Some(result.clone())),
        Op::Tuple => return Ok(Some(Type::Tuple(args.to_vec()))),
        Op::TupleGet(index) => return component(*index, args).map(Some),
        Op::BindIndex(_) => bind_index(&one()?)?,
        Op::MatchShape { shape } => return match_shape(shape, args).map(Some),
        Op::CallDps { results, .. } => {
            tensors()?;
            return Ok(Some(one_or_tuple(results)));
        }
        Op::CallPacked { updates, .. } => return updated(updates, &tensors()?).map(Some),
        Op::If => {
            condition(exactly::<1>(&tensors()?)?)?;
            return Ok(None);
        }
        Op::For { .. } | Op::While => return Ok(Some(one_or_tuple_of(args.to_vec()))),
        Op::ShapeOf => return Ok(Some(Type::Shape(one()?.shape.len()))),
        Op::Shape { dims } => {
            exactly::<0>(&tensors()?)?;
            return Ok(Some(Type::Shape(dims.len())));
        }
        Op::ShapeToTensor => shape_to_tensor(args)?,
        Op::TensorToShape => return tensor_to_shape(&one()?).map(Some),
        Op::Later { result, .. } => return Ok(Some(result.clone())),
        Op::Assert { .. } => {
            exactly::<0>(&tensors()?)?;
            return Ok(Some(Type::Tuple(Vec::new())));
        }
        Op::StoreState { .. } => {
            one()?;
            return Ok(Some(Type::Tuple(Vec::new())));
        }
    };
    Ok(Some(Type::Tensor(ty)))
}

/// An error if an op computes with elements that are stored only: those are moved, chosen and converted. Elementwise
/// operators have it in their own rule, which closures ask too.
fn refuse_stored(op: &Op, args: &[Type]) -> Result<(), OpError> {
    let computes = matches!(
        op,
        Op::Reduce { .. }
            | Op::ArgReduce { .. }
            | Op::MatMul
            | Op::Softmax { .. }
            | Op::BatchNorm { .. }
            | Op::LayerNorm { .. }
            | Op::Conv { .. }
            | Op::Pool { .. }
    );
    let mut tensors = args.iter().enumerate().filter_map(|(i, ty)| Some((i, ty.tensor()?)));
    if computes { tensors.try_for_each(|(i, tensor)| computed(i, tensor)) } else { Ok(()) }
}

/// The type of a scalar.
fn scalar(dtype: DType) -> TensorType {
    TensorType { dtype, shape: Vec::new() }
}

/// All operands as tensors.
fn tensors(args: &[Type]) -> Result<Vec<TensorType>, OpError> {
    args.iter()
        .enumerate()
        .map(|(i, ty)| match ty {
            Type::Tensor(tensor) => Ok(tensor.clone()),
            Type::Shape(_) => {
                let message = format!("expected a tensor, found `{}`", show_type(ty));
                Err(OpError::new(At::Arg(i), OpErrorKind::Operand, message)
                    .help("`shape_to_tensor` gives a shape's extents as a tensor"))
            }
            Type::Tuple(_) => {
                let message = format!("expected a tensor, found `{}`", show_type(ty));
                Err(OpError::new(At::Arg(i), OpErrorKind::Operand, message)
                    .help("take the tuple apart: `let (a, b) = …;`"))
            }
        })
        .collect()
}

/// Exactly `N` operands.
fn exactly<const N: usize>(args: &[TensorType]) -> Result<&[TensorType; N], OpError> {
    args.try_into().map_err(|_| {
        let message = format!("expected {}, found {}", count(N, "operand"), args.len());
        OpError::new(At::Call, OpErrorKind::Arity, message)
    })
}

/// One result as itself, several as a tuple.
fn one_or_tuple(results: &[TensorType]) -> Type {
    match results {
        [one] => Type::Tensor(one.clone()),
        several => Type::Tuple(several.iter().cloned().map(Type::Tensor).collect()),
    }
}

/// One value as itself, several or none as a tuple.
pub(super) fn one_or_tuple_of(mut types: Vec<Type>) -> Type {
    if types.len() == 1 { types.remove(0) } else { Type::Tuple(types) }
}

/// Component of a tuple.
fn component(index: usize, args: &[Type]) -> Result<Type, OpError> {
    let fail = |message| Err(OpError::new(At::Arg(0), OpErrorKind::Operand, message));
    match args {
        [Type::Tuple(items)] => match items.get(index) {
            Some(item) => Ok(item.clone()),
            None => fail(format!("component {index} of a tuple of {}", items.len())),
        },
        [other @ (Type::Tensor(_) | Type::Shape(_))] => fail(format!("expected a tuple, found `{}`", show_type(other))),
        several => fail(format!("expected 1 operand, found {}", several.len())),
    }
}

/// An error about an axis that is not there.
pub(crate) fn axis_error(at: At, axis: usize, x: &TensorType) -> OpError {
    let message = format!("`{}` has no axis {axis}: its rank is {}", show(x), x.shape.len());
    OpError::new(at, OpErrorKind::Axis, message)
}

/// The type as the user writes it.
pub(crate) fn show(ty: &TensorType) -> String {
    crate::ops::show_tensor(ty)
}

/// The shape after `axes` are reduced.
fn reduced(axes: &[usize], keepdims: bool, x: &TensorType) -> Result<Vec<IntExpr>, OpError> {
    if let Some(axis) = axes.iter().find(|axis| **axis >= x.shape.len()) {
        return Err(axis_error(At::Arg(0), *axis, x));
    }
    if !axes.is_sorted_by(|a, b| a < b) {
        return Err(OpError::new(At::Call, OpErrorKind::Axis, "an axis is named twice"));
    }
    let dims = x.shape.iter().enumerate();
    Ok(dims
        .filter_map(|(axis, dim)| match (axes.contains(&axis), keepdims) {
            (false, _) => Some(dim.clone()),
            (true, true) => Some(dim::int(1)),
            (true, false) => None,
        })
        .collect())
}

fn reduce(op: ReduceOp, axes: &[usize], keepdims: bool, x: &TensorType) -> Result<TensorType, OpError> {
    let fits = match op {
        ReduceOp::Any | ReduceOp::All => x.dtype.is_bool(),
        ReduceOp::Mean => x.dtype.is_float(),
        ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Max | ReduceOp::Min => !x.dtype.is_bool(),
    };
    if !fits {
        let (expected, help) = match op {
            ReduceOp::Any | ReduceOp::All => ("bools", "compare first: `x != 0`"),
            ReduceOp::Mean => ("floats", "convert first: `x as f32`"),
            ReduceOp::Sum | ReduceOp::Prod => ("numbers", "convert first: `x as i32`"),
            ReduceOp::Max | ReduceOp::Min => ("numbers", "of bools, `any` and `all` are the extremes"),
        };
        let message = format!("expected {expected}, found `{}`", show(x));
        return Err(OpError::new(At::Arg(0), OpErrorKind::DType, message).help(help));
    }
    Ok(TensorType { dtype: x.dtype, shape: reduced(axes, keepdims, x)? })
}

fn arg_reduce(prover: &Prover, axis: Option<usize>, keepdims: bool, x: &TensorType) -> Result<TensorType, OpError> {
    if x.dtype.is_bool() {
        let message = format!("expected numbers, found `{}`", show(x));
        return Err(OpError::new(At::Arg(0), OpErrorKind::DType, message).help("convert first: `x as u8`"));
    }
    let axes: Vec<usize> = axis.map_or_else(|| (0..x.shape.len()).collect(), |axis| vec![axis]);
    let shape = reduced(&axes, keepdims, x)?;
    for axis in axes {
        non_empty(prover, x, axis)?;
    }
    Ok(TensorType { dtype: DType::I64, shape })
}

/// An error unless axis `axis` of operand 0 is proven to have an element.
fn non_empty(prover: &Prover, x: &TensorType, axis: usize) -> Result<(), OpError> {
    let extent = &x.shape[axis];
    if dim::at_most(prover, &dim::int(1), extent) {
        return Ok(());
    }
    if dim::as_int(extent).is_some() {
        let message = format!("axis {axis} of `{}` has no element", show(x));
        return Err(OpError::new(At::Arg(0), OpErrorKind::Range, message).help("nothing has no extreme"));
    }
    let message = format!("axis {axis} of `{}` is not proven non-empty: `{extent}` may be 0", show(x));
    Err(OpError::new(At::Arg(0), OpErrorKind::Range, message).help(format!("state a fact: `dims({extent} >= 1)`")))
}

fn full(prover: &Prover, shape: &[IntExpr], value: &TensorType) -> Result<TensorType, OpError> {
    if !value.shape.is_empty() {
        let message = format!("expected a scalar, found `{}`", show(value));
        return Err(
            OpError::new(At::Arg(0), OpErrorKind::Rank, message).help("`broadcast_to(x, shape)` repeats a tensor")
        );
    }
    shape.iter().try_for_each(|extent| non_negative(prover, extent, At::Call))?;
    Ok(TensorType { dtype: value.dtype, shape: shape.to_vec() })
}

fn bind_index(value: &TensorType) -> Result<TensorType, OpError> {
    if value.shape.is_empty() && value.dtype.is_int() {
        return Ok(value.clone());
    }
    let message = format!("expected a scalar integer, found `{}`", show(value));
    Err(OpError::new(At::Arg(0), OpErrorKind::DType, message).help("write `x as i64`, or index the tensor first"))
}

fn match_shape(shape: &[IntExpr], args: &[Type]) -> Result<Type, OpError> {
    let (rank, ty) = if let [Type::Shape(rank)] = args {
        (*rank, Type::Shape(*rank))
    } else {
        let tensors = tensors(args)?;
        let [x] = exactly::<1>(&tensors)?;
        (x.shape.len(), Type::Tensor(TensorType { dtype: x.dtype, shape: shape.to_vec() }))
    };
    if shape.len() == rank {
        return Ok(ty);
    }
    let message = format!("expected rank {}, found `{}`", shape.len(), show_type(&args[0]));
    Err(OpError::new(At::Arg(0), OpErrorKind::Rank, message).help("a shape names every axis"))
}

/// The new values of the operands that a call updates.
fn updated(updates: &[usize], args: &[TensorType]) -> Result<Type, OpError> {
    let of = |i: &usize| {
        let message = || format!("updates operand {i} of {}", args.len());
        args.get(*i).cloned().map(Type::Tensor).ok_or_else(|| OpError::new(At::Call, OpErrorKind::Arity, message()))
    };
    updates.iter().map(of).collect::<Result<Vec<_>, _>>().map(one_or_tuple_of)
}

/// A condition is one bool.
fn condition([cond]: &[TensorType; 1]) -> Result<(), OpError> {
    if cond.dtype.is_bool() && cond.shape.is_empty() {
        return Ok(());
    }
    let message = format!("expected a scalar `bool`, found `{}`", show(cond));
    Err(OpError::new(At::Arg(0), OpErrorKind::DType, message).help("`any` and `all` make one bool of many"))
}

fn shape_to_tensor(args: &[Type]) -> Result<TensorType, OpError> {
    match args {
        [Type::Shape(rank)] => Ok(TensorType { dtype: DType::I64, shape: vec![dim::int(*rank as i64)] }),
        [other] => {
            let message = format!("expected a shape, found `{}`", show_type(other));
            Err(OpError::new(At::Arg(0), OpErrorKind::Operand, message).help("`shape_of` gives a tensor's shape"))
        }
        several => {
            let message = format!("expected 1 operand, found {}", several.len());
            Err(OpError::new(At::Call, OpErrorKind::Arity, message))
        }
    }
}

fn tensor_to_shape(x: &TensorType) -> Result<Type, OpError> {
    if let ([rank], DType::I64) = (x.shape.as_slice(), x.dtype)
        && let Some(rank) = dim::as_int(rank).and_then(|n| usize::try_from(n).ok())
    {
        return Ok(Type::Shape(rank));
    }
    let message = format!("expected `Tensor<i64, R>` with a fixed `R`, found `{}`", show(x));
    Err(OpError::new(At::Arg(0), OpErrorKind::DType, message).help("a shape's rank is known at build time"))
}
