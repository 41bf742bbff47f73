//! Expanded math functions keep their bounds when LLVM contracts products and sums.

use tenfold_core::{PIPELINE, pass, pass::PassContext};
use tenfold_ir::{
    DType, Function, Scalar,
    eval::{self, scalar_ops},
    op::{BinaryOp, UnaryOp},
    tir::PrimFunc,
};

use super::{bytes, edges, elementwise, host, module, on_machines, scalars};

/// Functions that are written out, and so are not correctly rounded.
fn unary() -> impl Iterator<Item = UnaryOp> {
    UnaryOp::ALL.iter().copied().filter(|op| eval::ulps(*op) > 0.5)
}

/// The same of two operands.
fn binary() -> impl Iterator<Item = BinaryOp> {
    BinaryOp::ALL.iter().copied().filter(|op| eval::binary_ulps(*op) > 0.5)
}

/// `f64` has no better reference at hand than itself.
const DTYPES: [DType; 2] = [DType::F16, DType::F32];

/// The functions after the pass that writes math out.
fn expanded(prims: Vec<PrimFunc>) -> Vec<PrimFunc> {
    let mut module = module(prims);
    let from = PIPELINE.iter().position(|pass| pass.info.name == "LowerMath").expect("the pipeline writes math out");
    let context = PassContext::new(host());
    pass::run(&PIPELINE[from..=from], &mut module, &context).unwrap_or_else(|error| panic!("{error:?}"));
    let prims = module.functions.into_values().filter_map(|function| match function {
        Function::Prim(prim) => Some(prim),
        Function::Relax(_) => None,
    });
    prims.collect()
}

/// Edges, and numbers of every size between.
fn points(dtype: DType) -> Vec<Scalar> {
    let mut all = edges(dtype);
    for n in 0..4000_i32 {
        let size = 2f64.powf(f64::from(n) / 4000.0 * 24.0 - 12.0);
        let spread = 1.0 + f64::from(n % 17) * 1e-3;
        all.push(Scalar::float(dtype, size * spread));
        all.push(Scalar::float(dtype, -size * spread));
    }
    all
}

/// Whether the expansion takes the operand: periods are counted up to some size.
fn takes(op: UnaryOp, x: Scalar) -> bool {
    match op {
        UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Tan => x.to_f64().abs() < 1e4,
        UnaryOp::Acosh => x.to_f64() >= -1.0,
        _ => true,
    }
}

/// How many units in the last place lie between, or why they cannot be compared.
fn distance(got: Scalar, want: Scalar) -> f64 {
    let (x, y) = (got.to_f64(), want.to_f64());
    if x == y || x.is_nan() && y.is_nan() {
        return 0.0;
    }
    // At the edge of the range one may round to infinity.
    let largest = eval::largest(got.dtype);
    let clip = |x: f64| x.clamp(-largest, largest);
    (clip(x) - clip(y)).abs() / eval::ulp(got.dtype, clip(y))
}

#[test]
fn math_keeps_its_bounds() {
    let mut prims = Vec::new();
    for dtype in DTYPES {
        for op in unary() {
            prims.push(elementwise(&format!("{dtype}_{op:?}"), &[dtype], dtype, |b, x| b.unary(op, x[0])));
        }
        for op in binary() {
            prims.push(elementwise(&format!("{dtype}_{op:?}"), &[dtype; 2], dtype, |b, x| b.binary(op, x[0], x[1])));
        }
    }
    on_machines(expanded(prims), |machine, library| {
        let mut worst: Vec<String> = Vec::new();
        for dtype in DTYPES {
            let a = points(dtype);
            let b: Vec<Scalar> = a.iter().rev().copied().cycle().skip(37).take(a.len()).collect();
            let mut check = |name: &str,
                             bound: f64,
                             inputs: &[&[u8]],
                             want: &dyn Fn(usize) -> Scalar,
                             takes: &dyn Fn(usize) -> bool| {
                let mut out = vec![0; a.len() * dtype.size_bytes()];
                library.call(&format!("{dtype}_{name}"), inputs, &mut out, a.len());
                let off = scalars(dtype, &out)
                    .into_iter()
                    .enumerate()
                    .filter(|(i, _)| takes(*i))
                    .map(|(i, got)| (distance(got, want(i)), i, got));
                let (most, i, got) = off.max_by(|x, y| x.0.total_cmp(&y.0)).expect("there are points");
                if most.is_nan() || most > bound + 0.5 {
                    let (x, y) = (a[i].to_f64(), b[i].to_f64());
                    worst
                        .push(format!("{machine} {dtype} {name} ({x:e}, {y:e}): {:e}, {most} > {bound}", got.to_f64()));
                }
            };
            let (x, y) = (bytes(&a), bytes(&b));
            for op in unary() {
                check(&format!("{op:?}"), eval::ulps(op), &[&x], &|i| scalar_ops::unary(op, a[i]), &|i| {
                    takes(op, a[i])
                });
            }
            for op in binary() {
                check(
                    &format!("{op:?}"),
                    eval::binary_ulps(op),
                    &[&x, &y],
                    &|i| scalar_ops::binary(op, a[i], b[i]),
                    &|_| true,
                );
            }
        }
        assert!(worst.is_empty(), "{}", worst.join("\n"));
    });
}
