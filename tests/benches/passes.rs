//! How long the passes alone take on graphs of 10 to 10,000 operators: no front end, no code.
//!
//! `cargo bench -p tenfold-tests --bench passes`; `-- --table` adds the time of every pass. Ten times the operators may
//! take fourteen times as long: where it prints `over`, a pass walks over everything inside a walk over everything.

use std::time::{Duration, Instant};

use tenfold_core::pass::{self, PassContext, Timing};
use tenfold_core::{PIPELINE, Target};
use tenfold_ir::op::{BinaryOp, ElementOp, ReduceOp, UnaryOp};
use tenfold_ir::relax::{Builder, Op, ParamKind, SliceAxis, TensorType, ValueId};
use tenfold_ir::{DType, Function, Loc, Module};

const SIZES: [usize; 4] = [10, 100, 1_000, 10_000];
/// What ten times the operators may cost.
const MOST: f64 = 14.0;

/// A shape of a graph: what the operator of a number does with the value before it.
type Grow = fn(&mut Builder, usize, ValueId, &[ValueId]) -> ValueId;

fn main() {
    let table = std::env::args().any(|arg| arg == "--table");
    let graphs: [(&str, Grow); 4] =
        [("matmuls", matmuls), ("branches", branches), ("mixed", mixed), ("elementwise chain", chain)];
    let mut over = 0;
    for (name, grow) in graphs {
        let mut times = Vec::new();
        for ops in SIZES {
            // A long run is not shorter by chance.
            let runs = if ops >= 10_000 { 1 } else { 3 };
            let (time, text) = best(&graph(ops, grow), runs);
            println!("{name:>18} {ops:>6} operators {:>12.3} ms", time.as_secs_f64() * 1e3);
            if table && ops == SIZES[SIZES.len() - 1] {
                print!("{text}");
            }
            times.push(time.as_secs_f64());
        }
        let growth = times[3] / times[2];
        let verdict = if growth <= MOST { "ok" } else { "over" };
        over += usize::from(growth > MOST);
        println!("{name:>18} t(10,000) / t(1,000) = {growth:.1}, at most {MOST}: {verdict}");
    }
    println!("{over} of {} graphs over", graphs.len());
}

/// The best of some runs, with its table.
fn best(module: &Module, runs: usize) -> (Duration, String) {
    let runs = (0..runs).map(|_| {
        let (timing, rows) = Timing::new();
        let mut context = PassContext::new(Target::from_triple("x86_64-unknown-linux-gnu", &["avx2", "fma"]));
        context.verify = false;
        context.watch(Box::new(timing));
        let mut module = module.clone();
        let begin = Instant::now();
        pass::run(PIPELINE, &mut module, &context).unwrap_or_else(|e| panic!("{e:?}"));
        (begin.elapsed(), rows.text())
    });
    runs.min_by_key(|(time, _)| *time).unwrap_or_default()
}

/// A function of one parameter and so many operators.
fn graph(ops: usize, grow: Grow) -> Module {
    let mut b = Builder::new("f");
    let ty = TensorType { dtype: DType::F32, shape: vec![8.into(), 8.into()] };
    let x = b.param(ParamKind::Input, ty, "x", 0, Loc::default());
    let mut values = vec![x];
    for n in 0..ops {
        let last = values[values.len() - 1];
        let next = grow(&mut b, n, last, &values);
        values.push(next);
    }
    let func = b.finish(&values[values.len() - 1..]);
    let mut module = Module { entry: "f".into(), sources: vec!["f".into()], ..Module::default() };
    module.functions.insert("f".into(), Function::Relax(func));
    module
}

fn binary(b: &mut Builder, op: BinaryOp, x: ValueId, y: ValueId) -> ValueId {
    b.element(ElementOp::Binary(op), &[x, y]).expect("shapes agree")
}

fn unary(b: &mut Builder, op: UnaryOp, x: ValueId) -> ValueId {
    b.element(ElementOp::Unary(op), &[x]).expect("one operand")
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
        0 => b.emit(Op::MatMul, &[last, values[0]]).expect("square"),
        _ => binary(b, BinaryOp::Sub, last, values[0]),
    }
}

/// Values that live long: each is read again much later.
fn branches(b: &mut Builder, n: usize, last: ValueId, values: &[ValueId]) -> ValueId {
    let old = values[values.len() - values.len().min(40)];
    match n % 4 {
        0 => b.emit(Op::MatMul, &[last, old]).expect("square"),
        1 => unary(b, UnaryOp::Abs, old),
        _ => binary(b, BinaryOp::Max, last, old),
    }
}

/// A bit of everything, updates in place with it.
fn mixed(b: &mut Builder, n: usize, last: ValueId, values: &[ValueId]) -> ValueId {
    let old = values[values.len() - 1 - n.min(7)];
    let whole = || SliceAxis { begin: 0.into(), extent: 8.into(), step: 1 };
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
        5 => b.emit(Op::MatMul, &[last, old]).expect("square"),
        6 => b.emit(Op::Reshape { shape: vec![8.into(), 8.into()] }, &[last]).expect("64 elements"),
        _ => unary(b, UnaryOp::Neg, last),
    }
}
