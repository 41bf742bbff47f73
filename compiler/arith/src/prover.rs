//! Facts, scopes and queries.

use super::const_int_bound::ConstIntBound;
use super::expr::IntExpr;
use super::fact::{Fact, tighten};
use super::memory::{Answers, Context, Known, Memory};
use super::meter::Meter;
use super::modular_set::ModularSet;
use super::points::{self, Point};
use super::simplify::Equality;
use super::sym::Sym;
use super::{bounds, congruence, dividend, ends, enumerate, limits, linear, rows, simplify, split};
use std::sync::Arc;

/// Facts and the questions they answer. A `false` means "not proven", never "proven false".
#[derive(Clone, Debug, Default)]
pub struct Prover {
    /// What holds: conjunctions are taken apart, the rest is as stated.
    facts: Vec<Fact>,
    /// The facts up to each.
    contexts: Vec<Context>,
    /// What each of them equates.
    equalities: Vec<Option<Equality>>,
    /// How many facts each open scope began with.
    scopes: Vec<usize>,
    /// What is left of the work of the query at hand.
    work: Meter,
    /// What was asked before.
    memory: Memory,
}

impl Prover {
    /// A prover that knows nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes `fact` to hold until the scope ends. Facts that contradict each other prove everything.
    pub fn assume(&mut self, fact: Fact) {
        // Conditions name the variables of a block, and what is asked for is about those of the loops around it.
        let fact = fact.map(&mut |e| simplify::equalities(self, e));
        match fact {
            Fact::And(all) => all.into_iter().for_each(|fact| self.assume(fact)),
            Fact::Or(mut any) if any.len() == 1 => any.drain(..).for_each(|fact| self.assume(fact)),
            Fact::NonNegative(e) => self.remember(Fact::NonNegative(tighten(&e)), limits::RAISED),
            Fact::Zero(_) | Fact::NonZero(_) | Fact::Divisible(..) | Fact::Or(_) => {
                self.remember(fact, limits::RAISED);
            }
        }
    }

    /// Takes a fact and what follows from it, so many steps far: residues that contradict each other raise a bound
    /// without end.
    fn remember(&mut self, fact: Fact, steps: u32) {
        if self.facts.iter().any(|known| known.covers(&fact)) {
            return;
        }
        let pairs =
            self.facts.iter().flat_map(|known| [congruence::raised(known, &fact), congruence::raised(&fact, known)]);
        let raised: Vec<Fact> = pairs.flatten().chain(dividend::bounded(&fact)).chain(congruence::odd(&fact)).collect();
        self.push(fact);
        if let Some(steps) = steps.checked_sub(1) {
            raised.into_iter().for_each(|fact| self.remember(fact, steps));
        }
    }

    fn push(&mut self, fact: Fact) {
        self.contexts.push(self.memory.with(self.context(), &fact));
        self.equalities.push(simplify::equality(self, &fact));
        self.facts.push(fact);
    }

    /// What each of the facts equates.
    pub(super) fn equalities(&self) -> &[Option<Equality>] {
        &self.equalities
    }

    /// The facts that hold now.
    fn context(&self) -> Context {
        self.contexts.last().copied().unwrap_or_default()
    }

    /// `a >= b` holds.
    pub fn assume_ge(&mut self, a: &IntExpr, b: &IntExpr) {
        self.assume(Fact::ge(a, b));
    }

    /// `a <= b` holds.
    pub fn assume_le(&mut self, a: &IntExpr, b: &IntExpr) {
        self.assume(Fact::le(a, b));
    }

    /// `a < b` holds.
    pub fn assume_lt(&mut self, a: &IntExpr, b: &IntExpr) {
        self.assume(Fact::lt(a, b));
    }

    /// `a == b` holds.
    pub fn assume_eq(&mut self, a: &IntExpr, b: &IntExpr) {
        self.assume(Fact::eq(a, b));
    }

    /// `lo <= var < hi` holds, as inside a loop.
    pub fn assume_range(&mut self, var: &Sym, lo: &IntExpr, hi: &IntExpr) {
        let var = IntExpr::var(var.clone());
        self.assume_ge(&var, lo);
        self.assume_lt(&var, hi);
        // One turn of `4*N` says that `N` is one, which follows from the two above in integers alone.
        let some = hi - lo - 1;
        if tighten(&some) != some {
            self.assume(Fact::NonNegative(some));
        }
        if lo.as_const().is_some_and(|lo| lo >= 0) {
            self.assume_factors_positive(hi);
        }
    }

    /// A product that is above zero of factors that are not below: none is zero.
    fn assume_factors_positive(&mut self, product: &IntExpr) {
        self.work.begin();
        let ([(monomial, 1..)], 0) = (product.terms(), product.constant_term()) else { return };
        let factors: Vec<IntExpr> = monomial.atoms().iter().map(|atom| atom.clone().into_expr()).collect();
        if factors.len() > 1 && factors.iter().all(|it| bounds::nonnegative(self, it)) {
            factors.iter().for_each(|it| self.assume_ge(it, &1.into()));
        }
    }

    /// Opens a scope, in which further facts hold.
    pub fn push_scope(&mut self) {
        self.scopes.push(self.facts.len());
    }

    /// Closes the innermost scope and forgets its facts; without one it does nothing.
    pub fn pop_scope(&mut self) {
        if let Some(len) = self.scopes.pop() {
            self.facts.truncate(len);
            self.contexts.truncate(len);
            self.equalities.truncate(len);
        }
    }

    /// The facts that hold now, in the order they came.
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    /// The same facts but for one; scopes are not carried over.
    pub(super) fn without(&self, at: usize) -> Self {
        let mut inner = self.fork();
        inner.facts.truncate(at);
        inner.contexts.truncate(at);
        inner.equalities.truncate(at);
        self.facts.iter().skip(at + 1).for_each(|fact| inner.push(fact.clone()));
        inner
    }

    /// The same facts for a part of the same query; scopes are not carried over.
    pub(super) fn fork(&self) -> Self {
        let Self { facts, contexts, equalities, work, memory, .. } = self.clone();
        Self { facts, contexts, equalities, scopes: Vec::new(), work: work.share(), memory }
    }

    /// Whether the query at hand may do so much more work; one that may not gives up.
    pub(super) fn spend(&self, work: usize) -> bool {
        self.work.spend(work)
    }

    /// What was answered under the same facts, or what `ask` says.
    pub(super) fn recall<T: Clone>(
        &self,
        answers: impl Fn(&mut Known) -> &mut Answers<T>,
        e: &IntExpr,
        ask: impl FnOnce() -> T,
    ) -> T {
        self.memory.recall(answers, (self.context(), e), &self.work, ask)
    }

    /// `e >= 0`.
    pub fn prove_ge0(&self, e: &IntExpr) -> bool {
        self.work.begin();
        self.recall(|it| &mut it.nonnegative, e, || self.prove_stated(e))
    }

    fn prove_stated(&self, e: &IntExpr) -> bool {
        if let Some(value) = e.as_const() {
            return value >= 0 || self.excluded();
        }
        if points::negative(self, e) {
            return false;
        }
        // A rule may rewrite what a fact says outright.
        let e = simplify::equalities(self, e);
        let stated = tighten(&e);
        let goal = Fact::NonNegative(stated.clone());
        if self.facts.iter().any(|fact| fact.covers(&goal) || fact.is_false()) {
            return true;
        }
        let e = tighten(&simplify::expr(self, &e));
        if let Some(value) = e.as_const() {
            return value >= 0 || self.excluded();
        }
        // Conditions of rules that do not hold may have taken all of it.
        self.work.begin();
        self.prove_simplified(&e)
            || congruence::above(self, &e).is_some_and(|above| self.prove_simplified(&above))
            || self.prove_as_stated(&stated, &e)
    }

    /// `stated >= 0` where facts name a quotient or a remainder that rules put another in place of: nothing leads from
    /// the one to the other.
    fn prove_as_stated(&self, stated: &IntExpr, simplified: &IntExpr) -> bool {
        let kept = simplified.top_atoms();
        let mut replaced = stated.top_atoms().into_iter().filter(|it| it.operands().is_some() && !kept.contains(it));
        if !replaced.any(|atom| self.facts.iter().any(|fact| fact.names(atom))) {
            return false;
        }
        self.work.begin();
        bounds::nonnegative(self, stated) || linear::nonnegative(self, stated)
    }

    fn prove_simplified(&self, e: &IntExpr) -> bool {
        ends::nonnegative(self, e)
            || bounds::nonnegative(self, e)
            || linear::nonnegative(self, e)
            || split::nonnegative(self, e, &mut { limits::LEAVES })
            || enumerate::nonnegative(self, e)
    }

    /// Whether `e >= 0` is known not to follow: it is false where all facts hold. This takes much less time than a proof.
    pub fn refutes_ge0(&self, e: &IntExpr) -> bool {
        points::negative(self, e)
    }

    /// Points at which all facts hold.
    pub(super) fn points(&self) -> Arc<[Point]> {
        self.memory.points(self.context(), || points::find(self))
    }

    /// `a < b`.
    pub fn prove_lt(&self, a: &IntExpr, b: &IntExpr) -> bool {
        self.prove_ge0(&(b - a - 1))
    }

    /// `a <= b`.
    pub fn prove_le(&self, a: &IntExpr, b: &IntExpr) -> bool {
        self.prove_ge0(&(b - a))
    }

    /// `a == b`.
    pub fn prove_eq(&self, a: &IntExpr, b: &IntExpr) -> bool {
        let difference = a - b;
        if difference.is_zero() {
            return true;
        }
        if points::nonzero(self, &difference) {
            return false;
        }
        self.work.begin();
        let difference = simplify::expr(self, &difference);
        difference.is_zero() || (self.prove_ge0(&difference) && self.prove_ge0(&-&difference))
    }

    /// `a != b`.
    pub fn prove_ne(&self, a: &IntExpr, b: &IntExpr) -> bool {
        let difference = a - b;
        if points::zero(self, &difference) {
            return false;
        }
        self.work.begin();
        let difference = simplify::expr(self, &difference);
        if let Some(value) = difference.as_const() {
            return value != 0 || self.excluded();
        }
        let opposite = -&difference;
        self.facts.iter().any(|fact| matches!(fact, Fact::NonZero(e) if *e == difference || *e == opposite))
            || congruence::nonzero(self, &difference)
            || self.prove_ge0(&(&difference - 1))
            || self.prove_ge0(&(&opposite - 1))
    }

    /// `e` is a multiple of `c`; of zero only zero is.
    pub fn prove_divisible(&self, e: &IntExpr, c: i64) -> bool {
        self.work.begin();
        match c {
            0 => self.prove_eq(e, &IntExpr::constant(0)),
            1 | -1 => true,
            _ => congruence::divisible(self, &simplify::expr(self, e), c),
        }
    }

    /// Any fact.
    pub fn prove(&self, fact: &Fact) -> bool {
        match fact {
            Fact::NonNegative(e) => self.prove_ge0(e),
            Fact::Zero(e) => self.prove_eq(e, &IntExpr::constant(0)),
            Fact::NonZero(e) => self.prove_ne(e, &IntExpr::constant(0)),
            Fact::Divisible(e, c) => self.prove_divisible(e, *c),
            Fact::And(all) => all.iter().all(|fact| self.prove(fact)),
            Fact::Or(any) => self.facts.contains(fact) || self.prove_any(any),
        }
    }

    /// One of the alternatives, each under the negation of those before it.
    fn prove_any(&self, any: &[Fact]) -> bool {
        let mut inner = self.clone();
        any.iter().any(|fact| {
            let proven = inner.prove(fact);
            inner.assume(fact.negate());
            proven
        })
    }

    /// An expression of the same value wherever the facts hold.
    pub fn simplify(&self, e: &IntExpr) -> IntExpr {
        self.work.begin();
        simplify::expr(self, e)
    }

    /// The best symbolic bounds that were found, both inclusive, over what loops and conditions range over.
    pub fn bounds(&self, e: &IntExpr) -> (Option<IntExpr>, Option<IntExpr>) {
        self.work.begin();
        self.recall(|it| &mut it.bounds, e, || bounds::symbolic(self, e))
    }

    /// The best constant bounds that were found, both inclusive.
    pub fn const_bounds(&self, e: &IntExpr) -> (Option<i64>, Option<i64>) {
        let bound = self.const_int_bound(e);
        (bound.min, bound.max)
    }

    /// The same as one value.
    pub fn const_int_bound(&self, e: &IntExpr) -> ConstIntBound {
        self.work.begin();
        self.recall(|it| &mut it.const_bound, e, || ConstIntBound::of(self, e))
    }

    /// What was found of `e` modulo a constant.
    pub fn modular_set(&self, e: &IntExpr) -> ModularSet {
        self.work.begin();
        ModularSet::of(self, &simplify::expr(self, e))
    }

    /// Whether the facts exclude each other; `false` if that was not found.
    pub fn contradictory(&self) -> bool {
        self.work.begin();
        self.excluded()
    }

    /// The same with what is left of the work.
    fn excluded(&self) -> bool {
        rows::contradictory(self) || linear::nonnegative(self, &IntExpr::constant(-1))
    }
}
