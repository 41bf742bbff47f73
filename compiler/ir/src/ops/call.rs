//! Reading a call: operands and attributes by position and name, each with its error.

use super::check::non_negative;
use super::error::{At, OpError, OpErrorKind, count, nearest, show_shape, show_tensor, show_type};
use super::{Arg, AttrValue, Literal, OpCall, OpDef};
use crate::DType;
use crate::arith::IntExpr;
use crate::op::Real;
use crate::relax::{Builder, TensorType, Type, ValueId, dim, literal_scalar};

/// Operators that hold elements of any dtype, and so also of those that are stored only.
const FILLING: [&str; 4] = ["zeros", "ones", "full", "bit_cast"];

/// An error unless the number of operands, the attributes' names and the turbofish are those of the operator.
pub fn check_call(def: &OpDef, call: &OpCall) -> Result<(), OpError> {
    let (least, most) = def.arity;
    let found = call.args.len();
    if found < least || found > most {
        let expected = if least == most {
            count(least, "operand")
        } else if most == usize::MAX {
            format!("{} or more", count(least, "operand"))
        } else {
            format!("{least} to {}", count(most, "operand"))
        };
        let message = format!("`{}` takes {expected}, found {found}", def.name);
        let mut help = match (def.name, found) {
            // In Rust these are methods of two numbers.
            ("max" | "min", 2) => format!("`{}imum(x, y)` compares elements; here write `{}`", def.name, def.usage()),
            _ => format!("write `{}`", def.usage()),
        };
        if let (true, [first, ..]) = (found > most, def.attrs) {
            help += &format!("; attributes are named: `{} = …`", first.name);
        }
        return Err(OpError::new(At::Call, OpErrorKind::Arity, message).help(help));
    }
    for name in call.attrs.keys() {
        if !def.attrs.iter().any(|attr| attr.name == name) {
            return Err(unknown_attr(def, name));
        }
    }
    if call.dtype.is_some() && !def.typed {
        let message = format!("`{}` takes its dtype from its operands, found a turbofish", def.name);
        return Err(OpError::new(At::Call, OpErrorKind::Attribute, message).help("convert with `as`"));
    }
    match call.dtype {
        Some(dtype) if dtype.is_stored() && !FILLING.contains(&def.name) => {
            let message = format!("`{dtype}` is stored, and `{}` computes its elements", def.name);
            let help = format!("compute in another dtype, and convert: `as {dtype}`");
            Err(OpError::new(At::Call, OpErrorKind::DType, message).help(help))
        }
        Some(_) | None => Ok(()),
    }
}

fn unknown_attr(def: &OpDef, name: &str) -> OpError {
    let names = def.attrs.iter().map(|attr| attr.name);
    let message = format!("`{}` has no attribute `{name}`", def.name);
    let help = match nearest(name, names.clone()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if def.attrs.is_empty() => "it has none".to_string(),
        None => format!("it has {}", names.map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")),
    };
    OpError::new(At::Attr(name.to_string()), OpErrorKind::Attribute, message).help(help)
}

/// What an operand is, for texts.
fn describe(arg: &Arg) -> String {
    match arg {
        Arg::Value(_) => "a tensor".to_string(),
        Arg::Shape(shape) => format!("the shape `{}`", show_shape(shape)),
        Arg::Index(expr) => format!("the index value `{expr}`"),
        Arg::List(_) => "a list of tensors".to_string(),
        Arg::Literal(Literal::Int(value)) => format!("the literal `{value}`"),
        Arg::Literal(Literal::Float(value)) => format!("the literal `{value:?}`"),
    }
}

fn wrong_sort(i: usize, expected: &str, arg: &Arg) -> OpError {
    let message = format!("expected {expected}, found {}", describe(arg));
    OpError::new(At::Arg(i), OpErrorKind::Operand, message)
}

/// All operands as values. Literals take the dtype of the first operand after `skip` that has one.
pub(super) fn values(b: &mut Builder, call: &OpCall, skip: usize) -> Result<Vec<ValueId>, OpError> {
    let met = call.args.iter().skip(skip).find_map(|arg| match arg {
        Arg::Value(value) => Some(b.tensor(*value).dtype),
        Arg::Shape(_) | Arg::Index(_) | Arg::List(_) | Arg::Literal(_) => None,
    });
    (0..call.args.len()).map(|i| value_meeting(b, call, i, met)).collect()
}

/// Operand `i` as a value.
pub(super) fn value(b: &mut Builder, call: &OpCall, i: usize) -> Result<ValueId, OpError> {
    value_meeting(b, call, i, None)
}

/// Operand `i` as a value; a literal takes dtype `met`, or is an `f32` if it is a float and meets nothing.
pub(super) fn value_meeting(b: &mut Builder, call: &OpCall, i: usize, met: Option<DType>) -> Result<ValueId, OpError> {
    match &call.args[i] {
        Arg::Value(value) => match b.ty(*value) {
            Type::Tensor(_) => Ok(*value),
            tuple @ (Type::Tuple(_) | Type::Shape(_)) => {
                let message = format!("expected a tensor, found `{}`", show_type(tuple));
                Err(OpError::new(At::Arg(i), OpErrorKind::Operand, message)
                    .help("take the tuple apart: `let (a, b) = …;`"))
            }
        },
        Arg::Literal(literal) => {
            let dtype = match (met, literal) {
                (Some(dtype), _) => dtype,
                (None, Literal::Float(_)) => DType::F32,
                (None, Literal::Int(value)) => {
                    return Err(wrong_sort(i, "a tensor or scalar", &call.args[i]).help(format!(
                        "an integer that meets nothing is an index value; write `{value}.0` or `{value}i32`"
                    )));
                }
            };
            let scalar = literal_scalar(*literal, dtype).map_err(|mut error| {
                error.at = At::Arg(i);
                error
            })?;
            Ok(b.scalar(scalar))
        }
        arg @ Arg::Index(expr) => Err(wrong_sort(i, "a tensor or scalar", arg)
            .help(format!("an index value is no element; convert it: `{expr} as f32`"))),
        arg @ Arg::Shape(_) => Err(wrong_sort(i, "a tensor", arg)),
        arg @ Arg::List(_) => Err(wrong_sort(i, "a tensor", arg).help("`stack` makes one tensor of several")),
    }
}

/// Operand `i` as a tensor and its type.
pub(super) fn tensor(b: &mut Builder, call: &OpCall, i: usize) -> Result<(ValueId, TensorType), OpError> {
    let value = value(b, call, i)?;
    Ok((value, b.tensor(value).clone()))
}

/// Operand `i` as a tensor and its type; none if it is left out, which `[]` says as well.
pub(super) fn optional(b: &mut Builder, call: &OpCall, i: usize) -> Result<Option<(ValueId, TensorType)>, OpError> {
    match call.args.get(i) {
        None => Ok(None),
        Some(Arg::List(all)) if all.is_empty() => Ok(None),
        Some(Arg::Shape(all)) if all.is_empty() => Ok(None),
        Some(_) => tensor(b, call, i).map(Some),
    }
}

/// Operand `i` as a list of tensors.
pub(super) fn list(b: &Builder, call: &OpCall, i: usize) -> Result<Vec<ValueId>, OpError> {
    match &call.args[i] {
        Arg::List(values) => {
            if let Some(tuple) = values.iter().find(|value| matches!(b.ty(**value), Type::Tuple(_))) {
                let message = format!("expected a list of tensors, found `{}` in it", show_type(b.ty(*tuple)));
                return Err(OpError::new(At::Arg(i), OpErrorKind::Operand, message));
            }
            Ok(values.clone())
        }
        arg @ (Arg::Value(_) | Arg::Shape(_) | Arg::Index(_) | Arg::Literal(_)) => {
            Err(wrong_sort(i, "a list of tensors", arg).help("write `[a, b]`"))
        }
    }
}

/// Operand `i` as the shape of what is made: each extent is proven not negative.
pub(super) fn shape(b: &Builder, call: &OpCall, i: usize) -> Result<Vec<IntExpr>, OpError> {
    let shape = extents(call, i)?;
    shape.iter().try_for_each(|extent| non_negative(&b.prover, extent, At::Arg(i)))?;
    Ok(shape)
}

/// Operand `i` as an extent of what is made, which is proven not negative.
pub(super) fn extent(b: &Builder, call: &OpCall, i: usize) -> Result<IntExpr, OpError> {
    let extent = index(call, i)?;
    non_negative(&b.prover, &extent, At::Arg(i))?;
    Ok(extent)
}

/// Operand `i` as a list of index values.
pub(super) fn extents(call: &OpCall, i: usize) -> Result<Vec<IntExpr>, OpError> {
    match &call.args[i] {
        Arg::Shape(shape) => Ok(shape.clone()),
        Arg::List(values) if values.is_empty() => Ok(Vec::new()),
        arg @ (Arg::Value(_) | Arg::List(_)) => Err(wrong_sort(i, "a shape", arg).help("write `[N, 64]`")),
        arg @ (Arg::Index(_) | Arg::Literal(_)) => {
            let text = describe(arg);
            let inner = text.split('`').nth(1).unwrap_or_default().to_string();
            Err(wrong_sort(i, "a shape", arg).help(format!("write `[{inner}]`")))
        }
    }
}

/// Operand `i` as an index value.
pub(super) fn index(call: &OpCall, i: usize) -> Result<IntExpr, OpError> {
    match &call.args[i] {
        Arg::Index(expr) => Ok(expr.clone()),
        Arg::Literal(Literal::Int(value)) => match i64::try_from(*value) {
            Ok(value) => Ok(dim::int(value)),
            Err(_) => Err(wrong_sort(i, "an index value of 64 bits", &call.args[i])),
        },
        arg @ (Arg::Value(_) | Arg::Shape(_) | Arg::List(_) | Arg::Literal(Literal::Float(_))) => {
            Err(wrong_sort(i, "an index value", arg).help("dims, loop variables and integers are index values"))
        }
    }
}

/// What an attribute's value is, for texts.
fn describe_attr(value: &AttrValue) -> String {
    match value {
        AttrValue::Int(expr) => format!("`{expr}`"),
        AttrValue::Float(value) => format!("`{value:?}`"),
        AttrValue::Bool(value) => format!("`{value}`"),
        AttrValue::Text(text) => format!("`\"{text}\"`"),
        AttrValue::List(_) => "a list".to_string(),
        AttrValue::Scalar(value) => format!("a scalar of dtype `{}`", value.dtype),
    }
}

fn wrong_attr(name: &str, expected: &str, value: &AttrValue) -> OpError {
    let message = format!("expected {expected} for `{name}`, found {}", describe_attr(value));
    OpError::new(At::Attr(name.to_string()), OpErrorKind::Attribute, message)
}

/// An error about an attribute that must be there.
pub(super) fn missing(name: &str, example: &str) -> OpError {
    let message = format!("attribute `{name}` is missing");
    OpError::new(At::Call, OpErrorKind::Attribute, message).help(format!("write `{name} = {example}`"))
}

/// A constant integer.
fn as_int(name: &str, value: &AttrValue) -> Result<i64, OpError> {
    match value {
        AttrValue::Int(expr) => dim::as_int(expr).ok_or_else(|| {
            wrong_attr(name, "a constant integer", value).help("fix the dim in the attribute: `dims(K = 8)`")
        }),
        AttrValue::Scalar(scalar) if scalar.dtype.is_int() => {
            i64::try_from(scalar.to_i128()).map_err(|_| wrong_attr(name, "an integer of 64 bits", value))
        }
        AttrValue::Float(_) | AttrValue::Bool(_) | AttrValue::List(_) | AttrValue::Text(_) | AttrValue::Scalar(_) => {
            Err(wrong_attr(name, "an integer", value).help("attributes are constants: `axis = -1`, `axes = [1, 0]`"))
        }
    }
}

/// An integer attribute.
pub(super) fn int_attr(call: &OpCall, name: &str) -> Result<Option<i64>, OpError> {
    call.attrs.get(name).map(|value| as_int(name, value)).transpose()
}

/// An index attribute.
pub(super) fn index_attr(call: &OpCall, name: &str) -> Result<Option<IntExpr>, OpError> {
    match call.attrs.get(name) {
        Some(AttrValue::Int(expr)) => Ok(Some(expr.clone())),
        Some(value) => as_int(name, value).map(|n| Some(dim::int(n))),
        None => Ok(None),
    }
}

/// A list of integers.
pub(super) fn ints_attr(call: &OpCall, name: &str) -> Result<Option<Vec<i64>>, OpError> {
    match call.attrs.get(name) {
        None => Ok(None),
        Some(AttrValue::List(items)) => items.iter().map(|item| as_int(name, item)).collect::<Result<_, _>>().map(Some),
        Some(value) => {
            let one = as_int(name, value).unwrap_or(1);
            Err(wrong_attr(name, "a list of integers", value).help(format!("write `{name} = [{one}, {one}]`")))
        }
    }
}

/// A list of floats; integers are taken by their values.
pub(super) fn floats_attr(call: &OpCall, name: &str) -> Result<Option<Vec<f64>>, OpError> {
    let Some(value) = call.attrs.get(name) else { return Ok(None) };
    let number = |item: &AttrValue| match item {
        AttrValue::Float(x) => Some(*x),
        AttrValue::Int(e) => dim::as_int(e).map(|n| n as f64),
        AttrValue::Scalar(s) if !s.dtype.is_bool() => Some(s.to_f64()),
        AttrValue::Bool(_) | AttrValue::List(_) | AttrValue::Text(_) | AttrValue::Scalar(_) => None,
    };
    let numbers = match value {
        AttrValue::List(items) => items.iter().map(number).collect::<Option<Vec<f64>>>(),
        _ => None,
    };
    let help = || format!("write `{name} = [1.0, 2.0]`");
    numbers.map(Some).ok_or_else(|| wrong_attr(name, "a list of numbers", value).help(help()))
}

/// A list of words, each one of several.
pub(super) fn words_attr(call: &OpCall, name: &str, words: &[&str]) -> Result<Option<Vec<String>>, OpError> {
    let Some(value) = call.attrs.get(name) else { return Ok(None) };
    let AttrValue::List(items) = value else {
        return Err(wrong_attr(name, "a list of words", value).help(format!("write `{name} = [\"{}\"]`", words[0])));
    };
    let word = |item: &AttrValue| {
        let one = OpCall { attrs: [(name.to_string(), item.clone())].into(), ..OpCall::default() };
        word_attr(&one, name, words).map(|at| words[at].to_string())
    };
    items.iter().map(word).collect::<Result<Vec<_>, _>>().map(Some)
}

/// A bool, or its default.
pub(super) fn bool_attr(call: &OpCall, name: &str, default: bool) -> Result<bool, OpError> {
    match call.attrs.get(name) {
        None => Ok(default),
        Some(AttrValue::Bool(value)) => Ok(*value),
        Some(value) => Err(wrong_attr(name, "`true` or `false`", value)),
    }
}

/// A float, or its default. An integer literal is taken by its value.
pub(crate) fn float_attr(call: &OpCall, name: &str, default: f64) -> Result<Real, OpError> {
    match call.attrs.get(name) {
        None => Ok(Real::new(default)),
        Some(AttrValue::Float(value)) => Ok(Real::new(*value)),
        Some(AttrValue::Scalar(scalar)) if !scalar.dtype.is_bool() => Ok(Real::new(scalar.to_f64())),
        Some(value @ AttrValue::Int(expr)) => match dim::as_int(expr) {
            Some(n) => Ok(Real::new(n as f64)),
            None => Err(wrong_attr(name, "a constant", value)),
        },
        Some(value) => Err(wrong_attr(name, "a float", value)),
    }
}

/// One of several words, by its index; 0 is the default.
pub(super) fn word_attr(call: &OpCall, name: &str, words: &[&str]) -> Result<usize, OpError> {
    let Some(value) = call.attrs.get(name) else { return Ok(0) };
    let all = words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", ");
    let AttrValue::Text(text) = value else {
        return Err(wrong_attr(name, &format!("one of {all}"), value));
    };
    words.iter().position(|word| word == text).ok_or_else(|| {
        let error = wrong_attr(name, &format!("one of {all}"), value);
        match nearest(text, words.iter().copied()) {
            Some(near) => error.help(format!("did you mean `\"{near}\"`?")),
            None => error,
        }
    })
}

/// An axis of a tensor of that type, counted from the end if negative. `extra` axes more are allowed (a new axis).
fn axis_of(name: &str, axis: i64, x: &TensorType, extra: usize) -> Result<usize, OpError> {
    let rank = (x.shape.len() + extra) as i64;
    if (-rank..rank).contains(&axis) {
        return Ok(axis.rem_euclid(rank) as usize);
    }
    let message = format!("`{}` has no axis {axis}: its rank is {}", show_tensor(x), x.shape.len());
    let help =
        if rank == 0 { "a scalar has no axes".to_string() } else { format!("axes go from {} to {}", -rank, rank - 1) };
    Err(OpError::new(At::Attr(name.to_string()), OpErrorKind::Axis, message).help(help))
}

/// The attribute `axis`, or its default.
pub(super) fn axis_attr(call: &OpCall, x: &TensorType, default: i64) -> Result<usize, OpError> {
    let axis = int_attr(call, "axis")?.unwrap_or(default);
    axis_of("axis", axis, x, 0)
}

/// The axis that attribute `name` says, or its default.
pub(super) fn one_axis_attr(call: &OpCall, name: &str, x: &TensorType, default: i64) -> Result<usize, OpError> {
    let axis = int_attr(call, name)?.unwrap_or(default);
    axis_of(name, axis, x, 0)
}

/// An integer or a list of them.
pub(super) fn one_or_more_attr(call: &OpCall, name: &str) -> Result<Option<Vec<i64>>, OpError> {
    match call.attrs.get(name) {
        Some(AttrValue::List(_)) => ints_attr(call, name),
        Some(_) => Ok(int_attr(call, name)?.map(|n| vec![n])),
        None => Ok(None),
    }
}

/// An axis of the result, which has one more than `x`.
pub(super) fn new_axis_attr(call: &OpCall, x: &TensorType, default: i64) -> Result<usize, OpError> {
    let axis = int_attr(call, "axis")?.unwrap_or(default);
    axis_of("axis", axis, x, 1)
}

/// The attribute `name` as axes, one or a list, in the order written; `None` if it is missing.
pub(super) fn axes_attr(
    call: &OpCall,
    name: &str,
    x: &TensorType,
    extra: usize,
) -> Result<Option<Vec<usize>>, OpError> {
    let axes = match call.attrs.get(name) {
        None => return Ok(None),
        Some(AttrValue::List(items)) => items.iter().map(|item| as_int(name, item)).collect::<Result<Vec<_>, _>>()?,
        Some(value) => vec![as_int(name, value)?],
    };
    let axes = axes.into_iter().map(|axis| axis_of(name, axis, x, extra)).collect::<Result<Vec<_>, _>>()?;
    for (i, axis) in axes.iter().enumerate() {
        if axes[..i].contains(axis) {
            let message = format!("axis {axis} stands twice in `{name}`");
            return Err(
                OpError::new(At::Attr(name.to_string()), OpErrorKind::Axis, message).help("name each axis once")
            );
        }
    }
    Ok(Some(axes))
}

/// Pairs of extents, `[[before, after], …]`.
pub(super) fn pairs_attr(call: &OpCall, name: &str) -> Result<Option<Vec<(IntExpr, IntExpr)>>, OpError> {
    let example = || format!("write `{name} = [[before, after], …]`, one pair per axis");
    let Some(value) = call.attrs.get(name) else { return Ok(None) };
    let AttrValue::List(items) = value else {
        return Err(wrong_attr(name, "a list of pairs", value).help(example()));
    };
    let mut pairs = Vec::new();
    for item in items {
        match item {
            AttrValue::List(pair) => match pair.as_slice() {
                [AttrValue::Int(before), AttrValue::Int(after)] => pairs.push((before.clone(), after.clone())),
                _ => return Err(wrong_attr(name, "pairs of integers", item).help(example())),
            },
            other => return Err(wrong_attr(name, "pairs of integers", other).help(example())),
        }
    }
    Ok(Some(pairs))
}
