//! Functions of every kind.
#![deny(warnings)]
use tenfold::prelude::*;

/// A named dim, a scalar.
#[tensor_fn]
pub fn saxpy(a: f32, x: Tensor<f32, N>, y: Tensor<f32, N>) -> Tensor<f32, N> {
    a * x + y
}

/// A computed result.
#[tensor_fn]
pub fn blur(x: Tensor<f32, H, W>) -> Tensor<f32, { H - 2 }, { W - 2 }> {
    compute(|i, j| sum(0..3, 0..3, |u, v| x[[i + u, j + v]]) / 9.0)
}

/// Strides.
#[tensor_fn]
pub fn total(x: Strided<f32, H, W>) -> Tensor<f32, W> {
    compute(|j| sum(0..H, |i| x[[i, j]]))
}

/// State, an index value, facts.
#[tensor_fn(dims(S = 4))]
pub fn push(x: Tensor<f32, 2>, pos: usize, keys: &mut Tensor<f32, S, 2>) -> Tensor<f32, S> {
    assert!(pos < S, "it is full");
    keys[[pos, ..]] = x;
    sum(keys, axis = 1)
}

/// A bounded dim.
#[tensor_fn(dims(B <= 4))]
pub fn squares(x: Tensor<i32, B, 3>) -> Tensor<i32, B> {
    sum(x * x, axis = 1)
}

/// A tuple.
#[tensor_fn]
pub fn both(x: Tensor<f32, 4>) -> (Tensor<f32, 4>, Tensor<i64>) {
    (x + 1.0, argmax(x, axis = 0))
}

/// A scalar result.
#[tensor_fn]
pub fn dot(x: Tensor<f64, N>, y: Tensor<f64, N>) -> f64 {
    sum(x * y)
}

/// Bytes, bools.
#[tensor_fn]
pub fn above(x: Tensor<u8, 4>, than: u8) -> Tensor<bool, 4> {
    x > than
}

/// Half precision.
#[tensor_fn]
pub fn halves(x: Tensor<f16, 2>, by: f16) -> Tensor<f16, 2> {
    x * by
}

/// Calls.
#[tensor_fn]
pub fn calls(x: Tensor<f32, 4>) -> Tensor<f32, 4> {
    self::saxpy(3.0, x, x)
}

/// Another name for its module.
#[tensor_fn(module = other_name)]
pub fn renamed(x: Tensor<f32, 2>) -> Tensor<f32, 2> {
    -x
}

/// A computed parameter.
#[tensor_fn]
pub fn shifted(x: Tensor<f32, N>, tail: Tensor<f32, { N + 1 }>) -> Tensor<f32, N> {
    compute(|i| x[[i]] + tail[[i + 1]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenfold::{Arg, DynTensor, DynTensorMut, StridedRef};

    #[test]
    fn named() -> Result<(), tenfold::Error> {
        assert_eq!(saxpy(2.0, &[1.0, 2.0, 3.0], &[10.0, 20.0, 30.0])?, [12.0, 24.0, 36.0]);
        let text = saxpy(2.0, &[1.0, 2.0, 3.0], &[10.0, 20.0]).unwrap_err().to_string();
        assert_eq!(text, "`y`: axis 0 is 2, but `N` is 3 (from axis 0 of `x`)");
        assert_eq!(calls(&[1.0, 2.0, 3.0, 4.0]), [4.0, 8.0, 12.0, 16.0]);
        Ok(())
    }

    #[test]
    fn computed() -> Result<(), tenfold::Error> {
        let x = [[9.0; 4]; 3];
        assert_eq!(blur(&x)?, [[9.0, 9.0]]);
        let mut y = [[0.0; 2]];
        blur::into(&x, &mut y, &mut tenfold::DynWorkspace::new(blur::workspace_bytes(3, 4))?)?;
        assert_eq!(y, [[9.0, 9.0]]);
        let text = blur(&[[1.0; 4]; 1]).unwrap_err().to_string();
        assert!(text.contains("negative"), "{text}");
        assert_eq!(shifted(&[1.0, 2.0], &[5.0, 6.0, 7.0])?, [7.0, 9.0]);
        assert!(shifted(&[1.0, 2.0], &[5.0, 6.0]).is_err());
        Ok(())
    }

    #[test]
    fn strided() -> Result<(), tenfold::Error> {
        let data = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
        let columns = StridedRef::new(&data, [2, 2], [-4, 2], 5)?;
        assert_eq!(total(&columns)?, [6.0, 10.0]);
        assert_eq!(total(&[[1.0, 2.0], [3.0, 4.0]])?, [4.0, 6.0]);
        Ok(())
    }

    #[test]
    fn state() -> Result<(), tenfold::Error> {
        let mut keys = [[0.0; 2]; 4];
        assert_eq!(push(&[1.0, 2.0], 3, &mut keys)?, [0.0, 0.0, 0.0, 3.0]);
        assert_eq!(keys[3], [1.0, 2.0]);
        let text = push(&[1.0, 2.0], 4, &mut keys).unwrap_err().to_string();
        assert!(text.contains("it is full"), "{text}");
        Ok(())
    }

    #[test]
    fn bounded() -> Result<(), tenfold::Error> {
        assert_eq!(squares(&[[1, 2, 3], [0, 1, 0]])?, [14, 1]);
        let mut y = [0; 2];
        squares::into(&[[1, 2, 3], [0, 1, 0]], &mut y, &mut squares::Workspace::new())?;
        assert_eq!(y, [14, 1]);
        assert!(squares(&[[0; 3]; 5]).is_err());
        Ok(())
    }

    #[test]
    fn results() -> Result<(), tenfold::Error> {
        let (y, at) = both(&[1.0, 5.0, 3.0, 2.0]);
        assert_eq!(y, [2.0, 6.0, 4.0, 3.0]);
        assert_eq!(at, 1);
        assert_eq!(dot(&[1.0, 2.0], &[3.0, 4.0])?, 11.0);
        assert_eq!(above(&[1, 5, 7, 2], 4), [false, true, true, false]);
        let half = tenfold::f16::from_f32;
        assert_eq!(halves(&[half(1.5), half(-2.0)], half(2.0)), [half(3.0), half(-4.0)]);
        assert_eq!(renamed(&[1.0, -2.0]), [-1.0, 2.0]);
        assert_eq!(other_name::WEIGHT_BYTES, 0);
        Ok(())
    }

    #[test]
    fn by_name_and_on_a_device() -> Result<(), tenfold::Error> {
        const MODULE: tenfold::Module = tenfold::module!(saxpy, both, dot);
        let mut z = [0.0_f32; 2];
        MODULE.get("saxpy")?.call_alloc(
            &mut [
                Arg::scalar(2.0_f32),
                Arg::input(DynTensor::new(&[1.0_f32, 2.0], [2])?),
                Arg::input(DynTensor::new(&[1.0_f32, 1.0], [2])?),
            ],
            &mut [DynTensorMut::new(&mut z, [2])?],
        )?;
        assert_eq!(z, [3.0, 5.0]);
        assert_eq!(
            squares::signature().to_string(),
            "fn squares(x: Tensor<i32, B, 3>) -> Tensor<i32, B>"
        );
        let x = tenfold::DeviceTensor::upload(&Cpu, tenfold::Tensor::from([1.0_f32, 2.0, 3.0, 4.0]).view())?;
        let mut y = tenfold::DeviceTensor::upload(&Cpu, tenfold::Tensor::from([0.0_f32; 4]).view())?;
        calls::on(&Cpu).call(&x, &mut y)?;
        assert_eq!(y.download(&Cpu)?, [4.0, 8.0, 12.0, 16.0]);
        Ok(())
    }
}
