//! Whether indices tell the turns of loops apart.
//!
//! Each index is a sum of digits, a digit being a loop variable, a quotient or a remainder. From a sum whose factors
//! leave room for each other every digit is known; from a quotient and a remainder by one number, what was divided is.
//! What is known of a sum becomes a sum that is known, until nothing new is.

use std::collections::BTreeSet;

use tenfold_ir::arith::{Domain, IntExpr, IntervalSet, Prover, Range, Sym, View};

/// Loops, outermost first.
#[derive(Clone, Default, Debug)]
pub(in crate::schedule) struct Digits {
    domain: Domain,
}

impl Digits {
    pub(in crate::schedule) fn push(&mut self, sym: Sym, min: IntExpr, extent: IntExpr) {
        self.domain.push(sym, Range::new(min, extent));
    }

    /// All loops but one.
    pub(in crate::schedule) fn without(&self, sym: &Sym) -> Domain {
        let mut rest = Domain::new();
        let others = self.domain.loops().iter().filter(|(s, _)| s != sym);
        others.for_each(|(s, range)| rest.push(s.clone(), range.clone()));
        rest
    }

    pub(in crate::schedule) fn syms(&self) -> BTreeSet<Sym> {
        self.domain.loops().iter().map(|(sym, _)| sym.clone()).collect()
    }
}

/// Whether turns that differ in one of `wanted` differ in one of `values`.
pub(in crate::schedule) fn injective(values: &[IntExpr], over: &Digits, wanted: &BTreeSet<Sym>) -> bool {
    let mut solver = Solver { over, known: BTreeSet::new(), sums: values.to_vec(), prover: Prover::new() };
    over.domain.assume(&mut solver.prover);
    // A loop of one turn has nothing to tell apart.
    for (sym, range) in over.domain.loops() {
        if range.extent.as_const() == Some(1) {
            solver.known.insert(IntExpr::var(sym.clone()));
        }
    }
    solver.run();
    wanted.iter().all(|sym| solver.known.contains(&IntExpr::var(sym.clone())))
}

struct Solver<'d> {
    over: &'d Digits,
    known: BTreeSet<IntExpr>,
    sums: Vec<IntExpr>,
    prover: Prover,
}

impl Solver<'_> {
    fn run(&mut self) {
        // Each round but the last finds a digit, of which there are as many as atoms.
        for _ in 0..64 {
            let before = (self.known.len(), self.sums.len());
            for sum in self.sums.clone() {
                self.take_apart(&sum);
            }
            self.join();
            if before == (self.known.len(), self.sums.len()) {
                return;
            }
        }
    }

    /// Whether an expression has the same value in the turns compared.
    fn fixed(&self, e: &IntExpr) -> bool {
        if self.known.contains(e) || !self.over.domain.binds_any_of(e) {
            return true;
        }
        match e.view() {
            View::Const(_) => true,
            View::Var(_) => false,
            View::Add(all) | View::Mul(all) => all.iter().all(|t| self.fixed(t)),
            View::FloorDiv(a, b)
            | View::FloorMod(a, b)
            | View::TruncDiv(a, b)
            | View::TruncRem(a, b)
            | View::Min(a, b)
            | View::Max(a, b) => self.fixed(&a) && self.fixed(&b),
        }
    }

    fn take_apart(&mut self, sum: &IntExpr) {
        let terms = match sum.view() {
            View::Add(all) => all,
            _ => vec![sum.clone()],
        };
        let open: Vec<IntExpr> = terms.into_iter().filter(|t| !self.fixed(t)).collect();
        let Some(mut left) = open.iter().map(|t| self.digit(t)).collect::<Option<Vec<_>>>() else { return };
        let mut room = IntExpr::from(1);
        let mut found = Vec::new();
        while !left.is_empty() {
            let Some(next) = least(&left, &room) else { return };
            let (factor, digit, extent) = left.remove(next);
            let Some(extent) = extent else {
                // Above the digit of unknown extent there is nothing else.
                if left.is_empty() {
                    found.push(digit);
                }
                break;
            };
            room = room + factor * (extent - 1);
            found.push(digit);
        }
        if left.is_empty() {
            self.known.extend(found);
        }
    }

    /// A term as factor, digit and extent of the digit.
    fn digit(&self, term: &IntExpr) -> Option<(IntExpr, IntExpr, Option<IntExpr>)> {
        let factors = match term.view() {
            View::Mul(all) => all,
            _ => vec![term.clone()],
        };
        let (fixed, open): (Vec<IntExpr>, Vec<IntExpr>) = factors.into_iter().partition(|f| self.fixed(f));
        let [digit] = &open[..] else { return None };
        let factor = fixed.iter().fold(IntExpr::from(1), |n, f| &n * f);
        let factor = match factor.as_const() {
            Some(0) => return None,
            Some(n) => IntExpr::from(n.checked_abs()?),
            None => factor,
        };
        let range = IntervalSet::of(digit, &self.over.domain, &Prover::new());
        Some((factor, digit.clone(), range.extent()))
    }

    /// What a quotient and a remainder that are known were made of.
    fn join(&mut self) {
        let mut found = Vec::new();
        for remainder in &self.known {
            let View::FloorMod(a, b) = remainder.view() else { continue };
            if self.known.contains(&a.floor_div(&b)) || self.fixed(&self.prover.simplify(&a.floor_div(&b))) {
                found.push(a);
            }
        }
        for e in found {
            if self.known.insert(e.clone()) {
                self.sums.push(e);
            }
        }
        // A variable that only its quotient is made of is known where the quotient is the variable.
        let whole: Vec<IntExpr> = self.known.iter().map(|e| self.prover.simplify(e)).collect();
        self.known.extend(whole);
    }
}

type Term = (IntExpr, IntExpr, Option<IntExpr>);

/// The term of the least factor for which there is room: the sum so far stays below it.
fn least(left: &[Term], room: &IntExpr) -> Option<usize> {
    let spare = |t: &Term| (&t.0 - room).as_const().filter(|n| *n >= 0);
    let all = left.iter().enumerate().filter_map(|(at, t)| Some((spare(t)?, at)));
    all.min().map(|(_, at)| at)
}
