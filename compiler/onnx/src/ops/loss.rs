//! Losses.

use tenfold_ir::DType;
use tenfold_ir::op::{BinaryOp, CmpOp, ReduceOp, UnaryOp};
use tenfold_ir::ops::AttrValue;
use tenfold_ir::relax::{Op, ValueId};

use super::{OnnxOp, op};
use crate::call::Call;
use crate::emit::int;
use crate::value::{Outcome, Value, fault};
use crate::walk::Cx;

type Results = Outcome<Vec<Value>>;

/// `-weight[target] · input[target]` along axis 1, then the mean, the sum or neither.
fn nll<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>, input: ValueId) -> Outcome<ValueId> {
    let target = call.x(cx, 1)?;
    let target = cx.cast(target, DType::I64)?;
    let ignored = call.int("ignore_index")?;
    // What is ignored reads class 0 and weighs nothing.
    let zero = cx.scalar(DType::I64, 0.0);
    let kept = match ignored {
        Some(index) => {
            let index = cx.b.scalar(tenfold_ir::Scalar::int(DType::I64, i128::from(index)));
            Some(cx.compare(CmpOp::Ne, target, index)?)
        }
        None => None,
    };
    let class = kept.map_or(Ok(target), |kept| cx.select(kept, target, zero))?;
    let at = cx.expand_dims(class, 1)?;
    let picked = cx.op("take_along_axis", &[input, at], &[("axis", AttrValue::Int(int(1)))])?;
    let shape = cx.dims(target);
    let picked = cx.reshape(picked, &shape)?;
    let (one, none) = (cx.like(input, 1.0), cx.like(input, 0.0));
    let mut weight = match call.optional(cx, 2)? {
        Some(weight) => cx.op("take", &[weight, class], &[("axis", AttrValue::Int(int(0)))])?,
        None => cx.full(&shape, one)?,
    };
    if let Some(kept) = kept {
        weight = cx.select(kept, weight, none)?;
    }
    let weighted = cx.binary(BinaryOp::Mul, picked, weight)?;
    let loss = cx.unary(UnaryOp::Neg, weighted)?;
    let axes: Vec<usize> = (0..shape.len()).collect();
    match call.text("reduction", "mean")?.as_str() {
        "none" => Ok(loss),
        "sum" => cx.reduce(ReduceOp::Sum, loss, &axes, false),
        "mean" => {
            let (total, count) =
                (cx.reduce(ReduceOp::Sum, loss, &axes, false)?, cx.reduce(ReduceOp::Sum, weight, &axes, false)?);
            cx.binary(BinaryOp::Div, total, count)
        }
        other => fault(format!("the reduction `{other}` is unknown")),
    }
}

fn negative_log_likelihood<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let input = call.x(cx, 0)?;
    let y = nll(cx, call, input)?;
    cx.one(y)
}

fn softmax_cross_entropy<'m>(cx: &mut Cx<'m>, call: &Call<'_, 'm>) -> Results {
    let scores = call.x(cx, 0)?;
    let log = cx.emit(Op::Softmax { axis: 1, log: true }, &[scores])?;
    let y = nll(cx, call, log)?;
    Ok(vec![cx.plain(y), cx.plain(log)])
}

pub(super) static TABLE: &[OnnxOp] = &[
    op("NegativeLogLikelihoodLoss", 12, negative_log_likelihood),
    op("SoftmaxCrossEntropyLoss", 12, softmax_cross_entropy),
];
