//! Gathers and scatters.

use tenfold_ir::ops::Arg;
use tenfold_ir::{DType, Scalar};

use super::{args, indices, int, ints, numbers, place, reals, word};
use crate::case::{Case, Make, fixed};

pub(crate) fn cases() -> Vec<Case> {
    let mut all = vec![negative_and_outside(), empty(), symbolic(), tuples(), hot(), reversed(), in_place()];
    for dtype in [DType::F32, DType::F16, DType::I64, DType::U8, DType::Bool] {
        all.push(takes(dtype));
        all.push(moved(dtype));
    }
    for dtype in [DType::F32, DType::BF16, DType::I32, DType::U8] {
        all.push(scatters(dtype));
    }
    all
}

/// The place that a gather takes.
fn inside(i: i64, extent: i64) -> i64 {
    (if i < 0 { i + extent } else { i }).clamp(0, extent - 1)
}

const PLACES: [i64; 6] = [2, 0, -1, -3, 1, 7];

fn takes(dtype: DType) -> Case {
    let mut m = Make::new(&format!("take_{}", dtype.name()));
    let shape = [3, 4, 2];
    let x = m.input(dtype, &fixed(&shape));
    let cells = m.cells(0).to_vec();
    let mut results = Vec::new();
    for index in [DType::I64, DType::I32, DType::I8] {
        let at = m.values(index, &[2, 3], &numbers(index, &PLACES));
        for axis in 0..3usize {
            let y = m.call("take", &args(&[x, at]), &[("axis", int(axis as i64 - 3))]);
            let mut out = shape.to_vec();
            out.splice(axis..=axis, [2, 3]);
            let from = |i: &Vec<i64>| {
                let p = inside(PLACES[(i[axis] * 3 + i[axis + 1]) as usize], shape[axis]);
                cells[place(&shape, &[&i[..axis], &[p], &i[axis + 2..]].concat())]
            };
            m.exactly(y, indices(&out).iter().map(from).collect());
            results.push(y);
        }
    }
    let one = m.values(DType::I64, &[], &numbers(DType::I64, &[-2]));
    results.push(m.call("take", &args(&[x, one]), &[]));
    m.exactly(results[results.len() - 1], cells[8..16].to_vec());
    let along = m.values(DType::I32, &[2, 4, 1], &numbers(DType::I32, &[0, 1, -1, 0, 1, 0, 9, -9]));
    for axis in [0, -1] {
        let y = m.call("take_along_axis", &args(&[x, along]), &[("axis", int(axis))]);
        let from = |i: &Vec<i64>| {
            let p = [0, 1, -1, 0, 1, 0, 9, -9][place(&[2, 4, 1], i)];
            let mut i = i.clone();
            let axis = axis.rem_euclid(3) as usize;
            i[axis] = inside(p, shape[axis]);
            cells[place(&shape, &i)]
        };
        m.exactly(y, indices(&[2, 4, 1]).iter().map(from).collect());
        results.push(y);
    }
    m.done(&results)
}

/// Indices that no axis has, and those of the greatest and the least integer.
fn negative_and_outside() -> Case {
    let mut m = Make::new("take_outside");
    let x = m.values(DType::F64, &[3], &reals(DType::F64, &[10.0, 20.0, 30.0]));
    let far = [i64::MAX, i64::MIN, -3, -4, 3, i64::MAX - 1, i64::MIN + 3];
    let at = m.values(DType::I64, &[7], &numbers(DType::I64, &far));
    let y = m.call("take", &args(&[x, at]), &[]);
    m.exactly(y, reals(DType::F64, &[30.0, 10.0, 10.0, 10.0, 30.0, 30.0, 10.0]));
    let unsigned = m.values(DType::U8, &[2], &numbers(DType::U8, &[2, 255]));
    let z = m.call("take", &args(&[x, unsigned]), &[]);
    m.exactly(z, reals(DType::F64, &[30.0, 30.0]));
    m.done(&[y, z])
}

/// Axes without elements.
fn empty() -> Case {
    let mut m = Make::new("take_empty");
    let none = m.input(DType::F32, &fixed(&[0, 2]));
    let at = m.values(DType::I64, &[3], &numbers(DType::I64, &[0, -1, 5]));
    let nowhere = m.input(DType::I64, &fixed(&[0]));
    let zeros = m.call("take", &args(&[none, at]), &[]);
    m.exactly(zeros, reals(DType::F32, &[0.0; 6]));
    let nothing = m.call("take", &args(&[none, nowhere]), &[("axis", int(1))]);
    let some = m.input(DType::F32, &fixed(&[2, 2]));
    let none_of_it = m.call("take", &args(&[some, nowhere]), &[]);
    let places = m.values(DType::I64, &[3, 1], &numbers(DType::I64, &[0, -1, 5]));
    let part = m.input(DType::F32, &fixed(&[3, 2]));
    let dropped = m.call("scatter", &args(&[none, places, part]), &[]);
    m.done(&[zeros, nothing, none_of_it, dropped])
}

/// Dims that are known when the function is called, one of them 0.
fn symbolic() -> Case {
    let mut m = Make::new("take_symbolic");
    let n = m.dim("N", 3, 0, 0);
    let z = m.dim("Z", 0, 1, 0);
    let x = m.input(DType::F32, &[n.clone(), 2.into()]);
    let none = m.input(DType::F32, &[z.clone(), 2.into()]);
    let at = m.values(DType::I32, &[4], &numbers(DType::I32, &[1, -1, 5, 0]));
    let cells = m.cells(0).to_vec();
    let y = m.call("take", &args(&[x, at]), &[]);
    m.exactly(y, [1usize, 2, 2, 0].iter().flat_map(|row| cells[2 * row..2 * row + 2].to_vec()).collect());
    let zeros = m.call("take", &args(&[none, at]), &[]);
    m.exactly(zeros, reals(DType::F32, &[0.0; 8]));
    let rolled = m.call("roll", &args(&[x]), &[("shift", int(1)), ("axis", int(0))]);
    m.exactly(rolled, [2usize, 0, 1].iter().flat_map(|row| cells[2 * row..2 * row + 2].to_vec()).collect());
    let nothing = m.call("roll", &args(&[none]), &[("shift", int(-4)), ("axis", int(0))]);
    m.done(&[y, zeros, rolled, nothing])
}

/// GatherND, as ONNX's own examples have it.
fn tuples() -> Case {
    let mut m = Make::new("gather_tuples");
    let data = m.values(DType::I32, &[2, 2], &numbers(DType::I32, &[0, 1, 2, 3]));
    let at = m.values(DType::I64, &[2, 2], &numbers(DType::I64, &[0, 0, -1, 1]));
    let y = m.call("gather", &args(&[data, at]), &[]);
    m.exactly(y, numbers(DType::I32, &[0, 3]));
    let cube = m.values(DType::I32, &[2, 2, 2], &numbers(DType::I32, &[0, 1, 2, 3, 4, 5, 6, 7]));
    let rows = m.values(DType::I64, &[2, 1], &numbers(DType::I64, &[1, 0]));
    let batch = m.call("gather", &args(&[cube, rows]), &[("batch_dims", int(1))]);
    m.exactly(batch, numbers(DType::I32, &[2, 3, 4, 5]));
    let whole = m.values(DType::I64, &[3, 0], &[]);
    let copies = m.call("gather", &args(&[data, whole]), &[]);
    m.exactly(copies, numbers(DType::I32, &[0, 1, 2, 3].repeat(3)));
    m.done(&[y, batch, copies])
}

fn scatters(dtype: DType) -> Case {
    let mut m = Make::new(&format!("scatter_{}", dtype.name()));
    let (start, new) = (numbers(dtype, &[1, 2, 3, 4, 5, 6]), numbers(dtype, &[10, 20, 30, 40]));
    let x = m.values(dtype, &[3, 2], &start);
    let at = m.values(DType::I64, &[4, 1], &numbers(DType::I64, &[2, -3, 2, 9]));
    let rows = m.values(dtype, &[4, 2], &[new.clone(), new.clone()].concat());
    let mut results = Vec::new();
    let table: [(&str, [i64; 6]); 5] = [
        ("none", [30, 40, 3, 4, 10, 20]),
        ("add", [31, 42, 3, 4, 25, 46]),
        ("mul", [30, 80, 3, 4, 500, 2400 * 2]),
        ("max", [30, 40, 3, 4, 10, 20]),
        ("min", [1, 2, 3, 4, 5, 6]),
    ];
    for (reduction, expected) in table {
        let y = m.call("scatter", &args(&[x, at, rows]), &[("reduction", word(reduction))]);
        let expected = match reduction {
            "mul" => [30, 80, 3, 4, 5 * 10 * 10, 6 * 20 * 20],
            _ => expected,
        };
        m.exactly(y, expected.iter().map(|n| Scalar::int(dtype, i128::from(*n))).collect());
        results.push(y);
    }
    let along = m.values(DType::I32, &[2, 2], &numbers(DType::I32, &[2, 0, -1, 5]));
    let part = m.values(dtype, &[2, 2], &new);
    for (reduction, axis, expected) in [
        ("none", 0, [1, 20, 3, 4, 30, 6]),
        ("add", 0, [1, 22, 3, 4, 5 + 10 + 30, 6]),
        ("none", -1, [20, 2, 3, 30, 5, 6]),
    ] {
        let attrs = [("reduction", word(reduction)), ("axis", int(axis))];
        let y = m.call("put_along_axis", &args(&[x, along, part]), &attrs);
        m.exactly(y, expected.iter().map(|n| Scalar::int(dtype, i128::from(*n))).collect());
        results.push(y);
    }
    m.done(&results)
}

/// Where what is scattered into is read later, is an operand twice, or is state.
fn in_place() -> Case {
    let mut m = Make::new("scatter_in_place");
    let state = m.state(DType::I64, &fixed(&[3]));
    let at = m.values(DType::I64, &[2, 1], &numbers(DType::I64, &[1, 0]));
    let new = m.values(DType::I64, &[2], &numbers(DType::I64, &[7, 8]));
    let old = m.cells(0).to_vec();
    let y = m.call("scatter", &args(&[state, at, new]), &[]);
    let z = m.call("scatter", &args(&[state, at, new]), &[("reduction", word("add"))]);
    let twice = m.call("put_along_axis", &args(&[state, at, new]).splice_same(), &[]);
    let sum = |n: usize, by: i128| Scalar::int(DType::I64, old[n].to_i128() + by);
    m.exactly(y, vec![Scalar::int(DType::I64, 8), Scalar::int(DType::I64, 7), old[2]]);
    m.exactly(z, vec![sum(0, 8), sum(1, 7), old[2]]);
    m.emit(tenfold_ir::relax::Op::StoreState { param: 0 }, &[y]);
    m.done(&[y, z, twice, state])
}

trait SpliceSame {
    fn splice_same(self) -> Self;
}

impl SpliceSame for Vec<Arg> {
    /// The first operand in the place of all: `x` scattered into itself at itself.
    fn splice_same(self) -> Self {
        vec![self[0].clone(); 3]
    }
}

fn hot() -> Case {
    let mut m = Make::new("one_hot");
    let at = m.values(DType::I64, &[2, 2], &numbers(DType::I64, &[0, 2, -1, 5]));
    let two = m.values(DType::F32, &[2], &reals(DType::F32, &[-1.0, 4.0]));
    let operands = [Arg::Value(at), Arg::Index(3.into()), Arg::Value(two)];
    let y = m.call("one_hot", &operands, &[]);
    m.exactly(y, reals(DType::F32, &[4., -1., -1., -1., -1., 4., -1., -1., 4., -1., -1., -1.]));
    let first = m.call("one_hot", &operands, &[("axis", int(0))]);
    m.exactly(first, reals(DType::F32, &[4., -1., -1., -1., -1., -1., -1., -1., -1., 4., 4., -1.]));
    m.done(&[y, first])
}

fn reversed() -> Case {
    let mut m = Make::new("reverse_sequence");
    let x = m.values(DType::F32, &[4, 4], &reals(DType::F32, &(0..16).map(f64::from).collect::<Vec<_>>()));
    let lengths = m.values(DType::I64, &[4], &numbers(DType::I64, &[1, 2, 3, 9]));
    let time = m.call("reverse_sequence", &args(&[x, lengths]), &[]);
    let rows = [[0, 5, 10, 15], [4, 1, 6, 11], [8, 9, 2, 7], [12, 13, 14, 3]];
    m.exactly(time, rows.concat().iter().map(|n| Scalar::int(DType::F32, *n)).collect());
    let batch = m.call("reverse_sequence", &args(&[x, lengths]), &[("time_axis", int(1)), ("batch_axis", int(0))]);
    let rows = [[0, 1, 2, 3], [5, 4, 6, 7], [10, 9, 8, 11], [15, 14, 13, 12]];
    m.exactly(batch, rows.concat().iter().map(|n| Scalar::int(DType::F32, *n)).collect());
    m.done(&[time, batch])
}

/// Rolls and triangles.
fn moved(dtype: DType) -> Case {
    let mut m = Make::new(&format!("roll_{}", dtype.name()));
    let shape = [2, 3, 4];
    let x = m.input(dtype, &fixed(&shape));
    let cells = m.cells(0).to_vec();
    let mut results = Vec::new();
    for (axes, shifts) in [(vec![1i64], vec![1i64]), (vec![-1, 0], vec![-5, 3])] {
        let y = m.call("roll", &args(&[x]), &[("axis", ints(&axes)), ("shift", ints(&shifts))]);
        let from = |i: &Vec<i64>| {
            let mut i = i.clone();
            for (axis, shift) in axes.iter().zip(&shifts) {
                let axis = axis.rem_euclid(3) as usize;
                i[axis] = (i[axis] - shift).rem_euclid(shape[axis]);
            }
            cells[place(&shape, &i)]
        };
        m.exactly(y, indices(&shape).iter().map(from).collect());
        results.push(y);
    }
    let flat = m.call("roll", &args(&[x]), &[("shift", int(7))]);
    m.exactly(flat, (0..24).map(|i| cells[(i + 17) % 24]).collect());
    results.push(flat);
    for (name, upper) in [("tril", false), ("triu", true)] {
        for k in [-5, -1, 0, 2] {
            let y = m.call(name, &args(&[x]), &[("k", int(k))]);
            let from = |i: &Vec<i64>| {
                let keeps = if upper { i[2] - i[1] >= k } else { i[2] - i[1] <= k };
                if keeps { cells[place(&shape, i)] } else { Scalar::zero(dtype) }
            };
            m.exactly(y, indices(&shape).iter().map(from).collect());
            results.push(y);
        }
    }
    m.done(&results)
}
