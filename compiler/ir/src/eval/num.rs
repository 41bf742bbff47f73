//! Scalars that know how far a correct back end may be from them.
//!
//! A float carries its value (every operator rounded to the dtype, as LANGUAGE defines) and an absolute bound: any
//! program that follows the rules (reductions in any order, `a * b + c` contracted, functions within their ulps)
//! gives a value within the bound. A bound of 0 demands the value itself, NaN and infinities included; an infinite
//! bound allows anything, where rounding decides what is computed at all (an overflow, the sign of a difference).
//! An integer or bool that such a decision can change has an infinite bound; all others are exact.

use crate::{DType, Scalar};

/// A scalar and its bound.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Num {
    /// The value.
    pub value: Scalar,
    /// The bound: absolute for floats; 0 or infinity for integers and bools.
    pub error: f64,
}

/// Half the distance from 1 to the next float: the relative error of one rounding.
pub fn unit(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 2f64.powi(-11),
        DType::BF16 => 2f64.powi(-8),
        DType::F32 => 2f64.powi(-24),
        DType::F64 => 2f64.powi(-53),
        DType::Bool
        | DType::I8
        | DType::U8
        | DType::I16
        | DType::U16
        | DType::I32
        | DType::U32
        | DType::I64
        | DType::U64 => 0.0,
    }
}

/// The smallest positive float.
fn smallest(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 2f64.powi(-24),
        DType::BF16 => 2f64.powi(-133),
        DType::F32 => 2f64.powi(-149),
        _ => f64::from_bits(1),
    }
}

/// The greatest finite float.
pub fn greatest(dtype: DType) -> f64 {
    match dtype {
        DType::F16 => 65504.0,
        DType::BF16 => (2.0 - 2f64.powi(-7)) * 2f64.powi(127),
        DType::F32 => f64::from(f32::MAX),
        _ => f64::MAX,
    }
}

/// A bound of the distance between floats around `value`.
pub fn ulp(dtype: DType, value: f64) -> f64 {
    (2.0 * unit(dtype) * value.abs()).max(smallest(dtype))
}

/// How exactly an operator is defined, given its exact operands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Accuracy {
    /// The correctly rounded result.
    Rounded,
    /// As far as this many ulps from it.
    Ulps(f64),
}

impl Num {
    /// A value that every back end gives.
    pub fn exact(value: Scalar) -> Self {
        Num { value, error: 0.0 }
    }

    /// A value of which nothing is demanded.
    pub fn anything(value: Scalar) -> Self {
        Num { value, error: f64::INFINITY }
    }

    /// Whether every back end gives this very value.
    pub fn is_exact(self) -> bool {
        self.error == 0.0
    }

    /// Whether nothing is demanded.
    pub fn is_anything(self) -> bool {
        self.error == f64::INFINITY
    }

    /// The value as `f64`.
    pub fn get(self) -> f64 {
        self.value.to_f64()
    }

    /// The least and greatest float that a back end may have.
    pub fn ends(self) -> (f64, f64) {
        (self.get() - self.error, self.get() + self.error)
    }

    /// Whether a back end's value is right.
    pub fn admits(self, found: Scalar) -> bool {
        if self.value.dtype != found.dtype {
            return false;
        }
        if self.is_anything() {
            return true;
        }
        if !self.value.dtype.is_float() {
            return self.value == found;
        }
        let (expected, found) = (self.get(), found.to_f64());
        (expected.is_nan() && found.is_nan()) || expected == found || (found - expected).abs() <= self.error
    }

    /// The float `center`, rounded to `dtype`, as the result of an operator on `args` whose bounds move the result
    /// by `moved` at most.
    pub fn result(dtype: DType, center: f64, moved: f64, accuracy: Accuracy, args: &[Num]) -> Self {
        let value = Scalar::float(dtype, center);
        let rounded = value.to_f64();
        let exact = args.iter().all(|arg| arg.is_exact());
        if exact && accuracy == Accuracy::Rounded {
            return Num::exact(value);
        }
        if args.iter().any(|arg| arg.is_anything()) {
            return Num::anything(value);
        }
        if rounded.is_nan() {
            let certain = exact || args.iter().any(|arg| arg.get().is_nan());
            return if certain { Num::exact(value) } else { Num::anything(value) };
        }
        if rounded.is_infinite() {
            let from_infinity = center.is_infinite() && (exact || args.iter().any(|arg| arg.get().is_infinite()));
            let far = center.abs() > 1.001 * greatest(dtype) && exact;
            let certain = (from_infinity || far) && moved.is_finite();
            return if certain { Num::exact(value) } else { Num::anything(value) };
        }
        let ulps = match accuracy {
            Accuracy::Rounded => 1.0,
            Accuracy::Ulps(n) => n,
        };
        Num::near(value, moved + (rounded - center).abs() + ulps * ulp(dtype, rounded))
    }

    /// A value with a bound; nothing is demanded where the bound reaches an overflow or is no number.
    pub fn near(value: Scalar, error: f64) -> Self {
        let reach = value.to_f64().abs() + error;
        if reach <= greatest(value.dtype) { Num { value, error } } else { Num::anything(value) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_admit_what_lies_inside() {
        let f = |x: f64| Scalar::float(DType::F32, x);
        let near = Num::near(f(1.0), 0.25);
        assert!(near.admits(f(1.25)) && near.admits(f(0.75)) && !near.admits(f(1.26)) && !near.admits(f(f64::NAN)));
        assert!(Num::exact(f(f64::NAN)).admits(f(f64::NAN)));
        assert!(Num::exact(f(f64::INFINITY)).admits(f(f64::INFINITY)));
        assert!(!Num::exact(f(f64::INFINITY)).admits(f(1.0)));
        assert!(Num::near(f(3e38), 1e38).admits(f(f64::INFINITY)));
        assert!(Num::exact(f(0.0)).admits(f(-0.0)));
        assert!(!Num::exact(f(1.0)).admits(Scalar::float(DType::F64, 1.0)));
    }
}
