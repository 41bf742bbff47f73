//! Sums of products by letters, against loops over all letters; traces and medians.

use std::collections::BTreeMap;

use tenfold_ir::DType;
use tenfold_ir::ops::AttrValue;
use tenfold_ir::relax::ValueId;

use super::{args, indices, int, ints, numbers_of, place, units, word};
use crate::case::{Case, Make, fixed};

pub(crate) fn cases() -> Vec<Case> {
    let mut all: Vec<Case> =
        [DType::F32, DType::F64, DType::F16, DType::BF16, DType::I32, DType::U8].into_iter().map(products).collect();
    all.extend([
        equations(),
        broadcast(),
        symbolic(),
        tensordots(),
        traces(),
        medians(DType::F32),
        medians(DType::F16),
    ]);
    all
}

/// How far a sum of a few products may be off, relative to the greatest.
fn within(dtype: DType) -> f64 {
    units(dtype, 2.0, 32.0)
}

/// An operand: its letters, its extents and its numbers.
struct Term {
    letters: &'static str,
    extents: Vec<i64>,
    cells: Vec<f64>,
}

/// By the definition: every choice of values for all letters adds one product.
fn definition(terms: &[Term], result: &str) -> Vec<f64> {
    let mut extents: BTreeMap<char, i64> = BTreeMap::new();
    for term in terms {
        for (letter, extent) in term.letters.chars().zip(&term.extents) {
            let known = extents.entry(letter).or_insert(1);
            *known = (*known).max(*extent);
            if *extent == 0 {
                *known = 0;
            }
        }
    }
    let letters: Vec<char> = extents.keys().copied().collect();
    let shape: Vec<i64> = result.chars().map(|c| extents[&c]).collect();
    let mut out = vec![0.0; shape.iter().product::<i64>() as usize];
    for values in indices(&extents.values().copied().collect::<Vec<_>>()) {
        let value = |c: char| letters.iter().position(|l| *l == c).map_or(0, |at| values[at]);
        let product: f64 = terms
            .iter()
            .map(|term| {
                let index = term.letters.chars().zip(&term.extents).map(|(c, n)| if *n == 1 { 0 } else { value(c) });
                term.cells[place(&term.extents, &index.collect::<Vec<_>>())]
            })
            .product();
        out[place(&shape, &result.chars().map(value).collect::<Vec<_>>())] += product;
    }
    out
}

/// A call of einsum on new operands; the result is as the definition says.
fn einsum(m: &mut Make, dtype: DType, equation: &str, terms: &[(&'static str, &[i64])], result: &str) -> ValueId {
    let mut operands = Vec::new();
    let mut known = Vec::new();
    for (letters, extents) in terms {
        operands.push(m.input(dtype, &fixed(extents)));
        known.push(Term { letters, extents: extents.to_vec(), cells: numbers_of(m, m.given() - 1) });
    }
    let y = m.call("einsum", &args(&operands), &[("equation", word(equation))]);
    wanted(m, y, dtype, &definition(&known, result));
    y
}

/// Integers wrap, floats round.
fn wanted(m: &mut Make, y: ValueId, dtype: DType, numbers: &[f64]) {
    if dtype.is_float() {
        m.near(y, numbers, within(dtype));
    } else {
        let wrapped = numbers.iter().map(|x| tenfold_ir::Scalar::int(dtype, *x as i128));
        let cells = wrapped.collect();
        m.exactly(y, cells);
    }
}

fn products(dtype: DType) -> Case {
    let mut m = Make::new(&format!("einsum_{}", dtype.name()));
    // products of integers stay exact in f64
    let small = |m: &mut Make, shape: &[i64]| {
        let count = shape.iter().product::<i64>();
        let cells: Vec<i64> = (0..count).map(|i| i * 7 % 5 + i % 3).collect();
        m.values(dtype, shape, &super::numbers(dtype, &cells))
    };
    let (a, b) = (small(&mut m, &[2, 3]), small(&mut m, &[3, 4]));
    let y = m.call("einsum", &args(&[a, b]), &[("equation", word("ij, jk -> ik"))]);
    let terms = [
        Term { letters: "ij", extents: vec![2, 3], cells: numbers_of(&m, 0) },
        Term { letters: "jk", extents: vec![3, 4], cells: numbers_of(&m, 1) },
    ];
    wanted(&mut m, y, dtype, &definition(&terms, "ik"));
    let outer = m.call("einsum", &args(&[a, b]), &[("equation", word("ij,kl->likj"))]);
    let terms = [
        Term { letters: "ij", extents: vec![2, 3], cells: numbers_of(&m, 0) },
        Term { letters: "kl", extents: vec![3, 4], cells: numbers_of(&m, 1) },
    ];
    wanted(&mut m, outer, dtype, &definition(&terms, "likj"));
    m.done(&[y, outer])
}

fn equations() -> Case {
    let mut m = Make::new("einsum");
    let f = DType::F32;
    let results = vec![
        einsum(&mut m, f, "bij,bjk->bik", &[("bij", &[2, 3, 4]), ("bjk", &[2, 4, 5])], "bik"),
        einsum(&mut m, f, "ij->ji", &[("ij", &[2, 3])], "ji"),
        einsum(&mut m, f, "ij", &[("ij", &[2, 3])], "ij"),
        einsum(&mut m, f, "ba", &[("ba", &[2, 3])], "ab"),
        einsum(&mut m, f, "ij->", &[("ij", &[2, 3])], ""),
        einsum(&mut m, f, "ii->i", &[("ii", &[4, 4])], "i"),
        einsum(&mut m, f, "ii", &[("ii", &[4, 4])], ""),
        einsum(&mut m, f, "iji->ji", &[("iji", &[3, 2, 3])], "ji"),
        einsum(&mut m, f, "i,i", &[("i", &[5]), ("i", &[5])], ""),
        einsum(&mut m, f, "ij,jk,kl->il", &[("ij", &[2, 3]), ("jk", &[3, 4]), ("kl", &[4, 2])], "il"),
        einsum(&mut m, f, "i,ij,j->", &[("i", &[2]), ("ij", &[2, 3]), ("j", &[3])], ""),
        einsum(&mut m, f, "abc,cd,de->abe", &[("abc", &[2, 1, 3]), ("cd", &[3, 3]), ("de", &[3, 2])], "abe"),
        einsum(&mut m, f, ",->", &[("", &[]), ("", &[])], ""),
        // nothing to sum, and nothing at all
        einsum(&mut m, f, "ij,jk->ik", &[("ij", &[2, 0]), ("jk", &[0, 3])], "ik"),
        einsum(&mut m, f, "ij,jk->ik", &[("ij", &[0, 2]), ("jk", &[2, 3])], "ik"),
    ];
    m.done(&results)
}

/// Extents of 1, and axes without letters.
fn broadcast() -> Case {
    let mut m = Make::new("einsum_broadcast");
    let f = DType::F32;
    let results = vec![
        einsum(&mut m, f, "ij,jk->ik", &[("ij", &[2, 1]), ("jk", &[3, 4])], "ik"),
        einsum(&mut m, f, "...ij,...jk->...ik", &[("zij", &[3, 2, 4]), ("zjk", &[1, 4, 2])], "zik"),
        einsum(&mut m, f, "...ij,jk", &[("yzij", &[2, 3, 2, 2]), ("jk", &[2, 3])], "yzik"),
        einsum(&mut m, f, "i...->...", &[("iyz", &[3, 2, 2])], "yz"),
        einsum(&mut m, f, "...i,...i->...", &[("yi", &[2, 3]), ("i", &[3])], "y"),
    ];
    m.done(&results)
}

fn symbolic() -> Case {
    let mut m = Make::new("einsum_symbolic");
    let (n, k) = (m.dim("N", 3, 0, 0), m.dim("K", 4, 0, 1));
    let a = m.input(DType::F32, &[n.clone(), k.clone()]);
    let b = m.input(DType::F32, &[k, n]);
    let y = m.call("einsum", &args(&[a, b]), &[("equation", word("nk,kn->n"))]);
    let terms = [
        Term { letters: "nk", extents: vec![3, 4], cells: numbers_of(&m, 0) },
        Term { letters: "kn", extents: vec![4, 3], cells: numbers_of(&m, 1) },
    ];
    m.near(y, &definition(&terms, "n"), within(DType::F32));
    let square = m.call("einsum", &args(&[a, b]), &[("equation", word("nk,km->nm"))]);
    let total = m.call("trace", &args(&[square]), &[]);
    m.near(total, &[definition(&terms, "n").iter().sum()], within(DType::F32));
    m.done(&[y, total])
}

fn tensordots() -> Case {
    let mut m = Make::new("tensordot");
    let a = m.input(DType::F32, &fixed(&[2, 3, 4]));
    let b = m.input(DType::F32, &fixed(&[4, 3, 2]));
    let c = m.input(DType::F32, &fixed(&[3, 4, 5]));
    let of = |m: &Make, letters: &'static str, param: usize, extents: &[i64]| Term {
        letters,
        extents: extents.to_vec(),
        cells: numbers_of(m, param),
    };
    let last = m.call("tensordot", &args(&[a, c]), &[]);
    let terms = [of(&m, "abc", 0, &[2, 3, 4]), of(&m, "bcd", 2, &[3, 4, 5])];
    m.near(last, &definition(&terms, "ad"), within(DType::F32));
    let lists = AttrValue::List(vec![ints(&[1, -1]), ints(&[1, 0])]);
    let chosen = m.call("tensordot", &args(&[a, b]), &[("axes", lists)]);
    let terms = [of(&m, "abc", 0, &[2, 3, 4]), of(&m, "cbe", 1, &[4, 3, 2])];
    m.near(chosen, &definition(&terms, "ae"), within(DType::F32));
    let outer = m.call("tensordot", &args(&[a, b]), &[("axes", int(0))]);
    let terms = [of(&m, "abc", 0, &[2, 3, 4]), of(&m, "def", 1, &[4, 3, 2])];
    m.near(outer, &definition(&terms, "abcdef"), within(DType::F32));
    m.done(&[last, chosen, outer])
}

fn traces() -> Case {
    let mut m = Make::new("trace");
    let x = m.input(DType::I32, &fixed(&[3, 2, 4]));
    let cells = m.cells(0).to_vec();
    let sum = |offset: i64, index: &dyn Fn(i64, i64, i64) -> Vec<i64>, (rows, columns, others): (i64, i64, i64)| {
        let one = |other: i64| {
            let on = (0..rows).filter(|r| (0..columns).contains(&(r + offset)));
            let total: i128 = on.map(|r| cells[place(&[3, 2, 4], &index(r, r + offset, other))].to_i128()).sum();
            tenfold_ir::Scalar::int(DType::I32, total)
        };
        (0..others).map(one).collect::<Vec<_>>()
    };
    let first = m.call("trace", &args(&[x]), &[]);
    m.exactly(first, sum(0, &|r, c, o| vec![r, c, o], (3, 2, 4)));
    let moved = m.call("trace", &args(&[x]), &[("offset", int(2)), ("axis1", int(0)), ("axis2", int(-1))]);
    m.exactly(moved, sum(2, &|r, c, o| vec![r, o, c], (3, 4, 2)));
    let below = m.call("trace", &args(&[x]), &[("offset", int(-1)), ("axis1", int(2)), ("axis2", int(0))]);
    m.exactly(below, sum(-1, &|r, c, o| vec![c, o, r], (4, 3, 2)));
    let empty = m.input(DType::F32, &fixed(&[0, 3]));
    let none = m.call("trace", &args(&[empty]), &[]);
    m.near(none, &[0.0], 0.0);
    m.done(&[first, moved, below, none])
}

fn medians(dtype: DType) -> Case {
    let mut m = Make::new(&format!("median_{}", dtype.name()));
    let nan = f64::NAN;
    let cells = [3.0, -1.0, 2.0, 8.0, 0.5, 0.5, 7.0, nan, 1.0, -4.0, f64::INFINITY, 2.5];
    let x = m.values(dtype, &[3, 4], &super::reals(dtype, &cells));
    let rows = m.call("median", &args(&[x]), &[("axis", int(1))]);
    m.exactly(rows, super::reals(dtype, &[2.5, nan, 1.75]));
    let columns = m.call("median", &args(&[x]), &[("axis", int(0)), ("keepdims", AttrValue::Bool(true))]);
    m.exactly(columns, super::reals(dtype, &[1.0, -1.0, 7.0, nan]));
    let all = m.call("median", &args(&[x]), &[]);
    m.exactly(all, super::reals(dtype, &[nan]));
    let empty = m.input(dtype, &fixed(&[2, 0]));
    let none = m.call("median", &args(&[empty]), &[("axis", int(-1))]);
    m.exactly(none, super::reals(dtype, &[nan, nan]));
    let odd = m.values(dtype, &[5], &super::reals(dtype, &[4.0, -8.0, 1.5, 6.0, 2.0]));
    let whole = m.call("median", &args(&[odd]), &[("keepdims", AttrValue::Bool(true))]);
    m.exactly(whole, super::reals(dtype, &[2.0]));
    m.done(&[rows, columns, all, none, whole])
}
