//! Sums of -0 alone: they begin with 0, and are 0 in whatever order, tile or vector elements are added.

use tenfold_ir::op::{BinaryOp, ElementOp, ReduceOp};
use tenfold_ir::relax::{ConvLayout, DataLayout, Op, PoolOp, ValueId, Window};
use tenfold_ir::{DType, Scalar};

use crate::case::{Case, Make};

pub(crate) fn cases() -> Vec<Case> {
    [DType::F32, DType::F64, DType::F16, DType::BF16].into_iter().map(of_negative_zeros).collect()
}

fn of_negative_zeros(dtype: DType) -> Case {
    let mut m = Make::new(&format!("sums_of_negative_zeros_{}", dtype.name()));
    let sums = [reductions(&mut m, dtype), products(&mut m, dtype), windows(&mut m, dtype)].concat();
    let one = m.scalar(Scalar::float(dtype, 1.0));
    let mut results = Vec::new();
    for (sum, count) in sums {
        let sign = m.element(ElementOp::Binary(BinaryOp::Div), &[one, sum]);
        m.exactly(sign, vec![Scalar::float(dtype, f64::INFINITY); count]);
        results.push(sign);
    }
    m.done(&results)
}

fn all_of(m: &mut Make, dtype: DType, shape: &[i64], value: f64) -> ValueId {
    let count = shape.iter().product::<i64>() as usize;
    m.values(dtype, shape, &vec![Scalar::float(dtype, value); count])
}

type Sums = Vec<(ValueId, usize)>;

fn reductions(m: &mut Make, dtype: DType) -> Sums {
    let [x, one] = [[5, 3, 67], [5, 1, 1]].map(|shape| all_of(m, dtype, &shape, -0.0));
    let mut sums = Vec::new();
    for op in [ReduceOp::Sum, ReduceOp::Mean] {
        for (axes, count) in [(&[2][..], 15), (&[0], 201), (&[0, 1], 67), (&[0, 1, 2], 1)] {
            sums.push((m.reduce(op, x, axes, false), count));
        }
        sums.push((m.reduce(op, one, &[1], false), 5));
    }
    sums
}

fn products(m: &mut Make, dtype: DType) -> Sums {
    let mut sums = Vec::new();
    for [rows, terms, columns] in [[1, 1, 1], [5, 1, 37], [5, 7, 37], [1, 67, 9], [200, 3, 35], [33, 40, 1]] {
        let (a, b) = (all_of(m, dtype, &[rows, terms], -0.0), all_of(m, dtype, &[terms, columns], 1.0));
        sums.push((m.emit(Op::MatMul, &[a, b]), (rows * columns) as usize));
    }
    sums
}

/// Pools and convolutions without padding, whose windows hold one element and more.
fn windows(m: &mut Make, dtype: DType) -> Sums {
    let (channels, side) = (4, 6);
    let x = all_of(m, dtype, &[1, channels, side, side], -0.0);
    let last = all_of(m, dtype, &[1, side, side, channels], -0.0);
    let mut sums = Vec::new();
    for (kernel, stride) in [([1, 1], 1), ([1, 1], 2), ([1, 3], 1), ([3, 1], 1), ([3, 3], 2), ([6, 6], 1)] {
        let window =
            Window { kernel: kernel.to_vec(), strides: vec![stride; 2], pads: vec![0; 4], dilations: vec![1; 2] };
        let count = (channels * kernel.map(|taps| (side - taps) / stride + 1).iter().product::<i64>()) as usize;
        for (x, layout) in [(x, DataLayout::default()), (last, DataLayout::ChannelsLast)] {
            let op = PoolOp::Average { count_include_pad: false };
            sums.push((m.emit(Op::Pool { op, window: window.clone(), ceil_mode: false, layout }, &[x]), count));
        }
        for group in [1, 2, channels] {
            let weights = all_of(m, dtype, &[channels, channels / group, kernel[0], kernel[1]], 1.0);
            let op = Op::Conv { window: window.clone(), group, layout: ConvLayout::default() };
            sums.push((m.emit(op, &[x, weights]), count));
        }
    }
    sums
}
