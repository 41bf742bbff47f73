//! Bounds put in place of variables.
//!
//! Where `e = c*x + r` with a sign of `c` known and a row `k*x + s >= 0` is known, `|k|*e - |c|*(k*x + s)` has no `x`
//! and is not above `|k|*e`: if it is non-negative, so is `e`. Variables go in the reverse of the order in which facts
//! introduced them, so loop variables go before the dims that bound them.

use super::atom::{Atom, Monomial};
use super::expr::IntExpr;
use super::fact::{Fact, tighten};
use super::limits;
use super::prover::Prover;
use super::rows;

/// Variables tried at each step, and rows tried of each.
const CHOICES: usize = 3;

/// Whether `e >= 0` was found.
pub(super) fn nonnegative(prover: &Prover, e: &IntExpr) -> bool {
    prover.recall(|it| &mut it.by_bounds, e, || searched(prover, e))
}

fn searched(prover: &Prover, e: &IntExpr) -> bool {
    // One path without turning back is cheap and is enough for most.
    let low = lower_within(prover, e, &mut { limits::BOUND_STEPS });
    low.as_const().is_some_and(|value| value >= 0) || nonnegative_within(prover, e, &mut { limits::BOUND_STEPS })
}

/// The same within `fuel` steps, of which a quarter may go into the one path.
pub(super) fn sign_within(prover: &Prover, e: &IntExpr, fuel: &mut u32) -> bool {
    let mut part = *fuel / 4;
    *fuel -= part;
    let low = lower_within(prover, e, &mut part);
    *fuel += part;
    low.as_const().is_some_and(|value| value >= 0) || nonnegative_within(prover, e, fuel)
}

/// The same, turning back where a path leads nowhere.
pub(super) fn nonnegative_within(prover: &Prover, e: &IntExpr, fuel: &mut u32) -> bool {
    if let Some(value) = e.as_const() {
        return value >= 0;
    }
    // Of many facts about a variable only the last are tried below, and this one may be the first.
    let goal = Fact::NonNegative(e.clone());
    if prover.facts().iter().any(|known| known.covers(&goal)) {
        return true;
    }
    if *fuel == 0 || e.terms().len() > limits::MONOMIALS || !step(prover, e) {
        return false;
    }
    *fuel -= 1;
    if beyond_products(prover, e).iter().any(|rest| nonnegative_within(prover, rest, fuel)) {
        return true;
    }
    let mut atoms: Vec<&Atom> = e.top_atoms().into_iter().collect();
    atoms.sort_by_cached_key(|atom| std::cmp::Reverse(rank(prover, atom)));
    for atom in atoms.into_iter().take(CHOICES) {
        for lower in eliminations(prover, e, atom, fuel) {
            if nonnegative_within(prover, &lower, fuel) {
                return true;
            }
        }
    }
    false
}

/// `e` less each of the last facts with the same products: a turn of a loop over `2*M*N - 2*N` shows that this is above
/// zero, which no bound of `M` nor `N` does.
fn beyond_products(prover: &Prover, e: &IntExpr) -> Vec<IntExpr> {
    let products = |e: &IntExpr| e.terms().iter().filter(|(m, _)| m.degree() > 1).cloned().collect::<Vec<_>>();
    let own = products(e);
    if own.is_empty() {
        return Vec::new();
    }
    let rest = |fact: &Fact| match fact {
        Fact::NonNegative(row) | Fact::Zero(row) if products(row) == own => e.try_sum(&-row),
        Fact::NonNegative(_) | Fact::Zero(_) | Fact::NonZero(_) | Fact::Divisible(..) => None,
        Fact::And(_) | Fact::Or(_) => None,
    };
    prover.facts().iter().rev().filter_map(rest).take(CHOICES).collect()
}

/// Whether a step may be taken, which looks at every node for every fact.
fn step(prover: &Prover, e: &IntExpr) -> bool {
    prover.spend(e.size() as usize * (4 + prover.facts().len()) / 4)
}

/// When facts first named the atom, or the last variable inside of it, which goes after it.
fn rank(prover: &Prover, atom: &Atom) -> usize {
    if let Some((a, b)) = atom.operands() {
        let inner = a.top_atoms().into_iter().chain(b.top_atoms());
        return inner.map(|it| rank(prover, it)).max().unwrap_or(0) + 1;
    }
    let first = prover.facts().iter().position(|fact| fact.names(atom));
    first.map_or(0, |it| it * 2)
}

/// The greatest power of an atom in a term.
fn degree(e: &IntExpr, atom: &Atom) -> usize {
    let power = |monomial: &Monomial| monomial.atoms().iter().filter(|it| *it == atom).count();
    e.terms().iter().map(|(monomial, _)| power(monomial)).max().unwrap_or(0)
}

/// Expressions not above a positive multiple of `e`, each with a lower power of `atom`.
fn eliminations(prover: &Prover, e: &IntExpr, atom: &Atom, fuel: &mut u32) -> Vec<IntExpr> {
    let factor = factor_of(e, atom);
    let rising = match factor.as_const() {
        Some(value) => value > 0,
        None if nonnegative_within(prover, &factor, fuel) => true,
        None if nonnegative_within(prover, &-&factor, fuel) => false,
        None => return Vec::new(),
    };
    let size = if rising { factor } else { -factor };
    let mut out = Vec::new();
    for row in rows::of_atom(prover, atom, fuel) {
        let Some(k) = rows::coefficient(&row, atom).filter(|k| (*k > 0) == rising) else { continue };
        let lower = (|| {
            let scaled = e.try_product(&IntExpr::constant(k.checked_abs()?))?;
            scaled.try_sum(&size.try_product(&row)?.try_product(&IntExpr::constant(-1))?)
        })();
        // A power of the atom leaves a lower one behind, which goes in a later step.
        if let Some(lower) = lower.filter(|lower| degree(lower, atom) < degree(e, atom)) {
            out.push(tighten(&lower));
        }
    }
    // Tighter rows come later: conditions after ranges after signs of dims.
    out.reverse();
    out.truncate(CHOICES);
    out
}

/// `e` with a quotient by a positive constant, which rises with its dividend, at the dividend's bound.
fn monotone(
    prover: &Prover,
    e: &IntExpr,
    atom: &Atom,
    size: &IntExpr,
    rising: bool,
    fuel: &mut u32,
) -> Option<IntExpr> {
    let Atom::FloorDiv(a, b) = atom else { return None };
    b.as_const().filter(|c| *c > 0)?;
    let mut part = *fuel / 4;
    let start = part;
    let it = atom.clone().into_expr();
    let above = if rising {
        it - lower_within(prover, a, &mut part).floor_div(b)
    } else {
        (-lower_within(prover, &-a, &mut part)).floor_div(b) - it
    };
    *fuel -= start - part;
    Some(e - size * above).filter(|lower| !lower.top_atoms().contains(atom))
}

/// `c` of `e = c*atom + r`.
fn factor_of(e: &IntExpr, atom: &Atom) -> IntExpr {
    let mut factor = IntExpr::constant(0);
    for (monomial, coefficient) in e.terms() {
        if let Some(rest) = monomial.without(atom) {
            factor = factor
                + match rest {
                    Some(rest) => IntExpr::from_monomial(rest, *coefficient),
                    None => IntExpr::constant(*coefficient),
                };
        }
    }
    factor
}

/// Inclusive bounds in which variables are replaced by theirs as far as unit coefficients allow.
pub(super) fn symbolic(prover: &Prover, e: &IntExpr) -> (Option<IntExpr>, Option<IntExpr>) {
    let e = super::simplify::expr(prover, e);
    (lower(prover, &e), lower(prover, &-&e).map(|it| -it))
}

fn lower(prover: &Prover, e: &IntExpr) -> Option<IntExpr> {
    let current = lower_within(prover, e, &mut { limits::BOUND_STEPS });
    let known = current.as_const().is_some() || current != *e || free(prover, e);
    known.then_some(current)
}

/// Constant bounds along one path of substitutions: cheaper than those of linear arithmetic.
pub(super) fn constants(prover: &Prover, e: &IntExpr) -> (Option<i64>, Option<i64>) {
    let low = lower_within(prover, e, &mut { limits::BOUND_STEPS }).as_const();
    let high = lower_within(prover, &-e, &mut { limits::BOUND_STEPS }).as_const();
    (low, high.and_then(i64::checked_neg))
}

/// Something not above `e`, at worst `e` itself.
pub(super) fn lower_within(prover: &Prover, e: &IntExpr, fuel: &mut u32) -> IntExpr {
    let mut current = e.clone();
    while *fuel > 0 && current.as_const().is_none() && step(prover, &current) {
        *fuel -= 1;
        let mut atoms: Vec<&Atom> = current.top_atoms().into_iter().collect();
        atoms.sort_by_cached_key(|atom| std::cmp::Reverse(rank(prover, atom)));
        let next = atoms.iter().find_map(|atom| best(prover, &current, atom, fuel));
        let Some(next) = next else { break };
        current = next;
    }
    current
}

/// The best of the unit eliminations of `atom`: of constants the greatest.
fn best(prover: &Prover, e: &IntExpr, atom: &Atom, fuel: &mut u32) -> Option<IntExpr> {
    let factor = factor_of(e, atom);
    let rising = match factor.as_const() {
        Some(value) => value > 0,
        None if nonnegative_within(prover, &factor, fuel) => true,
        None if nonnegative_within(prover, &-&factor, fuel) => false,
        None => return None,
    };
    let size = if rising { factor } else { -factor };
    if let Some(lower) = monotone(prover, e, atom, &size, rising, fuel) {
        return Some(lower);
    }
    let unit = if rising { 1 } else { -1 };
    let rows = rows::of_atom(prover, atom, fuel);
    let candidates = rows.iter().filter(|row| rows::coefficient(row, atom) == Some(unit));
    // A power of the atom leaves a lower one behind, which goes in a later step.
    let lowers = candidates.map(|row| e - &size * row).filter(|it| degree(it, atom) < degree(e, atom));
    lowers.reduce(|best, it| match (&it - &best).as_const() {
        _ if is_far(&best) => it,
        Some(difference) if difference > 0 => it,
        Some(_) => best,
        // A loop's range is stated before the conditions inside; the range reads better in a message.
        None => best,
    })
}

/// Whether only the range of a dtype says so little: it comes before what conditions say, and no difference from it is
/// held by 64 bits.
fn is_far(e: &IntExpr) -> bool {
    e.as_const().map_or_else(|| e.vars().is_empty(), |value| value.unsigned_abs() >= limits::FAR)
}

/// Whether `e` consists of variables alone, and so is its own bound.
fn free(prover: &Prover, e: &IntExpr) -> bool {
    e.top_atoms().iter().all(|atom| atom.operands().is_none() && rank(prover, atom) == 0)
}
