//! Rows and reductions that the threads of a group make together: columns in registers and in memory, of every kind of
//! register, with threads left over, and what floats have beside numbers.

use tenfold_ir::op::{ElementOp, Real, ReduceOp, UnaryOp};
use tenfold_ir::relax::Op;
use tenfold_ir::{DType, Scalar};

use crate::case::{Case, Make, fixed};

fn rows(dtype: DType, shape: [i64; 2]) -> Case {
    let mut m = Make::new(&format!("rows_{}_{}", dtype.name(), shape[1]));
    let x = m.input(dtype, &fixed(&shape));
    let (scale, bias) = (m.input(dtype, &fixed(&shape[1..])), m.input(dtype, &fixed(&shape[1..])));
    let softmax = m.emit(Op::Softmax { axis: 1, log: false }, &[x]);
    let norm = m.emit(Op::LayerNorm { axis: 1, epsilon: Real::new(1e-3) }, &[x, scale, bias]);
    let absolute = m.element(ElementOp::Unary(UnaryOp::Abs), &[x]);
    let sums = m.reduce(ReduceOp::Sum, absolute, &[1], false);
    m.done(&[softmax, norm, sums])
}

/// As many rows as a dim says.
fn symbolic(rows: i64) -> Case {
    let mut m = Make::new(&format!("rows_symbolic_{rows}"));
    let n = m.dim("N", rows, 0, 0);
    let x = m.input(DType::F32, &[n, 70.into()]);
    let y = m.emit(Op::Softmax { axis: 1, log: false }, &[x]);
    m.done(&[y])
}

/// As long as a dim says, too.
fn of_dims(columns: i64) -> Case {
    let mut m = Make::new(&format!("rows_of_dims_{columns}"));
    let [rows, columns] = [m.dim("N", 3, 0, 0), m.dim("M", columns, 0, 1)];
    let x = m.input(DType::F32, &[rows, columns.clone()]);
    let (scale, bias) = (m.input(DType::F32, std::slice::from_ref(&columns)), m.input(DType::F32, &[columns]));
    let softmax = m.emit(Op::Softmax { axis: 1, log: false }, &[x]);
    let norm = m.emit(Op::LayerNorm { axis: 1, epsilon: Real::new(1e-3) }, &[x, scale, bias]);
    m.done(&[softmax, norm])
}

fn reductions(dtype: DType, columns: i64) -> Case {
    let mut m = Make::new(&format!("reductions_{}_{columns}", dtype.name()));
    let x = m.input(dtype, &fixed(&[3, columns]));
    let ops = [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min];
    let results = ops.map(|op| m.reduce(op, x, &[1], false));
    m.done(&results)
}

/// Of NaN and infinities each makes what it makes of two, and -0 lies below 0.
fn special(dtype: DType) -> Case {
    let mut m = Make::new(&format!("special_{}", dtype.name()));
    let rows: [[f64; 3]; 6] = [
        [-0.0, -0.0, -0.0],
        [-0.0, 0.0, -0.0],
        [1.5, f64::NAN, -2.0],
        [f64::INFINITY, -3.0, f64::NEG_INFINITY],
        [f64::NEG_INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY],
        [-3.5, -0.25, -7.0],
    ];
    let cell = |(row, column): (usize, usize)| rows[row][usize::from(column % 37 == 5) + usize::from(column == 33)];
    let places = (0..rows.len()).flat_map(|row| (0..50).map(move |column| (row, column)));
    let cells: Vec<Scalar> = places.map(|place| Scalar::float(dtype, cell(place))).collect();
    let x = m.values(dtype, &[rows.len() as i64, 50], &cells);
    let results = [ReduceOp::Max, ReduceOp::Min].map(|op| m.reduce(op, x, &[1], false));
    m.done(&results)
}

#[test]
fn rows_of_every_width() {
    let mut cases: Vec<Case> = vec![symbolic(0), symbolic(7)];
    cases.extend([0, 5, 130, 600, 4100].map(of_dims));
    cases.extend([40, 130, 1000, 5000, 9_000].map(|columns| rows(DType::F32, [3, columns])));
    cases.extend([DType::F16, DType::BF16, DType::F64].map(|dtype| rows(dtype, [2, 140])));
    let dtypes = [DType::F32, DType::F16, DType::F64, DType::I32, DType::U32, DType::I16, DType::U16, DType::I64];
    cases.extend(dtypes.map(|dtype| reductions(dtype, 100)));
    cases.extend([DType::F32, DType::F16, DType::BF16, DType::F64].map(special));
    assert_eq!(crate::networks::run(cases), Vec::<String>::new());
}
