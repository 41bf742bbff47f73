//! Residues: what is known of an integer modulo a constant.

use super::atom::Atom;
use super::expr::IntExpr;
use super::fact::Fact;
use super::prover::Prover;
use std::fmt;

/// The integers `base + coeff * k`. With a `coeff` of 0 that is `base` alone, else `0 <= base < coeff`; 1 says nothing.
///
/// ```
/// use tenfold_arith::{Fact, IntExpr, ModularSet, Prover};
/// let e = |text| IntExpr::parse(text).unwrap();
/// let mut prover = Prover::new();
/// prover.assume(Fact::parse("N % 8 == 0").unwrap());
/// assert_eq!(prover.modular_set(&e("3*N + 4*i + 2")), ModularSet { coeff: 4, base: 2 });
/// assert_eq!(prover.modular_set(&e("floordiv(N, 2)")), ModularSet { coeff: 4, base: 0 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ModularSet {
    /// The distance of two neighbours.
    pub coeff: i128,
    /// The least element that is not negative, or the only one.
    pub base: i128,
}

impl ModularSet {
    /// All integers.
    pub const ALL: Self = Self { coeff: 1, base: 0 };

    /// One integer.
    pub fn point(value: i64) -> Self {
        Self { coeff: 0, base: i128::from(value) }
    }

    /// `base + coeff * k`.
    pub fn new(coeff: i128, base: i128) -> Self {
        let coeff = coeff.checked_abs().unwrap_or(1);
        Self { coeff, base: if coeff == 0 { base } else { base.rem_euclid(coeff) } }
    }

    /// Of every value of `e` at which the facts of `prover` hold.
    pub(super) fn of(prover: &Prover, e: &IntExpr) -> Self {
        if !e.is_plain() && !prover.spend(e.size() as usize) {
            return Self::ALL;
        }
        let mut sum = Self::point(e.constant_term());
        for (monomial, coefficient) in e.terms() {
            let atoms = monomial.atoms().iter().map(|atom| of_atom(prover, atom));
            sum = sum.plus(atoms.fold(Self::point(*coefficient), Self::times));
        }
        sum.meet(from_facts(prover, e))
    }

    /// Whether all elements are multiples of `c`; of zero only zero is.
    pub fn is_multiple_of(self, c: i64) -> bool {
        match i128::from(c) {
            0 => self == Self::point(0),
            c => self.coeff % c == 0 && self.base % c == 0,
        }
    }

    /// What a positive `c` leaves of every element, if it is the same of all.
    pub fn remainder(self, c: i64) -> Option<i64> {
        let c = Some(i128::from(c)).filter(|c| *c > 0 && self.coeff % c == 0)?;
        i64::try_from(self.base.rem_euclid(c)).ok()
    }

    /// Whether zero is no element.
    pub fn excludes_zero(self) -> bool {
        self.base != 0
    }

    /// Whether `value` is an element.
    pub fn contains(self, value: i64) -> bool {
        let distance = i128::from(value) - self.base;
        if self.coeff == 0 { distance == 0 } else { distance % self.coeff == 0 }
    }

    /// Sums of an element of each.
    pub fn plus(self, other: Self) -> Self {
        let base = self.base.checked_add(other.base);
        base.map_or(Self::ALL, |base| Self::new(gcd(self.coeff, other.coeff), base))
    }

    /// Products of an element of each.
    pub fn times(self, other: Self) -> Self {
        let product = || {
            let both = self.coeff.checked_mul(other.coeff)?;
            let left = self.coeff.checked_mul(other.base)?;
            let right = other.coeff.checked_mul(self.base)?;
            Some(Self::new(gcd(both, gcd(left, right)), self.base.checked_mul(other.base)?))
        };
        product().unwrap_or(Self::ALL)
    }

    /// A set around both.
    pub fn union(self, other: Self) -> Self {
        let apart = self.base.checked_sub(other.base);
        apart.map_or(Self::ALL, |apart| Self::new(gcd(gcd(self.coeff, other.coeff), apart), self.base))
    }

    /// A set of which all that both have is a part: one of them where the other says no more of what they share.
    pub fn meet(self, other: Self) -> Self {
        match (self.coeff, other.coeff) {
            (0, _) => self,
            (_, 0) => other,
            (a, b) if a % b == 0 => self,
            (a, b) if b % a == 0 => other,
            (a, b) => self.chinese(other).unwrap_or(if a >= b { self } else { other }),
        }
    }

    /// Both at once, if their bases agree modulo what the distances share and 127 bits hold the result.
    fn chinese(self, other: Self) -> Option<Self> {
        let (common, inverse) = inverse(self.coeff, other.coeff);
        let apart = other.base.checked_sub(self.base)?;
        if apart % common != 0 {
            return None;
        }
        let steps = other.coeff / common;
        let k = (apart / common).rem_euclid(steps).checked_mul(inverse.rem_euclid(steps))?.rem_euclid(steps);
        let all = self.coeff.checked_mul(steps)?;
        Some(Self::new(all, self.base.checked_add(self.coeff.checked_mul(k)?)?))
    }

    /// Quotients by a positive `c`, rounded down.
    fn over(self, c: i128) -> Self {
        if self.coeff % c == 0 { Self::new(self.coeff / c, self.base.div_euclid(c)) } else { Self::ALL }
    }
}

fn of_atom(prover: &Prover, atom: &Atom) -> ModularSet {
    let Some((a, b)) = atom.operands() else { return from_facts(prover, &atom.clone().into_expr()) };
    let by = b.as_const().map(i128::from);
    let structural = match atom {
        Atom::Var(_) => ModularSet::ALL,
        Atom::FloorDiv(..) => match by {
            Some(c) if c > 0 => ModularSet::of(prover, a).over(c),
            Some(_) | None => ModularSet::ALL,
        },
        Atom::TruncDiv(..) => match by {
            // Where nothing is rounded, there is one quotient.
            Some(c) if c > 0 => {
                let of = ModularSet::of(prover, a);
                if of.is_multiple_of(c as i64) { of.over(c) } else { ModularSet::ALL }
            }
            Some(_) | None => ModularSet::ALL,
        },
        Atom::FloorMod(..) | Atom::TruncRem(..) => {
            let of = ModularSet::of(prover, a);
            ModularSet::new(gcd(of.coeff, by.unwrap_or(1)), of.base)
        }
        Atom::Min(..) | Atom::Max(..) => ModularSet::of(prover, a).union(ModularSet::of(prover, b)),
        Atom::Sum(..) => ModularSet::of(prover, a).plus(ModularSet::of(prover, b)),
        Atom::Product(..) => ModularSet::of(prover, a).times(ModularSet::of(prover, b)),
    };
    structural.meet(from_facts(prover, &atom.clone().into_expr()))
}

/// What facts state of a sum whose terms are those of `e`, or their negatives.
fn from_facts(prover: &Prover, e: &IntExpr) -> ModularSet {
    let mut known = ModularSet::ALL;
    for fact in prover.facts() {
        let Some((of, coeff)) = class_of(fact) else { continue };
        let sign = match (e.terms(), of.terms()) {
            (a, b) if a == b => 1,
            (a, b) if a.len() == b.len() && (-e).terms() == b => -1,
            (_, _) => continue,
        };
        let shift = i128::from(e.constant_term()) - sign * i128::from(of.constant_term());
        known = known.meet(ModularSet::new(coeff, shift));
    }
    known
}

/// The sum that a fact says to be a multiple, and of what.
fn class_of(fact: &Fact) -> Option<(IntExpr, i128)> {
    match fact {
        Fact::Divisible(e, c) if *c != 0 => Some((e.clone(), i128::from(*c))),
        // `e % c == r` for an `r` that is not zero.
        Fact::Zero(zero) => {
            let (e, c, sign) = remainder(zero)?;
            let rest = zero.constant_term().checked_mul(-sign)?;
            (-c < rest && rest < c).then(|| (e - rest, i128::from(c)))
        }
        // What is not even is odd.
        Fact::NonZero(e) => match remainder(e) {
            Some((of, 2, _)) if e.constant_term() == 0 => Some((of - 1, 2)),
            Some(_) | None => None,
        },
        Fact::Divisible(..) | Fact::NonNegative(_) | Fact::And(_) | Fact::Or(_) => None,
    }
}

/// The dividend and the divisor of a remainder by a positive constant that is the only term, and its sign.
fn remainder(e: &IntExpr) -> Option<(&IntExpr, i64, i64)> {
    let [(monomial, sign @ (1 | -1))] = e.terms() else { return None };
    let (Atom::FloorMod(a, by) | Atom::TruncRem(a, by)) = monomial.single()? else { return None };
    Some((a, by.as_const().filter(|c| *c > 0)?, *sign))
}

/// The greatest common divisor of two positive numbers, and a factor that makes the first that much modulo the second.
fn inverse(a: i128, b: i128) -> (i128, i128) {
    let (mut left, mut right) = ((a, 1), (b, 0));
    while right.0 != 0 {
        let quotient = left.0 / right.0;
        (left, right) = (right, (left.0 - quotient * right.0, left.1 - quotient * right.1));
    }
    left
}

/// Of zero and zero it is zero; of values whose size leaves 127 bits it is 1, which says nothing.
fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i128::try_from(a).unwrap_or(1)
}

impl fmt::Display for ModularSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.coeff, self.base) {
            (0, base) => write!(f, "{base}"),
            (coeff, 0) => write!(f, "{coeff}*k"),
            (coeff, base) => write!(f, "{coeff}*k + {base}"),
        }
    }
}
