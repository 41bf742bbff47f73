//! Tensors whose lengths data decides: what is chosen is read on by operators of every kind, down to nothing and up to
//! everything.

use tenfold_ir::arith::{IntExpr, Sym};
use tenfold_ir::op::{BinaryOp, ElementOp, ReduceOp};
use tenfold_ir::relax::{Op, PadMode, SliceAxis, SymDecl, SymKind, ValueId};
use tenfold_ir::{DType, Loc, Scalar};

use super::{args, int, numbers, reals};
use crate::case::{Case, Make};

pub(crate) fn cases() -> Vec<Case> {
    vec![
        read_on("lengths_some", &[3.0, 0.0, -1.5, 0.0, 2.0, 0.0]),
        read_on("lengths_none", &[0.0; 6]),
        read_on("lengths_all", &[6.0, 5.0, 4.0, 3.0, 2.0, 1.0]),
        read_on("lengths_one", &[0.0, 0.0, 0.0, 0.0, 0.0, 0.5]),
        read_on("lengths_empty", &[]),
        nested(&[1, 4, 1, 0, 4, 1]),
        nested(&[0, 0, 0, 0, 0, 0]),
        nested(&[1, 2, 3, 4, 5, 6]),
    ]
}

/// A symbol that is bound to a count.
fn length(m: &mut Make, count: ValueId) -> IntExpr {
    let sym = Sym::new(format!("len{}", m.b.sym_count()));
    let (low, high) = m.b.range(count).cloned().expect("the range of a count is known");
    let bound = m.emit(Op::BindIndex(sym.clone()), &[count]);
    m.b.declare_sym(SymDecl { sym: sym.clone(), kind: SymKind::Bound(bound), loc: Loc::default() });
    m.b.prover.assume_range(&sym, &low, &high);
    IntExpr::var(sym)
}

/// The first elements of each axis.
fn cut(m: &mut Make, x: ValueId, shape: &[IntExpr]) -> ValueId {
    let axes = shape.iter().map(|extent| SliceAxis { begin: 0.into(), extent: extent.clone(), step: 1 }).collect();
    m.emit(Op::Slice { axes, drop: Vec::new() }, &[x])
}

/// A vector with 0 behind its elements.
fn padded(m: &mut Make, x: ValueId, to: &IntExpr) -> ValueId {
    let ty = m.b.tensor(x).clone();
    let zero = m.b.scalar(Scalar::zero(ty.dtype));
    let after = vec![to - &ty.shape[0]];
    m.emit(Op::Pad { mode: PadMode::Constant, before: vec![0.into()], after }, &[x, zero])
}

/// The elements other than 0: element by element, sorted, summed, joined with others, and as a matrix.
fn read_on(name: &str, cells: &[f64]) -> Case {
    let mut m = Make::new(name);
    let n = m.dim("N", cells.len() as i64, 0, 0);
    let x = m.of(DType::F32, std::slice::from_ref(&n), &reals(DType::F32, cells));
    let found = m.call("nonzero", &args(&[x]), &[]);
    let found = m.parts(found, 2);
    let len = length(&mut m, found[1]);
    let places = cut(&mut m, found[0], &[1.into(), len.clone()]);
    let places = m.emit(Op::Reshape { shape: vec![len.clone()] }, &[places]);
    let chosen = m.call("take", &args(&[x, places]), &[]);
    let twice = m.element(ElementOp::Binary(BinaryOp::Add), &[chosen, chosen]);
    let total = m.reduce(ReduceOp::Sum, twice, &[0], false);
    let order = m.call("sort", &args(&[twice]), &[("axis", int(0))]);
    let joined = m.emit(Op::Concat { axis: 0 }, &[twice, x]);
    let all = m.reduce(ReduceOp::Sum, joined, &[0], false);
    let column = m.emit(Op::Reshape { shape: vec![len.clone(), 1.into()] }, &[twice]);
    let row = m.emit(Op::Reshape { shape: vec![1.into(), len.clone()] }, &[chosen]);
    let square = m.emit(Op::MatMul, &[row, column]);
    let count = m.emit(Op::IndexValue { expr: len, dtype: DType::I64 }, &[]);
    let (twice, order) = (padded(&mut m, twice, &n), padded(&mut m, order, &n));

    let kept: Vec<f64> = cells.iter().copied().filter(|c| *c != 0.0).collect();
    let doubled: Vec<f64> = kept.iter().map(|c| c * 2.0).collect();
    let mut ascending = doubled.clone();
    ascending.sort_by(f64::total_cmp);
    let room = |mut list: Vec<f64>| {
        list.resize(cells.len(), 0.0);
        reals(DType::F32, &list)
    };
    m.exactly(count, numbers(DType::I64, &[kept.len() as i64]));
    m.near(total, &[doubled.iter().sum()], 1e-5);
    m.near(all, &[doubled.iter().chain(cells).sum()], 1e-5);
    m.near(square, &[kept.iter().map(|c| 2.0 * c * c).sum()], 1e-4);
    m.exactly(twice, room(doubled));
    m.exactly(order, room(ascending));
    m.done(&[count, total, all, square, twice, order])
}

/// A length within a length: the different ones among the elements other than 0.
fn nested(cells: &[i64]) -> Case {
    let mut kept: Vec<i64> = cells.iter().copied().filter(|c| *c != 0).collect();
    let mut m = Make::new(&format!("lengths_nested_{}", kept.len()));
    let n = IntExpr::from(cells.len() as i64);
    let x = m.values(DType::I64, &[cells.len() as i64], &numbers(DType::I64, cells));
    let zero = m.b.scalar(Scalar::zero(DType::I64));
    let holds = m.element(ElementOp::Compare(tenfold_ir::op::CmpOp::Ne), &[x, zero]);
    let some = m.call("compress", &args(&[holds, x]), &[]);
    let some = m.parts(some, 2);
    let outer = length(&mut m, some[1]);
    let some = cut(&mut m, some[0], &[outer]);
    let different = m.call("unique", &args(&[some]), &[]);
    let different = m.parts(different, 2);
    let inner = length(&mut m, different[1]);
    let different = cut(&mut m, different[0], std::slice::from_ref(&inner));
    let count = m.emit(Op::IndexValue { expr: inner, dtype: DType::I64 }, &[]);
    let different = padded(&mut m, different, &n);
    kept.sort_unstable();
    kept.dedup();
    m.exactly(count, numbers(DType::I64, &[kept.len() as i64]));
    kept.resize(cells.len(), 0);
    m.exactly(different, numbers(DType::I64, &kept));
    m.done(&[count, different])
}
