//! The prim-funcs that a graph's operators made: equal ones are one.

use std::collections::BTreeMap;

use crate::tir::{PrimFunc, structural_hash};
use crate::{Loc, Module};

/// Kernels of one function, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Kernels {
    all: Vec<PrimFunc>,
    /// Names by what a kernel computes.
    names: BTreeMap<u128, String>,
    /// How many kernels have a base.
    numbers: BTreeMap<String, usize>,
}

impl Kernels {
    /// Adds a kernel of the graph `owner`; the name it has, or that of the equal one that is there.
    pub(super) fn add(&mut self, owner: &str, mut kernel: PrimFunc) -> String {
        let base = format!("{owner}.{}", kernel.name);
        kernel.name = "kernel".to_string();
        // Neither its name nor its place says what it computes; no operator's kernel reads constants of a module.
        let key = structural_hash(&Module::default(), &PrimFunc { loc: Loc::default(), ..kernel.clone() });
        if let Some(name) = self.names.get(&key) {
            return name.clone();
        }
        let number = self.numbers.entry(base.clone()).or_insert(0);
        kernel.name = if *number == 0 { base } else { format!("{base}_{number}") };
        *number += 1;
        self.names.insert(key, kernel.name.clone());
        let name = kernel.name.clone();
        self.all.push(kernel);
        name
    }

    /// All of them; they are no longer here.
    pub(super) fn take(&mut self) -> Vec<PrimFunc> {
        std::mem::take(&mut self.all)
    }
}
