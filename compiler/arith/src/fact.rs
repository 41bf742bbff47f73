//! Statements about expressions.

use super::atom::Atom;
use super::divide::gcd;
use super::expr::IntExpr;
use super::sym::Sym;
use std::collections::BTreeSet;
use std::fmt;

/// A statement about integers.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fact {
    /// `e >= 0`.
    NonNegative(IntExpr),
    /// `e == 0`.
    Zero(IntExpr),
    /// `e != 0`.
    NonZero(IntExpr),
    /// `e` is a multiple of the number; of zero only zero is.
    Divisible(IntExpr, i64),
    /// All of these; of none it is true.
    And(Vec<Fact>),
    /// At least one of these; of none it is false.
    Or(Vec<Fact>),
}

impl Fact {
    /// Whether `other` says nothing that this one does not: they are equal, or this is a higher bound of the same sum.
    pub(super) fn covers(&self, other: &Fact) -> bool {
        match (self, other) {
            (Fact::NonNegative(a), Fact::NonNegative(b)) => {
                a.terms() == b.terms() && a.constant_term() <= b.constant_term()
            }
            (a, b) => a == b,
        }
    }

    /// Whether no integers make it true, by its numbers alone: no even number is odd.
    pub fn is_false(&self) -> bool {
        match self {
            Fact::NonNegative(e) => e.as_const().is_some_and(|value| value < 0),
            Fact::Zero(e) => never_multiple(e, 0),
            Fact::NonZero(e) => e.is_zero(),
            Fact::Divisible(e, c) => never_multiple(e, *c),
            Fact::And(all) => all.iter().any(Fact::is_false),
            Fact::Or(any) => any.iter().all(Fact::is_false),
        }
    }

    /// Whether it speaks of `atom` outside of other atoms; of alternatives it speaks of none.
    pub(super) fn names(&self, atom: &Atom) -> bool {
        match self {
            Fact::NonNegative(e) | Fact::Zero(e) | Fact::NonZero(e) | Fact::Divisible(e, _) => {
                e.terms().iter().any(|(monomial, _)| monomial.atoms().contains(atom))
            }
            Fact::And(_) | Fact::Or(_) => false,
        }
    }

    /// `a >= b`.
    pub fn ge(a: &IntExpr, b: &IntExpr) -> Fact {
        Fact::NonNegative(tighten(&(a - b)))
    }

    /// `a <= b`.
    pub fn le(a: &IntExpr, b: &IntExpr) -> Fact {
        Self::ge(b, a)
    }

    /// `a < b`.
    pub fn lt(a: &IntExpr, b: &IntExpr) -> Fact {
        Fact::NonNegative(tighten(&(b - a - 1)))
    }

    /// `a > b`.
    pub fn gt(a: &IntExpr, b: &IntExpr) -> Fact {
        Self::lt(b, a)
    }

    /// `a == b`; a remainder by a constant that is zero states a multiple.
    pub fn eq(a: &IntExpr, b: &IntExpr) -> Fact {
        Self::zero(a - b)
    }

    /// `e == 0`, in the form in which it reads back.
    fn zero(e: IntExpr) -> Fact {
        let e = signed(e);
        let Some(Atom::FloorMod(dividend, by) | Atom::TruncRem(dividend, by)) = e.as_atom() else {
            return Fact::Zero(e);
        };
        match by.as_const() {
            Some(c) => Fact::Divisible(dividend.clone(), c),
            None => Fact::Zero(signed(dividend.floor_mod(by))),
        }
    }

    /// `a != b`.
    pub fn ne(a: &IntExpr, b: &IntExpr) -> Fact {
        Fact::NonZero(signed(a - b))
    }

    /// What holds if and only if this fact does not.
    pub fn negate(&self) -> Fact {
        match self {
            Fact::NonNegative(e) => Fact::NonNegative(-e - 1),
            Fact::Zero(e) => Fact::NonZero(e.clone()),
            Fact::NonZero(e) => Fact::zero(e.clone()),
            Fact::Divisible(e, c) => Fact::NonZero(signed(e.floor_mod(&IntExpr::constant(*c)))),
            Fact::And(all) => Fact::Or(all.iter().map(Fact::negate).collect()),
            Fact::Or(any) => Fact::And(any.iter().map(Fact::negate).collect()),
        }
    }

    /// What it says: all or any of one fact is that fact, in whose place it reads back.
    fn plain(&self) -> &Fact {
        match self {
            Fact::And(one) | Fact::Or(one) if one.len() == 1 => one[0].plain(),
            other => other,
        }
    }

    /// All variables.
    pub fn vars(&self) -> BTreeSet<Sym> {
        match self {
            Fact::NonNegative(e) | Fact::Zero(e) | Fact::NonZero(e) | Fact::Divisible(e, _) => e.vars(),
            Fact::And(all) | Fact::Or(all) => all.iter().flat_map(Fact::vars).collect(),
        }
    }

    /// Whether the fact holds under `env`; `None` where a value is missing or too large.
    pub fn eval(&self, env: &impl Fn(&Sym) -> Option<i64>) -> Option<bool> {
        self.holds(&|e| e.eval(env).map(i128::from))
    }

    /// The same where sums and products may be too large for 64 bits.
    pub(super) fn wide(&self, env: &impl Fn(&Sym) -> Option<i64>) -> Option<bool> {
        self.holds(&|e| e.wide(env))
    }

    /// Whether the fact holds where expressions have these values. Of zero only zero is a multiple.
    fn holds(&self, value: &impl Fn(&IntExpr) -> Option<i128>) -> Option<bool> {
        match self {
            Fact::NonNegative(e) => Some(value(e)? >= 0),
            Fact::Zero(e) => Some(value(e)? == 0),
            Fact::NonZero(e) => Some(value(e)? != 0),
            Fact::Divisible(e, c) => {
                let dividend = value(e)?;
                Some(dividend.checked_rem(i128::from(*c)).unwrap_or(dividend) == 0)
            }
            Fact::And(all) => all.iter().try_fold(true, |held, fact| Some(fact.holds(value)? && held)),
            Fact::Or(any) => any.iter().try_fold(false, |held, fact| Some(fact.holds(value)? || held)),
        }
    }

    /// The fact with variables replaced.
    pub fn substitute(&self, map: &impl Fn(&Sym) -> Option<IntExpr>) -> Fact {
        self.map(&mut |e| e.substitute(map))
    }

    /// The fact over other expressions, in the form in which it reads back.
    pub fn map(&self, f: &mut impl FnMut(&IntExpr) -> IntExpr) -> Fact {
        match self {
            Fact::NonNegative(e) => Fact::NonNegative(tighten(&f(e))),
            Fact::Zero(e) => Fact::zero(f(e)),
            Fact::NonZero(e) => Fact::NonZero(signed(f(e))),
            Fact::Divisible(e, c) => Fact::Divisible(f(e), *c),
            Fact::And(all) => Fact::And(all.iter().map(|fact| fact.map(f)).collect()),
            Fact::Or(any) => Fact::Or(any.iter().map(|fact| fact.map(f)).collect()),
        }
    }
}

/// `e` or its negative, which is zero where it is: the one whose first term has no sign, so that equal statements are
/// equal values and read back as they print.
fn signed(e: IntExpr) -> IntExpr {
    let negative = |e: &IntExpr| e.terms().first().map_or(e.constant_term(), |(_, k)| *k) < 0;
    let opposite = -&e;
    if negative(&e) && !negative(&opposite) { opposite } else { e }
}

/// Whether the factors of all terms show that `e` is no multiple of `c`; of zero only zero is.
fn never_multiple(e: &IntExpr, c: i64) -> bool {
    let common = e.terms().iter().map(|(_, factor)| *factor).try_fold(c, gcd);
    common.is_some_and(|common| match common {
        0 => e.constant_term() != 0,
        common => e.constant_term().checked_rem(common).is_some_and(|rest| rest != 0),
    })
}

/// `e >= 0` over its common factor: `2*x - 3 >= 0` is `x - 2 >= 0`.
pub(super) fn tighten(e: &IntExpr) -> IntExpr {
    let common = e.terms().iter().map(|(_, c)| *c).try_fold(0, gcd);
    match common {
        Some(g) if g > 1 => {
            let terms = e.terms().iter().map(|(m, c)| (m.clone(), c / g)).collect();
            IntExpr::from_terms(terms, e.constant_term().div_euclid(g))
        }
        Some(_) | None => e.clone(),
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.plain() {
            Fact::NonNegative(e) => write_comparison(f, e, true),
            Fact::Zero(e) => write_comparison(f, e, false),
            Fact::NonZero(e) => write!(f, "{e} != 0"),
            Fact::Divisible(e, c) => match e.as_var() {
                Some(sym) => write!(f, "{sym} % {c} == 0"),
                None => write!(f, "({e}) % {c} == 0"),
            },
            Fact::And(all) => write_joined(f, all, " && ", "0 == 0"),
            Fact::Or(any) => write_joined(f, any, " || ", "0 == 1"),
        }
    }
}

fn write_joined(f: &mut fmt::Formatter<'_>, facts: &[Fact], with: &str, empty: &str) -> fmt::Result {
    for (at, fact) in facts.iter().enumerate() {
        if at > 0 {
            f.write_str(with)?;
        }
        match fact.plain() {
            Fact::And(all) | Fact::Or(all) if !all.is_empty() => write!(f, "({fact})")?,
            _ => write!(f, "{fact}")?,
        }
    }
    if facts.is_empty() { f.write_str(empty) } else { Ok(()) }
}

/// Negative terms go to the left side: `N - i - 1 >= 0` reads `i < N`.
fn write_comparison(f: &mut fmt::Formatter<'_>, e: &IntExpr, ordered: bool) -> fmt::Result {
    let side = |wanted: bool| {
        let terms = e.terms().iter().filter(|(_, c)| (*c > 0) == wanted && *c != i64::MIN);
        let terms: Vec<_> = terms.map(|(m, c)| (m.clone(), c.abs())).collect();
        IntExpr::from_terms(terms, 0)
    };
    let (right, left) = (side(true), side(false));
    let constant = e.constant_term();
    let same = if ordered { "<=" } else { "==" };
    if constant == i64::MIN || &right - &left + constant != *e {
        return write!(f, "{e} {} 0", if ordered { ">=" } else { "==" });
    }
    match (left.is_zero(), right.is_zero(), constant) {
        (true, _, k) => write!(f, "{right} {} {}", if ordered { ">=" } else { "==" }, -k),
        (false, true, k) => write!(f, "{left} {same} {k}"),
        (false, false, k) if !ordered && k < 0 => write!(f, "{right} == {}", left + -k),
        (false, false, k) if !ordered => write!(f, "{} == {left}", right + k),
        (false, false, -1) if ordered => write!(f, "{left} < {right}"),
        (false, false, k) if k < 0 => write!(f, "{} {same} {right}", left + -k),
        (false, false, k) => write!(f, "{left} {same} {}", right + k),
    }
}
