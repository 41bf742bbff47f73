//! Attentions of two heads, as a graph has them.

use tenfold_ir::op::{BinaryOp, ElementOp};
use tenfold_ir::relax::{Op, ValueId};
use tenfold_ir::{DType, Module, parse_module};

use crate::case::{Case, Given, Make, fixed};
use crate::data::ordinary;

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

/// Two heads of queries that see a key where a condition of `query` and `key` holds.
pub(crate) fn seen(dtype: DType, [queries, keys, size]: [usize; 3], condition: &str) -> Case {
    let (name, scores) = (format!("seen_{}_{queries}_{keys}_{size}", dtype.name()), format!("[2, {queries}, {keys}]"));
    let text = format!(
        "relax @{name} phase imported {{
  param v0: T[2, {queries}, {size}] = input 0 \"q\"
  param v1: T[2, {keys}, {size}] = input 1 \"k\"
  param v2: T[2, {keys}, {size}] = input 2 \"v\"
  dataflow {{
    v3: T[2, {size}, {keys}] = transpose(v1, perm = [0, 2, 1])
    v4: T{scores} = matmul(v0, v3)
    v5: T{scores} = call_tir(v4, func = @{name}.seen, syms = [], in_place = [none])
    v6: T{scores} = softmax(v5, axis = 2)
    v7: T[2, {queries}, {size}] = matmul(v6, v2)
  }}
  return v7
}}
prim @{name}.seen(in x: T{scores}, out out: T{scores}) phase blocks {{
  for h in 0 +: 2 serial {{
    for i in 0 +: {queries} serial {{
      for j in 0 +: {keys} serial {{
        block seen {{
          spatial head in 2 = h
          spatial query in {queries} = i
          spatial key in {keys} = j
          do {{
            out[head, query, key] = if({condition}, x[head, query, key], -infT)
          }}
        }}
      }}
    }}
  }}
}}
"
    );
    let text = text.replace(": T", &format!(": {}", dtype.name())).replace("-infT", &format!("-inf{}", dtype.name()));
    let module = parse_module(&text, &[]).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    let given = [queries, keys, keys].into_iter().zip(1..);
    let given = given.map(|(n, seed)| Given { cells: ordinary(dtype, 2 * n * size, seed), strides: Vec::new() });
    let module = Module { entry: name.clone(), ..module };
    Case { name, module, syms: Vec::new(), given: given.collect(), wanted: Vec::new() }
}
