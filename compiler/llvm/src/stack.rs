//! The most stack that a call of the entry can take.

mod outside;

use std::collections::BTreeMap;

use tenfold_core::{Arch, Target, constant_symbol, elf};
use tenfold_ir::{
    Module,
    tir::{FuncKind, PrimFunc, Stmt},
};

/// Frames along the deepest chain of calls, with the return addresses that frames do not count, and below them the
/// functions that are left to the linker where there is no operating system. What the caller lays on the stack as
/// arguments is the caller's.
///
/// A function that LLVM inlined has no frame of its own left; its callees still count below it,
/// so the number is never too small. What it is made of is told function by function.
pub(crate) fn worst(
    module: &Module,
    target: &Target,
    frames: &[(String, u64)],
    object: &[u8],
) -> Option<Vec<(String, u64)>> {
    let realigned = realigned(target);
    let frames: BTreeMap<&str, u64> = frames.iter().map(|(name, bytes)| (name.as_str(), *bytes + realigned)).collect();
    let entry = module.prim(&module.entry).or_else(|| module.prims().find(|prim| prim.exported))?;
    let address = match target.arch {
        Arch::X86_64 => 8,
        Arch::Aarch64 | Arch::Arm | Arch::Riscv32 | Arch::Riscv64 | Arch::Wasm32 | Arch::Other => 0,
    };
    // The deepest function may use memory below its frame without saying so.
    let red_zone = if target.arch == Arch::X86_64 { 128 } else { 0 };
    // What a function outside the module takes is not known.
    if module.prims().any(|prim| prim.kind == FuncKind::Extern) || keeps_scalable_vectors(target, object) {
        return None;
    }
    // Calls have no cycles: the front end refuses recursion. The limit only guards this walk.
    let mut chain = depth(module, entry, &frames, address, 64);
    chain.push(("what lies below the frames".into(), red_zone));
    chain.push(("functions that are left to the linker".into(), below(target, object)?));
    Some(chain)
}

/// What a frame may take beyond its size so that vectors in it begin at a multiple of their size.
fn realigned(target: &Target) -> u64 {
    // The conventions' own alignment.
    let stack: u32 = if target.arch == Arch::Arm { 8 } else { 16 };
    u64::from(target.vector_bytes().saturating_sub(stack))
}

/// What functions that are left to the linker take; `None` if it is not known.
fn below(target: &Target, object: &[u8]) -> Option<u64> {
    // An operating system's may run whatever it likes, the dynamic linker first. WebAssembly's stack has no addresses.
    if target.hosted || !elf::is_elf(object) {
        return Some(0);
    }
    let asked = elf::undefined(object)?;
    let functions = asked.iter().map(String::as_str).filter(|name| !name.starts_with(&constant_symbol("")));
    outside::most(functions, target)
}

/// Whether a frame holds vectors whose size only the processor knows: `sub sp, sp, REGISTER` of RISC-V.
fn keeps_scalable_vectors(target: &Target, object: &[u8]) -> bool {
    let riscv = matches!(target.arch, Arch::Riscv32 | Arch::Riscv64) && target.has("v");
    let is_grown = |bytes: &[u8]| {
        let word = bytes.iter().rev().fold(0, |word: u32, byte| word << 8 | u32::from(*byte));
        word & 0xfe0f_ffff == 0x4001_0133
    };
    // Instructions begin at even places.
    riscv && elf::code(object).is_some_and(|code| code.iter().any(|part| part.windows(4).step_by(2).any(is_grown)))
}

/// The deepest chain of calls below a function, itself first, with the frame of each.
fn depth(
    module: &Module,
    prim: &PrimFunc,
    frames: &BTreeMap<&str, u64>,
    address: u64,
    limit: u32,
) -> Vec<(String, u64)> {
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
        .max_by_key(|chain| chain.iter().map(|(_, bytes)| bytes).sum::<u64>());
    let below = below.unwrap_or_else(|| vec![("functions of Tenfold's own".into(), ours(frames, address))]);
    std::iter::once((format!("`{}`", prim.name), own)).chain(below).collect()
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
