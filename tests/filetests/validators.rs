//! Whether other programs accept a shader: naga's front end and validator, and `spirv-val`.

use std::io::Write;
use std::process::{Command, Stdio};

use naga::front::spv;
use naga::valid::{Capabilities, ValidationFlags, Validator};
use tenfold_abi::program::Feature;
use tenfold_core::spirv::{CONTROLS, Kernel};
use tenfold_tests::tools;

/// Whether naga and spirv-val accept a shader, and the one that takes its place on some devices.
pub(crate) fn valid(kernel: &Kernel) -> Result<(), String> {
    if let Some(instead) = &kernel.instead {
        valid(instead)?;
    }
    by_spirv_val(kernel)?;
    // naga has no memory of 8 bits, none of 16 in integers, no products of bytes, and says nothing of float arithmetic.
    let controls = CONTROLS.iter().map(|control| control.feature());
    let foreign =
        [Feature::Storage8, Feature::Storage16, Feature::Dot8].into_iter().chain(controls).collect::<Vec<_>>();
    if foreign.iter().any(|f| kernel.features.contains(f)) { Ok(()) } else { by_naga(kernel) }
}

fn by_naga(kernel: &Kernel) -> Result<(), String> {
    let options = spv::Options { strict_capabilities: true, ..spv::Options::default() };
    let module = spv::Frontend::new(kernel.words.iter().copied(), &options).parse();
    let module = module.map_err(|e| format!("naga cannot read it: {e}"))?;
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
    validator.validate(&module).map(drop).map_err(|e| format!("naga: {e:?}"))
}

fn by_spirv_val(kernel: &Kernel) -> Result<(), String> {
    if !tools::has("spirv-val") {
        tools::skip("spirv-val", "tests/vulkan.sh installs it");
        return Ok(());
    }
    let mut child = Command::new("spirv-val")
        .args(["--target-env", "vulkan1.1", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("spirv-val does not start: {e}"))?;
    let bytes: Vec<u8> = kernel.words.iter().flat_map(|w| w.to_le_bytes()).collect();
    let mut input = child.stdin.take().ok_or("spirv-val has no input")?;
    input.write_all(&bytes).map_err(|e| format!("spirv-val does not read: {e}"))?;
    drop(input);
    let out = child.wait_with_output().map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&out.stderr);
    if out.status.success() { Ok(()) } else { Err(format!("spirv-val: {}", text.trim())) }
}
