//! The chips that there is PTX for, and what compiles for them.

use tenfold_core::Device;
use tenfold_core::pass::PassContext;
use tenfold_llvm::{Env, LlvmBackend, Rung, find, load};
use tenfold_tests::tools;

/// The chips that there is PTX for.
pub(crate) const CHIPS: [Device; 2] = [Device::Sm80, Device::Sm90a];

/// What writes PTX, if it is here.
pub(crate) fn backend() -> Option<LlvmBackend> {
    let found = find(&Env::from_process());
    if found.rung == Rung::None {
        let off = std::env::var_os("TENFOLD_LLVM").is_some_and(|value| value == "none");
        if !off {
            tools::skip("LLVM", "rustup's toolchains ship it");
        }
        return None;
    }
    Some(LlvmBackend::new(load(&found).unwrap_or_else(|error| panic!("{error}")), &found))
}

/// The settings under which a function is compiled for a device.
pub(crate) fn context(device: Device) -> PassContext {
    let mut context = PassContext::new(device.target());
    context.set_text("NarrowDataType.everywhere", "true").expect("a setting");
    context
}
