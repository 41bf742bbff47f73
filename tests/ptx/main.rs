//! PTX that runs, without a GPU: the runtime calls the driver of CUDA as a user's program does, and the driver's device is
//! the interpreter of PTX. What comes out is what the interpreter of tir admits.

#[allow(dead_code, reason = "the tests of schedules use more of it")]
#[path = "../gpu/attentions.rs"]
mod attentions;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/case.rs"]
mod case;
#[allow(dead_code, reason = "the suite of shaders uses more of it")]
#[path = "../vulkan/cells.rs"]
mod cells;
#[path = "../gpu/chips.rs"]
mod chips;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/data.rs"]
mod data;
mod driver;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/element.rs"]
mod element;
#[path = "../conformance/families.rs"]
mod families;
#[allow(dead_code, reason = "what is measured uses more of it")]
#[path = "../gpu/functions.rs"]
mod functions;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/interpret.rs"]
mod interpret;
mod measured;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/nn.rs"]
mod nn;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/ops/mod.rs"]
mod ops;
mod products;
#[path = "../gpu/program.rs"]
mod program;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/random.rs"]
mod random;
mod rows;
mod run;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/shape.rs"]
mod shape;
#[path = "../gpu/small.rs"]
mod small;
#[allow(dead_code, reason = "the suite of operators uses more of it")]
#[path = "../conformance/state.rs"]
mod state;
mod suite;
#[path = "../conformance/zeros.rs"]
mod zeros;
