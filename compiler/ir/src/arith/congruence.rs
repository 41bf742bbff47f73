//! Residues: what is known of an expression modulo a constant.

use super::atom::Atom;
use super::expr::IntExpr;
use super::fact::Fact;
use super::prover::Prover;

/// The numbers `residue + modulus * k`; a modulus of 0 is the residue alone.
#[derive(Clone, Copy)]
struct Class {
    modulus: i128,
    residue: i128,
}

const ALL: Class = Class { modulus: 1, residue: 0 };

/// Whether `e` was found to be a multiple of `c`.
pub(super) fn divisible(prover: &Prover, e: &IntExpr, c: i64) -> bool {
    let Some(c) = c.checked_abs().filter(|c| *c > 0) else { return e.is_zero() };
    is_multiple(prover, e, c)
        || prover.facts().iter().any(|fact| {
            let Fact::Divisible(f, by) = fact else { return false };
            by % c == 0 && multiples(e, f).into_iter().any(|k| is_multiple(prover, &(e - f * k), c))
        })
}

fn is_multiple(prover: &Prover, e: &IntExpr, c: i64) -> bool {
    let class = of_expr(prover, e);
    class.modulus % i128::from(c) == 0 && class.residue % i128::from(c) == 0
}

/// Factors by which `f` may cancel a term of `e`.
fn multiples(e: &IntExpr, f: &IntExpr) -> Vec<i64> {
    let mut out = Vec::new();
    for (monomial, k) in f.terms() {
        let other = e.terms().iter().find(|(m, _)| m == monomial);
        if let Some((_, coefficient)) = other.filter(|(_, it)| it.checked_rem(*k) == Some(0)) {
            out.push(coefficient / k);
        }
    }
    out
}

/// Whether residues exclude that `e` is zero.
pub(super) fn nonzero(prover: &Prover, e: &IntExpr) -> bool {
    let class = of_expr(prover, e);
    if class.modulus == 0 { class.residue != 0 } else { class.residue % class.modulus != 0 }
}

fn of_expr(prover: &Prover, e: &IntExpr) -> Class {
    let mut sum = Class { modulus: 0, residue: i128::from(e.constant_term()) };
    for (monomial, coefficient) in e.terms() {
        let mut product = Class { modulus: 0, residue: i128::from(*coefficient) };
        for atom in monomial.atoms() {
            product = times(product, of_atom(prover, atom));
        }
        sum = plus(sum, product);
    }
    sum
}

fn of_atom(prover: &Prover, atom: &Atom) -> Class {
    match atom {
        Atom::Var(_) | Atom::FloorDiv(..) | Atom::TruncDiv(..) | Atom::Min(..) | Atom::Max(..) => {
            from_facts(prover, atom)
        }
        Atom::FloorMod(a, b) | Atom::TruncRem(a, b) => {
            let by = b.as_const().map_or(1, i128::from);
            let class = of_expr(prover, a);
            reduce(gcd(class.modulus, by), class.residue)
        }
        Atom::Sum(a, b) => plus(of_expr(prover, a), of_expr(prover, b)),
        Atom::Product(a, b) => times(of_expr(prover, a), of_expr(prover, b)),
    }
}

/// The class of the greatest modulus that a fact states of an atom by itself.
fn from_facts(prover: &Prover, atom: &Atom) -> Class {
    let mut best = ALL;
    for fact in prover.facts() {
        let Fact::Divisible(e, by) = fact else { continue };
        let ([(monomial, k @ (1 | -1))], by) = (e.terms(), i128::from(*by).abs()) else { continue };
        if monomial.single() == Some(atom) && by > best.modulus {
            best = reduce(by, -i128::from(e.constant_term()) * i128::from(*k));
        }
    }
    best
}

fn plus(a: Class, b: Class) -> Class {
    match a.residue.checked_add(b.residue) {
        Some(residue) => reduce(gcd(a.modulus, b.modulus), residue),
        None => ALL,
    }
}

fn times(a: Class, b: Class) -> Class {
    let product = || {
        let both = a.modulus.checked_mul(b.modulus)?;
        let left = a.modulus.checked_mul(b.residue)?;
        let right = b.modulus.checked_mul(a.residue)?;
        Some(reduce(gcd(both, gcd(left, right)), a.residue.checked_mul(b.residue)?))
    };
    product().unwrap_or(ALL)
}

fn reduce(modulus: i128, residue: i128) -> Class {
    Class { modulus, residue: if modulus == 0 { residue } else { residue.rem_euclid(modulus) } }
}

/// Of zero and zero it is zero; of values whose size leaves 127 bits it is 1, which says nothing.
fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i128::try_from(a).unwrap_or(1)
}
