//! Shaders on a Vulkan device: every operator over dtypes, against the interpreter.

#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/data.rs"]
mod data;
mod device;
mod operators;
