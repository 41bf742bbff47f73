//! The most stack that a call of the entry can take.

use std::collections::BTreeMap;

use tenfold_core::{Arch, Target};
use tenfold_ir::{
    Module,
    tir::{FuncKind, PrimFunc, Stmt},
};

/// Frames along the deepest chain of calls, with the return addresses that frames do not count.
///
/// A function that LLVM inlined has no frame of its own left; its callees still count below it,
/// so the number is never too small for our own code. Functions of the C library (`memcpy`, the
/// arithmetic of targets without floats) are not counted.
pub(crate) fn worst(module: &Module, target: &Target, frames: &[(String, u64)]) -> Option<u64> {
    let frames: BTreeMap<&str, u64> = frames.iter().map(|(name, bytes)| (name.as_str(), *bytes)).collect();
    let entry = module.prim(&module.entry).or_else(|| module.prims().find(|prim| prim.exported))?;
    let address = match target.arch {
        Arch::X86_64 => 8,
        Arch::Aarch64 | Arch::Arm | Arch::Riscv32 | Arch::Riscv64 | Arch::Wasm32 | Arch::Other => 0,
    };
    // The deepest function may use memory below its frame without saying so.
    let red_zone = if target.arch == Arch::X86_64 { 128 } else { 0 };
    // What a function outside the module takes is not known.
    if module.prims().any(|prim| prim.kind == FuncKind::Extern) {
        return None;
    }
    // Calls have no cycles: the front end refuses recursion. The limit only guards this walk.
    Some(depth(module, entry, &frames, address, 64) + red_zone)
}

fn depth(module: &Module, prim: &PrimFunc, frames: &BTreeMap<&str, u64>, address: u64, limit: u32) -> u64 {
    // What a context calls in its place has a frame of its own; those of the context are not counted.
    let part = frames.get(format!("{}.part", prim.name).as_str()).map_or(0, |bytes| bytes + address);
    let own = frames.get(prim.name.as_str()).copied().unwrap_or(0) + address + part;
    let mut callees = Vec::new();
    calls(&prim.body, &mut callees);
    let below = callees
        .iter()
        .filter_map(|name| module.prim(name))
        .filter(|_| limit > 0)
        .map(|callee| depth(module, callee, frames, address, limit - 1))
        .max();
    own + below.unwrap_or_else(|| ours(frames, address))
}

/// Our own helpers may be called by any function and call only each other.
fn ours(frames: &BTreeMap<&str, u64>, address: u64) -> u64 {
    let frames = frames.iter().filter(|(name, _)| name.starts_with("tenfold."));
    frames.map(|(_, bytes)| bytes + address).sum()
}

fn calls<'a>(stmt: &'a Stmt, names: &mut Vec<&'a str>) {
    stmt.walk(&mut |s| {
        if let Stmt::Call { func, .. } = s
            && !names.contains(&func.as_str())
        {
            names.push(func);
        }
    });
}
