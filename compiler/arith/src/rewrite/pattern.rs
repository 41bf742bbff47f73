//! What the text of a rule's side means to the matcher.
//!
//! `c`, `c1`, `c2`, … are constants, `k` and `r` are constants that a rule derives, every other name is any expression.

use super::super::atom::{Atom, Monomial};
use super::super::expr::IntExpr;
use super::super::sym::Sym;

/// A name of a rule, by its place in [`Names`].
pub(super) type Hole = usize;

/// The names of a rule, in the order in which they were met.
#[derive(Default)]
pub(super) struct Names(pub(super) Vec<Sym>);

impl Names {
    /// The place of a name; a new one's is the next.
    pub(super) fn hole(&mut self, sym: &Sym) -> Hole {
        self.0.iter().position(|it| it == sym).unwrap_or_else(|| {
            self.0.push(sym.clone());
            self.0.len() - 1
        })
    }
}

/// Whether a name stands for a constant.
pub(in super::super) fn is_constant(name: &str) -> bool {
    matches!(name.as_bytes(), [b'c'] | [b'c', b'0'..=b'9'] | [b'k'] | [b'r'])
}

/// The outermost operation of an atom.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in super::super) enum Head {
    FloorDiv,
    FloorMod,
    TruncDiv,
    TruncRem,
    Min,
    Max,
}

impl Head {
    /// Of every atom that rules are about.
    pub(super) fn of(atom: &Atom) -> Option<Head> {
        match atom {
            Atom::FloorDiv(..) => Some(Head::FloorDiv),
            Atom::FloorMod(..) => Some(Head::FloorMod),
            Atom::TruncDiv(..) => Some(Head::TruncDiv),
            Atom::TruncRem(..) => Some(Head::TruncRem),
            Atom::Min(..) => Some(Head::Min),
            Atom::Max(..) => Some(Head::Max),
            Atom::Var(_) | Atom::Sum(..) | Atom::Product(..) => None,
        }
    }

    /// Whether the operands may change places.
    pub(super) fn commutes(self) -> bool {
        matches!(self, Head::Min | Head::Max)
    }

    /// A bit of its own.
    pub(super) fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// An operation on two patterns.
pub(super) struct Operation {
    pub(super) head: Head,
    pub(super) left: Pattern,
    pub(super) right: Pattern,
    /// A name that both operands are sums with: what they have in common.
    pub(super) addend: Option<Hole>,
    /// A constant that is a factor of both operands as a whole.
    pub(super) factor: Option<Hole>,
}

/// A side of a rule.
pub(super) enum Pattern {
    /// That number.
    Number(i64),
    /// Any expression, the same wherever the name stands.
    Any(Hole),
    /// Any constant.
    Constant(Hole),
    /// The only atom.
    Operation(Box<Operation>),
    /// A sum, or one term that is no atom; what is easiest to find stands first.
    Sum(Vec<Part>),
}

/// A term of a sum.
pub(super) enum Part {
    /// A number, a name or nothing, times an operation.
    Operation(i64, Option<Hole>, Operation),
    /// A number and perhaps a name, times any expression that is not zero.
    Scaled(i64, Option<Hole>, Hole),
    /// The constant term.
    Constant(Hole),
    /// The constant term, known.
    Number(i64),
    /// What is left.
    Rest(Hole),
}

impl Pattern {
    /// Reads one side; `None` where it is in no form that the matcher knows.
    pub(super) fn of(e: &IntExpr, names: &mut Names) -> Option<Pattern> {
        if let Some(number) = e.as_const() {
            return Some(Pattern::Number(number));
        }
        if let Some(sym) = e.as_var() {
            let hole = names.hole(sym);
            return Some(if is_constant(sym.as_str()) { Pattern::Constant(hole) } else { Pattern::Any(hole) });
        }
        if let Some(atom) = e.as_atom() {
            return Some(Pattern::Operation(Box::new(Operation::of(atom, names)?)));
        }
        parts(e, names).map(Pattern::Sum)
    }

    /// The plain addends, and constant factors of all that it is.
    fn shares(&self) -> (Vec<Hole>, Option<Hole>) {
        let Pattern::Sum(parts) = self else { return (Vec::new(), None) };
        let plain = parts.iter().filter_map(|part| if let Part::Rest(hole) = part { Some(*hole) } else { None });
        let factor = match parts[..] {
            [Part::Scaled(1, Some(factor), _)] => Some(factor),
            _ => None,
        };
        (plain.collect(), factor)
    }
}

/// The terms of a sum in the order in which they are looked for.
pub(super) fn parts(e: &IntExpr, names: &mut Names) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    for (monomial, number) in e.terms() {
        parts.push(Part::of(monomial, *number, names)?);
    }
    if e.constant_term() != 0 {
        parts.push(Part::Number(e.constant_term()));
    }
    parts.sort_by_key(|part| match part {
        // Where all terms may have a factor in common, it shows at the one without.
        Part::Operation(1, None, _) => 0,
        Part::Operation(..) => 1,
        Part::Scaled(..) => 2,
        Part::Constant(_) | Part::Number(_) => 3,
        Part::Rest(_) => 4,
    });
    Some(parts)
}

impl Part {
    fn of(monomial: &Monomial, number: i64, names: &mut Names) -> Option<Part> {
        let (vars, operations): (Vec<&Atom>, Vec<&Atom>) =
            monomial.atoms().iter().partition(|atom| matches!(atom, Atom::Var(_)));
        let mut syms = vars.into_iter().filter_map(|atom| if let Atom::Var(sym) = atom { Some(sym) } else { None });
        let (first, second) = (syms.next(), syms.next());
        let constant = |sym: &Sym| is_constant(sym.as_str());
        match (&operations[..], first, second, syms.next()) {
            ([atom], name, None, None) => {
                Some(Part::Operation(number, name.map(|sym| names.hole(sym)), Operation::of(atom, names)?))
            }
            ([], Some(a), Some(b), None) => {
                // The name that is known first: a constant, or a divisor, which are the later ones of `x`, `y`, `z`.
                let (factor, of) = if constant(a) { (a, b) } else { (b, a) };
                Some(Part::Scaled(number, Some(names.hole(factor)), names.hole(of)))
            }
            ([], Some(a), None, None) if constant(a) && number == 1 => Some(Part::Constant(names.hole(a))),
            ([], Some(a), None, None) if number == 1 => Some(Part::Rest(names.hole(a))),
            ([], Some(a), None, None) => Some(Part::Scaled(number, None, names.hole(a))),
            _ => None,
        }
    }
}

impl Operation {
    pub(super) fn of(atom: &Atom, names: &mut Names) -> Option<Operation> {
        let (head, (a, b)) = (Head::of(atom)?, atom.operands()?);
        let (left, right) = (Pattern::of(a, names)?, Pattern::of(b, names)?);
        let ((addends, factor), (others, other)) = (left.shares(), right.shares());
        let addend = addends.into_iter().find(|hole| others.contains(hole));
        Some(Operation { head, left, right, addend, factor: factor.filter(|it| other == Some(*it)) })
    }
}
