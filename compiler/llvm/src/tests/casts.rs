//! Conversions between all dtypes are Rust's `as`, and round once.

use tenfold_ir::{DType, Scalar};

use super::{bytes, edges, elementwise, on_machines, scalars};

/// Equal bits, or both NaN.
pub(super) fn same(a: Scalar, b: Scalar) -> bool {
    a == b || a.dtype.is_float() && a.to_f64().is_nan() && b.to_f64().is_nan()
}

/// The nearest of a dtype.
fn expected(x: Scalar, to: DType) -> Scalar {
    if x.dtype.is_float() {
        return Scalar::float(to, x.to_f64());
    }
    let value = x.to_i128();
    match to {
        DType::F32 => Scalar { dtype: to, bits: u64::from((value as f32).to_bits()) },
        DType::F16 | DType::BF16 => {
            // Beyond 2^53 the low bits matter only for the direction of ties.
            let large = value.unsigned_abs() >= 1 << 53;
            let sticky = if large && value & 0x7ff != 0 { (value & !0x7ff) | 0x400 } else { value };
            let exact = if large { sticky & !0x3ff } else { sticky };
            let odd = if large && value & 0x7ff != 0 { (value & !0x7ff) | 0x800 } else { exact };
            Scalar::float(to, odd as f64)
        }
        _ => Scalar::int(to, value),
    }
}

#[test]
fn all_pairs() {
    let mut prims = Vec::new();
    for from in DType::ALL {
        for to in DType::ALL {
            prims.push(elementwise(&format!("{from}_{to}"), &[from], to, |b, x| b.cast(to, x[0])));
        }
    }
    on_machines(prims, |machine, library| {
        for from in DType::ALL {
            let a = edges(from);
            for to in DType::ALL {
                let mut out = vec![0; a.len() * to.size_bytes()];
                library.call(&format!("{from}_{to}"), &[&bytes(&a)], &mut out, a.len());
                for (x, got) in a.iter().zip(scalars(to, &out)) {
                    let want = expected(*x, to);
                    assert!(same(got, want), "{machine}: {x:?} ({}) as {to}: {got:?}, not {want:?}", x.to_f64());
                }
            }
        }
    });
}

#[test]
fn every_half() {
    let prims = vec![
        elementwise("h_s", &[DType::F16], DType::F32, |b, x| b.cast(DType::F32, x[0])),
        elementwise("s_h", &[DType::F32], DType::F16, |b, x| b.cast(DType::F16, x[0])),
        elementwise("b_s", &[DType::BF16], DType::F32, |b, x| b.cast(DType::F32, x[0])),
        elementwise("s_b", &[DType::F32], DType::BF16, |b, x| b.cast(DType::BF16, x[0])),
    ];
    on_machines(prims, |machine, library| {
        for (up, down, dtype) in [("h_s", "s_h", DType::F16), ("b_s", "s_b", DType::BF16)] {
            let all: Vec<Scalar> = (0..=u16::MAX).map(|bits| Scalar { dtype, bits: u64::from(bits) }).collect();
            let mut wide = vec![0; all.len() * 4];
            library.call(up, &[&bytes(&all)], &mut wide, all.len());
            for (x, got) in all.iter().zip(scalars(DType::F32, &wide)) {
                assert!(same(got, Scalar::float(DType::F32, x.to_f64())), "{machine}: {x:?} is {got:?}");
            }
            // Between each two neighbours: a quarter, half and three quarters of the way.
            let near: Vec<Scalar> = scalars(DType::F32, &wide)
                .iter()
                .flat_map(|x| (0..8).map(|step| Scalar { dtype: DType::F32, bits: x.bits + step * (1 << 13 >> 3) }))
                .flat_map(|x| [x, Scalar { bits: (x.bits + 1).min(0xffff_ffff), ..x }])
                .collect();
            let mut short = vec![0; near.len() * 2];
            library.call(down, &[&bytes(&near)], &mut short, near.len());
            for (x, got) in near.iter().zip(scalars(dtype, &short)) {
                let want = Scalar::float(dtype, x.to_f64());
                assert!(same(got, want), "{machine}: {x:?} rounds to {got:?}, not {want:?}");
            }
        }
    });
}
