//! Which index parameters of internal functions hold 32 bits, on targets whose addresses do.
//!
//! A dim comes from outside in as many bits as an address has. Passed on as it is, it stays that narrow, and loops over
//! it need no counter of 64 bits.

use std::collections::BTreeSet;

use tenfold_core::{Target, each_call};
use tenfold_ir::tir::{CallArg, Elem, Expr, Param, PrimFunc, VarId};

/// The variables of functions that are narrow index parameters.
#[derive(Debug, Default)]
pub(super) struct Narrow<'a>(BTreeSet<(&'a str, VarId)>);

impl<'a> Narrow<'a> {
    /// Looks at every call in `prims`.
    pub(super) fn of(prims: &[&'a PrimFunc], target: &Target) -> Narrow<'a> {
        let mut narrow = Narrow::default();
        if target.pointer_bits >= 64 {
            return narrow;
        }
        for prim in prims {
            for var in indices(prim) {
                narrow.0.insert((&prim.name, var));
            }
        }
        // What one call takes away may take away more in the functions that the callee calls.
        while narrow.take_away(prims) {}
        narrow
    }

    /// Whether a variable of a function is one.
    pub(super) fn has(&self, function: &str, var: VarId) -> bool {
        self.0.contains(&(function, var))
    }

    fn take_away(&mut self, prims: &[&'a PrimFunc]) -> bool {
        let before = self.0.len();
        for caller in prims {
            each_call(&caller.body, &mut |callee, args| {
                let Some(callee) = prims.iter().find(|prim| prim.name == *callee) else { return };
                for (param, arg) in callee.params.iter().zip(args) {
                    if let (Param::Value(var), CallArg::Value(value)) = (param, arg) {
                        let fits = match caller.exprs.get(*value) {
                            Expr::Var(from) => self.has(&caller.name, *from),
                            Expr::Index(value) => i32::try_from(*value).is_ok(),
                            _ => false,
                        };
                        if !fits {
                            self.0.remove(&(callee.name.as_str(), *var));
                        }
                    }
                }
            });
        }
        self.0.len() < before
    }
}

fn indices(prim: &PrimFunc) -> impl Iterator<Item = VarId> + '_ {
    prim.params.iter().filter_map(|param| match param {
        Param::Value(var) if prim.vars[var.0 as usize].ty.elem == Elem::Index => Some(*var),
        Param::Value(_) | Param::Buffer(..) | Param::Workspace => None,
    })
}
