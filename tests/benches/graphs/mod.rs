//! Graphs of any length, of the shapes that models have.

use tenfold_ir::op::{Activation, BinaryOp, ElementOp, ReduceOp, UnaryOp};
use tenfold_ir::relax::{Builder, Op, ParamKind, SliceAxis, TensorType, ValueId};
use tenfold_ir::{ConstBytes, ConstData, ConstId, DType, Function, Loc, Module};

/// Rows and columns of every value.
const SIDE: i64 = 8;

/// A shape of a graph: what the operator of a number does with the value before it.
pub(crate) type Grow = fn(&mut Builder, usize, ValueId, &[ValueId]) -> ValueId;

/// By name.
pub(crate) const GRAPHS: [(&str, Grow); 9] = [
    ("elementwise chain", chain),
    ("matmul bias relu", layers),
    ("matmuls", matmuls),
    ("fan-out", fan_out),
    ("parallel matmuls", parallel),
    ("residuals", residuals),
    ("constants", constants),
    ("branches", branches),
    ("mixed", mixed),
];

/// A function of one parameter and so many operators.
pub(crate) fn graph(ops: usize, grow: Grow) -> Module {
    let mut b = Builder::new("f");
    let x = b.param(ParamKind::Input, square(), "x", 0, Loc::default());
    let mut values = vec![x];
    for n in 0..ops {
        let last = values[values.len() - 1];
        let next = grow(&mut b, n, last, &values);
        values.push(next);
    }
    let func = b.finish(&values[values.len() - 1..]);
    let constants = (0..ops as u32).map(weight).collect();
    let mut module = Module { entry: "f".into(), sources: vec!["f".into()], constants, ..Module::default() };
    module.functions.insert("f".into(), Function::Relax(func));
    module
}

/// The data of a constant: no two are equal.
fn weight(n: u32) -> ConstData {
    let bytes: Vec<u8> = (0..SIDE * SIDE).flat_map(|at| (n as f32 + at as f32 / 64.0).to_le_bytes()).collect();
    let shape = vec![SIDE as u64; 2];
    ConstData {
        hash: format!("{n:032x}"),
        name: "w".into(),
        dtype: DType::F32,
        shape,
        bytes: ConstBytes::Inline(bytes.into()),
    }
}

fn square() -> TensorType {
    TensorType { dtype: DType::F32, shape: vec![SIDE.into(); 2] }
}

/// The constant of an operator.
fn own(b: &mut Builder, n: usize) -> ValueId {
    b.constant(ConstId(n as u32), square())
}

fn matmul(b: &mut Builder, x: ValueId, y: ValueId) -> ValueId {
    b.emit(Op::MatMul, &[x, y]).expect("square")
}

fn binary(b: &mut Builder, op: BinaryOp, x: ValueId, y: ValueId) -> ValueId {
    b.element(ElementOp::Binary(op), &[x, y]).expect("shapes agree")
}

fn unary(b: &mut Builder, op: UnaryOp, x: ValueId) -> ValueId {
    b.element(ElementOp::Unary(op), &[x]).expect("one operand")
}

fn relu(b: &mut Builder, x: ValueId) -> ValueId {
    b.element(ElementOp::Activation(Activation::Relu), &[x]).expect("one operand")
}

/// Nothing but elementwise operators, of which each has one reader.
fn chain(b: &mut Builder, n: usize, last: ValueId, values: &[ValueId]) -> ValueId {
    match n % 3 {
        0 => binary(b, BinaryOp::Add, last, values[0]),
        1 => unary(b, UnaryOp::Neg, last),
        _ => binary(b, BinaryOp::Mul, last, values[0]),
    }
}

/// A kernel each.
fn matmuls(b: &mut Builder, n: usize, last: ValueId, values: &[ValueId]) -> ValueId {
    match n % 2 {
        0 => matmul(b, last, values[0]),
        _ => binary(b, BinaryOp::Sub, last, values[0]),
    }
}

/// Layers of weights, biases and activations.
fn layers(b: &mut Builder, n: usize, last: ValueId, _: &[ValueId]) -> ValueId {
    let own = own(b, n);
    match n % 3 {
        0 => matmul(b, last, own),
        1 => binary(b, BinaryOp::Add, last, own),
        _ => relu(b, last),
    }
}

/// One value that half of all operators read.
fn fan_out(b: &mut Builder, n: usize, last: ValueId, values: &[ValueId]) -> ValueId {
    let own = own(b, n);
    match n % 2 {
        0 => binary(b, BinaryOp::Mul, values[0], own),
        _ => binary(b, BinaryOp::Add, last, values[values.len() - values.len().min(2)]),
    }
}

/// The same with products, which become one.
fn parallel(b: &mut Builder, n: usize, last: ValueId, values: &[ValueId]) -> ValueId {
    let own = own(b, n);
    match n % 2 {
        0 => matmul(b, values[0], own),
        _ => binary(b, BinaryOp::Add, last, values[values.len() - values.len().min(2)]),
    }
}

/// Diamonds, one behind the other, with a product in every other one.
fn residuals(b: &mut Builder, n: usize, last: ValueId, values: &[ValueId]) -> ValueId {
    let back = |by: usize| values[values.len() - values.len().min(by)];
    match n % 6 {
        0 => matmul(b, last, values[0]),
        1 | 3 => relu(b, last),
        4 => unary(b, UnaryOp::Abs, back(2)),
        2 => binary(b, BinaryOp::Add, last, back(3)),
        _ => binary(b, BinaryOp::Add, last, back(2)),
    }
}

/// Much that is known at build time.
fn constants(b: &mut Builder, n: usize, last: ValueId, values: &[ValueId]) -> ValueId {
    let (own, other) = (own(b, n), self::own(b, n / 2));
    match n % 4 {
        0 => binary(b, BinaryOp::Add, own, other),
        1 => matmul(b, last, own),
        2 => b.emit(Op::Transpose { perm: vec![1, 0] }, &[last]).expect("rank 2"),
        _ => binary(b, BinaryOp::Max, last, values[values.len() - values.len().min(4)]),
    }
}

/// Values that live long: each is read again much later.
fn branches(b: &mut Builder, n: usize, last: ValueId, values: &[ValueId]) -> ValueId {
    let old = values[values.len() - values.len().min(40)];
    match n % 4 {
        0 => matmul(b, last, old),
        1 => unary(b, UnaryOp::Abs, last),
        _ => binary(b, BinaryOp::Max, last, old),
    }
}

/// A bit of everything, updates in place with it.
fn mixed(b: &mut Builder, n: usize, last: ValueId, values: &[ValueId]) -> ValueId {
    let old = values[values.len() - 1 - n.min(7)];
    let whole = || SliceAxis { begin: 0.into(), extent: SIDE.into(), step: 1 };
    match n % 8 {
        0 => b.emit(Op::Transpose { perm: vec![1, 0] }, &[last]).expect("rank 2"),
        1 => binary(b, BinaryOp::Add, last, old),
        2 => b.emit(Op::Softmax { axis: 1, log: false }, &[last]).expect("rank 2"),
        3 => {
            let sum = b.emit(Op::Reduce { op: ReduceOp::Sum, axes: vec![1], keepdims: true }, &[last]);
            binary(b, BinaryOp::Sub, old, sum.expect("rank 2"))
        }
        4 => {
            let row = SliceAxis { begin: 1.into(), extent: 1.into(), step: 1 };
            let part = b.emit(Op::Slice { axes: vec![row.clone(), whole()], drop: vec![] }, &[old]).expect("a row");
            b.emit(Op::SliceUpdate { axes: vec![row, whole()], drop: vec![] }, &[last, part]).expect("a row")
        }
        5 => matmul(b, last, old),
        6 => b.emit(Op::Reshape { shape: vec![SIDE.into(); 2] }, &[last]).expect("64 elements"),
        _ => unary(b, UnaryOp::Neg, last),
    }
}
