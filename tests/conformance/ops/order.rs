//! Sorting, searching, running sums.

use std::cmp::Ordering;

use tenfold_ir::ops::{Arg, AttrValue};
use tenfold_ir::{DType, Scalar};

use super::{args, indices, int, numbers, place, reals, word};
use crate::case::{Case, Make, fixed};
use crate::data::telling;

pub(crate) fn cases() -> Vec<Case> {
    let mut all = vec![symbolic(), searches(), counts(), boundaries()];
    for dtype in [DType::F32, DType::BF16, DType::I64, DType::U8] {
        all.push(sorts(dtype));
        all.push(best(dtype));
    }
    for dtype in [DType::F32, DType::BF16, DType::I32, DType::U8] {
        all.push(running(dtype));
    }
    all
}

/// Ascending, NaN last.
fn order(a: Scalar, b: Scalar) -> Ordering {
    if !a.dtype.is_float() {
        return a.to_i128().cmp(&b.to_i128());
    }
    let (x, y) = (a.to_f64(), b.to_f64());
    x.is_nan().cmp(&y.is_nan()).then(x.partial_cmp(&y).unwrap_or(Ordering::Equal))
}

/// The places of a vector's elements in order; equals stay in theirs.
fn sorted(cells: &[Scalar], descending: bool) -> Vec<usize> {
    let mut places: Vec<usize> = (0..cells.len()).collect();
    places.sort_by(|a, b| if descending { order(cells[*b], cells[*a]) } else { order(cells[*a], cells[*b]) });
    places
}

/// Vectors along an axis of a tensor, each by where its elements lie.
fn along(shape: &[i64], axis: usize) -> Vec<Vec<usize>> {
    let mut outer = shape.to_vec();
    outer[axis] = 1;
    let one = |index: &Vec<i64>| {
        let mut index = index.clone();
        let at = |t| {
            index[axis] = t;
            place(shape, &index)
        };
        (0..shape[axis]).map(at).collect()
    };
    indices(&outer).iter().map(one).collect()
}

fn sorts(dtype: DType) -> Case {
    let mut m = Make::new(&format!("sort_{}", dtype.name()));
    let special = telling(dtype);
    let many: Vec<Scalar> =
        special.iter().chain(special.iter().rev()).copied().take(2 * (special.len() / 2 * 2)).collect();
    let shape = [2, many.len() as i64 / 2];
    let tensors = [
        (m.values(dtype, &shape, &many), shape.to_vec()),
        (m.input(dtype, &fixed(&[5, 2])), vec![5, 2]),
        (m.input(dtype, &fixed(&[1])), vec![1]),
        (m.input(dtype, &fixed(&[0])), vec![0]),
    ];
    let mut results = Vec::new();
    for (param, (x, shape)) in tensors.iter().enumerate() {
        let cells = m.cells(param).to_vec();
        for axis in 0..shape.len() {
            // Axis 1 of the special values the other way round.
            let descending = param == 0 && axis == 1;
            {
                let attrs = [("axis", int(axis as i64)), ("descending", AttrValue::Bool(descending))];
                let (values, places) = (m.call("sort", &args(&[*x]), &attrs), m.call("argsort", &args(&[*x]), &attrs));
                let (mut wanted, mut at) = (cells.clone(), vec![Scalar::zero(DType::I64); cells.len()]);
                for row in along(shape, axis) {
                    let row_cells: Vec<Scalar> = row.iter().map(|p| cells[*p]).collect();
                    for (to, from) in row.iter().zip(sorted(&row_cells, descending)) {
                        wanted[*to] = row_cells[from];
                        at[*to] = Scalar::int(DType::I64, from as i128);
                    }
                }
                m.exactly(values, wanted);
                m.exactly(places, at);
                results.extend([values, places]);
            }
        }
    }
    m.done(&results)
}

fn best(dtype: DType) -> Case {
    let mut m = Make::new(&format!("top_k_{}", dtype.name()));
    // Two whole runs of `top_k`, and a shorter one.
    let shape = [2, 75];
    let x = m.input(dtype, &fixed(&shape));
    let special = telling(dtype);
    let s = m.values(dtype, &[special.len() as i64], &special);
    let mut results = Vec::new();
    for (param, x, shape, axis, k) in [
        (0, x, shape.to_vec(), 1usize, 3i64),
        (0, x, shape.to_vec(), 1, 75),
        (0, x, shape.to_vec(), 0, 0),
        (1, s, vec![special.len() as i64], 0, special.len() as i64),
    ] {
        for largest in [true, false] {
            let cells = m.cells(param).to_vec();
            let attrs = [("axis", int(axis as i64)), ("k", int(k)), ("largest", AttrValue::Bool(largest))];
            let both = m.call("top_k", &args(&[x]), &attrs);
            let both = m.parts(both, 2);
            let mut out = shape.clone();
            out[axis] = k;
            let total = out.iter().product::<i64>() as usize;
            let (mut wanted, mut at) = (vec![Scalar::zero(dtype); total], vec![Scalar::zero(DType::I64); total]);
            for (from, to) in along(&shape, axis).iter().zip(along(&out, axis)) {
                let row: Vec<Scalar> = from.iter().map(|p| cells[*p]).collect();
                for (to, from) in to.iter().zip(sorted(&row, largest)) {
                    wanted[*to] = row[from];
                    at[*to] = Scalar::int(DType::I64, from as i128);
                }
            }
            m.exactly(both[0], wanted);
            m.exactly(both[1], at);
            results.extend(both);
        }
    }
    m.done(&results)
}

fn running(dtype: DType) -> Case {
    let mut m = Make::new(&format!("cumsum_{}", dtype.name()));
    let shape = [2, 3, 4];
    let small: Vec<i64> = (0..24).map(|i| i % 5 + 1).collect();
    let x = m.values(dtype, &shape, &numbers(dtype, &small));
    let none = m.input(dtype, &fixed(&[2, 0]));
    let mut results = Vec::new();
    for axis in 0..3usize {
        for (exclusive, reverse) in [(false, false), (true, false), (false, true), (true, true)] {
            let attrs = [
                ("axis", int(axis as i64 - 3)),
                ("exclusive", AttrValue::Bool(exclusive)),
                ("reverse", AttrValue::Bool(reverse)),
            ];
            for (name, unit) in [("cumsum", 0i64), ("cumprod", 1)] {
                let y = m.call(name, &args(&[x]), &attrs);
                let mut wanted = vec![0; 24];
                for mut row in along(&shape, axis) {
                    if reverse {
                        row.reverse();
                    }
                    let mut so_far = unit;
                    for p in row {
                        let next = if unit == 0 { so_far + small[p] } else { so_far * small[p] };
                        wanted[p] = if exclusive { so_far } else { next };
                        so_far = next;
                    }
                }
                m.exactly(y, numbers(dtype, &wanted));
                results.push(y);
            }
        }
    }
    results.push(m.call("cumsum", &args(&[none]), &[]));
    m.done(&results)
}

/// A dim that is known when the function is called, and one that is 0.
fn symbolic() -> Case {
    let mut m = Make::new("sort_symbolic");
    let n = m.dim("N", 11, 0, 0);
    let z = m.dim("Z", 0, 1, 0);
    let x = m.input(DType::F32, std::slice::from_ref(&n));
    let none = m.input(DType::F32, &[z.clone(), 2.into()]);
    let cells = m.cells(0).to_vec();
    let places = sorted(&cells, false);
    let y = m.call("sort", &args(&[x]), &[]);
    m.exactly(y, places.iter().map(|p| cells[*p]).collect());
    let at = m.call("argsort", &args(&[x]), &[]);
    let again = m.call("take", &args(&[x, at]), &[]);
    m.exactly(again, places.iter().map(|p| cells[*p]).collect());
    let all = m.call("top_k", &args(&[x]), &[("k", AttrValue::Int(n))]);
    let all = m.parts(all, 2);
    m.exactly(all[0], sorted(&cells, true).iter().map(|p| cells[*p]).collect());
    let nothing = m.call("sort", &args(&[none]), &[("axis", int(0))]);
    let sums = m.call("cumsum", &args(&[x]), &[]);
    let found = m.call("nonzero", &args(&[none]), &[]);
    let found = m.parts(found, 2);
    m.exactly(found[1], numbers(DType::I64, &[0]));
    let different = m.call("unique", &args(&[none]), &[]);
    let different = m.parts(different, 2);
    m.exactly(different[1], numbers(DType::I64, &[0]));
    m.done(&[y, again, all[0], all[1], nothing, sums, found[0], found[1], different[0], different[1]])
}

fn searches() -> Case {
    let mut m = Make::new("searchsorted");
    let table = m.values(DType::F32, &[5], &reals(DType::F32, &[-1.0, 0.0, 2.0, 2.0, f64::NAN]));
    let wanted = [-2.0, -1.0, 1.0, 2.0, 3.0, f64::INFINITY, f64::NAN];
    let values = m.values(DType::F32, &[7], &reals(DType::F32, &wanted));
    let left = m.call("searchsorted", &args(&[table, values]), &[]);
    m.exactly(left, numbers(DType::I64, &[0, 0, 2, 2, 4, 4, 4]));
    let right = m.call("searchsorted", &args(&[table, values]), &[("side", word("right"))]);
    m.exactly(right, numbers(DType::I64, &[0, 1, 2, 4, 4, 4, 5]));
    let none = m.input(DType::F32, &fixed(&[0]));
    let zeros = m.call("searchsorted", &args(&[none, values]), &[]);
    m.exactly(zeros, numbers(DType::I64, &[0; 7]));
    m.done(&[left, right, zeros])
}

fn counts() -> Case {
    let mut m = Make::new("nonzero");
    let x = m.values(DType::I32, &[2, 3], &numbers(DType::I32, &[1, 0, 2, 0, 0, -3]));
    let both = m.call("nonzero", &args(&[x]), &[]);
    let places = m.parts(both, 2);
    m.exactly(places[0], numbers(DType::I64, &[0, 0, 1, 0, 0, 0, 0, 2, 2, 0, 0, 0]));
    m.exactly(places[1], numbers(DType::I64, &[3]));
    let y = m.values(DType::F32, &[6], &reals(DType::F32, &[2.0, f64::NAN, -1.0, 2.0, f64::NAN, 0.0]));
    let both = m.call("unique", &args(&[y]), &[]);
    let values = m.parts(both, 2);
    m.exactly(values[0], reals(DType::F32, &[-1.0, 0.0, 2.0, f64::NAN, 0.0, 0.0]));
    m.exactly(values[1], numbers(DType::I64, &[4]));
    let one = m.scalar(Scalar::int(DType::I64, 7));
    let scalar = m.call("nonzero", &args(&[one]), &[]);
    let scalar = m.parts(scalar, 2);
    m.exactly(scalar[1], numbers(DType::I64, &[1]));
    let flags = m.values(DType::Bool, &[2], &[Scalar::bool(false), Scalar::bool(true)]);
    let rows = m.call("compress", &args(&[flags, x]), &[("axis", int(0))]);
    let rows = m.parts(rows, 2);
    m.exactly(rows[0], numbers(DType::I32, &[0, 0, -3, 0, 0, 0]));
    m.exactly(rows[1], numbers(DType::I64, &[1]));
    let flat = m.call("compress", &args(&[flags, x]), &[]);
    let flat = m.parts(flat, 2);
    m.exactly(flat[0], numbers(DType::I32, &[0, 0, 0, 0, 0, 0]));
    m.done(&[places, values, scalar, rows, flat].concat())
}

fn boundaries() -> Case {
    let mut m = Make::new("histogram");
    let x = [0.0, 0.24, 0.25, 0.5, 0.99, 1.0, 1.01, -0.01, f64::NAN, f64::INFINITY];
    let x = m.values(DType::F64, &[2, 5], &reals(DType::F64, &x));
    let y = m.call("histogram", &[Arg::Value(x)], &[("bins", int(4))]);
    m.exactly(y, numbers(DType::I64, &[2, 1, 1, 2]));
    m.done(&[y])
}
