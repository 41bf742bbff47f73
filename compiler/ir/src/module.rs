//! A module: functions of both levels, and the constants they use.

use std::collections::BTreeMap;

use crate::{ConstData, ConstId, relax, tir};

/// A function of either level.
#[derive(Clone, Debug)]
pub enum Function {
    /// A graph.
    Relax(relax::Function),
    /// A loop nest.
    Prim(tir::PrimFunc),
}

/// What one compilation works on. Functions are kept in the order of their names, so every walk is deterministic.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// Functions by name. The entry is the relax function called [`Module::entry`].
    pub functions: BTreeMap<String, Function>,
    /// Name of the function that the user calls.
    pub entry: String,
    /// Constants, by [`ConstId`].
    pub constants: Vec<ConstData>,
    /// Paths of the tensor functions whose nodes a [`crate::Loc`] names; the first is the entry.
    pub sources: Vec<String>,
}

impl Module {
    /// The constant `id` stands for.
    pub fn constant(&self, id: ConstId) -> &ConstData {
        &self.constants[id.0 as usize]
    }

    /// Adds a constant, or finds the equal one that is there.
    pub fn add_constant(&mut self, data: ConstData) -> ConstId {
        let found = self.constants.iter().position(|c| c.hash == data.hash);
        let index = found.unwrap_or_else(|| {
            self.constants.push(data);
            self.constants.len() - 1
        });
        ConstId(index as u32)
    }

    /// The relax function of that name.
    pub fn relax(&self, name: &str) -> Option<&relax::Function> {
        match self.functions.get(name) {
            Some(Function::Relax(f)) => Some(f),
            Some(Function::Prim(_)) | None => None,
        }
    }

    /// The prim-func of that name.
    pub fn prim(&self, name: &str) -> Option<&tir::PrimFunc> {
        match self.functions.get(name) {
            Some(Function::Prim(f)) => Some(f),
            Some(Function::Relax(_)) | None => None,
        }
    }

    /// A name that no function has yet: `base`, or `base_1`, `base_2`, ….
    pub fn unique_name(&self, base: &str) -> String {
        if !self.functions.contains_key(base) {
            return base.to_string();
        }
        let mut n = 1;
        loop {
            let name = format!("{base}_{n}");
            if !self.functions.contains_key(&name) {
                return name;
            }
            n += 1;
        }
    }
}
