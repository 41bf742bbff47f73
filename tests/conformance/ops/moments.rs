//! Moments, norms and normalisations, against sums in f64.

use tenfold_ir::DType;
use tenfold_ir::ops::AttrValue;

use super::{args, int, ints, units};
use crate::case::{Case, Make, fixed};

pub(crate) fn cases() -> Vec<Case> {
    let mut all: Vec<Case> = [DType::F32, DType::F64, DType::F16, DType::BF16].into_iter().map(moments).collect();
    all.extend([channels(), symbolic()]);
    all
}

/// A few roundings of the dtype.
fn rounding(dtype: DType) -> f64 {
    units(dtype, 1.0, 8.0)
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

fn variance(x: &[f64], ddof: f64) -> f64 {
    let m = mean(x);
    x.iter().map(|x| (x - m) * (x - m)).sum::<f64>() / (x.len() as f64 - ddof)
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn moments(dtype: DType) -> Case {
    let mut m = Make::new(&format!("moments_{}", dtype.name()));
    let within = rounding(dtype);
    let x = m.input(dtype, &fixed(&[3, 5]));
    let scale = m.input(dtype, &fixed(&[5]));
    let numbers = |m: &Make, param: usize| m.cells(param).iter().map(|c| c.to_f64()).collect::<Vec<f64>>();
    let (cells, scales) = (numbers(&m, 0), numbers(&m, 1));
    let rows: Vec<&[f64]> = cells.chunks(5).collect();
    let mut results = Vec::new();
    let mut row = |m: &mut Make, name: &str, more: &[(&str, AttrValue)], f: &dyn Fn(&[f64]) -> f64| {
        let attrs = [&[("axis", int(-1))], more].concat();
        let y = m.call(name, &args(&[x]), &attrs);
        m.near(y, &rows.iter().map(|row| f(row)).collect::<Vec<_>>(), within);
        results.push(y);
    };
    row(&mut m, "var", &[], &|r| variance(r, 0.0));
    row(&mut m, "var", &[("ddof", int(1)), ("keepdims", AttrValue::Bool(true))], &|r| variance(r, 1.0));
    row(&mut m, "std", &[], &|r| variance(r, 0.0).sqrt());
    row(&mut m, "norm", &[], &norm);
    row(&mut m, "norm", &[("ord", int(1))], &|r| r.iter().map(|x| x.abs()).sum());
    row(&mut m, "logsumexp", &[], &|r| r.iter().map(|x| x.exp()).sum::<f64>().ln());
    let all = m.call("norm", &args(&[x]), &[("axis", ints(&[0, 1]))]);
    m.near(all, &[norm(&cells)], within);
    let rms = m.call("rms_normalization", &args(&[x, scale]), &[("epsilon", AttrValue::Float(0.25))]);
    let root = |r: &[f64]| (r.iter().map(|x| x * x).sum::<f64>() / 5.0 + 0.25).sqrt();
    let wanted: Vec<f64> =
        rows.iter().flat_map(|r| r.iter().zip(&scales).map(|(x, s)| x / root(r) * s).collect::<Vec<_>>()).collect();
    m.near(rms, &wanted, 4.0 * within);
    let unit = m.call("lp_normalization", &args(&[x]), &[]);
    m.near(
        unit,
        &rows.iter().flat_map(|r| r.iter().map(|x| x / norm(r)).collect::<Vec<_>>()).collect::<Vec<_>>(),
        within,
    );
    results.extend([all, rms, unit]);
    m.done(&results)
}

/// Groups, instances and neighbours among channels.
fn channels() -> Case {
    let mut m = Make::new("channels");
    let within = 8.0 * rounding(DType::F32);
    let x = m.input(DType::F32, &fixed(&[2, 6, 3]));
    let (scale, bias) = (m.input(DType::F32, &fixed(&[6])), m.input(DType::F32, &fixed(&[6])));
    let numbers = |m: &Make, param: usize| m.cells(param).iter().map(|c| c.to_f64()).collect::<Vec<f64>>();
    let (cells, s, b) = (numbers(&m, 0), numbers(&m, 1), numbers(&m, 2));
    let mut results = Vec::new();
    for (name, attrs, size) in [
        ("group_normalization", vec![("num_groups", int(3))], 6),
        ("group_normalization", vec![("num_groups", int(1))], 18),
        ("instance_normalization", vec![], 3),
    ] {
        let y = m.call(name, &args(&[x, scale, bias]), &attrs);
        let wanted = |at: usize| {
            let group = &cells[at / size * size..(at / size + 1) * size];
            let c = at / 3 % 6;
            (cells[at] - mean(group)) / (variance(group, 0.0) + 1e-5).sqrt() * s[c] + b[c]
        };
        m.near(y, &(0..36).map(wanted).collect::<Vec<_>>(), within);
        results.push(y);
    }
    for size in [1i64, 3, 4] {
        let attrs = [("size", int(size)), ("alpha", AttrValue::Float(0.5)), ("bias", AttrValue::Float(2.0))];
        let y = m.call("lrn", &args(&[x]), &attrs);
        let wanted = |at: usize| {
            let (n, c, i) = (at / 18, (at / 3 % 6) as i64, at % 3);
            let near = (c - (size - 1) / 2..=c + size / 2).filter(|c| (0..6).contains(c));
            let sum: f64 = near.map(|c| cells[n * 18 + c as usize * 3 + i].powi(2)).sum();
            cells[at] / (2.0 + 0.5 / size as f64 * sum).powf(0.75)
        };
        m.near(y, &(0..36).map(wanted).collect::<Vec<_>>(), within);
        results.push(y);
    }
    m.done(&results)
}

/// A dim that is known when the function is called, and one that is 0.
fn symbolic() -> Case {
    let mut m = Make::new("moments_symbolic");
    let n = m.dim("N", 4, 0, 0);
    let z = m.dim("Z", 0, 1, 0);
    let x = m.input(DType::F32, &[n, 2.into()]);
    let none = m.input(DType::F32, &[z, 2.into()]);
    let cells: Vec<f64> = m.cells(0).iter().map(|c| c.to_f64()).collect();
    let y = m.call("std", &args(&[x]), &[("ddof", int(1))]);
    m.near(y, &[variance(&cells, 1.0).sqrt()], rounding(DType::F32));
    let nothing = m.call("var", &args(&[none]), &[("axis", int(0))]);
    m.near(nothing, &[f64::NAN, f64::NAN], 0.0);
    let least = m.call("logsumexp", &args(&[none]), &[("axis", int(0))]);
    m.done(&[y, nothing, least])
}
