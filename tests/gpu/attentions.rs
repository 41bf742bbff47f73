//! Attentions of two heads, as a graph has them.

use tenfold_ir::DType;
use tenfold_ir::op::{BinaryOp, ElementOp};
use tenfold_ir::relax::{Op, ValueId};

use crate::case::{Case, Make, fixed};

/// Weights of keys for each query, and what they make of values.
pub(crate) fn attended(mut m: Make, scores: ValueId, v: ValueId) -> Case {
    let weights = m.emit(Op::Softmax { axis: 2, log: false }, &[scores]);
    let y = m.emit(Op::MatMul, &[weights, v]);
    m.done(&[y])
}

/// Keys that lie in rows, as values do; as many as a dim says where `dims` does.
pub(crate) fn of_keys(dtype: DType, queries: i64, [keys, depth, columns]: [i64; 3], dims: bool) -> Case {
    let mut m = Make::new(&format!("keys_{}_{queries}_{keys}_{depth}_{dims}", dtype.name()));
    let n = if dims { m.dim("K", keys, 1, 1) } else { keys.into() };
    let q = m.input(dtype, &fixed(&[2, queries, depth]));
    let [k, v] = [depth, columns].map(|length| m.input(dtype, &[2.into(), n.clone(), length.into()]));
    let turned = m.emit(Op::Transpose { perm: vec![0, 2, 1] }, &[k]);
    let scores = m.emit(Op::MatMul, &[q, turned]);
    attended(m, scores, v)
}

/// Heads with a mask, as many queries as a dim says.
pub(crate) fn masked(dtype: DType, queries: i64, [keys, depth, columns]: [i64; 3]) -> Case {
    let mut m = Make::new(&format!("masked_{}_{queries}_{keys}_{depth}", dtype.name()));
    let n = m.dim("N", queries, 0, 1);
    let q = m.input(dtype, &[2.into(), n.clone(), depth.into()]);
    let k = m.input(dtype, &fixed(&[2, depth, keys]));
    let v = m.input(dtype, &fixed(&[2, keys, columns]));
    let mask = m.input(dtype, &[n, keys.into()]);
    let scores = m.emit(Op::MatMul, &[q, k]);
    let scores = m.element(ElementOp::Binary(BinaryOp::Add), &[scores, mask]);
    attended(m, scores, v)
}
