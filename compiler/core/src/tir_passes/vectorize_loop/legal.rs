//! Whether the iterations of a loop may run side by side: no iteration reads or writes what another one writes.
//!
//! It knows indices and the prover, not how vectors are made.

use std::collections::{BTreeMap, BTreeSet};

use tenfold_ir::arith::{Fact, IntExpr, Sym};
use tenfold_ir::tir::{BufId, Expr, ExprId, PrimFunc, Scope, Stmt, VarId, Viewer};

use super::Reason;
use tenfold_ir::tir::copy::Bound;

/// Accesses of a buffer beyond which they are not compared in pairs.
const MOST: usize = 128;

/// An access of one element, and what holds where it stands.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
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
        let mut all = Touches { known, inside: Bound::default(), seen: BTreeSet::new(), touches: Vec::new() };
        all.inside.collect(body);
        v.walk(body, &mut |v, s| all.stmt(v, s));
        conflict(v, &all, *var)
    })
}

struct Touches {
    seen: BTreeSet<Touch>,
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
            let touch = Touch { buf, at, writes, facts };
            if self.seen.insert(touch.clone()) {
                self.touches.push(touch);
            }
        }
    }
}

fn conflict(v: &Viewer<'_>, all: &Touches, var: VarId) -> Option<Reason> {
    let func = v.func();
    let written: BTreeSet<BufId> = all.touches.iter().filter(|t| t.writes).map(|t| t.buf).collect();
    if written.iter().any(|buf| func.buffers[buf.0 as usize].scope == Scope::Workspace) {
        return Some(Reason::Workspace);
    }
    let pair = Pair { v, outer: outer_symbols(func, &all.inside, var), var: IntExpr::var(v.sym(var)) };
    written.into_iter().find_map(|buf| {
        let touches: Vec<&Touch> = all.touches.iter().filter(|t| t.buf == buf).collect();
        let axes = touches.first().map_or(0, |t| t.at.len());
        if (0..axes).any(|axis| pair.steps_over(&touches, axis)) {
            None
        } else if touches.len() > MOST {
            Some(Reason::TooLarge)
        } else {
            let meet = pair.meet(&touches);
            meet.then(|| Reason::Dependence(func.buffers[buf.0 as usize].name.clone()))
        }
    })
}

/// Two iterations of the loop.
struct Pair<'a, 'f> {
    v: &'a Viewer<'f>,
    outer: BTreeSet<Sym>,
    var: IntExpr,
}

impl Pair<'_, '_> {
    /// Whether an iteration steps further along an axis than what all of it touches there lies apart.
    fn steps_over(&self, touches: &[&Touch], axis: usize) -> bool {
        let at = |e: &IntExpr, place: &IntExpr| {
            let sym = self.var.as_var();
            e.substitute(&|s: &Sym| (Some(s) == sym).then(|| place.clone()))
        };
        let Some(first) = touches.first().map(|t| &t.at[axis]) else { return true };
        let next = at(first, &(&self.var + &IntExpr::from(1)));
        let Some(step) = (&next - first).as_const().filter(|step| *step != 0) else { return false };
        // Where it would be in the first iteration, but for what differs inside of one.
        let inside = |sym: &Sym| (!self.outer.contains(sym)).then(|| IntExpr::from(0));
        let base = first.substitute(&inside);
        let mut all: Option<(i64, i64)> = None;
        for touch in touches {
            let moved = &touch.at[axis] - &(&self.var * &IntExpr::from(step));
            let offset = &moved - &base;
            if self.var.as_var().is_none_or(|sym| offset.vars().contains(sym)) {
                return false;
            }
            let mut prover = self.v.prover.clone();
            touch.facts.iter().for_each(|fact| prover.assume(fact.clone()));
            let (Some(low), Some(high)) = prover.const_bounds(&offset) else { return false };
            all = Some(all.map_or((low, high), |(least, most)| (least.min(low), most.max(high))));
        }
        all.is_some_and(|(least, most)| most - least < step.abs())
    }

    /// Whether accesses of different iterations may meet.
    fn meet(&self, touches: &[&Touch]) -> bool {
        let mut tried = BTreeMap::new();
        touches.iter().enumerate().any(|(n, a)| {
            touches[n..].iter().filter(|b| a.writes || b.writes).any(|b| {
                // What holds around accesses decides, too: nothing meets an access that is never reached.
                let key = ((&a.at, &a.facts), (&b.at, &b.facts));
                !*tried.entry(key).or_insert_with(|| self.apart(a, b))
            })
        })
    }

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
