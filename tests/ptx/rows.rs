//! Rows that warps and groups make together, in registers, in shared memory and through memory; attention.

use tenfold_core::Device;
use tenfold_ir::DType;
use tenfold_ir::op::{BinaryOp, ElementOp, Real, ReduceOp, UnaryOp};
use tenfold_ir::relax::Op;

use crate::attentions::{attended, of_keys, seen};
use crate::case::{Case, Make, fixed};
use crate::run::{self, Job};

/// Softmax, normalisation and sums of rows, as long as a dim says where `dims` does.
fn rows(dtype: DType, [rows, columns]: [i64; 2], dims: bool) -> Case {
    let mut m = Make::new(&format!("rows_{}_{rows}_{columns}_{dims}", dtype.name()));
    let [rows, columns] = match dims {
        true => [m.dim("N", rows, 0, 0), m.dim("M", columns, 0, 1)],
        false => [rows.into(), columns.into()],
    };
    let x = m.input(dtype, &[rows, columns.clone()]);
    let (scale, bias) = (m.input(dtype, std::slice::from_ref(&columns)), m.input(dtype, &[columns]));
    let softmax = m.emit(Op::Softmax { axis: 1, log: false }, &[x]);
    let norm = m.emit(Op::LayerNorm { axis: 1, epsilon: Real::new(1e-3) }, &[x, scale, bias]);
    let absolute = m.element(ElementOp::Unary(UnaryOp::Abs), &[x]);
    let sums = m.reduce(ReduceOp::Sum, absolute, &[1], false);
    let most = m.reduce(ReduceOp::Max, x, &[1], true);
    m.done(&[softmax, norm, sums, most])
}

/// Weights of keys for each query, and what they make of values; as many queries as a dim says.
fn attention(dtype: DType, queries: i64, [keys, depth, columns]: [i64; 3], masked: bool) -> Case {
    let mut m = Make::new(&format!("attention_{}_{queries}_{keys}_{depth}_{masked}", dtype.name()));
    let n = m.dim("N", queries, 0, 1);
    let q = m.input(dtype, &[2.into(), n.clone(), depth.into()]);
    let [k, v] = [depth, columns].map(|length| m.input(dtype, &fixed(&[2, keys, length])));
    let turned = m.emit(Op::Transpose { perm: vec![0, 2, 1] }, &[k]);
    let mut scores = m.emit(Op::MatMul, &[q, turned]);
    if masked {
        let mask = m.input(dtype, &[n, keys.into()]);
        scores = m.element(ElementOp::Binary(BinaryOp::Add), &[scores, mask]);
    }
    attended(m, scores, v)
}

/// No keys behind a query's own position, nor any that are far before it.
const NEAR: &str = "and(le(key, query), ge(key, sub(query, 40)))";

fn run(cases: Vec<(Case, Device)>) {
    let jobs = cases.into_iter().map(|(case, chip)| Job { large: true, ..Job::new(case, chip) });
    let jobs: Vec<Job> = jobs.collect();
    if let Some(outcome) = run::all(&jobs) {
        assert_eq!(outcome.ran, jobs.len(), "{:#?}", outcome.refused);
    }
}

#[test]
fn threads_make_rows_together() {
    run(vec![
        (rows(DType::F32, [5, 33], false), Device::Sm80),
        (rows(DType::F16, [3, 200], false), Device::Sm90a),
        (rows(DType::F32, [1, 1500], false), Device::Sm90a),
        (rows(DType::BF16, [2, 1032], false), Device::Sm80),
        (rows(DType::F64, [2, 700], false), Device::Sm80),
        (rows(DType::F32, [3, 0], true), Device::Sm80),
        (rows(DType::F32, [5, 33], true), Device::Sm90a),
        (rows(DType::F16, [2, 700], true), Device::Sm80),
    ]);
}

#[test]
fn long_rows_go_through_shared_memory() {
    run(vec![
        (rows(DType::F32, [1, 20_480], false), Device::Sm80),
        (rows(DType::F32, [1, 33_001], false), Device::Sm90a),
        (rows(DType::BF16, [1, 26_000], false), Device::Sm80),
    ]);
}

#[test]
fn attention_is_one_kernel() {
    run(vec![
        (attention(DType::F32, 37, [70, 33, 20], true), Device::Sm80),
        (attention(DType::F32, 0, [40, 64, 64], false), Device::Sm90a),
        (attention(DType::F32, 37, [70, 32, 48], true), Device::Sm80),
        (attention(DType::F32, 20, [100, 128, 128], false), Device::Sm90a),
        (attention(DType::F16, 37, [70, 32, 48], false), Device::Sm80),
        (attention(DType::BF16, 80, [40, 64, 64], false), Device::Sm90a),
        (attention(DType::F16, 20, [530, 8, 24], false), Device::Sm90a),
        (seen(DType::F32, [70, 100, 16], NEAR), Device::Sm80),
        (seen(DType::F16, [80, 130, 16], "le(key, query)"), Device::Sm80),
        (seen(DType::BF16, [140, 200, 48], NEAR), Device::Sm90a),
    ]);
}

#[test]
fn attention_of_few_queries_goes_in_parts() {
    run(vec![
        (of_keys(DType::F16, 5, [150, 32, 48], false), Device::Sm80),
        (of_keys(DType::F32, 1, [100, 40, 24], false), Device::Sm90a),
        (of_keys(DType::F32, 3, [300, 24, 40], true), Device::Sm80),
        (of_keys(DType::BF16, 1, [1030, 128, 64], true), Device::Sm90a),
        (of_keys(DType::F32, 17, [200, 24, 40], false), Device::Sm90a),
        (of_keys(DType::F32, 1, [1030, 64, 64], true), Device::Sm80),
    ]);
}
