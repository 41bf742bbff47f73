//! Elements: several a thread where nobody knows how many there are, at their own places in whole buffers and elsewhere.

use tenfold_ir::DType;
use tenfold_ir::op::{BinaryOp, ElementOp, UnaryOp};
use tenfold_ir::relax::Op;

use crate::case::{Case, Make};

/// A buffer as it lies, one beside a number for each column, and one turned around.
fn elements(dtype: DType, shape: [i64; 2]) -> Case {
    let mut m = Make::new(&format!("elements_{}_{}_{}", dtype.name(), shape[0], shape[1]));
    let [rows, columns] = [m.dim("N", shape[0], 0, 0), m.dim("M", shape[1], 0, 1)];
    let x = m.input(dtype, &[rows, columns.clone()]);
    let bias = m.input(dtype, &[columns]);
    let whole = m.element(ElementOp::Unary(UnaryOp::Abs), &[x]);
    let biased = m.element(ElementOp::Binary(BinaryOp::Add), &[whole, bias]);
    let turned = m.emit(Op::Transpose { perm: vec![1, 0] }, &[biased]);
    m.done(&[whole, biased, turned])
}

#[test]
fn several_elements_a_thread() {
    let cases = vec![
        elements(DType::F32, [0, 3]),
        elements(DType::F32, [7, 147]),
        elements(DType::F16, [3, 700]),
        elements(DType::I32, [1, 1]),
    ];
    assert_eq!(crate::networks::run(cases), Vec::<String>::new());
}
