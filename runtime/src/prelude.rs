//! What a file with tensor functions, and the code that calls them, usually names.
//!
//! ```
//! use tenfold::prelude::*;
//! ```

#[cfg(feature = "alloc")]
pub use crate::Tensor;
pub use crate::{AsTensor, AsTensorMut, AsWorkspace, Cpu, Device, Dyn, Fixed, TensorMut, TensorRef, view, view_mut};
#[allow(unused_imports, unreachable_pub, reason = "the attribute's crate may be without it in a build of parts")]
pub use tenfold_macros::*;
