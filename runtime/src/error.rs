//! What can go wrong in a call.
//!
//! Texts are sentences without a full stop: what was found, what was expected, and where the
//! expectation comes from. Nothing here allocates, so names are those of the source.

use crate::DeviceFault;
use core::fmt;
use tenfold_abi::{DType, DeviceKind, Status};

/// Why something is not the tensor that is asked for.
///
/// ```
/// use tenfold::{Dyn, Fixed, TensorRef, view};
///
/// let wrong = view(&[1.0; 5], [2, 3]).unwrap_err();
/// assert_eq!(wrong.to_string(), "a shape of 6 elements is given for 5 elements");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mismatch {
    /// Another extent than the type of the shape says.
    Extent {
        /// The axis, counted from 0.
        axis: usize,
        /// The extent of the type.
        expected: usize,
        /// The extent of the argument.
        found: usize,
    },
    /// Another number of axes.
    Rank {
        /// The rank of the type.
        expected: usize,
        /// The rank of the argument.
        found: usize,
    },
    /// Elements of another type.
    DType {
        /// The type of the signature.
        expected: DType,
        /// The type of the argument.
        found: DType,
    },
    /// A shape that does not have as many elements as there are.
    Elements {
        /// The product of the extents; none if it overflows.
        shape: Option<usize>,
        /// The number of elements.
        found: usize,
    },
    /// Elements that do not lie in row-major order without gaps.
    Layout,
    /// Strides that lead outside of the elements.
    Strides,
    /// Memory that is not aligned for the elements, or not a whole number of them.
    Cast,
    /// Memory of a device that the processor does not reach.
    NotHost,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Extent { axis, expected, found } => {
                write!(f, "axis {axis} is {found}, but the signature says {expected}")
            }
            Self::Rank { expected, found } => {
                write!(f, "the rank is {found}, but the signature says {expected}")
            }
            Self::DType { expected, found } => {
                write!(f, "the elements are `{found}`, but the signature says `{expected}`")
            }
            Self::Elements { shape: Some(shape), found } => {
                write!(f, "a shape of {shape} elements is given for {found} elements")
            }
            Self::Elements { shape: None, found } => {
                write!(f, "a shape of too many elements is given for {found} elements")
            }
            Self::Layout => f.write_str(
                "the elements do not lie in row-major order without gaps; copy them first, or \
                 declare the parameter as `Strided`",
            ),
            Self::Strides => f.write_str("the strides lead outside of the elements"),
            Self::Cast => f.write_str("the memory is not aligned for the elements, or not a whole number of them"),
            Self::NotHost => f.write_str("the tensor lies in a device's memory; download it first"),
        }
    }
}

impl core::error::Error for Mismatch {}

/// Why a call of a tensor function failed.
///
/// Everything but [`Check`](Self::Check) and [`Kernel`](Self::Kernel) is found before anything is
/// written.
///
/// ```
/// use tenfold::Error;
///
/// let error = Error::Dim {
///     param: "y", axis: 0, found: 3, dim: "B", expected: 4, from: Some(("x", 0)),
/// };
/// assert_eq!(error.to_string(), "`y`: axis 0 is 3, but `B` is 4 (from axis 0 of `x`)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// An argument is not the tensor of the signature.
    Argument {
        /// The parameter.
        param: &'static str,
        /// What is wrong with it.
        why: Mismatch,
    },
    /// A tensor made outside of a call is not what is asked for.
    Tensor(Mismatch),
    /// Two places of a named or computed dim do not agree.
    Dim {
        /// The parameter.
        param: &'static str,
        /// Its axis, counted from 0.
        axis: usize,
        /// The extent of that axis.
        found: usize,
        /// The dim as the signature writes it.
        dim: &'static str,
        /// Its value.
        expected: i64,
        /// The parameter and axis that bound it; none if it is computed.
        from: Option<(&'static str, usize)>,
    },
    /// A computed extent is negative.
    NegativeExtent {
        /// The dim as the signature writes it.
        dim: &'static str,
        /// Its value.
        value: i64,
    },
    /// A computed extent, or the number of bytes of a tensor, is too large for the machine.
    Overflow {
        /// The dim or the tensor.
        what: &'static str,
    },
    /// A fact of `dims(…)` or of an `assert!` does not hold.
    Fact {
        /// The fact as the source writes it.
        fact: &'static str,
        /// The text given beside it.
        text: Option<&'static str>,
    },
    /// A check inside of the function does not hold; state may have changed.
    Check {
        /// The check as the source writes it.
        text: &'static str,
    },
    /// The workspace is smaller than the function needs for these dims.
    WorkspaceTooSmall {
        /// How many bytes it needs.
        needed: usize,
        /// How many bytes there are from the first aligned one.
        given: usize,
    },
    /// The allocator has no memory left.
    OutOfMemory {
        /// How many bytes were asked for.
        bytes: usize,
    },
    /// The entry point failed in a way that is not the caller's; state may have changed.
    Kernel(Status),
    /// A file of weights cannot be read.
    File {
        /// What is wrong with it.
        why: &'static str,
    },
    /// No file of weights holds a tensor of this name.
    NoTensor {
        /// The name.
        name: &'static str,
    },
    /// A module holds no function of this name.
    NoFunction,
    /// There is no variant of this name, or the function has none.
    NoVariant,
    /// The processor, or the system on it, cannot run a variant.
    UnsupportedVariant {
        /// The variant.
        variant: &'static str,
        /// A feature that it needs, as rustc names it.
        feature: &'static str,
    },
    /// A device does not do what it is asked for.
    Device {
        /// What kind of device.
        kind: DeviceKind,
        /// Why not.
        why: DeviceFault,
    },
    /// A call by name has another number of arguments or results.
    Count {
        /// What there should be more or fewer of: `arguments` or `results`.
        what: &'static str,
        /// How many the signature has.
        expected: usize,
        /// How many are given.
        found: usize,
    },
    /// A call by name passes one kind of argument where the signature has another.
    Kind {
        /// The parameter.
        param: &'static str,
        /// What the signature says, in words.
        expected: &'static str,
        /// What is given, in words.
        found: &'static str,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Argument { param, why } => write!(f, "`{param}`: {why}"),
            Self::Tensor(why) => fmt::Display::fmt(&why, f),
            Self::Dim { param, axis, found, dim, expected, from } => {
                write!(f, "`{param}`: axis {axis} is {found}, but `{dim}` is {expected}")?;
                match from {
                    Some((param, axis)) => write!(f, " (from axis {axis} of `{param}`)"),
                    None => Ok(()),
                }
            }
            Self::NegativeExtent { dim, value } => {
                write!(f, "the extent `{dim}` is {value}, which is negative")
            }
            Self::Overflow { what } => write!(f, "`{what}` is too large for this machine"),
            Self::Fact { fact, text: None } => write!(f, "`{fact}` does not hold"),
            Self::Fact { fact, text: Some(text) } => write!(f, "`{fact}` does not hold: {text}"),
            Self::Check { text } => write!(f, "`{text}` does not hold"),
            Self::WorkspaceTooSmall { needed, given } => {
                write!(f, "the workspace has {given} bytes, but the function needs {needed}")
            }
            Self::OutOfMemory { bytes } => write!(f, "no memory is left for {bytes} bytes"),
            Self::Kernel(status) => fmt::Display::fmt(&status, f),
            Self::File { why } => write!(f, "the file cannot be read: {why}"),
            Self::NoTensor { name } => write!(f, "no file holds a tensor `{name}`"),
            Self::NoFunction => f.write_str("the module holds no function of this name"),
            Self::NoVariant => f.write_str("there is no variant of this name; a function's `variants()` lists its own"),
            Self::UnsupportedVariant { variant, feature } => {
                write!(f, "this processor cannot run the variant `{variant}`: it lacks `{feature}`")
            }
            Self::Device { kind, why } => write!(f, "{kind}: {why}"),
            Self::Count { what, expected, found } => {
                write!(f, "{found} {what} are given, but the signature has {expected}")
            }
            Self::Kind { param, expected, found } => {
                write!(f, "`{param}`: {found} is given, but the signature says {expected}")
            }
        }
    }
}

impl core::error::Error for Error {}

impl From<Mismatch> for Error {
    fn from(why: Mismatch) -> Self {
        Self::Tensor(why)
    }
}

impl Mismatch {
    /// The error of the parameter that this is wrong with.
    pub(crate) fn of(self, param: &'static str) -> Error {
        Error::Argument { param, why: self }
    }
}
