//! Random numbers: the generator itself, and that the distributions are what they are called.

use tenfold_ir::ops::{Arg, Literal};
use tenfold_ir::{DType, Scalar};

use super::{args, int};
use crate::case::{Case, Make, fixed};

pub(crate) fn cases() -> Vec<Case> {
    vec![uniform(), others(), symbolic()]
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The bits of a place in a stream of a seed.
fn bits(seed: u64, stream: u64, at: u64) -> u64 {
    let start = seed.wrapping_add(stream.wrapping_mul(0xd1b5_4a32_d192_ed03));
    let start = (start ^ (start >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mix(start.wrapping_add((at + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

fn unit(seed: u64, stream: u64, n: u64) -> Vec<f64> {
    (0..n).map(|at| (bits(seed, stream, at) >> 40) as f64 * 0.5f64.powi(24)).collect()
}

fn seed(value: u64) -> Arg {
    Arg::Literal(Literal::Int(i128::from(value)))
}

fn uniform() -> Case {
    let mut m = Make::new("random_uniform");
    let given = m.scalar(Scalar::int(DType::U64, 12345));
    let shape = Arg::Shape(fixed(&[5, 7]));
    let y = m.call("random_uniform", &[Arg::Value(given), shape.clone()], &[]);
    let wanted = unit(12345, 0, 35);
    m.near(y, &wanted, 0.0);
    let mean = wanted.iter().sum::<f64>() / 35.0;
    assert!((mean - 0.5).abs() < 0.15 && wanted.iter().all(|x| (0.0..1.0).contains(x)));
    let wide = m.typed("random_uniform", Some(DType::F64), &[seed(7), shape.clone()], &[]);
    m.near(wide, &(0..35).map(|at| (bits(7, 0, at) >> 11) as f64 * 0.5f64.powi(53)).collect::<Vec<_>>(), 0.0);
    let half = m.typed("random_uniform", Some(DType::F16), &[seed(7), shape.clone()], &[]);
    m.near(half, &(0..35).map(|at| (bits(7, 0, at) >> 53) as f64 * 0.5f64.powi(11)).collect::<Vec<_>>(), 0.0);
    let other = m.call("random_uniform", &[seed(12346), shape], &[]);
    m.near(other, &unit(12346, 0, 35), 0.0);
    m.done(&[y, wide, half, other])
}

fn others() -> Case {
    let mut m = Make::new("random_others");
    let y = m.call("random_normal", &[seed(3), Arg::Shape(fixed(&[400]))], &[]);
    let wanted: Vec<f64> = unit(3, 0, 400)
        .iter()
        .zip(unit(3, 1, 400))
        .map(|(u, v)| (-2.0 * (-u).ln_1p()).sqrt() * (std::f64::consts::TAU * v).cos())
        .collect();
    let mean = wanted.iter().sum::<f64>() / 400.0;
    let square = wanted.iter().map(|x| x * x).sum::<f64>() / 400.0;
    assert!(mean.abs() < 0.15 && (square - 1.0).abs() < 0.2, "{mean} {square}");
    m.near(y, &wanted, 1e-6);
    let p = m.values(DType::F32, &[4], &super::reals(DType::F32, &[0.0, 1.0, 0.5, 0.5]));
    let coin = m.call("bernoulli", &[Arg::Value(p), seed(11)], &[]);
    let drawn = unit(11, 0, 4);
    let wanted: Vec<f64> = drawn.iter().zip([0.0, 1.0, 0.5, 0.5]).map(|(u, p)| f64::from(u8::from(*u < p))).collect();
    m.near(coin, &wanted, 0.0);
    let weights = m.values(DType::F32, &[2, 3], &super::reals(DType::F32, &[0.0, -100.0, -100.0, -100.0, -100.0, 0.0]));
    let class = m.call("multinomial", &[Arg::Value(weights), seed(1)], &[("sample_size", int(4))]);
    m.exactly(class, super::numbers(DType::I64, &[0, 0, 0, 0, 2, 2, 2, 2]));
    let ones = m.values(DType::F32, &[6], &super::reals(DType::F32, &[1.0; 6]));
    let kept = m.call("dropout", &[Arg::Value(ones), seed(5)], &[]);
    m.near(kept, &unit(5, 0, 6).iter().map(|u| if *u >= 0.5 { 2.0 } else { 0.0 }).collect::<Vec<_>>(), 0.0);
    m.done(&[y, coin, class, kept])
}

fn symbolic() -> Case {
    let mut m = Make::new("random_symbolic");
    let n = m.dim("N", 6, 0, 0);
    let x = m.input(DType::F32, std::slice::from_ref(&n));
    let y = m.call("random_uniform", &[seed(9), Arg::Shape(vec![2.into(), n])], &[]);
    m.near(y, &unit(9, 0, 12), 0.0);
    let sum = m.call("cumsum", &args(&[x]), &[]);
    m.done(&[y, sum])
}
