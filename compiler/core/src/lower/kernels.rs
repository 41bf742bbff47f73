//! Kernels that a pass adds to a module: equal ones are one prim-func, and every name is unique.

use std::collections::BTreeMap;

use tenfold_ir::tir::{PrimFunc, structural_hash};
use tenfold_ir::{Function, Loc, Module};

/// Kernels by what they compute.
#[derive(Default)]
pub(crate) struct Kernels {
    names: BTreeMap<u128, String>,
    /// The next number to try behind a base.
    next: BTreeMap<String, usize>,
}

impl Kernels {
    /// Adds a kernel and gives its name, or that of the equal one that was added before.
    pub(crate) fn add(&mut self, module: &mut Module, base: &str, mut prim: PrimFunc) -> String {
        // Neither its name nor its place says what it computes.
        prim.name = "kernel".to_string();
        let key = structural_hash(module, &PrimFunc { loc: Loc::default(), ..prim.clone() });
        if let Some(name) = self.names.get(&key) {
            return name.clone();
        }
        let name = self.unique(module, base);
        prim.name.clone_from(&name);
        module.functions.insert(name.clone(), Function::Prim(prim));
        self.names.insert(key, name.clone());
        name
    }

    fn unique(&mut self, module: &Module, base: &str) -> String {
        let next = self.next.entry(base.to_string()).or_insert(0);
        loop {
            let name = if *next == 0 { base.to_string() } else { format!("{base}_{next}") };
            *next += 1;
            if !module.functions.contains_key(&name) {
                return name;
            }
        }
    }
}
