//! Whole functions as programs: linked as a build links them, called by the runtime as a user's program calls them.

use std::path::PathBuf;

use tenfold::Vulkan;
use tenfold_core::c::CBackend;
use tenfold_core::pass::PassContext;
use tenfold_tests::tools;

use crate::interpret::{self, Prepared};
use crate::program;

/// Calls a function that went through the pipeline for devices, and compares what it writes. What is refused is given.
pub(crate) fn call(gpu: &Vulkan, case: &Prepared) -> Result<Option<String>, String> {
    // Shaders need no back end; it is there for PTX.
    let backend = CBackend { folder: PathBuf::new(), host: String::new(), compiler: None };
    program::call(gpu, case, tenfold_core::Device::Spirv, &backend)
}

#[test]
fn networks_are_called_by_the_runtime() {
    let gpu = match Vulkan::new() {
        Ok(gpu) => gpu,
        Err(why) => return tools::skip(&format!("a Vulkan device ({why})"), "tests/vulkan.sh installs one"),
    };
    let mut context = PassContext::new(tenfold_core::Device::Spirv.target());
    context.set_text("NarrowDataType.everywhere", "true").expect("a setting");
    let (mut ran, mut refused, mut errors) = (0, Vec::new(), Vec::new());
    // Some of each: the driver takes half a second to make what a case needs.
    for case in crate::nn::cases().into_iter().step_by(8) {
        let name = case.name.clone();
        match interpret::prepare_with(case, &context).and_then(|case| call(&gpu, &case)) {
            Ok(None) => ran += 1,
            Ok(Some(why)) => refused.push(format!("{name}: {why}")),
            Err(why) => errors.push(format!("{name}: {why}")),
        }
    }
    println!("{ran} ran, {} are refused: {refused:#?}", refused.len());
    assert!(errors.is_empty(), "{errors:#?}");
}
