//! Linear systems and factors of matrices. What is checked is what the factors are factors of, computed in f64.

use tenfold_ir::DType;
use tenfold_ir::ops::AttrValue;
use tenfold_ir::relax::ValueId;

use super::{args, units};
use crate::case::{Case, Make, fixed};
use crate::data::Random;

pub(crate) fn cases() -> Vec<Case> {
    let mut all = vec![empty(), symbolic(), singular()];
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        for n in [1, 2, 5] {
            all.push(systems(dtype, n));
            all.push(factors(dtype, n));
        }
    }
    all
}

/// How many roundings of the working dtype, times what a well-conditioned matrix makes of them, a result may be off.
fn rounding(dtype: DType) -> f64 {
    units(dtype, 1.0, 16.0)
}

/// A matrix whose rows have one large element each, in another column, so that no rounding decides an exchange.
fn matrix(m: &mut Make, dtype: DType, n: usize, seed: u64) -> (ValueId, Vec<f64>) {
    let mut random = Random::new(seed);
    let value = |i: usize, j: usize, random: &mut Random| {
        let large = if j == (i + 1) % n { 4.0 + i as f64 } else { 0.0 };
        (large + random.unit()) * if i.is_multiple_of(2) { 1.0 } else { -1.0 }
    };
    let all: Vec<f64> = (0..n * n).map(|at| value(at / n, at % n, &mut random)).collect();
    given(m, dtype, &[n as i64, n as i64], &all)
}

/// Numbers as a parameter, and what its dtype makes of them.
fn given(m: &mut Make, dtype: DType, shape: &[i64], all: &[f64]) -> (ValueId, Vec<f64>) {
    let cells = super::reals(dtype, all);
    let rounded = cells.iter().map(|c| c.to_f64()).collect();
    (m.values(dtype, shape, &cells), rounded)
}

/// Solves in f64.
fn solved(a: &[f64], y: &[f64], n: usize, columns: usize) -> Vec<f64> {
    let (mut a, mut y) = (a.to_vec(), y.to_vec());
    for p in 0..n {
        let best = (p..n).max_by(|i, j| a[i * n + p].abs().total_cmp(&a[j * n + p].abs())).unwrap_or(p);
        (0..n).for_each(|c| a.swap(p * n + c, best * n + c));
        (0..columns).for_each(|c| y.swap(p * columns + c, best * columns + c));
        for i in (0..n).filter(|i| *i != p) {
            let f = a[i * n + p] / a[p * n + p];
            (0..n).for_each(|c| a[i * n + c] -= f * a[p * n + c]);
            (0..columns).for_each(|c| y[i * columns + c] -= f * y[p * columns + c]);
        }
    }
    (0..n * columns).map(|at| y[at] / a[(at / columns) * n + at / columns]).collect()
}

fn identity(n: usize) -> Vec<f64> {
    (0..n * n).map(|at| if at / n == at % n { 1.0 } else { 0.0 }).collect()
}

fn systems(dtype: DType, n: usize) -> Case {
    let mut m = Make::new(&format!("solve_{}_{n}", dtype.name()));
    let within = rounding(dtype);
    let side = n as i64;
    let (a, left) = matrix(&mut m, dtype, n, 5);
    let rhs = m.input(dtype, &fixed(&[side, 3]));
    let vector = m.input(dtype, &fixed(&[side]));
    let numbers = |m: &Make, param: usize| m.cells(param).iter().map(|c| c.to_f64()).collect::<Vec<_>>();
    let (y, v) = (numbers(&m, 1), numbers(&m, 2));
    let mut results = Vec::new();
    let x = m.call("solve", &args(&[a, rhs]), &[]);
    m.near(x, &solved(&left, &y, n, 3), within);
    let z = m.call("solve", &args(&[a, vector]), &[]);
    m.near(z, &solved(&left, &v, n, 1), within);
    let inverse = m.call("inv", &args(&[a]), &[]);
    m.near(inverse, &solved(&left, &identity(n), n, n), within);
    results.extend([x, z, inverse]);
    let (d, diagonal) = {
        let all: Vec<f64> = (0..n * n).map(|at| if at / n == at % n { 3.0 } else { 0.25 * (at % 3) as f64 }).collect();
        given(&mut m, dtype, &[side, side], &all)
    };
    for lower in [true, false] {
        for unit in [false, true] {
            let attrs = [("lower", AttrValue::Bool(lower)), ("unit_diagonal", AttrValue::Bool(unit))];
            let x = m.call("solve_triangular", &args(&[d, rhs]), &attrs);
            let entry = |i: usize, j: usize| match i.cmp(&j) {
                std::cmp::Ordering::Equal => {
                    if unit {
                        1.0
                    } else {
                        diagonal[i * n + j]
                    }
                }
                std::cmp::Ordering::Greater => {
                    if lower {
                        diagonal[i * n + j]
                    } else {
                        0.0
                    }
                }
                std::cmp::Ordering::Less => {
                    if lower {
                        0.0
                    } else {
                        diagonal[i * n + j]
                    }
                }
            };
            let triangle: Vec<f64> = (0..n * n).map(|at| entry(at / n, at % n)).collect();
            m.near(x, &solved(&triangle, &y, n, 3), within);
            results.push(x);
        }
    }
    m.done(&results)
}

/// By the permutations of a small matrix.
fn determinant(a: &[f64], n: usize) -> f64 {
    if n == 0 {
        return 1.0;
    }
    let minor = |c: usize| {
        let rest: Vec<f64> = (1..n)
            .flat_map(|i| (0..n).filter(move |j| *j != c).map(move |j| (i, j)))
            .map(|(i, j)| a[i * n + j])
            .collect();
        determinant(&rest, n - 1)
    };
    (0..n).map(|c| a[c] * minor(c) * if c % 2 == 0 { 1.0 } else { -1.0 }).sum()
}

fn factors(dtype: DType, n: usize) -> Case {
    let mut m = Make::new(&format!("factors_{}_{n}", dtype.name()));
    let within = rounding(dtype);
    let side = n as i64;
    let (a, left) = matrix(&mut m, dtype, n, 9);
    let mut results = Vec::new();
    let d = m.call("det", &args(&[a]), &[]);
    m.near(d, &[determinant(&left, n)], within);
    results.push(d);
    // The product of the factors is the matrix, and the factors have their shape.
    let parts = m.call("lu", &args(&[a]), &[]);
    let parts = m.parts(parts, 3);
    let lower = m.call("matmul", &args(&[parts[0], parts[1]]), &[]);
    let product = m.call("matmul", &args(&[lower, parts[2]]), &[]);
    m.near(product, &left, within);
    let above = m.call("triu", &args(&[parts[1]]), &[]);
    m.near(above, &identity(n), 0.0);
    let below = m.call("tril", &args(&[parts[2]]), &[("k", super::int(-1))]);
    m.near(below, &vec![0.0; n * n], 0.0);
    results.extend(parts);
    results.extend([product, above, below]);
    let tall: Vec<f64> = (0..(n + 2) * n).map(|at| ((at * 7 + 3) % 11) as f64 - 5.0).collect();
    let (tall, numbers) = given(&mut m, dtype, &[side + 2, side], &tall);
    let parts = m.call("qr", &args(&[tall]), &[]);
    let parts = m.parts(parts, 2);
    let product = m.call("matmul", &args(&[parts[0], parts[1]]), &[]);
    m.near(product, &numbers, 2.0 * within);
    let turned = m.call("transpose", &args(&[parts[0]]), &[]);
    let orthonormal = m.call("matmul", &args(&[turned, parts[0]]), &[]);
    m.near(orthonormal, &identity(n), 2.0 * within);
    results.extend([parts[0], parts[1], product, orthonormal]);
    let gram = |i: usize, j: usize| if i == j { 6.0 } else { 1.0 / (1.0 + (i as f64 - j as f64).abs()) };
    let (positive, numbers) =
        given(&mut m, dtype, &[side, side], &(0..n * n).map(|at| gram(at / n, at % n)).collect::<Vec<_>>());
    let root = m.call("cholesky", &args(&[positive]), &[]);
    let turned = m.call("transpose", &args(&[root]), &[]);
    let product = m.call("matmul", &args(&[root, turned]), &[]);
    m.near(product, &numbers, within);
    let above = m.call("triu", &args(&[root]), &[("k", super::int(1))]);
    m.near(above, &vec![0.0; n * n], 0.0);
    results.extend([root, product, above]);
    m.done(&results)
}

fn empty() -> Case {
    let mut m = Make::new("solve_empty");
    let none = m.input(DType::F32, &fixed(&[0, 0]));
    let rhs = m.input(DType::F32, &fixed(&[0, 2]));
    let batch = m.input(DType::F32, &fixed(&[0, 2, 2]));
    let x = m.call("solve", &args(&[none, rhs]), &[]);
    let d = m.call("det", &args(&[none]), &[]);
    m.near(d, &[1.0], 0.0);
    let b = m.call("det", &args(&[batch]), &[]);
    let inverse = m.call("inv", &args(&[batch]), &[]);
    m.done(&[x, d, b, inverse])
}

/// A batch and a side that are known when the function is called.
fn symbolic() -> Case {
    let mut m = Make::new("solve_symbolic");
    let (b, n) = (m.dim("B", 2, 0, 0), m.dim("N", 3, 0, 1));
    let one = [2.0, 0.5, 0.0, 0.5, 3.0, 0.25, 0.0, 0.25, 4.0];
    let both: Vec<f64> = one.iter().chain(&one).enumerate().map(|(i, x)| x * if i < 9 { 1.0 } else { -2.0 }).collect();
    let a = m.of(DType::F32, &[b.clone(), n.clone(), n.clone()], &super::reals(DType::F32, &both));
    let rhs = m.input(DType::F32, &[b, n, 2.into()]);
    let y: Vec<f64> = m.cells(1).iter().map(|c| c.to_f64()).collect();
    let x = m.call("solve", &args(&[a, rhs]), &[]);
    let wanted = [solved(&both[..9], &y[..6], 3, 2), solved(&both[9..], &y[6..], 3, 2)].concat();
    m.near(x, &wanted, rounding(DType::F32));
    m.done(&[x])
}

/// What has no solution and no root: not finite, and no error.
fn singular() -> Case {
    let mut m = Make::new("solve_singular");
    let (zero, _) = given(&mut m, DType::F32, &[2, 2], &[0.0; 4]);
    let (y, _) = given(&mut m, DType::F32, &[2], &[1.0, 2.0]);
    let x = m.call("solve", &args(&[zero, y]), &[]);
    let d = m.call("det", &args(&[zero]), &[]);
    let (negative, _) = given(&mut m, DType::F32, &[1, 1], &[-4.0]);
    let root = m.call("cholesky", &args(&[negative]), &[]);
    m.near(root, &[f64::NAN], 0.0);
    m.done(&[x, d, root])
}
