//! Shaders on a Vulkan device: every operator over dtypes, against the interpreter.

#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/case.rs"]
mod case;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/data.rs"]
mod data;
mod device;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/interpret.rs"]
mod interpret;
mod networks;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/nn.rs"]
mod nn;
mod operators;
mod programs;
