//! The text form, which [`IntExpr::parse`] reads back to an equal value.

use super::atom::{Atom, Monomial};
use super::expr::IntExpr;
use std::fmt;

impl fmt::Display for IntExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let constant = self.constant_term();
        if self.terms().is_empty() {
            return write!(f, "{constant}");
        }
        // Positive terms come first, so that `N - i - 1` does not begin with a sign.
        let positive = self.terms().iter().filter(|(_, c)| *c > 0);
        let negative = self.terms().iter().filter(|(_, c)| *c < 0);
        let mut first = true;
        let mut constant_is_out = false;
        if self.terms().iter().all(|(_, c)| *c < 0) && constant > 0 {
            write!(f, "{constant}")?;
            (first, constant_is_out) = (false, true);
        }
        for (monomial, coefficient) in positive.chain(negative) {
            let sign = match (first, *coefficient < 0) {
                (true, true) => "-",
                (true, false) => "",
                (false, true) => " - ",
                (false, false) => " + ",
            };
            f.write_str(sign)?;
            let bare = !(first && *coefficient < 0);
            write_term(f, monomial, coefficient.unsigned_abs(), bare)?;
            first = false;
        }
        match constant {
            0 => Ok(()),
            _ if constant_is_out => Ok(()),
            _ if constant < 0 => write!(f, " - {}", constant.unsigned_abs()),
            _ => write!(f, " + {constant}"),
        }
    }
}

/// `bare` says that a lone division needs no parentheses here.
fn write_term(f: &mut fmt::Formatter<'_>, monomial: &Monomial, scale: u64, bare: bool) -> fmt::Result {
    if let (Some(atom), 1, true) = (monomial.single(), scale, bare) {
        return write_atom(f, atom);
    }
    if scale != 1 {
        write!(f, "{scale}*")?;
    }
    for (at, atom) in monomial.atoms().iter().enumerate() {
        if at > 0 {
            f.write_str("*")?;
        }
        if matches!(atom, Atom::TruncDiv(..) | Atom::TruncRem(..)) {
            f.write_str("(")?;
            write_atom(f, atom)?;
            f.write_str(")")?;
        } else {
            write_atom(f, atom)?;
        }
    }
    Ok(())
}

fn write_atom(f: &mut fmt::Formatter<'_>, atom: &Atom) -> fmt::Result {
    match atom {
        Atom::Var(sym) => write!(f, "{sym}"),
        Atom::FloorDiv(a, b) => write!(f, "floordiv({a}, {b})"),
        Atom::FloorMod(a, b) => write!(f, "floormod({a}, {b})"),
        Atom::TruncDiv(a, b) => write_infix(f, a, "/", b),
        Atom::TruncRem(a, b) => write_infix(f, a, "%", b),
        Atom::Min(a, b) => write!(f, "min({a}, {b})"),
        Atom::Max(a, b) => write!(f, "max({a}, {b})"),
        Atom::Sum(a, b) => write!(f, "(({a}) + ({b}))"),
        Atom::Product(a, b) => write!(f, "(({a}) * ({b}))"),
    }
}

fn write_infix(f: &mut fmt::Formatter<'_>, a: &IntExpr, op: &str, b: &IntExpr) -> fmt::Result {
    let side = |e: &IntExpr| match e.as_const() {
        Some(value) if value >= 0 => value.to_string(),
        Some(_) | None => match e.as_var() {
            Some(sym) => sym.to_string(),
            None => format!("({e})"),
        },
    };
    write!(f, "{} {op} {}", side(a), side(b))
}

/// The text of an atom alone.
pub(super) fn atom_text(atom: &Atom) -> String {
    struct Text<'a>(&'a Atom);
    impl fmt::Display for Text<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write_atom(f, self.0)
        }
    }
    Text(atom).to_string()
}
