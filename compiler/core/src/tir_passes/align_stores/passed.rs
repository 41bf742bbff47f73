//! Which parameters of functions are memory of the caller of all, which begins anywhere: the workspace and constants begin
//! at a cache line.

use std::collections::BTreeSet;

use tenfold_ir::Module;
use tenfold_ir::tir::{BufId, CallArg, Param, PrimFunc};

use crate::aliases::{Aliases, each_call};

/// The parameters that are memory of the caller, or share memory.
pub(super) struct Passed {
    of: BTreeSet<(String, usize)>,
    aliases: Aliases,
}

impl Passed {
    pub(super) fn of(module: &Module) -> Passed {
        let prims: Vec<&PrimFunc> = module.prims().collect();
        let entries = prims.iter().filter(|prim| prim.exported);
        let mut passed = Passed {
            of: entries.flat_map(|p| (0..p.params.len()).map(|n| (p.name.clone(), n))).collect(),
            aliases: Aliases::of(&prims),
        };
        while passed.grow(&prims) {}
        passed
    }

    /// Adds what functions pass on of what they were passed.
    fn grow(&mut self, prims: &[&PrimFunc]) -> bool {
        let before = self.of.len();
        for caller in prims {
            let own = self.params(caller);
            each_call(&caller.body, &mut |callee, args| {
                let passed =
                    args.iter().enumerate().filter(|(_, arg)| matches!(arg, CallArg::Buffer(b) if own.contains(b)));
                self.of.extend(passed.map(|(n, _)| (callee.to_string(), n)));
            });
        }
        self.of.len() > before
    }

    fn params(&self, prim: &PrimFunc) -> BTreeSet<BufId> {
        let all = prim.params.iter().enumerate().filter(|(n, _)| self.of.contains(&(prim.name.clone(), *n)));
        let buf = |param: &Param| match param {
            Param::Buffer(buf, _) => Some(*buf),
            Param::Value(_) | Param::Workspace => None,
        };
        all.filter_map(|(_, param)| buf(param)).collect()
    }

    /// The parameters of a function that are memory of the caller and share none with others.
    pub(super) fn to(&self, prim: &PrimFunc) -> BTreeSet<BufId> {
        let passed = self.params(prim);
        let all = prim.params.iter().enumerate().filter_map(|(n, param)| match param {
            Param::Buffer(buf, _) => (!self.aliases.shared(&prim.name, n as u32)).then_some(*buf),
            Param::Value(_) | Param::Workspace => None,
        });
        all.filter(|buf| passed.contains(buf)).collect()
    }
}
