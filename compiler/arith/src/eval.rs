//! Values and substitution.

use super::atom::Atom;
use super::expr::IntExpr;
use super::sym::Sym;

impl IntExpr {
    /// The value under `env`; `None` if a variable has none or the value of a part leaves 64 bits.
    pub fn eval(&self, env: &impl Fn(&Sym) -> Option<i64>) -> Option<i64> {
        i64::try_from(self.polynomial(&|atom| eval_atom(atom, env).map(i128::from))?).ok()
    }

    /// The value under `env` where every sum, difference and product wraps, as a machine computes it; `None` if a variable
    /// has no value.
    ///
    /// ```
    /// use tenfold_arith::IntExpr;
    ///
    /// let n = IntExpr::var("n");
    /// let most = |_: &_| Some(i64::MAX);
    /// assert_eq!((&n + 1).eval(&most), None);
    /// assert_eq!((&n + 1).eval_wrapped(&most), Some(i64::MIN));
    /// assert_eq!((&n * &n).eval_wrapped(&most), Some(1));
    /// ```
    pub fn eval_wrapped(&self, env: &impl Fn(&Sym) -> Option<i64>) -> Option<i64> {
        let mut sum = self.constant_term();
        for (monomial, coefficient) in self.terms() {
            let mut product = *coefficient;
            for atom in monomial.atoms() {
                product = product.wrapping_mul(wrapped_atom(atom, env)?);
            }
            sum = sum.wrapping_add(product);
        }
        Some(sum)
    }

    /// The value under `env`, where 64 bits hold what is divided and compared, and neither sums nor products.
    pub(super) fn wide(&self, env: &impl Fn(&Sym) -> Option<i64>) -> Option<i128> {
        self.polynomial(&|atom| match atom {
            Atom::Sum(a, b) => a.wide(env)?.checked_add(b.wide(env)?),
            Atom::Product(a, b) => a.wide(env)?.checked_mul(b.wide(env)?),
            _ => eval_atom(atom, env).map(i128::from),
        })
    }

    /// The value where atoms have these.
    fn polynomial(&self, value: &impl Fn(&Atom) -> Option<i128>) -> Option<i128> {
        let mut sum = i128::from(self.constant_term());
        for (monomial, coefficient) in self.terms() {
            let mut product = i128::from(*coefficient);
            for atom in monomial.atoms() {
                product = product.checked_mul(value(atom)?)?;
            }
            sum = sum.checked_add(product)?;
        }
        Some(sum)
    }

    /// Each variable for which `map` gives an expression replaced by it, all at once.
    pub fn substitute(&self, map: &impl Fn(&Sym) -> Option<IntExpr>) -> IntExpr {
        self.map_atoms(&mut |atom| match atom {
            Atom::Var(sym) => map(sym).unwrap_or_else(|| atom.clone().into_expr()),
            Atom::FloorDiv(a, b) => a.substitute(map).floor_div(&b.substitute(map)),
            Atom::FloorMod(a, b) => a.substitute(map).floor_mod(&b.substitute(map)),
            Atom::TruncDiv(a, b) => a.substitute(map).trunc_div(&b.substitute(map)),
            Atom::TruncRem(a, b) => a.substitute(map).trunc_rem(&b.substitute(map)),
            Atom::Min(a, b) => a.substitute(map).minimum(&b.substitute(map)),
            Atom::Max(a, b) => a.substitute(map).maximum(&b.substitute(map)),
            Atom::Sum(a, b) => a.substitute(map) + b.substitute(map),
            Atom::Product(a, b) => a.substitute(map) * b.substitute(map),
        })
    }

    /// The polynomial with each atom at its top replaced.
    pub(super) fn map_atoms(&self, map: &mut impl FnMut(&Atom) -> IntExpr) -> IntExpr {
        let mut sum = IntExpr::constant(self.constant_term());
        for (monomial, coefficient) in self.terms() {
            let mut product = IntExpr::constant(*coefficient);
            for atom in monomial.atoms() {
                product = product * map(atom);
            }
            sum = sum + product;
        }
        sum
    }
}

fn eval_atom(atom: &Atom, env: &impl Fn(&Sym) -> Option<i64>) -> Option<i64> {
    let Some((left, right)) = atom.operands() else {
        let Atom::Var(sym) = atom else { return None };
        return env(sym);
    };
    let (a, b) = (left.eval(env)?, right.eval(env)?);
    match atom {
        Atom::Var(_) => None,
        Atom::FloorDiv(..) => floor_div(a, b),
        Atom::FloorMod(..) => floor_mod(a, b),
        Atom::TruncDiv(..) => trunc_div(a, b),
        Atom::TruncRem(..) => trunc_rem(a, b),
        Atom::Min(..) => Some(a.min(b)),
        Atom::Max(..) => Some(a.max(b)),
        Atom::Sum(..) => a.checked_add(b),
        Atom::Product(..) => a.checked_mul(b),
    }
}

/// Of the least number by -1 the quotient is that number again, and nothing is left.
fn wrapped_atom(atom: &Atom, env: &impl Fn(&Sym) -> Option<i64>) -> Option<i64> {
    let Some((left, right)) = atom.operands() else {
        let Atom::Var(sym) = atom else { return None };
        return env(sym);
    };
    let (a, b) = (left.eval_wrapped(env)?, right.eval_wrapped(env)?);
    match atom {
        Atom::Var(_) => None,
        Atom::FloorDiv(..) => Some(floor_div(a, b).unwrap_or(a)),
        Atom::FloorMod(..) => Some(floor_mod(a, b).unwrap_or(0)),
        Atom::TruncDiv(..) => Some(trunc_div(a, b).unwrap_or(a)),
        Atom::TruncRem(..) => Some(trunc_rem(a, b).unwrap_or(0)),
        Atom::Min(..) => Some(a.min(b)),
        Atom::Max(..) => Some(a.max(b)),
        Atom::Sum(..) => Some(a.wrapping_add(b)),
        Atom::Product(..) => Some(a.wrapping_mul(b)),
    }
}

/// The quotient rounded down; by zero it is 0.
pub(super) fn floor_div(a: i64, b: i64) -> Option<i64> {
    if b == 0 {
        return Some(0);
    }
    let quotient = a.checked_div(b)?;
    Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
}

/// The remainder with the sign of the divisor; by zero it is the dividend.
pub(super) fn floor_mod(a: i64, b: i64) -> Option<i64> {
    match b {
        0 => Some(a),
        -1 => Some(0),
        _ => Some(if a % b != 0 && (a < 0) != (b < 0) { a % b + b } else { a % b }),
    }
}

/// The quotient rounded towards zero; by zero it is 0.
pub(super) fn trunc_div(a: i64, b: i64) -> Option<i64> {
    if b == 0 { Some(0) } else { a.checked_div(b) }
}

/// The remainder with the sign of the dividend; by zero it is the dividend.
pub(super) fn trunc_rem(a: i64, b: i64) -> Option<i64> {
    match b {
        0 => Some(a),
        -1 => Some(0),
        _ => Some(a % b),
    }
}
