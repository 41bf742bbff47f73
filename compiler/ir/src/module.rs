//! A module: functions of both levels, and the constants they use.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::{ConstBytes, ConstData, ConstId, content, relax, tir};

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
    /// Where the constants are by their hashes.
    pub index: ConstIndex,
    /// Paths of the tensor functions whose nodes a [`crate::Loc`] names; the first is the entry.
    pub sources: Vec<String>,
}

/// Where constants are, so that finding one takes no walk over all. It follows [`Module::constants`] by itself.
#[derive(Clone, Debug, Default)]
pub struct ConstIndex {
    by_hash: BTreeMap<String, u32>,
    /// Constants that are in the map.
    known: usize,
}

impl ConstIndex {
    /// The first constant of that hash.
    fn find(&mut self, constants: &[ConstData], hash: &str) -> Option<u32> {
        for (at, data) in constants.iter().enumerate().skip(self.known) {
            self.by_hash.entry(data.hash.clone()).or_insert(at as u32);
        }
        self.known = constants.len();
        let found = self.by_hash.get(hash).copied();
        // A list that was changed otherwise is searched.
        match found {
            Some(at) if constants.get(at as usize).is_some_and(|c| c.hash == hash) => found,
            Some(_) => constants.iter().position(|c| c.hash == hash).map(|at| at as u32),
            None => None,
        }
    }
}

impl Module {
    /// The constant `id` stands for.
    pub fn constant(&self, id: ConstId) -> &ConstData {
        &self.constants[id.0 as usize]
    }

    /// Adds a constant, or finds the equal one that is there.
    pub fn add_constant(&mut self, data: ConstData) -> ConstId {
        let found = self.index.find(&self.constants, &data.hash);
        ConstId(found.unwrap_or_else(|| {
            self.constants.push(data);
            self.constants.len() as u32 - 1
        }))
    }

    /// Forgets the bytes of a constant that nothing reads any more: an empty one stays in its place.
    pub fn release_constant(&mut self, id: ConstId) {
        let data = &mut self.constants[id.0 as usize];
        data.shape = vec![0];
        data.hash = content::of_bytes(data.dtype, &data.shape, &[]);
        data.bytes = ConstBytes::Inline(Arc::from([]));
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

    /// The prim-funcs, in the order of their names.
    pub fn prims(&self) -> impl Iterator<Item = &tir::PrimFunc> {
        self.functions.values().filter_map(|function| match function {
            Function::Prim(f) => Some(f),
            Function::Relax(_) => None,
        })
    }

    /// A name that no function has yet: `base`, or `base_N` with an `N` whose predecessor is taken.
    pub fn unique_name(&self, base: &str) -> String {
        let free = |n: u64| !self.functions.contains_key(&format!("{base}_{n}"));
        if !self.functions.contains_key(base) {
            return base.to_string();
        }
        // Names are given one after the other, so the end is found by doubling and halving and not by a walk.
        let (mut taken, mut end) = (0, 1);
        while !free(end) {
            (taken, end) = (end, end * 2);
        }
        while end - taken > 1 {
            let middle = taken + (end - taken) / 2;
            if free(middle) {
                end = middle;
            } else {
                taken = middle;
            }
        }
        format!("{base}_{end}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DType;

    fn data(hash: &str) -> ConstData {
        let bytes = ConstBytes::Inline(vec![0; 4].into());
        ConstData { hash: hash.into(), name: "c".into(), dtype: DType::F32, shape: vec![1], bytes }
    }

    #[test]
    fn names_are_given_one_after_the_other() {
        let mut module = Module::default();
        for n in 0..100 {
            let name = module.unique_name("f");
            assert_eq!(name, if n == 0 { "f".into() } else { format!("f_{n}") });
            module.functions.insert(name.clone(), Function::Prim(tir::PrimFunc::new(&name)));
        }
        module.functions.remove("f_40");
        let name = module.unique_name("f");
        assert!(!module.functions.contains_key(&name), "{name}");
    }

    #[test]
    fn a_constant_that_was_released_is_not_found() {
        let mut module = Module::default();
        assert_eq!(module.add_constant(data("a")), ConstId(0));
        assert_eq!(module.add_constant(data("b")), ConstId(1));
        module.release_constant(ConstId(0));
        assert_eq!(module.constant(ConstId(0)).bytes, ConstBytes::Inline(Arc::from([])));
        assert_eq!(module.add_constant(data("a")), ConstId(2));
        assert_eq!(module.add_constant(data("b")), ConstId(1));
    }

    #[test]
    fn equal_constants_are_one_however_they_came_in() {
        let mut module = Module::default();
        module.constants.push(data("a"));
        assert_eq!(module.add_constant(data("a")), ConstId(0));
        assert_eq!(module.add_constant(data("b")), ConstId(1));
        module.constants.clear();
        assert_eq!(module.add_constant(data("b")), ConstId(0));
        assert_eq!(module.add_constant(data("b")), ConstId(0));
    }
}
