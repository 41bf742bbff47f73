//! Attentions of two heads, as a graph has them.

use tenfold_ir::DType;
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
