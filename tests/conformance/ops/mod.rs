//! Operators that are kernels or compositions: beside the back ends, each is compared with a computation of its own.

pub(crate) mod chance;
pub(crate) mod contract;
pub(crate) mod gather;
pub(crate) mod lengths;
pub(crate) mod linalg;
pub(crate) mod moments;
pub(crate) mod order;
pub(crate) mod sequence;
pub(crate) mod signal;
pub(crate) mod sizes;
pub(crate) mod space;
pub(crate) mod vision;

use tenfold_ir::eval::ulp;
use tenfold_ir::ops::{Arg, AttrValue};
use tenfold_ir::relax::ValueId;
use tenfold_ir::{DType, Scalar};

use crate::case::Make;

/// How far a result of about 1 may be off, in units in the last place: so many of 16-bit floats, which are computed in
/// `f32` and rounded once, and so many of others; integers are exact.
pub(crate) fn units(dtype: DType, halves: f64, others: f64) -> f64 {
    ulp(dtype, 1.0) * if dtype.is_half() { halves } else { others }
}

/// Values as operands.
pub(crate) fn args(values: &[ValueId]) -> Vec<Arg> {
    values.iter().map(|v| Arg::Value(*v)).collect()
}

/// An integer attribute.
pub(crate) fn int(value: i64) -> AttrValue {
    AttrValue::Int(value.into())
}

/// A list of integers.
pub(crate) fn ints(values: &[i64]) -> AttrValue {
    AttrValue::List(values.iter().map(|v| int(*v)).collect())
}

/// A word.
pub(crate) fn word(text: &str) -> AttrValue {
    AttrValue::Text(text.to_string())
}

/// Integers of a dtype.
pub(crate) fn numbers(dtype: DType, values: &[i64]) -> Vec<Scalar> {
    values.iter().map(|v| Scalar::int(dtype, i128::from(*v))).collect()
}

/// Floats of a dtype.
pub(crate) fn reals(dtype: DType, values: &[f64]) -> Vec<Scalar> {
    values.iter().map(|v| Scalar::float(dtype, *v)).collect()
}

/// What a parameter was given, as numbers.
pub(crate) fn numbers_of(m: &Make, param: usize) -> Vec<f64> {
    m.cells(param).iter().map(|cell| cell.to_f64()).collect()
}

/// Every index of a shape, in row-major order.
pub(crate) fn indices(shape: &[i64]) -> Vec<Vec<i64>> {
    let mut all = vec![Vec::new()];
    for extent in shape {
        let longer = |index: &Vec<i64>| (0..*extent).map(|i| [index.as_slice(), &[i]].concat()).collect::<Vec<_>>();
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// Where an index lies in row-major order.
pub(crate) fn place(shape: &[i64], index: &[i64]) -> usize {
    index.iter().zip(shape).fold(0, |at, (i, extent)| at * extent + i) as usize
}

/// A tensor's numbers with its extents.
#[derive(Clone)]
pub(crate) struct Grid {
    pub shape: Vec<i64>,
    pub cells: Vec<f64>,
}

impl Grid {
    /// What a parameter was given.
    pub(crate) fn of(m: &Make, param: usize, shape: &[i64]) -> Grid {
        Grid { shape: shape.to_vec(), cells: numbers_of(m, param) }
    }

    pub(crate) fn zeros(shape: &[i64]) -> Grid {
        Grid { shape: shape.to_vec(), cells: vec![0.0; shape.iter().product::<i64>() as usize] }
    }

    pub(crate) fn at(&self, index: &[i64]) -> f64 {
        self.cells[place(&self.shape, index)]
    }

    /// None outside.
    pub(crate) fn get(&self, index: &[i64]) -> Option<f64> {
        self.has(index).then(|| self.at(index))
    }

    /// Adds to an element; nothing outside.
    pub(crate) fn add(&mut self, index: &[i64], value: f64) {
        if self.has(index) {
            self.cells[place(&self.shape, index)] += value;
        }
    }

    fn has(&self, index: &[i64]) -> bool {
        index.iter().zip(&self.shape).all(|(i, n)| (0..*n).contains(i))
    }
}
