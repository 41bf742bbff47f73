//! Random numbers. The seed is a number of the model: without one, each node has the same.

use tenfold_ir::DType;
use tenfold_ir::arith::IntExpr;
use tenfold_ir::ops::{Arg, AttrValue, Literal};

use super::{OnnxOp, op};
use crate::call::Call;
use crate::elem::Elem;
use crate::emit::int;
use crate::value::{Outcome, Value, fault};
use crate::walk::Cx;

type Results = Outcome<Vec<Value>>;

/// The bits of the seed, a float.
fn seed(call: &Call<'_, '_>) -> Outcome<Arg> {
    let bits = f64::from(call.float_or("seed", 0.0)?).to_bits();
    Ok(Arg::Literal(Literal::Int(i128::from(bits))))
}

/// The type that the attribute `dtype` says, else this one.
fn dtype(call: &Call<'_, '_>, own: DType) -> Outcome<DType> {
    let Some(code) = call.int("dtype")? else { return Ok(own) };
    match Elem::from_code(code).filter(|e| e.is_plain()).and_then(Elem::storage) {
        Some(dtype) => Ok(dtype),
        None => fault(format!("the type {code} of `dtype` is not supported")),
    }
}

/// Numbers of a shape; `names` are the two attributes of the distribution, in ONNX and in the language, with defaults.
fn drawn<'m>(
    cx: &mut Cx<'m>,
    call: &Call<'_, 'm>,
    operator: &str,
    (shape, dtype): (Vec<IntExpr>, DType),
    defaults: [(&'static str, f32); 2],
) -> Results {
    let attr = |(name, default): (&'static str, f32)| {
        Ok::<_, crate::value::Fault>((name, AttrValue::Float(f64::from(call.float_or(name, default)?))))
    };
    let attrs = [attr(defaults[0])?, attr(defaults[1])?];
    let y = cx.operator(operator, vec![seed(call)?, Arg::Shape(shape)], &attrs)?;
    let y = cx.cast(y, dtype)?;
    cx.one(y)
}

const UNIFORM: [(&str, f32); 2] = [("low", 0.0), ("high", 1.0)];
const NORMAL: [(&str, f32); 2] = [("mean", 0.0), ("scale", 1.0)];

fn of_shape<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, operator: &str, attrs: [(&'static str, f32); 2]) -> Results {
    let Some(shape) = call.ints("shape")? else { return fault("the attribute `shape` is missing") };
    let shape = shape.into_iter().map(int).collect();
    drawn(cx, call, operator, (shape, dtype(call, DType::F32)?), attrs)
}

fn like<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, operator: &str, attrs: [(&'static str, f32); 2]) -> Results {
    let x = call.x(cx, 0)?;
    let ty = cx.ty(x);
    let dtype = dtype(call, ty.dtype)?;
    drawn(cx, call, operator, (ty.shape, dtype), attrs)
}

fn bernoulli<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let x = call.x(cx, 0)?;
    let dtype = dtype(call, cx.dtype(x))?;
    let y = cx.operator("bernoulli", vec![Arg::Value(x), seed(call)?], &[])?;
    let y = cx.cast(y, dtype)?;
    cx.one(y)
}

fn multinomial<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let x = call.x(cx, 0)?;
    let count = AttrValue::Int(int(call.int_or("sample_size", 1)?));
    let y = cx.operator("multinomial", vec![Arg::Value(x), seed(call)?], &[("sample_size", count)])?;
    let y = cx.cast(y, dtype(call, DType::I32)?)?;
    cx.one(y)
}

pub(super) static TABLE: &[OnnxOp] = &[
    op("Bernoulli", 15, bernoulli),
    op("Multinomial", 7, multinomial),
    op("RandomNormal", 1, |cx, call| of_shape(cx, call, "random_normal", NORMAL)),
    op("RandomNormalLike", 1, |cx, call| like(cx, call, "random_normal", NORMAL)),
    op("RandomUniform", 1, |cx, call| of_shape(cx, call, "random_uniform", UNIFORM)),
    op("RandomUniformLike", 1, |cx, call| like(cx, call, "random_uniform", UNIFORM)),
];
