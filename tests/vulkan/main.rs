//! Shaders on a Vulkan device: every operator over dtypes, against the interpreter.

mod attention;
#[allow(dead_code, reason = "the tests of schedules use more of it")]
#[path = "../gpu/attentions.rs"]
mod attentions;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/case.rs"]
mod case;
mod cells;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/data.rs"]
mod data;
mod device;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/element.rs"]
mod element;
mod elements;
#[path = "../conformance/families.rs"]
mod families;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/interpret.rs"]
mod interpret;
mod networks;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/nn.rs"]
mod nn;
mod operators;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/ops/mod.rs"]
mod ops;
mod products;
#[path = "../gpu/program.rs"]
mod program;
mod programs;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/random.rs"]
mod random;
mod rows;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/shape.rs"]
mod shape;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/state.rs"]
mod state;
mod suite;
#[path = "../filetests/validators.rs"]
mod validators;
#[path = "../conformance/zeros.rs"]
mod zeros;
