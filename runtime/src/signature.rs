//! What a tensor function takes and gives, as data.

use crate::Error;
use core::fmt;
use tenfold_abi::DType;

/// The signature of a tensor function. It prints as the source has it.
///
/// ```
/// use tenfold::{DType, Kind, Param, Signature};
///
/// let digits = Signature {
///     name: "digits",
///     params: &[Param { name: "x", kind: Kind::Input, dtype: Some(DType::F32), dims: &["B", "64"] }],
///     results: &[Param { name: "result", kind: Kind::Result, dtype: Some(DType::F32), dims: &["B", "10"] }],
///     facts: &["B <= 64"],
/// };
/// assert_eq!(digits.to_string(), "fn digits(x: Tensor<f32, B, 64>) -> Tensor<f32, B, 10>");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The name of the function.
    pub name: &'static str,
    /// The parameters in their order.
    pub params: &'static [Param],
    /// The results in their order.
    pub results: &'static [Param],
    /// The facts that are checked at a call, as the source writes them.
    pub facts: &'static [&'static str],
}

/// A parameter or a result.
///
/// ```
/// use tenfold::{DType, Kind, Param};
///
/// let x = Param { name: "x", kind: Kind::State, dtype: Some(DType::F32), dims: &["N", "2"] };
/// assert_eq!(x.to_string(), "&mut Tensor<f32, N, 2>");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// The name; `result`, `result.0`, … for results.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// The type of the elements or of the scalar; none for an index value.
    pub dtype: Option<DType>,
    /// The dims as the source writes them; none for a scalar.
    pub dims: &'static [&'static str],
}

/// What a parameter or a result is.
///
/// ```
/// use tenfold::{Kind, Param};
///
/// let n = Param { name: "n", kind: Kind::Usize, dtype: None, dims: &[] };
/// assert_eq!(n.to_string(), "usize");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// An input, without gaps.
    Input,
    /// An input with strides.
    Strided,
    /// State, which the function reads and updates.
    State,
    /// A scalar.
    Scalar,
    /// A `usize`.
    Usize,
    /// An `isize`.
    Isize,
    /// A result.
    Result,
}

impl Kind {
    /// What this is, in words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Input | Self::Strided => "an input",
            Self::State => "state",
            Self::Scalar => "a scalar",
            Self::Usize | Self::Isize => "an index value",
            Self::Result => "a result",
        }
    }
}

/// One of the codes that a function is compiled to, each for processors with certain features.
///
/// ```
/// let wide = tenfold::Variant { name: "x86-64-v3", features: &["avx2", "fma"] };
/// assert!(wide.features.contains(&"avx2"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The name, such as `x86-64-v3`.
    pub name: &'static str,
    /// The features that it needs beyond those of the target.
    pub features: &'static [&'static str],
}

impl Variant {
    /// Whether this processor, and the system on it, runs the variant. Without feature `std` nobody can look it up, and
    /// only code that needs nothing beyond the target is run.
    ///
    /// # Errors
    ///
    /// [`Error::UnsupportedVariant`] names the first feature that is missing.
    pub fn supported(&self) -> Result<(), Error> {
        match self.features.iter().find(|feature| !has(feature)) {
            None => Ok(()),
            Some(feature) => Err(Error::UnsupportedVariant { variant: self.name, feature }),
        }
    }
}

/// Whether the processor has a feature, and the system keeps what it needs.
#[cfg(all(feature = "std", target_arch = "x86_64"))]
fn has(feature: &str) -> bool {
    macro_rules! any_of {
        ($($name:tt)*) => {
            match feature {
                $($name => std::is_x86_feature_detected!($name),)*
                _ => crate::dispatch::amx::has(feature),
            }
        };
    }
    any_of! {
        "avx" "avx2" "avx512bf16" "avx512bw" "avx512cd" "avx512dq" "avx512f" "avx512vl" "avx512vnni" "bmi1" "bmi2" "cmpxchg16b" "f16c"
        "fma" "lzcnt" "movbe" "popcnt" "sse" "sse2" "sse3" "sse4.1" "sse4.2" "ssse3" "xsave"
    }
}

/// The same, of those that levels have.
#[cfg(all(feature = "std", target_arch = "aarch64"))]
fn has(feature: &str) -> bool {
    match feature {
        "dotprod" => std::arch::is_aarch64_feature_detected!("dotprod"),
        "i8mm" => std::arch::is_aarch64_feature_detected!("i8mm"),
        _ => false,
    }
}

#[cfg(not(all(feature = "std", any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn has(_: &str) -> bool {
    false
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fn {}(", self.name)?;
        for (count, param) in self.params.iter().enumerate() {
            let comma = if count == 0 { "" } else { ", " };
            write!(f, "{comma}{}: {param}", param.name)?;
        }
        f.write_str(")")?;
        match self.results {
            [] => Ok(()),
            [result] => write!(f, " -> {result}"),
            [first, rest @ ..] => {
                write!(f, " -> ({first}")?;
                rest.iter().try_for_each(|result| write!(f, ", {result}"))?;
                f.write_str(")")
            }
        }
    }
}

/// The type, as the source has it.
impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dtype = self.dtype.map_or("usize", DType::name);
        let (open, close) = match self.kind {
            Kind::Usize => return f.write_str("usize"),
            Kind::Isize => return f.write_str("isize"),
            Kind::Scalar => return f.write_str(dtype),
            Kind::Result if self.dims.is_empty() => return f.write_str(dtype),
            Kind::Strided => ("Strided<", ">"),
            Kind::State => ("&mut Tensor<", ">"),
            Kind::Input | Kind::Result => ("Tensor<", ">"),
        };
        write!(f, "{open}{dtype}")?;
        self.dims.iter().try_for_each(|dim| write!(f, ", {dim}"))?;
        f.write_str(close)
    }
}
