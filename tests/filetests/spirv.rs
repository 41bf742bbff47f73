//! `test spirv`: what the shaders of device functions are, and that two validators accept them.

use tenfold_core::spirv::{self, Kernel};
use tenfold_ir::tir::FuncKind;

use crate::file::File;
use crate::validators::valid;

/// The lines of a file: of each device function its shader for a target with these features, or its refusal.
pub(crate) fn run(file: &File, features: &[&str]) -> Result<Vec<String>, String> {
    let features: Vec<String> = features.iter().map(|name| name.to_string()).collect();
    let mut out = Vec::new();
    for func in file.module.prims().filter(|f| f.kind == FuncKind::Device) {
        match spirv::kernel_for(&file.module, func, &features) {
            Ok(kernel) => {
                valid(&kernel).map_err(|e| format!("{}: {e}", kernel.name))?;
                for kernel in [Some(&kernel), kernel.instead.as_deref()].into_iter().flatten() {
                    out.extend(head(kernel));
                    out.extend(kernel.text.lines().map(str::to_string));
                }
            }
            Err(refusal) => out.push(format!("error: {refusal}")),
        }
    }
    Ok(out)
}

fn head(kernel: &Kernel) -> Vec<String> {
    let bindings = kernel.bindings.iter().map(|b| {
        let access = if b.write { "write" } else { "read" };
        format!("{access} {} {:?}", b.dtype.name(), b.source)
    });
    let push = kernel.push.iter().map(|p| format!("push {} Param({})", p.dtype.name(), p.param));
    let features = format!("local {:?}, shared {}, features {:?}", kernel.local, kernel.shared, kernel.features);
    let settings = (!kernel.settings.is_empty()).then(|| format!("settings {:?}", kernel.settings));
    let features = [features].into_iter().chain(settings);
    [format!("kernel {}", kernel.name)].into_iter().chain(bindings).chain(push).chain(features).collect()
}
