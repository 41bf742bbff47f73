//! Linear arithmetic over monomials.
//!
//! `e >= L` wherever all rows are non-negative if `e = L + sum of m_i * row_i` with every `m_i >= 0`, each monomial
//! taken for a variable of its own. The greatest such `L` is a linear problem in the `m_i`, solved by an exact simplex
//! with Bland's rule; the multipliers are multiplied out again before anything is believed.

use super::atom::Monomial;
use super::expr::IntExpr;
use super::limits;
use super::prover::Prover;
use super::rational::Rational;
use super::rows;
use std::collections::BTreeMap;

/// Whether `e >= 0` was found; that `e` is negative may be used against itself.
pub(super) fn nonnegative(prover: &Prover, e: &IntExpr) -> bool {
    prover.recall(|it| &mut it.by_rows, e, || follows(prover, e))
}

fn follows(prover: &Prover, e: &IntExpr) -> bool {
    let rows = rows::collect(prover, e, true);
    // All values are integers: above -1 is at least 0. What bounds do not reach, a contradiction with `e < 0` may.
    let least = Rational::int(-1);
    let above = |goal: &IntExpr| {
        let bound = solve(prover, goal, &rows, Some(least));
        bound.and_then(|it| it.compare(least)).is_some_and(|it| it.is_gt())
    };
    above(e) || (!e.terms().is_empty() && above(&IntExpr::constant(-1)))
}

/// The best constant that was found below `e`.
pub(super) fn lower_bound(prover: &Prover, e: &IntExpr) -> Option<i64> {
    if let Some(value) = e.as_const() {
        return Some(value);
    }
    let bound = || solve(prover, e, &rows::collect(prover, e, false), None)?.ceil();
    prover.recall(|it| &mut it.lower_bound, e, bound)
}

/// The greatest bound, or the first above `enough`.
fn solve(prover: &Prover, goal: &IntExpr, rows: &[IntExpr], enough: Option<Rational>) -> Option<Rational> {
    let mut tableau = Tableau::new(prover, goal, rows)?;
    tableau.phase_one()?;
    tableau.drive_out()?;
    tableau.phase_two(enough)?;
    let multipliers = tableau.multipliers();
    certify(goal, rows, &multipliers)
}

/// The bound that the multipliers prove, if they prove one.
fn certify(goal: &IntExpr, rows: &[IntExpr], multipliers: &[Rational]) -> Option<Rational> {
    let mut left: BTreeMap<&Monomial, Rational> = BTreeMap::new();
    for (monomial, coefficient) in goal.terms() {
        left.insert(monomial, Rational::int(*coefficient));
    }
    let mut bound = Rational::int(goal.constant_term());
    for (row, multiplier) in rows.iter().zip(multipliers) {
        if multiplier.is_negative() {
            return None;
        }
        if multiplier.is_zero() {
            continue;
        }
        for (monomial, coefficient) in row.terms() {
            let slot = left.entry(monomial).or_insert(Rational::ZERO);
            *slot = slot.sub(multiplier.mul(Rational::int(*coefficient))?)?;
        }
        bound = bound.sub(multiplier.mul(Rational::int(row.constant_term()))?)?;
    }
    left.values().all(|it| it.is_zero()).then_some(bound)
}

struct Tableau<'p> {
    prover: &'p Prover,
    /// One line per monomial: a coefficient for each row of the problem, then the right side.
    lines: Vec<Vec<Rational>>,
    /// Reduced costs of what is left of the artificial variables, then of the constants.
    infeasible: Vec<Rational>,
    cost: Vec<Rational>,
    /// The basic variable of each line; from `width` on an artificial one.
    basis: Vec<usize>,
    width: usize,
    pivots: u32,
    goal: Rational,
}

impl<'p> Tableau<'p> {
    fn new(prover: &'p Prover, goal: &IntExpr, rows: &[IntExpr]) -> Option<Self> {
        let mut index: BTreeMap<&Monomial, usize> = BTreeMap::new();
        for (monomial, _) in goal.terms().iter().chain(rows.iter().flat_map(|row| row.terms())) {
            let next = index.len();
            index.entry(monomial).or_insert(next);
        }
        if index.len() > limits::MONOMIALS * 2 || !prover.spend(index.len() * rows.len() / 4) {
            return None;
        }
        let width = rows.len();
        let mut lines = vec![vec![Rational::ZERO; width + 1]; index.len()];
        for (at, row) in rows.iter().enumerate() {
            for (monomial, coefficient) in row.terms() {
                lines[*index.get(monomial)?][at] = Rational::int(*coefficient);
            }
        }
        for (monomial, coefficient) in goal.terms() {
            lines[*index.get(monomial)?][width] = Rational::int(*coefficient);
        }
        let mut infeasible = vec![Rational::ZERO; width + 1];
        for line in &mut lines {
            if line[width].is_negative() {
                for it in line.iter_mut() {
                    *it = it.neg()?;
                }
            }
            for (sum, it) in infeasible.iter_mut().zip(line.iter()) {
                *sum = sum.add(*it)?;
            }
        }
        let mut cost: Vec<Rational> = rows.iter().map(|row| Rational::int(row.constant_term())).collect();
        cost.push(Rational::ZERO);
        let basis = (width..width + lines.len()).collect();
        let goal = Rational::int(goal.constant_term());
        Some(Self { prover, lines, infeasible, cost, basis, width, pivots: 0, goal })
    }

    /// Makes the artificial variables zero; `None` if that cannot be.
    fn phase_one(&mut self) -> Option<()> {
        while self.infeasible[self.width].is_positive() {
            let column = (0..self.width).find(|j| self.infeasible[*j].is_positive())?;
            let line = self.leaving(column)?;
            self.pivot(line, column)?;
        }
        Some(())
    }

    /// Takes artificial variables out of the basis, and lines that say nothing out of the problem.
    fn drive_out(&mut self) -> Option<()> {
        let mut line = 0;
        while line < self.lines.len() {
            if self.basis[line] >= self.width {
                match (0..self.width).find(|j| !self.lines[line][*j].is_zero()) {
                    Some(column) => self.pivot(line, column)?,
                    None => {
                        self.lines.remove(line);
                        self.basis.remove(line);
                        continue;
                    }
                }
            }
            line += 1;
        }
        Some(())
    }

    /// Raises the bound to its greatest or above `enough`.
    fn phase_two(&mut self, enough: Option<Rational>) -> Option<()> {
        loop {
            // The last entry of the costs is minus the cost so far, and the bound is the goal's constant minus the cost.
            let bound = self.goal.add(self.cost[self.width])?;
            if let Some(enough) = enough
                && bound.compare(enough)?.is_gt()
            {
                return Some(());
            }
            let Some(column) = (0..self.width).find(|j| self.cost[*j].is_negative()) else {
                return Some(());
            };
            match self.leaving(column) {
                Some(line) => {
                    self.pivot(line, column)?;
                }
                // Without a limit the rows contradict each other; go as far as is asked for.
                None => return self.follow(column, bound, enough?),
            }
        }
    }

    /// Raises a variable that nothing limits until the bound exceeds `enough`, by a line of its own.
    fn follow(&mut self, column: usize, bound: Rational, enough: Rational) -> Option<()> {
        let missing = enough.sub(bound)?.add(Rational::ONE)?;
        let step = missing.div(self.cost[column].neg()?)?;
        for line in &mut self.lines {
            let change = line[column].mul(step)?;
            line[self.width] = line[self.width].sub(change)?;
        }
        let mut line = vec![Rational::ZERO; self.width + 1];
        line[self.width] = step;
        self.lines.push(line);
        self.basis.push(column);
        Some(())
    }

    /// The line of the least ratio; of equals the one of the least variable.
    fn leaving(&self, column: usize) -> Option<usize> {
        let mut best: Option<(usize, Rational)> = None;
        for (at, line) in self.lines.iter().enumerate().filter(|(_, line)| line[column].is_positive()) {
            let ratio = line[self.width].div(line[column])?;
            let better = match best {
                None => true,
                Some((other, least)) => {
                    let order = ratio.compare(least)?;
                    order.is_lt() || (order.is_eq() && self.basis[at] < self.basis[other])
                }
            };
            if better {
                best = Some((at, ratio));
            }
        }
        best.map(|(at, _)| at)
    }

    fn pivot(&mut self, line: usize, column: usize) -> Option<()> {
        self.pivots += 1;
        if self.pivots > limits::PIVOTS || !self.prover.spend(self.lines.len() * self.width / 4) {
            return None;
        }
        let by = self.lines[line][column];
        for it in self.lines[line].iter_mut().filter(|it| !it.is_zero()) {
            *it = it.div(by)?;
        }
        let source = self.lines[line].clone();
        // An artificial variable that leaves never comes back, so it has no column to update.
        let others = self.lines.iter_mut().enumerate().filter(|(at, _)| *at != line).map(|(_, it)| it);
        for target in others.chain([&mut self.infeasible, &mut self.cost]) {
            let factor = target[column];
            if factor.is_zero() {
                continue;
            }
            for (it, from) in target.iter_mut().zip(&source).filter(|(_, from)| !from.is_zero()) {
                *it = it.sub(factor.mul(*from)?)?;
            }
        }
        self.basis[line] = column;
        Some(())
    }

    fn multipliers(&self) -> Vec<Rational> {
        let mut out = vec![Rational::ZERO; self.width];
        for (line, variable) in self.lines.iter().zip(&self.basis) {
            if let Some(slot) = out.get_mut(*variable) {
                *slot = line[self.width];
            }
        }
        out
    }
}
