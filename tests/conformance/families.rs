//! The families of the suite of operators, for tests on devices.

use crate::case::Case;

/// A name, and what makes the cases.
pub(crate) type Family = (&'static str, fn() -> Vec<Case>);

/// Every family: `suite.rs` has a test for each.
pub(crate) const FAMILIES: &[Family] = &[
    ("element", crate::element::cases),
    ("gather", crate::ops::gather::cases),
    ("order", crate::ops::order::cases),
    ("lengths", crate::ops::lengths::cases),
    ("signal", crate::ops::signal::cases),
    ("linalg", crate::ops::linalg::cases),
    ("moments", crate::ops::moments::cases),
    ("vision", crate::ops::vision::cases),
    ("contract", crate::ops::contract::cases),
    ("space", crate::ops::space::cases),
    ("sizes", crate::ops::sizes::cases),
    ("sequence", crate::ops::sequence::cases),
    ("chance", crate::ops::chance::cases),
    ("nn", crate::nn::cases),
    ("shape", crate::shape::cases),
    ("random", crate::random::cases),
    ("state", crate::state::cases),
    ("zeros", crate::zeros::cases),
];
