//! Passes over relax. One pass is one file.

mod dead_code;
mod inline_calls;
mod materialise;
mod pad_conv;

pub use dead_code::dead_code_elimination;
pub use inline_calls::inline_calls;
pub use materialise::materialise;
pub use pad_conv::pad_conv;
