//! Rows by the interpreter of tir: what warps and registers do, at extents that the suite of operators has not.

use tenfold_core::Device;
use tenfold_ir::DType;
use tenfold_ir::op::{ElementOp, Real, ReduceOp, UnaryOp};
use tenfold_ir::relax::Op;

use crate::case::{Case, Make, fixed};
use crate::interpret;

/// Rows and columns: a warp a row with and without vectors, with columns left over, with rows left over; several warps.
const SHAPES: &[[i64; 2]] = &[[5, 33], [8, 64], [3, 200], [1, 512], [2, 700], [1, 1500], [2, 1025]];

fn rows(dtype: DType, shape: [i64; 2]) -> Case {
    let mut m = Make::new(&format!("rows_{}_{}_{}", dtype.name(), shape[0], shape[1]));
    let x = m.input(dtype, &fixed(&shape));
    let (scale, bias) = (m.input(dtype, &fixed(&shape[1..])), m.input(dtype, &fixed(&shape[1..])));
    let softmax = m.emit(Op::Softmax { axis: 1, log: false }, &[x]);
    let log = m.emit(Op::Softmax { axis: 1, log: true }, &[x]);
    let norm = m.emit(Op::LayerNorm { axis: 1, epsilon: Real::new(1e-3) }, &[x, scale, bias]);
    let absolute = m.element(ElementOp::Unary(UnaryOp::Abs), &[x]);
    let sums = m.reduce(ReduceOp::Sum, absolute, &[1], false);
    let most = m.reduce(ReduceOp::Max, x, &[1], true);
    m.done(&[softmax, log, norm, sums, most])
}

/// Weights of keys for each query, and what they make of values; rows of one group and of one warp.
fn attention(dtype: DType, keys: i64) -> Case {
    let mut m = Make::new(&format!("attention_{}_{keys}", dtype.name()));
    let q = m.input(dtype, &fixed(&[2, 40, 8]));
    let [k, v] = [8, 24].map(|depth| m.input(dtype, &fixed(&[2, keys, depth])));
    let turned = m.emit(Op::Transpose { perm: vec![0, 2, 1] }, &[k]);
    let scores = m.emit(Op::MatMul, &[q, turned]);
    let weights = m.emit(Op::Softmax { axis: 2, log: false }, &[scores]);
    let y = m.emit(Op::MatMul, &[weights, v]);
    m.done(&[y])
}

#[test]
fn attention_is_what_the_interpreter_admits() {
    for (device, dtype, keys) in [
        (Device::Sm80, DType::F32, 48),
        (Device::Sm90a, DType::F16, 48),
        (Device::Sm80, DType::F32, 530),
        (Device::Spirv, DType::F32, 48),
    ] {
        let made = interpret::prepare_with(attention(dtype, keys), &crate::context(device));
        assert!(made.is_ok(), "{device}: {}", made.err().unwrap_or_default());
    }
}

/// Every thread's turn between barriers, every exchange in a warp, and that no two threads race.
#[test]
fn rows_are_what_the_interpreter_admits() {
    let (mut errors, mut count) = (Vec::new(), 0);
    let dtypes = [DType::F32, DType::F16, DType::F64, DType::BF16];
    let all = std::env::var_os("TENFOLD_ALL").is_some();
    for (n, shape) in SHAPES.iter().enumerate() {
        for (m, dtype) in dtypes.into_iter().enumerate() {
            if !all && m > 0 && (n + m) % 4 > 0 {
                continue;
            }
            count += 1;
            let made = interpret::prepare_with(rows(dtype, *shape), &crate::context(Device::Sm80));
            errors.extend(made.err());
        }
    }
    assert!(errors.is_empty(), "{} of {count}: {}", errors.len(), errors.join("\n"));
}

/// What the suite of operators gives on threads in warps; `TENFOLD_ALL=1` takes all of it.
#[test]
fn functions_are_what_the_interpreter_admits() {
    let (mut errors, mut count) = (Vec::new(), 0);
    for case in crate::cases(24) {
        count += 1;
        errors.extend(interpret::prepare_with(case, &crate::context(Device::Sm80)).err());
    }
    assert!(errors.is_empty(), "{} of {count}: {}", errors.len(), errors.join("\n"));
}
