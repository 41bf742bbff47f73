//! Elementwise operators over special values.

use tenfold_ir::eval::{largest, ulps};
use tenfold_ir::op::{Activation, BinaryOp, CmpOp, ElementOp, ReduceOp, UnaryOp};
use tenfold_ir::ops::Arg;
use tenfold_ir::relax::ValueId;
use tenfold_ir::{DType, Scalar};

use crate::case::{Case, Make, fixed};
use crate::data::{special, telling};

/// Functions that are written out, and so are not correctly rounded.
pub(crate) fn math() -> Vec<UnaryOp> {
    UnaryOp::ALL.iter().copied().filter(|op| ulps(*op) > 0.5).collect()
}

fn label(dtype: DType) -> String {
    dtype.name().to_string()
}

pub(crate) fn cases() -> Vec<Case> {
    let mut all = Vec::new();
    for dtype in DType::ALL {
        all.extend(unary(dtype));
        all.extend(binary(dtype));
        all.push(casts(dtype));
        all.push(over_special("store", dtype, &DType::STORED.map(ElementOp::Cast)));
        all.push(selection(dtype));
    }
    all.extend(DType::STORED.map(loaded));
    all.extend(DType::ALL.into_iter().filter(|dtype| dtype.is_float()).map(signs_of_zeros));
    all.extend(DType::ALL.into_iter().filter(|dtype| dtype.is_float()).map(beyond));
    all.push(reinterpreted());
    all.push(broadcasting());
    all.push(quantised());
    all.push(scalars());
    all
}

/// One function of all these operators over the special values.
fn over_special(name: &str, dtype: DType, ops: &[ElementOp]) -> Case {
    let mut m = Make::new(&format!("{name}_{}", label(dtype)));
    let values = special(dtype);
    let x = m.values(dtype, &[values.len() as i64], &values);
    let results: Vec<ValueId> = ops.iter().map(|op| m.element(*op, &[x])).collect();
    m.done(&results)
}

fn unary(dtype: DType) -> Vec<Case> {
    let wrap = |ops: &[UnaryOp]| ops.iter().map(|op| ElementOp::Unary(*op)).collect::<Vec<_>>();
    let rounded = |op: &&UnaryOp| op.takes().holds(dtype) && ulps(**op) <= 0.5;
    let rounded: Vec<UnaryOp> = UnaryOp::ALL.iter().filter(rounded).copied().collect();
    let mut all = vec![over_special("rounding", dtype, &wrap(&rounded))];
    if !dtype.is_float() {
        return all;
    }
    for ops in math().chunks(7) {
        all.push(over_special(&format!("math_{:?}", ops[0]).to_lowercase(), dtype, &wrap(ops)));
    }
    for ops in Activation::all().chunks(5) {
        let wrapped: Vec<ElementOp> = ops.iter().map(|op| ElementOp::Activation(*op)).collect();
        let word = format!("{:?}", ops[0]).chars().take_while(|c| c.is_alphanumeric()).collect::<String>();
        all.push(over_special(&format!("activation_{}", word.to_lowercase()), dtype, &wrapped));
    }
    all
}

/// All pairs of telling values, by broadcasting a column against a row.
fn binary(dtype: DType) -> Vec<Case> {
    let values = telling(dtype);
    let n = values.len() as i64;
    let mut ops: Vec<ElementOp> = CmpOp::ALL.iter().map(|op| ElementOp::Compare(*op)).collect();
    ops.extend(BinaryOp::ALL.iter().filter(|op| op.takes().holds(dtype)).map(|op| ElementOp::Binary(*op)));
    let halves: Vec<&[ElementOp]> = ops.chunks(8).collect();
    let make = |(i, ops): (usize, &[ElementOp])| {
        let mut m = Make::new(&format!("pairs{i}_{}", label(dtype)));
        let a = m.values(dtype, &[n, 1], &values);
        let b = m.values(dtype, &[n], &values);
        let results: Vec<ValueId> = ops.iter().map(|op| m.element(*op, &[a, b])).collect();
        m.done(&results)
    };
    halves.into_iter().enumerate().map(make).collect()
}

/// Of two zeros the one with a sign is the smaller: what one divided by them is tells. Pairs, and rows in which one zero
/// has another sign than the others.
pub(crate) fn signs_of_zeros(dtype: DType) -> Case {
    const N: usize = 67;
    let mut m = Make::new(&format!("zeros_{}", label(dtype)));
    let values = [0.0, -0.0, 1.0, -1.0].map(|v| Scalar::float(dtype, v));
    let of = |place: &dyn Fn(usize) -> usize| (0..N).map(|n| values[place(n) % 4]).collect::<Vec<_>>();
    let a = m.values(dtype, &[N as i64], &of(&|n| n));
    let b = m.values(dtype, &[N as i64], &of(&|n| n / 4));
    let rows = |other: usize| (0..3 * N).map(move |n| values[if n % (N + 5) == 2 * N / 3 { other } else { 1 - other }]);
    let [high, low] = [0, 1].map(|other| m.values(dtype, &[3, N as i64], &rows(other).collect::<Vec<_>>()));
    let one = m.scalar(Scalar::float(dtype, 1.0));
    let mut extremes: Vec<ValueId> =
        [BinaryOp::Max, BinaryOp::Min].map(|op| m.element(ElementOp::Binary(op), &[a, b])).to_vec();
    extremes.extend([(ReduceOp::Max, high), (ReduceOp::Min, low)].map(|(op, x)| m.reduce(op, x, &[1], false)));
    let results: Vec<ValueId> =
        extremes.into_iter().map(|r| m.element(ElementOp::Binary(BinaryOp::Div), &[one, r])).collect();
    m.done(&results)
}

/// Functions far beyond the greatest number, and what is taken from them: it must not make a number of them, though the last
/// factor is multiplied and it is added in one instruction.
fn beyond(dtype: DType) -> Case {
    const N: usize = 67;
    let mut m = Make::new(&format!("beyond_{}", label(dtype)));
    let greatest = largest(dtype);
    let far = [greatest.ln() * 1.6, greatest.ln() * 2.0, greatest / 2.0, greatest];
    let x: Vec<Scalar> = (0..N).map(|n| Scalar::float(dtype, far[n % 4])).collect();
    let taken: Vec<Scalar> = (0..N).map(|n| Scalar::float(dtype, -greatest * ((n % 5) as f64 / 4.0))).collect();
    let (x, taken) = (m.values(dtype, &[N as i64], &x), m.values(dtype, &[N as i64], &taken));
    let mut results = Vec::new();
    for op in [UnaryOp::Exp, UnaryOp::Exp2, UnaryOp::Expm1, UnaryOp::Cosh, UnaryOp::Sinh] {
        let value = m.element(ElementOp::Unary(op), &[x]);
        let sum = m.element(ElementOp::Binary(BinaryOp::Add), &[value, taken]);
        m.exactly(sum, vec![Scalar::float(dtype, f64::INFINITY); N]);
        results.push(sum);
    }
    m.done(&results)
}

fn casts(dtype: DType) -> Case {
    let ops: Vec<ElementOp> =
        DType::ALL.iter().filter(|to| **to != dtype && **to != DType::Bool).map(|to| ElementOp::Cast(*to)).collect();
    over_special("cast", dtype, &ops)
}

/// Bits of floats as integers and back, signs and infinities included.
fn reinterpreted() -> Case {
    let mut m = Make::new("bit_cast");
    let mut results = Vec::new();
    let pairs = [
        (DType::F32, DType::U32),
        (DType::F64, DType::I64),
        (DType::U16, DType::I16),
        (DType::U32, DType::F32),
        (DType::U8, DType::F8E4M3FN),
        (DType::I8, DType::F8E5M2FNUZ),
        (DType::F8E5M2, DType::I8),
        (DType::F8E4M3FN, DType::F8E4M3FNUZ),
        (DType::I4, DType::U4),
    ];
    for (from, to) in pairs {
        let as_to = |v: &Scalar| Scalar { dtype: to, bits: v.bits & (u64::MAX >> (64 - to.bits())) };
        // The bits of NaN may change on the way.
        let plain = |v: &Scalar| !v.to_f64().is_nan() && !as_to(v).to_f64().is_nan();
        let values: Vec<Scalar> = special(from).into_iter().filter(plain).collect();
        let x = m.values(from, &[values.len() as i64], &values);
        let y = m.typed("bit_cast", Some(to), &[Arg::Value(x)], &[]);
        m.exactly(y, values.iter().map(as_to).collect());
        results.push(y);
    }
    m.done(&results)
}

/// Every value of a dtype that is stored only, converted to every other, chosen and moved.
fn loaded(dtype: DType) -> Case {
    let mut m = Make::new(&format!("load_{}", label(dtype)));
    let codes: Vec<Scalar> = match dtype {
        DType::I4 => (-8..8).map(|v| Scalar::int(dtype, v)).collect(),
        DType::U4 => (0..16).map(|v| Scalar::int(dtype, v)).collect(),
        _ => (0..256).map(|bits| Scalar { dtype, bits }).collect(),
    };
    let n = codes.len() as i64;
    let x = m.values(dtype, &[n], &codes);
    let others = DType::ALL.into_iter().chain(DType::STORED).filter(|to| *to != dtype && *to != DType::Bool);
    let mut results: Vec<ValueId> = others.map(|to| m.element(ElementOp::Cast(to), &[x])).collect();
    let backwards: Vec<Scalar> = codes.iter().rev().copied().collect();
    let y = m.values(dtype, &[n], &backwards);
    let mask = m.input(DType::Bool, &fixed(&[n]));
    results.push(m.element(ElementOp::Select, &[mask, x, y]));
    m.done(&results)
}

fn selection(dtype: DType) -> Case {
    let mut m = Make::new(&format!("select_{}", label(dtype)));
    let values = special(dtype);
    let n = values.len() as i64;
    let x = m.values(dtype, &[n], &values);
    let backwards: Vec<Scalar> = values.iter().rev().copied().collect();
    let y = m.values(dtype, &[n], &backwards);
    let mask = m.input(DType::Bool, &fixed(&[n]));
    let mut results = vec![m.element(ElementOp::Select, &[mask, x, y])];
    if dtype != DType::Bool {
        let (lo, hi) = (m.lit(dtype, 1.0), m.lit(dtype, 5.0));
        results.push(m.element(ElementOp::Clip, &[x, lo, hi]));
    }
    if dtype.is_float() {
        let slope = m.lit(dtype, 0.25);
        results.push(m.element(ElementOp::Prelu, &[x, slope]));
        results.push(m.element(ElementOp::Prelu, &[x, y]));
    }
    m.done(&results)
}

/// Shapes that broadcast, zero extents and rank 0 among them, with a dim that is known at run time.
fn broadcasting() -> Case {
    let mut m = Make::new("broadcasting");
    let n = m.dim("N", 5, 0, 0);
    let rows = m.input(DType::F32, &[n.clone(), 1.into(), 3.into()]);
    let row = m.input(DType::F32, &fixed(&[3]));
    let zero = m.input(DType::F32, &fixed(&[0, 3]));
    let one = m.input(DType::F32, &[]);
    let columns = m.input(DType::F32, &fixed(&[4, 1]));
    let add = ElementOp::Binary(BinaryOp::Add);
    let mul = ElementOp::Binary(BinaryOp::Mul);
    let a = m.element(add, &[rows, row]);
    let b = m.element(mul, &[a, columns]);
    let c = m.element(mul, &[zero, row]);
    let d = m.element(add, &[one, one]);
    let e = m.element(mul, &[b, one]);
    m.done(&[a, b, c, d, e])
}

fn quantised() -> Case {
    let mut m = Make::new("quantised");
    let ints = |v: &[i128]| v.iter().map(|v| Scalar::int(DType::I32, *v)).collect::<Vec<_>>();
    let x = ints(&[0, 1, -1, 1000, -1000, 123_456_789, i32::MAX.into(), i32::MIN.into()]);
    let by = ints(&[0, 1 << 30, i32::MAX.into(), 1_431_655_765, i32::MIN.into(), -5]);
    let shifts = ints(&[0, 1, -1, -7, -31, -40, 8, 31]);
    let x = m.values(DType::I32, &[8, 1, 1], &x);
    let by = m.values(DType::I32, &[6, 1], &by);
    let shifts = m.values(DType::I32, &[8], &shifts);
    let y = m.element(ElementOp::QMultiplyShift, &[x, by, shifts]);
    m.done(&[y])
}

/// Scalars by value of every dtype.
fn scalars() -> Case {
    let mut m = Make::new("scalars");
    let mut results = Vec::new();
    for dtype in DType::ALL.into_iter().filter(|d| *d != DType::Bool) {
        let s = m.scalar(Scalar::float(dtype, 3.0));
        let x = m.input(dtype, &fixed(&[3]));
        results.push(m.element(ElementOp::Binary(BinaryOp::Mul), &[x, s]));
    }
    m.done(&results)
}
