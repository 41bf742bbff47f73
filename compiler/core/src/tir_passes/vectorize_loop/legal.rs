//! Whether the iterations of a loop may run side by side: no iteration reads or writes what another one writes.
//!
//! It knows indices and the prover, not how vectors are made.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::arith::{Fact, IntExpr, Sym};
use tenfold_ir::tir::{BufId, Expr, ExprId, PrimFunc, Scope, Stmt, VarId, Viewer};

use super::Reason;
use tenfold_ir::tir::copy::Bound;

/// Accesses of a body beyond which nothing is tried.
const MOST: usize = 128;

/// An access of one element, and what holds where it stands.
struct Touch {
    buf: BufId,
    at: Vec<IntExpr>,
    writes: bool,
    facts: Vec<Fact>,
}

/// Why the loop's iterations depend on one another, as far as can be proven.
pub(in crate::tir_passes) fn dependence(viewer: &mut Viewer<'_>, stmt: &Stmt) -> Option<Reason> {
    let Stmt::For { var, min, extent, body, .. } = stmt else { return None };
    viewer.scope(|v| {
        let known = v.prover.facts().len();
        v.enter_loop(*var, *min, *extent);
        let mut all = Touches { known, inside: Bound::default(), touches: Vec::new() };
        all.inside.collect(body);
        v.walk(body, &mut |v, s| all.stmt(v, s));
        conflict(v, &all, *var)
    })
}

struct Touches {
    /// How many facts hold around the loop.
    known: usize,
    /// What the loop's body binds: each iteration has its own.
    inside: Bound,
    touches: Vec<Touch>,
}

impl Touches {
    fn stmt(&mut self, v: &mut Viewer<'_>, stmt: &Stmt) {
        for id in v.func().reachable(stmt.exprs()) {
            if let Expr::Load { buf, index, .. } = v.func().exprs.get(id) {
                self.touch(v, *buf, index, false);
            }
        }
        if let Stmt::Store { buf, index, .. } = stmt {
            self.touch(v, *buf, index, true);
        }
    }

    fn touch(&mut self, v: &mut Viewer<'_>, buf: BufId, index: &[ExprId], writes: bool) {
        if !self.inside.bufs.contains(&buf) {
            let at = index.iter().map(|i| v.int(*i)).collect();
            let facts = v.prover.facts()[self.known..].to_vec();
            self.touches.push(Touch { buf, at, writes, facts });
        }
    }
}

fn conflict(v: &Viewer<'_>, all: &Touches, var: VarId) -> Option<Reason> {
    let func = v.func();
    let written: BTreeSet<BufId> = all.touches.iter().filter(|t| t.writes).map(|t| t.buf).collect();
    if written.iter().any(|buf| func.buffers[buf.0 as usize].scope == Scope::Workspace) {
        return Some(Reason::Workspace);
    }
    if all.touches.len() > MOST {
        return Some(Reason::TooLarge);
    }
    let pair = Pair { v, outer: outer_symbols(func, &all.inside, var), var: IntExpr::var(v.sym(var)) };
    let mut tried = BTreeMap::new();
    for (n, a) in all.touches.iter().enumerate() {
        for b in all.touches[n..].iter().filter(|b| b.buf == a.buf && (a.writes || b.writes)) {
            // What holds around accesses decides, too: nothing meets an access that is never reached.
            let key = ((&a.at, &a.facts), (&b.at, &b.facts));
            if !*tried.entry(key).or_insert_with(|| pair.apart(a, b)) {
                return Some(Reason::Dependence(func.buffers[a.buf.0 as usize].name.clone()));
            }
        }
    }
    None
}

/// Two iterations of the loop.
struct Pair<'a, 'f> {
    v: &'a Viewer<'f>,
    outer: BTreeSet<Sym>,
    var: IntExpr,
}

impl Pair<'_, '_> {
    /// Whether two accesses of different iterations never meet, whichever comes first.
    fn apart(&self, a: &Touch, b: &Touch) -> bool {
        // The second iteration has its own names for all that may differ.
        let other = |sym: &Sym| (!self.outer.contains(sym)).then(|| IntExpr::var(Sym::new(format!("{sym}'"))));
        let mut prover = self.v.prover.clone();
        a.facts.iter().for_each(|fact| prover.assume(fact.clone()));
        b.facts.iter().for_each(|fact| prover.assume(fact.substitute(&other)));
        let theirs: Vec<IntExpr> = b.at.iter().map(|e| e.substitute(&other)).collect();
        let second = self.var.substitute(&other);
        [(&self.var, &second), (&second, &self.var)].into_iter().all(|(earlier, later)| {
            prover.push_scope();
            prover.assume_lt(earlier, later);
            let differ = a.at.iter().zip(&theirs).any(|(x, y)| prover.prove_ne(x, y));
            prover.pop_scope();
            differ
        })
    }
}

/// Symbols that mean the same in every iteration.
fn outer_symbols(func: &PrimFunc, inside: &Bound, var: VarId) -> BTreeSet<Sym> {
    let all = func.vars.iter().enumerate().map(|(i, data)| (VarId(i as u32), data));
    all.filter(|(v, _)| *v != var && !inside.vars.contains(v)).map(|(_, data)| data.sym.clone()).collect()
}
