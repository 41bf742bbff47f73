//! What is known for sure. Index values have 64 bits, and what a condition says of them is taken to be exact: the proofs of
//! an access under it are redone later, where the same arithmetic wraps in both. What the access need not say because
//! of such a condition, that nothing lies outside, is left out for good; so it has to hold whatever wraps.

use std::collections::BTreeSet;

use tenfold_ir::Scalar;
use tenfold_ir::arith::{Fact, IntExpr, Prover, Sym};
use tenfold_ir::relax::{self, Wraps};

use super::cx::Elaborator;
use super::value::Value;
use crate::ast::NodeId;
use crate::diagnostic::Diagnostic;

/// Conditions on arithmetic that may wrap.
#[derive(Default)]
pub(super) struct Doubts {
    /// What they say.
    said: Vec<Fact>,
    /// Where the prover has it, and what follows from it: from this fact up to that one.
    known: Vec<(usize, usize)>,
    /// Conditions of the graph of which nothing is concluded, in which source they stand, and what they are about.
    silent: Vec<(u32, NodeId, BTreeSet<Sym>)>,
}

impl<'a> Elaborator<'a> {
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

    /// Notes that nothing is concluded from a condition of the graph: no kernel compares the same values again.
    pub(super) fn says_nothing(&mut self, node: NodeId, fact: &Fact) {
        self.doubts.silent.push((self.frame.source, node, fact.vars()));
    }

    /// Points to the last condition that would say something of an index if it could not wrap.
    pub(super) fn with_doubts(&self, error: Diagnostic, index: &IntExpr) -> Diagnostic {
        let vars = index.vars();
        let met = |(source, _, about): &&(u32, NodeId, BTreeSet<Sym>)| {
            *source == self.frame.source && !vars.is_disjoint(about)
        };
        match self.doubts.silent.iter().rev().find(met) {
            Some((_, node, _)) => {
                error.label(*node, "arithmetic in this condition may wrap, so nothing is concluded from it")
            }
            None => error,
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

    /// The same of what these are made of. What is known of other data leads to a proof by chance alone, and whoever looks
    /// for one again knows less of it.
    pub(super) fn surely_of(&self, of: [&IntExpr; 2], ask: impl Fn(&Prover) -> bool) -> bool {
        let other = |sym: &Sym| self.kernel.is_atom(sym) && of.iter().all(|e| !e.vars().contains(sym));
        let others = |fact: &Fact| fact.vars().iter().any(other);
        self.surely(|prover| {
            if !ask(prover) {
                return false;
            }
            if !prover.facts().iter().any(others) {
                return true;
            }
            let mut own = Prover::new();
            prover.facts().iter().filter(|fact| !others(fact)).for_each(|fact| own.assume(fact.clone()));
            ask(&own)
        })
    }

    /// A condition, as a constant where what is known decides it. What only runs where facts contradict each other is not
    /// compiled: they prove everything, and whoever proves it again knows some of them alone.
    pub(super) fn decided(&self, value: Value<'a>) -> Value<'a> {
        if self.rehearsing {
            return value;
        }
        let cond = self.cond_of(&value);
        let never = |fact: &Option<Fact>| {
            let fact = fact.as_ref().filter(|fact| !self.is_doubtful(fact));
            fact.is_some_and(|fact| self.surely(|prover| prover.prove(&fact.negate())))
        };
        if never(&cond.yes) {
            return Value::Fixed(Scalar::bool(false));
        }
        if never(&cond.no) { Value::Fixed(Scalar::bool(true)) } else { value }
    }

    /// Whether a loop surely has no turn.
    pub(super) fn never_turns(&self, count: &IntExpr) -> bool {
        !self.rehearsing && !self.wraps(count) && self.surely(|prover| prover.prove_ge0(&-count))
    }

    /// Whether 64 bits may not hold a value, or what it is made of.
    pub(super) fn wraps(&self, e: &IntExpr) -> bool {
        self.ask_wraps(|it| it.may(e))
    }

    /// Whether an axis may be equal to what is computed of a value that is another one.
    pub(super) fn meets_an_axis_by_wrapping(&self, e: &IntExpr) -> bool {
        self.ask_wraps(|it| it.may_meet_an_axis(e))
    }

    /// Whether a loop may turn though its count is negative.
    pub(super) fn turns_by_wrapping(&self, count: &IntExpr) -> bool {
        self.ask_wraps(|it| it.may_rise(count))
    }

    fn ask_wraps(&self, ask: impl Fn(&Wraps<'_>) -> bool) -> bool {
        ask(&Wraps { prover: self.prover(), free: &|sym| self.may_be_anything(sym) })
    }

    /// Whether a symbol stands for data or for a parameter.
    fn may_be_anything(&self, sym: &Sym) -> bool {
        self.kernel.is_atom(sym) || relax::is_free(self.graph.function(), sym)
    }
}
