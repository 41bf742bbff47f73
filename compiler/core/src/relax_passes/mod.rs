//! Passes over relax. One pass is one file.

pub(crate) mod dead_code;
pub(crate) mod inline_calls;
pub(crate) mod materialise;
pub(crate) mod pad_conv;
