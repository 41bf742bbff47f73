//! Structural equality and a stable 128-bit hash.
//!
//! Two functions are equal if they do the same on the same symbols: names of values, texts of facts, places in the
//! source and numbers of values do not count; constants count by their content. The print without those, with values
//! numbered in the order of their definitions, is the canonical form that is compared and hashed.

use super::print::{PrintOptions, print_with};
use super::rewrite::renumbered;
use super::{Function, Op};
use crate::Module;

/// Whether two functions of these modules have the same structure.
pub fn structurally_equal(a: (&Module, &Function), b: (&Module, &Function)) -> bool {
    canonical(a.0, a.1) == canonical(b.0, b.1)
}

/// The hash of a function's structure: equal on every machine and in every run.
pub fn structural_hash(module: &Module, func: &Function) -> u128 {
    fnv1a(canonical(module, func).as_bytes())
}

fn canonical(module: &Module, func: &Function) -> String {
    let func = renumbered(func);
    let text = print_with(&func, PrintOptions { names: false, locs: false });
    let mut constants = func.bindings().filter_map(|binding| match binding.op {
        Op::Const(id) => Some(module.constants.get(id.0 as usize).map_or("", |data| data.hash.as_str())),
        _ => None,
    });
    // The print has the constants in the order of the bindings.
    let mut out = String::with_capacity(text.len());
    for (index, piece) in text.split("const(id = ").enumerate() {
        let end = if index == 0 { 0 } else { piece.find(')').unwrap_or(0) };
        if index > 0 {
            out += &format!("const(hash = {}", constants.next().unwrap_or(""));
        }
        out += &piece[end..];
    }
    out
}

/// FNV-1a with 128 bits.
pub fn fnv1a(bytes: &[u8]) -> u128 {
    const PRIME: u128 = (1 << 88) + 0x13b;
    bytes
        .iter()
        .fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME))
}
