//! Which parameters of internal functions may point to the same memory.
//!
//! The user's tensors never overlap, but the memory plan may let a result take the place of an
//! operand that dies, or lie over a part of it. A parameter that some call passes such memory to is not `noalias`, nor
//! `restrict`.

use std::collections::BTreeSet;

use tenfold_ir::{
    arith::{IntExpr, Prover},
    tir::{BufId, BufUse, BufferData, CallArg, Param, PrimFunc, Scope, Stmt},
};

/// The parameters that share memory with another that is written.
#[derive(Debug, Default)]
pub struct Aliases(BTreeSet<(String, u32)>);

impl Aliases {
    /// Looks at every call in `prims`.
    pub fn of(prims: &[&PrimFunc]) -> Aliases {
        let mut aliases = Aliases::default();
        // What a caller's parameters share, its callees' share when they are passed on.
        while aliases.grow(prims) {}
        aliases
    }

    fn grow(&mut self, prims: &[&PrimFunc]) -> bool {
        let before = self.0.len();
        for caller in prims {
            each_call(&caller.body, &mut |callee, args| {
                if let Some(callee) = prims.iter().find(|prim| prim.name == *callee) {
                    self.look(caller, callee, args);
                }
            });
        }
        self.0.len() > before
    }

    /// Whether the parameter of that number may share memory.
    pub fn shared(&self, function: &str, parameter: u32) -> bool {
        self.0.contains(&(function.to_owned(), parameter))
    }

    fn both_shared(&self, caller: &PrimFunc, a: BufId, b: BufId) -> bool {
        let shared = |buf| parameter(caller, buf).is_some_and(|n| self.shared(&caller.name, n));
        shared(a) && shared(b)
    }

    fn look(&mut self, caller: &PrimFunc, callee: &PrimFunc, args: &[CallArg]) {
        let mut buffers: Vec<(u32, BufId, bool)> = Vec::new();
        for (number, (param, arg)) in (0..).zip(callee.params.iter().zip(args)) {
            if let (Param::Buffer(_, usage), CallArg::Buffer(buf)) = (param, arg) {
                buffers.push((number, *buf, *usage != BufUse::In));
            }
        }
        for (i, (a, first, writes)) in buffers.iter().enumerate() {
            for (b, second, also) in &buffers[i + 1..] {
                if (*writes || *also) && (overlap(caller, *first, *second) || self.both_shared(caller, *first, *second))
                {
                    self.0.insert((callee.name.clone(), *a));
                    self.0.insert((callee.name.clone(), *b));
                }
            }
        }
    }
}

/// The number of the parameter that a buffer is.
fn parameter(prim: &PrimFunc, buf: BufId) -> Option<u32> {
    let at = prim.params.iter().position(|p| matches!(p, Param::Buffer(own, _) if *own == buf))?;
    Some(at as u32)
}

/// Whether two buffers of a function may share a byte.
fn overlap(prim: &PrimFunc, a: BufId, b: BufId) -> bool {
    if a == b {
        return true;
    }
    let (x, y) = (&prim.buffers[a.0 as usize], &prim.buffers[b.0 as usize]);
    if x.scope != Scope::Workspace || y.scope != Scope::Workspace {
        return x.scope == y.scope && matches!(x.scope, Scope::Const(_));
    }
    let (p, q) = (start(x), start(y));
    !(before(prim, &(&p + &bytes(x)), &q) || before(prim, &(&q + &bytes(y)), &p))
}

fn start(data: &BufferData) -> IntExpr {
    data.offset.clone().unwrap_or_else(|| IntExpr::from(0))
}

fn bytes(data: &BufferData) -> IntExpr {
    let element = IntExpr::from(data.dtype.size_bytes() as i64);
    data.shape.iter().fold(element, |size, extent| &size * extent)
}

/// Whether `a <= b` for all sizes that a call may have.
fn before(prim: &PrimFunc, a: &IntExpr, b: &IntExpr) -> bool {
    let gap = b - a;
    if let Some(gap) = gap.as_const() {
        return gap >= 0;
    }
    let mut prover = Prover::new();
    prim.facts.iter().for_each(|fact| prover.assume(fact.clone()));
    prover.prove_ge0(&gap)
}

/// Every call in a statement, with the callee's name.
pub fn each_call(stmt: &Stmt, f: &mut dyn FnMut(&str, &[CallArg])) {
    stmt.walk(&mut |s| {
        if let Stmt::Call { func, args, launch: _ } = s {
            f(func, args);
        }
    });
}
