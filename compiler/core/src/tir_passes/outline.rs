//! What a statement becomes when a function of its own holds it: parameters for what it uses of what is around it, and
//! a call with the arguments.

use std::collections::BTreeSet;

use tenfold_ir::arith::Sym;
use tenfold_ir::tir::copy::{Bound, keep_buffers};
use tenfold_ir::tir::{BufId, BufUse, Builder, CallArg, Param, PrimFunc, Scope, Stmt, VarId, free_vars, read, written};
use tenfold_ir::{Function, Module};

/// What a statement uses of what is around it.
pub(super) struct Captured {
    /// Buffers that are not constants, and whether they are written.
    pub buffers: Vec<(BufId, BufUse)>,
    /// Variables, and those that sizes of the buffers name.
    pub values: Vec<VarId>,
}

impl Captured {
    pub(super) fn of(func: &PrimFunc, stmt: &Stmt) -> Self {
        let (writes, mut named) = (written(func, stmt), read(func, stmt));
        let mut inside = Bound::default();
        inside.collect(stmt);
        named.extend(writes.iter().chain(&inside.bufs));
        stmt.walk(&mut |s| {
            if let Stmt::Prefetch { buf, .. } = s {
                named.insert(*buf);
            }
        });
        let (mut buffers, mut values) = (Vec::new(), free_vars(func, stmt));
        for buf in named {
            let data = &func.buffers[buf.0 as usize];
            values.extend(data.symbols().iter().filter_map(|sym| var_of(func, sym)));
            if !inside.bufs.contains(&buf) && !matches!(data.scope, Scope::Const(_)) {
                buffers.push((buf, if writes.contains(&buf) { BufUse::InOut } else { BufUse::In }));
            }
        }
        values.retain(|var| !inside.vars.contains(var));
        Self { buffers, values: values.into_iter().collect() }
    }

    /// What the call passes.
    pub(super) fn args(&self, b: &mut Builder) -> Vec<CallArg> {
        let buffers = self.buffers.iter().map(|(buf, _)| CallArg::Buffer(*buf));
        let values = self.values.iter().map(|var| CallArg::Value(b.read(*var)));
        buffers.chain(values).collect()
    }

    /// The symbols of the values.
    pub(super) fn known(&self, func: &PrimFunc) -> BTreeSet<Sym> {
        self.values.iter().map(|var| func.vars[var.0 as usize].sym.clone()).collect()
    }

    /// A function of this body that takes the arguments, and knows what `func` knows of them.
    pub(super) fn function(&self, func: &PrimFunc, name: String, body: Stmt) -> PrimFunc {
        let mut made = PrimFunc { name, body, exported: false, params: Vec::new(), ..func.clone() };
        for (buf, usage) in &self.buffers {
            let data = &mut made.buffers[buf.0 as usize];
            (data.scope, data.offset) = (Scope::Param, None);
            made.params.push(Param::Buffer(*buf, *usage));
        }
        made.params.extend(self.values.iter().map(|var| Param::Value(*var)));
        let known = self.known(func);
        made.facts.retain(|fact| fact.vars().into_iter().all(|sym| known.contains(&sym)));
        made
    }
}

fn var_of(func: &PrimFunc, sym: &Sym) -> Option<VarId> {
    func.vars.iter().position(|v| v.sym == *sym).map(|at| VarId(at as u32))
}

/// Adds a function to a module.
pub(super) fn insert(module: &mut Module, func: PrimFunc) {
    module.functions.insert(func.name.clone(), Function::Prim(keep_buffers(func)));
}
