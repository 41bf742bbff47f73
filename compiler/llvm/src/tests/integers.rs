//! Integer operators are total, on every width.

use tenfold_ir::{
    DType, Scalar,
    op::{BinaryOp, CmpOp, UnaryOp},
};

use super::{bytes, edges, elementwise, on_machines, pairs, scalars};

const INTS: [DType; 8] = [DType::I8, DType::U8, DType::I16, DType::U16, DType::I32, DType::U32, DType::I64, DType::U64];

const OPS: [BinaryOp; 14] = [
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::Div,
    BinaryOp::Rem,
    BinaryOp::DivEuclid,
    BinaryOp::RemEuclid,
    BinaryOp::Min,
    BinaryOp::Max,
    BinaryOp::And,
    BinaryOp::Or,
    BinaryOp::Xor,
    BinaryOp::Shl,
    BinaryOp::Shr,
];

/// What the language says, in 128 bits.
fn expected(op: BinaryOp, a: Scalar, b: Scalar) -> Scalar {
    let (x, y) = (a.to_i128(), b.to_i128());
    let width = i128::from(a.dtype.bits());
    let count = y.rem_euclid(width) as u32;
    let value = match op {
        BinaryOp::Add => x + y,
        BinaryOp::Sub => x - y,
        BinaryOp::Mul => x.wrapping_mul(y),
        BinaryOp::Div => x.checked_div(y).unwrap_or(0),
        BinaryOp::Rem => x.checked_rem(y).unwrap_or(x),
        BinaryOp::DivEuclid => x.checked_div_euclid(y).unwrap_or(0),
        BinaryOp::RemEuclid => x.checked_rem_euclid(y).unwrap_or(x),
        BinaryOp::Min => x.min(y),
        BinaryOp::Max => x.max(y),
        BinaryOp::And => x & y,
        BinaryOp::Or => x | y,
        BinaryOp::Xor => x ^ y,
        BinaryOp::Shl => x << count,
        BinaryOp::Shr => x >> count,
        BinaryOp::Pow | BinaryOp::Atan2 => panic!("not of integers"),
    };
    Scalar::int(a.dtype, value)
}

#[test]
fn two_operands() {
    let mut prims = Vec::new();
    for dtype in INTS {
        for op in OPS {
            prims
                .push(elementwise(&format!("{dtype}_{op:?}"), &[dtype, dtype], dtype, |b, x| b.binary(op, x[0], x[1])));
        }
    }
    on_machines(prims, |_, library| {
        for dtype in INTS {
            let (a, b) = pairs(&edges(dtype), &edges(dtype));
            for op in OPS {
                let mut out = bytes(&a);
                library.call(&format!("{dtype}_{op:?}"), &[&bytes(&a), &bytes(&b)], &mut out, a.len());
                for ((x, y), got) in a.iter().zip(&b).zip(scalars(dtype, &out)) {
                    assert_eq!(got, expected(op, *x, *y), "{op:?} {x:?} {y:?}");
                }
            }
        }
    });
}

#[test]
fn known_divisors() {
    let divisors = [-128, -7, -2, -1, 0, 1, 2, 3, 7, 8, 10, 64, 127];
    let ops = [BinaryOp::Div, BinaryOp::Rem, BinaryOp::DivEuclid, BinaryOp::RemEuclid];
    let dtypes = [DType::I8, DType::U8, DType::I32, DType::U32, DType::I64];
    let mut prims = Vec::new();
    let name = |dtype: DType, op: BinaryOp, n: i128| format!("{dtype}_{op:?}_{}", n.to_string().replace('-', "m"));
    for dtype in dtypes {
        for op in ops {
            for n in divisors {
                prims.push(elementwise(&name(dtype, op, n), &[dtype], dtype, |b, x| {
                    let by = b.scalar(Scalar::int(dtype, n));
                    b.binary(op, x[0], by)
                }));
            }
        }
    }
    on_machines(prims, |_, library| {
        for dtype in dtypes {
            let a = edges(dtype);
            for op in ops {
                for n in divisors {
                    let mut out = bytes(&a);
                    library.call(&name(dtype, op, n), &[&bytes(&a)], &mut out, a.len());
                    let by = Scalar::int(dtype, n);
                    for (x, got) in a.iter().zip(scalars(dtype, &out)) {
                        assert_eq!(got, expected(op, *x, by), "{op:?} {x:?} {n}");
                    }
                }
            }
        }
    });
}

#[test]
fn comparisons() {
    let ops = [CmpOp::Eq, CmpOp::Ne, CmpOp::Lt, CmpOp::Le, CmpOp::Gt, CmpOp::Ge];
    let holds = |op, x: i128, y: i128| match op {
        CmpOp::Eq => x == y,
        CmpOp::Ne => x != y,
        CmpOp::Lt => x < y,
        CmpOp::Le => x <= y,
        CmpOp::Gt => x > y,
        CmpOp::Ge => x >= y,
    };
    let dtypes = [DType::Bool, DType::I8, DType::U8, DType::I64, DType::U64];
    let mut prims = Vec::new();
    for dtype in dtypes {
        for op in ops {
            let name = format!("{dtype}_{op:?}");
            prims.push(elementwise(&name, &[dtype, dtype], DType::Bool, |b, x| b.compare(op, x[0], x[1])));
        }
    }
    on_machines(prims, |_, library| {
        for dtype in dtypes {
            let (a, b) = pairs(&edges(dtype), &edges(dtype));
            for op in ops {
                let mut out = vec![7; a.len()];
                library.call(&format!("{dtype}_{op:?}"), &[&bytes(&a), &bytes(&b)], &mut out, a.len());
                for ((x, y), got) in a.iter().zip(&b).zip(out) {
                    assert_eq!(got, u8::from(holds(op, x.to_i128(), y.to_i128())), "{op:?} {x:?} {y:?}");
                }
            }
        }
    });
}

#[test]
fn one_operand() {
    let ops = [UnaryOp::Neg, UnaryOp::Not, UnaryOp::Abs, UnaryOp::Sign, UnaryOp::Square];
    let expected = |op, x: Scalar| {
        let v = x.to_i128();
        Scalar::int(
            x.dtype,
            match op {
                UnaryOp::Neg => -v,
                UnaryOp::Not => !v,
                UnaryOp::Abs => v.abs(),
                UnaryOp::Sign => v.signum(),
                _ => v.wrapping_mul(v),
            },
        )
    };
    let mut prims = Vec::new();
    for dtype in INTS {
        for op in ops {
            prims.push(elementwise(&format!("{dtype}_{op:?}"), &[dtype], dtype, |b, x| b.unary(op, x[0])));
        }
    }
    on_machines(prims, |_, library| {
        for dtype in INTS {
            let a = edges(dtype);
            for op in ops {
                let mut out = bytes(&a);
                library.call(&format!("{dtype}_{op:?}"), &[&bytes(&a)], &mut out, a.len());
                for (x, got) in a.iter().zip(scalars(dtype, &out)) {
                    assert_eq!(got, expected(op, *x), "{op:?} {x:?}");
                }
            }
        }
    });
}
