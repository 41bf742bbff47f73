//! A kernel of each kind beside products, of several dtypes, over axes that the registers of every level hold in whole
//! and in part.

use tenfold_ir::DType;
use tenfold_ir::op::{Activation, ArgOp, BinaryOp, ElementOp, ReduceOp, UnaryOp};
use tenfold_ir::relax::{Op, ValueId};

use crate::case::{Case, Make, fixed};
use crate::ops::{args, int, numbers};

pub(crate) fn cases() -> Vec<Case> {
    let dtypes = [DType::F16, DType::BF16, DType::F32, DType::F64, DType::U8, DType::I32, DType::I64];
    dtypes.into_iter().flat_map(|dtype| [products(dtype), orders(dtype), columns(dtype), updates(dtype)]).collect()
}

/// Rows, terms and columns: less than a register, several, and a part of one more.
const PRODUCTS: [[i64; 3]; 2] = [[3, 21, 35], [14, 5, 70]];

/// Products of two operands and of one with a constant.
fn products(dtype: DType) -> Case {
    let mut m = Make::new(&format!("kinds_products_{}", dtype.name()));
    let mut results = Vec::new();
    for [rows, terms, columns] in PRODUCTS {
        let [x, y] = [[rows, terms], [terms, columns]].map(|shape| m.input(dtype, &fixed(&shape)));
        let w = m.constant(dtype, &[terms, columns]);
        let sum = m.emit(Op::MatMul, &[x, y]);
        let other = m.emit(Op::MatMul, &[x, w]);
        results.push(m.element(ElementOp::Binary(BinaryOp::Max), &[sum, other]));
    }
    m.done(&results)
}

/// Running sums, places of extremes and gathers, along neighbours and across.
fn orders(dtype: DType) -> Case {
    let mut m = Make::new(&format!("kinds_orders_{}", dtype.name()));
    let x = m.input(dtype, &fixed(&[5, 67]));
    let at = m.values(DType::I32, &[2, 3], &numbers(DType::I32, &[0, 4, 1, -1, 2, 3]));
    let mut results = Vec::new();
    for axis in [0, 1] {
        results.push(m.call("cumsum", &args(&[x]), &[("axis", int(axis))]));
        results.push(m.arg(ArgOp::ArgMax, x, Some(axis as usize), false));
        results.push(m.arg(ArgOp::ArgMin, x, Some(axis as usize), true));
        results.push(m.call("take", &args(&[x, at]), &[("axis", int(axis))]));
    }
    m.done(&results)
}

/// Columns that go down several times: what one stage makes of them the next one reads.
fn columns(dtype: DType) -> Case {
    let mut m = Make::new(&format!("kinds_columns_{}", dtype.name()));
    let mut results = Vec::new();
    for shape in [[37, 70], [9, 3]] {
        let x = m.input(dtype, &fixed(&shape));
        let most = m.reduce(ReduceOp::Max, x, &[0], true);
        let below = m.element(ElementOp::Binary(BinaryOp::Sub), &[x, most]);
        let sum = m.reduce(ReduceOp::Sum, below, &[0], false);
        results.extend([m.element(ElementOp::Binary(BinaryOp::Mul), &[below, sum]), sum]);
        if dtype.is_float() {
            results.push(m.emit(Op::Softmax { axis: 0, log: false }, &[x]));
            let tanh = m.element(ElementOp::Unary(UnaryOp::Tanh), &[x]);
            results.push(m.reduce(ReduceOp::Mean, tanh, &[0], false));
        }
    }
    m.done(&results)
}

/// A state that takes sums of itself, and what it held before.
fn updates(dtype: DType) -> Case {
    let mut m = Make::new(&format!("kinds_updates_{}", dtype.name()));
    let state = m.state(dtype, &fixed(&[6, 37]));
    let x = m.input(dtype, &fixed(&[37]));
    let add = |m: &mut Make, x: ValueId, y: ValueId| m.element(ElementOp::Binary(BinaryOp::Add), &[x, y]);
    let new = add(&mut m, state, x);
    let new = m.element(ElementOp::Activation(Activation::Relu), &[new]);
    m.emit(Op::StoreState { param: 0 }, &[new]);
    let both = add(&mut m, state, new);
    let turned = m.emit(Op::Transpose { perm: vec![1, 0] }, &[both]);
    m.done(&[turned, state])
}
