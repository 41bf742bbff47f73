//! Float operators against Rust's own, with and without instructions for them.

use tenfold_ir::{
    DType, Scalar,
    op::{BinaryOp, UnaryOp},
    tir::{Intrinsic, Ty},
};

use super::{bytes, casts::same, edges, elementwise, on_machines, pairs, scalars};

const FLOATS: [DType; 4] = [DType::F16, DType::BF16, DType::F32, DType::F64];

const UNARY: [UnaryOp; 14] = [
    UnaryOp::Neg,
    UnaryOp::Abs,
    UnaryOp::Sign,
    UnaryOp::Floor,
    UnaryOp::Ceil,
    UnaryOp::Round,
    UnaryOp::Trunc,
    UnaryOp::Sqrt,
    UnaryOp::Rsqrt,
    UnaryOp::Reciprocal,
    UnaryOp::Square,
    UnaryOp::IsNan,
    UnaryOp::IsInf,
    UnaryOp::IsFinite,
];

/// In `f32` for all but `f64`, then rounded to the dtype.
fn unary(op: UnaryOp, x: Scalar) -> Scalar {
    macro_rules! of {
        ($x:expr) => {{
            let x = $x;
            match op {
                UnaryOp::Neg => -x,
                UnaryOp::Abs => x.abs(),
                UnaryOp::Sign if x > 0.0 => 1.0,
                UnaryOp::Sign if x < 0.0 => -1.0,
                UnaryOp::Sign => x,
                UnaryOp::Floor => x.floor(),
                UnaryOp::Ceil => x.ceil(),
                UnaryOp::Round => x.round_ties_even(),
                UnaryOp::Trunc => x.trunc(),
                UnaryOp::Sqrt => x.sqrt(),
                UnaryOp::Rsqrt => 1.0 / x.sqrt(),
                UnaryOp::Reciprocal => 1.0 / x,
                _ => x * x,
            }
        }};
    }
    let wide = x.to_f64();
    match op {
        UnaryOp::IsNan => return Scalar::bool(wide.is_nan()),
        UnaryOp::IsInf => return Scalar::bool(wide.is_infinite()),
        UnaryOp::IsFinite => return Scalar::bool(wide.is_finite()),
        _ => {}
    }
    if x.dtype == DType::F64 {
        Scalar::float(DType::F64, of!(wide))
    } else {
        Scalar::float(x.dtype, f64::from(of!(wide as f32)))
    }
}

#[test]
fn one_operand() {
    let out_of = |op, dtype| match op {
        UnaryOp::IsNan | UnaryOp::IsInf | UnaryOp::IsFinite => DType::Bool,
        _ => dtype,
    };
    let mut prims = Vec::new();
    for dtype in FLOATS {
        for op in UNARY {
            let name = format!("{dtype}_{op:?}");
            prims.push(elementwise(&name, &[dtype], out_of(op, dtype), |b, x| b.unary(op, x[0])));
        }
    }
    on_machines(prims, |machine, library| {
        for dtype in FLOATS {
            let a = edges(dtype);
            for op in UNARY {
                let to = out_of(op, dtype);
                let mut out = vec![0; a.len() * to.size_bytes()];
                library.call(&format!("{dtype}_{op:?}"), &[&bytes(&a)], &mut out, a.len());
                for (x, got) in a.iter().zip(scalars(to, &out)) {
                    let want = unary(op, *x);
                    assert!(
                        same(got, want),
                        "{machine}: {op:?} {dtype} {}: {} not {}",
                        x.to_f64(),
                        got.to_f64(),
                        want.to_f64()
                    );
                }
            }
        }
    });
}

const BINARY: [BinaryOp; 9] = [
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Div,
    BinaryOp::Rem,
    BinaryOp::DivEuclid,
    BinaryOp::RemEuclid,
    BinaryOp::Min,
    BinaryOp::Max,
];

/// In `f32` for all but `f64`, then rounded to the dtype.
fn binary(op: BinaryOp, a: Scalar, b: Scalar) -> Scalar {
    macro_rules! of {
        ($a:expr, $b:expr) => {{
            let (a, b) = ($a, $b);
            match op {
                BinaryOp::Add => a + b,
                BinaryOp::Sub => a - b,
                BinaryOp::Mul => a * b,
                BinaryOp::Div => a / b,
                BinaryOp::Rem => a % b,
                BinaryOp::DivEuclid => a.div_euclid(b),
                BinaryOp::RemEuclid => a.rem_euclid(b),
                _ if a.is_nan() => a,
                _ if b.is_nan() => b,
                BinaryOp::Min if a == b => {
                    if a.is_sign_negative() {
                        a
                    } else {
                        b
                    }
                }
                BinaryOp::Min => a.min(b),
                _ if a == b => {
                    if a.is_sign_negative() {
                        b
                    } else {
                        a
                    }
                }
                _ => a.max(b),
            }
        }};
    }
    if a.dtype == DType::F64 {
        Scalar::float(DType::F64, of!(a.to_f64(), b.to_f64()))
    } else {
        Scalar::float(a.dtype, f64::from(of!(a.to_f64() as f32, b.to_f64() as f32)))
    }
}

#[test]
fn two_operands() {
    let mut prims = Vec::new();
    for dtype in FLOATS {
        for op in BINARY {
            let name = format!("{dtype}_{op:?}");
            prims.push(elementwise(&name, &[dtype, dtype], dtype, |b, x| b.binary(op, x[0], x[1])));
        }
    }
    on_machines(prims, |machine, library| {
        for dtype in FLOATS {
            let (a, b) = pairs(&edges(dtype), &edges(dtype));
            for op in BINARY {
                let mut out = vec![0; a.len() * dtype.size_bytes()];
                library.call(&format!("{dtype}_{op:?}"), &[&bytes(&a), &bytes(&b)], &mut out, a.len());
                for ((x, y), got) in a.iter().zip(&b).zip(scalars(dtype, &out)) {
                    let want = binary(op, *x, *y);
                    assert!(
                        same(got, want),
                        "{machine}: {op:?} {dtype} {} {}: {} not {}",
                        x.to_f64(),
                        y.to_f64(),
                        got.to_f64(),
                        want.to_f64()
                    );
                }
            }
        }
    });
}

/// The other operand of `min` and `max` is often a constant.
#[test]
fn extremes_of_constants() {
    let dtypes = [DType::BF16, DType::F32, DType::F64];
    let numbers = [0.0, -0.0, 6.0, -1.5, f64::INFINITY, f64::NAN];
    type Case = (DType, BinaryOp, usize, bool);
    let name = |(dtype, op, n, first): Case| format!("{dtype}_{op:?}_{n}_{first}");
    let cases: Vec<Case> = dtypes
        .into_iter()
        .flat_map(|dtype| [BinaryOp::Min, BinaryOp::Max].map(|op| (dtype, op)))
        .flat_map(|(dtype, op)| (0..6).map(move |n| (dtype, op, n)))
        .flat_map(|(dtype, op, n)| [false, true].map(|first| (dtype, op, n, first)))
        .collect();
    let prim = |case: &Case| {
        let (dtype, op, n, first) = *case;
        elementwise(&name(*case), &[dtype], dtype, |b, x| {
            let number = b.scalar(Scalar::float(dtype, numbers[n]));
            if first { b.binary(op, number, x[0]) } else { b.binary(op, x[0], number) }
        })
    };
    on_machines(cases.iter().map(prim).collect(), |machine, library| {
        for case in &cases {
            let (dtype, op, n, _) = *case;
            let a = edges(dtype);
            let mut out = bytes(&a);
            library.call(&name(*case), &[&bytes(&a)], &mut out, a.len());
            for (x, got) in a.iter().zip(scalars(dtype, &out)) {
                let want = binary(op, *x, Scalar::float(dtype, numbers[n]));
                assert!(same(got, want), "{machine}: {op:?} {dtype} {} {}: {}", x.to_f64(), numbers[n], got.to_f64());
            }
        }
    });
}

/// Numbers that look random and are the same in every run.
fn random(count: usize, seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed;
    (0..count).map(move |_| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let x = state ^ (state >> 33);
        x.wrapping_mul(0xff51_afd7_ed55_8ccd) ^ (x >> 29)
    })
}

#[test]
fn products_and_sums_that_round_once() {
    let mut prims = Vec::new();
    for dtype in [DType::F32, DType::F64] {
        prims.push(elementwise(&format!("{dtype}_fma"), &[dtype; 3], dtype, |b, x| {
            b.call(Intrinsic::Fma, x.to_vec(), Ty::scalar(dtype))
        }));
    }
    on_machines(prims, |machine, library| {
        for dtype in [DType::F32, DType::F64] {
            let mask = if dtype == DType::F32 { 0xffff_ffff } else { u64::MAX };
            let raw = |seed| random(60_000, seed).map(|bits| Scalar { dtype, bits: bits & mask });
            let (a, b) = pairs(&edges(dtype), &edges(dtype));
            let c: Vec<Scalar> = edges(dtype).into_iter().cycle().skip(3).step_by(7).take(a.len()).collect();
            let a: Vec<Scalar> = a.into_iter().chain(raw(1)).collect();
            let b: Vec<Scalar> = b.into_iter().chain(raw(2)).collect();
            let mut c: Vec<Scalar> = c.into_iter().chain(raw(3)).collect();
            // Addends near the product, where bits cancel.
            for (n, c) in c.iter_mut().enumerate().filter(|(n, _)| n % 3 == 0) {
                *c = Scalar::float(dtype, -a[n].to_f64() * b[n].to_f64());
                c.bits ^= (n as u64 / 3) & 3;
            }
            let mut out = vec![0; a.len() * dtype.size_bytes()];
            library.call(&format!("{dtype}_fma"), &[&bytes(&a), &bytes(&b), &bytes(&c)], &mut out, a.len());
            for (n, got) in scalars(dtype, &out).into_iter().enumerate() {
                let (x, y, z) = (a[n].to_f64(), b[n].to_f64(), c[n].to_f64());
                let want = if dtype == DType::F64 {
                    Scalar::float(dtype, x.mul_add(y, z))
                } else {
                    Scalar::float(dtype, f64::from((x as f32).mul_add(y as f32, z as f32)))
                };
                assert!(
                    same(got, want),
                    "{machine}: {x:e} * {y:e} + {z:e}: {:e} not {:e}",
                    got.to_f64(),
                    want.to_f64()
                );
            }
        }
    });
}

#[test]
fn roots_and_remainders_of_any_bits() {
    let mut prims = Vec::new();
    for dtype in [DType::F32, DType::F64] {
        prims.push(elementwise(&format!("{dtype}_sqrt"), &[dtype], dtype, |b, x| b.unary(UnaryOp::Sqrt, x[0])));
        prims
            .push(elementwise(&format!("{dtype}_rem"), &[dtype; 2], dtype, |b, x| b.binary(BinaryOp::Rem, x[0], x[1])));
    }
    on_machines(prims, |machine, library| {
        for dtype in [DType::F32, DType::F64] {
            let mask = if dtype == DType::F32 { 0xffff_ffff } else { u64::MAX };
            let raw = |seed| random(40_000, seed).map(|bits| Scalar { dtype, bits: bits & mask });
            let (a, b): (Vec<Scalar>, Vec<Scalar>) = (raw(5).collect(), raw(6).collect());
            let mut out = bytes(&a);
            library.call(&format!("{dtype}_sqrt"), &[&bytes(&a)], &mut out, a.len());
            for (x, got) in a.iter().zip(scalars(dtype, &out)) {
                assert!(same(got, unary(UnaryOp::Sqrt, *x)), "{machine}: sqrt {:e}: {:e}", x.to_f64(), got.to_f64());
            }
            library.call(&format!("{dtype}_rem"), &[&bytes(&a), &bytes(&b)], &mut out, a.len());
            for ((x, y), got) in a.iter().zip(&b).zip(scalars(dtype, &out)) {
                assert!(
                    same(got, binary(BinaryOp::Rem, *x, *y)),
                    "{machine}: {:e} % {:e}: {:e}",
                    x.to_f64(),
                    y.to_f64(),
                    got.to_f64()
                );
            }
        }
    });
}
