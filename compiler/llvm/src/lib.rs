//! The LLVM back end.
