//! Tensors of bounded scalars: what the interpreters compute on and back ends are compared with.

use super::bounded::Bounded;
use crate::{DType, Scalar};

/// A tensor, row-major.
#[derive(Clone, PartialEq, Debug)]
pub struct Value {
    /// Type of an element.
    pub dtype: DType,
    /// Extents.
    pub shape: Vec<usize>,
    /// Elements, as many as the product of the extents.
    pub data: Vec<Bounded>,
}

impl Value {
    /// A tensor of exact floats or integers, each converted from `f64` as Rust's `as`.
    pub fn of(dtype: DType, shape: &[usize], data: &[f64]) -> Self {
        let data = data.iter().map(|x| Bounded::exact(Scalar::float(dtype, *x))).collect();
        Value { dtype, shape: shape.to_vec(), data }
    }

    /// A tensor of one value.
    pub fn filled(shape: &[usize], value: Bounded) -> Self {
        let count = shape.iter().product();
        Value { dtype: value.value.dtype, shape: shape.to_vec(), data: vec![value; count] }
    }

    /// A scalar.
    pub fn scalar(value: Scalar) -> Self {
        Value { dtype: value.dtype, shape: Vec::new(), data: vec![Bounded::exact(value)] }
    }

    /// Exact elements from their little-endian bytes; `None` if there are not as many as the shape holds.
    pub fn from_bytes(dtype: DType, shape: &[usize], bytes: &[u8]) -> Option<Self> {
        let size = dtype.size_bytes();
        let count = shape.iter().try_fold(1usize, |n, extent| n.checked_mul(*extent))?;
        if count.checked_mul(size)? != bytes.len() {
            return None;
        }
        let data = bytes.chunks_exact(size).map(|b| Bounded::exact(Scalar::from_le_bytes(dtype, b))).collect();
        Some(Value { dtype, shape: shape.to_vec(), data })
    }

    /// The elements' little-endian bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.data.iter().flat_map(|num| num.value.to_le_bytes()).collect()
    }

    /// The elements as `f64`.
    pub fn to_f64(&self) -> Vec<f64> {
        self.data.iter().map(|num| num.get()).collect()
    }

    /// The element at an index inside the shape.
    pub fn at(&self, index: &[usize]) -> Bounded {
        self.data[self.offset(index)]
    }

    /// Position of an index inside the shape.
    pub fn offset(&self, index: &[usize]) -> usize {
        self.shape.iter().zip(index).fold(0, |at, (extent, i)| at * extent + i)
    }

    /// The first element of a back end's result (little-endian bytes) that is wrong, as a text.
    pub fn check(&self, found: &[u8]) -> Result<(), String> {
        let size = self.dtype.size_bytes();
        if found.len() != size * self.data.len() {
            return Err(format!("expected {} bytes, found {}", size * self.data.len(), found.len()));
        }
        for (i, (num, bytes)) in self.data.iter().zip(found.chunks_exact(size)).enumerate() {
            let scalar = Scalar::from_le_bytes(self.dtype, bytes);
            if !num.admits(scalar) {
                let index = unravel(&self.shape, i);
                let (expected, got) = (crate::relax::scalar_text(num.value), crate::relax::scalar_text(scalar));
                return Err(format!("element {index:?}: expected {expected} within {:e}, found {got}", num.error));
            }
        }
        Ok(())
    }
}

/// The index at a position.
pub fn unravel(shape: &[usize], mut position: usize) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for axis in (0..shape.len()).rev() {
        let extent = shape[axis].max(1);
        index[axis] = position % extent;
        position /= extent;
    }
    index
}

/// Every index of a shape, in row-major order; one empty index for rank 0.
pub fn indices(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    let count: usize = shape.iter().product();
    (0..count).map(|position| unravel(shape, position))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_indices_round_trip() {
        let x = Value::of(DType::F16, &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, f64::NAN]);
        let again = Value::from_bytes(DType::F16, &[2, 3], &x.to_bytes()).unwrap();
        assert_eq!(again.to_bytes(), x.to_bytes());
        assert!(x.check(&x.to_bytes()).is_ok());
        assert_eq!(x.at(&[1, 1]).get(), 5.0);
        assert_eq!(indices(&[]).count(), 1);
        assert_eq!(indices(&[2, 0]).count(), 0);
        assert_eq!(indices(&[2, 3]).nth(4), Some(vec![1, 1]));
        let y = Value::of(DType::I32, &[2], &[1.0, 2.0]);
        let wrong = Value::of(DType::I32, &[2], &[1.0, 3.0]);
        assert_eq!(y.check(&wrong.to_bytes()).unwrap_err(), "element [1]: expected 2 within 0e0, found 3");
        assert_eq!(Value::from_bytes(DType::I32, &[3], &[0; 8]), None);
    }
}
