//! What is known for sure. Index values have 64 bits, and what a condition says of them is taken to be exact: the proofs of
//! an access under it are redone later, where the same arithmetic wraps in both. What the access need not say because
//! of such a condition, that nothing lies outside, is left out for good; so it has to hold whatever wraps.

use tenfold_ir::arith::{Fact, IntExpr, Prover, Sym, View};
use tenfold_ir::relax::SymKind;

use super::cx::Elaborator;

/// From here on a bound is that of a dtype, and sums leave 64 bits.
const FAR: u64 = 1 << 62;

/// Conditions on arithmetic that may wrap.
#[derive(Default)]
pub(super) struct Doubts {
    /// What they say.
    said: Vec<Fact>,
    /// Where the prover has it, and what follows from it: from this fact up to that one.
    known: Vec<(usize, usize)>,
}

impl Elaborator<'_> {
    /// Notes that a condition on these values says this, or the contrary.
    pub(super) fn doubt(&mut self, fact: &Fact, sides: [&IntExpr; 2]) {
        if !sides.into_iter().any(|side| self.wraps(side)) {
            return;
        }
        for fact in [fact.clone(), fact.negate()] {
            if !self.doubts.said.contains(&fact) {
                self.doubts.said.push(fact);
            }
        }
    }

    /// Takes a fact to hold in this scope.
    pub(super) fn assume(&mut self, fact: Fact) {
        if let Fact::And(all) = fact {
            return all.into_iter().for_each(|fact| self.assume(fact));
        }
        let (doubtful, from) = (self.is_doubtful(&fact), self.prover().facts().len());
        self.graph.prover.assume(fact);
        if doubtful {
            self.doubts.known.push((from, self.prover().facts().len()));
        }
    }

    fn is_doubtful(&self, fact: &Fact) -> bool {
        match fact {
            Fact::And(all) | Fact::Or(all) => all.iter().any(|fact| self.is_doubtful(fact)),
            Fact::NonNegative(_) | Fact::Zero(_) | Fact::NonZero(_) | Fact::Divisible(..) => {
                self.doubts.said.contains(fact)
            }
        }
    }

    /// Forgets the doubts of scopes that are over.
    pub(super) fn forget_doubts(&mut self) {
        let count = self.prover().facts().len();
        self.doubts.known.retain(|(from, _)| *from < count);
    }

    /// Whether something that is known here hangs on arithmetic that may have wrapped.
    pub(super) fn is_in_doubt(&self) -> bool {
        !self.doubts.known.is_empty()
    }

    /// Asks what is known without conditions on arithmetic that may have wrapped.
    pub(super) fn surely(&self, ask: impl Fn(&Prover) -> bool) -> bool {
        if self.doubts.known.is_empty() || !ask(self.prover()) {
            return ask(self.prover());
        }
        let mut sure = Prover::new();
        let doubted = |at: usize| self.doubts.known.iter().any(|(from, to)| (*from..*to).contains(&at));
        let held = self.prover().facts().iter().enumerate().filter(|(at, _)| !doubted(*at));
        held.for_each(|(_, fact)| sure.assume(fact.clone()));
        ask(&sure)
    }

    /// Whether 64 bits may not hold a value, or what it is made of.
    fn wraps(&self, e: &IntExpr) -> bool {
        match e.view() {
            View::Const(_) | View::Var(_) => false,
            View::Add(parts) => parts.iter().any(|it| self.wraps(it)) || self.is_far(e),
            View::Mul(parts) => {
                let values = parts.iter().filter(|it| it.as_const().is_none()).count();
                values > 1 || parts.iter().any(|it| self.wraps(it)) || self.is_far(e)
            }
            View::FloorDiv(a, b)
            | View::FloorMod(a, b)
            | View::TruncDiv(a, b)
            | View::TruncRem(a, b)
            | View::Min(a, b)
            | View::Max(a, b) => self.wraps(&a) || self.wraps(&b),
        }
    }

    /// Whether a sum has a term that may be anything: data or a parameter that nothing bounds.
    fn is_far(&self, e: &IntExpr) -> bool {
        let near = |end: Option<IntExpr>| {
            end.is_some_and(|end| match end.as_const() {
                Some(n) => n.unsigned_abs() < FAR,
                None => !end.vars().iter().any(|sym| self.may_be_anything(sym)),
            })
        };
        e.vars().into_iter().filter(|sym| self.may_be_anything(sym)).any(|sym| {
            let (lo, hi) = self.prover().bounds(&IntExpr::var(sym));
            !(near(lo) && near(hi))
        })
    }

    /// Whether a symbol stands for data or for a parameter.
    fn may_be_anything(&self, sym: &Sym) -> bool {
        let given = |kind: &SymKind| matches!(kind, SymKind::IndexParam { .. } | SymKind::Bound(_));
        self.kernel.is_atom(sym) || self.graph.function().syms.iter().any(|decl| decl.sym == *sym && given(&decl.kind))
    }
}
