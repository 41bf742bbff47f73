//! The memories among which the workspace is split, and what lies in each.

use std::fmt::Write as _;

use tenfold_ir::relax::{self, Op, ValueId};

use super::Explained;
use crate::show::stats::pieces;
use crate::show::svg::bytes;

/// A memory.
pub(super) struct Pool {
    /// Its name.
    pub(super) name: String,
    /// Bytes of it that are used.
    pub(super) used: u64,
    /// Bytes that there are.
    pub(super) limit: u64,
    /// What lies in it, by place: the name, the offset and the bytes.
    pub(super) tensors: Vec<(String, u64, u64)>,
}

/// The memories in the order of the source; none where the workspace is one.
pub(super) fn pools(explained: &Explained) -> Vec<Pool> {
    let module = &explained.planned.module;
    let Some(func) = module.relax(&module.entry) else { return Vec::new() };
    let used = func.plan.as_ref().map_or(&[][..], |plan| &plan.pools);
    let all = pieces(func, &explained.dims).unwrap_or_default();
    let mut begin = 0;
    let mut pools = Vec::new();
    for (pool, used) in func.pools.iter().zip(used) {
        let inside = all.iter().filter(|piece| (begin..begin + used).contains(&piece.offset));
        let tensor = |value: ValueId| name_of(explained, func, value);
        let mut tensors: Vec<(String, u64, u64)> =
            inside.map(|piece| (tensor(piece.life.home.0), piece.offset - begin, piece.bytes)).collect();
        tensors.sort_by_key(|(_, offset, _)| *offset);
        pools.push(Pool { name: pool.name.clone(), used: *used, limit: pool.bytes, tensors });
        begin += used;
    }
    pools
}

/// What the source calls a value, else the kernel that makes it.
fn name_of(explained: &Explained, func: &relax::Function, value: ValueId) -> String {
    let name = &func.values[value.0 as usize].name;
    if !name.is_empty() {
        return name.clone();
    }
    let kernel = func.bindings().find(|binding| binding.out == value).and_then(|binding| match &binding.op {
        Op::CallTir { func, .. } => Some(func),
        _ => None,
    });
    kernel.map_or_else(String::new, |kernel| crate::show::graph::short(&explained.planned.module, kernel).to_string())
}

/// A line per memory, and one per value in it.
pub(super) fn text(explained: &Explained) -> String {
    let mut out = String::new();
    for (number, Pool { name, used, limit, tensors }) in pools(explained).into_iter().enumerate() {
        out += if number == 0 { "\nmemories\n" } else { "" };
        let _ = writeln!(out, "`{name}` {} of {}", bytes(used), bytes(limit));
        for (tensor, offset, size) in tensors {
            let _ = writeln!(out, "{:>11} at {offset:>8}  `{tensor}`", bytes(size));
        }
    }
    out
}
