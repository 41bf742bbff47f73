//! Passes over relax. One pass is one file.

mod dead_code;
mod inline_calls;
mod materialise;
mod pad_conv;

pub(crate) use dead_code::dead_code_elimination;
pub(crate) use inline_calls::inline_calls;
pub(crate) use materialise::materialise;
pub(crate) use pad_conv::pad_conv;
