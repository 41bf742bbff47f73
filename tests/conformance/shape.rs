//! Operators that move elements, state, constants and several results.

use tenfold_ir::arith::IntExpr;
use tenfold_ir::op::{Activation, BinaryOp, ElementOp, ReduceOp};
use tenfold_ir::relax::{Op, PadMode, SliceAxis};
use tenfold_ir::{DType, Scalar};

use crate::case::{Case, Make, fixed};

pub(crate) fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for dtype in [DType::Bool, DType::I8, DType::U32, DType::I64, DType::F16, DType::F32, DType::F64] {
        all.push(movement(dtype));
        all.push(slices(dtype));
        all.push(padding(dtype));
    }
    for dtype in [DType::I8, DType::F16, DType::F32, DType::F64] {
        all.push(turned(dtype));
    }
    all.push(creation());
    all.push(states());
    all.push(swapped_states());
    all.push(tuples());
    all.push(reuse());
    all.push(strided());
    all.push(indices());
    all
}

fn movement(dtype: DType) -> Case {
    let mut m = Make::new(&format!("movement_{}", dtype.name()));
    let x = m.input(dtype, &fixed(&[2, 3, 4]));
    let y = m.input(dtype, &fixed(&[2, 1, 4]));
    let zero = m.input(dtype, &fixed(&[2, 0, 4]));
    let c = m.constant(dtype, &[2, 2, 4]);
    let t = m.emit(Op::Transpose { perm: vec![2, 0, 1] }, &[x]);
    let r = m.emit(Op::Reshape { shape: fixed(&[6, 4]) }, &[x]);
    let tr = m.emit(Op::Reshape { shape: fixed(&[24]) }, &[t]);
    let b = m.emit(Op::BroadcastTo { shape: fixed(&[3, 2, 5, 4]) }, &[y]);
    let joined = m.emit(Op::Concat { axis: 1 }, &[x, y, zero, c, x]);
    let last = m.emit(Op::Concat { axis: 2 }, &[x, x]);
    let back = m.emit(Op::Transpose { perm: vec![1, 2, 0] }, &[t]);
    m.done(&[t, r, tr, b, joined, last, back, x, c])
}

/// Axes long enough for tiles, and with something left of them.
fn turned(dtype: DType) -> Case {
    let mut m = Make::new(&format!("turned_{}", dtype.name()));
    let x = m.input(dtype, &fixed(&[40, 67]));
    let y = m.input(dtype, &fixed(&[2, 65, 3, 33]));
    let wide = m.input(dtype, &fixed(&[64, 128]));
    let results = [
        m.emit(Op::Transpose { perm: vec![1, 0] }, &[x]),
        m.emit(Op::Transpose { perm: vec![0, 2, 3, 1] }, &[y]),
        m.emit(Op::Transpose { perm: vec![3, 1, 0, 2] }, &[y]),
        m.emit(Op::Transpose { perm: vec![1, 0] }, &[wide]),
    ];
    m.done(&results)
}

fn axis(begin: i64, extent: i64, step: i64) -> SliceAxis {
    SliceAxis { begin: begin.into(), extent: extent.into(), step }
}

fn slices(dtype: DType) -> Case {
    let mut m = Make::new(&format!("slices_{}", dtype.name()));
    let x = m.input(dtype, &fixed(&[5, 6]));
    let a = m.emit(Op::Slice { axes: vec![axis(1, 3, 1), axis(0, 3, 2)], drop: vec![] }, &[x]);
    let b = m.emit(Op::Slice { axes: vec![axis(4, 5, -1), axis(5, 2, -3)], drop: vec![] }, &[x]);
    let c = m.emit(Op::Slice { axes: vec![axis(2, 1, 1), axis(0, 6, 1)], drop: vec![0] }, &[x]);
    let d = m.emit(Op::Slice { axes: vec![axis(2, 1, 1), axis(3, 1, 1)], drop: vec![0, 1] }, &[x]);
    let none = m.emit(Op::Slice { axes: vec![axis(2, 0, 1), axis(0, 6, 1)], drop: vec![] }, &[x]);
    let e = m.emit(Op::SliceUpdate { axes: vec![axis(1, 3, 1), axis(0, 3, 2)], drop: vec![] }, &[x, a]);
    let scalar = m.lit(dtype, 1.0);
    let f = m.emit(Op::SliceUpdate { axes: vec![axis(0, 2, 2), axis(1, 2, 3)], drop: vec![] }, &[e, scalar]);
    let row = m.input(dtype, &fixed(&[6]));
    let g = m.emit(Op::SliceUpdate { axes: vec![axis(4, 1, 1), axis(0, 6, 1)], drop: vec![0] }, &[f, row]);
    m.done(&[a, b, c, d, none, e, f, g])
}

fn padding(dtype: DType) -> Case {
    let mut m = Make::new(&format!("padding_{}", dtype.name()));
    let x = m.input(dtype, &fixed(&[3, 4]));
    let fill = m.lit(dtype, 1.0);
    let mut results = Vec::new();
    for mode in [PadMode::Constant, PadMode::Edge, PadMode::Reflect, PadMode::Wrap] {
        for (before, after) in [([1, 2], [2, 0]), ([0, 3], [0, 1]), ([2, 0], [0, 3])] {
            let op = Op::Pad { mode, before: fixed(&before), after: fixed(&after) };
            let args = if mode == PadMode::Constant { vec![x, fill] } else { vec![x] };
            results.push(m.emit(op, &args));
        }
    }
    m.done(&results)
}

fn creation() -> Case {
    let mut m = Make::new("creation");
    let n = m.dim("N", 4, 0, 0);
    let x = m.input(DType::F32, std::slice::from_ref(&n));
    let mut results = vec![x];
    for dtype in [DType::F32, DType::I64, DType::U8, DType::F16, DType::Bool] {
        let one = m.lit(dtype, 1.0);
        results.push(m.emit(Op::Full { shape: vec![n.clone(), 2.into()] }, &[one]));
        if dtype != DType::Bool {
            let op = Op::Arange { start: 3.into(), step: (-2).into(), extent: n.clone(), dtype };
            results.push(m.emit(op, &[]));
            let value = m.emit(Op::IndexValue { expr: &n * &IntExpr::from(3), dtype }, &[]);
            results.push(value);
        }
    }
    m.done(&results)
}

/// A ring of the last values: read, updated in place, stored.
fn states() -> Case {
    let mut m = Make::new("states");
    let ring = m.state(DType::F32, &fixed(&[4, 3]));
    let count = m.state(DType::I32, &[]);
    let x = m.input(DType::F32, &fixed(&[3]));
    let sum = m.reduce(ReduceOp::Sum, ring, &[0], false);
    let new = m.emit(Op::SliceUpdate { axes: vec![axis(2, 1, 1), axis(0, 3, 1)], drop: vec![0] }, &[ring, x]);
    let one = m.lit(DType::I32, 1.0);
    let next = m.element(ElementOp::Binary(BinaryOp::Add), &[count, one]);
    m.emit(Op::StoreState { param: 0 }, &[new]);
    m.emit(Op::StoreState { param: 1 }, &[next]);
    m.done(&[sum, next])
}

/// Two states that take each other's value.
fn swapped_states() -> Case {
    let mut m = Make::new("swapped");
    let a = m.state(DType::I32, &fixed(&[5]));
    let b = m.state(DType::I32, &fixed(&[5]));
    let sum = m.element(ElementOp::Binary(BinaryOp::Add), &[a, b]);
    let difference = m.element(ElementOp::Binary(BinaryOp::Sub), &[a, b]);
    m.emit(Op::StoreState { param: 0 }, &[sum]);
    m.emit(Op::StoreState { param: 1 }, &[difference]);
    m.done(&[difference])
}

fn tuples() -> Case {
    let mut m = Make::new("tuples");
    let x = m.input(DType::F32, &fixed(&[2, 3]));
    let y = m.element(ElementOp::Activation(Activation::Relu), &[x]);
    let z = m.reduce(ReduceOp::Max, y, &[1], true);
    let pair = m.emit(Op::Tuple, &[y, z]);
    let first = m.emit(Op::TupleGet(0), &[pair]);
    let second = m.emit(Op::TupleGet(1), &[pair]);
    let sum = m.element(ElementOp::Binary(BinaryOp::Add), &[first, second]);
    // One value twice, and a parameter as it is.
    m.done(&[sum, first, first, second, x])
}

/// A chain long enough that memory is used again.
fn reuse() -> Case {
    let mut m = Make::new("reuse");
    let mut x = m.input(DType::F32, &fixed(&[8, 8]));
    let first = x;
    for i in 0..8 {
        let w = m.constant(DType::F32, &[8, 8]);
        let product = m.emit(Op::MatMul, &[x, w]);
        let small = m.element(ElementOp::Activation(Activation::Softsign), &[product]);
        let mean = m.reduce(ReduceOp::Mean, small, &[1], true);
        x = m.element(ElementOp::Binary(BinaryOp::Sub), &[small, mean]);
        if i == 3 {
            x = m.element(ElementOp::Binary(BinaryOp::Add), &[x, first]);
        }
    }
    m.done(&[x])
}

fn strided() -> Case {
    let mut m = Make::new("strided");
    let x = m.strided(DType::F32, &[3, 4], &[10, 2]);
    let t = m.strided(DType::I16, &[3, 4], &[1, 3]);
    let y = m.element(ElementOp::Activation(Activation::Relu), &[x]);
    let z = m.reduce(ReduceOp::Sum, t, &[1], false);
    let flat = m.emit(Op::Reshape { shape: fixed(&[12]) }, &[x]);
    let joined = m.emit(Op::Concat { axis: 0 }, &[x, x]);
    m.done(&[y, z, flat, joined])
}

/// Index parameters in slices, and values bound to symbols.
fn indices() -> Case {
    let mut m = Make::new("indices");
    let at = m.index("at_row", 2);
    let x = m.input(DType::F32, &fixed(&[5, 3]));
    let low = tenfold_ir::arith::Fact::parse("at_row < 5").expect("a fact");
    m.b.add_fact(tenfold_ir::relax::FactDecl { fact: low, text: "at_row < 5".into(), loc: Default::default() });
    let row = SliceAxis { begin: at.clone(), extent: 1.into(), step: 1 };
    let picked = m.emit(Op::Slice { axes: vec![row.clone(), axis(0, 3, 1)], drop: vec![0] }, &[x]);
    let one = m.b.scalar(Scalar::float(DType::F32, 9.0));
    let updated = m.emit(Op::SliceUpdate { axes: vec![row, axis(0, 3, 1)], drop: vec![0] }, &[x, one]);
    let value = m.emit(Op::IndexValue { expr: &at + &IntExpr::from(1), dtype: DType::I32 }, &[]);
    m.done(&[picked, updated, value])
}
